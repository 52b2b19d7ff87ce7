/*
 * Calls that fail for one connection, while other threads of the process write and read the same
 * store through theirs: what the others do is hurt only while the fault lasts, nothing of it is
 * lost, and nothing is there that was said to have failed.
 *
 * N: how many faults. SEED: which.
 */
#include <pthread.h>
#include <time.h>

#include "fixtures/store.h"
#include "process/io/io_faults.h"

enum { FAULTS = 60, CALLS_OF_A_COMMIT = 8, PATIENCE_MS = 60000 };

#define STORE "shared.ptable"

typedef struct neighbour {
    sqlite3 *db;
    pthread_t thread;
    atomic_int done;
    atomic_int failed;  /* with a text that says why */
    atomic_int strange; /* with another text, or wrong */
    char text[300];     /* of a strange error */
    atomic_bool ends;
} neighbour;

static uint32_t seed;

static uint32_t random_below(uint32_t limit)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * limit >> 32);
}

static sqlite3 *open_on(const char *folder)
{
    sqlite3 *db = open_database("", ":memory:");
    sqlite3_busy_timeout(db, PATIENCE_MS);
    run(db,
        "CREATE VIRTUAL TABLE t USING ptable(i Int32, s String, store='%s/" STORE "', sync=full)",
        folder);
    return db;
}

/* --- In threads: no assertions --- */

static void note(neighbour *self, int code)
{
    const char *text = sqlite3_errmsg(self->db);
    if (code == SQLITE_OK) {
        atomic_fetch_add(&self->done, 1);
    } else if ((code & 0xff) == SQLITE_IOERR && strstr(text, "must be opened again") != NULL) {
        atomic_fetch_add(&self->failed, 1);
    } else if (atomic_fetch_add(&self->strange, 1) == 0) {
        snprintf(self->text, sizeof self->text, "%d: %s", code, text);
    }
}

static void *write_on(void *argument)
{
    neighbour *self = argument;
    while (!atomic_load(&self->ends)) {
        note(self, code_of(self->db, "UPDATE t SET i = i + 1 WHERE PartitionKey = 'writer'"));
    }
    return NULL;
}

/* Two looks in one transaction see the same. */
static int look_twice(sqlite3 *db)
{
    int code = code_of(db, "BEGIN");
    int64_t first = first_number(db, "SELECT sum(i) FROM t", -1);
    int64_t second = first_number(db, "SELECT sum(i) FROM t", -1);
    code = code != SQLITE_OK         ? code
           : first < 0 || second < 0 ? sqlite3_extended_errcode(db)
           : first != second         ? SQLITE_MISMATCH
                                     : SQLITE_OK;
    return code;
}

static void *read_on(void *argument)
{
    neighbour *self = argument;
    while (!atomic_load(&self->ends)) {
        note(self, look_twice(self->db));
        code_of(self->db, "ROLLBACK");
    }
    return NULL;
}

/* --- The connection whose calls fail --- */

/* True if the message says that the statement was done. */
static bool write_with_fault(sqlite3 *db)
{
    const io_fault *fault = &io_faults[random_below(IO_FAULTS)];
    io_duration duration = fault->recurs ? (io_duration)random_below(EVERYWHERE + 1) : ONCE;
    io_arm(fault, duration, (int)random_below(CALLS_OF_A_COMMIT));
    int code = code_of(db, "UPDATE t SET i = i + 1, s = hex(zeroblob(2000 * (i %% 7))) WHERE "
                           "PartitionKey = 'victim'");
    io_heal();
    if (code != SQLITE_OK && strstr(sqlite3_errmsg(db), STORE) == NULL) {
        print_error("%s on %s: %s\n", fault->name, io_now.name, sqlite3_errmsg(db));
        fail();
    }
    return code == SQLITE_OK;
}

/* Until it has done something that it began after now. */
static void await_progress(neighbour *other)
{
    int before = atomic_load(&other->done);
    for (int ms = 0; atomic_load(&other->done) < before + 2; ms++) {
        assert_in_range(ms, 0, PATIENCE_MS);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void end_neighbour(neighbour *other)
{
    atomic_store(&other->ends, true);
    assert_int_equal(pthread_join(other->thread, NULL), 0);
    if (atomic_load(&other->strange) != 0) {
        fail_msg("%d times, first %s", atomic_load(&other->strange), other->text);
    }
}

static void a_fault_hurts_others_only_while_it_lasts(void **state)
{
    const char *folder = *state;
    sqlite3 *db = open_on(folder);
    neighbour writer = {.db = open_on(folder)};
    neighbour reader = {.db = open_on(folder)};
    snprintf(io_folder, sizeof io_folder, "%s", folder);
    run(db, "INSERT INTO t VALUES('victim', '', 0, ''), ('writer', '', 0, '')");
    system_call_judge = io_judge;
    assert_int_equal(pthread_create(&writer.thread, NULL, write_on, &writer), 0);
    assert_int_equal(pthread_create(&reader.thread, NULL, read_on, &reader), 0);
    int done = 0;
    int64_t faults = setting("N", FAULTS);
    for (int64_t i = 0; i < faults; i++) {
        done += write_with_fault(db);
        await_progress(&writer);
        await_progress(&reader);
    }
    end_neighbour(&writer);
    end_neighbour(&reader);
    assert_number(db, done, "SELECT i FROM t WHERE PartitionKey = 'victim'");
    assert_number(db, atomic_load(&writer.done), "SELECT i FROM t WHERE PartitionKey = 'writer'");
    printf("# %lld faults, %lld statements failed by them; beside it %d writes (%d failed) and %d "
           "readings (%d failed); SEED=%lld\n",
           (long long)faults, (long long)faults - done, atomic_load(&writer.done),
           atomic_load(&writer.failed), atomic_load(&reader.done), atomic_load(&reader.failed),
           (long long)setting("SEED", 1));
    close_database(reader.db);
    close_database(writer.db);
    close_database(db);
    assert_store(folder, STORE, 1, 2);
}

int main(void)
{
    seed = (uint32_t)setting("SEED", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_fault_hurts_others_only_while_it_lasts, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
