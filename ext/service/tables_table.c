#include "service/tables_table.h"

#include "entity/key.h"
#include "module/module.h"
#include "service/call.h"
#include "service/config.h"
#include "service/page.h"
#include "service/query_text.h"
#include "service/vtab.h"

enum { TABLES_ACCOUNT, TABLES_NAME, TABLES_KEY };

/* Bits of a plan. */
enum { PLAN_ACCOUNT = 1, PLAN_NAMES = 2 };

/* The first byte of a TableKey says how the row was found. SQLite deletes the rows of a statement
 * in the order of their keys: one that must not be deleted is met first, and nothing is deleted. */
enum { FOUND_OTHERWISE = 0, FOUND_BY_NAMES = 1 };

enum { REQUEST_SECONDS = 30, REQUEST_RETRIES = 3 };

static const char tables_name[] = "pt_service_tables";

typedef struct service_tables_cursor {
    sqlite3_vtab_cursor base;
    pt_service_vtab *table;
    int plan;
    char *account;   /* the only one to list, or NULL */
    size_t next;     /* the account after the current one, among those of the service */
    char *current;   /* the account whose tables are listed, or NULL */
    bool has_token;  /* its list goes on */
    pt_buffer token; /* there */
    int repeats;     /* see pt_page_check_progress */
    pt_page page;
    size_t at;
} service_tables_cursor;

static service_tables_cursor *service_tables_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (service_tables_cursor *)cursor;
}

static int fail_tables(pt_service_vtab *table, pt_error *error)
{
    return pt_module_fail(&table->base.zErrMsg, tables_name, error);
}

/* In a database from somewhere else a table of another name would look like one of its own: whoever
 * empties it would delete the tables of all accounts. */
static int refuse_other_name(const char *name, char **message)
{
    pt_error error = PT_ERROR_NONE;
    pt_error_set(&error, SQLITE_ERROR,
                 "the schema gives the module pt_service_tables another name, which it must not "
                 "have; use pt_service_tables itself");
    return pt_module_fail(message, name, &error);
}

static int tables_connect(sqlite3 *db, void *service, int argc, const char *const *argv,
                          sqlite3_vtab **vtab, char **message)
{
    (void)argc;
    if (sqlite3_stricmp(argv[2], tables_name) != 0) {
        return refuse_other_name(argv[2], message);
    }
    int rc = pt_service_vtab_connect(db, service,
                                     "CREATE TABLE x(Account TEXT, TableName TEXT COLLATE NOCASE, "
                                     "TableKey BLOB HIDDEN PRIMARY KEY) WITHOUT ROWID",
                                     vtab);
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    sqlite3_vtab_config(db, SQLITE_VTAB_CONSTRAINT_SUPPORT, 1);
    return rc;
}

/* The place of a condition that gives values of a column, or -1. */
static int find_equality(const sqlite3_index_info *info, int column)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->iColumn == column && constraint->usable &&
            constraint->op == SQLITE_INDEX_CONSTRAINT_EQ) {
            return i;
        }
    }
    return -1;
}

/* Account = 'hr' lists the tables of one account. SQLite checks it again, in the case of its
 * letters too, and checks the TableName, which makes no list shorter. */
static int tables_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    int arguments = 0;
    int account = find_equality(info, TABLES_ACCOUNT);
    int names = find_equality(info, TABLES_NAME);
    info->estimatedCost = account >= 0 ? 1e6 : 1e9;
    info->estimatedRows = account >= 0 ? 100 : 1000;
    if (account >= 0) {
        info->aConstraintUsage[account].argvIndex = ++arguments;
        info->idxNum |= PLAN_ACCOUNT;
    }
    if (names >= 0) {
        info->aConstraintUsage[names].argvIndex = ++arguments;
        sqlite3_vtab_in(info, names, 1); /* one list for all names */
        info->idxNum |= PLAN_NAMES;
    }
    return SQLITE_OK;
}

static int tables_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    service_tables_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (service_tables_cursor){.table = (pt_service_vtab *)vtab};
    *out = &cursor->base;
    return SQLITE_OK;
}

