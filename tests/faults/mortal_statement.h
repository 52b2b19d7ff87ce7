/*
 * A process that executes one statement on the database of a folder, and dies in the middle of it.
 * A test that uses this knows the role "perform".
 */
#ifndef TESTS_FAULTS_MORTAL_STATEMENT_H
#define TESTS_FAULTS_MORTAL_STATEMENT_H

#include "faults/mortal.h"
#include "fixtures/child.h"

/* perform path calls sql: dies at that call, or says how many there were. */
static inline int perform(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, "SELECT count(*) FROM t") != SQLITE_OK) {
        return 1;
    }
    mortal_begin(strtoll(arguments[1], NULL, 10));
    if (code_of(db, "%s", arguments[2]) != SQLITE_OK) {
        return 1;
    }
    int64_t calls = mortal_calls;
    mortal_begin(0);
    write_all(STDOUT_FILENO, &calls, sizeof calls);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* Returns the number of calls, or 0 if the process died. */
static inline int64_t perform_in_child(const char *folder, const char *sql, int64_t last)
{
    char path[PATH_SIZE];
    char call[24];
    int64_t calls = 0;
    path_in(folder, "main.db", path);
    snprintf(call, sizeof call, "%lld", (long long)last);
    const char *const arguments[] = {path, call, sql, NULL};
    child process = start_child("perform", arguments);
    read_all(process.from, &calls, sizeof calls);
    int status = end_of_child(&process);
    assert_int_equal(WIFSIGNALED(status), last != 0);
    return calls;
}

#endif
