/*
 * A frame for read-only table-valued functions. One describes itself by a pt_tvf and makes its rows
 * one after the other; the frame is the virtual table around it.
 *
 * A function is there by its own name, once in a connection. Its arguments are hidden columns, the
 * last ones of the declaration. With an argument that is NULL it has no rows.
 */
#ifndef PT_MODULE_TVF_H
#define PT_MODULE_TVF_H

#include "base/sqlite.h"
#include "transaction/connection.h"

enum { PT_TVF_ARGUMENTS_MAX = 2 };

typedef struct pt_tvf pt_tvf;

/* The first member of a function's cursor; all else in it is zero at first. */
typedef struct pt_tvf_cursor {
    sqlite3_vtab_cursor base;
    pt_connection *connection;
    bool eof;
    sqlite3_int64 row; /* number of the current one */
    int argument_count;
    sqlite3_value *arguments[PT_TVF_ARGUMENTS_MAX];
} pt_tvf_cursor;

/* Conditions on the key column, as pt_ranges_set takes them, and PT_PLAN_DESCENDING. SQLite does
 * not check them again. */
typedef struct pt_tvf_keys {
    unsigned plan;
    int argc;
    sqlite3_value **argv;
} pt_tvf_keys;

struct pt_tvf {
    const char *name;
    const char *declaration; /* for sqlite3_declare_vtab */
    const char *usage;       /* how to call it, for the error of who did not */
    int first_argument;      /* number of the first hidden column */
    int least_arguments;
    int most_arguments;
    int key_column;    /* PartitionKeys in key order, to be planned with query/plan.h; -1: none */
    bool opens_stores; /* by name: not for views and triggers */
    size_t cursor_size;

    /* Prepares for the first call of `next`. The cursor is as `end` left it. */
    int (*begin)(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error);
    /* Moves to the next row, or sets eof. */
    int (*next)(pt_tvf_cursor *cursor, pt_error *error);
    /* A column that is not an argument. */
    void (*column)(pt_tvf_cursor *cursor, sqlite3_context *context, int column);
    /* Frees what the cursor has; also after a failed begin. It may be called twice. */
    void (*end)(pt_tvf_cursor *cursor);
};

/* Gives a column's text; an empty one may be without data. */
void pt_tvf_result_text(sqlite3_context *context, pt_slice text);

/* Registers a function; it keeps a reference to the connection. SQLite's code. */
int pt_tvf_register(sqlite3 *db, pt_connection *connection, const pt_tvf *tvf);

#endif