static void reset_tables_cursor(service_tables_cursor *cursor)
{
    sqlite3_free(cursor->account);
    sqlite3_free(cursor->current);
    cursor->account = NULL;
    cursor->current = NULL;
    cursor->next = 0;
    cursor->has_token = false;
    cursor->at = 0;
    pt_page_clear(&cursor->page);
}

static int tables_close(sqlite3_vtab_cursor *base)
{
    service_tables_cursor *cursor = service_tables_cursor_of(base);
    reset_tables_cursor(cursor);
    pt_buffer_free(&cursor->token);
    pt_page_free(&cursor->page);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* --- Requests --- */

static void describe_tables_call(pt_call *call, pt_service *service, const char *account,
                                 pt_http_method method)
{
    *call = (pt_call){.service = service,
                      .subject = {.account = account},
                      .method = method,
                      .timeout = REQUEST_SECONDS,
                      .retries = REQUEST_RETRIES};
    pt_buffer_append_text(&call->path, "/Tables");
}

/* Sends the request and waits for its reply, which the caller frees with the call. */
static int perform_tables_call(pt_call *call, pt_http_reply **reply, pt_error *error)
{
    int rc = pt_call_send(call, error);
    if (rc == SQLITE_OK) {
        rc = pt_call_receive(call, reply, error);
    }
    if (rc == SQLITE_OK && !pt_call_has_succeeded(*reply)) {
        rc = pt_call_fail(call, *reply, error);
    }
    return rc;
}

/* Reads the next part of the current account's list. */
static int read_list(service_tables_cursor *cursor, pt_error *error)
{
    pt_call call;
    pt_http_reply *reply;
    pt_slice token;
    bool same = false;
    describe_tables_call(&call, cursor->table->service, cursor->current, PT_HTTP_GET);
    if (cursor->has_token) {
        pt_buffer_append_text(&call.query, "NextTableName=");
        pt_query_append_encoded(&call.query, pt_buffer_slice(&cursor->token));
    }
    int rc = perform_tables_call(&call, &reply, error);
    if (rc == SQLITE_OK) {
        bool had_token = cursor->has_token;
        cursor->has_token = pt_http_header(reply, "x-ms-continuation-NextTableName", &token);
        same = had_token && cursor->has_token &&
               pt_slice_equal(token, pt_buffer_slice(&cursor->token));
        if (cursor->has_token && !pt_buffer_assign(&cursor->token, token)) {
            rc = pt_error_nomem(error);
        }
    }
    if (rc == SQLITE_OK) {
        pt_page_clear(&cursor->page);
        cursor->at = 0;
        rc = pt_page_add(&cursor->page, &reply->body, PT_PAGE_OF_TABLES, error);
        pt_call_name_request(&call, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_page_check_progress(same, cursor->page.count, &cursor->repeats, error);
    }
    pt_call_free(&call);
    return rc;
}

/* --- Reading --- */

/* Chooses the next account. *found = false if there is none. */
static int choose_account(service_tables_cursor *cursor, bool *found, pt_error *error)
{
    const pt_service *service = cursor->table->service;
    const char *name = cursor->account;
    sqlite3_free(cursor->current);
    cursor->current = NULL;
    *found = cursor->next < (name != NULL ? 1 : service->account_count);
    if (!*found) {
        return SQLITE_OK;
    }
    cursor->current =
        sqlite3_mprintf("%s", name != NULL ? name : service->accounts[cursor->next].name);
    cursor->next++;
    return cursor->current != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* Makes sure that the cursor is on a table, or at the end: then there is no current account. */
static int find_table(service_tables_cursor *cursor, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cursor->at >= cursor->page.count) {
        bool found = true;
        if (cursor->current == NULL || !cursor->has_token) {
            rc = choose_account(cursor, &found, error);
            cursor->has_token = false;
        }
        if (rc != SQLITE_OK || !found) {
            return rc;
        }
        rc = read_list(cursor, error);
    }
    return rc;
}

static int tables_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    (void)text;
    (void)argc;
    service_tables_cursor *cursor = service_tables_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    reset_tables_cursor(cursor);
    cursor->plan = plan;
    if ((plan & PLAN_ACCOUNT) != 0) {
        const unsigned char *name = sqlite3_value_text(argv[0]);
        if (sqlite3_value_type(argv[0]) == SQLITE_NULL) {
            return SQLITE_OK; /* without a current account the cursor is at its end */
        }
        cursor->account = name != NULL ? sqlite3_mprintf("%s", name) : NULL;
        if (cursor->account == NULL) {
            return SQLITE_NOMEM;
        }
    }
    int rc = find_table(cursor, &error);
    return rc == SQLITE_OK ? rc : fail_tables(cursor->table, &error);
}

static int tables_next(sqlite3_vtab_cursor *base)
{
    service_tables_cursor *cursor = service_tables_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    cursor->at++;
    int rc = find_table(cursor, &error);
    return rc == SQLITE_OK ? rc : fail_tables(cursor->table, &error);
}

static int tables_eof(sqlite3_vtab_cursor *cursor)
{
    return service_tables_cursor_of(cursor)->current == NULL;
}

static int tables_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    service_tables_cursor *cursor = service_tables_cursor_of(base);
    size_t hint = 0;
    const pt_page_entity *entity = &cursor->page.entities[cursor->at];
    const pt_value *name = pt_page_find(&cursor->page, entity, pt_slice_text("TableName"), &hint);
    bool text = name != NULL && name->type == PT_STRING;
    pt_slice table = text ? name->bytes : pt_slice_of("", 0);
    if (column == TABLES_ACCOUNT) {
        sqlite3_result_text(context, cursor->current, -1, SQLITE_TRANSIENT);
    } else if (column == TABLES_NAME) {
        sqlite3_result_text64(context, (const char *)table.data, table.size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
    } else {
        const int by_names = PLAN_ACCOUNT | PLAN_NAMES;
        pt_buffer key = {0};
        pt_buffer_append_byte(&key, cursor->plan == by_names ? FOUND_BY_NAMES : FOUND_OTHERWISE);
        pt_key_append(&key, pt_slice_text(cursor->current), table);
        if (key.failed) {
            pt_buffer_free(&key);
            return SQLITE_NOMEM;
        }
        sqlite3_result_blob64(context, key.data, key.size, SQLITE_TRANSIENT);
        pt_buffer_free(&key);
    }
    return SQLITE_OK;
}

static int tables_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    (void)rowid;
    return SQLITE_SCHEMA;
}

