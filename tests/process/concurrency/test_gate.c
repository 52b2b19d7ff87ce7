/*
 * A process that stands still in the gate of a store, stopped or in a debugger, or is slow to end:
 * who opens, closes or compacts that store waits for it, and nobody else does. Here the test itself
 * is in the gate, by a descriptor of its own, and a thread wants to pass.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>

#include "faults/system_calls.h"
#include "fixtures/database.h"
#include "lmdb/file/locks.h"

#define TABLE "CREATE VIRTUAL TABLE t USING ptable(V Int32, store='%s/%s', sync='off')"

enum { NS_PER_SECOND = 1000000000, NS_PER_MS = 1000000, AN_HOUR = 3600000, A_MOMENT = 100 };

typedef struct scene {
    char *folder;
    int gate;    /* a descriptor of x.ptable */
    sqlite3 *db; /* the waiting thread's */
    int code;    /* result of the thread */
    atomic_bool done;
    pthread_t thread;
} scene;

/* --- Who waits sleeps between two tries --- */

static sem_t waits;
static atomic_bool awaited;
static atomic_int ms_of_a_sleep; /* seem to pass; 0: as long as it is */
static atomic_llong ms_slept;

int nanosleep(const struct timespec *time, struct timespec *left)
{
    if (atomic_exchange(&awaited, false)) {
        sem_post(&waits);
    }
    int ms = atomic_load(&ms_of_a_sleep);
    if (ms != 0) {
        atomic_fetch_add(&ms_slept, ms);
        return 0;
    }
    int problem = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
    errno = problem != 0 ? problem : errno;
    return problem != 0 ? -1 : 0;
}

UNWATCHED int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_MONOTONIC) {
        long long ns = now->tv_nsec + atomic_load(&ms_slept) * NS_PER_MS;
        now->tv_sec += ns / NS_PER_SECOND;
        now->tv_nsec = ns % NS_PER_SECOND;
    }
    return result;
}

static void enter_gate(const scene *all)
{
    assert_int_equal(pt_lock_take(all->gate, PT_LOCK_GATE, true, 0), SQLITE_OK);
    atomic_store(&awaited, true);
}

static void leave_gate(const scene *all)
{
    pt_lock_release(all->gate, PT_LOCK_GATE);
}

/* --- The scene: two stores, x with one row and y with two --- */

static void make_store(const char *folder, const char *name, const char *rows)
{
    sqlite3 *db = open_database("", ":memory:");
    run(db, TABLE, folder, name);
    run(db, "INSERT INTO t VALUES %s", rows);
    close_database(db);
}

static int set_up(void **state)
{
    char path[PATH_SIZE];
    void *folder = NULL;
    scene *all = calloc(1, sizeof *all);
    if (all == NULL || make_folder(&folder) != 0 || sem_init(&waits, 0, 0) != 0) {
        free(all);
        return -1;
    }
    all->folder = folder;
    make_store(folder, "x.ptable", "('p', '1', 1)");
    make_store(folder, "y.ptable", "('p', '1', 1), ('p', '2', 2)");
    path_in(folder, "x.ptable", path);
    all->gate = open(path, O_RDWR | O_CLOEXEC);
    all->db = open_database("", ":memory:");
    *state = all;
    return all->gate >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    scene *all = *state;
    void *folder = all->folder;
    atomic_store(&ms_of_a_sleep, 0);
    system_call_judge = NULL;
    sqlite3_close(all->db);
    close(all->gate);
    sem_destroy(&waits);
    free(all);
    return remove_folder(&folder);
}

static void begin(scene *all, void *(*work)(void *))
{
    assert_int_equal(pthread_create(&all->thread, NULL, work, all), 0);
    while (sem_wait(&waits) != 0) {
        assert_int_equal(errno, EINTR);
    }
}

static void end(scene *all, int code)
{
    assert_int_equal(pthread_join(all->thread, NULL), 0);
    assert_int_equal(all->code, code);
}

static bool is_present(const scene *all)
{
    bool held = false;
    assert_int_equal(pt_lock_look(all->gate, PT_LOCK_PRESENCE, &held), 0);
    return held;
}

/* --- What others do meanwhile --- */

static bool y_can_be_used(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    bool usable = db != NULL && code_of(db, TABLE, folder, "y.ptable") == SQLITE_OK &&
                  first_number(db, "SELECT sum(V) FROM t", -1) == 3;
    return sqlite3_close(db) == SQLITE_OK && usable;
}

