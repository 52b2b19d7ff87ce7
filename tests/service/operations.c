#include "service/operations.h"

#include "service/entity.h"
#include "service/refusal.h"
#include "service/sas.h"
#include "service/tables.h"

bool operations_accept(const service *served, const request *asked, reply *given)
{
    static const char json[] = "application/json";
    pt_slice accept = request_header(asked, "Accept");
    if (accept.size >= strlen(json) && memcmp(accept.data, json, strlen(json)) == 0) {
        return true;
    }
    refuse(served, asked, given, "AtomFormatNotSupported");
    return false;
}

/* The emulator takes an entity without PartitionKey for a table. */
static char *metadata_of(const service *served, request *asked, const char *table,
                         const char *partition_key)
{
    bool is_table = served->dialect == AZURITE && *partition_key == 0;
    pt_slice host = request_header(asked, "Host");
    return request_text(asked, "http://%.*s/%s/$metadata#%s/@Element", (int)host.size,
                        (const char *)host.data, served->account, is_table ? "Tables" : table);
}

/* --- Reading --- */

#define ENTITY_SQL                                                                                 \
    "SELECT ETag, pt_entity_json(PartitionKey, RowKey, Timestamp, Properties), PartitionKey"       \
    " FROM \"%w\" WHERE PartitionKey = ?1 AND RowKey = ?2"

static sqlite3_stmt *find_entity(const service *served, const char *table, pt_slice partition_key,
                                 pt_slice row_key)
{
    sqlite3_stmt *row = tables_prepare(served, ENTITY_SQL, table);
    sqlite3_bind_text(row, 1, (const char *)partition_key.data, (int)partition_key.size,
                      SQLITE_STATIC);
    sqlite3_bind_text(row, 2, (const char *)row_key.data, (int)row_key.size, SQLITE_STATIC);
    return row;
}

static void write_entity(const service *served, request *asked, const char *table,
                         sqlite3_stmt *row, const selection *selected, reply *given)
{
    const char *etag = (const char *)sqlite3_column_text(row, 0);
    const void *json = sqlite3_column_text(row, 1);
    pt_slice copy = pt_slice_of(json, (size_t)sqlite3_column_bytes(row, 1));
    copy.data = (const uint8_t *)request_copy(asked, copy);
    entity_write(served, asked, copy, etag,
                 metadata_of(served, asked, table, (const char *)sqlite3_column_text(row, 2)),
                 selected, &given->body);
    reply_header(given, "ETag", etag);
}

static void get_entity(service *served, request *asked, const address *named, const char *table,
                       reply *given)
{
    selection selected = selection_read(asked, address_parameter(asked, named, "$select"));
    if (!sas_allows(served, "r", named->partition_key, named->row_key)) {
        refuse(served, asked, given, "AuthorizationPermissionMismatch");
        return;
    }
    if (!operations_accept(served, asked, given)) {
        return;
    }
    sqlite3_stmt *row = find_entity(served, table, pt_slice_text(named->partition_key),
                                    pt_slice_text(named->row_key));
    int rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        reply_json(given, asked, STATUS_OK);
        write_entity(served, asked, table, row, &selected, given);
    } else if (rc == SQLITE_DONE) {
        refuse(served, asked, given, "ResourceNotFound");
    } else {
        refuse_as_sql_says(served, asked, given);
    }
    sqlite3_finalize(row);
}

/* --- Writing --- */

typedef struct write {
    const char *mode; /* a ptable's WriteMode */
    pt_slice partition_key;
    pt_slice row_key;
    pt_slice properties; /* no data for a delete */
    pt_slice if_match;   /* no data for none */
} write;

#define WRITE_SQL                                                                                  \
    "INSERT INTO \"%w\"(PartitionKey, RowKey, Properties, WriteMode, IfMatch)"                     \
    " VALUES(?1, ?2, ?3, ?4, ?5)"

static void bind_slice(sqlite3_stmt *statement, int index, pt_slice text)
{
    if (text.data != NULL) {
        sqlite3_bind_text(statement, index, (const char *)text.data, (int)text.size, SQLITE_STATIC);
    }
}

/* From U+E000 on, UTF-16 orders characters otherwise than UTF-8. */
static bool has_high_characters(pt_slice key)
{
    for (size_t i = 0; i < key.size; i++) {
        if (key.data[i] >= 0xee) {
            return true;
        }
    }
    return false;
}

static bool store(const service *served, const char *table, const write *made)
{
    sqlite3_stmt *statement = tables_prepare(served, WRITE_SQL, table);
    bind_slice(statement, 1, made->partition_key);
    bind_slice(statement, 2, made->row_key);
    bind_slice(statement, 3, made->properties);
    bind_slice(statement, 4, pt_slice_text(made->mode));
    bind_slice(statement, 5, made->if_match);
    int rc = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (has_high_characters(made->partition_key) || has_high_characters(made->row_key)) {
        tables_put_in_units(served, table);
    }
    return rc == SQLITE_DONE;
}

