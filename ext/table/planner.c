#include "table/planner.h"

#include "query/plan.h"
#include "table/table.h"

#define REFUSED_SCAN_FACTOR 1e6

static pt_plan_column column_of(const pt_table *table, int index)
{
    if (index == PT_COLUMN_PARTITION_KEY) {
        return PT_PLAN_PK;
    }
    if (index == PT_COLUMN_ROW_KEY) {
        return PT_PLAN_RK;
    }
    switch (index - PT_COLUMN_FIRST - table->config.column_count) {
    case PT_TAIL_ENTITY_KEY:
        return PT_PLAN_EK;
    case PT_TAIL_FILTER:
        return PT_PLAN_FILTER;
    default:
        return PT_PLAN_OTHER;
    }
}

pt_plan_op pt_planner_comparison(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
        return PT_OP_EQ;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return PT_OP_GT;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return PT_OP_GE;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return PT_OP_LT;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return PT_OP_LE;
    default:
        return PT_OP_OTHER;
    }
}

static pt_plan_op op_of(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_LIMIT:
        return PT_OP_LIMIT;
    case SQLITE_INDEX_CONSTRAINT_OFFSET:
        return PT_OP_OFFSET;
    case PT_CONSTRAINT_STARTS_WITH:
        return PT_OP_PREFIX;
    case SQLITE_INDEX_CONSTRAINT_MATCH:
        return PT_OP_MATCH;
    default:
        return pt_planner_comparison(op);
    }
}

static bool is_number(sqlite3_index_info *info, int i)
{
    sqlite3_value *value = NULL;
    if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK) {
        return false;
    }
    int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void pt_planner_compare_key(sqlite3_index_info *info, int i, pt_plan_constraint *constraint)
{
    const char *collation = sqlite3_vtab_collation(info, i);
    constraint->binary = sqlite3_stricmp(collation, "BINARY") == 0;
    constraint->in = sqlite3_vtab_in(info, i, -1) != 0;
    constraint->number = is_number(info, i);
}

static pt_plan_constraint constraint_of(const pt_table *table, sqlite3_index_info *info, int i)
{
    pt_plan_constraint constraint = {.op = op_of(info->aConstraint[i].op),
                                     .usable = info->aConstraint[i].usable != 0};
    if (constraint.op == PT_OP_LIMIT || constraint.op == PT_OP_OFFSET) {
        return constraint; /* their column number means nothing */
    }
    constraint.column = column_of(table, info->aConstraint[i].iColumn);
    if (constraint.column == PT_PLAN_FILTER && constraint.op == PT_OP_EQ) {
        constraint.op = PT_OP_MATCH;
        constraint.equals = true;
    }
    if (constraint.column == PT_PLAN_OTHER || !constraint.usable) {
        return constraint;
    }
    pt_planner_compare_key(info, i, &constraint);
    return constraint;
}

/* SQLite 3.40 leaves the primary key's bit out although it reads the key, so its absence says
 * nothing. */
static bool uses_only(const pt_table *table, sqlite3_index_info *info, bool row_key)
{
    int entity_key = PT_COLUMN_FIRST + table->config.column_count + PT_TAIL_ENTITY_KEY;
    sqlite3_uint64 allowed = (sqlite3_uint64)1 << PT_COLUMN_PARTITION_KEY;
    if (row_key) {
        allowed |= (sqlite3_uint64)1 << PT_COLUMN_ROW_KEY;
        if (entity_key < 63) {
            allowed |= (sqlite3_uint64)1 << entity_key;
        }
    }
    return (info->colUsed & ~allowed) == 0;
}

void pt_planner_apply(sqlite3_index_info *info, const pt_plan_use *uses, int arguments)
{
    for (int i = 0; i < info->nConstraint; i++) {
        if (uses[i].argument == 0) {
            continue;
        }
        info->aConstraintUsage[i].argvIndex = arguments + uses[i].argument;
        info->aConstraintUsage[i].omit = uses[i].omit;
        if (uses[i].in) {
            sqlite3_vtab_in(info, i, 1);
        }
    }
}

