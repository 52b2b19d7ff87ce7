#include "catalog/changes.h"

#include "base/text.h"
#include "base/ticks.h"
#include "catalog/tables_source.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "module/companion.h"
#include "module/module.h"
#include "module/registration.h"
#include "table/arguments.h"
#include "table/row.h"
#include "transaction/change_log.h"
#include "value/value.h"

enum {
    CHANGES_TIMESTAMP,
    CHANGES_PARTITION_KEY,
    CHANGES_ROW_KEY,
    CHANGES_WRITE_MODE,
    CHANGES_PROPERTIES,
    CHANGES_ARGUMENTS
};

typedef struct changes_cursor {
    pt_tvf_cursor base;
    pt_catalog_source source; /* its scan finds entities */
    pt_scan scan;             /* of the changes; stands after the current row */
    pt_table_properties kept;
    bool first_copy; /* `since` is NULL */
    pt_change row;   /* its key is that in `key` */
    int64_t shown;   /* the Timestamp of the row */
    pt_buffer key;   /* logical, of the entity, and one 00 */
    pt_buffer low;
    pt_buffer high;
    pt_buffer json;
} changes_cursor;

static changes_cursor *changes_cursor_of(pt_tvf_cursor *cursor)
{
    return (changes_cursor *)cursor;
}

static void end_changes(pt_tvf_cursor *cursor)
{
    changes_cursor *self = changes_cursor_of(cursor);
    pt_scan_free(&self->scan);
    pt_catalog_source_close(&self->source);
    pt_buffer_free(&self->key);
    pt_buffer_free(&self->low);
    pt_buffer_free(&self->high);
    pt_buffer_free(&self->json);
}

/* --- Arguments --- */

/* A call: with a store or without. */
typedef struct changes_names {
    const char *store; /* NULL: a ptable is named */
    const char *table;
    bool none; /* a name is NULL */
} changes_names;

static int read_name(sqlite3_value *value, const char **name, bool *none, pt_error *error)
{
    *none = *none || sqlite3_value_type(value) == SQLITE_NULL;
    if (*none) {
        return SQLITE_OK;
    }
    *name = (const char *)sqlite3_value_text(value);
    return *name != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* `count` values name the table. */
static int read_names(sqlite3_value *const *values, int count, changes_names *names,
                      pt_error *error)
{
    *names = (changes_names){.store = NULL};
    int rc = read_name(values[count - 1], &names->table, &names->none, error);
    return rc == SQLITE_OK && count == 2 ? read_name(values[0], &names->store, &names->none, error)
                                         : rc;
}

static int read_change_time(sqlite3_value *value, const char *name, int64_t *ticks, pt_error *error)
{
    char shown[PT_DESCRIPTION_SIZE];
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL) {
        return pt_error_nomem(error);
    }
    pt_slice bytes = pt_slice_of(text, (size_t)sqlite3_value_bytes(value));
    if (sqlite3_value_type(value) == SQLITE_TEXT && pt_ticks_parse(bytes, ticks)) {
        return SQLITE_OK;
    }
    pt_value_describe(value, shown);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s is %s; give a Timestamp, such as '2026-11-21T08:43:22.5484454Z'", name,
                        shown);
}

static int refuse_without_changes(const char *store, const char *table, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "the changes of table %Q are not kept; UPDATE pt_tables SET Changes = 'on' "
                        "WHERE Store = %Q AND TableName = %Q",
                        table, store, table);
}

static int refuse_old_since(const changes_cursor *self, int64_t since, pt_error *error)
{
    char times[2][PT_DATETIME_TEXT_SIZE + 1];
    pt_ticks_format(since, times[0]);
    pt_ticks_format(self->kept.horizon, times[1]);
    return pt_error_set(error, SQLITE_ERROR,
                        "the changes of table %Q since %s are not all known, only those since %s; "
                        "copy the table anew: delete the copy, and read pt_changes with NULL",
                        self->source.table, times[0], times[1]);
}

