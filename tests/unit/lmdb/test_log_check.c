/*
 * pt_check of a store that nobody has open, with the log that a crash has left: one that is whole,
 * and each way in which it can be wrong.
 */
#include "fixtures/log_copies.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/seal.h"
#include "catalog/check_records.h"
#include "lmdb/log.h"

enum { LOG_HEADER = 4096, LOG_ID_AT = 8 };

static void commit_durably(pt_store *store, const char *text, const char *record)
{
    const pt_commit commit = {.sync = PT_SYNC_FULL, .clock = 5};
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, text, record);
    assert_ok(engine->write_commit(writer, &commit, &error));
    engine->write_publish(store);
    engine->unlock(store);
}

/* Leaves a store whose log has two commits. If `old`, the store's file is a copy of before, of a
 * version that an earlier part of the log has followed. */
static void crash_with_log(bool old)
{
    static char large[70000];
    memset(large, 'l', sizeof large - 1);
    setenv("PTABLE_LOG", "always", 1);
    pt_store *store = open_store(fixture_path);
    commit_durably(store, "first", "it names the log");
    if (old) {
        copy_bytes(fixture_path, beside("x"));
    }
    commit_durably(store, "large", large); /* to the tree */
    commit_durably(store, "a", "record");
    commit_durably(store, "b", "record");
    if (!old) {
        copy_bytes(fixture_path, beside("x"));
    }
    copy_bytes(beside("-log"), beside("x-log"));
    engine->close(store);
    assert_int_equal(rename(beside("x"), fixture_path), 0);
    assert_int_equal(rename(beside("x-log"), beside("-log")), 0);
}

/* The records are in no table of the catalogue, so there is always a report. */
static void expect(const char *words, bool are_there)
{
    char *text = NULL;
    assert_ok(pt_check_store(engine, fixture_path, NULL, NULL, &text, &error));
    if ((strstr(text, words) != NULL) != are_there) {
        fail_msg("\"%s\" %s in:\n%s", words, are_there ? "is not" : "is", text);
    }
    sqlite3_free(text);
}

static void write_to_log(off_t at, const void *bytes, size_t size)
{
    int fd = open(beside("-log"), O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, size, at), (ssize_t)size);
    close(fd);
}

/* --- Tests --- */

static void a_sound_log_has_no_problems(void **state)
{
    (void)state;
    crash_with_log(false);
    expect("-log", false);
}

static void a_log_that_is_not_there_is_reported(void **state)
{
    (void)state;
    crash_with_log(false);
    assert_int_equal(unlink(beside("-log")), 0);
    expect("is missing: it has the last commits", true);
}

static void the_log_of_another_store_is_reported(void **state)
{
    (void)state;
    uint8_t header[LOG_HEADER];
    crash_with_log(false);
    int fd = open(beside("-log"), O_RDWR);
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    header[LOG_ID_AT] ^= 1;
    pt_seal(pt_slice_of(header, LOG_ID_AT), header, sizeof header);
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    close(fd);
    expect("is the log of another store", true);
}

static void a_file_that_is_no_log_is_reported(void **state)
{
    (void)state;
    crash_with_log(false);
    write_to_log(0, "mine", 4);
    expect("is no log", true);
}

/* Not followed: a link may lead anywhere. */
static void a_link_is_reported(void **state)
{
    (void)state;
    crash_with_log(false);
    assert_int_equal(rename(beside("-log"), beside("-kept")), 0);
    assert_int_equal(symlink(beside("-kept"), beside("-log")), 0);
    expect("is a link", true);
    assert_int_equal(unlink(beside("-log")), 0);
    assert_int_equal(link(beside("-kept"), beside("-log")), 0);
    expect("several names", true);
}

static void a_log_that_is_cut_is_reported(void **state)
{
    (void)state;
    crash_with_log(false);
    assert_int_equal(truncate(beside("-log"), LOG_HEADER + PT_LOG_ROOM - 8), 0);
    expect("pt_forget_log keeps the 2 commits", true);
}

static void a_record_that_does_not_verify_is_reported(void **state)
{
    (void)state;
    crash_with_log(false);
    write_to_log(LOG_HEADER + PT_LOG_RECORD_HEADER, "x", 1);
    expect("pt_forget_log keeps the 0 commits", true);
}

static void an_old_copy_of_the_file_is_reported(void **state)
{
    (void)state;
    crash_with_log(true);
    expect("follows a later version of the store", true);
}

#define log_check_test(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
#if defined(PT_DEBUG) || defined(PT_WAYS)
    const struct CMUnitTest tests[] = {
        log_check_test(a_sound_log_has_no_problems),
        log_check_test(a_log_that_is_not_there_is_reported),
        log_check_test(the_log_of_another_store_is_reported),
        log_check_test(a_file_that_is_no_log_is_reported),
        log_check_test(a_link_is_reported),
        log_check_test(a_log_that_is_cut_is_reported),
        log_check_test(a_record_that_does_not_verify_is_reported),
        log_check_test(an_old_copy_of_the_file_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    return 0;
#endif
}
