#include "service/budget.h"

/* --- Statements --- */

static sqlite3_stmt *find_running_statement(sqlite3 *db)
{
    sqlite3_stmt *found = sqlite3_next_stmt(db, NULL);
    while (found != NULL && (!sqlite3_stmt_busy(found) || sqlite3_data_count(found) != 0)) {
        found = sqlite3_next_stmt(db, found);
    }
    return found;
}

pt_statement *pt_statement_enter(pt_statement **all, sqlite3 *db)
{
    sqlite3_stmt *handle = find_running_statement(db);
    int run = handle != NULL ? sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_RUN, 0) : 0;
    pt_statement *statement = *all;
    while (statement != NULL && (statement->handle != handle || statement->run != run)) {
        statement = statement->next;
    }
    if (statement == NULL) {
        statement = sqlite3_malloc64(sizeof *statement);
        if (statement == NULL) {
            return NULL;
        }
        *statement = (pt_statement){.next = *all, .handle = handle, .run = run};
        *all = statement;
    }
    statement->users++;
    return statement;
}

void pt_statement_leave(pt_statement **all, pt_statement *statement)
{
    if (statement == NULL || --statement->users != 0) {
        return;
    }
    while (*all != statement) {
        all = &(*all)->next;
    }
    *all = statement->next;
    sqlite3_free(statement);
}

/* --- Budgets --- */

int64_t pt_budget_limit(const pt_budget *budget, pt_request_kind kind)
{
    static const int64_t defaults[PT_REQUEST_KINDS] = {
        [PT_REQUEST_ASK] = 10000, [PT_REQUEST_LOOK] = 10000, [PT_REQUEST_SCAN] = 1000};
    return budget->max_requests == PT_BUDGET_DEFAULT ? defaults[kind] : budget->max_requests;
}

static int64_t spent(const pt_budget *budget, pt_request_kind kind)
{
    const int64_t *requests = budget->statement->requests;
    int64_t sum = 0;
    for (int i = 0; i < PT_REQUEST_KINDS; i++) {
        sum += requests[i];
    }
    return budget->max_requests == PT_BUDGET_DEFAULT ? requests[kind] : sum;
}

bool pt_budget_allows(const pt_budget *budget, pt_request_kind kind)
{
    int64_t limit = pt_budget_limit(budget, kind);
    return budget->statement == NULL || limit == 0 || spent(budget, kind) < limit;
}

static int refuse_more_requests(const pt_budget *budget, pt_request_kind kind, pt_error *error)
{
    static const char *const advice[PT_REQUEST_KINDS] = {
        [PT_REQUEST_ASK] = "instead of asking for each row, read a whole range, or copy it first "
                           "(CREATE TEMP TABLE ... AS SELECT ... WHERE PartitionKey = ...)",
        [PT_REQUEST_LOOK] = "write fewer rows at once (INSERT OR IGNORE, and SET of a key or NULL, "
                            "look at each entity)",
        [PT_REQUEST_SCAN] = "add a condition on PartitionKey or RowKey, or a LIMIT",
        [PT_REQUEST_MORE] = "add a condition on PartitionKey or RowKey, or a LIMIT, or write fewer "
                            "rows at once"};
    bool given = budget->max_requests != PT_BUDGET_DEFAULT;
    pt_error_set(error, SQLITE_ERROR,
                 "the statement needs more than %lld requests%s, which max_requests forbids%s; %s, "
                 "or create the table with a larger max_requests (0: any number)",
                 (long long)pt_budget_limit(budget, kind),
                 given || kind == PT_REQUEST_SCAN ? "" : " for single entities and ranges",
                 given ? "" : " by default", advice[kind]);
    return pt_error_naming(error, PT_NAMES_KEYS); /* it is not about the row that is written */
}

int pt_budget_spend(const pt_budget *budget, pt_request_kind kind, pt_error *error)
{
    if (!pt_budget_allows(budget, kind)) {
        return refuse_more_requests(budget, kind, error);
    }
    if (budget->statement != NULL) {
        budget->statement->requests[kind]++;
    }
    return SQLITE_OK;
}

void pt_budget_take_back(const pt_budget *budget, pt_request_kind kind)
{
    budget->statement->requests[kind]--;
}
