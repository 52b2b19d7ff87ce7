/*
 * The engine when the system fails it, call by call, and when files change hands between two calls:
 * what is reported, what is left, and that the next try works.
 */
#include "faults/system_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "fixtures/store_fixture.h"
#include "lmdb/env.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/locks.h"

/* --- Faults --- */

typedef struct call_fault {
    const char *name; /* NULL: none */
    int error;
    int skipped;
    int times;
    bool at_roots; /* only where LMDB writes its root pages */
} call_fault;

static call_fault fault;
static void (*before_call)(const system_call *call);

/* LMDB writes its root pages, and only them, from the middle of a page on. */
static bool is_root_page(const system_call *call)
{
    return call->offset < 8192 && call->offset % 4096 != 0;
}

static system_call_verdict judge(const system_call *call)
{
    if (before_call != NULL) {
        before_call(call);
    }
    if (fault.times == 0 || strcmp(fault.name, call->name) != 0 ||
        (fault.at_roots && !is_root_page(call)) || fault.skipped-- > 0) {
        return (system_call_verdict){0};
    }
    fault.skipped = 0;
    fault.times--;
    return (system_call_verdict){.error = fault.error};
}

static void fail_call(const char *name, int error, int skipped, int times)
{
    fault = (call_fault){.name = name, .error = error, .skipped = skipped, .times = times};
    system_call_judge = judge;
}

/* LMDB then refuses everything, until the environment is opened again. */
static void fail_root_pages(void)
{
    fail_call("pwrite", EIO, 0, 2); /* and putting the old one back */
    fault.at_roots = true;
}

static void heal(void)
{
    fault = (call_fault){0};
    before_call = NULL;
    system_call_judge = judge;
}

/* --- What is no call on a file --- */

typedef enum other_call {
    NO_CALL,
    CALL_RANDOM,
    CALL_MUTEX,
    CALL_ATTRIBUTES,
    CALL_CLOCK_OF_CONDITION,
    CALL_CONDITION,
    CALL_FORK_HANDLER,
    CALL_DISK,
    CALL_SYMLINK,
} other_call;

static other_call failing; /* every one of these fails */
static int64_t skipped_ns; /* by sleeping: time passes at once */

#pragma GCC visibility push(default)

ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    return failing == CALL_RANDOM ? -1 : syscall(SYS_getrandom, bytes, size, flags);
}

static int library_call(other_call call, const char *name, void *first, const void *second)
{
    int (*real)(void *, const void *);
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&real, &found, sizeof real);
    return failing == call ? ENOMEM : real(first, second);
}

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    return library_call(CALL_MUTEX, "pthread_mutex_init", mutex, attributes);
}

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    return library_call(CALL_CONDITION, "pthread_cond_init", condition, attributes);
}

int pthread_condattr_init(pthread_condattr_t *attributes)
{
    int (*real)(pthread_condattr_t *);
    void *found = dlsym(RTLD_NEXT, "pthread_condattr_init");
    memcpy(&real, &found, sizeof real);
    return failing == CALL_ATTRIBUTES ? ENOMEM : real(attributes);
}

int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    int (*real)(pthread_condattr_t *, clockid_t);
    void *found = dlsym(RTLD_NEXT, "pthread_condattr_setclock");
    memcpy(&real, &found, sizeof real);
    return failing == CALL_CLOCK_OF_CONDITION ? EINVAL : real(attributes, clock);
}

int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *dso);

int pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
    return failing == CALL_FORK_HANDLER ? ENOMEM : __register_atfork(before, parent, child, NULL);
}

int fstatvfs(int fd, struct statvfs *disk)
{
    memset(disk, 0, sizeof *disk); /* as full as can be */
    disk->f_frsize = 4096;
    (void)fd;
    return failing == CALL_DISK ? -1 : 0;
}

