/*
 * A virtual table whose rows are entities of a table in a store: the base of ptable and pt_queue.
 * Creating, connecting and dropping it, and finding its table in the store. (Its transactions:
 * table/table_transaction.h.)
 */
#ifndef PT_TABLE_TABLE_H
#define PT_TABLE_TABLE_H

#include "base/sqlite.h"
#include "entity/bag.h"
#include "entity/column_map.h"
#include "table/config.h"
#include "transaction/connection.h"
#include "transaction/expiry.h"
#include "transaction/index_writer.h"
#include "transaction/scan.h"
#include "transaction/table_directory.h"
#include "value/value.h"

typedef struct pt_cursor pt_cursor;
typedef struct pt_table pt_table;

/* How the tables of one module differ from those of the other. */
typedef struct pt_table_form {
    pt_table_kind kind; /* in the store's table directory */
    const char *module;
    size_t size; /* of the object; it begins with a pt_table and is zeroed */
    /* Parses the module arguments into table->config. */
    int (*configure)(pt_table *table, int argc, const char *const *argv, pt_error *error);
    int (*check_name)(const pt_table *table, pt_error *error); /* of a table to be created */
    /* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
    char *(*declaration)(const pt_table *table);
    void (*leave_store)(pt_table *table); /* its database was detached: no use of the store stays */
    void (*release)(pt_table *table);     /* frees the module's own members */
} pt_table_form;

/* An entity of some shape that lacks only the values: table/arguments.h */
typedef struct pt_template {
    const pt_shape *shape; /* NULL: there is no template */
    pt_field *fields;      /* of all properties of the shape */
    size_t field_capacity;
    pt_value_target *targets; /* of the declared columns; NULL: not allocated yet */
    pt_value absent;          /* the target of the columns that the shape does not have */
} pt_template;

struct pt_table {
    sqlite3_vtab base;
    const pt_table_form *form;
    pt_connection *connection;
    sqlite3 *db; /* of the connection */
    pt_connected connected;
    pt_config config;
    char *schema;                /* the table is declared in this schema */
    char *path;                  /* of the store file; NULL: the schema's private store */
    bool read_only;              /* by option, or because the database is */
    bool other_encoding;         /* the database's text is not UTF-8 */
    pt_session *session;         /* NULL until the store is first needed */
    unsigned busy;               /* callbacks running that may run statements: pt_table_set_busy */
    bool disconnected;           /* while busy; the object is freed when the callback is over */
    bool joining;                /* xBegin was called, and no xSavepoint or xUpdate since */
    bool created_in_transaction; /* xCreate began to write; no xCommit or xRollback since */
    sqlite3_uint64 rows;         /* see pt_table_begin_rows */
    sqlite3_uint64 skipped;      /* of them, by OR IGNORE */
    int changes_before;          /* sqlite3_total_changes at that time */
    pt_table_id id;
    pt_expiry expiry; /* of the table; used if id.expires */
    pt_column_map map;
    pt_cursor *spare_cursor; /* ptable: closed, kept for the next xOpen, or NULL */
    pt_cursor *fresh_cursor; /* opened last and not used yet, or NULL */

    /* For writing one entity at a time: table/entity_writer.h */
    pt_bag bag;
    pt_bag columns; /* the properties that an UPDATE sets or a merge brings */
    pt_buffer key;
    pt_buffer old_key;
    pt_buffer old_record;
    pt_buffer old_shape;
    pt_buffer new_shape;
    pt_buffer json;
    const pt_shape *last_shape;          /* of the entity stored last, or NULL */
    const pt_column_places *last_places; /* of its shape or an earlier one */
    unsigned last_shape_epoch;
    pt_template alike;
    pt_index_writer indexes;   /* of the table; used if it has any */
    unsigned declared_indexes; /* loads of that list when the declared ones were compared with it */
};

static inline pt_table *pt_table_of(sqlite3_vtab *vtab)
{
    return (pt_table *)vtab;
}

static inline pt_table *pt_table_of_connected(pt_connected *connected)
{
    return (pt_table *)((char *)connected - offsetof(pt_table, connected));
}

