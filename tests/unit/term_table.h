/*
 * A virtual table through which tests get real xFilter arguments, lists of IN included: each term
 * of a plan is a column, t0 to t19, and `WHERE t0 = 'a' AND t8 IN ('b', 'c')` calls
 * term_table_filter with the bits of the terms 0 and 8 and their arguments. The terms of
 * PartitionKey and RowKey are TEXT as these are.
 */
#ifndef TERM_TABLE_H
#define TERM_TABLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/ranges.h"

/* What the test does with the arguments; its result is xFilter's. */
static int (*term_table_filter)(unsigned bits, int argc, sqlite3_value **argv);

static int term_table_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                              sqlite3_vtab **vtab, char **message)
{
    (void)context;
    (void)argc;
    (void)argv;
    (void)message;
    *vtab = sqlite3_malloc(sizeof **vtab);
    assert_non_null(*vtab);
    **vtab = (sqlite3_vtab){0};
    return sqlite3_declare_vtab(db, "CREATE TABLE x(t0 TEXT, t1 TEXT, t2 TEXT, t3 TEXT, t4 TEXT, "
                                    "t5 TEXT, t6 TEXT, t7 TEXT, t8 TEXT, t9 TEXT, t10 TEXT, "
                                    "t11 TEXT, t12 TEXT, t13 TEXT, t14, t15, t16, t17, t18, t19)");
}

static int term_table_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

static int term_table_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    (void)vtab;
    int arguments = 0;
    for (int term = 0; term < PT_TERM_COUNT; term++) {
        for (int i = 0; i < info->nConstraint; i++) {
            if (info->aConstraint[i].iColumn != term) {
                continue;
            }
            if (!info->aConstraint[i].usable) {
                return SQLITE_CONSTRAINT;
            }
            sqlite3_vtab_in(info, i, 1);
            info->aConstraintUsage[i].argvIndex = ++arguments;
            info->aConstraintUsage[i].omit = 1;
            info->idxNum |= 1 << term;
        }
    }
    return SQLITE_OK;
}

static int term_table_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
    (void)vtab;
    *cursor = sqlite3_malloc(sizeof **cursor);
    assert_non_null(*cursor);
    **cursor = (sqlite3_vtab_cursor){0};
    return SQLITE_OK;
}

static int term_table_close(sqlite3_vtab_cursor *cursor)
{
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int term_table_run_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                                 sqlite3_value **argv)
{
    (void)cursor;
    (void)text;
    return term_table_filter((unsigned)plan, argc, argv);
}

static int term_table_next(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static int term_table_eof(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return 1;
}

static int term_table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
    (void)cursor;
    (void)context;
    (void)column;
    return SQLITE_OK;
}

static int term_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid)
{
    (void)cursor;
    *rowid = 0;
    return SQLITE_OK;
}

static const sqlite3_module term_table_module = {.xConnect = term_table_connect,
                                                 .xDisconnect = term_table_disconnect,
                                                 .xBestIndex = term_table_best_index,
                                                 .xOpen = term_table_open,
                                                 .xClose = term_table_close,
                                                 .xFilter = term_table_run_filter,
                                                 .xNext = term_table_next,
                                                 .xEof = term_table_eof,
                                                 .xColumn = term_table_column,
                                                 .xRowid = term_table_rowid};

/* An in-memory database with the table `terms`. Lookaside is off: allocations can be failed. */
static sqlite3 *term_table_database(void)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    assert_int_equal(sqlite3_create_module(db, "terms", &term_table_module, NULL), SQLITE_OK);
    return db;
}

/* Runs `SELECT 1 FROM terms WHERE <where>` and returns its result code. */
static inline int term_table_query(sqlite3 *db, const char *where)
{
    char *sql = sqlite3_mprintf("SELECT 1 FROM terms WHERE %s", where);
    assert_non_null(sql);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

#endif
