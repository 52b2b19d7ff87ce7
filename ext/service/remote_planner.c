#include "service/remote_planner.h"

#include "module/constraints.h"
#include "service/remote_conditions.h"
#include "service/remote_table.h"
#include "service/stream.h"

enum { SELECT_MAX = 1500, LAST_BIT = 63 };

/* Without ANALYZE, SQLite takes every local table for a long one. It would rather read the whole of
 * the service's table once than ask for each row's entity. */
static const double TABLE_SCAN_COST = 1e12;
static const double TABLE_ENTITIES = 1e7; /* as query/plan.c estimates */
static const double DENIED_SCAN_FACTOR = 1e6;
static const double UNSENT_FILTER_FACTOR = 1e6;
static const double FILTERED_SHARE = 0.02; /* so that several by OR are cheaper than one scan */
static const double REQUEST_COST = 10;
static const double ENTITIES_OF_REQUEST = 20; /* a partition is estimated to have 200 */
static const double PARALLEL = 8;

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
    if (tail == PT_REMOTE_FILTER) {
        return PT_PLAN_FILTER;
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

/* True if the statement reads only what every entity has but its Timestamp. */
static bool reads_only_remote_keys(const pt_remote_table *table, const sqlite3_index_info *info)
{
    int tail = PT_COLUMN_FIRST + table->config.base.column_count;
    int column = PT_COLUMN_FIRST;
    while (column < tail && !is_column_used(info, column)) {
        column++;
    }
    return column == tail && !is_column_used(info, tail + PT_REMOTE_PROPERTIES) &&
           !is_column_used(info, tail + PT_REMOTE_TIMESTAMP);
}

/* The names for $select, from sqlite3_malloc: "" for all. NULL when out of memory. Keys are always
 * asked for; the ETag always comes. */
static char *select_list(const pt_remote_table *table, const sqlite3_index_info *info)
{
    const pt_config *config = &table->config.base;
    int tail = PT_COLUMN_FIRST + config->column_count;
    bool all = is_column_used(info, tail + PT_REMOTE_PROPERTIES);
    sqlite3_str *list = sqlite3_str_new(NULL);
    sqlite3_str_appendall(list, PT_SELECT_KEYS);
    if (is_column_used(info, tail + PT_REMOTE_TIMESTAMP)) {
        sqlite3_str_appendall(list, ",Timestamp");
    }
    for (int i = 0; !all && i < config->column_count; i++) {
        if (is_column_used(info, PT_COLUMN_FIRST + i)) {
            pt_slice name = pt_slice_of(config->columns[i].name, config->columns[i].name_size);
            all = !pt_query_is_plain_name(name) || sqlite3_str_length(list) > SELECT_MAX;
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

/* --- The plan's text --- */

/* The number that LIMIT or OFFSET gives; `otherwise` if it is not given, -1 if it is not known yet.
 */
static int64_t limit_value(sqlite3_index_info *info, int op, int64_t otherwise)
{
    for (int i = 0; i < info->nConstraint; i++) {
        sqlite3_value *value = NULL;
        if (info->aConstraint[i].op == op) {
            bool known = sqlite3_vtab_rhs_value(info, i, &value) == SQLITE_OK;
            return known ? sqlite3_value_int64(value) : -1;
        }
    }
    return otherwise;
}

/* Adds about how many requests a LIMIT needs, if SQLite knows its number already. */
static bool add_limited_requests(sqlite3_str *text, sqlite3_index_info *info, unsigned bits)
{
    int64_t limit = limit_value(info, SQLITE_INDEX_CONSTRAINT_LIMIT, -1);
    int64_t offset = limit_value(info, SQLITE_INDEX_CONSTRAINT_OFFSET, 0);
    if ((bits & PT_REMOTE_LIMIT) == 0 || limit < 0 || offset < 0) {
        return false;
    }
    uint64_t each = pt_plan_finds_points(bits) ? 1 : PT_PAGE_ENTITIES_MAX;
    uint64_t requests = ((uint64_t)limit + (uint64_t)offset + each - 1) / each;
    sqlite3_str_appendf(text, "about %llu request%s", (unsigned long long)requests,
                        requests == 1 ? "" : "s");
    return true;
}

/* SQLite does not know how many entities there are. */
static void add_requests(sqlite3_str *text, sqlite3_index_info *info, const pt_plan *plan,
                         unsigned bits, bool filtered)
{
    if (plan->unique) {
        sqlite3_str_appendall(text, "1 request");
    } else if (!add_limited_requests(text, info, bits)) {
        sqlite3_str_appendall(text, pt_plan_finds_points(bits) ? "1 request for each key"
                                    : filtered ? "about 1 request for 1000 entities found"
                                               : "about 1 request for 1000 entities");
        bool partitions = (bits & PT_PLAN_TERM(PT_TERM_PK_IN)) != 0 && !pt_plan_finds_points(bits);
        sqlite3_str_appendall(text, partitions ? " of each partition" : "");
    }
}

/* The plan's sentence, what is sent beside the keys, and the number of requests; after its NUL the
 * list of properties; after that one's NUL the terms. */
static int set_index_text(sqlite3_index_info *info, const pt_plan *plan, unsigned bits,
                          const char *select, const pt_term_list *list)
{
    const unsigned filter = PT_PLAN_TERM(PT_TERM_FILTER);
    char *sentence = pt_plan_sentence(plan->bits & ~filter);
    if (sentence == NULL || select == NULL || list->sentence.failed || list->terms.failed) {
        sqlite3_free(sentence);
        return SQLITE_NOMEM;
    }
    sqlite3_str *text = sqlite3_str_new(NULL);
    bool filtered = (bits & filter) != 0;
    sqlite3_str_appendf(text, "%s%s%.*s; ", sentence, filtered ? "; at the service: Filter" : "",
                        (int)list->sentence.size, (const char *)list->sentence.data);
    sqlite3_free(sentence);
    add_requests(text, info, plan, bits, filtered || list->judges);
    sqlite3_str_appendchar(text, 1, 0);
    sqlite3_str_appendall(text, select);
    sqlite3_str_appendchar(text, 1, 0);
    sqlite3_str_append(text, (const char *)list->terms.data, (int)list->terms.size);
    info->idxStr = sqlite3_str_finish(text);
    info->needToFreeIdxStr = 1;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* --- Cost --- */

/*
 * A partition is taken for ten pages, so that asking for a few entities of it is better than
 * reading it. A request costs little in comparison with what SQLite expects of a local table
 * without ANALYZE and index: else it would read a partition once, however large, for each join on
 * RowKey. What spans partitions costs its share of a table scan.
 */
static double remote_cost(const pt_remote_table *table, const pt_plan *plan)
{
    const unsigned partitions = PT_PLAN_TERM(PT_TERM_PK_EQ) | PT_PLAN_TERM(PT_TERM_PK_IN);
    double rows = (double)plan->rows;
    double cost;
    if (pt_plan_is_table_scan(plan->bits)) {
        cost = (plan->bits & PT_PLAN_TERM(PT_TERM_FILTER)) != 0 ? TABLE_SCAN_COST * FILTERED_SHARE
                                                                : TABLE_SCAN_COST;
        cost *= table->config.base.deny_scan ? DENIED_SCAN_FACTOR : 1;
    } else if (pt_plan_finds_points(plan->bits)) {
        cost = REQUEST_COST * (1 + rows / PARALLEL) + rows;
    } else if ((plan->bits & partitions) != 0) {
        double requests = rows / ENTITIES_OF_REQUEST;
        cost = REQUEST_COST * (1 + requests) + rows;
    } else {
        cost = TABLE_SCAN_COST * (rows / TABLE_ENTITIES);
    }
    return plan->leaves_filter ? cost * UNSENT_FILTER_FACTOR : cost;
}

static int return_remote_plan(const pt_remote_table *table, sqlite3_index_info *info, pt_plan *plan)
{
    if (pt_remote_table_dialect(table) == PT_DIALECT_COSMOS) {
        plan->order_consumed = false; /* how it orders keys is not known */
    }
    if ((plan->bits & PT_PLAN_DESCENDING) != 0) {
        plan->bits &= ~PT_PLAN_DESCENDING;
        plan->order_consumed = false;
    }
    info->orderByConsumed = plan->order_consumed;
    info->estimatedRows = plan->rows;
    info->estimatedCost = remote_cost(table, plan);
    info->idxFlags = plan->unique ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    pt_term_list list = {0};
    unsigned bits = plan->bits | pt_remote_conditions_plan(table, plan, info, &list);
    bits |= ask_for_limits(info, plan);
    bits |= info->nOrderBy != 0 && plan->order_consumed ? PT_REMOTE_ORDERED : 0U;
    info->idxNum = (int)bits;
    char *select = select_list(table, info);
    int rc = set_index_text(info, plan, bits, select, &list);
    sqlite3_free(select);
    pt_buffer_free(&list.sentence);
    pt_buffer_free(&list.terms);
    return rc;
}

int pt_remote_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const pt_constraint_reader reader = {remote_plan_column, remote_plan_constraint};
    pt_remote_table *table = pt_remote_table_of(vtab);
    pt_plan_use *uses;
    pt_plan_query query = {.keys_only = reads_only_remote_keys(table, info),
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
        return pt_remote_table_fail(table, &error);
    }
    return rc == SQLITE_OK ? return_remote_plan(table, info, &plan) : rc;
}