int symlink(const char *target, const char *path)
{
    if (failing == CALL_SYMLINK) {
        errno = EROFS;
        return -1;
    }
    return (int)syscall(SYS_symlinkat, target, AT_FDCWD, path);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    int64_t time = now->tv_sec * INT64_C(1000000000) + now->tv_nsec + skipped_ns;
    *now = (struct timespec){.tv_sec = time / 1000000000, .tv_nsec = time % 1000000000};
    return result;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    skipped_ns += time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
    return 0;
}

#pragma GCC visibility pop

/* --- Opening: what is not a call on a file --- */

static int open_without_fork_handler(void)
{
    pt_store *store = NULL;
    pt_error error = PT_ERROR_NONE;
    failing = CALL_FORK_HANDLER;
    int rc = engine->open(fixture_path, PT_OPEN_CREATE, &store, &error);
    failing = NO_CALL;
    pt_error_clear(&error);
    return rc == SQLITE_NOMEM ? 0 : 1;
}

/* In a process that has not used the engine yet. */
static void without_notice_of_forks_nothing_is_opened(void **state)
{
    (void)state;
    await_child(start_child(open_without_fork_handler));
    assert_int_equal(fixture_file_count(), 0);
}

static void assert_store_works(pt_store *store)
{
    store_text(store, 1, "a", "one");
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
}

static void what_a_store_is_made_of_can_be_missing(void **state)
{
    (void)state;
    static const other_call calls[] = {CALL_RANDOM, CALL_MUTEX, CALL_ATTRIBUTES,
                                       CALL_CLOCK_OF_CONDITION};
    engine->close(open_store(fixture_path));
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        pt_store *store = NULL;
        pt_error none = PT_ERROR_NONE; /* it has no text */
        failing = calls[i];
        assert_int_equal(engine->open(fixture_path, 0, &store, &none), SQLITE_NOMEM);
        assert_int_equal(engine->open(NULL, PT_OPEN_PRIVATE, &store, &none), SQLITE_NOMEM);
        failing = NO_CALL;
        store = open_store(fixture_path);
        assert_store_works(store);
        engine->close(store);
    }
}

static void a_place_in_the_queue_can_be_missing(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_error none = PT_ERROR_NONE; /* it has no text */
    failing = CALL_CONDITION;
    assert_int_equal(engine->lock(store, 100, &none), SQLITE_NOMEM);
    failing = NO_CALL;
    engine->unlock(store);
    assert_store_works(store);
    engine->close(store);
}

/* --- Opening: the data file --- */

static void interrupted_open_is_tried_again(void **state)
{
    (void)state;
    engine->close(open_store(fixture_path));
    fail_call("open", EINTR, 0, 3);
    pt_store *store = open_store(fixture_path);
    assert_int_equal(fault.times, 0);
    assert_false(store->read_only);
    assert_store_works(store);
    engine->close(store);
}

static void file_that_cannot_be_written_is_read(void **state)
{
    (void)state;
    static const int errors[] = {EACCES, EPERM, EROFS};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        pt_store *store = open_store(fixture_path);
        assert_store_works(store);
        engine->close(store);
        fail_call("open", errors[i], 0, 1);
        store = open_store(fixture_path);
        assert_true(store->read_only);
        pt_snapshot *snapshot = begin_snapshot(store);
        assert_record(snapshot, 1, "a", "one");
        engine->snapshot_free(snapshot);
        engine->close(store);
    }
    pt_store *store = NULL;
    fail_call("open", EMFILE, 0, 1);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "ulimit -n");
}

static void put_folder_in_place(const system_call *call)
{
    if (call->kind == CALL_OPEN && strcmp(call->path, fixture_path) == 0) {
        before_call = NULL;
        assert_int_equal(unlink(fixture_path), 0);
        assert_int_equal(mkdir(fixture_path, 0700), 0);
    }
}

/* After it was seen to be a file. */
static void file_that_becomes_a_folder_is_no_store(void **state)
{
    (void)state;
    pt_store *store = NULL;
    engine->close(open_store(fixture_path));
    before_call = put_folder_in_place;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "it is a folder");
    assert_null(before_call);
    assert_int_equal(rmdir(fixture_path), 0);
}

