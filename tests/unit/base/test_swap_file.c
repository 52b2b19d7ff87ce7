/*
 * Memory in a file without a name. Where the file system of /tmp cannot have such memory, most of
 * this is skipped.
 */
#include "fixtures/cmocka.h"

#include "base/arena.h"
#include "base/swap_file.h"
#include "faults/failing_malloc.h"
#include "faults/system_calls.h"
#include "fixtures/child.h"
#include "fixtures/folder.h"
#include "fixtures/open_files.h"
#include "fixtures/process_status.h"

enum { MIB = 1 << 20, PIECE = 1 * MIB, CHUNK = 16 * MIB };

/* --- Calls that fail --- */

static const char *failing_call; /* NULL: none */
static int failing_error;
static int failing_times;
static int calls; /* all */
static uint64_t free_bytes = UINT64_MAX;
static bool limit_is_unknown;
static bool disk_is_unknown;
static bool forks_cannot_be_handled;

static system_call_verdict fail_named(const system_call *call)
{
    calls++;
    if (failing_call == NULL || strcmp(call->name, failing_call) != 0 || failing_times == 0) {
        return (system_call_verdict){0};
    }
    failing_times--;
    return (system_call_verdict){.error = failing_error};
}

static void fail_call(const char *name, int error, int times)
{
    failing_call = name;
    failing_error = error;
    failing_times = times;
}

#pragma GCC visibility push(default)

int fstatvfs(int fd, struct statvfs *disk)
{
    (void)fd;
    *disk = (struct statvfs){.f_frsize = 1, .f_bavail = free_bytes};
    return disk_is_unknown ? -1 : 0;
}

int __register_atfork(void (*before)(void), void (*parent)(void), void (*in_child)(void),
                      void *dso);

int pthread_atfork(void (*before)(void), void (*parent)(void), void (*in_child)(void))
{
    return forks_cannot_be_handled ? ENOMEM : __register_atfork(before, parent, in_child, NULL);
}

UNWATCHED int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    return limit_is_unknown ? -1 : (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);
}

#pragma GCC visibility pop

/* --- The file --- */

static char folder_path[PATH_SIZE];
static pt_swap_file swap;
static int descriptors;

static int setup(void **state)
{
    if (make_folder(state) != 0) {
        return -1;
    }
    path_in(*state, "store", folder_path);
    swap = (pt_swap_file){.beside = folder_path};
    fail_call(NULL, 0, 0);
    free_bytes = UINT64_MAX / 2;
    system_call_judge = fail_named;
    descriptors = descriptor_count();
    return 0;
}

static int teardown(void **state)
{
    pt_swap_close(&swap);
    bool same = descriptor_count() == descriptors;
    system_call_judge = NULL;
    return remove_folder(state) == 0 && same ? 0 : -1;
}

/* Takes a piece and fills it; skips the test if the file system cannot have such memory. */
static uint8_t *take(size_t size)
{
    uint8_t *memory = pt_swap_take(&swap, size);
    if (memory == NULL) {
        struct statfs place;
        assert_int_equal(statfs("/tmp", &place), 0);
        if (swap.count == 0 && place.f_type != 0xEF53 && place.f_type != 0x58465342) {
            print_message("# /tmp is neither ext4 nor XFS\n");
            skip();
        }
        fail();
        return NULL;
    }
    for (size_t i = 0; i < size; i++) {
        memory[i] = (uint8_t)(i * 7 + swap.count);
    }
    return memory;
}

static bool is_filled(const uint8_t *memory, size_t size, size_t number)
{
    for (size_t i = 0; i < size; i++) {
        if (memory[i] != (uint8_t)(i * 7 + number)) {
            return false;
        }
    }
    return true;
}

static void the_content_stays(void **state)
{
    const char *folder = *state;
    enum { PIECES = 5 };
    uint8_t *pieces[PIECES];
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = take(PIECE + i * 1000);
        assert_int_equal((uintptr_t)pieces[i] % 4096, 0);
    }
    assert_int_equal(files_like(folder, "*"), 0);
    assert_int_equal(fcntl(swap.fd, F_GETFD), FD_CLOEXEC);
    pt_swap_put_aside(&swap);
    for (size_t i = 0; i < PIECES; i++) {
        assert_true(is_filled(pieces[i], PIECE + i * 1000, i + 1));
    }
    pt_swap_put_aside(&swap);
    pieces[1][17] = 99;
    pt_swap_put_aside(&swap);
    assert_int_equal(pieces[1][17], 99);
    assert_int_equal(pt_swap_check(&swap), 0);
}

