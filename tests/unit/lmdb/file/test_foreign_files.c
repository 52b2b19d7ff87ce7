/*
 * Descriptors of files that are no stores stay open, one a file, also without memory: closing one
 * would drop the locks of whoever else in this process uses the file.
 */
#include "faults/library_memory.h"
#include "fixtures/store_fixture.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "lmdb/file/foreign_files.h"

enum { FILES = 9, RESERVED = 8 };

static void path_of(int number, char path[128])
{
    snprintf(path, 128, "%s/%d", fixture_folder, number);
}

static int make_file(int number)
{
    char path[128];
    path_of(number, path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void keep(int fd, bool writable)
{
    pt_lmdb_owned owned;
    pt_lmdb_own(fd, &owned);
    pt_lmdb_foreign_keep(&owned, writable);
    assert_int_equal(owned.fd, -1);
}

/* -1: none. */
static int taken_by_path(const char *path, bool *writable)
{
    pt_lmdb_owned owned = {.fd = -1};
    assert_true(pt_lmdb_foreign_take(path, &owned, writable) == (owned.fd >= 0));
    return owned.fd >= 0 ? pt_lmdb_disown(&owned) : -1;
}

/* The descriptor that is kept of the file; -1: none. */
static int taken(int number, bool *writable)
{
    char path[128];
    path_of(number, path);
    return taken_by_path(path, writable);
}

static void descriptors_are_kept_by_file(void **state)
{
    (void)state;
    bool writable = false;
    int first = make_file(1);
    int second = make_file(2);
    keep(first, true);
    keep(second, false);
    assert_int_equal(taken(3, &writable), -1);
    close(make_file(3));
    assert_int_equal(taken(3, &writable), -1);
    assert_int_equal(taken(1, &writable), first);
    assert_true(writable);
    assert_int_equal(taken(1, &writable), -1);
    assert_int_equal(taken(2, &writable), second);
    assert_false(writable);
    close(first);
    close(second);
}

/* Nobody locks a pipe or a folder. */
static void only_regular_files_are_kept(void **state)
{
    (void)state;
    int fd = open(fixture_folder, O_RDONLY | O_CLOEXEC);
    keep(fd, false);
    assert_false(is_open(fd));
}

/* What is kept can be closed by somebody else. */
static void a_closed_descriptor_is_of_no_file(void **state)
{
    (void)state;
    bool writable = false;
    int fd = make_file(1);
    keep(fd, true);
    close(fd);
    assert_int_equal(taken(1, &writable), -1);
    int again = make_file(1);
    assert_int_equal(again, fd); /* the same number */
    assert_int_equal(taken(1, &writable), again);
    close(again);
}

/* But not what has the number of one that somebody else has closed. */
static void a_child_closes_what_is_kept(void **state)
{
    (void)state;
    bool writable = false;
    int kept = make_file(1);
    int closed = make_file(2);
    keep(kept, true);
    keep(closed, true);
    close(closed);
    int other = make_file(3);
    assert_int_equal(other, closed); /* the same number */
    pt_lmdb_foreign_before_fork();
    pt_lmdb_foreign_after_fork(true);
    assert_false(is_open(kept));
    assert_true(is_open(other));
    assert_int_equal(taken(3, &writable), -1);
    close(make_file(1));
    assert_int_equal(taken(1, &writable), -1);
    close(other);
}

/* It has the number of a file on another device, perhaps. */
static void files_of_other_devices_are_others(void **state)
{
    (void)state;
    bool writable = false;
    char path[40];
    int elsewhere = memfd_create("elsewhere", MFD_CLOEXEC);
    close(make_file(1));
    keep(elsewhere, true);
    assert_int_equal(taken(1, &writable), -1);
    snprintf(path, sizeof path, "/proc/self/fd/%d", elsewhere);
    assert_int_equal(taken_by_path(path, &writable), elsewhere);
    close(elsewhere);
}

/* As many as there are places; the others stay open all the same. */
static void without_memory_some_are_kept(void **state)
{
    (void)state;
    bool writable = false;
    int fds[FILES];
    if (!library_memory_can_fail()) {
        skip();
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < FILES; i++) {
            fds[i] = make_file(i);
            failing_malloc_elsewhere = true;
            failing_malloc_arm(0, false);
            keep(fds[i], true);
            assert_true(failing_malloc_disarm());
            assert_true(is_open(fds[i]));
        }
        for (int i = 0; i < FILES; i++) {
            assert_int_equal(taken(i, &writable), i < RESERVED ? fds[i] : -1);
            close(fds[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(descriptors_are_kept_by_file),
        store_test(only_regular_files_are_kept),
        store_test(a_closed_descriptor_is_of_no_file),
        store_test(files_of_other_devices_are_others),
        store_test(a_child_closes_what_is_kept),
        store_test(without_memory_some_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