/* As if the file were made again as soon as it was not found. */
static void file_that_comes_back_was_missing(void **state)
{
    (void)state;
    pt_store *store = NULL;
    engine->close(open_store(fixture_path));
    fail_call("open", ENOENT, 0, 1);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "does not exist");
    assert_int_equal(fault.times, 0);
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

static call_fault lock_file_fault;

/* The calls after its opening look at it. */
static void spoil_lock_file(const system_call *call)
{
    if (call->kind == CALL_OPEN && strstr(call->path, "-lock") != NULL &&
        (call->flags & O_EXCL) == 0) {
        before_call = NULL;
        fault = lock_file_fault;
    }
}

/* Its content is not something else then. */
static void lock_file_that_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    pt_store *store = NULL;
    engine->close(open_store(fixture_path));
    lock_file_fault = (call_fault){.name = "pread", .error = EIO, .times = 1};
    before_call = spoil_lock_file;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_IOERR,
                 "while reading this lock file");
    assert_null(before_call);
    heal();
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

/* As an opener leaves it that ends before it has written anything. */
static void put_zeros_for_lock_file(off_t size)
{
    char name[128];
    snprintf(name, sizeof name, "%s-lock", fixture_path);
    assert_int_equal(truncate(name, 0), 0);
    assert_int_equal(truncate(name, size), 0);
}

static void unfinished_lock_file_is_read_to_its_end(void **state)
{
    (void)state;
    enum { PART = 4096 }; /* it is read in parts of that size */
    pt_store *store = NULL;
    engine->close(open_store(fixture_path));
    put_zeros_for_lock_file(3 * PART);
    lock_file_fault = (call_fault){.name = "pread", .error = EIO, .skipped = 1, .times = 1};
    before_call = spoil_lock_file;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_IOERR,
                 "while reading this lock file");
    assert_int_equal(fault.times, 0);
    heal();
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

/* Interrupted reads are tried again. If its size cannot be seen, its content tells as much. */
static void unfinished_lock_file_is_used_despite_a_fault(void **state)
{
    (void)state;
    static const call_fault faults[] = {{.name = "pread", .error = EINTR, .times = 3},
                                        {.name = "fstat", .error = EIO, .times = 1}};
    engine->close(open_store(fixture_path));
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        put_zeros_for_lock_file(PT_LMDB_LOCK_FILE_SIZE);
        lock_file_fault = faults[i];
        before_call = spoil_lock_file;
        pt_store *store = open_store(fixture_path);
        assert_int_equal(fault.times, 0);
        assert_store_works(store);
        engine->close(store);
    }
}

enum { REPLACEMENTS = 8 };

static int replacements;

static void replacement_path(char path[128], int number)
{
    snprintf(path, 128, "%s/other%d", fixture_folder, number);
}

static bool is_file_of_name(int fd)
{
    struct stat opened;
    struct stat named;
    return fstat(fd, &opened) == 0 && stat(fixture_path, &named) == 0 &&
           opened.st_ino == named.st_ino;
}

/* Whenever the file is about to be locked for the first time, it has just been replaced. */
static void put_next_in_place(const system_call *call)
{
    char path[128];
    if (call->kind == CALL_LOCK && replacements < REPLACEMENTS && is_file_of_name(call->fd)) {
        replacement_path(path, replacements++);
        syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, fixture_path, 0);
    }
}

static void file_replaced_again_and_again_is_given_up(void **state)
{
    (void)state;
    char path[128];
    pt_store *store = NULL;
    for (int i = 0; i < REPLACEMENTS; i++) {
        replacement_path(path, i);
        engine->close(open_store(path));
    }
    engine->close(open_store(fixture_path));
    replacements = 0;
    before_call = put_next_in_place;
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_CANTOPEN, "replaced");
    assert_in_range(replacements, 3, REPLACEMENTS - 1);
    heal();
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