/* The disk gets room back at once, and what is taken next lies there. */
static void pieces_are_given_back_from_the_newest(void **state)
{
    (void)state;
    struct stat file = {0};
    uint8_t *first = take(PIECE);
    take(PIECE);
    take(3 * PIECE);
    pt_swap_give_back(&swap);
    pt_swap_give_back(&swap);
    assert_int_equal(fstat(swap.fd, &file), 0);
    assert_int_equal(file.st_size, PIECE);
    assert_true(file.st_blocks * 512 < 2 * PIECE);
    assert_true(is_filled(first, PIECE, 1));
    assert_true(is_filled(take(2 * PIECE), 2 * PIECE, 2));
    assert_int_equal(fstat(swap.fd, &file), 0);
    assert_int_equal(file.st_size, 3 * PIECE);
    assert_true(file.st_blocks * 512 >= 3 * PIECE);
    pt_swap_close(&swap);
    assert_null(swap.pieces);
    assert_ptr_equal(swap.beside, folder_path);
    take(PIECE);
}

/* KiB of mapped files that are in memory. */
static int64_t file_kib(void)
{
    return process_status_kib("RssFile");
}

static void what_is_put_aside_is_not_in_memory(void **state)
{
    (void)state;
    enum { SLACK_KIB = 2000 };
    int64_t before = file_kib();
    uint8_t *first = take(8 * PIECE);
    assert_true(file_kib() - before > 7 * 1024);
    uint8_t *second = take(PIECE);
    assert_true(file_kib() - before < 1024 + SLACK_KIB);
    pt_swap_put_aside(&swap);
    assert_true(file_kib() - before < SLACK_KIB);
    assert_true(is_filled(first, 8 * PIECE, 1));
    assert_true(is_filled(second, PIECE, 2));
    assert_true(file_kib() - before > 8 * 1024);
}

/* --- No memory to be had --- */

static void without_a_place_there_is_none(void **state)
{
    const char *folder = *state;
    pt_swap_file nowhere = {0};
    assert_null(pt_swap_take(&nowhere, PIECE));
    pt_swap_close(&nowhere);
    assert_null(pt_swap_take(&swap, SIZE_MAX));
    assert_null(pt_swap_take(&swap, SIZE_MAX / 2));
    assert_int_equal(pt_swap_check(&swap), 0);
    pt_swap_put_aside(&swap);
    char missing[PATH_SIZE];
    path_in(folder, "no folder/store", missing);
    swap.beside = missing;
    assert_null(pt_swap_take(&swap, PIECE));
    /* It is not tried again until the next use. */
    int before = calls;
    assert_null(pt_swap_take(&swap, PIECE));
    assert_int_equal(calls, before);
    swap.beside = folder_path;
    pt_swap_close(&swap);
    take(PIECE);
}

static void other_file_systems_get_none(void **state)
{
    (void)state;
    enum { TMPFS = 0x01021994 };
    struct statfs place;
    if (statfs("/dev/shm", &place) != 0 || place.f_type != TMPFS) {
        skip();
    }
    swap.beside = "/dev/shm/store";
    assert_null(pt_swap_take(&swap, PIECE));
    swap.beside = "/dev/null";
    pt_swap_close(&swap);
    assert_null(pt_swap_take(&swap, PIECE));
}

static void any_call_may_fail(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int error;
        bool is_final; /* it would fail again */
    } faults[] = {{"open", EMFILE, true},       {"open", EOPNOTSUPP, true},
                  {"fstatfs", EIO, true},       {"fallocate", ENOSPC, false},
                  {"fallocate", EDQUOT, false}, {"fallocate", EOPNOTSUPP, true},
                  {"fallocate", ENOSYS, true},  {"mmap", ENOMEM, false}};
    take(PIECE);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        pt_swap_close(&swap);
        for (int pieces = 0; pieces < 3; pieces += 2) {
            for (int n = 0; n < pieces; n++) {
                take(PIECE);
            }
            fail_call(faults[i].name, faults[i].error, 1);
            void *memory = pt_swap_take(&swap, PIECE);
            if (failing_times != 0) { /* the file is open */
                assert_non_null(memory);
                continue;
            }
            assert_null(memory);
            assert_int_equal(swap.size, pieces * PIECE);
            memory = pt_swap_take(&swap, PIECE);
            assert_int_equal(memory == NULL, faults[i].is_final);
            pt_swap_close(&swap);
        }
    }
    fail_call("fallocate", EINTR, 3);
    take(PIECE);
    assert_int_equal(failing_times, 0);
    fail_call("ftruncate", EIO, 1);
    pt_swap_give_back(&swap);
    take(PIECE);
    disk_is_unknown = true;
    assert_null(pt_swap_take(&swap, PIECE));
    disk_is_unknown = false;
    limit_is_unknown = true;
    assert_null(pt_swap_take(&swap, PIECE));
    limit_is_unknown = false;
    take(PIECE);
}

