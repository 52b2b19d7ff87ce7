#include "fixtures/cmocka.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "lmdb/log/record.h"
#include "store/engine.h"

enum { RECORDS = 5, LOG_BYTES = 4096 };

static const uint8_t nonce[16] = "a nonce of tests";

static pt_log_chain new_chain(void)
{
    return pt_log_chain_of(7, 3, pt_slice_of(nonce, sizeof nonce));
}

/* A log of RECORDS records; record i has i + 1 operations. */
typedef struct sample {
    uint8_t bytes[LOG_BYTES];
    uint32_t ends[RECORDS];
    pt_log_chain last;
} sample;

static void append(sample *log, const pt_log_chain *chain, int operations, pt_sync sync,
                   pt_log_chain *after)
{
    pt_buffer buffer = {0};
    assert_true(pt_log_record_begin(&buffer));
    for (int i = 0; i < operations; i++) {
        const char key[] = {1, 'k', (char)('0' + i)};
        pt_log_record_add(&buffer, pt_slice_of(key, sizeof key), pt_slice_text("record"), i == 1);
    }
    const pt_log_facts facts = {
        .count = (uint16_t)operations, .sync = (uint8_t)sync, .clock = 100 + operations};
    pt_log_record_end(&buffer, &facts, chain, after);
    assert_false(buffer.failed);
    memcpy(log->bytes + chain->end, buffer.data, buffer.size);
    assert_int_equal(after->end, chain->end + buffer.size);
    pt_buffer_free(&buffer);
}

static void make_sample(sample *log)
{
    memset(log, 0, sizeof *log);
    pt_log_chain chain = new_chain();
    for (int i = 0; i < RECORDS; i++) {
        append(log, &chain, i + 1, PT_SYNC_FULL, &log->last);
        chain = log->last;
        chain.flushed = chain.end; /* each was flushed before the next one was written */
        log->ends[i] = chain.end;
    }
}

static pt_slice rest_of(const sample *log, uint32_t at)
{
    return pt_slice_of(log->bytes + at, sizeof log->bytes - at);
}

/* How many records verify; moves the chain. */
static int count_records(const sample *log, pt_log_chain *chain)
{
    pt_log_record record;
    int count = 0;
    while (pt_log_record_read(rest_of(log, chain->end), chain, &record)) {
        count++;
    }
    return count;
}

static void records_are_read_back(void **state)
{
    (void)state;
    sample log;
    pt_log_chain chain = new_chain();
    pt_log_record record;
    pt_log_operation operation;
    make_sample(&log);
    for (int i = 0; i < RECORDS; i++) {
        assert_true(pt_log_record_read(rest_of(&log, chain.end), &chain, &record));
        assert_int_equal(chain.end, log.ends[i]);
        assert_int_equal(chain.flushed, i == 0 ? 0 : log.ends[i - 1]);
        assert_int_equal(record.facts.clock, 101 + i);
        assert_int_equal(record.facts.sync, PT_SYNC_FULL);
        for (int k = 0; k <= i; k++) {
            assert_true(pt_log_record_next(&record, &operation));
            assert_int_equal(operation.key.size, 3);
            assert_int_equal(operation.key.data[2], '0' + k);
            assert_int_equal(operation.deletes, k == 1);
            assert_true(pt_slice_equal(operation.record, pt_slice_text("record")));
        }
        assert_false(pt_log_record_next(&record, &operation));
        assert_int_equal(record.facts.count, 0);
    }
    assert_false(pt_log_record_read(rest_of(&log, chain.end), &chain, &record));
    assert_int_equal(chain.last, log.last.last);
}

/* Whatever byte of a record is another one, or is missing: it ends the row. */
static void no_changed_record_verifies(void **state)
{
    (void)state;
    sample log;
    make_sample(&log);
    for (uint32_t at = log.ends[1]; at < log.ends[2]; at++) {
        pt_log_chain chain = new_chain();
        log.bytes[at] ^= 0x10;
        assert_int_equal(count_records(&log, &chain), 2);
        assert_int_equal(chain.end, log.ends[1]);
        log.bytes[at] ^= 0x10;
    }
    for (uint32_t size = log.ends[1]; size < log.ends[2]; size++) {
        pt_log_chain chain = new_chain();
        pt_log_record record;
        chain.end = log.ends[1];
        assert_false(pt_log_record_read(pt_slice_of(log.bytes + log.ends[1], size - log.ends[1]),
                                        &chain, &record));
    }
}

