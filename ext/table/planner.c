#include "table/planner.h"

#include "module/constraints.h"
#include "query/plan.h"
#include "table/conditions.h"
#include "table/entry_row.h"
#include "table/index_search.h"
#include "table/table.h"

#define REFUSED_SCAN_FACTOR 1e6

static pt_plan_column plan_column(const void *context, int index)
{
    const pt_table *table = context;
    if (index == PT_COLUMN_PARTITION_KEY) {
        return PT_PLAN_PK;
    }
    if (index == PT_COLUMN_ROW_KEY) {
        return PT_PLAN_RK;
    }
    int tail = index - PT_COLUMN_FIRST - table->config.column_count;
    if (tail >= PT_TAIL_COUNT) {
        return PT_PLAN_ROW_ID;
    }
    switch (tail) {
    case PT_TAIL_ENTITY_KEY:
        return PT_PLAN_EK;
    case PT_TAIL_FILTER:
        return PT_PLAN_FILTER;
    default:
        return PT_PLAN_OTHER;
    }
}

/*
 * GLOB is left to older versions, which pass one in the ON of a LEFT JOIN to the table on the left,
 * whose rows must stay. They turn most `key GLOB 'x*'` into bounds, key >= 'x' and key < 'y'.
 */
enum { GLOB_SINCE_SQLITE = 3051001 };

static pt_plan_constraint plan_constraint(const void *table, sqlite3_index_info *info, int i)
{
    pt_plan_constraint constraint = pt_constraint_of_entity(plan_column, table, info, i);
    if (info->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_GLOB &&
        sqlite3_libversion_number() >= GLOB_SINCE_SQLITE) {
        constraint.op = PT_OP_GLOB;
    }
    return constraint;
}

/* Neither a key nor an entry tells if its entity has expired. A table that is not declared so is
 * known to expire once its store is open. */
static bool may_expire(const pt_table *table)
{
    return table->config.expires != NULL || table->id.expires;
}

/*
 * True if the statement reads PartitionKey only, or with `row_key` the key columns only. In both
 * cases it may read EntityKey, too: SQLite 3.40 reads it (DELETE, OR, RIGHT JOIN) without setting
 * its bit in colUsed, and recent versions always set it.
 */
static bool reads_only_keys(const pt_table *table, sqlite3_index_info *info, bool row_key)
{
    int entity_key = PT_COLUMN_FIRST + table->config.column_count + PT_TAIL_ENTITY_KEY;
    int end = row_key ? entity_key + 1 + table->config.row_id_count : entity_key + 1;
    sqlite3_uint64 allowed = (sqlite3_uint64)1 << PT_COLUMN_PARTITION_KEY;
    if (row_key) {
        allowed |= (sqlite3_uint64)1 << PT_COLUMN_ROW_KEY;
    }
    for (int i = entity_key; i < end && i < 63; i++) {
        allowed |= (sqlite3_uint64)1 << i;
    }
    return (info->colUsed & ~allowed) == 0;
}

/* With scan=deny xFilter refuses a table scan. The factor makes SQLite prefer any join order
 * without one. */
static double plan_cost(const pt_table *table, const pt_plan *plan)
{
    bool refused = table->config.deny_scan && pt_plan_is_table_scan(plan->bits) &&
                   (plan->bits & PT_PLAN_TERM(PT_TERM_FILTER)) == 0;
    return refused ? plan->cost * REFUSED_SCAN_FACTOR : plan->cost;
}

/* True if there may be conditions on declared columns, or with `row_key` on RowKey alone. */
static bool names_declared(const pt_table *table, const sqlite3_index_info *info, bool row_key)
{
    int end = PT_COLUMN_FIRST + table->config.column_count;
    bool row = false;
    bool partition = false;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if (column >= PT_COLUMN_FIRST && column < end) {
            return true;
        }
        row = row || column == PT_COLUMN_ROW_KEY;
        partition = partition || column == PT_COLUMN_PARTITION_KEY;
    }
    return row_key && row && !partition;
}

/*
 * --- Indexes ---
 *
 * Only conditions that no NULL can meet make a plan, since an entity without the first property of
 * an index has no entry there. SQLite checks all of them again.
 */