/* Where scans are refused, a join must find its order without one if there is any. */
static double cost_of(const pt_table *table, const pt_plan *plan)
{
    bool refused = table->config.deny_scan && pt_plan_is_table_scan(plan->bits) &&
                   (plan->bits & PT_PLAN_TERM(PT_TERM_FILTER)) == 0;
    return refused ? plan->cost * REFUSED_SCAN_FACTOR : plan->cost;
}

/* SQLITE_CONSTRAINT: SQLite must try another order of tables. */
static int check_filter(pt_table *table, const pt_plan_query *query)
{
    pt_error error = PT_ERROR_NONE;
    switch (pt_plan_check_filter(query)) {
    case PT_PLAN_FILTER_LATER:
        return SQLITE_CONSTRAINT;
    case PT_PLAN_FILTER_TWICE:
        pt_error_set(&error, SQLITE_ERROR,
                     "Filter is given more than once; write one filter, with and inside");
        return pt_table_fail(table, &error);
    case PT_PLAN_FILTER_IN:
        pt_error_set(&error, SQLITE_ERROR,
                     "Filter cannot be one of several (IN, or = with OR between); write one "
                     "filter, with or inside");
        return pt_table_fail(table, &error);
    default:
        return SQLITE_OK;
    }
}

static int give_plan(const pt_table *table, sqlite3_index_info *info, const pt_plan *plan)
{
    info->idxStr = pt_plan_sentence(plan->bits);
    if (info->idxStr == NULL) {
        return SQLITE_NOMEM;
    }
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)plan->bits;
    info->orderByConsumed = plan->order_consumed;
    info->estimatedCost = cost_of(table, plan);
    info->estimatedRows = plan->rows;
    info->idxFlags = plan->unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}

pt_plan_constraint *pt_planner_reserve(const sqlite3_index_info *info, pt_plan_use **uses,
                                       pt_plan_order **order)
{
    size_t constraints = (size_t)info->nConstraint;
    size_t size = constraints * (sizeof(pt_plan_constraint) + sizeof(pt_plan_use)) +
                  (size_t)info->nOrderBy * sizeof(pt_plan_order);
    pt_plan_constraint *room = sqlite3_malloc64(size + 1);
    if (room != NULL) {
        *uses = (pt_plan_use *)(room + constraints);
        *order = (pt_plan_order *)(*uses + constraints);
        memset(*uses, 0, constraints * sizeof **uses);
    }
    return room;
}

int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    pt_table *table = pt_table_of(vtab);
    pt_plan_use *uses;
    pt_plan_order *order;
    pt_plan_constraint *constraint = pt_planner_reserve(info, &uses, &order);
    if (constraint == NULL) {
        return SQLITE_NOMEM;
    }
    for (int i = 0; i < info->nConstraint; i++) {
        constraint[i] = constraint_of(table, info, i);
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        order[i] = (pt_plan_order){.column = column_of(table, info->aOrderBy[i].iColumn),
                                   .descending = info->aOrderBy[i].desc != 0};
    }
    const pt_plan_query query = {.constraints = constraint,
                                 .constraint_count = info->nConstraint,
                                 .order = order,
                                 .order_count = info->nOrderBy,
                                 .distinct = sqlite3_vtab_distinct(info) >= 2,
                                 .keys_only = uses_only(table, info, true),
                                 .partition_only = uses_only(table, info, false),
                                 .other_text_order = table->other_encoding};
    int rc = check_filter(table, &query);
    pt_plan plan = {0};
    if (rc == SQLITE_OK) {
        pt_plan_make(&query, &plan, uses);
        pt_planner_apply(info, uses, 0);
    }
    sqlite3_free(constraint);
    return rc == SQLITE_OK ? give_plan(table, info, &plan) : rc;
}
