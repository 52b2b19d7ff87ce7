/*
 * A peer: another process with a connection of its own, which runs the SQL it is told. While a
 * statement of the peer waits for a lock, the peer says so, so that tests need not guess.
 *
 * The program's main begins with: if (is_peer(argc, argv)) return be_peer(argv);
 */
#ifndef PEER_H
#define PEER_H

#include <time.h>

#include "child.h"

enum { REQUEST_SIZE = 1000, MESSAGE_SIZE = 400 };

typedef enum reply_kind { REPLY_DONE, REPLY_WAITING } reply_kind;

typedef struct reply {
    reply_kind kind;
    int code;       /* extended */
    int64_t number; /* first column of the first row; INT64_MIN if there was none */
    char message[MESSAGE_SIZE];
} reply;

typedef struct peer {
    child process;
    reply last;
    bool waited; /* for a lock, during the last request */
} peer;

/* --- In the peer --- */

static bool peer_tells_waiting;

/* Who waits for a lock sleeps between two tries. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (peer_tells_waiting) {
        peer_tells_waiting = false;
        const reply waiting = {.kind = REPLY_WAITING};
        write_all(STDOUT_FILENO, &waiting, sizeof waiting);
    }
    int problem = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = problem != 0 ? problem : errno;
    return problem != 0 ? -1 : 0;
}

static inline int note_first(void *result, int columns, char **values, char **names)
{
    (void)names;
    reply *answer = result;
    if (answer->number == INT64_MIN && columns > 0 && values[0] != NULL) {
        answer->number = strtoll(values[0], NULL, 10);
    }
    return 0;
}

static inline bool is_peer(int argc, char **argv)
{
    return argc == 3 && strcmp(argv[1], "peer") == 0;
}

static inline int be_peer(char **argv)
{
    char sql[REQUEST_SIZE];
    sqlite3 *db = try_open(argv[2]);
    if (db == NULL) {
        return 1;
    }
    const reply ready = {.kind = REPLY_DONE};
    write_all(STDOUT_FILENO, &ready, sizeof ready);
    while (read_all(STDIN_FILENO, sql, sizeof sql)) {
        reply answer = {.kind = REPLY_DONE, .number = INT64_MIN};
        peer_tells_waiting = true;
        answer.code = sqlite3_exec(db, sql, note_first, &answer, NULL);
        peer_tells_waiting = false;
        snprintf(answer.message, sizeof answer.message, "%s", sqlite3_errmsg(db));
        write_all(STDOUT_FILENO, &answer, sizeof answer);
    }
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

/* --- In the test --- */

/* The peer has opened its connection, which reads the database for a moment. */
static inline peer start_peer(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    const char *const arguments[] = {path, NULL};
    peer started = {.process = start_child("peer", arguments)};
    assert_true(read_all(started.process.from, &started.last, sizeof started.last));
    return started;
}

static inline void stop_peer(peer *other)
{
    stop_child(&other->process);
}

static inline void kill_peer(peer *other)
{
    kill_child(&other->process);
}

static inline void send_request(peer *other, const char *format, va_list arguments)
{
    char request[REQUEST_SIZE] = {0};
    other->waited = false;
    sqlite3_vsnprintf(sizeof request, request, format, arguments);
    assert_true(write_all(other->process.to, request, sizeof request));
}

/* Lets the peer begin with something; peer_ends waits for its end. */
static inline void peer_begins(peer *other, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    send_request(other, format, arguments);
    va_end(arguments);
}

/* The peer has begun to wait for a lock. */
static inline void peer_waits(peer *other)
{
    assert_true(read_all(other->process.from, &other->last, sizeof other->last));
    assert_int_equal(other->last.kind, REPLY_WAITING);
    other->waited = true;
}

static inline void receive_end(peer *other)
{
    do {
        assert_true(read_all(other->process.from, &other->last, sizeof other->last));
        other->waited = other->waited || other->last.kind == REPLY_WAITING;
    } while (other->last.kind != REPLY_DONE);
}

static inline void check_end(const char *file, int line, const peer *other, int code,
                             const char *request)
{
    if (other->last.code != code) {
        print_error("peer: %s\n%d, not %d: %s\n", request, other->last.code, code,
                    other->last.message);
        _fail(file, line);
    }
}

static inline void peer_ends_at(const char *file, int line, peer *other, int code)
{
    receive_end(other);
    check_end(file, line, other, code, "what it had begun");
}

#define peer_ends(other, code) peer_ends_at(__FILE__, __LINE__, other, code)

static inline void peer_expect_at(const char *file, int line, peer *other, int code,
                                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    send_request(other, format, arguments);
    va_end(arguments);
    receive_end(other);
    check_end(file, line, other, code, format);
}

#define peer_run(other, ...) peer_expect_at(__FILE__, __LINE__, other, SQLITE_OK, __VA_ARGS__)
#define peer_fails(other, code, ...) peer_expect_at(__FILE__, __LINE__, other, code, __VA_ARGS__)
#define assert_peer_number(other, expected, ...)                                                   \
    do {                                                                                           \
        peer_run(other, __VA_ARGS__);                                                              \
        assert_int_equal((other)->last.number, expected);                                          \
    } while (0)

static inline void peer_says_at(const char *file, int line, const peer *other, const char *text)
{
    if (strstr(other->last.message, text) == NULL) {
        print_error("\"%s\" is not in \"%s\"\n", text, other->last.message);
        _fail(file, line);
    }
}

#define peer_says(other, text) peer_says_at(__FILE__, __LINE__, other, text)

#endif
