/*
 * The records of changes and of deletions, as they are stored: what pt_change_read and
 * pt_deletion_read take, and each way in which a record can be wrong, also under a seal that fits.
 */
#include "fixtures/cmocka.h"

#include "base/seal.h"
#include "base/ticks.h"
#include "entity/key.h"
#include "transaction/change_log.h"

enum { TABLE = 7, KEY_MAX = 64, RECORD_MAX = 32 };

typedef struct stored {
    uint8_t key[KEY_MAX];
    size_t key_size;
    uint8_t record[RECORD_MAX];
    size_t record_size; /* with the seal */
} stored;

static void append_to_key(stored *self, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        self->key[self->key_size++] = ((const uint8_t *)bytes)[i];
    }
}

static void seal(stored *self)
{
    pt_seal(pt_slice_of(self->key, self->key_size), self->record, self->record_size);
}

/* The kind is the record's only byte; `rest` is the key behind the time. */
static stored change_of(int64_t ticks, pt_slice rest, uint8_t kind)
{
    uint8_t time[8];
    stored self = {.record = {kind}, .record_size = 1 + PT_SEAL_SIZE};
    self.key_size = pt_key_put_table(self.key, TABLE);
    pt_put_be32(time, (uint32_t)((uint64_t)ticks >> 32));
    pt_put_be32(time + 4, (uint32_t)ticks);
    append_to_key(&self, time, sizeof time);
    append_to_key(&self, rest.data, rest.size);
    seal(&self);
    return self;
}

static stored deletion_of(int64_t ticks, pt_slice rest)
{
    stored self = {.record_size = sizeof ticks + PT_SEAL_SIZE};
    self.key_size = pt_key_put_table(self.key, TABLE);
    append_to_key(&self, rest.data, rest.size);
    pt_put_le64(self.record, (uint64_t)ticks);
    seal(&self);
    return self;
}

static bool is_change(const stored *self, pt_change *change)
{
    return pt_change_read(pt_slice_of(self->key, self->key_size),
                          pt_slice_of(self->record, self->record_size), change);
}

static bool is_deletion(const stored *self, pt_change *change)
{
    return pt_deletion_read(pt_slice_of(self->key, self->key_size),
                            pt_slice_of(self->record, self->record_size), change);
}

static pt_slice entity_key(void)
{
    return pt_slice_of("p\0r", 3);
}

static void a_change_is_read(void **state)
{
    (void)state;
    pt_change change;
    const int64_t times[] = {0, 1, PT_TICKS_MAX};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        stored put = change_of(times[i], entity_key(), PT_CHANGE_PUT);
        stored deleted = change_of(times[i], entity_key(), PT_CHANGE_DELETE);
        assert_true(is_change(&put, &change));
        assert_int_equal(change.kind, PT_CHANGE_PUT);
        assert_true(is_change(&deleted, &change));
        assert_int_equal(change.kind, PT_CHANGE_DELETE);
        assert_int_equal(change.ticks, times[i]);
        assert_true(pt_slice_equal(change.entity_key, entity_key()));
    }
}

static void assert_no_change(stored self)
{
    pt_change change;
    assert_false(is_change(&self, &change));
}

static void a_wrong_change_is_refused(void **state)
{
    (void)state;
    assert_no_change(change_of(-1, entity_key(), PT_CHANGE_PUT));
    assert_no_change(change_of(PT_TICKS_MAX + 1, entity_key(), PT_CHANGE_PUT));
    assert_no_change(change_of(1, entity_key(), 0));
    assert_no_change(change_of(1, entity_key(), PT_CHANGE_DELETE + 1));
    assert_no_change(change_of(1, (pt_slice){0}, PT_CHANGE_PUT));
    assert_no_change(change_of(1, pt_slice_text("no row key"), PT_CHANGE_PUT));
    stored self = change_of(1, (pt_slice){0}, PT_CHANGE_PUT);
    self.key_size--; /* a part of the time */
    seal(&self);
    assert_no_change(self);
    self = change_of(1, entity_key(), PT_CHANGE_PUT);
    self.record_size = PT_SEAL_SIZE; /* no kind */
    seal(&self);
    assert_no_change(self);
    self = change_of(1, entity_key(), PT_CHANGE_PUT);
    self.record[0] ^= PT_CHANGE_PUT ^ PT_CHANGE_DELETE; /* without a new seal */
    assert_no_change(self);
}

static void a_deletion_is_read(void **state)
{
    (void)state;
    pt_change change;
    stored self = deletion_of(PT_TICKS_MAX, entity_key());
    assert_true(is_deletion(&self, &change));
    assert_int_equal(change.kind, PT_CHANGE_DELETE);
    assert_int_equal(change.ticks, PT_TICKS_MAX);
    assert_true(pt_slice_equal(change.entity_key, entity_key()));
}

static void assert_no_deletion(stored self)
{
    pt_change change;
    assert_false(is_deletion(&self, &change));
}

static void a_wrong_deletion_is_refused(void **state)
{
    (void)state;
    assert_no_deletion(deletion_of(-1, entity_key()));
    assert_no_deletion(deletion_of(PT_TICKS_MAX + 1, entity_key()));
    assert_no_deletion(deletion_of(1, (pt_slice){0}));
    assert_no_deletion(deletion_of(1, pt_slice_text("no row key")));
    stored self = deletion_of(1, entity_key());
    self.record_size--; /* a part of the time */
    seal(&self);
    assert_no_deletion(self);
    self = deletion_of(1, entity_key());
    self.record[0] ^= 1; /* without a new seal */
    assert_no_deletion(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_is_read),
        cmocka_unit_test(a_wrong_change_is_refused),
        cmocka_unit_test(a_deletion_is_read),
        cmocka_unit_test(a_wrong_deletion_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