/* Of several stores the one of the file is found, on whichever device it is. */
static void stores_of_several_devices_are_told_apart(void **state)
{
    (void)state;
    char path[FOLDER_SIZE + 2]; /* and the name of a file */
    if (!make_folder_elsewhere(fixture_folder, path)) {
        skip();
    }
    strcat(path, "/b");
    pt_store *private = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &private, &error));
    pt_store *store = open_store(fixture_path);
    pt_store *other = open_store(path);
    pt_store *same = open_store(fixture_path);
    assert_ptr_equal(store, same);
    assert_ptr_not_equal(store, other);
    assert_store_works(store);
    pt_snapshot *snapshot = begin_snapshot(other);
    assert_record(snapshot, 1, "a", NULL);
    engine->snapshot_free(snapshot);
    engine->close(same);
    engine->close(store);
    engine->close(other);
    engine->close(private);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
    *strrchr(path, '/') = 0;
    assert_int_equal(rmdir(path), 0);
}

/* --- Places --- */

static void store_is_made_without_the_file_it_is_to_be_like(void **state)
{
    (void)state;
    assert_ok(engine->create(fixture_path, "/nowhere/at/all", &error));
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

static void private_store_needs_a_place(void **state)
{
    (void)state;
    pt_store *store = NULL;
    setenv("SQLITE_TMPDIR", "", 1);
    setenv("TMPDIR", "", 1);
    fail_call("mkdtemp", EACCES, 0, 100);
    assert_fails(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error), SQLITE_CANTOPEN,
                 "set SQLITE_TMPDIR");
    assert_int_equal(fault.times, 98);
    heal();
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    engine->close(store);
    unsetenv("SQLITE_TMPDIR");
    unsetenv("TMPDIR");
}

/* In the folder of the fixture, which a store's folder is in. */
static void store_whose_folder_becomes_a_file_has_moved(void **state)
{
    (void)state;
    char folder[128];
    char path[160];
    char moved[128];
    snprintf(folder, sizeof folder, "%s/folder", fixture_folder);
    snprintf(path, sizeof path, "%s/a.ptable", folder);
    snprintf(moved, sizeof moved, "%s/moved", fixture_folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    pt_store *store = open_store(path);
    assert_int_equal(rename(folder, moved), 0);
    close(open(folder, O_CREAT | O_WRONLY, 0600));
    assert_fails(engine->lock(store, 0, &error), SQLITE_READONLY_DBMOVED, "moved");
    assert_int_equal(unlink(folder), 0);
    assert_int_equal(rename(moved, folder), 0);
    assert_store_works(store);
    fail_call("stat", EIO, 0, 1);
    assert_fails(engine->lock(store, 0, &error), SQLITE_IOERR, "looking at its name");
    assert_store_works(store);
    engine->close(store);
    unlink(path);
    strcat(path, "-lock");
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

static void name_that_leads_to_another_device_is_another_file(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    assert_int_equal(unlink(fixture_path), 0);
    assert_int_equal(symlink("/dev/null", fixture_path), 0);
    assert_fails(engine->lock(store, 0, &error), SQLITE_READONLY_DBMOVED, "replaced");
    engine->close(store);
}

/* --- Locks --- */

static void refused_lock_is_busy_by_either_name(void **state)
{
    (void)state;
    int fd = open(fixture_path, O_RDWR | O_CREAT, 0600);
    fail_call("fcntl", EACCES, 0, 1);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_WRITER, true, 0), SQLITE_BUSY);
    fail_call("fcntl", EACCES, 0, 1);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_WRITER, true, pt_deadline_in(5)), SQLITE_OK);
    fail_call("fcntl", ENOLCK, 0, 1);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_WRITER, true, 0), SQLITE_IOERR_LOCK);
    close(fd);
    bool held = true;
    assert_int_equal(pt_lock_look(fd, PT_LOCK_WRITER, &held), EBADF);
    assert_false(held);
}

