/*
 * What the sides that speak SQL have in common: a connection, one prepared statement at a time, and
 * running a task with it.
 */
#ifndef TESTS_BENCH_SQL_SIDE_H
#define TESTS_BENCH_SQL_SIDE_H

#include <sqlite3.h>

#include "bench/side.h"

enum { BUSY_MS = 60000 };

typedef struct sql_session {
    sqlite3 *db;
    bool json;            /* properties are in JSON */
    bool ptable;          /* the side is a ptable */
    const workload *work; /* the statement's */
    sqlite3_stmt *statement;
} sql_session;

/* Opens "folder/name", or ":memory:" if the name is that. */
sql_session *sql_open(const side_opening *opening, const char *name);

/* The same in WAL mode, with the durability as SQLite's own, and the user's PRAGMAS. */
sql_session *sql_open_ordinary(const side_opening *opening, const char *name);

void sql_close(void *session);
void sql_run(void *session, const job *task, checksum *digest);

/* A format as of sqlite3_mprintf. */
void sql_execute(sql_session *session, const char *format, ...);

/* The first column of the first row, to be freed with free(). */
char *sql_text(sql_session *session, const char *sql);

/* Gathers ANALYZE's statistics, or sees to it that there are none. */
void sql_analyze(sql_session *session, bool analyzed);

#endif
