/*
 * A side of the comparison: a connection with ptable, its files in a folder of its own, and what a
 * script's steps can do with it. A step is an SQL statement, or
 *
 *     .hold <SELECT>      begins a statement and leaves it open on its first row; ends the last one
 *     .rest               reads it to its end
 *     .refuse             the commit hook says no
 *     .accept             it says yes again
 *     .read               another connection begins to read the main database
 *     .write              another connection with ptable begins to write to the store
 *     .unread             either ends
 *     .elsewhere <SQL>    another connection with ptable runs it
 *     .attach <name>      attaches another database of the folder
 *     .reopen             closes the connection and opens another
 *     .crash              the same, and leaves the store's files as they were before it was closed
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_SIDE_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_SIDE_H

#include "fixtures/cmocka.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/library_calls.h"
#include "fixtures/open_files.h"
#include "ptable.h"

enum { SIDE_FOLDER_SIZE = 64, PATH_SIZE = 400 };

typedef enum host_kind { HOST_JOURNAL, HOST_WAL, HOST_UTF16, HOST_MEMORY, HOSTS } host_kind;

typedef struct script_side {
    char folder[SIDE_FOLDER_SIZE];
    host_kind host;
    sqlite3 *db;
    sqlite3_stmt *held;
    sqlite3 *reader;
    bool refuses;
} script_side;

typedef struct step_outcome {
    int rc;     /* extended result code */
    char *rows; /* one line a row; for free() */
} step_outcome;

/* What the test itself allocates never fails. */
static inline int pause_failing(void)
{
    int countdown = failing_malloc_countdown;
    failing_malloc_countdown = -1;
    return countdown;
}

static inline void resume_failing(int countdown)
{
    failing_malloc_countdown = countdown;
}

/* --- Files --- */

typedef void (*visit_file)(const char *folder, const char *name, const void *context);

static inline void visit_files(const char *folder, visit_file visit, const void *context)
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            visit(folder, entry->d_name, context);
        }
    }
    closedir(entries);
}

