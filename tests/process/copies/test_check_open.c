/*
 * pt_check of a store that is in use, or of a file whose reading fails: what changes while it is
 * looked at is looked at again.
 */
#include "faults/system_calls.h"
#include "fixtures/check_store.h"
#include "fixtures/log_mode.h"
#include "lmdb/page/page.h"

enum { ALWAYS = 1000000 };

static int looks;          /* at the first meta page, so far */
static int happens_at;     /* the first look that something happens at; 0: at none */
static int happens_until;  /* and the last one */
static int (*event)(void); /* what happens; errno, and the read fails */
static pt_store *open_one;

static system_call_verdict judge(const system_call *call)
{
    bool is_look = strcmp(call->name, "pread") == 0 && call->offset == 0 &&
                   system_call_size(call) == PT_LMDB_META_SIZE;
    looks += is_look;
    bool happens = is_look && happens_at != 0 && looks >= happens_at && looks <= happens_until;
    return (system_call_verdict){.error = happens ? event() : 0};
}

static void let_happen(int from, int until, int (*what)(void))
{
    looks = 0;
    happens_at = from;
    happens_until = until;
    event = what;
    system_call_judge = judge;
}

static int fail_reading(void)
{
    return EIO;
}

/* Two commits overwrite the meta page of the version that is looked at. */
static int commit_twice(void)
{
    for (int i = 0; i < 2; i++) {
        lock_store(open_one);
        commit_write(begin_write(open_one));
        engine->unlock(open_one);
    }
    return 0;
}

static int check_open(char **text, pt_error *error)
{
    int rc = pt_check_store(&pt_lmdb_engine, fixture_path, open_one, NULL, text, error);
    system_call_judge = NULL;
    return rc;
}

static void expect_failure(int code, const char *words)
{
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    assert_int_equal(check_open(&text, &error), code);
    assert_null(text);
    if (strstr(error.message, words) == NULL) {
        fail_msg("\"%s\" is not in: %s", words, error.message);
    }
    pt_error_clear(&error);
}

static void expect_ok(void)
{
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    assert_int_equal(check_open(&text, &error), SQLITE_OK);
    assert_string_equal(text, "ok");
    sqlite3_free(text);
}

static void a_version_that_is_overwritten_is_not_checked(void **state)
{
    (void)state;
    open_one = open_store(fixture_path);
    let_happen(1, 3, commit_twice);
    expect_ok();
    assert_true(looks >= 4);
    let_happen(1, ALWAYS, commit_twice);
    expect_failure(SQLITE_BUSY, "changes too fast to be checked; try again");
    let_happen(0, 0, NULL);
    expect_ok();
    engine->close(open_one);
}

/* LMDB does not look at it again, and the next that opens the store cannot. */
static void a_meta_page_damaged_in_use_is_named(void **state)
{
    (void)state;
    open_one = open_store(fixture_path);
    FILE *file = open_file();
    long meta = newest_meta(file);
    uint64_t before = number_at(file, meta + 16);
    set_number(file, meta + 16, before ^ 1);
    fflush(file);
    expect_failure(SQLITE_CORRUPT, "does not have LMDB's magic number; restore it from a backup");
    set_number(file, meta + 16, before);
    assert_int_equal(fclose(file), 0);
    expect_ok();
    engine->close(open_one);
}

static void reading_may_fail(void **state)
{
    (void)state;
    open_one = open_store(fixture_path);
    let_happen(1, 1, fail_reading);
    expect_failure(SQLITE_IOERR_READ, "cannot be read: Input/output error; check the disk");
    engine->close(open_one);
    open_one = NULL;
    let_happen(1, 1, fail_reading);
    expect_failure(SQLITE_IOERR_READ, "cannot be read: Input/output error; check the disk");
    expect_ok();
}

/* Where a text lies in the file, which has it once. */
static long find_text(const char *text)
{
    static char bytes[1 << 20];
    FILE *file = open_file();
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    const char *found = memmem(bytes, size, text, strlen(text));
    assert_non_null(found);
    const char *rest = found + 1;
    assert_null(memmem(rest, size - (size_t)(rest - bytes), text, strlen(text)));
    return (long)(found - bytes);
}

/* Makes the page at which a text lies one of no kind. */
static void damage_page_with(const char *text)
{
    enum { FLAGS = 10 };
    FILE *file = open_file();
    assert_int_equal(fseek(file, find_text(text) / PAGE * PAGE + FLAGS, SEEK_SET), 0);
    assert_int_equal(fwrite("\0\0", 1, 2, file), 2);
    assert_int_equal(fclose(file), 0);
}

