#include "fixtures/log_copies.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/seal.h"
#include "lmdb/log/file.h"

enum { HEADER_BYTES = 4096, SECTOR = 512, SECTORS = HEADER_BYTES / SECTOR, ID = 0x1234 };

static const off_t WHOLE = HEADER_BYTES + PT_LOG_ROOM;

static void make_header(uint8_t header[HEADER_BYTES], uint64_t id)
{
    static const uint8_t magic[8] = {'p', 't', 'l', 'o', 'g', 0, 0, 1};
    memset(header, 0, HEADER_BYTES);
    memcpy(header, magic, sizeof magic);
    pt_put_le64(header + sizeof magic, id);
    pt_seal(pt_slice_of(magic, sizeof magic), header, HEADER_BYTES);
}

static void write_file(const uint8_t *bytes, size_t size, off_t length)
{
    int fd = open(beside("-log"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, bytes, size), size);
    assert_int_equal(ftruncate(fd, length), 0);
    close(fd);
}

static int try_to_open(uint64_t id)
{
    pt_lmdb_owned file;
    int problem = pt_log_file_open(fixture_path, id, true, &file);
    if (problem == 0) {
        pt_lmdb_close_owned(&file);
    }
    return problem;
}

static bool exists(void)
{
    return access(beside("-log"), F_OK) == 0;
}

/* Makes a log, and finds it under the name. */
static void make_log(void)
{
    pt_lmdb_owned file;
    uint64_t id = 0;
    struct stat status;
    int store = open(fixture_path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(pt_log_file_make(fixture_path, store, &id, &file), 0);
    assert_int_equal(fstat(file.fd, &status), 0);
    assert_int_equal(status.st_size, WHOLE);
    pt_lmdb_close_owned(&file);
    close(store);
    assert_int_equal(try_to_open(id), 0);
}

/* A power failure while a log is made leaves any sectors of its header. Whatever they are, it is a
 * log that was not finished: it is removed by who removes any log, and another one can be made. */
static void a_torn_header_is_that_of_an_unfinished_log(void **state)
{
    (void)state;
    static const off_t lengths[] = {HEADER_BYTES, HEADER_BYTES + 4096, HEADER_BYTES + PT_LOG_ROOM};
    static const unsigned ENDS = 1U << (SECTORS - 1) | 1; /* all others have zeros anyway */
    uint8_t header[HEADER_BYTES];
    make_header(header, ID);
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        for (unsigned kept = 0; kept < 1U << SECTORS; kept++) {
            uint8_t torn[HEADER_BYTES] = {0};
            for (size_t at = 0; at < SECTORS; at++) {
                if ((kept >> at & 1) != 0) {
                    memcpy(torn + at * SECTOR, header + at * SECTOR, SECTOR);
                }
            }
            bool is_whole = memcmp(torn, header, HEADER_BYTES) == 0;
            write_file(torn, HEADER_BYTES, lengths[i]);
            assert_int_equal(try_to_open(ID), is_whole ? 0 : ENODATA);
            assert_true(pt_log_file_remove(fixture_path, ID + 1));
            assert_true(exists());
            assert_true(pt_log_file_remove(fixture_path, 0));
            assert_false(exists());
            if ((kept & ~ENDS) == 0) {
                write_file(torn, HEADER_BYTES, lengths[i]);
                make_log();
            }
        }
    }
}

/* One that is shorter than its header. */
static void a_cut_header_is_that_of_an_unfinished_log(void **state)
{
    (void)state;
    uint8_t header[HEADER_BYTES];
    make_header(header, ID);
    for (size_t size = 0; size < HEADER_BYTES; size += SECTOR) {
        write_file(header, size, (off_t)size);
        assert_int_equal(try_to_open(ID), ENODATA);
        make_log();
    }
}

/* Beside the places of what a header has, a log has zeros. */
static void a_file_with_other_content_is_no_log(void **state)
{
    (void)state;
    static const size_t places[] = {0, 7, 8, 15, 16, 511, 512, 2000, HEADER_BYTES - 5};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        uint8_t other[HEADER_BYTES] = {0};
        other[places[i]] = 1;
        write_file(other, sizeof other, WHOLE);
        assert_int_equal(try_to_open(ID), EEXIST);
        assert_true(pt_log_file_remove(fixture_path, 0));
        assert_true(exists());
        assert_int_equal(unlink(beside("-log")), 0);
    }
}

static void a_log_that_has_lost_its_name_is_not_whole(void **state)
{
    (void)state;
    uint8_t header[HEADER_BYTES];
    make_header(header, ID);
    write_file(header, sizeof header, WHOLE);
    int fd = open(beside("-log"), O_RDWR);
    pt_lmdb_file_id file = pt_log_file_identify(fd);
    assert_true(pt_log_file_is_whole(beside("-log"), file));
    assert_int_equal(rename(beside("-log"), beside("-log~")), 0);
    assert_false(pt_log_file_is_whole(beside("-log"), file));
    write_file(header, sizeof header, WHOLE);
    assert_false(pt_log_file_is_whole(beside("-log"), file));
    assert_int_equal(rename(beside("-log~"), beside("-log")), 0);
    assert_true(pt_log_file_is_whole(beside("-log"), file));
    assert_int_equal(rename(beside("-log"), beside("-log~")), 0);
    assert_int_equal(symlink(beside("-log~"), beside("-log")), 0);
    assert_false(pt_log_file_is_whole(beside("-log"), file));
    assert_int_equal(rename(beside("-log~"), beside("-log")), 0);
    assert_int_equal(ftruncate(fd, WHOLE - 1), 0);
    assert_false(pt_log_file_is_whole(beside("-log"), file));
    close(fd);
    assert_false(pt_log_file_is_whole(beside("-log"), pt_log_file_identify(fd)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(a_torn_header_is_that_of_an_unfinished_log),
        store_test(a_cut_header_is_that_of_an_unfinished_log),
        store_test(a_file_with_other_content_is_no_log),
        store_test(a_log_that_has_lost_its_name_is_not_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