/* A plan with an index. */
typedef struct index_plan {
    bool found;
    pt_slice names; /* of the index's columns, with a 00 between two */
    bool by_key;    /* an = fixes PartitionKey or RowKey, a column or what follows the columns */
    pt_plan_column key;
    int key_term; /* that constraint */
    bool key_first;
    bool by_time;  /* a constraint on Timestamp is used */
    uint64_t used; /* constraints on properties and Timestamp that it uses, as bits */
    bool order;    /* it gives the order asked for */
    bool descending;
    unsigned fixed; /* the first columns, which an = fixes and the order leaves out */
    bool entries;   /* the statement reads nothing that is not in the entries */
    unsigned read;  /* the index's columns that it reads, as bits */
    double cost;
    int64_t rows;
} index_plan;

/* Costs are on the scale of query/plan.c: a step to the next row costs 1. Each row of an index is
 * looked up in the table. */
static const double TABLE_ROWS = 10000000;
static const double ROWS_OF_A_PARTITION = 200;
static const double UNKNOWN_LIMIT = 100;
static const double EQUAL_ROWS = 10;
static const double LISTED_VALUES = 10;
static const double BOUND_LEAVES = 0.02;
static const double PRESENCE_LEAVES = 0.1;
static const double FIXED_LEAVES = 0.001; /* of the rows, each further column that is fixed */
static const double INDEX_ROW_COST = 8;
static const double ENTRY_ROW_COST = 2; /* if entities are not looked up */
static const double INDEX_SEEK_COST = 8;
static const double USED_GAIN = 0.01; /* of two alike, the index that serves more conditions */
static const double SORT_ROW_COST = 3;

/* --- How constraints fit an index --- */

/* What the constraints say about one column. */
typedef struct column_terms {
    bool equal;    /* one value */
    bool listed;   /* an IN */
    double leaves; /* of the rows, what inequalities leave */
    uint64_t used;
} column_terms;

static int time_column(const pt_table *table)
{
    return PT_COLUMN_FIRST + table->config.column_count + PT_TAIL_TIMESTAMP;
}

static double leaves_of_op(pt_plan_op op, unsigned char constraint)
{
    if (constraint == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) {
        return PRESENCE_LEAVES;
    }
    switch (op) {
    case PT_OP_EQ:
        return 1;
    case PT_OP_STARTS_WITH:
        return BOUND_LEAVES * BOUND_LEAVES;
    default:
        return BOUND_LEAVES;
    }
}

/* `column` is a declared one or Timestamp; there are no terms on others. */
static column_terms terms_of_column(const pt_table *table, sqlite3_index_info *info, int column)
{
    const pt_term_rules rules = {.config = &table->config, .time_column = time_column(table)};
    column_terms terms = {.leaves = 1};
    for (int i = 0; column >= PT_COLUMN_FIRST && i < info->nConstraint && i < PT_INDEXED_TERMS_MAX;
         i++) {
        bool list;
        if (info->aConstraint[i].iColumn != column || !info->aConstraint[i].usable) {
            continue;
        }
        pt_plan_op op = pt_terms_index_op(&rules, info, i, &list);
        if (op == PT_OP_OTHER) {
            continue;
        }
        terms.equal = terms.equal || (op == PT_OP_EQ && !list);
        terms.listed = terms.listed || list;
        terms.leaves *= leaves_of_op(op, info->aConstraint[i].op);
        terms.used |= UINT64_C(1) << i;
    }
    return terms;
}

/* The constraint PartitionKey = ... or RowKey = ...; -1: there is none. */
static int find_key_term(const pt_plan_query *query, pt_plan_column key)
{
    for (int i = 0; i < query->constraint_count; i++) {
        const pt_plan_constraint *constraint = &query->constraints[i];
        if (constraint->column == key && constraint->op == PT_OP_EQ && constraint->usable &&
            constraint->binary && !constraint->in && !constraint->number) {
            return i;
        }
    }
    return -1;
}

/* --- Order --- */

/* The columns that order the entries of an index: its own, then PartitionKey and RowKey. */
static int ordering_columns(const pt_table *table, pt_slice names,
                            int columns[PT_ENTRY_COLUMNS_MAX + 2])
{
    int count = 0;
    pt_slice name;
    while (pt_index_next_name(&names, &name)) {
        columns[count++] = pt_entry_row_column_of(table, name);
    }
    columns[count++] = PT_COLUMN_PARTITION_KEY;
    columns[count++] = PT_COLUMN_ROW_KEY;
    return count;
}

