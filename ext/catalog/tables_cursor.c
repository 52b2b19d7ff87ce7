#include "catalog/tables_cursor.h"

#include "base/ticks.h"
#include "catalog/stores.h"
#include "module/companion.h"
#include "module/module.h"
#include "transaction/table_directory.h"

/* Bits of a plan: the columns with an =, in the order of xFilter's arguments. */
enum { BY_STORE = 1, BY_NAME = 2 };

typedef struct tables_cursor {
    sqlite3_vtab_cursor base;
    bool eof;
    bool all;            /* lists all open stores */
    char *name;          /* list only the table of this name, or all if NULL */
    char *store;         /* name of the current store */
    pt_session *session; /* the current store, in use */
    uint32_t number;     /* number of the current or last session */
    pt_view *view;
    pt_table_walk walk;
    pt_table_entry entry;
    pt_buffer table;   /* name of the current table */
    pt_buffer expires; /* the column by which its entities expire, with a NUL; or empty */
} tables_cursor;

static tables_cursor *tables_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (tables_cursor *)cursor;
}

static pt_tables *tables_of(const tables_cursor *cursor)
{
    return pt_tables_of(cursor->base.pVtab);
}

static pt_connection *connection_of(const tables_cursor *cursor)
{
    return tables_of(cursor)->follower.connection;
}

static int tables_fail(sqlite3_vtab *vtab, pt_error *error)
{
    return pt_module_fail(&vtab->zErrMsg, "pt_tables", error);
}

/* --- Planning --- */

static int store_or_name(sqlite3_index_info *info, int i)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    if (constraint->op != SQLITE_INDEX_CONSTRAINT_EQ &&
        constraint->op != SQLITE_INDEX_CONSTRAINT_IS) {
        return 0;
    }
    const char *collation = sqlite3_vtab_collation(info, i);
    bool binary = sqlite3_stricmp(collation, "BINARY") == 0;
    bool no_case = sqlite3_stricmp(collation, "NOCASE") == 0;
    if (constraint->iColumn == PT_TABLES_STORE) {
        return binary ? BY_STORE : 0;
    }
    /* Not for IN: with one value at a time SQLite would compare numbers in the list as texts. */
    bool by_name = constraint->iColumn == PT_TABLES_NAME && (binary || no_case) &&
                   !sqlite3_vtab_in(info, i, -1);
    return by_name ? BY_NAME : 0;
}

/* Chooses the terms to use and their indexes. *waiting: another loop order would give a Store. */
static int choose_store_and_name(sqlite3_index_info *info, int index[BY_NAME + 1], bool *waiting)
{
    int plan = 0;
    *waiting = false;
    for (int i = 0; i < info->nConstraint; i++) {
        int term = store_or_name(info, i);
        if (term != 0 && !info->aConstraint[i].usable) {
            *waiting = *waiting || term == BY_STORE;
        } else if (term != 0) {
            plan |= term;
            index[term] = i;
        }
    }
    return plan;
}

/*
 * Without a Store the rows come from the default store, or from all. That changes the result, so a
 * plan with the Store must always win if there is one.
 */
static double cost_of_store_and_name(int plan, bool waiting)
{
    if ((plan & BY_STORE) != 0) {
        return 10;
    }
    return waiting ? 1e12 : 1e6;
}

int pt_tables_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const char *const sentences[] = {"tables", "tables: Store=?", "table: TableName=?",
                                            "table: Store=? AND TableName=?"};
    (void)vtab;
    int index[BY_NAME + 1] = {0};
    bool waiting;
    int plan = choose_store_and_name(info, index, &waiting);
    int arguments = 0;
    for (int term = BY_STORE; term <= BY_NAME; term++) {
        if ((plan & term) != 0) {
            info->aConstraintUsage[index[term]].argvIndex = ++arguments;
        }
    }
    info->idxNum = plan;
    info->idxStr = (char *)(uintptr_t)sentences[plan];
    info->estimatedRows = (plan & BY_NAME) != 0 ? 1 : 100;
    info->estimatedCost = cost_of_store_and_name(plan, waiting);
    return SQLITE_OK;
}

/* --- Opening and closing --- */

