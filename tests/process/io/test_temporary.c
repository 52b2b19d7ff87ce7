/*
 * Files that appear whole or not at all, while system calls fail and others come in between: what
 * is nobody's is removed and nothing else, and no failure leaves a file behind.
 */
#include <pthread.h>
#include <semaphore.h>
#include <sys/random.h>
#include <time.h>

#include "faults/system_calls.h"
#include "fixtures/acl.h"
#include "fixtures/folder.h"
#include "lmdb/file/locks.h"
#include "lmdb/file/temporary.h"

enum { NAME_TRIES = 10, SOME_USER = 12345, SOME_GROUP = 23456 };

/* --- Calls that fail, or before which something happens --- */

static const char *planned_call; /* NULL: none */
static int planned_passes;       /* so many calls of that name are left alone first */
static int planned_times;
static int planned_error; /* 0: it is made */
static void (*planned_event)(const system_call *call);
static int fchown_error;
static int fchmod_error;
static int fsetxattr_error;
static int fremovexattr_error;
static int fgetxattr_error;
static uint8_t list[ACL_SIZE]; /* that fgetxattr() gives */
static size_t list_size;       /* 0: that of the file */
static bool is_ordinary_user;
static bool no_noise;

static system_call_verdict follow_plan(const system_call *call)
{
    bool is_meant = planned_call != NULL && strcmp(call->name, planned_call) == 0 &&
                    planned_times > 0 && planned_passes-- <= 0;
    if (!is_meant) {
        return (system_call_verdict){0};
    }
    system_call_verdict verdict = {.error = planned_error};
    planned_times--;
    if (planned_event != NULL) {
        planned_event(call);
    }
    return verdict;
}

/* The next call of that name, behind some, fails. */
static void plan(const char *call, int passes, int times, int error)
{
    planned_call = call;
    planned_passes = passes;
    planned_times = times;
    planned_error = error;
    planned_event = NULL;
    system_call_judge = follow_plan;
}

static void plan_event(const char *call, int passes, void (*event)(const system_call *call))
{
    plan(call, passes, 1, 0);
    planned_event = event;
}

static void end_plan(void)
{
    assert_int_equal(planned_times, 0);
    system_call_judge = NULL;
}

#pragma GCC visibility push(default)

int fchown(int fd, uid_t user, gid_t group)
{
    errno = fchown_error;
    return fchown_error != 0 ? -1 : (int)syscall(SYS_fchown, fd, user, group);
}

int fchmod(int fd, mode_t mode)
{
    errno = fchmod_error;
    return fchmod_error != 0 ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int fsetxattr(int fd, const char *name, const void *value, size_t size, int flags)
{
    errno = fsetxattr_error;
    return fsetxattr_error != 0 ? -1 : (int)syscall(SYS_fsetxattr, fd, name, value, size, flags);
}

int fremovexattr(int fd, const char *name)
{
    errno = fremovexattr_error;
    return fremovexattr_error != 0 ? -1 : (int)syscall(SYS_fremovexattr, fd, name);
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    errno = fgetxattr_error;
    if (list_size > 0) {
        memcpy(value, list, list_size);
        return (ssize_t)list_size;
    }
    return fgetxattr_error != 0 ? -1 : syscall(SYS_fgetxattr, fd, name, value, size);
}

uid_t geteuid(void)
{
    return is_ordinary_user ? 1000 : (uid_t)syscall(SYS_geteuid);
}

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    errno = ENOSYS;
    return no_noise ? -1 : syscall(SYS_getrandom, bytes, size, flags);
}

#pragma GCC visibility pop

/* --- Making --- */

static char place[PATH_SIZE];
static char intruder[PATH_SIZE]; /* a file that comes in between */

static int make_place(void **state)
{
    if (make_folder(state) != 0) {
        return -1;
    }
    system_call_judge = NULL;
    path_in(*state, "s.ptable", place);
    path_in(*state, "intruder", intruder);
    return 0;
}

static void put_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    close(fd);
}