/* Sets where to begin. */
static int read_since(changes_cursor *self, sqlite3_value *value, pt_error *error)
{
    int64_t since = -1;
    self->first_copy = sqlite3_value_type(value) == SQLITE_NULL;
    int rc = self->first_copy ? SQLITE_OK : read_change_time(value, "since", &since, error);
    if (rc == SQLITE_OK && !self->first_copy && since < self->kept.horizon) {
        rc = refuse_old_since(self, since, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_change_begin_after(&self->low, self->kept.changes_id, since);
    pt_key_begin_after(&self->high, self->kept.changes_id);
    return self->low.failed || self->high.failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* --- Rows --- */

/* Moves the scan to the next change to be shown: the one it is on, or a later one. */
static int find_change(changes_cursor *self, pt_change *change, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && self->scan.valid) {
        if (!pt_change_read(self->scan.key, self->scan.record, change)) {
            return pt_change_log_report_damage(error);
        }
        if (!self->first_copy || change->kind == PT_CHANGE_PUT) {
            return SQLITE_OK;
        }
        rc = pt_view_step(self->scan.view, error);
        rc = rc == SQLITE_OK ? pt_scan_step(&self->scan, error) : rc;
    }
    return rc;
}

/* Moves source.scan to the entity of the row. */
static int seek_changed_entity(changes_cursor *self, pt_error *error)
{
    pt_slice high = pt_buffer_slice(&self->key);
    return pt_scan_seek(&self->source.scan, pt_slice_of(high.data, high.size - 1), high, PT_FORWARD,
                        error);
}

/* Opens the entity's record. *same = false: it is not the one that the change tells of. */
static int open_changed_entity(changes_cursor *self, pt_record *record, bool *same, pt_error *error)
{
    int rc = seek_changed_entity(self, error);
    *same = rc == SQLITE_OK && self->source.scan.valid;
    if (!*same) {
        return rc;
    }
    rc = pt_catalog_source_record(&self->source, record, error);
    *same = rc == SQLITE_OK && record->ticks == self->row.ticks;
    return rc;
}

/* Copies the change to the row, and moves the scan on. */
static int take_change(changes_cursor *self, const pt_change *change, pt_error *error)
{
    pt_change next;
    self->row = *change;
    self->shown = change->ticks;
    pt_key_make(&self->key, self->source.table_id, change->entity_key);
    pt_buffer_append_byte(&self->key, 0);
    if (self->key.failed) {
        return pt_error_nomem(error);
    }
    self->row.entity_key = pt_key_entity(pt_slice_of(self->key.data, self->key.size - 1));
    int rc = pt_scan_step(&self->scan, error);
    if (rc == SQLITE_OK) {
        rc = find_change(self, &next, error);
    }
    if (rc == SQLITE_OK && self->first_copy && !self->scan.valid &&
        self->shown < self->kept.horizon) {
        self->shown = self->kept.horizon;
    }
    return rc;
}

/* The statement may itself write entities that the scan of the changes has seen as they were. */
static int is_still_there(changes_cursor *self, bool *there, pt_error *error)
{
    pt_record record = {0};
    *there = true;
    if (self->row.kind == PT_CHANGE_DELETE || pt_scan_sees_no_writes(&self->source.scan)) {
        return SQLITE_OK;
    }
    return open_changed_entity(self, &record, there, error);
}

static int next_change(pt_tvf_cursor *cursor, pt_error *error)
{
    changes_cursor *self = changes_cursor_of(cursor);
    bool there = false;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !there) {
        pt_change change;
        rc = pt_view_step(self->scan.view, error);
        if (rc == SQLITE_OK) {
            rc = find_change(self, &change, error);
        }
        cursor->eof = rc != SQLITE_OK || !self->scan.valid;
        if (cursor->eof) {
            return rc;
        }
        rc = take_change(self, &change, error);
        if (rc == SQLITE_OK) {
            rc = is_still_there(self, &there, error);
        }
    }
    return rc;
}

static int open_changes(changes_cursor *self, pt_error *error)
{
    pt_view *view = self->source.scan.view;
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, self->source.table, &entry, error);
    if (rc == SQLITE_OK && entry.properties.changes_id == 0) {
        rc = refuse_without_changes(self->source.store, self->source.table, error);
    }
    self->kept = entry.properties;
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(&self->scan, view, error);
    }
    if (rc == SQLITE_OK) {
        pt_scan_freeze(&self->scan);
    }
    return rc;
}