static inline void remove_file(const char *folder, const char *name, const void *context)
{
    (void)context;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.140s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

/* All but the lock files, which are made anew. */
static inline void copy_file(const char *folder, const char *name, const void *context)
{
    if (strstr(name, "-lock") != NULL) {
        return;
    }
    char path[PATH_SIZE];
    char copy[PATH_SIZE];
    snprintf(path, sizeof path, "%.140s/%s", folder, name);
    snprintf(copy, sizeof copy, "%.140s/%s", (const char *)context, name);
    copy_closed_file(path, copy);
}

/* --- Connections --- */

static inline int says_commit_hook(void *context)
{
    return ((const script_side *)context)->refuses;
}

static inline bool is_memory_failure(int rc)
{
    return (rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM;
}

/* Opens a connection to the side's database; a failed one is closed. */
static inline int connect_to(const script_side *side, sqlite3 **out)
{
    char path[PATH_SIZE] = ":memory:";
    char *message = NULL;
    if (side->host != HOST_MEMORY) {
        snprintf(path, sizeof path, "%s/main.db", side->folder);
    }
    sqlite3 *db = NULL;
    int rc = sqlite3_open(path, &db);
    if (rc == SQLITE_OK && side->host == HOST_UTF16) {
        rc = sqlite3_exec(db, "PRAGMA encoding = 'UTF-16le'", NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(db, 1);
        rc = sqlite3_ptable_init(db, &message, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(db, "PRAGMA synchronous = off", NULL, NULL, NULL);
    }
    sqlite3_free(message);
    if (rc != SQLITE_OK) {
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        return rc;
    }
    *out = db;
    return SQLITE_OK;
}

static inline int open_side(script_side *side)
{
    int rc = connect_to(side, &side->db);
    if (rc == SQLITE_OK) {
        sqlite3_commit_hook(side->db, says_commit_hook, side);
    }
    return rc;
}

static inline void end_held(script_side *side)
{
    sqlite3_finalize(side->held);
    side->held = NULL;
}

static inline void end_reader(script_side *side)
{
    assert_int_equal(sqlite3_close(side->reader), SQLITE_OK);
    side->reader = NULL;
}

/* Nothing is left that keeps transactions from ending. */
static inline void calm_down(script_side *side)
{
    end_held(side);
    end_reader(side);
    side->refuses = false;
}

static inline void close_side(script_side *side)
{
    calm_down(side);
    assert_int_equal(sqlite3_close(side->db), SQLITE_OK);
    side->db = NULL;
}

/* True if an explicit transaction is open. */
static inline bool is_open(const script_side *side)
{
    return sqlite3_get_autocommit(side->db) == 0;
}

/* --- Closing, and dying --- */

static const char *const store_files[] = {"main.db-ptable", "main.db-ptable-log"};

enum { STORE_FILES = sizeof store_files / sizeof store_files[0] };

/* Keeps a file of the side under another name, or gives it its name back. */
static inline void move_file(const script_side *side, const char *name, bool keeps)
{
    char path[PATH_SIZE];
    char kept[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", side->folder, name);
    snprintf(kept, sizeof kept, "%s/kept-%s", side->folder, name);
    if (keeps && access(path, F_OK) == 0) {
        copy_closed_file(path, kept);
    } else if (!keeps && access(kept, F_OK) == 0) {
        assert_int_equal(rename(kept, path), 0);
    }
}

static inline void move_files(const script_side *side, bool keeps)
{
    for (int i = 0; i < STORE_FILES; i++) {
        move_file(side, store_files[i], keeps);
    }
}

/* True if memory stays away: then a commit that could not be taken back waits for it. */
static inline bool stays_open(void)
{
    return failing_malloc_hit && failing_malloc_persistent;
}

/* What closing allocates may fail. */
static inline int close_and_open(script_side *side, bool dies)
{
    if (stays_open()) {
        return SQLITE_OK;
    }
    int countdown = pause_failing();
    if (dies) {
        move_files(side, true);
    } else {
        resume_failing(countdown);
    }
    close_side(side);
    countdown = dies ? countdown : pause_failing();
    if (dies) {
        move_files(side, false);
    }
    int rc = open_side(side);
    resume_failing(countdown);
    return rc;
}

/* --- Steps --- */

static inline void print_value(FILE *out, sqlite3_stmt *statement, int column)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_BLOB) {
        const uint8_t *bytes = sqlite3_column_blob(statement, column);
        for (int i = 0; i < sqlite3_column_bytes(statement, column); i++) {
            fprintf(out, "%02x", bytes[i]);
        }
    } else if (type != SQLITE_NULL) {
        fputs((const char *)sqlite3_column_text(statement, column), out);
    }
    fprintf(out, " (%d)|", type);
}

static inline void print_row(FILE *out, sqlite3_stmt *statement)
{
    int countdown = pause_failing();
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        print_value(out, statement, i);
    }
    fputc('\n', out);
    resume_failing(countdown);
}

static inline int read_rows(sqlite3_stmt *statement, FILE *out)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        print_row(out, statement);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static inline int execute(sqlite3 *db, const char *sql, FILE *out)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = read_rows(statement, out);
    }
    sqlite3_finalize(statement);
    return rc;
}

static inline int hold(script_side *side, const char *sql, FILE *out)
{
    end_held(side);
    int rc = sqlite3_prepare_v2(side->db, sql, -1, &side->held, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(side->held);
    }
    if (rc != SQLITE_ROW) {
        end_held(side);
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    print_row(out, side->held);
    return SQLITE_OK;
}

static inline int read_rest(script_side *side, FILE *out)
{
    int rc = side->held != NULL ? read_rows(side->held, out) : SQLITE_OK;
    end_held(side);
    return rc;
}

static inline int begin_to_read(script_side *side)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/main.db", side->folder);
    int rc = sqlite3_open(path, &side->reader);
    return rc != SQLITE_OK
               ? rc
               : sqlite3_exec(side->reader, "BEGIN; SELECT * FROM sqlite_schema", NULL, NULL, NULL);
}

/* Not to the main database; what it writes is taken back when it ends. */
static inline int begin_to_write(script_side *side)
{
    const script_side beside = {.host = HOST_MEMORY};
    int rc = connect_to(&beside, &side->reader);
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE W USING ptable(v, store='%q/main.db-ptable', "
                                "sync=off); BEGIN; DELETE FROM W",
                                side->folder);
    rc = rc == SQLITE_OK ? sqlite3_exec(side->reader, sql, NULL, NULL, NULL) : rc;
    sqlite3_free(sql);
    return rc;
}