static bool is_among(const int *columns, int count, int column)
{
    int i = 0;
    while (i < count && columns[i] != column) {
        i++;
    }
    return i < count;
}

/*
 * Finds out if the entries have the order asked for. The columns of the index that an = fixes may
 * be left out of it. But if they are listed they are not skipped: equal values need not be the
 * same, as 5 and '5' in a column of numbers.
 */
static void consume_index_order(const pt_table *table, const sqlite3_index_info *info,
                                index_plan *plan)
{
    int columns[PT_ENTRY_COLUMNS_MAX + 2];
    int count = ordering_columns(table, plan->names, columns);
    int fixed = (int)plan->fixed;
    int from = 0;
    plan->fixed = 0;
    if (info->nOrderBy == 0 || table->other_encoding) {
        return;
    }
    while (from < count && columns[from] != info->aOrderBy[0].iColumn &&
           (from < fixed || is_among(columns, fixed, columns[from]))) {
        from++;
    }
    int at = from;
    for (int i = 0; i < info->nOrderBy; i++) {
        int column = info->aOrderBy[i].iColumn;
        if (is_among(columns + from, at - from, column)) {
            continue;
        }
        bool descending = info->aOrderBy[i].desc != 0;
        if (at == count || columns[at] != column ||
            (at != from && descending != plan->descending)) {
            plan->descending = false;
            return;
        }
        plan->descending = descending;
        at++;
    }
    plan->order = true;
    plan->fixed = (unsigned)from;
}

/* --- Choosing --- */

static double sort_cost(const sqlite3_index_info *info, bool ordered, double rows)
{
    return info->nOrderBy != 0 && !ordered ? rows * SORT_ROW_COST : 0;
}

static void estimate_index(index_plan *plan, double rows, bool unique)
{
    rows = unique ? 1 : rows < 1 ? 1 : rows;
    plan->rows = (int64_t)rows;
    plan->cost = rows * (plan->entries ? ENTRY_ROW_COST : INDEX_ROW_COST) + INDEX_SEEK_COST -
                 (__builtin_popcountll(plan->used) + plan->by_key) * USED_GAIN;
}

/* The highest bit of colUsed stands for all columns from its own on. */
enum { LAST_USED_BIT = 63 };

static uint64_t used_bit(int column)
{
    return column >= 0 && column < LAST_USED_BIT ? UINT64_C(1) << column : 0;
}

/* Binaries are read from entities. */
static bool tells_column(const pt_table *table, int column)
{
    int declared = column - PT_COLUMN_FIRST;
    return declared < 0 || declared >= table->config.column_count ||
           table->config.columns[declared].type != PT_BINARY;
}

/* Finds out if entries have all that the statement reads. Any of the keys may be read. */
static void find_entry_columns(const pt_table *table, const sqlite3_index_info *info,
                               index_plan *plan)
{
    int entity_key = PT_COLUMN_FIRST + table->config.column_count + PT_TAIL_ENTITY_KEY;
    uint64_t shown = used_bit(PT_COLUMN_PARTITION_KEY) | used_bit(PT_COLUMN_ROW_KEY);
    for (int i = 0; i <= table->config.row_id_count; i++) {
        shown |= used_bit(entity_key + i);
    }
    pt_slice names = plan->names;
    pt_slice name;
    for (unsigned i = 0; pt_index_next_name(&names, &name); i++) {
        int column = pt_entry_row_column_of(table, name);
        uint64_t bit = tells_column(table, column) ? used_bit(column) : 0;
        shown |= bit;
        plan->read |= (info->colUsed & bit) != 0 ? 1u << i : 0;
    }
    plan->entries = (info->colUsed & ~shown) == 0 && !may_expire(table);
}

/* A plan while the constraints are fitted to the index. */
typedef struct index_fit {
    index_plan plan;
    double rows;
    bool present;   /* entities that may be found have entries */
    bool all_equal; /* each column is fixed */
} index_fit;

static double few_of(double rows)
{
    double few = rows * FIXED_LEAVES;
    return few < 1 ? 1 : few;
}

/* A key, as column `number` of the index, or PartitionKey after all columns. Only one of the two
 * keys is given: both would find the entity without an index. */
