/*
 * Another process that opens the database anew whenever it is asked, tells what all tables hold,
 * writes something that leaves nothing behind, and closes it again.
 *
 * The program's main begins with: if (io_is_looker(argc, argv)) return io_be_looker();
 */
#ifndef TESTS_PROCESS_IO_IO_LOOKER_H
#define TESTS_PROCESS_IO_IO_LOOKER_H

#include "fixtures/child.h"
#include "process/io/io_side.h"

typedef struct io_request {
    io_host host;
    char folder[IO_PATH_SIZE];
} io_request;

static child io_looker;

/* --- In the other process --- */

static inline bool io_is_looker(int argc, char **argv)
{
    return argc == 2 && strcmp(argv[1], "looker") == 0;
}

static inline void io_send_text(int fd, char *text)
{
    size_t size = strlen(text) + 1;
    write_all(fd, &size, sizeof size);
    write_all(fd, text, size);
    free(text);
}

static inline char *io_look(const io_request *asked)
{
    sqlite3 *db;
    int rc = io_connect(asked->folder, asked->host, &db);
    char *text = rc == SQLITE_OK ? io_state_of(db) : strdup(sqlite3_errmsg(db));
    if (rc == SQLITE_OK && sqlite3_exec(db, io_probe, NULL, NULL, NULL) != SQLITE_OK) {
        free(text);
        text = strdup(sqlite3_errmsg(db));
    }
    sqlite3_close(db);
    return text;
}

static inline int io_be_looker(void)
{
    io_request asked;
    while (read_all(STDIN_FILENO, &asked, sizeof asked)) {
        io_send_text(STDOUT_FILENO, io_look(&asked));
    }
    return 0;
}

/* --- In the test --- */

/* For free(). */
static inline char *io_ask_looker(io_host host)
{
    io_request asked = {.host = host};
    size_t size;
    snprintf(asked.folder, sizeof asked.folder, "%s", io_folder);
    assert_true(write_all(io_looker.to, &asked, sizeof asked));
    assert_true(read_all(io_looker.from, &size, sizeof size));
    char *text = malloc(size);
    assert_non_null(text);
    assert_true(read_all(io_looker.from, text, size));
    return text;
}

#endif