static void make_succeeds(const char *folder)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    assert_int_equal(unfinished_files(folder), 1);
    pt_lmdb_temporary_close(&temporary);
    assert_int_equal(unfinished_files(folder), 0);
}

static void make_fails(const char *folder, const pt_lmdb_permissions *like, int problem)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    assert_int_equal(pt_lmdb_temporary_make(place, like, &temporary), problem);
    assert_int_equal(temporary.fd, -1);
    assert_int_equal(unfinished_files(folder), 0);
}

static void failing_calls_leave_no_file(void **state)
{
    pt_lmdb_permissions like = {
        .file = {.st_mode = S_IFREG | 0640, .st_uid = geteuid(), .st_gid = getegid()}};
    plan("open", 0, 1, EACCES);
    make_fails(*state, NULL, EACCES);
    end_plan();
    plan("fcntl", 0, 1, EIO);
    make_fails(*state, NULL, EIO);
    end_plan();
    plan("fstat", 1, 1, EIO); /* the first one looks whether the file has its name yet */
    make_fails(*state, &like, EIO);
    end_plan();
    fchmod_error = EROFS;
    make_fails(*state, &like, EROFS);
    fchmod_error = 0;
    no_noise = true;
    make_fails(*state, NULL, ENOSYS);
    no_noise = false;
    make_succeeds(*state);
}

static void another_name_is_tried(void **state)
{
    plan("open", 0, NAME_TRIES - 1, EEXIST);
    make_succeeds(*state);
    end_plan();
    plan("open", 0, NAME_TRIES, EEXIST);
    make_fails(*state, NULL, EEXIST);
    end_plan();
}

/* Another process finds the file before its maker holds the gate: it has it, or has removed it. */
static void another_takes_the_gate(const system_call *call)
{
    (void)call;
    plan("fcntl", 0, 1, EAGAIN);
}

static char made_name[PATH_SIZE];

static system_call_verdict remove_what_is_made(const system_call *call)
{
    if (strcmp(call->name, "open") == 0) {
        snprintf(made_name, sizeof made_name, "%s", call->path);
    } else if (strcmp(call->name, "fcntl") == 0) {
        assert_int_equal(unlink(made_name), 0);
        system_call_judge = NULL;
    }
    return (system_call_verdict){0};
}

static void a_file_taken_for_abandoned_is_made_again(void **state)
{
    plan_event("open", 0, another_takes_the_gate);
    make_succeeds(*state);
    end_plan();
    system_call_judge = remove_what_is_made;
    make_succeeds(*state);
    assert_null(system_call_judge);
}

/* --- What others have left behind --- */

static void only_temporary_files_are_removed(void **state)
{
    static const char *const others[] = {"s.ptable-new-0123456789abcde", "s.ptable-new-",
                                         "s.ptable-new-0123456789abcdeg", "s.ptable-old",
                                         "s.ptable-new-0123456789abcdef0"};
    char path[PATH_SIZE];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        path_in(*state, others[i], path);
        put_file(path);
    }
    path_in(*state, "s.ptable-new-0123456789abcdef", path);
    put_file(path);
    pt_lmdb_temporary temporary = {.fd = -1};
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    pt_lmdb_temporary_close(&temporary);
    assert_int_equal(access(path, F_OK), -1);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        path_in(*state, others[i], path);
        assert_int_equal(access(path, F_OK), 0);
    }
}

static char abandoned[PATH_SIZE];

static void remove_abandoned(const system_call *call)
{
    (void)call;
    assert_int_equal(unlink(abandoned), 0);
}

static void replace_abandoned(const system_call *call)
{
    (void)call;
    assert_int_equal(rename(intruder, abandoned), 0);
}

/* Makes a file; whether the one that was left behind is still there. */
static bool stays(void)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    pt_lmdb_temporary_close(&temporary);
    struct stat file;
    return lstat(abandoned, &file) == 0;
}