/* --- INSERT and DELETE --- */

static int create_service_table(pt_service_vtab *table, const char *account, const char *name,
                                pt_error *error)
{
    pt_call call;
    pt_http_reply *reply;
    char *body = sqlite3_mprintf("{\"TableName\":\"%s\"}", name);
    if (body == NULL) {
        return pt_error_nomem(error);
    }
    describe_tables_call(&call, table->service, account, PT_HTTP_POST);
    call.subject.table = name;
    call.body = pt_slice_text(body);
    int rc = perform_tables_call(&call, &reply, error);
    pt_call_free(&call);
    sqlite3_free(body);
    return rc;
}

static int delete_service_table(pt_service_vtab *table, const char *account, const char *name,
                                pt_error *error)
{
    pt_call call;
    pt_http_reply *reply;
    describe_tables_call(&call, table->service, account, PT_HTTP_DELETE);
    call.subject.table = name;
    pt_buffer_append_text(&call.path, "('");
    pt_query_append_encoded(&call.path, pt_slice_text(name));
    pt_buffer_append_text(&call.path, "')");
    int rc = perform_tables_call(&call, &reply, error);
    pt_call_free(&call);
    return rc;
}

static int insert_row(pt_service_vtab *table, sqlite3_value **columns, pt_error *error)
{
    const char *account = (const char *)sqlite3_value_text(columns[TABLES_ACCOUNT]);
    int type = sqlite3_value_type(columns[TABLES_NAME]);
    const char *name = (const char *)sqlite3_value_text(columns[TABLES_NAME]);
    if (account == NULL || name == NULL) {
        return pt_error_set(error, SQLITE_CONSTRAINT_NOTNULL,
                            "Account and TableName are needed to create a table; give both");
    }
    if (type == SQLITE_BLOB || type == SQLITE_FLOAT) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "TableName is no text; give a text (InvalidResourceName)");
    }
    if (strlen(name) != (size_t)sqlite3_value_bytes(columns[TABLES_NAME])) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "TableName %Q is followed by U+0000; leave that out "
                            "(InvalidResourceName)",
                            name);
    }
    int rc = pt_service_check_table_name(name, error);
    if (rc == SQLITE_ERROR) { /* as of a row of pt_tables */
        error->rc = SQLITE_CONSTRAINT_VTAB;
    }
    return rc == SQLITE_OK ? create_service_table(table, account, name, error) : rc;
}