static int begin_changes(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    (void)keys;
    changes_cursor *self = changes_cursor_of(cursor);
    changes_names names;
    int count = cursor->arguments[2] != NULL ? 2 : 1;
    int rc = read_names(cursor->arguments, count, &names, error);
    cursor->eof = rc == SQLITE_OK && names.none;
    if (rc != SQLITE_OK || names.none) {
        return rc;
    }
    rc = pt_catalog_source_open_named(&self->source, cursor, names.store, names.table, error);
    if (rc == SQLITE_OK) {
        rc = open_changes(self, error);
    }
    if (rc == SQLITE_OK) {
        rc = read_since(self, cursor->arguments[count], error);
    }
    return rc == SQLITE_OK ? pt_scan_seek(&self->scan, pt_buffer_slice(&self->low),
                                          pt_buffer_slice(&self->high), PT_FORWARD, error)
                           : rc;
}

/* --- Columns --- */

static int make_json(changes_cursor *self, pt_error *error)
{
    pt_record record = {0};
    pt_buffer bytes = {0};
    bool same;
    int rc = open_changed_entity(self, &record, &same, error);
    if (rc != SQLITE_OK || !same) {
        return rc != SQLITE_OK ? rc : pt_change_log_report_damage(error);
    }
    const pt_entity_source source = {
        .view = self->source.scan.view, .key = self->source.scan.key, .bytes = &bytes};
    rc = pt_entity_to_json(&record, &source, &self->json, error);
    pt_buffer_free(&bytes);
    return rc;
}

static int load_change(pt_tvf_cursor *cursor, int column, pt_error *error)
{
    changes_cursor *self = changes_cursor_of(cursor);
    return column == CHANGES_PROPERTIES && self->row.kind == PT_CHANGE_PUT ? make_json(self, error)
                                                                           : SQLITE_OK;
}

static void change_column(pt_tvf_cursor *cursor, sqlite3_context *context, int column)
{
    changes_cursor *self = changes_cursor_of(cursor);
    bool put = self->row.kind == PT_CHANGE_PUT;
    char time[PT_DATETIME_TEXT_SIZE + 1];
    pt_keys keys = pt_keys_of(pt_slice_of(self->key.data, self->key.size - 1));
    switch (column) {
    case CHANGES_TIMESTAMP:
        pt_ticks_format(self->shown, time);
        sqlite3_result_text(context, time, -1, SQLITE_TRANSIENT);
        break;
    case CHANGES_PARTITION_KEY:
        pt_tvf_result_text(context, keys.partition);
        break;
    case CHANGES_ROW_KEY:
        pt_tvf_result_text(context, keys.row);
        break;
    case CHANGES_WRITE_MODE:
        sqlite3_result_text(context, put ? "replace" : "delete", -1, SQLITE_STATIC);
        break;
    default:
        if (put) {
            pt_tvf_result_text(context, pt_buffer_slice(&self->json));
            sqlite3_result_subtype(context, 'J'); /* JSON, to SQLite's functions */
        }
        break;
    }
}

const pt_tvf pt_tvf_changes = {
    .name = "pt_changes",
    .declaration = "CREATE TABLE x(Timestamp TEXT COLLATE " PT_TICKS_COLLATION
                   ", PartitionKey TEXT, RowKey TEXT, WriteMode TEXT, Properties TEXT, "
                   "argument1 HIDDEN, argument2 HIDDEN, argument3 HIDDEN)",
    .usage = "pt_changes('table', since), or pt_changes('store', 'table', since)",
    .first_argument = CHANGES_ARGUMENTS,
    .least_arguments = 2,
    .most_arguments = 3,
    .key_column = -1,
    .opens_stores = true,
    .takes_null = true,
    .sentence = "changes since a time",
    .cursor_size = sizeof(changes_cursor),
    .begin = begin_changes,
    .next = next_change,
    .load = load_change,
    .column = change_column,
    .end = end_changes,
};

/* --- Switching --- */

static int read_changes_switch(sqlite3_value *value, bool *on, pt_error *error)
{
    char shown[PT_DESCRIPTION_SIZE];
    const char *text = (const char *)sqlite3_value_text(value);
    bool is_null = sqlite3_value_type(value) == SQLITE_NULL;
    if (text == NULL && !is_null) {
        return pt_error_nomem(error);
    }
    *on = !is_null && (sqlite3_stricmp(text, "on") == 0 || strcmp(text, "1") == 0);
    if (*on || (!is_null && (sqlite3_stricmp(text, "off") == 0 || strcmp(text, "0") == 0))) {
        return SQLITE_OK;
    }
    pt_value_describe(value, shown);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "Changes is %s; give 'on' or 'off'", shown);
}