static void what_is_in_use_is_not_removed(void **state)
{
    path_in(*state, "s.ptable-new-0123456789abcdef", abandoned);
    assert_int_equal(symlink("elsewhere", abandoned), 0);
    assert_true(stays());
    assert_int_equal(unlink(abandoned), 0);
    put_file(abandoned);
    int fd = open(abandoned, O_RDWR | O_CLOEXEC);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_GATE, true, 0), SQLITE_OK);
    assert_true(stays());
    close(fd);
    plan("fstat", 0, 1, EIO);
    assert_true(stays());
    end_plan();
    plan_event("fstat", 0, remove_abandoned);
    assert_false(stays());
    end_plan();
    put_file(abandoned);
    put_file(intruder);
    plan_event("fstat", 0, replace_abandoned);
    assert_true(stays());
    end_plan();
    assert_false(stays());
}

/* --- Forks --- */

enum { FORK_WAIT_MS = 10 };

static sem_t has_begun;
static bool began_meanwhile;
static pthread_t forking;

/* As the handlers of pthread_atfork see it. */
static void *begin_and_end_fork(void *nothing)
{
    pt_lmdb_before_fork();
    sem_post(&has_begun);
    pt_lmdb_after_fork(false);
    return nothing;
}

static void try_to_fork(const system_call *call)
{
    (void)call;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += FORK_WAIT_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    assert_int_equal(sem_init(&has_begun, 0, 0), 0);
    assert_int_equal(pthread_create(&forking, NULL, begin_and_end_fork, NULL), 0);
    began_meanwhile = sem_timedwait(&has_begun, &until) == 0;
}

/* A child would have the descriptor, and the lock that is taken through it. */
static void no_fork_begins_while_a_file_is_opened(void **state)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    (void)state;
    plan_event("open", 0, try_to_fork);
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    assert_int_equal(planned_times, 0);
    end_plan();
    pthread_join(forking, NULL);
    assert_false(began_meanwhile);
    pt_lmdb_temporary_close(&temporary);
}

/* Then the file is the parent's. */
static void a_child_has_no_temporary_file(void **state)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    (void)state;
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    int fd = temporary.fd;
    pt_lmdb_before_fork();
    pt_lmdb_after_fork(true);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(other, fd); /* the same number */
    pt_lmdb_temporary_close(&temporary);
    assert_true(fcntl(other, F_GETFD) >= 0);
    close(other);
}

/* --- The end --- */

static void publishing_is_durable_or_undone(void **state)
{
    static const struct {
        const char *call;
        int passes;
        int error;
        int problem;
    } failures[] = {
        {"fsync", 0, EIO, EIO},  {"link", 0, EACCES, EACCES}, {"open", 0, EIO, EIO},
        {"fsync", 1, EIO, EIO},  {"open", 0, EACCES, 0}, /* no permission to list the folder */
        {"fsync", 1, EINVAL, 0},                         /* file systems that have no such thing */
    };
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        pt_lmdb_temporary temporary = {.fd = -1};
        assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
        plan(failures[i].call, failures[i].passes, 1, failures[i].error);
        assert_int_equal(pt_lmdb_temporary_publish(&temporary, place), failures[i].problem);
        end_plan();
        pt_lmdb_temporary_close(&temporary);
        assert_int_equal(unfinished_files(*state), 0);
        assert_int_equal(files_like(*state, "s.ptable"), failures[i].problem == 0 ? 1 : 0);
        unlink(place);
    }
}

static void a_file_that_cannot_be_replaced_is_removed(void **state)
{
    pt_lmdb_temporary temporary = {.fd = -1};
    assert_int_equal(pt_lmdb_temporary_make(place, NULL, &temporary), 0);
    plan("rename", 0, 1, EIO);
    assert_int_equal(pt_lmdb_temporary_replace(&temporary, place), EIO);
    end_plan();
    pt_lmdb_temporary_close(&temporary);
    assert_int_equal(files_like(*state, "*"), 0);
}

/* --- For whom a file is --- */