/* An insert answers with the entity, unless it is asked not to; other writes answer without. */
static void answer_write(service *served, request *asked, const char *table, const write *made,
                         reply *given)
{
    static const selection everything = {0};
    bool is_insert = strcmp(made->mode, "insert") == 0;
    bool is_quiet = slice_is(request_header(asked, "Prefer"), "return-no-content");
    if (strcmp(made->mode, "delete") == 0) {
        reply_empty(given, STATUS_NO_CONTENT);
        return;
    }
    sqlite3_stmt *row = find_entity(served, table, made->partition_key, made->row_key);
    if (sqlite3_step(row) != SQLITE_ROW) {
        give_up("reading what was written", sqlite3_errmsg(served->db));
    }
    if (is_insert && !is_quiet) {
        reply_json(given, asked, STATUS_CREATED);
        write_entity(served, asked, table, row, &everything, given);
    } else {
        reply_empty(given, STATUS_NO_CONTENT);
        reply_header(given, "ETag", (const char *)sqlite3_column_text(row, 0));
    }
    if (is_insert) {
        reply_header(given, "Preference-Applied",
                     is_quiet ? "return-no-content" : "return-content");
    }
    sqlite3_finalize(row);
}

/* Without If-Match an update is an insert, too. In a batch the table is judged here. */
static bool is_allowed(const service *served, request *asked, const char *table, const write *made)
{
    bool is_insert = strcmp(made->mode, "insert") == 0;
    const char *rights = is_insert                           ? "a"
                         : strcmp(made->mode, "delete") == 0 ? "d"
                         : made->if_match.data != NULL       ? "u"
                                                             : "au";
    const char *granted = served->granted.table;
    return (granted == NULL || sqlite3_stricmp(granted, table) == 0) &&
           sas_allows(served, rights, request_copy(asked, made->partition_key),
                      request_copy(asked, made->row_key));
}

static void perform_write(service *served, request *asked, const char *table, const write *made,
                          reply *given)
{
    if (!is_allowed(served, asked, table, made)) {
        refuse(served, asked, given, "AuthorizationPermissionMismatch");
    } else if (store(served, table, made)) {
        answer_write(served, asked, table, made, given);
    } else {
        refuse_as_sql_says(served, asked, given);
    }
}

static void insert_entity(service *served, request *asked, const char *table, reply *given)
{
    entity read;
    const char *wrong = entity_read(asked, asked->body, &read);
    if (wrong == NULL && (read.partition_key.data == NULL || read.row_key.data == NULL)) {
        wrong = "PropertiesNeedValue";
    }
    if (wrong != NULL) {
        refuse(served, asked, given, wrong);
        return;
    }
    write made = {.mode = "insert",
                  .partition_key = read.partition_key,
                  .row_key = read.row_key,
                  .properties = read.properties};
    perform_write(served, asked, table, &made, given);
}

static bool is_other(pt_slice given, const char *key)
{
    return given.data != NULL && !slice_is(given, key);
}

/* Keys in a body must be those of the address. The emulator takes those of the address. */
static void update_entity(service *served, request *asked, const address *named, const char *table,
                          const char *mode, reply *given)
{
    entity read;
    const char *wrong = entity_read(asked, asked->body, &read);
    if (wrong == NULL && served->dialect == AZURE &&
        (is_other(read.partition_key, named->partition_key) ||
         is_other(read.row_key, named->row_key))) {
        wrong = "InvalidInput";
    }
    if (wrong != NULL) {
        refuse(served, asked, given, wrong);
        return;
    }
    write made = {.mode = mode,
                  .partition_key = pt_slice_text(named->partition_key),
                  .row_key = pt_slice_text(named->row_key),
                  .properties = read.properties,
                  .if_match = request_header(asked, "If-Match")};
    perform_write(served, asked, table, &made, given);
}

/* If-Match is mandatory; in its batches the emulator goes without. */
static void delete_entity(service *served, request *asked, const address *named, const char *table,
                          reply *given)
{
    write made = {.mode = "delete",
                  .partition_key = pt_slice_text(named->partition_key),
                  .row_key = pt_slice_text(named->row_key),
                  .if_match = request_header(asked, "If-Match")};
    if (made.if_match.data == NULL && served->dialect == AZURITE && asked->in_batch) {
        made.if_match = pt_slice_text("*");
    }
    if (made.if_match.data != NULL) {
        perform_write(served, asked, table, &made, given);
    } else if (served->dialect == AZURITE) {
        refuse_bare(given, STATUS_BAD);
    } else {
        refuse_with(served, asked, given, STATUS_BAD, "MissingRequiredHeader",
                    "A required HTTP header was not specified.");
    }
}

/* --- Choosing --- */

static bool is_merge(pt_slice method)
{
    return slice_is(method, "MERGE") || slice_is(method, "PATCH");
}

void operations_perform(service *served, request *asked, const address *named, reply *given)
{
    bool is_entity = named->kind == ADDRESS_ENTITY;
    pt_slice method = asked->method;
    const char *table = tables_find(served, asked, named->table, given);
    if (table == NULL) {
        return;
    }
    if (is_entity && slice_is(method, "GET")) {
        get_entity(served, asked, named, table, given);
    } else if (!is_entity && slice_is(method, "POST")) {
        insert_entity(served, asked, table, given);
    } else if (is_entity && slice_is(method, "PUT")) {
        update_entity(served, asked, named, table, "replace", given);
    } else if (is_entity && is_merge(method)) {
        update_entity(served, asked, named, table, "merge", given);
    } else if (is_entity && slice_is(method, "DELETE")) {
        delete_entity(served, asked, named, table, given);
    } else {
        refuse(served, asked, given, "NotImplemented");
    }
}
