/*
 * A store of another user in a sticky folder where others may make files, such as /tmp. With
 * fs.protected_regular the kernel does not let LMDB open it by its name. Only the whole machine can
 * have that setting, so here LMDB fails as it would then.
 */
#include "faults/failing_malloc.h"
#include "faults/lmdb_faults.h"
#include "unit/lmdb/filled_store.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

static void check_recovered(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    store_text(store, 1, "a", "one");
}

/* LMDB locks a byte of its lock file for each process that uses it. Asked in a child, as a
 * process's own locks do not count. */
static void check_lock_file_is_used(void)
{
    int status;
    pid_t asking = fork();
    if (asking == 0) {
        char name[128];
        snprintf(name, sizeof name, "%s-lock", fixture_path);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd = open(name, O_RDWR);
        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 0 : 1);
    }
    assert_int_equal(waitpid(asking, &status, 0), asking);
    assert_int_equal(status, 0);
}

static void protect(const char *name)
{
    enum { SOME_USER = 12345 };
    if (geteuid() != 0) {
        print_message("skipped: only root can give a file away\n");
        skip();
    }
    assert_int_equal(chown(name, SOME_USER, (gid_t)-1), 0);
    assert_int_equal(chmod(fixture_folder, 01777), 0);
}

static void unprotect(const char *name)
{
    assert_int_equal(chown(name, 0, (gid_t)-1), 0);
    assert_int_equal(chmod(fixture_folder, 0700), 0);
}

/* The kernel does not let LMDB open such a file by its name. */
static void a_protected_file_is_opened_by_a_link(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-lock"};
    setenv("SQLITE_TMPDIR", fixture_folder, 1);
    engine->close(open_filled_store());
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char name[160];
        pt_store *store = NULL;
        snprintf(name, sizeof name, "%s%s", fixture_path, endings[i]);
        protect(name);
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 1);
        assert_ok(engine->open(fixture_path, 0, &store, &error));
        assert_int_equal(fixture_file_count(), 2);
        check_recovered(store);
        /* LMDB's lock on the lock file holds: another process would count this one as a user. */
        check_lock_file_is_used();
        engine->close(store);
        unprotect(name);
    }
    unsetenv("SQLITE_TMPDIR");
}

static void open_with_failing_memory(const char *name)
{
    bool hit = true;
    protect(name);
    for (int n = 0; hit; n++) {
        pt_store *store = NULL;
        pt_error error = PT_ERROR_NONE;
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 1);
        failing_malloc_arm(n, false);
        int rc = engine->open(fixture_path, 0, &store, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, error.rc);
        assert_true(rc == SQLITE_OK || (hit && (rc == SQLITE_NOMEM || rc == SQLITE_CANTOPEN)));
        pt_error_clear(&error);
        if (rc == SQLITE_OK) {
            check_recovered(store);
            engine->close(store);
        }
    }
    unprotect(name);
}

/* A failed allocation may also leave the file looking unprotected: then it counts as one that this
 * user may not open. */
static void a_protected_file_needs_memory(void **state)
{
    (void)state;
    char lock_file[160];
    snprintf(lock_file, sizeof lock_file, "%s-lock", fixture_path);
    engine->close(open_filled_store());
    open_with_failing_memory(fixture_path);
    open_with_failing_memory(lock_file);
}

/* No link helps: the message names the file and the rule. */
static void a_protected_file_is_named(void **state)
{
    (void)state;
    static const char *const endings[] = {"", "-lock"};
    engine->close(open_filled_store());
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        char name[160];
        char words[200];
        pt_store *store = NULL;
        snprintf(name, sizeof name, "%s%s", fixture_path, endings[i]);
        snprintf(words, sizeof words, "%s' belongs to another user", name);
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 1);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN,
                     "check the permissions");
        protect(name);
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 2);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, words);
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 2);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN,
                     "fs.protected_regular");
        lmdb_fail_at(LMDB_ENV_OPEN, EPERM, 0, 1);
        assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN,
                     "check the permissions");
        unprotect(name);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        store_test(a_protected_file_is_opened_by_a_link),
        store_test(a_protected_file_needs_memory),
        store_test(a_protected_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