static bool fit_key(const pt_plan_query *query, pt_plan_column key, unsigned number, index_fit *fit)
{
    int term = find_key_term(query, key);
    double first_rows = key == PT_PLAN_PK ? ROWS_OF_A_PARTITION : EQUAL_ROWS;
    if (term < 0) {
        return false;
    }
    fit->plan.by_key = true;
    fit->plan.key = key;
    fit->plan.key_term = term;
    fit->plan.key_first = number == 0;
    fit->plan.fixed = fit->plan.fixed == number ? number + 1 : fit->plan.fixed;
    fit->rows = number == 0 ? first_rows : few_of(fit->rows);
    return true;
}

/* False if the columns after it cannot be fitted. */
static bool fit_column(const pt_table *table, sqlite3_index_info *info, const pt_plan_query *query,
                       pt_slice name, unsigned number, index_fit *fit)
{
    int column = pt_entry_row_column_of(table, name);
    if (column == PT_COLUMN_PARTITION_KEY || column == PT_COLUMN_ROW_KEY) {
        pt_plan_column key = column == PT_COLUMN_ROW_KEY ? PT_PLAN_RK : PT_PLAN_PK;
        return fit_key(query, key, number, fit);
    }
    column_terms terms = terms_of_column(table, info, column);
    if (terms.used == 0) {
        return false;
    }
    fit->plan.used |= terms.used;
    fit->present = fit->present || column != time_column(table);
    fit->plan.by_time = fit->plan.by_time || column == time_column(table);
    fit->all_equal = fit->all_equal && terms.equal;
    if (terms.equal && fit->plan.fixed == number) {
        fit->plan.fixed = number + 1;
    }
    double few = number != 0 ? few_of(fit->rows) : EQUAL_ROWS;
    if (terms.equal || terms.listed) {
        fit->rows = terms.equal ? few : few * LISTED_VALUES;
        return true;
    }
    fit->rows *= terms.leaves;
    return false;
}

/* An entity has an entry if it has the first property of the index. Uses the conditions on that
 * property, if it was not fitted. */
static void find_presence(const pt_table *table, sqlite3_index_info *info, index_fit *fit)
{
    pt_slice names = fit->plan.names;
    pt_slice name;
    while (!fit->present && pt_index_next_name(&names, &name)) {
        if (pt_find_system_property(name) == PT_SYSTEM_PROPERTIES) {
            column_terms terms = terms_of_column(table, info, pt_entry_row_column_of(table, name));
            fit->plan.used |= terms.used;
            fit->present = terms.used != 0;
            return;
        }
    }
    fit->present = true;
}

/* The rows of LIMIT and OFFSET, if the plan has all conditions and the order; else `rows`. */
static double limited_rows(sqlite3_index_info *info, const index_plan *plan, double rows)
{
    bool limited = false;
    double most = 0;
    if (info->nOrderBy != 0 && !plan->order) {
        return rows;
    }
    for (int i = 0; i < info->nConstraint; i++) {
        unsigned char op = info->aConstraint[i].op;
        sqlite3_value *value;
        if (op == SQLITE_INDEX_CONSTRAINT_LIMIT || op == SQLITE_INDEX_CONSTRAINT_OFFSET) {
            bool known = sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK;
            limited = true; /* there is no OFFSET without LIMIT */
            most += known ? sqlite3_value_double(value) : UNKNOWN_LIMIT;
        } else if (i >= PT_INDEXED_TERMS_MAX ||
                   ((plan->used >> i & 1) == 0 && !(plan->by_key && plan->key_term == i))) {
            return rows;
        }
    }
    return limited && most >= 0 && most < rows ? most : rows;
}

/* Fits the constraints to an index, column by column. */
static index_plan fit_index(const pt_table *table, sqlite3_index_info *info,
                            const pt_plan_query *query, pt_slice names, bool unique)
{
    index_fit fit = {.plan = {.names = names}, .rows = TABLE_ROWS, .all_equal = true};
    pt_slice rest = names;
    pt_slice name;
    unsigned number = 0;
    bool fits = true;
    while (fits && pt_index_next_name(&rest, &name)) {
        fits = fit_column(table, info, query, name, number++, &fit);
    }
    unique = unique && fits && fit.all_equal;
    if (fits && !fit.plan.by_key) {
        fit_key(query, PT_PLAN_PK, number, &fit);
    }
    bool by_row_key = fit.plan.by_key && fit.plan.key == PT_PLAN_RK;
    bool whole = fit.plan.used == 0 && !fit.plan.by_key;
    bool bounded = fit.plan.used != 0 || by_row_key;
    find_presence(table, info, &fit);
    find_entry_columns(table, info, &fit.plan);
    consume_index_order(table, info, &fit.plan);
    fit.rows = limited_rows(info, &fit.plan, fit.rows);
    fit.plan.found = fit.present && (bounded || fit.plan.order) &&
                     !(whole && table->config.deny_scan && fit.rows == TABLE_ROWS);
    estimate_index(&fit.plan, fit.rows, unique);
    return fit.plan;
}

