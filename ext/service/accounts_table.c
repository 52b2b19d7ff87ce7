#include "service/accounts_table.h"

#include "service/vtab.h"

enum { ACCOUNTS_NAME, ACCOUNTS_ENDPOINT, ACCOUNTS_CREDENTIAL };

typedef struct accounts_cursor {
    sqlite3_vtab_cursor base;
    const pt_service *service;
    size_t at;
} accounts_cursor;

static accounts_cursor *accounts_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (accounts_cursor *)cursor;
}

static int accounts_connect(sqlite3 *db, void *service, int argc, const char *const *argv,
                            sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    return pt_service_vtab_connect(
        db, service, "CREATE TABLE x(Account TEXT, Endpoint TEXT, Credential TEXT)", vtab);
}

static int accounts_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    info->estimatedCost = 10;
    info->estimatedRows = 10;
    return SQLITE_OK;
}

static int accounts_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    accounts_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (accounts_cursor){.service = ((pt_service_vtab *)vtab)->service};
    *out = &cursor->base;
    return SQLITE_OK;
}

static int accounts_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int accounts_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                           sqlite3_value **argv)
{
    (void)plan;
    (void)text;
    (void)argc;
    (void)argv;
    accounts_cursor_of(cursor)->at = 0;
    return SQLITE_OK;
}

static int accounts_next(sqlite3_vtab_cursor *cursor)
{
    accounts_cursor_of(cursor)->at++;
    return SQLITE_OK;
}

static int accounts_eof(sqlite3_vtab_cursor *cursor)
{
    const accounts_cursor *c = accounts_cursor_of(cursor);
    return c->at >= c->service->account_count;
}

static int accounts_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    static const char *const credentials[] = {
        [PT_CREDENTIAL_KEY] = "key", [PT_CREDENTIAL_SAS] = "sas", [PT_CREDENTIAL_TOKEN] = "token"};
    const accounts_cursor *c = accounts_cursor_of(cursor);
    const pt_named_account *named = &c->service->accounts[c->at];
    const char *text = credentials[named->account.credential];
    if (column == ACCOUNTS_NAME) {
        text = named->name;
    } else if (column == ACCOUNTS_ENDPOINT) {
        text = named->account.endpoint;
    }
    sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    return SQLITE_OK;
}

static int accounts_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    *rowid = (sqlite3_int64)accounts_cursor_of(cursor)->at + 1;
    return SQLITE_OK;
}

const sqlite3_module pt_accounts_module = {
    .xConnect = accounts_connect,
    .xBestIndex = accounts_best_index,
    .xDisconnect = pt_service_vtab_disconnect,
    .xOpen = accounts_open,
    .xClose = accounts_close,
    .xFilter = accounts_filter,
    .xNext = accounts_next,
    .xEof = accounts_eof,
    .xColumn = accounts_column,
    .xRowid = accounts_rowid,
};
