/*
 * Copies of a store when LMDB or the system fails, or the store turns out to be damaged: it is said
 * what failed, no file is left behind, and the store is as it was.
 */
#include "fixtures/raw_store.h"
#include "process/copies/copying.h"

/* --- LMDB fails --- */

/* Each call of a function of LMDB's fails in turn; how many there were. */
static int fail_in_turn(const char *function, int (*copy)(pt_store *, pt_error *), int limit)
{
    int calls = 0;
    pt_store *store = make_store();
    for (bool hit = true; hit && calls < limit; calls += hit) {
        pt_error error = PT_ERROR_NONE;
        make_fail(function, calls, EIO);
        int rc = copy(store, &error);
        hit = failing_call == NULL;
        failing_call = NULL;
        if ((rc & 0xff) != (hit ? SQLITE_IOERR : SQLITE_OK) && !(hit && rc == SQLITE_OK)) {
            fail_msg("%s %d: %d %s", function, calls, rc, error.message);
        }
        assert_true(rc == SQLITE_OK || strstr(error.message, "; ") != NULL);
        pt_error_clear(&error);
        unlink(copy_path);
        assert_whole(store);
        assert_int_equal(copying_file_count(), 2); /* the store and its lock file */
    }
    engine->close(store);
    unlink(fixture_path);
    return calls;
}

static void a_backup_reports_what_lmdb_reports(void **state)
{
    (void)state;
    assert_in_range(fail_in_turn("mdb_cursor_open", back_up, 50), 6, 49);
    assert_in_range(fail_in_turn("mdb_get", back_up, 50), 4, 49);
    assert_in_range(fail_in_turn("mdb_put", back_up, 16), 8, 16);
    assert_in_range(fail_in_turn("mdb_cursor_get", back_up, 8), 8, 8);
    assert_in_range(fail_in_turn("mdb_cursor_put", back_up, 8), 4, 8);
}

static void the_last_calls_of_a_backup_may_fail(void **state)
{
    (void)state;
    pt_store *store = make_store();
    for (int passes = ROWS; failing_call == NULL; passes += 2) {
        make_fail("mdb_cursor_get", passes, EIO);
        pt_error error = PT_ERROR_NONE;
        int rc = back_up(store, &error);
        assert_int_equal(rc, failing_call == NULL ? SQLITE_IOERR : SQLITE_OK);
        pt_error_clear(&error);
        unlink(copy_path);
    }
    failing_call = NULL;
    assert_whole(store);
    engine->close(store);
}

/* --- The system fails --- */

static int compact_now(pt_store *store, pt_error *error)
{
    return compact(store, 0, &patient, error);
}

static void system_calls_may_fail(void **state)
{
    (void)state;
    static const char *const calls[] = {"fstat", "fsync", "fchmod", "link", "rename"};
    int failed = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        failed += fail_in_turn(calls[i], back_up, 50);
        failed += fail_in_turn(calls[i], compact_now, 50);
    }
    print_message("# %d system calls failed in turn\n", failed);
    assert_true(failed > 20);
}

/* Whatever keeps the file from being made is said, with what helps. */
static void files_that_cannot_be_made_are_explained(void **state)
{
    (void)state;
    static const struct {
        int problem;
        int code;
        const char *words;
    } problems[] = {
        {ENOENT, SQLITE_CANTOPEN, "its folder does not exist; create it first"},
        {ENOTDIR, SQLITE_CANTOPEN, "its folder does not exist; create it first"},
        {EACCES, SQLITE_CANTOPEN, "Permission denied; ask for write permission on its folder"},
        {EPERM, SQLITE_CANTOPEN, "not permitted; ask for write permission on its folder"},
        {EROFS, SQLITE_CANTOPEN, "Read-only file system; ask for write permission"},
        {ELOOP, SQLITE_CANTOPEN, "symbolic links; ask for write permission on its folder"},
        {ENAMETOOLONG, SQLITE_CANTOPEN, "too long; ask for write permission on its folder"},
        {ENOSPC, SQLITE_FULL, "/copy"},
        {EIO, SQLITE_IOERR, "/copy"},
    };
    pt_store *store = make_store();
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        make_fail("open", 0, problems[i].problem);
        assert_fails(back_up(store, &error), problems[i].code, problems[i].words);
        assert_null(failing_call);
    }
    engine->close(store);
}

