/*
 * The lock of the log, between two processes and two threads, when a log ends: it is held as long
 * as a process uses a log, and no longer, or the last process could not end it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "fixtures/log_mode.h"
#include "fixtures/other_steps.h"
#include "fixtures/scene.h"

enum { MANY = 1000000, LOCK_BYTE_OF_GATE = 0, LOCK_BYTE_OF_LOG = 3, LONG_ENOUGH_MS = 300 };

#define FIRST_LOCK_BYTE (INT64_C(1) << 62) /* lmdb/file/locks.c */
#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='shared.ptable')"

/* When the gate has been released. */
static _Atomic other_step after_gate;

#pragma GCC visibility push(default)

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    const struct flock *lock = argument;
    int result = (int)syscall(SYS_fcntl, fd, command, argument);
    if (command == F_OFD_SETLK && lock->l_type == F_UNLCK &&
        lock->l_start == FIRST_LOCK_BYTE + LOCK_BYTE_OF_GATE) {
        meet(&after_gate);
    }
    return result;
}

#pragma GCC visibility pop

static scene *ours;

static int set_up(void **state)
{
    use_log(MANY);
    if (begin_scene(state, TABLE) != 0) {
        return -1;
    }
    ours = *state;
    return 0;
}

static bool is_there(const char *name)
{
    char path[PATH_SIZE];
    path_in(ours->folder, name, path);
    return access(path, F_OK) == 0;
}

/* --- Two processes --- */

static void let_the_other_close(void)
{
    stop_peer(&ours->other);
    ours->other.process.pid = 0;
}

static void the_last_of_two_that_close_at_once_ends_the_log(void **state)
{
    (void)state;
    run(ours->db, "INSERT INTO t VALUES('p', 'a', 1); INSERT INTO t VALUES('p', 'b', 1)");
    peer_run(&ours->other, "INSERT INTO t VALUES('p', 'c', 1)");
    assert_true(is_there("shared.ptable-log"));
    atomic_store(&after_gate, let_the_other_close);
    close_database(ours->db);
    ours->db = NULL;
    assert_null(atomic_load(&after_gate));
    assert_false(is_there("shared.ptable-log"));
    assert_false(is_there("shared.ptable-word"));
}

/* --- Two threads --- */

static bool log_is_locked(void)
{
    char path[PATH_SIZE];
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = (off_t)(FIRST_LOCK_BYTE + LOCK_BYTE_OF_LOG),
                         .l_len = 1};
    path_in(ours->folder, "shared.ptable", path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(syscall(SYS_fcntl, fd, F_OFD_GETLK, &lock), 0);
    close(fd);
    return lock.l_type != F_UNLCK;
}

static pthread_t committer;

static void *commit_now(void *db)
{
    return code_of(db, "COMMIT") == SQLITE_OK ? db : NULL;
}

/* The thread begins a log, and waits for the one that looks for the old one. */
static void let_the_second_commit(void)
{
    assert_int_equal(pthread_create(&committer, NULL, commit_now, ours->second), 0);
    const struct timespec time = {.tv_nsec = LONG_ENOUGH_MS * 1000000L};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

static void let_the_log_end(void)
{
    let_the_other_close();
    run(ours->second, "BEGIN; INSERT INTO t VALUES('p', 'c', 1)");
    atomic_store(&before_log, let_the_second_commit);
}

static void a_thread_that_is_late_does_not_unlock_the_next_log(void **state)
{
    (void)state;
    void *committed;
    ours->second = open_database(ours->folder, "second.db");
    run(ours->second, TABLE);
    assert_number(ours->second, 0, "SELECT count(*) FROM t");
    assert_number(ours->db, 0, "SELECT count(*) FROM t");
    peer_run(&ours->other, "INSERT INTO t VALUES('p', 'a', 1)");
    peer_run(&ours->other, "INSERT INTO t VALUES('p', 'b', 1)");
    atomic_store(&after_beginning, let_the_log_end);
    int64_t seen = first_number(ours->db, "SELECT count(*) FROM t", -1);
    assert_null(atomic_load(&after_beginning));
    assert_null(atomic_load(&before_log));
    assert_int_equal(pthread_join(committer, &committed), 0);
    assert_ptr_equal(committed, ours->second);
    assert_true(seen == 2 || seen == 3);
    assert_true(is_there("shared.ptable-log"));
    assert_true(log_is_locked());
    assert_number(ours->db, 3, "SELECT count(*) FROM t");
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(the_last_of_two_that_close_at_once_ends_the_log),
        scene_test(a_thread_that_is_late_does_not_unlock_the_next_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
