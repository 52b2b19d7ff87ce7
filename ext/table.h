/*
 * A virtual table of the module `ptable`: what its methods share.
 */
#ifndef PT_TABLE_H
#define PT_TABLE_H

#include "bag.h"
#include "column_map.h"
#include "connection.h"
#include "declaration.h"
#include "sqlite.h"
#include "table_directory.h"

typedef struct pt_cursor pt_cursor;

typedef struct pt_table {
    sqlite3_vtab base;
    pt_connection *connection;
    pt_connected connected;
    pt_config config;
    char *schema;        /* that the table is declared in */
    char *path;          /* of the store; NULL: the schema's private store */
    bool read_only;      /* by option, or because the database is */
    bool other_encoding; /* the database's text is not UTF-8 */
    pt_session *session; /* NULL until the store is first needed */
    bool joining;        /* xBegin has come and nothing since */
    bool owes_end;       /* xCreate began to write, and no end of that has been heard of yet */
    pt_table_id id;
    pt_column_map map;
    pt_cursor *spare_cursor;

    /* For putting together one entity at a time: entity_writer.h */
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
    sqlite3_stmt *json_statement;
} pt_table;

static inline pt_table *pt_table_of(sqlite3_vtab *vtab)
{
    return (pt_table *)vtab;
}

/* Registers the module; it keeps a reference to the connection. SQLite's code. */
int pt_table_register(sqlite3 *db, pt_connection *connection);

/* Hands a failure to SQLite: "ptable: <table>: <text>" becomes the table's message. Returns its
 * code. */
int pt_table_fail(pt_table *table, pt_error *error);

/* Opens the store if that has not happened yet. It is not created. SQLITE_CANTOPEN and so on as
 * pt_connection_use. */
int pt_table_open_store(pt_table *table, pt_error *error);

/* SQLITE_READONLY for a table that is never written to. */
int pt_table_check_writable(const pt_table *table, pt_error *error);

/* Sets table->id as the view shows it. SQLITE_ERROR with TableNotFound if the store has no such
 * table. */
int pt_table_find_id(pt_table *table, pt_view *view, pt_error *error);

#endif
