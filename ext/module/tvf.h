/*
 * Table-valued functions. A function describes itself with a pt_tvf and produces one row at a time;
 * this module is the eponymous virtual table around it.
 *
 * The arguments of a function are hidden columns, the last of its declaration. If an argument is
 * NULL the function has no rows, unless it takes NULL. A function that deletes has one more hidden
 * column after them: the primary key, by which its xUpdate finds a row again.
 *
 * DELETE FROM cannot give arguments, so the columns Store and TableName can be given instead, with
 * an = each.
 *
 * idxNum has a bit for each argument that is given, and above them a plan of query/plan.h, or the
 * function's own number of a plan. xFilter gets the arguments first and then the values of the
 * plan's terms.
 */
#ifndef PT_MODULE_TVF_H
#define PT_MODULE_TVF_H

#include "base/sqlite.h"
#include "module/follower.h"
#include "transaction/connection.h"

enum {
    PT_TVF_STORE = 3,  /* of the arguments: the column Store, */
    PT_TVF_TABLE_NAME, /* and the column TableName */
    PT_TVF_ARGUMENTS_MAX
};

typedef struct pt_tvf pt_tvf;

/* The first member of a function's cursor. The rest of the cursor is zeroed when it is opened. */
typedef struct pt_tvf_cursor {
    sqlite3_vtab_cursor base;
    pt_connection *connection;
    bool eof;
    sqlite3_int64 row; /* rowid; `begin` may set that of the first row, which is 1 otherwise */
    void *shared;      /* see pt_tvf.shared_size */
    sqlite3_value *arguments[PT_TVF_ARGUMENTS_MAX]; /* NULL: not given */
} pt_tvf_cursor;

/* Conditions on the key column, as pt_ranges_set takes them, and PT_PLAN_DESCENDING. The function
 * must apply them: SQLite does not check them again. */
typedef struct pt_tvf_keys {
    unsigned plan;
    int argc;
    sqlite3_value **argv;
} pt_tvf_keys;

struct pt_tvf {
    const char *name;
    const char *declaration; /* for sqlite3_declare_vtab */
    const char *usage;       /* how to call it, shown when arguments are missing */
    int first_argument;      /* index of the first hidden column */
    int least_arguments;
    int most_arguments;
    int key_column;       /* column of PartitionKeys that rows are ordered by, or -1 */
    bool opens_stores;    /* opens files by name, so views and triggers must not call it */
    bool writes;          /* a call writes to a store: as opens_stores, and needs the companion */
    bool takes_null;      /* NULL is an argument like others */
    bool takes_columns;   /* columns 0 and 1 are Store and TableName; may be given as arguments */
    const char *sentence; /* the plan in words, if there is no key column; or NULL */
    double cost;          /* SQLite's estimatedCost of a call; 0: the default */
    int rows;             /* SQLite's estimatedRows of a call; 0: the default */
    size_t cursor_size;
    size_t shared_size; /* size of zeroed memory that all cursors of the function share */

    /* May be NULL. Numbers a plan, if there is no key column: `begin` gets it as keys->plan. */
    unsigned (*number)(pt_connection *connection, void *shared);
    /* May be NULL. Called after a cursor was opened, and before it is freed. */
    void (*opened)(pt_tvf_cursor *cursor);
    void (*closed)(pt_tvf_cursor *cursor);
    /* Prepares for the first call of `next`. The cursor is zeroed or as `end` left it. */
    int (*begin)(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error);
    /* Moves to the next row, or sets eof. Not called if `begin` has set eof. */
    int (*next)(pt_tvf_cursor *cursor, pt_error *error);
    /* May be NULL. Reads what a column needs; called before `column`. */
    int (*load)(pt_tvf_cursor *cursor, int column, pt_error *error);
    /* Returns a column that is not an argument. */
    void (*column)(pt_tvf_cursor *cursor, sqlite3_context *context, int column);
    /* Frees what the cursor owns. Called after a failed `begin` too, and maybe more than once. */
    void (*end)(pt_tvf_cursor *cursor);
    /* NULL if rows cannot be deleted. The work of xUpdate, in a transaction that the function has
     * joined: follower->joined. */
    int (*update)(const pt_follower *follower, void *shared, int argc, sqlite3_value **argv,
                  pt_error *error);
    /* The transaction is over; `shared` is that of its xUpdates. */
    void (*over)(void *shared);
};

/* Returns a copied text to SQLite. An empty slice may have data == NULL. */
void pt_tvf_result_text(sqlite3_context *context, pt_slice text);

/* Registers a function, which keeps a reference to the connection. `tvf` is not copied. Returns
 * SQLite's code. */
int pt_tvf_register(sqlite3 *db, pt_connection *connection, const pt_tvf *tvf);

#endif