/* The key is Account 00 TableName, after its first byte. */
static int delete_row_of(pt_service_vtab *table, sqlite3_value *key, pt_error *error)
{
    pt_slice account;
    pt_slice name;
    const uint8_t *bytes = sqlite3_value_blob(key);
    size_t size = (size_t)sqlite3_value_bytes(key);
    if (bytes == NULL || !pt_key_split(pt_slice_of(bytes + 1, size - 1), &account, &name)) {
        return pt_error_nomem(error);
    }
    if (bytes[0] != FOUND_BY_NAMES) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "a DELETE without the names of the tables would delete all that it "
                            "finds, with their entities, and ROLLBACK brings none back; write "
                            "WHERE Account = ... AND TableName = ..., or IN (...) with a list of "
                            "names");
    }
    char *copy = sqlite3_mprintf("%.*s", (int)name.size, name.data);
    int rc = copy != NULL ? delete_service_table(table, (const char *)account.data, copy, error)
                          : pt_error_nomem(error);
    sqlite3_free(copy);
    return rc;
}

/* What the service has done for earlier rows of the statement, nothing takes back. */
static void tell_what_is_done(const pt_service_vtab *table, bool deletes, pt_error *error)
{
    char *text = error->message;
    int64_t count = table->changed;
    if (count != 0 && text != NULL) {
        error->message = NULL;
        pt_error_set(error, error->rc, "%s; of the statement %lld table%s %s, which stays so", text,
                     (long long)count, count == 1 ? " is" : "s are",
                     deletes ? "deleted" : "created");
        sqlite3_free(text);
    }
}

static int tables_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_service_vtab *table = (pt_service_vtab *)vtab;
    pt_error error = PT_ERROR_NONE;
    bool deletes = argc == 1;
    int rc;
    if (deletes) {
        rc = delete_row_of(table, argv[0], &error);
    } else if (sqlite3_value_type(argv[0]) == SQLITE_NULL) {
        *rowid = sqlite3_last_insert_rowid(table->service->db);
        rc = insert_row(table, argv + 2, &error);
    } else {
        rc = pt_error_set(&error, SQLITE_CONSTRAINT_VTAB,
                          "a table of the service cannot be renamed; INSERT a new one, copy the "
                          "entities, and DELETE the old one");
    }
    if (rc == SQLITE_OK) {
        table->changed++;
        return rc;
    }
    tell_what_is_done(table, deletes, &error);
    return pt_module_fail_write(table->service->db, &vtab->zErrMsg, tables_name, &error);
}

/* Called once for a statement, before it reads. */
static int tables_begin(sqlite3_vtab *vtab)
{
    pt_service_vtab *table = (pt_service_vtab *)vtab;
    pt_error error = PT_ERROR_NONE;
    table->changed = 0;
    if (sqlite3_get_autocommit(table->service->db) != 0) {
        return SQLITE_OK;
    }
    pt_error_set(&error, SQLITE_ERROR,
                 "a table of the service is created and deleted at once, and ROLLBACK would not "
                 "undo it, so a transaction cannot do it; COMMIT first, and repeat the statement "
                 "without BEGIN (in Python with isolation_level=None)");
    return fail_tables(table, &error);
}

const sqlite3_module pt_service_tables_module = {
    .xConnect = tables_connect,
    .xBestIndex = tables_best_index,
    .xDisconnect = pt_service_vtab_disconnect,
    .xOpen = tables_open,
    .xClose = tables_close,
    .xFilter = tables_filter,
    .xNext = tables_next,
    .xEof = tables_eof,
    .xColumn = tables_column,
    .xRowid = tables_rowid,
    .xUpdate = tables_update,
    .xBegin = tables_begin,
};