/* For what is done with the content there must be three times as much room. */
static void the_disk_must_have_room_to_spare(void **state)
{
    (void)state;
    take(PIECE);
    free_bytes = 7 * PIECE - 1;
    assert_null(pt_swap_take(&swap, PIECE));
    free_bytes = 7 * PIECE;
    take(PIECE);
    assert_null(pt_swap_take(&swap, PIECE));
    free_bytes = 10 * PIECE;
    take(PIECE);
}

/* The kernel would send SIGXFSZ, which ends the process. */
static void files_may_be_limited(void **state)
{
    (void)state;
    take(PIECE);
    limit_files(3 * PIECE);
    assert_null(pt_swap_take(&swap, 3 * PIECE));
    take(2 * PIECE);
    assert_null(pt_swap_take(&swap, PIECE));
    limit_files(RLIM_INFINITY);
    take(PIECE);
}

static void out_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    take(PIECE);
    pt_swap_close(&swap);
    for (int n = 0;; n++) {
        failing_malloc_arm(n, false);
        void *memory = pt_swap_take(&swap, PIECE);
        bool hit = failing_malloc_disarm();
        assert_int_equal(memory == NULL, hit);
        pt_swap_close(&swap);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_int_equal(n, 2);
            break;
        }
    }
}

/* What the process prints must not get into the file. */
static void standard_descriptors_are_avoided(void **state)
{
    (void)state;
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);
    assert_true(kept > 0);
    assert_int_equal(close(STDIN_FILENO), 0);
    void *memory = pt_swap_take(&swap, PIECE);
    bool is_closed = fcntl(STDIN_FILENO, F_GETFD) < 0;
    int fd = swap.fd;
    pt_swap_close(&swap);
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(close(kept), 0);
    assert_true(is_closed);
    assert_true(memory == NULL || fd > STDERR_FILENO);
}

/* --- Lost pages --- */

static void a_failed_write_is_noticed(void **state)
{
    (void)state;
    take(PIECE);
    assert_int_equal(pt_swap_check(&swap), 0);
    fail_call("sync_file_range", EIO, 1);
    assert_int_equal(pt_swap_check(&swap), EIO);
    /* The kernel tells it once. */
    assert_int_equal(pt_swap_check(&swap), EIO);
    pt_swap_close(&swap);
    take(PIECE);
    /* Where that call is not permitted, another one tells it. */
    fail_call("sync_file_range", EPERM, 1);
    assert_int_equal(pt_swap_check(&swap), 0);
    fail_call("sync_file_range", ENOSYS, 1);
    assert_int_equal(pt_swap_check(&swap), 0);
    assert_int_equal(pt_swap_check(&swap), 0);
}

/* --- fork() --- */

enum { DONE = 7 };

static int end_of(pid_t pid)
{
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

/* Asked for once in a process, so by the first piece: this test comes first. */
static void without_a_handler_of_forks_there_is_none(void **state)
{
    (void)state;
    pid_t pid = fork_process();
    if (pid == 0) {
        forks_cannot_be_handled = true;
        bool none = pt_swap_take(&swap, PIECE) == NULL;
        forks_cannot_be_handled = false;
        _exit(none && pt_swap_take(&swap, PIECE) == NULL && !swap.is_open ? DONE : 1);
    }
    int status = end_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), DONE);
}

