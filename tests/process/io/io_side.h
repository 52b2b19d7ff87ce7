/*
 * A connection with ptable in the folder whose system calls fail, another one beside it, what the
 * steps of scripts do with them, and the state of all tables as text.
 */
#ifndef TESTS_PROCESS_IO_IO_SIDE_H
#define TESTS_PROCESS_IO_IO_SIDE_H

#include "fixtures/database.h"
#include "process/io/io_faults.h"
#include "process/io/io_scripts.h"

typedef struct io_connection {
    io_host host;
    sqlite3 *db;
    sqlite3 *second;
    sqlite3_stmt *held; /* of the second */
} io_connection;

typedef struct io_outcome {
    int rc;        /* extended */
    char *rows;    /* one line a row; for free() */
    char *message; /* for free() */
} io_outcome;

static inline void io_free_outcome(io_outcome *outcome)
{
    free(outcome->rows);
    free(outcome->message);
    *outcome = (io_outcome){0};
}

/* --- Rows as text --- */

static inline void io_print_row(FILE *out, sqlite3_stmt *statement)
{
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        const unsigned char *text = sqlite3_column_text(statement, i);
        fprintf(out, "%s|", text != NULL ? (const char *)text : "NULL");
    }
    fputc('\n', out);
}

static inline int io_read_rows(sqlite3_stmt *statement, FILE *out)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        io_print_row(out, statement);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static inline int io_execute(sqlite3 *db, const char *sql, FILE *out)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = io_read_rows(statement, out);
    }
    int end = sqlite3_finalize(statement);
    return rc == SQLITE_OK ? end : rc;
}

/* All that the tables hold; failures are part of it. For free(). */
static inline char *io_state_of(sqlite3 *db)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    for (int i = 0; i < IO_QUERIES; i++) {
        int rc = io_execute(db, io_queries[i], out);
        fprintf(out, "= %d", rc);
        fprintf(out, "%s\n", (rc & 0xff) <= SQLITE_ERROR ? "" : sqlite3_errmsg(db));
    }
    fclose(out);
    return text;
}

/* --- Connections --- */

static inline int io_connect(const char *folder, io_host host, sqlite3 **db)
{
    char path[IO_PATH_SIZE];
    char *message = NULL;
    snprintf(path, sizeof path, host == HOST_MEMORY ? ":memory:" : "%s/main.db", folder);
    int rc = sqlite3_open(path, db);
    if (rc == SQLITE_OK) {
        sqlite3_extended_result_codes(*db, 1);
        rc = sqlite3_ptable_init(*db, &message, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(*db, io_pragmas[host], NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK && sqlite3_db_readonly(*db, "main") == 1) {
        rc = SQLITE_CANTOPEN; /* which SQLite tries when it cannot open the file for writing */
    }
    sqlite3_free(message);
    return rc;
}

/* What could not be opened is closed. */
static inline int io_open_one(io_host host, sqlite3 **db, char **message)
{
    int rc = io_connect(io_folder, host, db);
    if (rc != SQLITE_OK) {
        *message =
            strdup(rc == SQLITE_CANTOPEN ? "unable to open it for writing" : sqlite3_errmsg(*db));
        assert_int_equal(sqlite3_close(*db), SQLITE_OK);
        *db = NULL;
    }
    return rc;
}

static inline int io_open(io_connection *connection, char **message)
{
    return io_open_one(connection->host, &connection->db, message);
}

static inline void io_end_held(io_connection *connection)
{
    sqlite3_finalize(connection->held);
    connection->held = NULL;
}

static inline void io_close(io_connection *connection)
{
    io_end_held(connection);
    assert_int_equal(sqlite3_close(connection->second), SQLITE_OK);
    assert_int_equal(sqlite3_close(connection->db), SQLITE_OK);
    *connection = (io_connection){.host = connection->host};
}

static inline bool io_in_transaction(const io_connection *connection)
{
    return sqlite3_get_autocommit(connection->db) == 0;
}

/* Declares the tables and fills them. */
static inline void io_make_tables(sqlite3 *db, io_host host)
{
    if (host != HOST_MEMORY) {
        run(db, "PRAGMA journal_mode = %s",
            host == HOST_WAL || host == HOST_NORMAL ? "wal" : "delete");
        run(db, io_other_table, io_sync_modes[host]);
        run(db, "INSERT INTO U VALUES ('p', '1', 1), ('p', '2', 2)");
    }
    for (const char *const *table = io_tables; *table != NULL; table++) {
        run(db, *table, io_sync_modes[host]);
    }
}

/* --- Steps --- */

static inline bool io_is_step(const char *step, const char *word, const char **rest)
{
    size_t size = strlen(word);
    bool is = strncmp(step, word, size) == 0;
    *rest = is && step[size] == ' ' ? step + size + 1 : step;
    return is;
}

static inline int io_hold(io_connection *connection, const char *sql, FILE *out)
{
    int rc = sqlite3_prepare_v2(connection->second, sql, -1, &connection->held, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(connection->held);
    }
    if (rc == SQLITE_ROW) {
        io_print_row(out, connection->held);
        return SQLITE_OK;
    }
    io_end_held(connection);
    return rc;
}

static inline int io_read_rest(io_connection *connection, FILE *out)
{
    int rc = connection->held != NULL ? io_read_rows(connection->held, out) : SQLITE_OK;
    io_end_held(connection);
    return rc;
}

static inline int io_by_second(io_connection *connection, const char *step, FILE *out,
                               char **message)
{
    const char *rest;
    if (connection->second == NULL) {
        int rc = io_open_one(connection->host, &connection->second, message);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if (io_is_step(step, ".hold", &rest)) {
        return io_hold(connection, rest, out);
    }
    return io_is_step(step, ".second", &rest) ? io_execute(connection->second, rest, out)
                                              : io_read_rest(connection, out);
}

static inline io_outcome io_run_step(io_connection *connection, const char *step)
{
    io_outcome outcome = {0};
    size_t size;
    FILE *out = open_memstream(&outcome.rows, &size);
    assert_non_null(out);
    if (strcmp(step, ".reopen") == 0) {
        io_close(connection);
        outcome.rc = io_open(connection, &outcome.message);
    } else if (step[0] == '.') {
        outcome.rc = io_by_second(connection, step, out, &outcome.message);
        if (outcome.message == NULL) {
            outcome.message = strdup(sqlite3_errmsg(connection->second));
        }
    } else {
        outcome.rc = io_execute(connection->db, step, out);
        outcome.message = strdup(sqlite3_errmsg(connection->db));
    }
    fclose(out);
    return outcome;
}

#endif