/* Another database in the side's folder, which has the given name in SQL, too. */
static inline int attach(const script_side *side, const char *name)
{
    char *sql = sqlite3_mprintf("ATTACH '%q/%q.db' AS %q", side->folder, name, name);
    int rc = sqlite3_exec(side->db, sql, NULL, NULL, NULL);
    sqlite3_free(sql);
    return rc;
}

static inline int execute_elsewhere(const script_side *side, const char *sql, FILE *out)
{
    sqlite3 *db = NULL;
    assert_int_equal(connect_to(side, &db), SQLITE_OK);
    int rc = execute(db, sql, out);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return rc;
}

/* True if the step is `word`; *rest is what follows it. */
static inline bool is_step(const char *step, const char *word, const char **rest)
{
    size_t size = strlen(word);
    *rest = step + size;
    return strncmp(step, word, size) == 0;
}

/* The steps whose memory is the test's own. */
static inline int obey(script_side *side, const char *step, FILE *out)
{
    const char *rest;
    if (is_step(step, ".elsewhere", &rest)) {
        return execute_elsewhere(side, rest, out);
    }
    if (is_step(step, ".attach ", &rest)) {
        return attach(side, rest);
    }
    if (is_step(step, ".read", &rest)) {
        return begin_to_read(side);
    }
    if (is_step(step, ".write", &rest)) {
        return begin_to_write(side);
    }
    if (is_step(step, ".unread", &rest)) {
        end_reader(side);
    } else {
        side->refuses = is_step(step, ".refuse", &rest);
        assert_true(side->refuses || is_step(step, ".accept", &rest));
    }
    return SQLITE_OK;
}

static inline int take_step(script_side *side, const char *step, FILE *out)
{
    const char *rest;
    if (is_step(step, ".hold", &rest)) {
        return hold(side, rest, out);
    }
    if (is_step(step, ".rest", &rest)) {
        return read_rest(side, out);
    }
    if (is_step(step, ".reopen", &rest) || is_step(step, ".crash", &rest)) {
        return close_and_open(side, step[1] == 'c');
    }
    if (step[0] == '.') {
        int countdown = pause_failing();
        int rc = obey(side, step, out);
        resume_failing(countdown);
        return rc;
    }
    return execute(side->db, step, out);
}

/*
 * Two failures for want of memory have texts of their own: without address space a store cannot be
 * opened, and where a commit could not be taken back, that is tried again by every later step.
 */
static inline bool is_explained(const script_side *side, int rc)
{
    const char *text = sqlite3_errmsg(side->db);
    return (rc == SQLITE_CANTOPEN && library_map_refused &&
            strstr(text, "address space") != NULL) ||
           (rc == SQLITE_IOERR && failing_malloc_elsewhere && failing_malloc_persistent &&
            failing_malloc_hit && strstr(text, "could not be undone") != NULL);
}

static inline step_outcome run_step(script_side *side, const char *step)
{
    step_outcome outcome = {.rows = NULL};
    size_t size;
    int countdown = pause_failing();
    FILE *out = open_memstream(&outcome.rows, &size);
    assert_non_null(out);
    resume_failing(countdown);
    outcome.rc = take_step(side, step, out);
    countdown = pause_failing();
    fclose(out);
    outcome.rc = is_explained(side, outcome.rc) ? SQLITE_NOMEM : outcome.rc;
    resume_failing(countdown);
    return outcome;
}

/* --- The state --- */

/* Everything that the tables hold, as text; failures are part of it. */
static inline char *state_of(sqlite3 *db)
{
    static const char *const queries[] = {
        "SELECT name, sql FROM sqlite_schema ORDER BY name",
        "SELECT *, Properties, EntityKey FROM T",
        "SELECT * FROM Bare",
        "SELECT * FROM W",
        "SELECT * FROM U",
        "SELECT * FROM New",
        "SELECT * FROM Newer",
        "SELECT v FROM Plain",
        "SELECT Body, DequeueCount, TimeNextVisible > '2500' FROM Q",
        "SELECT Body, DequeueCount FROM QP",
    };
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        int rc = execute(db, queries[i], out);
        fprintf(out, "= %d\n", rc);
    }
    fclose(out);
    return text;
}

#endif