/* Reports an error to SQLite as "ptable: <table>: <text>". Returns its code. */
int pt_table_fail(pt_table *table, pt_error *error);

/*
 * Counts the rows that the running statement has written or skipped, so that an error can tell the
 * number of its row. A statement of many rows begins with xBegin or xSavepoint. One of a single row
 * may begin without either. Then SQLite has counted the changes of the one before, unless that has
 * only skipped a row.
 */
static inline void pt_table_begin_rows(pt_table *table)
{
    table->rows = 0;
    table->skipped = 0;
    table->changes_before = sqlite3_total_changes(table->db);
}

/* Opens the store if that has not been done. Does not create it. Codes as pt_connection_use. */
int pt_table_open_store(pt_table *table, pt_error *error);

/* SQLITE_READONLY if the table is read-only: by its option, or because its database is. */
int pt_table_check_writable(const pt_table *table, pt_error *error);

/* Sets table->id to that of the table in a view. SQLITE_ERROR: the store has no such table
 * (TableNotFound) or queue (QueueNotFound), or one of the other kind. */
int pt_table_find_id(pt_table *table, pt_view *view, pt_error *error);

/*
 * For the planner: brings the list of indexes up to date, if the connection has the store open and
 * can read it. Else the plan knows the indexes of the last time. Preparing a statement opens no
 * store, as the schema may be a stranger's. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_table_learn_indexes(pt_table *table);

/*
 * For the first xFilter of a cursor, with the store open: opens a scan of the session's view, and
 * sets table->id. The scan does not show later writes (pt_scan_freeze). Makes the companion join,
 * so that the view lasts as long as an explicit transaction. Codes as pt_companion_join,
 * pt_session_read and pt_table_find_id.
 */
int pt_table_open_scan(pt_table *table, pt_scan *scan, pt_error *error);

/* Adds the table to the store's table directory if it is not there. The session must be writing.
 * SQLITE_ERROR if it is there and of the other kind; other codes as pt_table_directory_add. */
int pt_table_add_if_missing(pt_table *table, pt_error *error);

/*
 * Loads table->indexes for a write, and compares it with the declaration, once for each version of
 * the list. SQLITE_ERROR: the store lacks an index that is declared, as an older store in its place
 * may, or one of them is unique and the other is not; the text says how to make it. Other codes as
 * pt_index_writer_load.
 */
int pt_table_load_indexes(pt_table *table, pt_error *error);

/*
 * Bracket code that may run nested statements. Those may call the application (a trace, a progress
 * handler), and it may drop the table: DROP TABLE then fails with SQLITE_LOCKED.
 *
 * SQLite does not disconnect a table while it runs one of its methods. But code that has found the
 * table by name (pt_connected_tables_find) must end with pt_table_clear_busy_by_name: the table may
 * have been disconnected meanwhile, and then it is freed there.
 */
static inline void pt_table_set_busy(pt_table *table)
{
    table->busy++;
}

static inline void pt_table_clear_busy(pt_table *table)
{
    table->busy--;
}

void pt_table_clear_busy_by_name(pt_table *table);

/* Gives the table's use of its store back, if it has one. */
void pt_table_leave_store(pt_table *table);

/* Frees the members of the object, but not those of its module, nor the object itself. */
void pt_table_clear(pt_table *table);

/* --- Methods of both modules. pt_module_register_shared gets the module's form. --- */

int pt_table_create(sqlite3 *db, void *registration, int argc, const char *const *argv,
                    sqlite3_vtab **vtab, char **message);
int pt_table_connect(sqlite3 *db, void *registration, int argc, const char *const *argv,
                     sqlite3_vtab **vtab, char **message);
int pt_table_disconnect(sqlite3_vtab *vtab);
int pt_table_destroy(sqlite3_vtab *vtab);
int pt_table_rename(sqlite3_vtab *vtab, const char *name);
/* xRowid. There are no rowids: makes SQLite prepare the statement again, see there. */
int pt_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

#endif
