#include "service/remote_planner.h"

#include "base/text.h"
#include "module/constraints.h"
#include "service/remote_table.h"

enum { SELECT_MAX = 1500, LAST_BIT = 63 };

/* Without ANALYZE, SQLite takes every local table for a long one. It would rather read the whole of
 * the service's table once than ask for each row's entity. */
static const double TABLE_SCAN_COST = 1e12;
static const double DENIED_SCAN_FACTOR = 1e6;

static pt_plan_column remote_plan_column(const void *context, int index)
{
    const pt_remote_table *table = context;
    if (index == PT_COLUMN_PARTITION_KEY) {
        return PT_PLAN_PK;
    }
    if (index == PT_COLUMN_ROW_KEY) {
        return PT_PLAN_RK;
    }
    int tail = index - PT_COLUMN_FIRST - table->config.base.column_count;
    if (tail >= PT_REMOTE_COUNT) {
        return PT_PLAN_ROW_ID;
    }
    return tail == PT_REMOTE_ENTITY_KEY ? PT_PLAN_EK : PT_PLAN_OTHER;
}

static pt_plan_constraint remote_plan_constraint(const void *table, sqlite3_index_info *info, int i)
{
    return pt_constraint_of_entity(remote_plan_column, table, info, i);
}

/* --- The properties to ask for --- */

/* The last bit stands for all columns from there on. */
static bool is_column_used(const sqlite3_index_info *info, int column)
{
    int bit = column < LAST_BIT ? column : LAST_BIT;
    return (info->colUsed >> bit & 1) != 0;
}

/* True for a name that needs no quoting in $select. */
static bool is_plain_name(const pt_column *column)
{
    bool plain = !pt_is_digit((uint8_t)column->name[0]);
    for (size_t i = 0; plain && i < column->name_size; i++) {
        char c = column->name[i];
        plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || pt_is_digit((uint8_t)c);
    }
    return plain;
}

/* True if the statement reads only what every entity has but its Timestamp. */
static bool reads_only_remote_keys(const pt_remote_table *table, const sqlite3_index_info *info)
{
    int end = PT_COLUMN_FIRST + table->config.base.column_count + PT_REMOTE_TIMESTAMP;
    int column = PT_COLUMN_FIRST;
    while (column <= end && !is_column_used(info, column)) {
        column++;
    }
    return column > end;
}

/* The names for $select, from sqlite3_malloc: "" for all. NULL when out of memory. Keys are always
 * asked for; the ETag always comes. */
static char *select_list(const pt_remote_table *table, const sqlite3_index_info *info)
{
    const pt_config *config = &table->config.base;
    int tail = PT_COLUMN_FIRST + config->column_count;
    bool all = is_column_used(info, tail + PT_REMOTE_PROPERTIES);
    sqlite3_str *list = sqlite3_str_new(NULL);
    sqlite3_str_appendall(list, "PartitionKey,RowKey");
    if (is_column_used(info, tail + PT_REMOTE_TIMESTAMP)) {
        sqlite3_str_appendall(list, ",Timestamp");
    }
    for (int i = 0; !all && i < config->column_count; i++) {
        if (is_column_used(info, PT_COLUMN_FIRST + i)) {
            all = !is_plain_name(&config->columns[i]) || sqlite3_str_length(list) > SELECT_MAX;
            sqlite3_str_appendf(list, ",%s", config->columns[i].name);
        }
    }
    if (all) {
        sqlite3_free(sqlite3_str_finish(list));
        return sqlite3_mprintf("");
    }
    return sqlite3_str_finish(list);
}

/* --- The plan --- */

/* Asks for the argument of LIMIT or OFFSET, which SQLite applies itself. */
static bool ask_for_limit(sqlite3_index_info *info, int op, int *arguments)
{
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].op == op && info->aConstraint[i].usable) {
            info->aConstraintUsage[i].argvIndex = ++*arguments;
            return true;
        }
    }
    return false;
}

static unsigned ask_for_limits(sqlite3_index_info *info, const pt_plan *plan)
{
    int arguments = 0;
    if (info->nOrderBy != 0 && !plan->order_consumed) {
        return 0; /* SQLite reads all rows before it takes the first ones */
    }
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraintUsage[i].argvIndex;
        arguments = argument > arguments ? argument : arguments;
    }
    unsigned bits = 0;
    if (ask_for_limit(info, SQLITE_INDEX_CONSTRAINT_LIMIT, &arguments)) {
        bits = PT_REMOTE_LIMIT;
        bits |=
            ask_for_limit(info, SQLITE_INDEX_CONSTRAINT_OFFSET, &arguments) ? PT_REMOTE_OFFSET : 0U;
    }
    return bits;
}

/* Adds the number of requests to the plan's sentence, and the list after its NUL. */
static int set_index_text(sqlite3_index_info *info, const pt_plan *plan, char *select)
{
    char *sentence = pt_plan_sentence(plan->bits);
    char *text = NULL;
    if (sentence != NULL && select != NULL) {
        text = sqlite3_mprintf("%s; %s%c%s", sentence,
                               plan->unique ? "1 request" : "1 request for 1000 entities", '\n',
                               select);
    }
    sqlite3_free(sentence);
    sqlite3_free(select);
    if (text == NULL) {
        return SQLITE_NOMEM;
    }
    *strchr(text, '\n') = 0;
    info->idxStr = text;
    info->needToFreeIdxStr = 1;
    return SQLITE_OK;
}

static int return_remote_plan(const pt_remote_table *table, sqlite3_index_info *info, pt_plan *plan)
{
    if ((plan->bits & PT_PLAN_DESCENDING) != 0) {
        plan->bits &= ~PT_PLAN_DESCENDING;
        plan->order_consumed = false;
    }
    bool scan = pt_plan_is_table_scan(plan->bits);
    info->idxNum = (int)(plan->bits | ask_for_limits(info, plan));
    info->orderByConsumed = plan->order_consumed;
    info->estimatedRows = plan->rows;
    info->estimatedCost = scan ? TABLE_SCAN_COST : plan->cost;
    if (scan && table->config.base.deny_scan) {
        info->estimatedCost *= DENIED_SCAN_FACTOR;
    }
    info->idxFlags = plan->unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return set_index_text(info, plan, select_list(table, info));
}

int pt_remote_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const pt_constraint_reader reader = {remote_plan_column, remote_plan_constraint};
    const pt_remote_table *table = pt_remote_table_of(vtab);
    pt_plan_use *uses;
    pt_plan_query query = {.keys_only = reads_only_remote_keys(table, info),
                           .other_text_order = table->other_encoding};
    void *arrays = pt_constraints_read(&reader, table, info, &query, &uses);
    if (arrays == NULL) {
        return SQLITE_NOMEM;
    }
    pt_plan plan = {0};
    pt_plan_make(&query, &plan, uses);
    pt_constraints_apply(info, uses, 0);
    sqlite3_free(arrays);
    return return_remote_plan(table, info, &plan);
}
