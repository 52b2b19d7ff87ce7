/*
 * walk STEPS: runs a range SELECT of three rows and an autocommit INSERT, each for the second time,
 * and writes the address of every function of ext/ that was entered meanwhile to the file STEPS,
 * one a line, after a line that names the statement. The library is compiled with
 * -finstrument-functions; tests/walk/report.sh turns addresses into files and counts them.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "ptable.h"

enum { MOST_STEPS = 100000 };

#define NOT_TRACED __attribute__((no_instrument_function))

static void *steps[MOST_STEPS];
static size_t step_count;
static bool tracing;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

NOT_TRACED void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    if (tracing && step_count < MOST_STEPS) {
        steps[step_count++] = function;
    }
}

NOT_TRACED void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

NOT_TRACED static void stop(const char *what)
{
    fprintf(stderr, "walk: %s\n", what);
    exit(EXIT_FAILURE);
}

NOT_TRACED static void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        stop(message);
    }
}

/* Traces `second`, after `first`, which has done what is done once. */
NOT_TRACED static void trace(sqlite3 *db, FILE *out, const char *first, const char *second)
{
    run(db, first);
    step_count = 0;
    tracing = true;
    run(db, second);
    tracing = false;
    if (step_count == 0 || step_count == MOST_STEPS) {
        stop("no step was seen, or too many: is the library instrumented?");
    }
    fprintf(out, "# %s\n", second);
    for (size_t i = 0; i < step_count; i++) {
        fprintf(out, "%p\n", steps[i]);
    }
}

NOT_TRACED int main(int count, char **arguments)
{
    FILE *out = count == 2 ? fopen(arguments[1], "w") : NULL;
    sqlite3 *db;
    if (out == NULL) {
        stop("needs the name of a file to write");
    }
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        stop(sqlite3_errmsg(db));
    }
    run(db,
        "CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32);"
        "INSERT INTO t(PartitionKey, RowKey, Name, Age)"
        " VALUES ('p', 'a', 'A', 1), ('p', 'b', 'B', 2), ('p', 'c', 'C', 3), ('q', 'd', 'D', 4)");
    const char *select =
        "SELECT RowKey, Name, Age FROM t WHERE PartitionKey = 'p' AND RowKey >= 'a'";
    trace(db, out, select, select);
    trace(db, out, "INSERT INTO t(PartitionKey, RowKey, Name, Age) VALUES ('p', 'd', 'D', 4)",
          "INSERT INTO t(PartitionKey, RowKey, Name, Age) VALUES ('p', 'e', 'E', 5)");
    sqlite3_close(db);
    return fclose(out) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
