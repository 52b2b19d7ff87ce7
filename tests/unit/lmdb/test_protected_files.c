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

static bool folders_are_hidden; /* a look at a folder fails */

#pragma GCC visibility push(default)

int stat(const char *path, struct stat *info)
{
    if (folders_are_hidden && path[strlen(path) - 1] == '/') {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, info, 0);
}

#pragma GCC visibility pop

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

/* LMDB's first `refusals` tries to open the file fail. */
static void open_with_failing_memory(const char *name, int refusals)
{
    bool hit = true;
    protect(name);
    for (int n = 0; hit; n++) {
        pt_store *store = NULL;
        pt_error error = PT_ERROR_NONE;
        lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, refusals);
        failing_malloc_arm(n, false);
        int rc = engine->open(fixture_path, 0, &store, &error);
        hit = failing_malloc_disarm();
        assert_int_equal(rc, error.rc);
        assert_true(rc == (refusals == 1 ? SQLITE_OK : SQLITE_CANTOPEN) ||
                    (hit && (rc == SQLITE_NOMEM || rc == SQLITE_CANTOPEN)));
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
    for (int refusals = 1; refusals <= 2; refusals++) {
        open_with_failing_memory(fixture_path, refusals);
        open_with_failing_memory(lock_file, refusals);
    }
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

/* Opens what LMDB may not open by its name. */
static void expect_refusal(const char *words)
{
    pt_store *store = NULL;
    lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 2);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, words);
    lmdb_forget_faults();
}

/* Only one of these is known to be protected; for the rest the permissions must be to blame. */
static void other_files_are_not_called_protected(void **state)
{
    (void)state;
    enum { SAME_USER = 12345 };
    engine->close(open_filled_store());
    assert_int_equal(chmod(fixture_folder, 01777), 0); /* sticky, but the file is our own */
    expect_refusal("check the permissions");
    protect(fixture_path);
    expect_refusal("fs.protected_regular");
    folders_are_hidden = true;
    expect_refusal("check the permissions");
    folders_are_hidden = false;
    assert_int_equal(chmod(fixture_folder, 01755), 0); /* nobody else makes files there */
    expect_refusal("check the permissions");
    assert_int_equal(chmod(fixture_folder, 0777), 0); /* not sticky */
    expect_refusal("check the permissions");
    assert_int_equal(chmod(fixture_folder, 01777), 0);
    assert_int_equal(chown(fixture_folder, SAME_USER, (gid_t)-1), 0); /* of the file's owner */
    expect_refusal("check the permissions");
    assert_int_equal(chown(fixture_folder, 0, (gid_t)-1), 0);
    unprotect(fixture_path);
}

/* The store's file is not protected, as this user may not write it; its lock file is. */
static void a_store_that_is_only_read_is_opened_by_a_link(void **state)
{
    (void)state;
    enum { ANOTHER_USER = 12346 };
    char lock_file[160];
    pt_store *store = NULL;
    pt_error failure = PT_ERROR_NONE;
    snprintf(lock_file, sizeof lock_file, "%s-lock", fixture_path);
    engine->close(open_filled_store());
    protect(fixture_path);
    protect(lock_file);
    assert_int_equal(chmod(fixture_path, 0644), 0);
    assert_int_equal(chmod(lock_file, 0666), 0);
    lmdb_fail_at(LMDB_ENV_OPEN, EACCES, 0, 1);
    assert_int_equal(seteuid(ANOTHER_USER), 0);
    int rc = engine->open(fixture_path, 0, &store, &failure);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(rc, SQLITE_OK);
    assert_true(lmdb_has_failed(1));
    assert_true(store->read_only);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    engine->close(store);
    unprotect(lock_file);
    unprotect(fixture_path);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        store_test(a_protected_file_is_opened_by_a_link),
        store_test(a_protected_file_needs_memory),
        store_test(a_protected_file_is_named),
        store_test(other_files_are_not_called_protected),
        store_test(a_store_that_is_only_read_is_opened_by_a_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