static void consider(const pt_table *table, sqlite3_index_info *info, const pt_plan_query *query,
                     pt_slice names, bool unique, index_plan *best)
{
    index_plan plan = fit_index(table, info, query, names, unique);
    if (plan.found && plan.cost + sort_cost(info, plan.order, (double)plan.rows) <
                          best->cost + sort_cost(info, best->order, (double)best->rows)) {
        *best = plan;
    }
}

static bool has_filter_term(const pt_plan *plan)
{
    return (plan->bits & PT_PLAN_TERM(PT_TERM_FILTER)) != 0;
}

static bool is_declared_index(const pt_table *table, pt_slice names)
{
    int i = 0;
    while (i < table->config.index_count &&
           !pt_slice_equal(names, pt_index_definition_key(&table->config.indexes[i]))) {
        i++;
    }
    return i < table->config.index_count;
}

/* noinline, like return_index_plan: most tables have no index. */
__attribute__((noinline)) static void choose_index(const pt_table *table, sqlite3_index_info *info,
                                                   const pt_plan_query *query, const pt_plan *other,
                                                   index_plan *plan)
{
    const pt_index_list *list = &table->indexes.list;
    *plan = (index_plan){.cost = other->cost, .rows = other->rows, .order = other->order_consumed};
    if (has_filter_term(other) || other->unique) {
        return;
    }
    if (table->config.deny_scan && pt_plan_is_table_scan(other->bits)) {
        plan->cost = 1e99; /* xFilter would refuse the other plan */
    }
    for (int i = 0; i < table->config.index_count; i++) {
        const pt_index_definition *index = &table->config.indexes[i];
        consider(table, info, query, pt_index_definition_key(index), index->unique, plan);
    }
    for (unsigned i = 0; list->stamp.known && i < list->count; i++) {
        if (!is_declared_index(table, list->indexes[i].names)) {
            consider(table, info, query, list->indexes[i].names, list->indexes[i].unique, plan);
        }
    }
}

/* --- The plan --- */

static int return_plan(const pt_table *table, sqlite3_index_info *info, const pt_plan *plan)
{
    static const pt_indexed_conditions no_index = {.time_column = -1};
    if (pt_constraints_return_plan(info, plan) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    info->idxNum = (int)plan->bits;
    info->estimatedCost = plan_cost(table, plan);
    info->idxFlags = plan->unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return names_declared(table, info, false) ? pt_conditions_plan(table, info, &no_index)
                                              : SQLITE_OK;
}

/* "index query: PartitionKey=? AND Age>? (PartitionKey,Age)", from sqlite3_malloc. */
static char *index_sentence(const pt_table *table, sqlite3_index_info *info,
                            const index_plan *index)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    const char *separator = "";
    bool whole = index->used == 0 && !index->by_key;
    sqlite3_str_appendall(text, whole ? "index scan" : "index query: ");
    if (index->by_key) {
        sqlite3_str_appendall(text, index->key == PT_PLAN_RK ? "RowKey=?" : "PartitionKey=?");
        separator = " AND ";
    }
    for (int i = 0; i < info->nConstraint && i < PT_INDEXED_TERMS_MAX; i++) {
        if ((index->used >> i & 1) != 0) {
            int column = info->aConstraint[i].iColumn - PT_COLUMN_FIRST;
            bool declared = column < table->config.column_count;
            bool prefix = info->aConstraint[i].op == PT_CONSTRAINT_STARTS_WITH;
            sqlite3_str_appendf(text, prefix ? "%spt_starts_with(%s,?)" : "%s%s%s", separator,
                                declared ? table->config.columns[column].name : "Timestamp",
                                pt_terms_shown(info, i));
            separator = " AND ";
        }
    }
    separator = " (";
    pt_slice names = index->names;
    pt_slice name;
    while (pt_index_next_name(&names, &name)) {
        sqlite3_str_appendf(text, "%s%.*s", separator, (int)name.size, (const char *)name.data);
        separator = ",";
    }
    sqlite3_str_appendall(text, index->entries ? "), entries only" : ")");
    if (index->order && index->descending) {
        sqlite3_str_appendall(text, ", descending");
    }
    return sqlite3_str_finish(text);
}