/* A gate that somebody keeps is given up after its time. */
static void gate_is_not_waited_for_endlessly(void **state)
{
    (void)state;
    pt_store *store = NULL;
    engine->close(open_store(fixture_path));
    int fd = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(fd, PT_LOCK_GATE, true, 0), SQLITE_OK);
    pt_deadline nearly = pt_deadline_in(9999);
    pt_deadline late = pt_deadline_in(30000);
    assert_fails(engine->open(fixture_path, 0, &store, &error), SQLITE_BUSY,
                 "is being opened or replaced by another process");
    assert_true(pt_deadline_has_passed(nearly) && !pt_deadline_has_passed(late));
    close(fd);
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

/* --- Committing --- */

static int commit_text(pt_store *store, const char *record, pt_error *error)
{
    pt_commit commit = {.sync = PT_SYNC_FULL};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", record);
    int rc = engine->write_commit(writer, &commit, error);
    engine->unlock(store);
    return rc;
}

/* LMDB says EIO of a write that came out short, whatever the reason. */
static void reason_of_a_short_write_is_found(void **state)
{
    (void)state;
    struct rlimit limit;
    struct rlimit wide;
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    fail_call("pwrite", EIO, 0, 1);
    assert_fails(commit_text(store, "two", &error), SQLITE_FULL, "make room on the disk");
    failing = CALL_DISK;
    fail_call("pwrite", EIO, 0, 1);
    assert_fails(commit_text(store, "two", &error), SQLITE_IOERR, "check the disk");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    wide = limit;
    wide.rlim_cur = (rlim_t)1 << 40;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &wide), 0);
    fail_call("pwrite", EIO, 0, 1);
    assert_fails(commit_text(store, "two", &error), SQLITE_IOERR, "check the disk");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    failing = NO_CALL;
    assert_ok(commit_text(store, "two", &error));
    engine->close(store);
}

/* LMDB does not write a last page that it has taken and given back. */
static void file_that_cannot_be_extended_is_so_later(void **state)
{
    (void)state;
    static const char *const names[] = {"fstat", "ftruncate"};
    static char large[200000];
    memset(large, 'x', sizeof large - 1);
    pt_store *store = open_store(fixture_path);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pt_store_info info = {0};
        lock_store(store);
        pt_writer *writer = begin_write(store);
        large[(i + 1) * 60000] = 0;
        put_text(writer, 1, "b", large);
        large[(i + 1) * 60000] = 'x';
        delete_text(writer, 1, "b");
        put_text(writer, 1, "a", "two");
        fail_call(names[i], EIO, 0, 1);
        commit_write(writer);
        assert_int_equal(fault.times, 0);
        engine->unlock(store);
        assert_store_works(store);
        assert_ok(engine->info(store, &info, &error));
        assert_true(info.file_bytes >= info.used_bytes);
    }
    engine->close(store);
    store = open_store(fixture_path); /* it is whole */
    assert_store_works(store);
    engine->close(store);
}

static void private_store_is_opened_again_through_a_link(void **state)
{
    (void)state;
    pt_store *store = NULL;
    assert_ok(engine->open(NULL, PT_OPEN_PRIVATE, &store, &error));
    assert_store_works(store);
    pt_snapshot *snapshot = new_snapshot(store);
    fail_root_pages();
    failing = CALL_DISK;
    assert_fails(commit_text(store, "two", &error), SQLITE_IOERR, NULL);
    heal();
    failing = CALL_SYMLINK;
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_READONLY, "opening it again");
    failing = NO_CALL;
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_free(snapshot);
    assert_store_works(store);
    engine->close(store);
}

