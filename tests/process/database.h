/*
 * Connections with ptable in a folder that goes with the test, and SQL that is expected to succeed,
 * to fail with a code, or to give a number. SQL texts are formats as of sqlite3_mprintf.
 */
#ifndef DATABASE_H
#define DATABASE_H

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cmocka.h>

#include "ptable.h"

enum { FOLDER_SIZE = 40, PATH_SIZE = 80 };

/* A test's state: its folder. */
static inline int make_folder(void **state)
{
    char *folder = strdup("/tmp/ptable-process-XXXXXX");
    *state = folder != NULL ? mkdtemp(folder) : NULL;
    return *state != NULL ? 0 : -1;
}

static inline int remove_entry(const char *path, const struct stat *status, int kind,
                               struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static inline int remove_folder(void **state)
{
    int failed = nftw(*state, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(*state);
    return failed;
}

/* A name in the folder; ":memory:" and "" stay as they are. */
static inline void path_in(const char *folder, const char *name, char path[PATH_SIZE])
{
    const char *format = name[0] == 0 || name[0] == ':' ? "%s%s" : "%s/%s";
    snprintf(path, PATH_SIZE, format, name[0] == 0 || name[0] == ':' ? "" : folder, name);
}

/* NULL if it cannot be opened. A process that ends loses nothing that it has written: no syncs. */
static inline sqlite3 *try_open(const char *path)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_ptable_init(db, NULL, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    sqlite3_extended_result_codes(db, 1);
    sqlite3_exec(db, "PRAGMA synchronous = off", NULL, NULL, NULL);
    return db;
}

static inline sqlite3 *open_database(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    sqlite3 *db = try_open(path);
    assert_non_null(db);
    return db;
}

static inline int deny_companion(void *context, int action, const char *table, const char *column,
                                 const char *schema, const char *trigger)
{
    (void)context;
    (void)column;
    (void)schema;
    (void)trigger;
    bool joins = action == SQLITE_CREATE_VTABLE || action == SQLITE_DELETE ||
                 action == SQLITE_INSERT || action == SQLITE_UPDATE;
    return joins && strcmp(table, "ptable_companion") == 0 ? SQLITE_DENY : SQLITE_OK;
}

/* From now on it cannot follow the connection's transactions. */
static inline void forbid_companion(sqlite3 *db)
{
    assert_int_equal(sqlite3_set_authorizer(db, deny_companion, NULL), SQLITE_OK);
}

static inline void close_database(sqlite3 *db)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline int execute(sqlite3 *db, const char *format, va_list arguments)
{
    char *sql = sqlite3_vmprintf(format, arguments);
    assert_non_null(sql);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

/* The extended result code; for use where assertions must not be, as in threads. */
static inline int code_of(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int rc = execute(db, format, arguments);
    va_end(arguments);
    return rc;
}

static inline void expect_at(const char *file, int line, sqlite3 *db, int code, const char *format,
                             ...)
{
    va_list arguments;
    va_start(arguments, format);
    int rc = execute(db, format, arguments);
    va_end(arguments);
    if (rc != code) {
        print_error("%s\n%d, not %d: %s\n", format, rc, code, sqlite3_errmsg(db));
        _fail(file, line);
    }
}

#define run(db, ...) expect_at(__FILE__, __LINE__, db, SQLITE_OK, __VA_ARGS__)
#define fails(db, code, ...) expect_at(__FILE__, __LINE__, db, code, __VA_ARGS__)

/* What the first column of the first row is; `missing` if there is none or it fails. */
static inline int64_t first_number(sqlite3 *db, const char *sql, int64_t missing)
{
    sqlite3_stmt *statement = NULL;
    int64_t value = missing;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        value = sqlite3_column_int64(statement, 0);
    }
    return sqlite3_finalize(statement) == SQLITE_OK ? value : missing;
}

static inline int64_t number_at(const char *file, int line, sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    assert_non_null(sql);
    int64_t value = first_number(db, sql, INT64_MIN);
    if (value == INT64_MIN) {
        print_error("%s: %s\n", sql, sqlite3_errmsg(db));
        _fail(file, line);
    }
    sqlite3_free(sql);
    return value;
}

#define number(db, ...) number_at(__FILE__, __LINE__, db, __VA_ARGS__)
#define assert_number(db, expected, ...) assert_int_equal(number(db, __VA_ARGS__), expected)

/* The last failure's text has this in it. */
static inline void says_at(const char *file, int line, sqlite3 *db, const char *text)
{
    if (strstr(sqlite3_errmsg(db), text) == NULL) {
        print_error("\"%s\" is not in \"%s\"\n", text, sqlite3_errmsg(db));
        _fail(file, line);
    }
}

#define says(db, text) says_at(__FILE__, __LINE__, db, text)

/* As fork(), but the child ends with the thread that made it, also where that is killed. */
static inline pid_t fork_process(void)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)) {
        _exit(127);
    }
    return pid;
}

/* A number from the environment, or a default. */
static inline int64_t setting(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != 0 ? strtoll(text, NULL, 10) : otherwise;
}

#endif