int pt_catalog_set_changes(pt_session *session, const char *table, sqlite3_value *value,
                           pt_error *error)
{
    bool on = false;
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = read_changes_switch(value, &on, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, table, &entry, error);
    }
    if (rc == SQLITE_OK && entry.kind != PT_TABLE_OF_ENTITIES) {
        return pt_error_set(error, SQLITE_ERROR,
                            "%Q is a queue; changes are kept of tables of entities", table);
    }
    return rc == SQLITE_OK ? pt_change_log_switch(session, table, on, error) : rc;
}

/* --- pt_forget_deleted --- */

typedef struct forget_call {
    pt_declared_tables declared;
    pt_catalog_source source;
    int64_t before;
    int64_t count;
} forget_call;

static int begin_forgetting(forget_call *call, pt_error *error)
{
    const char *table = call->source.table;
    pt_declaration said = pt_declared_tables_ask(&call->declared, call->source.session, table);
    int rc = pt_declaration_check_writable(&said, "to forget its deletions", error);
    if (rc == SQLITE_OK) {
        rc = pt_session_begin(call->source.session, error);
    }
    if (rc == SQLITE_OK) {
        pt_session_require_sync(call->source.session, said.sync);
    }
    return rc;
}

/* Runs in the companion. */
static int forget_now(void *context, pt_error *error)
{
    forget_call *call = context;
    pt_session *session = call->source.session;
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = begin_forgetting(call, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(session, &view, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, call->source.table, &entry, error);
    }
    if (rc == SQLITE_NOTFOUND) {
        return pt_error_set(error, SQLITE_ERROR, "store %Q has no table %Q (TableNotFound)",
                            call->source.store, call->source.table);
    }
    if (rc == SQLITE_OK && entry.properties.changes_id == 0) {
        rc = refuse_without_changes(call->source.store, call->source.table, error);
    }
    return rc == SQLITE_OK ? pt_change_log_forget(session, call->source.table, call->before,
                                                  &call->count, error)
                           : rc;
}

static int run_forgetting(forget_call *call, const changes_names *names, pt_error *error)
{
    bool run = false;
    pt_connection *connection = call->declared.connection;
    int rc = pt_declared_tables_connect(&call->declared, error);
    if (rc == SQLITE_OK) {
        rc = pt_catalog_source_find(&call->source, connection, names->store, names->table, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_companion_run(connection, forget_now, call, &run, error);
    }
    if (rc == SQLITE_OK && !run) {
        rc = pt_error_set(error, SQLITE_AUTH,
                          "it writes by an INSERT into temp.ptable_companion, which is not there, "
                          "or which an authorizer ignores; let it allow that");
    }
    pt_catalog_source_close(&call->source);
    return rc;
}

/* NULL in, NULL out. */
static void call_forget(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    forget_call call = {.declared = {.connection = sqlite3_user_data(context)}};
    changes_names names;
    sqlite3_value *before = argv[argc - 1];
    int rc = read_names(argv, argc - 1, &names, &error);
    if (rc == SQLITE_OK && (names.none || sqlite3_value_type(before) == SQLITE_NULL)) {
        return;
    }
    if (rc == SQLITE_OK) {
        rc = read_change_time(before, "the time", &call.before, &error);
    }
    if (rc == SQLITE_OK) {
        rc = run_forgetting(&call, &names, &error);
    }
    if (rc == SQLITE_OK) {
        sqlite3_result_int64(context, call.count);
    } else {
        pt_module_fail_function(context, "pt_forget_deleted", &error);
    }
}

int pt_forget_register(sqlite3 *db, pt_connection *connection)
{
    int rc = SQLITE_OK;
    for (int arguments = 2; rc == SQLITE_OK && arguments <= 3; arguments++) {
        pt_connection_retain(connection); /* SQLite releases it even if this fails */
        rc = sqlite3_create_function_v2(db, "pt_forget_deleted", arguments,
                                        SQLITE_UTF8 | SQLITE_DIRECTONLY, connection, call_forget,
                                        NULL, NULL, pt_module_release_connection);
    }
    return rc;
}
