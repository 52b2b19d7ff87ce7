#include "table/planner.h"

#include "module/constraints.h"
#include "query/plan.h"
#include "table/conditions.h"
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

/* True if there may be conditions on declared columns. */
static bool names_declared(const pt_table *table, const sqlite3_index_info *info)
{
    int end = PT_COLUMN_FIRST + table->config.column_count;
    int i = 0;
    while (i < info->nConstraint && (info->aConstraint[i].iColumn < PT_COLUMN_FIRST ||
                                     info->aConstraint[i].iColumn >= end)) {
        i++;
    }
    return i < info->nConstraint;
}

static int return_plan(const pt_table *table, sqlite3_index_info *info, const pt_plan *plan)
{
    if (pt_constraints_return_plan(info, plan) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    info->idxNum = (int)plan->bits;
    info->estimatedCost = plan_cost(table, plan);
    info->idxFlags = plan->unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return names_declared(table, info) ? pt_conditions_plan(table, info) : SQLITE_OK;
}

int pt_planner_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const pt_constraint_reader reader = {plan_column, plan_constraint};
    pt_table *table = pt_table_of(vtab);
    if (table->connection->attached != 0) { /* pt_connection_notice_detach, in the common path */
        pt_connection_leave_detached(table->connection);
    }
    pt_plan_use *uses;
    pt_plan_query query = {.distinct = sqlite3_vtab_distinct(info) >= 2,
                           .keys_only = reads_only_keys(table, info, true),
                           .partition_only = reads_only_keys(table, info, false),
                           .other_text_order = table->other_encoding};
    void *arrays = pt_constraints_read(&reader, table, info, &query, &uses);
    if (arrays == NULL) {
        return SQLITE_NOMEM;
    }
    pt_error error = PT_ERROR_NONE;
    int rc = pt_constraints_check_filter(&query, &error);
    pt_plan plan = {0};
    if (rc == SQLITE_OK) {
        pt_plan_make(&query, &plan, uses);
        pt_constraints_apply(info, uses, 0);
    }
    sqlite3_free(arrays);
    if (rc != SQLITE_OK && rc != SQLITE_CONSTRAINT) {
        return pt_table_fail(table, &error);
    }
    return rc == SQLITE_OK ? return_plan(table, info, &plan) : rc;
}