/* The root page's write fails, and then the gate cannot be passed to open the store again. */
static void store_is_opened_again_when_its_gate_can_be_passed(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    pt_snapshot *snapshot = new_snapshot(store);
    fail_root_pages();
    failing = CALL_DISK;
    assert_fails(commit_text(store, "two", &error), SQLITE_IOERR, NULL);
    heal();
    failing = NO_CALL;
    fail_call("fcntl", ENOLCK, 0, 1);
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_IOERR, "whose locks work");
    assert_int_equal(fault.times, 0);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    engine->snapshot_free(snapshot);
    assert_store_works(store);
    engine->close(store);
}

static void size_that_cannot_be_seen_is_estimated(void **state)
{
    (void)state;
    pt_store_info info = {0};
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    fail_call("fstat", EIO, 0, 1);
    assert_ok(engine->info(store, &info, &error));
    assert_int_equal(fault.times, 0);
    assert_in_range(info.file_bytes, info.used_bytes, info.used_bytes + (1 << 20));
    engine->close(store);
}

/* --- Making a store smaller --- */

static bool is_never_over(void *context)
{
    (void)context;
    return false;
}

static int compact(pt_store *store, pt_error *error)
{
    const pt_watch watch = {.is_over = is_never_over};
    int64_t bytes = 0;
    return engine->compact(store, 0, &watch, &bytes, error);
}

/* --- Reading beside that --- */

static struct {
    pt_snapshot *snapshot;
    pthread_t thread;
    atomic_int number; /* of the thread, as the kernel has it; 0: not begun */
    atomic_bool done;
    bool waited;
    int rc;
    bool found;
} reader;

static void *read_beside(void *unused)
{
    pt_error failure = PT_ERROR_NONE;
    pt_slice record;
    test_key key = key_of(1, "a");
    atomic_store(&reader.number, (int)syscall(SYS_gettid));
    reader.rc = engine->snapshot_begin(reader.snapshot, &failure);
    if (reader.rc == SQLITE_OK) {
        reader.rc = engine->get(reader.snapshot, key_slice(&key), &reader.found, &record, &failure);
    }
    pt_error_clear(&failure);
    atomic_store(&reader.done, true);
    return unused;
}

/* True if that thread waits for a mutex. */
static bool is_waiting(int number)
{
    char name[64];
    long call = -1;
    snprintf(name, sizeof name, "/proc/self/task/%d/syscall", number);
    FILE *file = fopen(name, "r");
    bool known = file != NULL && fscanf(file, "%ld", &call) == 1;
    if (file != NULL) {
        fclose(file);
    }
    return known && call == SYS_futex;
}

/* While the environment is closed, a reader comes, and waits. */
static void let_reader_come(const system_call *call)
{
    if (strcmp(call->name, "rename") != 0) {
        return;
    }
    before_call = NULL;
    assert_int_equal(pthread_create(&reader.thread, NULL, read_beside, NULL), 0);
    while (!reader.waited && !atomic_load(&reader.done)) {
        sched_yield();
        int number = atomic_load(&reader.number);
        reader.waited = number != 0 && is_waiting(number);
    }
}

static void who_reads_waits_for_the_exchange(void **state)
{
    (void)state;
    if (access("/proc/self/syscall", R_OK) != 0) {
        print_message("# this kernel does not say what a thread waits for\n");
        skip();
    }
    memset(&reader, 0, sizeof reader);
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    reader.snapshot = new_snapshot(store);
    before_call = let_reader_come;
    assert_ok(compact(store, &error));
    assert_null(before_call);
    pthread_join(reader.thread, NULL);
    assert_true(reader.waited);
    assert_int_equal(reader.rc, SQLITE_OK);
    assert_true(reader.found);
    engine->snapshot_free(reader.snapshot);
    assert_store_works(store);
    engine->close(store);
}

static int gate_keeper;

static void keep_gate(void)
{
    gate_keeper = open(fixture_path, O_RDWR);
    assert_int_equal(pt_lock_take(gate_keeper, PT_LOCK_GATE, true, 0), SQLITE_OK);
}