static pt_store *inherited;

static int back_up_inherited(void)
{
    pt_error error = PT_ERROR_NONE;
    int rc = back_up(inherited, &error);
    return rc == SQLITE_MISUSE || strstr(error.message, "fork") != NULL ? 0 : 1;
}

static void a_child_makes_no_backup_of_its_parents_store(void **state)
{
    (void)state;
    inherited = make_store();
    await_child(start_child(back_up_inherited));
    assert_int_equal(copying_file_count(), 2);
    engine->close(inherited);
}

enum { SOME_USER = 12345, SOME_GROUP = 23456 };

static void expect_owner(uid_t user, gid_t group)
{
    struct stat file;
    assert_int_equal(stat(fixture_path, &file), 0);
    assert_int_equal(file.st_uid, user);
    assert_int_equal(file.st_gid, group);
}

/* A store of another owner is not taken over by who compacts it. */
static void the_owner_stays(void **state)
{
    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    pt_store *store = make_store();
    assert_int_equal(chown(fixture_path, SOME_USER, SOME_GROUP), 0);
    make_fail("fchown", 0, EPERM);
    failing_times = 2; /* when it is begun, where it does not matter, and at the end */
    assert_fails(compact(store, 0, &patient, &error), SQLITE_READONLY, "belongs to another user");
    make_fail("fchown", 0, EIO);
    failing_times = 2;
    assert_fails(compact(store, 0, &patient, &error), SQLITE_IOERR, "finishing its copy");
    assert_ok(compact(store, 0, &patient, &error));
    expect_owner(SOME_USER, SOME_GROUP);
    make_fail("fchown", 0, EPERM);
    assert_ok(compact(store, 0, &patient, &error));
    expect_owner(SOME_USER, SOME_GROUP);
    assert_int_equal(chown(fixture_path, 0, SOME_GROUP), 0);
    make_fail("fchown", 0, EPERM);
    assert_ok(compact(store, 0, &patient, &error));
    expect_owner(0, SOME_GROUP);
    assert_whole(store);
    engine->close(store);
}

static bool is_copy(int fd)
{
    char link[40];
    char name[128] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, name, sizeof name - 1) > 0 && strstr(name, "copy-new-") != NULL;
}

static void take_last_page(int fd)
{
    struct stat file;
    assert_int_equal(syscall(SYS_fstat, fd, &file), 0);
    if (is_copy(fd) && file.st_size > 0) {
        assert_int_equal(ftruncate(fd, file.st_size - PAGE), 0);
        make_fail("ftruncate", 0, EIO);
    }
}

/* LMDB may leave the file without its last page, which is to be there; without room it cannot. */
static void a_copy_that_is_too_short_is_none(void **state)
{
    (void)state;
    bool met = false;
    pt_store *store = make_store();
    for (int passes = 0; !met && passes < 20; passes++) {
        pt_error error = PT_ERROR_NONE;
        make_fail("fstat", passes, 0);
        failing_event = take_last_page;
        int rc = back_up(store, &error);
        met = rc == SQLITE_IOERR && strstr(error.message, "writing the copy") != NULL;
        failing_call = NULL;
        pt_error_clear(&error);
        assert_int_equal(copying_file_count(), rc == SQLITE_OK ? 3 : 2);
        unlink(copy_path);
    }
    assert_true(met);
    assert_whole(store);
    engine->close(store);
}

static void take_last_page_once(int fd)
{
    take_last_page(fd);
    failing_call = NULL;
}