/* Of the other plan, only PartitionKey = ... or RowKey = ... may stay. */
__attribute__((noinline)) static void
keep_key_term(const index_plan *index, const pt_plan_query *query, pt_plan *plan, pt_plan_use *uses)
{
    for (int i = 0; i < query->constraint_count; i++) {
        if (!index->by_key || i != index->key_term) {
            uses[i] = (pt_plan_use){.argument = 0};
        }
    }
    unsigned kept = 0;
    if (index->by_key) {
        int term = index->key == PT_PLAN_RK ? PT_TERM_RK_EQ : PT_TERM_PK_EQ;
        kept = PT_PLAN_TERM(term) | PT_PLAN_CHECKED;
        uses[index->key_term].argument = 1;
        /* In ranges of what is before it, others may lie. */
        uses[index->key_term].omit = uses[index->key_term].omit && index->key_first;
    }
    plan->bits &= kept;
    plan->bits |= PT_PLAN_INDEX | (index->order && index->descending ? PT_PLAN_DESCENDING : 0);
}

__attribute__((noinline)) static int return_index_plan(const pt_table *table,
                                                       sqlite3_index_info *info,
                                                       const index_plan *index, unsigned bits)
{
    info->idxStr = index_sentence(table, info, index);
    if (info->idxStr == NULL) {
        return SQLITE_NOMEM;
    }
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)bits;
    info->orderByConsumed = index->order;
    info->estimatedCost = index->cost;
    info->estimatedRows = index->rows;
    pt_buffer use = {0};
    pt_index_use_write(&(pt_index_use){.names = index->names,
                                       .order = index->order,
                                       .fixed = index->fixed,
                                       .entries = index->entries,
                                       .read = index->read},
                       &use);
    const pt_indexed_conditions indexed = {.used = index->used,
                                           .time_column = index->by_time ? time_column(table) : -1,
                                           .use = pt_buffer_slice(&use)};
    int rc = use.failed ? SQLITE_NOMEM : pt_conditions_plan(table, info, &indexed);
    pt_buffer_free(&use);
    return rc;
}

int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const pt_constraint_reader reader = {plan_column, plan_constraint};
    pt_table *table = pt_table_of(vtab);
    if (table->connection->attached != 0) { /* pt_connection_notice_detach, in the common path */
        pt_connection_leave_detached(table->connection);
    }
    if (names_declared(table, info, true) && pt_table_learn_indexes(table) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    pt_plan_use *uses;
    pt_plan_query query = {.distinct = sqlite3_vtab_distinct(info) >= 2,
                           .keys_only = !may_expire(table) && reads_only_keys(table, info, true),
                           .partition_only = reads_only_keys(table, info, false),
                           .other_text_order = table->other_encoding};
    void *arrays = pt_constraints_read(&reader, table, info, &query, &uses);
    if (arrays == NULL) {
        return SQLITE_NOMEM;
    }
    pt_error error = PT_ERROR_NONE;
    int rc = pt_constraints_check_filter(&query, &error);
    pt_plan plan = {0};
    index_plan index;
    index.found = false;
    if (rc == SQLITE_OK) {
        pt_plan_make(&query, &plan, uses);
        if (table->config.index_count != 0 || table->indexes.list.count != 0) {
            choose_index(table, info, &query, &plan, &index);
        }
        if (index.found) {
            keep_key_term(&index, &query, &plan, uses);
        }
        pt_constraints_apply(info, uses, 0);
    }
    sqlite3_free(arrays);
    if (rc != SQLITE_OK) {
        return rc != SQLITE_CONSTRAINT ? pt_table_fail(table, &error) : rc;
    }
    return index.found ? return_index_plan(table, info, &index, plan.bits)
                       : return_plan(table, info, &plan);
}