/* The mode of a file shared as `like` is. */
static mode_t shared_mode(const pt_lmdb_permissions *like)
{
    struct stat file;
    int fd = open(intruder, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(pt_lmdb_copy_permissions(fd, like), 0);
    assert_int_equal(fstat(fd, &file), 0);
    close(fd);
    unlink(intruder);
    return file.st_mode & 07777;
}

/* Where the group cannot be given, it gets no more than anybody. */
static void a_file_is_for_no_more_than_its_model(void **state)
{
    (void)state;
    pt_lmdb_permissions own = {
        .file = {.st_mode = S_IFREG | 0664, .st_uid = getuid(), .st_gid = getgid()}};
    pt_lmdb_permissions other = own;
    is_ordinary_user = true;
    assert_int_equal(shared_mode(&own), 0664);
    own.file.st_uid = SOME_USER; /* which it cannot be, and need not */
    assert_int_equal(shared_mode(&own), 0664);
    other.file.st_gid = SOME_GROUP;
    fchown_error = EPERM;
    assert_int_equal(shared_mode(&other), 0644);
    other.file.st_mode = S_IFREG | 0660;
    assert_int_equal(shared_mode(&other), 0600);
    is_ordinary_user = false;
    assert_int_equal(shared_mode(&other), 0600);
    assert_int_equal(shared_mode(&own), geteuid() == 0 ? 0644 : 0664); /* root gives it away */
    fchown_error = 0;
}

/* Without its list a file is for no one whom the list keeps out. */
static void a_list_that_cannot_be_given_widens_nothing(void **state)
{
    (void)state;
    static const struct {
        acl_rights rights;
        mode_t mode; /* without the list */
    } lists[] = {
        {{.owner = 6, .user = 4, .group = 0, .mask = 6, .other = 0}, 0600},
        {{.owner = 6, .user = 6, .group = 4, .mask = 6, .other = 0}, 0640},
        {{.owner = 6, .user = 6, .group = 6, .mask = 6, .other = 4}, 0664},
        {{.owner = 6, .user = 6, .group = 6, .mask = 4, .other = 4}, 0644},
        {{.owner = 6, .user = 0, .group = 6, .mask = 6, .other = 4}, 0600},
    };
    enum { USER_TAG_AT = 12 };
    static const int errors[] = {ENOTSUP, ENOSPC, EIO};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        const acl_rights *rights = &lists[i].rights;
        pt_lmdb_permissions like = {.file = {.st_uid = getuid(), .st_gid = getgid()}};
        like.file.st_mode = S_IFREG | acl_mode(rights);
        like.acl_size = acl_make(rights, SOME_USER, like.acl);
        for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
            fsetxattr_error = errors[e];
            assert_int_equal(shared_mode(&like), lists[i].mode);
            fremovexattr_error = ENOTSUP;
            assert_int_equal(shared_mode(&like), lists[i].mode);
            fremovexattr_error = EIO; /* then the group's bits may be the mask of a list */
            assert_int_equal(shared_mode(&like), lists[i].mode & ~(mode_t)0070);
            fremovexattr_error = 0;
        }
        /* A group in the list counts as much as a user. */
        like.acl[USER_TAG_AT] = 8;
        assert_int_equal(shared_mode(&like), lists[i].mode);
        fchmod_error = EROFS;
        int fd = open(intruder, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(pt_lmdb_copy_permissions(fd, &like), EROFS);
        close(fd);
        unlink(intruder);
        fchmod_error = 0;
        fsetxattr_error = 0;
    }
}