static void records_of_other_logs_and_versions_do_not_verify(void **state)
{
    (void)state;
    sample log;
    make_sample(&log);
    pt_log_chain other_log = pt_log_chain_of(8, 3, pt_slice_of(nonce, sizeof nonce));
    pt_log_chain other_nonce = pt_log_chain_of(7, 3, pt_slice_text("another nonce!!!"));
    assert_int_equal(count_records(&log, &other_log), 0);
    assert_int_equal(count_records(&log, &other_nonce), 0);
    /* Nor does one verify after another than that which it followed. */
    pt_log_chain chain = new_chain();
    pt_log_chain after;
    append(&log, &chain, 1, PT_SYNC_OFF, &after);
    assert_int_equal(after.end, log.ends[0]);
    chain = new_chain();
    assert_int_equal(count_records(&log, &chain), 1);
}

/* A record that does not verify was whole on the disk once, if a later one says so; otherwise it is
 * merely torn. */
static void damage_is_told_from_a_torn_end(void **state)
{
    (void)state;
    sample log;
    make_sample(&log);
    for (int i = 0; i < RECORDS; i++) {
        pt_log_chain chain = new_chain();
        uint32_t begin = i == 0 ? 0 : log.ends[i - 1];
        log.bytes[begin + PT_LOG_RECORD_HEADER] ^= 1;
        assert_int_equal(count_records(&log, &chain), i);
        uint32_t flushed = pt_log_flushed_beyond(rest_of(&log, chain.end), &chain);
        assert_int_equal(flushed > chain.end, i < RECORDS - 1);
        log.bytes[begin + PT_LOG_RECORD_HEADER] ^= 1;
    }
    /* Nothing was flushed: the system may have written the later record alone. */
    pt_log_chain chain = new_chain();
    pt_log_chain after;
    memset(&log, 0, sizeof log);
    append(&log, &chain, 1, PT_SYNC_NORMAL, &after);
    pt_log_chain last;
    append(&log, &after, 1, PT_SYNC_NORMAL, &last);
    log.bytes[0] ^= 1;
    assert_int_equal(count_records(&log, &chain), 0);
    assert_int_equal(pt_log_flushed_beyond(rest_of(&log, 0), &chain), 0);
}

static void an_old_copy_of_the_store_is_noticed(void **state)
{
    (void)state;
    static sample log;
    pt_log_chain before = pt_log_chain_of(7, 2, pt_slice_text("the one before.."));
    pt_log_chain chain = new_chain();
    pt_log_chain after;
    make_sample(&log);
    assert_true(pt_log_follows_later_version(rest_of(&log, 0), &before));
    assert_false(pt_log_follows_later_version(rest_of(&log, 0), &chain));
    assert_false(pt_log_follows_later_version(rest_of(&log, log.ends[0]), &before));
    assert_false(pt_log_follows_later_version((pt_slice){0}, &before));
    static const uint32_t sizes[] = {0, PT_LOG_RECORD_HEADER - PT_LOG_RECORD_ALIGNMENT,
                                     PT_LOG_RECORD_HEADER + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        sample wrong = log;
        pt_put_le32(wrong.bytes, sizes[i]);
        assert_false(pt_log_follows_later_version(rest_of(&wrong, 0), &before));
    }
    /* Of a commit that need not last, the version may be lost, too. */
    memset(&log, 0, sizeof log);
    append(&log, &chain, 1, PT_SYNC_NORMAL, &after);
    assert_false(pt_log_follows_later_version(rest_of(&log, 0), &before));
}

/* With a right checksum, but operations that do not fit in. */
static void operations_are_not_trusted(void **state)
{
    (void)state;
    pt_log_operation operation;
    uint8_t bytes[16] = {3, 0, 0, 0, 2, 0, 0, 0, 1, 'k', 'k', 'r', 'r'};
    pt_log_record whole = {.facts = {.count = 1}, .operations = pt_slice_of(bytes, 13)};
    assert_true(pt_log_record_next(&whole, &operation));
    for (size_t size = 0; size < 13; size++) {
        pt_log_record cut = {.facts = {.count = 1}, .operations = pt_slice_of(bytes, size)};
        assert_false(pt_log_record_next(&cut, &operation));
        assert_int_equal(cut.facts.count, 1);
    }
    bytes[0] = 0; /* no key */
    pt_log_record empty = {.facts = {.count = 1}, .operations = pt_slice_of(bytes, 13)};
    assert_false(pt_log_record_next(&empty, &operation));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_back),
        cmocka_unit_test(no_changed_record_verifies),
        cmocka_unit_test(records_of_other_logs_and_versions_do_not_verify),
        cmocka_unit_test(damage_is_told_from_a_torn_end),
        cmocka_unit_test(an_old_copy_of_the_store_is_noticed),
        cmocka_unit_test(operations_are_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