static void assert_reads(pt_snapshot *snapshot, int code)
{
    bool found;
    pt_slice record;
    test_key key = key_of(1, "text");
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(engine->get(snapshot, key_slice(&key), &found, &record, &error), code);
    pt_error_clear(&error);
}

/* Only who reads an older state meets it. */
static void what_is_superseded_is_not_checked(void **state)
{
    (void)state;
    put_log_aside(); /* the pages of the tree are looked at */
    unlink(fixture_path);
    open_one = open_store(fixture_path);
    store_text(open_one, 1, "text", "the older version");
    pt_snapshot *old = begin_snapshot(open_one);
    store_text(open_one, 1, "text", "a newer version");
    damage_page_with("the older version");
    assert_reads(old, SQLITE_CORRUPT);
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    assert_int_equal(check_open(&text, &error), SQLITE_OK);
    assert_null(strstr(text, "cannot be read"));
    assert_null(strstr(text, "page"));
    sqlite3_free(text);
    engine->snapshot_end(old);
    assert_int_equal(engine->snapshot_begin(old, &error), SQLITE_OK);
    assert_reads(old, SQLITE_OK);
    engine->snapshot_free(old);
    damage_page_with("a newer version");
    assert_int_equal(check_open(&text, &error), SQLITE_OK);
    assert_non_null(strstr(text, "page"));
    sqlite3_free(text);
    engine->close(open_one);
    take_log_again();
}

static int reads_before_failure;

static system_call_verdict fail_one_read(const system_call *call)
{
    bool fails = strcmp(call->name, "pread") == 0 && reads_before_failure-- == 0;
    return (system_call_verdict){.error = fails ? EIO : 0};
}

/* Of a store whose long keys lie on many pages, which are read through the links again. */
static void each_read_may_fail(void **state)
{
    (void)state;
    int failed = 0;
    sqlite3 *db = open_with_ptable(":memory:");
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE One USING ptable(A Int32, S String, store=%Q);"
        "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 20)"
        "INSERT INTO One SELECT 'l', printf('%%02d%%.2900c%%d', k, 'k', k), k, '' FROM n",
        fixture_path);
    run_sql(db, sql);
    sqlite3_free(sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    open_one = NULL;
    for (;; failed++) {
        reads_before_failure = failed;
        system_call_judge = fail_one_read;
        pt_error error = PT_ERROR_NONE;
        char *text = NULL;
        int rc = check_open(&text, &error);
        if (reads_before_failure >= 0) {
            assert_string_equal(text, "ok");
            sqlite3_free(text);
            break;
        }
        /* The text of the older version does not matter. */
        assert_true(rc == SQLITE_OK ? strcmp(text, "ok") == 0 : rc == SQLITE_IOERR_READ);
        sqlite3_free(text);
        pt_error_clear(&error);
    }
    print_message("# %d reads failed in turn\n", failed);
    assert_true(failed > 30);
}

/* The newer meta page looks as if it were the older one. */
static uint64_t make_newest_look_old(void)
{
    FILE *file = open_file();
    long meta = newest_meta(file);
    uint64_t commit = number_at(file, meta + 144);
    set_number(file, meta + 144, commit - 2);
    assert_int_equal(fclose(file), 0);
    return commit;
}

static int make_newest_look_new(void)
{
    FILE *file = open_file();
    long meta = PAGE - newest_meta(file);
    set_number(file, meta + 144, number_at(file, meta + 144) + 2);
    assert_int_equal(fclose(file), 0);
    return 0;
}

/* Which it may be when a commit writes it at this moment: so it is looked at again. */
static void a_meta_page_is_damaged_only_if_it_stays_so(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    char *text = NULL;
    open_one = NULL;
    make_newest_look_old();
    let_happen(2, 2, fail_reading);
    expect_failure(SQLITE_IOERR_READ, "check the disk");
    let_happen(0, 0, NULL);
    assert_int_equal(check_open(&text, &error), SQLITE_OK);
    assert_non_null(strstr(text, "a meta page, is damaged: it leads to commit"));
    sqlite3_free(text);
    let_happen(2, 2, make_newest_look_new);
    assert_int_equal(check_open(&text, &error), SQLITE_OK);
    assert_null(strstr(text, "a meta page, is damaged"));
    sqlite3_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        check_test(a_version_that_is_overwritten_is_not_checked),
        check_test(a_meta_page_damaged_in_use_is_named),
        check_test(what_is_superseded_is_not_checked),
        check_test(reading_may_fail),
        check_test(each_read_may_fail),
        check_test(a_meta_page_is_damaged_only_if_it_stays_so),
    };
    failing_malloc_install();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