int pt_tables_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    pt_tables *tables = pt_tables_of(vtab);
    tables_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (tables_cursor){.eof = true};
    if (tables->cursors++ == 0) {
        pt_buffer_clear(&tables->named);
        pt_table_names_clear(&tables->names);
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

static void leave_current_store(tables_cursor *cursor)
{
    pt_table_walk_close(&cursor->walk);
    sqlite3_free(cursor->store);
    cursor->store = NULL;
    cursor->view = NULL;
    if (cursor->session != NULL) {
        pt_session_cursor_closed(cursor->session);
        pt_connection_leave(connection_of(cursor), cursor->session);
    }
    cursor->session = NULL;
}

int pt_tables_close(sqlite3_vtab_cursor *base)
{
    tables_cursor *cursor = tables_cursor_of(base);
    leave_current_store(cursor);
    tables_of(cursor)->cursors--;
    pt_buffer_free(&cursor->table);
    pt_buffer_free(&cursor->expires);
    sqlite3_free(cursor->name);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* --- Which stores --- */

bool pt_tables_is_named(const pt_tables *tables, uint32_t session)
{
    for (size_t i = 0; i < tables->named.size; i += sizeof session) {
        if (pt_get_le32(tables->named.data + i) == session) {
            return true;
        }
    }
    return false;
}

/* Remembers that the cursor was told to read the current store. */
static int note_named_store(const tables_cursor *cursor, pt_error *error)
{
    pt_tables *tables = tables_of(cursor);
    if (!pt_tables_is_named(tables, cursor->number)) {
        uint8_t *bytes = pt_buffer_extend(&tables->named, sizeof cursor->number);
        if (bytes == NULL) {
            return pt_error_nomem(error);
        }
        pt_put_le32(bytes, cursor->number);
    }
    return SQLITE_OK;
}

/* Makes the session, which the caller has begun to use, the current one. */
static void set_current_store(tables_cursor *cursor, pt_session *session)
{
    cursor->session = session;
    cursor->number = pt_connection_number_of(connection_of(cursor), session);
    pt_session_cursor_opened(session);
}

static int find_store_to_list(tables_cursor *cursor, const char *store, pt_error *error)
{
    pt_session *session = NULL;
    int rc = store != NULL ? pt_catalog_use_store(connection_of(cursor), store, &session, error)
                           : pt_catalog_use_default_store(connection_of(cursor), &session, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    cursor->all = session == NULL;
    cursor->number = 0;
    if (session == NULL) {
        return SQLITE_OK;
    }
    set_current_store(cursor, session);
    cursor->store = store != NULL ? sqlite3_mprintf("%s", store) : NULL;
    return store != NULL && cursor->store == NULL ? pt_error_nomem(error)
                                                  : note_named_store(cursor, error);
}

/* --- Rows --- */

/* Begins listing the tables of the current store. */
static int open_table_walk(tables_cursor *cursor, pt_error *error)
{
    if (cursor->store == NULL) {
        cursor->store = pt_catalog_store_name(connection_of(cursor), cursor->session);
    }
    if (cursor->store == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_session_read(cursor->session, &cursor->view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_walk_open(&cursor->walk, cursor->view, (pt_slice){0}, error);
    }
    return rc;
}

/* Reads the one table of the given name, if the store has it and it was not read yet. */
static int read_named_table(tables_cursor *cursor, bool *found, pt_error *error)
{
    int rc = cursor->walk.begun
                 ? SQLITE_NOTFOUND
                 : pt_table_directory_read(cursor->view, cursor->name, &cursor->entry, error);
    cursor->walk.begun = true;
    *found = rc == SQLITE_OK;
    /* No table has a name that is too long. */
    if (rc == SQLITE_TOOBIG) {
        pt_error_clear(error);
    }
    return rc == SQLITE_NOTFOUND || rc == SQLITE_TOOBIG ? SQLITE_OK : rc;
}

/* The entry is not valid for as long as the row. */
static int copy_texts(tables_cursor *cursor, pt_error *error)
{
    bool copied = pt_buffer_assign(&cursor->table, cursor->entry.name) &&
                  pt_buffer_assign(&cursor->expires, cursor->entry.properties.expires);
    return copied ? SQLITE_OK : pt_error_nomem(error);
}

static int next_in_store(tables_cursor *cursor, bool *found, pt_error *error)
{
    int rc = cursor->name != NULL ? read_named_table(cursor, found, error)
                                  : pt_table_walk_next(&cursor->walk, &cursor->entry, found, error);
    return rc == SQLITE_OK && *found ? copy_texts(cursor, error) : rc;
}

/* Moves to the next table of the current store or, if all stores are listed, of the next one. */
static int next_listed_table(tables_cursor *cursor, pt_error *error)
{
    for (;;) {
        if (cursor->session != NULL) {
            bool found = false;
            int rc = next_in_store(cursor, &found, error);
            cursor->eof = rc != SQLITE_OK || !found;
            if (!cursor->eof || rc != SQLITE_OK || !cursor->all) {
                return rc;
            }
            leave_current_store(cursor);
        }
        pt_session *next = pt_connection_session_above(connection_of(cursor), cursor->number);
        if (next == NULL) {
            cursor->eof = true;
            return SQLITE_OK;
        }
        pt_connection_use_again(connection_of(cursor), next);
        set_current_store(cursor, next);
        int rc = open_table_walk(cursor, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
}

/* Copies the text of an argument. NULL and a BLOB equal no text: *nothing. */
static int copy_text_argument(sqlite3_value *value, char **text, bool *nothing, pt_error *error)
{
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL || type == SQLITE_BLOB) {
        *nothing = true;
        return SQLITE_OK;
    }
    const char *own = (const char *)sqlite3_value_text(value);
    *text = own != NULL ? sqlite3_mprintf("%s", own) : NULL;
    return *text != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* SQLite may compare a number as a number, which several names can equal. Then all are read, and
 * SQLite checks them. */
static int copy_table_name(tables_cursor *cursor, sqlite3_value *value, bool *nothing,
                           pt_error *error)
{
    int type = sqlite3_value_type(value);
    bool is_number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
    return is_number ? SQLITE_OK : copy_text_argument(value, &cursor->name, nothing, error);
}

static int begin_listing(tables_cursor *cursor, const char *store, pt_error *error)
{
    bool takes_lock = pt_follower_takes_lock(&tables_of(cursor)->follower);
    int rc = pt_companion_join(connection_of(cursor), error);
    if (rc == SQLITE_OK) {
        rc = find_store_to_list(cursor, store, error);
    }
    if (rc == SQLITE_OK && cursor->session != NULL && takes_lock) {
        rc = pt_session_begin(cursor->session, error);
    }
    if (rc == SQLITE_OK && cursor->session != NULL) {
        rc = open_table_walk(cursor, error);
    }
    return rc == SQLITE_OK ? next_listed_table(cursor, error) : rc;
}

int pt_tables_filter(sqlite3_vtab_cursor *base, int plan, const char *sentence, int argc,
                     sqlite3_value **argv)
{
    (void)sentence;
    (void)argc;
    tables_cursor *cursor = tables_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    char *store = NULL;
    bool nothing = false;
    int rc = SQLITE_OK;
    leave_current_store(cursor);
    pt_connection_notice_detach(connection_of(cursor));
    sqlite3_free(cursor->name);
    cursor->name = NULL;
    cursor->eof = true;
    if ((plan & BY_STORE) != 0) {
        rc = copy_text_argument(argv[0], &store, &nothing, &error);
    }
    if (rc == SQLITE_OK && (plan & BY_NAME) != 0) {
        rc = copy_table_name(cursor, argv[plan == (BY_STORE | BY_NAME)], &nothing, &error);
    }
    if (rc == SQLITE_OK && !nothing) {
        rc = begin_listing(cursor, store, &error);
    }
    sqlite3_free(store);
    return rc == SQLITE_OK ? rc : tables_fail(base->pVtab, &error);
}

int pt_tables_next(sqlite3_vtab_cursor *base)
{
    pt_error error = PT_ERROR_NONE;
    int rc = next_listed_table(tables_cursor_of(base), &error);
    return rc == SQLITE_OK ? rc : tables_fail(base->pVtab, &error);
}

int pt_tables_eof(sqlite3_vtab_cursor *base)
{
    return tables_cursor_of(base)->eof;
}

static int result_count(const tables_cursor *cursor, sqlite3_context *context, int column,
                        pt_error *error)
{
    pt_table_counts counts;
    int rc = pt_table_counts_of(cursor->walk.scan.view, cursor->entry.id, &counts, error);
    if (rc == SQLITE_OK) {
        sqlite3_result_int64(context,
                             column == PT_TABLES_ENTITIES ? counts.entities : counts.bytes);
    }
    return rc;
}

/* A queue has no changes to be kept. */
static void result_changes(const tables_cursor *cursor, sqlite3_context *context)
{
    if (cursor->entry.kind == PT_TABLE_OF_ENTITIES) {
        bool on = cursor->entry.properties.changes_id != 0;
        sqlite3_result_text(context, on ? "on" : "off", -1, SQLITE_STATIC);
    }
}

static void result_horizon(const tables_cursor *cursor, sqlite3_context *context)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    if (cursor->entry.properties.changes_id != 0) {
        pt_ticks_format(cursor->entry.properties.horizon, text);
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
    }
}

int pt_tables_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const tables_cursor *cursor = tables_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    int rc = SQLITE_OK;
    if (sqlite3_vtab_nochange(context)) {
        return SQLITE_OK;
    }
    switch (column) {
    case PT_TABLES_STORE:
        sqlite3_result_text(context, cursor->store, -1, SQLITE_TRANSIENT);
        break;
    case PT_TABLES_NAME:
        pt_tvf_result_text(context, pt_buffer_slice(&cursor->table));
        break;
    case PT_TABLES_ENTITIES:
    case PT_TABLES_BYTES:
        rc = result_count(cursor, context, column, &error);
        break;
    case PT_TABLES_CHANGES:
        result_changes(cursor, context);
        break;
    case PT_TABLES_EXPIRES:
        if (cursor->expires.size != 0) {
            pt_tvf_result_text(context, pt_buffer_slice(&cursor->expires));
        }
        break;
    case PT_TABLES_HORIZON:
        result_horizon(cursor, context);
        break;
    default: /* Limits is only written; it reads as NULL */
        break;
    }
    return rc == SQLITE_OK ? rc : tables_fail(base->pVtab, &error);
}

int pt_tables_cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const tables_cursor *cursor = tables_cursor_of(base);
    pt_tables *tables = tables_of(cursor);
    *rowid = pt_tables_rowid(cursor->number, cursor->entry.id);
    if (!tables->follower.joined) {
        return SQLITE_OK;
    }
    bool added = pt_table_names_add(&tables->names, *rowid, pt_buffer_slice(&cursor->table));
    return added ? SQLITE_OK : SQLITE_NOMEM;
}