static void a_child_has_a_copy(void **state)
{
    (void)state;
    uint8_t *first = take(PIECE);
    uint8_t *second = take(PIECE);
    /* Others that come and go. */
    pt_swap_file newer[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        newer[i].beside = folder_path;
        assert_non_null(pt_swap_take(&newer[i], PIECE));
    }
    pt_swap_close(&newer[1]);
    pt_swap_close(&newer[0]);
    pt_swap_close(&newer[2]);
    pid_t pid = fork_process();
    if (pid == 0) {
        bool fine = is_filled(first, PIECE, 1) && is_filled(second, PIECE, 2);
        fine = fine && fcntl(swap.fd, F_GETFD) < 0 && pt_swap_take(&swap, PIECE) == NULL;
        memset(first, 1, PIECE);
        memset(second, 2, PIECE);
        pt_swap_put_aside(&swap);
        fine = fine && first[99] == 1 && second[99] == 2 && pt_swap_check(&swap) == 0;
        pt_swap_give_back(&swap);
        fine = fine && first[PIECE - 1] == 1;
        pt_swap_close(&swap);
        _exit(fine ? DONE : 1);
    }
    int status = end_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), DONE);
    assert_true(is_filled(first, PIECE, 1));
    pt_swap_put_aside(&swap);
    assert_true(is_filled(second, PIECE, 2));
    take(PIECE);
}

static const uint8_t *may_not_be_written;

static void ends_well(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    _exit(info->si_addr == may_not_be_written ? DONE : 1);
}

/* Then it may not write to it. */
static void a_child_without_a_copy_does_no_harm(void **state)
{
    (void)state;
    uint8_t *memory = take(PIECE);
    fail_call("mmap", ENOMEM, 1);
    pid_t pid = fork_process();
    if (pid == 0) {
        may_not_be_written = is_filled(memory, PIECE, 1) ? &memory[5] : NULL;
        sigaction(SIGSEGV, &(struct sigaction){.sa_sigaction = ends_well, .sa_flags = SA_SIGINFO},
                  NULL);
        memory[5] = 2;
        _exit(1);
    }
    int status = end_of(pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), DONE);
    assert_true(is_filled(memory, PIECE, 1));
}

/* --- In an arena --- */

static void an_arena_takes_its_largest_chunks(void **state)
{
    (void)state;
    enum { ROOM = 1000, PIECES = 60 * MIB / ROOM };
    static uint8_t *pieces[PIECES];
    take(PIECE);
    pt_swap_close(&swap);
    pt_arena arena = {.swap = &swap};
    for (size_t i = 0; i < PIECES; i++) {
        pieces[i] = pt_arena_alloc(&arena, ROOM);
        assert_non_null(pieces[i]);
        memset(pieces[i], (int)(i % 251), ROOM);
    }
    assert_int_equal(swap.count, 3);
    assert_int_equal(swap.size, 3 * CHUNK);
    free_bytes = 0; /* the heap takes over */
    void *large = pt_arena_alloc(&arena, 20 * MIB);
    memset(large, 1, 20 * MIB);
    assert_int_equal(swap.count, 3);
    for (size_t i = 0; i < PIECES; i++) {
        assert_true(pieces[i][0] == i % 251 && pieces[i][ROOM - 1] == i % 251);
    }
    pt_arena_give_back(&arena, pieces[PIECES / 2]);
    assert_int_equal(swap.count, 1);
    assert_ptr_equal(pt_arena_alloc(&arena, ROOM), pieces[PIECES / 2]);
    free_bytes = UINT64_MAX / 2;
    assert_non_null(pt_arena_alloc(&arena, 20 * MIB));
    assert_int_equal(swap.count, 2);
    pt_arena_clear(&arena);
    assert_int_equal(swap.count, 0);
    assert_int_equal(arena.total, 0);
    /* Without memory for what the arena knows of it, a piece is not kept. */
    failing_malloc_arm(0, false);
    assert_null(pt_arena_alloc(&arena, CHUNK));
    assert_true(failing_malloc_disarm());
    assert_int_equal(swap.count, 0);
    assert_non_null(pt_arena_alloc(&arena, CHUNK));
    assert_int_equal(swap.count, 1);
    pt_arena_free(&arena);
}

int main(void)
{
    setenv("TMPDIR", "/tmp", 1); /* only a disk's file system has such a file */
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(without_a_handler_of_forks_there_is_none),
        TEST(the_content_stays),
        TEST(pieces_are_given_back_from_the_newest),
        TEST(what_is_put_aside_is_not_in_memory),
        TEST(without_a_place_there_is_none),
        TEST(other_file_systems_get_none),
        TEST(any_call_may_fail),
        TEST(the_disk_must_have_room_to_spare),
        TEST(files_may_be_limited),
        TEST(out_of_memory_leaves_nothing_behind),
        TEST(standard_descriptors_are_avoided),
        TEST(a_failed_write_is_noticed),
        TEST(a_child_has_a_copy),
        TEST(a_child_without_a_copy_does_no_harm),
        TEST(an_arena_takes_its_largest_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