static void a_copy_gets_its_whole_size(void **state)
{
    (void)state;
    struct stat whole;
    struct stat file;
    pt_store *store = make_store();
    assert_ok(back_up(store, &error));
    assert_int_equal(stat(copy_path, &whole), 0);
    for (int passes = 0; passes < 8; passes++) {
        unlink(copy_path);
        make_fail("fstat", passes, 0);
        failing_event = take_last_page_once;
        assert_ok(back_up(store, &error));
        failing_call = NULL;
        assert_int_equal(stat(copy_path, &file), 0);
        assert_true(file.st_size == whole.st_size || file.st_size == whole.st_size - PAGE);
    }
    engine->close(store);
}

/* A commit in the middle of the copy fails. */
static void a_large_copy_may_find_no_room(void **state)
{
    (void)state;
    enum { LARGE = 1 << 20, LARGE_ROWS = 6 };
    static char large[LARGE];
    pt_store *store = make_store();
    lock_store(store);
    pt_writer *writer = begin_write(store);
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < LARGE_ROWS; i++) {
        const char name[] = {'z', (char)('a' + i), 0};
        put_text(writer, 1, name, large);
    }
    commit_write(writer);
    engine->unlock(store);
    make_fail("any write", 0, ENOSPC);
    failing_least = LARGE;
    assert_fails(back_up(store, &error), SQLITE_FULL, "writing the copy");
    assert_null(failing_call);
    assert_int_equal(copying_file_count(), 2);
    assert_ok(back_up(store, &error));
    engine->close(store);
}

/* --- The store is damaged --- */

typedef void harm(uint8_t *page);

/* Does harm to each leaf page that has these bytes, old versions of it too; the store may be open.
 */
static void harm_pages(const void *bytes, size_t size, harm *done)
{
    uint8_t page[PAGE];
    int met = 0;
    int fd = open(fixture_path, O_RDWR | O_CLOEXEC);
    for (off_t at = 2 * PAGE; pread(fd, page, PAGE, at) == PAGE; at += PAGE) {
        if (pt_get_le16(page + 10) == 2 && memmem(page, PAGE, bytes, size) != NULL) {
            done(page);
            assert_int_equal(pwrite(fd, page, PAGE, at), PAGE);
            met++;
        }
    }
    close(fd);
    assert_true(met > 0);
}

static void exchange_slots(uint8_t *page)
{
    uint8_t kept[2];
    memcpy(kept, page + 16, 2);
    memcpy(page + 16, page + 18, 2);
    memcpy(page + 18, kept, 2);
}

static uint8_t *first_entry(uint8_t *page)
{
    return page + pt_get_le16(page + 16);
}

static void lengthen_key(uint8_t *page)
{
    uint8_t *key_size = first_entry(page) + 6;
    key_size[0] = 600 & 0xFF;
    key_size[1] = 600 >> 8;
}

static void spoil_state(uint8_t *page)
{
    uint8_t *name = memmem(page, PAGE, "current", 7);
    name[10] ^= 1;
}

static void rename_state(uint8_t *page)
{
    uint8_t *name = memmem(page, PAGE, "current", 7);
    name[6] = 's';
}

static harm *harm_of_state;

/* Asked once more, the copy has its snapshot, which read the state. */
static bool harm_state(void *context)
{
    (void)context;
    if (harm_of_state != NULL) {
        harm_pages("current", 7, harm_of_state);
        harm_of_state = NULL;
    }
    return false;
}

static void expect_refusal(pt_store *store)
{
    assert_fails(back_up(store, &error), SQLITE_CORRUPT, "restore it from a backup");
    assert_int_equal(copying_file_count(), 2);
    engine->close(store);
    unlink(fixture_path);
}

