/*
 * A virtual table whose rows lie in a table of a store: what the modules `ptable` and `pt_queue`
 * share.
 */
#ifndef PT_TABLE_TABLE_H
#define PT_TABLE_TABLE_H

#include "base/sqlite.h"
#include "entity/bag.h"
#include "table/column_map.h"
#include "table/config.h"
#include "transaction/connection.h"
#include "transaction/table_directory.h"

typedef struct pt_cursor pt_cursor;
typedef struct pt_table pt_table;

/* What a module says of its tables. */
typedef struct pt_table_form {
    pt_table_kind kind; /* of the tables in the store */
    const char *module;
    size_t size; /* of the object, which begins with a pt_table and is all zeros at first */
    /* Reads the arguments into table->config; xCreate and xConnect. */
    int (*configure)(pt_table *table, int argc, const char *const *argv, pt_error *error);
    int (*check_name)(const pt_table *table, pt_error *error); /* of a new one */
    /* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
    char *(*declaration)(const pt_table *table);
    void (*release)(pt_table *table); /* frees what the module has added */
} pt_table_form;

struct pt_table {
    sqlite3_vtab base;
    const pt_table_form *form;
    pt_connection *connection;
    pt_connected connected;
    pt_config config;
    char *schema;        /* that the table is declared in */
    char *path;          /* of the store; NULL: the schema's private store */
    bool read_only;      /* by option, or because the database is */
    bool other_encoding; /* the database's text is not UTF-8 */
    pt_session *session; /* NULL until the store is first needed */
    unsigned inside;     /* calls that may run statements of their own: pt_table_enter */
    bool disconnected;   /* inside such a call, which frees the object when it is over */
    bool joining;        /* xBegin has come and nothing since */
    bool owes_end;       /* xCreate began to write, and no end of that has been heard of yet */
    pt_table_id id;
    pt_column_map map;
    pt_cursor *spare_cursor; /* of a ptable */
    pt_cursor *fresh_cursor; /* opened last and not used yet, or NULL */

    /* For putting together one entity at a time: table/entity_writer.h */
    pt_bag bag;
    pt_bag columns; /* what a statement sets or merges */
    pt_buffer key;
    pt_buffer old_key;
    pt_buffer old_record;
    pt_buffer old_shape;
    pt_buffer new_shape;
    pt_buffer json;
    const pt_shape *last_shape;
    unsigned last_shape_epoch;
};

static inline pt_table *pt_table_of(sqlite3_vtab *vtab)
{
    return (pt_table *)vtab;
}

static inline pt_table *pt_table_of_connected(pt_connected *connected)
{
    return (pt_table *)((char *)connected - offsetof(pt_table, connected));
}

/* Hands a failure to SQLite: "ptable: <table>: <text>" becomes the table's message. Returns its
 * code. */
int pt_table_fail(pt_table *table, pt_error *error);

/* The same for xUpdate: see pt_module_fail_write. */
int pt_table_fail_write(pt_table *table, pt_error *error);

/* Opens the store if that has not happened yet. It is not created. SQLITE_CANTOPEN and so on as
 * pt_connection_use. */
int pt_table_open_store(pt_table *table, pt_error *error);

/* SQLITE_READONLY for a table that is never written to. */
int pt_table_check_writable(const pt_table *table, pt_error *error);

/* Sets table->id as the view shows it. SQLITE_ERROR: the store has no such table (TableNotFound) or
 * queue (QueueNotFound), or it is of another kind. */
int pt_table_find_id(pt_table *table, pt_view *view, pt_error *error);

/* Enters the table into the store's catalogue if it is not there. The session must be writing.
 * SQLITE_ERROR if it is there and of another kind, and others as pt_table_directory_add. */
int pt_table_add_if_missing(pt_table *table, pt_error *error);

/*
 * Around what may run statements, of which an application hears (a trace, a progress handler): if
 * it drops the table there, it is told SQLITE_LOCKED. SQLite disconnects no table whose methods it
 * calls; who has found a table by its name leaves it with pt_table_leave_by_name, which may free
 * it.
 */
static inline void pt_table_enter(pt_table *table)
{
    table->inside++;
}

static inline void pt_table_leave(pt_table *table)
{
    table->inside--;
}

void pt_table_leave_by_name(pt_table *table);

/* Frees what the object holds, but not what its module has added, and not the object. */
void pt_table_clear(pt_table *table);

/* --- The modules' methods; a module is registered with its form (pt_module_register_shared) --- */

int pt_table_create(sqlite3 *db, void *registration, int argc, const char *const *argv,
                    sqlite3_vtab **vtab, char **message);
int pt_table_connect(sqlite3 *db, void *registration, int argc, const char *const *argv,
                     sqlite3_vtab **vtab, char **message);
int pt_table_disconnect(sqlite3_vtab *vtab);
int pt_table_destroy(sqlite3_vtab *vtab);
int pt_table_rename(sqlite3_vtab *vtab, const char *name);
/* xRowid of tables without rowids: makes SQLite compile the statement again. */
int pt_table_compile_again(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

#endif