/* The child must not use SQLite: the waiting thread may have had one of its mutexes. */
static void others_go_on(const scene *all)
{
    assert_true(y_can_be_used(all->folder));
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* --- Tests --- */

/* The test goes on, also when nothing was waited for. */
static void *is_done(scene *all)
{
    atomic_store(&all->done, true);
    sem_post(&waits);
    return NULL;
}

static void *open_x(void *state)
{
    scene *all = state;
    all->code = code_of(all->db, TABLE, all->folder, "x.ptable");
    return is_done(all);
}

static void *close_x(void *state)
{
    scene *all = state;
    all->code = sqlite3_close(all->db);
    all->db = NULL;
    return is_done(all);
}

static void *compact_x(void *state)
{
    scene *all = state;
    all->code = code_of(all->db, "SELECT pt_compact('%s/x.ptable')", all->folder);
    return is_done(all);
}

static void opening_waits_alone(void **state)
{
    scene *all = *state;
    enter_gate(all);
    begin(all, open_x);
    others_go_on(all);
    leave_gate(all);
    end(all, SQLITE_OK);
    assert_number(all->db, 1, "SELECT sum(V) FROM t");
    run(all->db, "INSERT INTO t VALUES('p', '2', 2)");
}

/* Of its locks a process that ends, or another file's user, has only that on the store. */
static void an_opener_waits_alone_for_who_is_about_to_end(void **state)
{
    scene *all = *state;
    assert_int_equal(pt_lock_take(all->gate, PT_LOCK_PRESENCE, false, 0), SQLITE_OK);
    atomic_store(&awaited, true);
    begin(all, open_x);
    others_go_on(all);
    assert_false(atomic_load(&all->done));
    pt_lock_release(all->gate, PT_LOCK_PRESENCE);
    end(all, SQLITE_OK);
    assert_number(all->db, 1, "SELECT sum(V) FROM t");
    run(all->db, "DROP TABLE t");
    assert_int_equal(pt_lock_take(all->gate, PT_LOCK_PRESENCE, false, 0), SQLITE_OK);
    atomic_store(&ms_of_a_sleep, A_MOMENT);
    fails(all->db, SQLITE_CANTOPEN, TABLE, all->folder, "x.ptable");
    says(all->db, "is open in another process that does not use its lock file");
}

static int failing_look;

static system_call_verdict fail_look(const system_call *call)
{
    bool is_one = call->kind == CALL_LOOK && strcmp(call->name, "fcntl") == 0;
    return (system_call_verdict){.error = is_one && failing_look-- == 0 ? ENOLCK : 0};
}

/* Checks if the store's file has users, and if the lock file has. */
static void who_cannot_see_them_does_not_take_files_for_unused(void **state)
{
    enum { LOOKS = 2 };
    scene *all = *state;
    system_call_judge = fail_look;
    for (int look = 0; look < LOOKS; look++) {
        failing_look = look;
        fails(all->db, SQLITE_IOERR, TABLE, all->folder, "x.ptable");
        says(
            all->db,
            "checking which processes use its lock file; put it on a file system whose locks work");
    }
    failing_look = LOOKS;
    run(all->db, TABLE, all->folder, "x.ptable");
    assert_int_equal(failing_look, 0);
}

static void closing_waits_alone(void **state)
{
    scene *all = *state;
    run(all->db, TABLE, all->folder, "x.ptable");
    enter_gate(all);
    begin(all, close_x);
    others_go_on(all);
    assert_false(atomic_load(&all->done));
    leave_gate(all);
    end(all, SQLITE_OK);
    assert_false(is_present(all));
}

/* Its last user then need not close it, nor pass the gate. */
static void a_store_that_waits_to_be_closed_can_be_used_again(void **state)
{
    scene *all = *state;
    run(all->db, TABLE, all->folder, "x.ptable");
    enter_gate(all);
    begin(all, close_x);
    sqlite3 *db = open_database("", ":memory:");
    run(db, TABLE, all->folder, "x.ptable");
    end(all, SQLITE_OK);
    assert_true(is_present(all));
    run(db, "INSERT INTO t VALUES('p', '2', 2)");
    assert_number(db, 3, "SELECT sum(V) FROM t");
    leave_gate(all);
    close_database(db);
    assert_false(is_present(all));
}

static const scene *compacting;

/* The copy is complete, and it only remains to put it in its place. */
static system_call_verdict enter_gate_at_sync(const system_call *call)
{
    if (call->kind == CALL_SYNC && !atomic_load(&awaited) && compacting != NULL) {
        atomic_store(&awaited, pt_lock_take(compacting->gate, PT_LOCK_GATE, true, 0) == SQLITE_OK);
        compacting = NULL;
    }
    return (system_call_verdict){0};
}

static void compacting_waits_alone(void **state)
{
    scene *all = *state;
    run(all->db, TABLE, all->folder, "x.ptable");
    compacting = all;
    system_call_judge = enter_gate_at_sync;
    begin(all, compact_x);
    others_go_on(all);
    leave_gate(all);
    end(all, SQLITE_OK);
    run(all->db, "INSERT INTO t VALUES('p', '2', 2)");
    assert_number(all->db, 3, "SELECT sum(V) FROM t");
}

static void nobody_waits_for_ever(void **state)
{
    scene *all = *state;
    sqlite3 *db = open_database("", ":memory:");
    enter_gate(all);
    atomic_store(&ms_of_a_sleep, AN_HOUR);
    fails(db, SQLITE_BUSY, TABLE, all->folder, "x.ptable");
    says(db, "is being opened or replaced by another process");
    leave_gate(all);
    run(db, TABLE, all->folder, "x.ptable");
    enter_gate(all);
    fails(db, SQLITE_BUSY, "SELECT pt_compact('%s/x.ptable')", all->folder);
    close_database(db);
    leave_gate(all);
    assert_false(is_present(all));
}

#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        scene_test(opening_waits_alone),
        scene_test(an_opener_waits_alone_for_who_is_about_to_end),
        scene_test(who_cannot_see_them_does_not_take_files_for_unused),
        scene_test(closing_waits_alone),
        scene_test(a_store_that_waits_to_be_closed_can_be_used_again),
        scene_test(compacting_waits_alone),
        scene_test(nobody_waits_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