/* It is found out while LMDB reads on. */
static void pages_damaged_in_use_are_not_copied(void **state)
{
    (void)state;
    static const pt_watch harming = {.is_over = harm_state};
    static harm *const harms[] = {spoil_state, rename_state};
    int64_t bytes;
    pt_store *store = make_store();
    harm_pages("r0100", 5, exchange_slots);
    expect_refusal(store);
    store = make_store();
    harm_pages("r0100", 5, lengthen_key);
    expect_refusal(store);
    for (int i = 0; i < 2; i++) {
        store = make_store();
        harm_of_state = harms[i];
        assert_fails(engine->backup(store, copy_path, &harming, &bytes, &error), SQLITE_CORRUPT,
                     "restore it from a backup");
        assert_null(harm_of_state);
        engine->close(store);
        unlink(fixture_path);
    }
}

/* A link to a bucket, from a bucket or, with 0, from table 1. */
static void put_link(uint64_t from, uint64_t to)
{
    uint8_t key[PT_LMDB_LINK_SIZE];
    uint8_t value[PT_FORMAT_BUCKET_SIZE];
    memset(key, 'z', sizeof key);
    key[sizeof key - 1] = 0;
    pt_lmdb_put_bucket_prefix(key, from);
    if (from == 0) {
        key[0] = 1;
    }
    pt_slice slice = pt_slice_of(key, sizeof key);
    pt_format_write_bucket(slice, to, value);
    raw_put(from == 0 ? "entities" : "long_keys", slice, pt_slice_of(value, sizeof value));
}

/* Those of the store are 1 and those behind it. */
static void links_that_lead_astray_are_not_followed(void **state)
{
    (void)state;
    enum { FIRST = 100 };
    engine->close(make_store());
    put_link(0, 1); /* a second one */
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    put_link(0, FIRST);
    put_link(FIRST, FIRST); /* a circle */
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    put_link(0, FIRST);
    for (uint64_t i = 0; i <= PT_LMDB_DEPTH_MAX; i++) { /* deeper than keys are long */
        put_link(FIRST + i, FIRST + i + 1);
    }
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    uint8_t key[PT_LMDB_LINK_SIZE] = {1, 'z'};
    raw_put("entities", pt_slice_of(key, sizeof key), pt_slice_text("no number"));
    expect_refusal(open_store(fixture_path));
    pt_store *store = make_store();
    static const uint8_t inside[] = {0, 0, 0, 0, 0, 0, 0, 1, 'y', 'y', 'y', 'y'};
    harm_pages(inside, sizeof inside, lengthen_key);
    expect_refusal(store);
}

static void keys_of_no_table_are_not_copied(void **state)
{
    (void)state;
    engine->close(make_store());
    raw_put("entities", pt_slice_of("\xF0\1", 2), pt_slice_text("x"));
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    raw_put("entities", pt_slice_of("\xFF\1", 2), pt_slice_text("a part in the wrong place"));
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    raw_put("chunks", pt_slice_of("\1\1", 2), pt_slice_text("an entity in the wrong place"));
    expect_refusal(open_store(fixture_path));
    engine->close(make_store());
    raw_put(NULL, pt_slice_text("extra"), pt_slice_text("of a later version"));
    pt_store *store = open_store(fixture_path);
    assert_ok(back_up(store, &error));
    engine->close(store);
    store = open_store(copy_path);
    assert_whole(store);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_backup_reports_what_lmdb_reports),
        TEST(the_last_calls_of_a_backup_may_fail),
        TEST(system_calls_may_fail),
        TEST(files_that_cannot_be_made_are_explained),
        TEST(a_child_makes_no_backup_of_its_parents_store),
        TEST(the_owner_stays),
        TEST(a_copy_that_is_too_short_is_none),
        TEST(a_copy_gets_its_whole_size),
        TEST(a_large_copy_may_find_no_room),
        TEST(pages_damaged_in_use_are_not_copied),
        TEST(links_that_lead_astray_are_not_followed),
        TEST(keys_of_no_table_are_not_copied),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