static void keep_gate_when_copied(const system_call *call)
{
    if (call->kind == CALL_SYNC) {
        before_call = NULL;
        keep_gate();
    }
}

/* As by a process that stands still while it opens the store: before the copy is made, or after. */
static void exchange_does_not_wait_for_the_gate_endlessly(void **state)
{
    (void)state;
    pt_store *store = open_store(fixture_path);
    for (int copied = 0; copied < 2; copied++) {
        assert_store_works(store);
        if (copied) {
            before_call = keep_gate_when_copied;
        } else {
            keep_gate();
        }
        pt_deadline nearly = pt_deadline_in(9999);
        pt_deadline late = pt_deadline_in(30000);
        assert_fails(compact(store, &error), SQLITE_BUSY,
                     copied ? "is being opened or replaced by another process" : NULL);
        assert_null(before_call);
        assert_true(pt_deadline_has_passed(nearly) && !pt_deadline_has_passed(late));
        close(gate_keeper);
        assert_int_equal(fixture_file_count(), 2);
        assert_ok(compact(store, &error));
    }
    assert_store_works(store);
    engine->close(store);
}

/* Whichever call on locks, names and files it is: the store is the old one, or the new one. */
static void failing_exchange_keeps_the_store(void **state)
{
    (void)state;
    static const char *const names[] = {"fcntl", "stat", "fstat", "rename"};
    pt_store *store = open_store(fixture_path);
    assert_store_works(store);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        int failed = 0;
        bool hit = true;
        for (int number = 0; hit; number++) {
            pt_error error = PT_ERROR_NONE;
            fail_call(names[i], EIO, number, 1);
            int rc = compact(store, &error);
            hit = fault.times == 0;
            heal();
            failed += rc != SQLITE_OK;
            assert_true(rc == SQLITE_OK || (hit && error.message != NULL));
            pt_error_clear(&error);
            assert_store_works(store);
            assert_int_equal(fixture_file_count(), 2);
        }
        assert_true(failed > 0);
    }
    engine->close(store);
    store = open_store(fixture_path);
    assert_store_works(store);
    engine->close(store);
}

static int setup(void **state)
{
    heal();
    failing = NO_CALL;
    return fixture_setup(state);
}

static int teardown(void **state)
{
    heal();
    failing = NO_CALL;
    return fixture_teardown(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_notice_of_forks_nothing_is_opened),
        TEST(what_a_store_is_made_of_can_be_missing),
        TEST(a_place_in_the_queue_can_be_missing),
        TEST(interrupted_open_is_tried_again),
        TEST(file_that_cannot_be_written_is_read),
        TEST(file_that_becomes_a_folder_is_no_store),
        TEST(file_that_comes_back_was_missing),
        TEST(lock_file_that_cannot_be_read_is_an_error),
        TEST(unfinished_lock_file_is_read_to_its_end),
        TEST(unfinished_lock_file_is_used_despite_a_fault),
        TEST(file_replaced_again_and_again_is_given_up),
        TEST(stores_of_several_devices_are_told_apart),
        TEST(store_is_made_without_the_file_it_is_to_be_like),
        TEST(private_store_needs_a_place),
        TEST(store_whose_folder_becomes_a_file_has_moved),
        TEST(name_that_leads_to_another_device_is_another_file),
        TEST(refused_lock_is_busy_by_either_name),
        TEST(gate_is_not_waited_for_endlessly),
        TEST(reason_of_a_short_write_is_found),
        TEST(file_that_cannot_be_extended_is_so_later),
        TEST(private_store_is_opened_again_through_a_link),
        TEST(store_is_opened_again_when_its_gate_can_be_passed),
        TEST(size_that_cannot_be_seen_is_estimated),
        TEST(who_reads_waits_for_the_exchange),
        TEST(exchange_does_not_wait_for_the_gate_endlessly),
        TEST(failing_exchange_keeps_the_store),
    };
    /* Files are counted: with a log there are two more. */
    setenv("PTABLE_LOG", "never", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
