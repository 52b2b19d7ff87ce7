#include "service/tables.h"

#include "ptable.h"
#include "service/entity.h"
#include "service/refusal.h"

/* --- SQL --- */

bool tables_run(const service *served, const char *format, const char *text)
{
    char *sql = sqlite3_mprintf(format, text);
    if (sql == NULL) {
        give_up("tables", "out of memory");
    }
    int rc = sqlite3_exec(served->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc == SQLITE_OK;
}

sqlite3_stmt *tables_prepare(const service *served, const char *format, const char *text)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(format, text);
    if (sql == NULL || sqlite3_prepare_v2(served->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        give_up(sql != NULL ? sql : "tables", sqlite3_errmsg(served->db));
    }
    sqlite3_free(sql);
    return statement;
}

static void must_run(const service *served, const char *sql)
{
    if (!tables_run(served, "%s", sql)) {
        give_up(sql, sqlite3_errmsg(served->db));
    }
}

void tables_open(service *served, const char *path)
{
    if (sqlite3_open(path, &served->db) != SQLITE_OK ||
        sqlite3_ptable_init(served->db, NULL, NULL) != SQLITE_OK) {
        give_up(path, sqlite3_errmsg(served->db));
    }
    must_run(served, "CREATE VIRTUAL TABLE IF NOT EXISTS \"list of tables\""
                     " USING ptable(TableName String, sync='off')");
    must_run(served, "CREATE TEMP TABLE tokens(partition_key, row_key)");
    must_run(served, "CREATE INDEX temp.tokens_by_keys ON tokens(partition_key, row_key)");
    must_run(served, "CREATE TEMP TABLE in_units(name TEXT PRIMARY KEY)");
}

/* --- Order --- */

void tables_put_in_units(const service *served, const char *name)
{
    if (!tables_run(served, "INSERT OR IGNORE INTO temp.in_units VALUES(%Q)", name)) {
        give_up("in_units", sqlite3_errmsg(served->db));
    }
}

bool tables_is_in_units(const service *served, const char *name)
{
    sqlite3_stmt *row = tables_prepare(served, "SELECT 1 FROM temp.in_units WHERE name = %Q", name);
    bool found = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return found;
}

/* --- Tables --- */

/* The service finds a table in any case; the emulator in its own only. */
const char *tables_find(const service *served, request *asked, const char *name, reply *given)
{
    sqlite3_stmt *row =
        tables_prepare(served,
                       "SELECT TableName FROM \"list of tables\" WHERE PartitionKey = ''"
                       " AND RowKey = lower(%Q)",
                       name);
    const char *found = NULL;
    if (sqlite3_step(row) == SQLITE_ROW) {
        found = request_text(asked, "%s", (const char *)sqlite3_column_text(row, 0));
    }
    sqlite3_finalize(row);
    if (found == NULL || (served->dialect == AZURITE && strcmp(found, name) != 0)) {
        refuse(served, asked, given, "TableNotFound");
        return NULL;
    }
    return found;
}

static void append_metadata(const service *served, const request *asked, const char *what,
                            pt_buffer *out)
{
    pt_slice host = request_header(asked, "Host");
    pt_buffer_append_text(out, "\"odata.metadata\":\"http://");
    pt_buffer_append_slice(out, host);
    pt_buffer_append_byte(out, '/');
    pt_buffer_append_text(out, served->account);
    pt_buffer_append_text(out, what);
    pt_buffer_append_text(out, "\",");
}

static void write_table(const service *served, request *asked, reply *given, const char *name,
                        int status)
{
    reply_json(given, asked, status);
    pt_buffer_append_byte(&given->body, '{');
    append_metadata(served, asked, "/$metadata#Tables/@Element", &given->body);
    pt_buffer_append_text(&given->body, "\"TableName\":");
    json_append_string(&given->body, pt_slice_text(name));
    pt_buffer_append_byte(&given->body, '}');
}

/* A name has letters and digits only, so that it needs no quoting once the ptable is there. */
static bool make_table(const service *served, const char *name)
{
    return tables_run(served,
                      "CREATE VIRTUAL TABLE \"%w\""
                      " USING ptable(limits='azure', batch='azure', sync='off')",
                      name) &&
           tables_run(served,
                      "INSERT INTO \"list of tables\"(PartitionKey, RowKey, TableName)"
                      " SELECT '', lower(column1), column1 FROM (VALUES(%Q))",
                      name);
}

static bool is_there(const service *served, const char *name)
{
    sqlite3_stmt *row = tables_prepare(
        served, "SELECT 1 FROM \"list of tables\" WHERE PartitionKey = '' AND RowKey = lower(%Q)",
        name);
    bool found = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return found;
}

static void create_table(service *served, request *asked, reply *given)
{
    pt_slice text = json_member(asked, asked->body, "TableName");
    const char *name = text.data != NULL ? request_copy(asked, text) : "";
    if (text.data == NULL) {
        refuse(served, asked, given, "InvalidInput");
    } else if (is_there(served, name)) {
        refuse(served, asked, given, "TableAlreadyExists");
    } else if (!make_table(served, name)) {
        refuse_as_sql_says(served, asked, given);
        if (served->dialect == AZURITE && given->status == STATUS_BAD) {
            refuse_with(served, asked, given, STATUS_BAD, "", "The name is not valid.");
        }
    } else if (slice_is(request_header(asked, "Prefer"), "return-no-content")) {
        reply_empty(given, STATUS_NO_CONTENT);
        reply_header(given, "Preference-Applied", "return-no-content");
    } else {
        write_table(served, asked, given, name, STATUS_CREATED);
        reply_header(given, "Preference-Applied", "return-content");
    }
}

static void delete_table(service *served, request *asked, const char *name, reply *given)
{
    if (!is_there(served, name)) {
        refuse(served, asked, given, "ResourceNotFound");
        return;
    }
    if (!tables_run(served, "DELETE FROM pt_tables WHERE TableName = %Q", name) ||
        !tables_run(served, "DROP TABLE \"%w\"", name) ||
        !tables_run(served,
                    "DELETE FROM \"list of tables\" WHERE PartitionKey = '' AND RowKey = lower(%Q)",
                    name)) {
        give_up("deleting a table", sqlite3_errmsg(served->db));
    }
    reply_empty(given, STATUS_NO_CONTENT);
}

/* --- Listing --- */

static int64_t page_of(service *served, request *asked, const address *named)
{
    const char *top = address_parameter(asked, named, "$top");
    int64_t rows = top != NULL ? strtoll(top, NULL, 10) : PAGE_MAX;
    rows = rows < served->rows ? rows : served->rows;
    return served->seed != 0 && rows > 1 ? 1 + (int64_t)(service_random(served) % (uint64_t)rows)
                                         : rows;
}

/* Writes at most `rows` tables; the next one's name is the token. */
static bool write_tables(sqlite3_stmt *row, int64_t rows, reply *given)
{
    int64_t count = 0;
    int rc;
    while ((rc = sqlite3_step(row)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        if (count++ == rows) {
            reply_header(given, "x-ms-continuation-NextTableName", name);
            break;
        }
        pt_buffer_append_text(&given->body, count > 1 ? ",{\"TableName\":" : "{\"TableName\":");
        json_append_string(&given->body, pt_slice_text(name));
        pt_buffer_append_byte(&given->body, '}');
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static void list_tables(service *served, request *asked, const address *named, reply *given)
{
    const char *filter = address_parameter(asked, named, "$filter");
    const char *from = address_parameter(asked, named, "NextTableName");
    sqlite3_stmt *row = tables_prepare(
        served,
        filter != NULL && *filter != 0 ? "SELECT TableName FROM \"list of tables\" WHERE RowKey >="
                                         " lower(%Q) AND Filter MATCH ?1 ORDER BY EntityKey"
                                       : "SELECT TableName FROM \"list of tables\" WHERE RowKey >="
                                         " lower(%Q) ORDER BY EntityKey",
        from != NULL ? from : "");
    if (filter != NULL) {
        sqlite3_bind_text(row, 1, filter, -1, SQLITE_STATIC);
    }
    reply_json(given, asked, STATUS_OK);
    pt_buffer_append_byte(&given->body, '{');
    append_metadata(served, asked, "/$metadata#Tables", &given->body);
    pt_buffer_append_text(&given->body, "\"value\":[");
    bool is_fine = write_tables(row, page_of(served, asked, named), given);
    pt_buffer_append_text(&given->body, "]}");
    if (!is_fine) {
        refuse_as_sql_says(served, asked, given);
    }
    sqlite3_finalize(row);
}

void tables_perform(service *served, request *asked, const address *named, reply *given)
{
    bool is_one = named->kind == ADDRESS_TABLE;
    if (!is_one && slice_is(asked->method, "GET")) {
        list_tables(served, asked, named, given);
    } else if (!is_one && slice_is(asked->method, "POST")) {
        create_table(served, asked, given);
    } else if (is_one && slice_is(asked->method, "DELETE")) {
        delete_table(served, asked, named->table, given);
    } else {
        refuse(served, asked, given, "NotImplemented");
    }
}