/* A group that is not the one of the list has only everybody's rights. */
static void a_list_goes_without_its_owning_group(void **state)
{
    (void)state;
    acl_rights rights = {.owner = 6, .user = 6, .group = 6, .mask = 6, .other = 4};
    pt_lmdb_permissions like = {.file = {.st_uid = SOME_USER, .st_gid = SOME_GROUP}};
    like.file.st_mode = S_IFREG | acl_mode(&rights);
    like.acl_size = acl_make(&rights, SOME_USER, like.acl);
    int fd = open(intruder, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool supported = acl_set(intruder, ACL_OF_FILE, &rights, SOME_USER);
    is_ordinary_user = true;
    fchown_error = EPERM;
    assert_int_equal(pt_lmdb_copy_permissions(fd, &like), 0);
    fchown_error = 0;
    is_ordinary_user = false;
    rights.group = 4;
    bool right = acl_is(intruder, &rights, SOME_USER);
    close(fd);
    unlink(intruder);
    if (!supported) {
        print_message("skipped: the file system has no access control lists\n");
        skip();
    }
    assert_true(right);
}

static void a_list_that_is_not_understood_widens_nothing(void **state)
{
    (void)state;
    enum { MASK_AT = 28, OTHER_AT = 36 };
    const acl_rights rights = {.owner = 6, .user = 6, .group = 6, .mask = 6, .other = 4};
    pt_lmdb_permissions like;
    put_file(place);
    assert_int_equal(chmod(place, 0664), 0);
    int fd = open(place, O_RDWR | O_CLOEXEC);
    static const size_t damaged[] = {3, 4 + 7, ACL_SIZE - 1};
    for (size_t i = 0; i <= sizeof damaged / sizeof damaged[0]; i++) {
        list_size = acl_make(&rights, SOME_USER, list);
        if (i < sizeof damaged / sizeof damaged[0]) {
            list_size = damaged[i];
        } else {
            list[0] = 3; /* a later version */
        }
        assert_int_equal(pt_lmdb_read_permissions(fd, NULL, &like), 0);
        assert_int_equal(shared_mode(&like), 0600);
    }
    /* Without a mask the permission bits say all. */
    acl_make(&rights, SOME_USER, list);
    memmove(list + 12, list + 20, 8);
    memmove(list + 20, list + OTHER_AT, 8);
    list_size = MASK_AT;
    assert_int_equal(pt_lmdb_read_permissions(fd, NULL, &like), 0);
    assert_int_equal(shared_mode(&like), 0664);
    list_size = 0;
    close(fd);
    unlink(place);
}

static void a_list_that_cannot_be_read_widens_nothing(void **state)
{
    (void)state;
    put_file(place);
    assert_int_equal(chmod(place, 0664), 0);
    int fd = open(place, O_RDWR | O_CLOEXEC);
    pt_lmdb_permissions like;
    static const struct {
        int error;
        mode_t mode;
    } cases[] = {{ENODATA, 0664}, {ENOTSUP, 0664}, {ENOSYS, 0664}, {EIO, 0600}, {ERANGE, 0600}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fgetxattr_error = cases[i].error;
        assert_int_equal(pt_lmdb_read_permissions(fd, NULL, &like), 0);
        fgetxattr_error = 0;
        assert_int_equal(shared_mode(&like), cases[i].mode);
    }
    close(fd);
    unlink(place);
    assert_int_equal(pt_lmdb_read_permissions(-1, place, &like), ENOENT);
    assert_int_equal(pt_lmdb_read_permissions(fd, NULL, &like), EBADF);
    assert_int_equal(pt_lmdb_keep_permissions(fd, &like), EBADF);
}

#define place_test(name) cmocka_unit_test_setup_teardown(name, make_place, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        place_test(failing_calls_leave_no_file),
        place_test(another_name_is_tried),
        place_test(a_file_taken_for_abandoned_is_made_again),
        place_test(only_temporary_files_are_removed),
        place_test(what_is_in_use_is_not_removed),
        place_test(no_fork_begins_while_a_file_is_opened),
        place_test(a_child_has_no_temporary_file),
        place_test(publishing_is_durable_or_undone),
        place_test(a_file_that_cannot_be_replaced_is_removed),
        place_test(a_file_is_for_no_more_than_its_model),
        place_test(a_list_that_cannot_be_given_widens_nothing),
        place_test(a_list_goes_without_its_owning_group),
        place_test(a_list_that_is_not_understood_widens_nothing),
        place_test(a_list_that_cannot_be_read_widens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
