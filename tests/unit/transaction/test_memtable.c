#include "fixtures/cmocka.h"

#include "entity/index.h"
#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "fixtures/sample_keys.h"
#include "transaction/memtable.h"

enum { KEYS = 300, TABLES = 3, MARKS = 8, RECORD_MAX = 40 };

/* The model: what is pending for every key of a sorted array, and a whole copy of that for every
 * savepoint. */
typedef struct content {
    bool present;
    pt_operation operation;
    uint8_t fill; /* each byte of the record */
    size_t size;
} content;

typedef struct model {
    content now[KEYS];
    content saved[MARKS][KEYS];
    size_t lengths[MARKS]; /* of the memtable */
    size_t marks;
} model;

static sample_key keys[KEYS];
static size_t key_count;
static model expected;

static void begin(sample_kind kind, uint64_t *seed)
{
    key_count = sample_sorted(keys, KEYS, kind, TABLES, seed);
    memset(&expected, 0, sizeof expected);
}

static void assert_content(const pt_pending *pending, const content *wanted)
{
    pt_slice record = pt_pending_record(pending);
    assert_int_equal(pending->operation, wanted->operation);
    assert_int_equal(record.size, wanted->size);
    for (size_t i = 0; i < record.size; i++) {
        assert_int_equal(record.data[i], wanted->fill);
    }
}

static void assert_place(const pt_memtable_node *node, size_t at)
{
    assert_non_null(node);
    const pt_pending *pending = pt_memtable_at(node);
    assert_true(pt_slice_equal(pt_pending_key(pending), sample_slice(&keys[at])));
    assert_content(pending, &expected.now[at]);
}

/* --- Random steps on both --- */

static bool try_put(pt_memtable *memtable, size_t at, uint64_t *seed)
{
    content wanted = {.present = true,
                      .operation = sample_random(seed) % 4,
                      .fill = (uint8_t)sample_random(seed),
                      .size = sample_random(seed) % RECORD_MAX};
    if (wanted.operation == PT_DELETE) {
        wanted.size = 0;
    }
    uint64_t version = pt_memtable_version(memtable);
    uint8_t *record =
        pt_memtable_put(memtable, sample_slice(&keys[at]), wanted.operation, wanted.size);
    if (record == NULL) {
        assert_true(pt_memtable_version(memtable) == version);
        return false;
    }
    assert_true(pt_memtable_version(memtable) != version);
    memset(record, wanted.fill, wanted.size);
    expected.now[at] = wanted;
    return true;
}

static void put(pt_memtable *memtable, size_t at, uint64_t *seed)
{
    assert_true(try_put(memtable, at, seed));
}

static void protect_last_mark(pt_memtable *memtable)
{
    size_t marks = expected.marks;
    pt_memtable_protect(memtable, marks != 0 ? expected.lengths[marks - 1] : 0);
}

static void set_mark(pt_memtable *memtable)
{
    size_t mark = expected.marks++;
    memcpy(expected.saved[mark], expected.now, sizeof expected.now);
    expected.lengths[mark] = pt_memtable_length(memtable);
    protect_last_mark(memtable);
}

static void roll_back_to(pt_memtable *memtable, size_t mark)
{
    memcpy(expected.now, expected.saved[mark], sizeof expected.now);
    expected.marks = mark + 1;
    uint64_t version = pt_memtable_version(memtable);
    bool undoes = pt_memtable_length(memtable) > expected.lengths[mark];
    pt_memtable_discard(memtable, expected.lengths[mark]);
    assert_int_equal(pt_memtable_version(memtable) != version, undoes);
    assert_int_equal(pt_memtable_length(memtable), expected.lengths[mark]);
    protect_last_mark(memtable);
}

static void take_step(pt_memtable *memtable, uint64_t *seed)
{
    uint32_t choice = sample_random(seed) % 20;
    if (choice == 0 && expected.marks < MARKS) {
        set_mark(memtable);
    } else if (choice == 1 && expected.marks > 0) {
        roll_back_to(memtable, sample_random(seed) % expected.marks);
    } else if (choice == 2 && expected.marks > 0) {
        expected.marks = sample_random(seed) % expected.marks;
        protect_last_mark(memtable);
    } else {
        put(memtable, sample_random(seed) % key_count, seed);
    }
}

/* --- Comparing both --- */

static void assert_found(pt_memtable *memtable, size_t at)
{
    pt_pending *pending;
    assert_int_equal(pt_memtable_find(memtable, sample_slice(&keys[at]), &pending), SQLITE_OK);
    assert_int_equal(pending != NULL, expected.now[at].present);
    if (pending != NULL) {
        assert_true(pt_slice_equal(pt_pending_key(pending), sample_slice(&keys[at])));
        assert_content(pending, &expected.now[at]);
    }
}

static pt_memtable_node *seek(pt_memtable *memtable, pt_slice key, pt_direction direction)
{
    pt_memtable_node *node;
    assert_int_equal(pt_memtable_seek(memtable, pt_key_table(key), key, direction, &node),
                     SQLITE_OK);
    return node;
}

static uint32_t table_at(size_t at)
{
    return pt_key_table(sample_slice(&keys[at]));
}

/* Seeks a key and walks from there to the end of its table. */
static void assert_walk(pt_memtable *memtable, size_t from, pt_direction direction)
{
    pt_memtable_node *node = seek(memtable, sample_slice(&keys[from]), direction);
    if (direction == PT_FORWARD) {
        for (size_t at = from; at < key_count && table_at(at) == table_at(from); at++) {
            if (expected.now[at].present) {
                assert_place(node, at);
                node = pt_memtable_step(node, direction);
            }
        }
    } else {
        for (size_t at = from; at-- > 0 && table_at(at) == table_at(from);) {
            if (expected.now[at].present) {
                assert_place(node, at);
                node = pt_memtable_step(node, direction);
            }
        }
    }
    assert_null(node);
}

static void assert_next_table(const pt_memtable *memtable, size_t from)
{
    size_t at = from;
    while (at < key_count && !expected.now[at].present) {
        at++;
    }
    if (from == 0 || table_at(from - 1) != table_at(from)) {
        assert_int_equal(pt_memtable_next_table(memtable, table_at(from)),
                         at < key_count ? table_at(at) : UINT32_MAX);
    }
}

static void assert_sorted(pt_memtable *memtable)
{
    pt_write_set set;
    size_t at = 0;
    assert_int_equal(pt_memtable_sorted(memtable, &set), SQLITE_OK);
    for (size_t i = 0; i < set.count; i++, at++) {
        while (at < key_count && !expected.now[at].present) {
            at++;
        }
        assert_true(at < key_count);
        assert_true(pt_slice_equal(pt_pending_key(set.entries[i]), sample_slice(&keys[at])));
        assert_content(set.entries[i], &expected.now[at]);
    }
    for (; at < key_count; at++) {
        assert_false(expected.now[at].present);
    }
    sqlite3_free(set.entries);
}

static void assert_same(pt_memtable *memtable)
{
    for (size_t at = 0; at < key_count; at++) {
        assert_found(memtable, at);
        assert_next_table(memtable, at);
        if (at == 0 || table_at(at - 1) != table_at(at)) {
            assert_walk(memtable, at, PT_FORWARD);
        }
        if (at + 1 == key_count || table_at(at + 1) != table_at(at)) {
            assert_walk(memtable, at, PT_BACKWARD);
        }
    }
    assert_sorted(memtable);
}

/* --- Tests --- */

/* The indexes are built when they are first needed: runs differ in when that is. Some have the
 * memtable of the run before. */
static void behaves_like_a_sorted_array(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        int first_find = (int)(run % 4) * 100;
        int first_seek = (int)(run % 5) * 100;
        begin(run % SAMPLE_KINDS, &seed);
        if (run % 3 == 0) {
            pt_memtable_free(memtable);
            memtable = pt_memtable_new();
        }
        int steps = run % 7 == 0 ? 30 : 600;
        for (int step = 0; step < steps; step++) {
            take_step(memtable, &seed);
            size_t at = sample_random(&seed) % key_count;
            if (step >= first_find) {
                assert_found(memtable, at);
            }
            if (step >= first_seek && step % 10 == 0) {
                assert_walk(memtable, at, PT_FORWARD);
                assert_walk(memtable, at, PT_BACKWARD);
            }
        }
        assert_sorted(memtable);
        assert_same(memtable);
        pt_memtable_reset(memtable);
        assert_int_equal(pt_memtable_length(memtable), 0);
        assert_int_equal(pt_memtable_version(memtable), 0);
    }
    pt_memtable_free(memtable);
}

/* Loads in key order take short cuts, until a key comes that is not beyond the others. */
static void loads_in_ascending_order(void **state)
{
    (void)state;
    for (uint64_t run = 0; run < 40; run++) {
        uint64_t seed = run;
        begin(SAMPLE_ANY, &seed);
        pt_memtable *memtable = pt_memtable_new();
        size_t until = run % 4 == 0 ? key_count : sample_random(&seed) % key_count;
        for (size_t at = 0; at < until; at++) {
            if (at % 50 == 49) {
                set_mark(memtable);
            }
            assert_found(memtable, at);
            put(memtable, at, &seed);
        }
        assert_sorted(memtable);
        if (run % 2 == 0 && expected.marks > 0) {
            roll_back_to(memtable, sample_random(&seed) % expected.marks);
        }
        assert_sorted(memtable);
        for (int step = 0; step < 20; step++) {
            put(memtable, sample_random(&seed) % key_count, &seed);
        }
        assert_same(memtable);
        pt_memtable_free(memtable);
    }
}

static void loads_in_ascending_order_need_no_index(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin(SAMPLE_ANY, &seed);
    pt_memtable *memtable = pt_memtable_new();
    for (size_t at = 0; at < key_count; at++) {
        pt_pending *pending;
        failing_malloc_arm(0, true);
        assert_int_equal(pt_memtable_find(memtable, sample_slice(&keys[at]), &pending), SQLITE_OK);
        assert_false(failing_malloc_disarm());
        assert_null(pending);
        put(memtable, at, &seed);
    }
    pt_memtable_free(memtable);
}

/* As for a table and its indexes. */
static void loads_of_several_tables_need_no_index(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin(SAMPLE_ANY, &seed);
    size_t first[TABLES + 1] = {0};
    size_t tables = 0;
    for (size_t at = 1; at < key_count; at++) {
        if (table_at(at) != table_at(at - 1)) {
            first[++tables] = at;
        }
    }
    assert_int_equal(tables + 1, TABLES);
    first[TABLES] = key_count;
    pt_memtable *memtable = pt_memtable_new();
    for (size_t step = 0; step < key_count; step++) {
        for (size_t table = 0; table < TABLES; table++) {
            size_t at = first[table] + step;
            if (at >= first[table + 1]) {
                continue;
            }
            pt_pending *pending;
            failing_malloc_arm(0, true);
            assert_int_equal(pt_memtable_find(memtable, sample_slice(&keys[at]), &pending),
                             SQLITE_OK);
            assert_null(pending);
            failing_malloc_disarm();
            put(memtable, at, &seed);
            failing_malloc_arm(0, true);
            assert_found(memtable, at);
            assert_false(failing_malloc_disarm());
        }
    }
    assert_same(memtable);
    pt_memtable_free(memtable);
}

/* --- Entries of indexes --- */

enum { ENTRIES_OF_A_VALUE = 5 };

/* Makes keys of entries of a unique index: some entities have no value, then each value has some.
 */
static void begin_entries(void)
{
    key_count = KEYS;
    memset(&expected, 0, sizeof expected);
    pt_buffer key = {0};
    for (size_t at = 0; at < KEYS; at++) {
        char text[3] = {(char)('a' + at / ENTRIES_OF_A_VALUE / 8),
                        (char)('a' + at / ENTRIES_OF_A_VALUE % 8)};
        bool none = at / ENTRIES_OF_A_VALUE == 0;
        pt_value value = {.type = none ? PT_NONE : PT_STRING, .bytes = pt_slice_text(text)};
        char row = (char)('a' + at % ENTRIES_OF_A_VALUE);
        pt_buffer_clear(&key);
        pt_entry_append(&key, &value);
        pt_key_append(&key, pt_slice_text("p"), pt_slice_of(&row, 1));
        assert_false(key.failed);
        keys[at].size = key.size;
        memcpy(keys[at].bytes, key.data, key.size);
        sample_set_table(&keys[at], 7);
    }
    pt_buffer_free(&key);
}

static bool is_live(size_t at)
{
    return expected.now[at].present && expected.now[at].operation != PT_DELETE;
}

static void put_or_delete_entry(pt_memtable *memtable, size_t at, unsigned columns, uint64_t *seed)
{
    content wanted = {.present = true, .operation = PT_DELETE};
    if (!is_live(at)) {
        wanted = (content){.present = true, .operation = PT_REPLACE, .fill = 3, .size = 4};
    } else if (sample_random(seed) % 2 == 0) {
        return;
    }
    const pt_entry_key entry = {
        .key = sample_slice(&keys[at]), .columns = columns, .is_new = !is_live(at)};
    uint8_t *record = pt_memtable_put_entry(memtable, &entry, wanted.operation, wanted.size);
    assert_non_null(record);
    memset(record, wanted.fill, wanted.size);
    expected.now[at] = wanted;
}

/* Finds all entries with the values of an entry. */
static void assert_entries_with_values(pt_memtable *memtable, size_t of)
{
    size_t first = of / ENTRIES_OF_A_VALUE * ENTRIES_OF_A_VALUE;
    pt_slice key = sample_slice(&keys[of]);
    pt_slice parts = pt_slice_of(key.data, 1 + pt_entry_whole_parts_size(pt_key_entity(key), 1));
    bool found[ENTRIES_OF_A_VALUE] = {false};
    size_t place = SIZE_MAX;
    pt_pending *pending;
    for (;;) {
        assert_int_equal(pt_memtable_next_entry(memtable, parts, &place, &pending), SQLITE_OK);
        if (pending == NULL) {
            break;
        }
        assert_true(pending->of_index);
        size_t at = first;
        while (!pt_slice_equal(pt_pending_key(pending), sample_slice(&keys[at]))) {
            at++;
            assert_true(at < first + ENTRIES_OF_A_VALUE);
        }
        assert_false(found[at - first]);
        found[at - first] = true;
        assert_content(pending, &expected.now[at]);
    }
    for (size_t i = 0; i < ENTRIES_OF_A_VALUE; i++) {
        assert_int_equal(found[i], expected.now[first + i].present);
    }
}

static void finds_entries_of_unique_indexes_by_their_values(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 30; run++) {
        uint64_t seed = run;
        begin_entries();
        pt_memtable *memtable = pt_memtable_new();
        bool in_order = run % 3 == 0;
        for (size_t step = 0; step < KEYS; step++) {
            uint32_t choice = sample_random(&seed) % 20;
            size_t at = in_order ? step : sample_random(&seed) % KEYS;
            if (choice == 0 && expected.marks < MARKS) {
                set_mark(memtable);
            } else if (choice == 1 && expected.marks > 0) {
                roll_back_to(memtable, sample_random(&seed) % expected.marks);
            } else {
                put_or_delete_entry(memtable, at, 1, &seed);
            }
            if (run % 2 == 0 || step > KEYS / 2) {
                assert_entries_with_values(memtable,
                                           ENTRIES_OF_A_VALUE + at % (KEYS - ENTRIES_OF_A_VALUE));
            }
        }
        assert_same(memtable);
        pt_memtable_free(memtable);
    }
}

/* A load puts them without looking for them, in whatever order they come. */
static void new_entries_need_no_index(void **state)
{
    (void)state;
    uint64_t seed = 5;
    begin_entries();
    pt_memtable *memtable = pt_memtable_new();
    for (size_t i = 0; i < 40; i++) {
        put_or_delete_entry(memtable, i * 77 % KEYS, 0, &seed);
    }
    /* The first deletion has to look, and needs memory for that. */
    const pt_entry_key lost = {.key = sample_slice(&keys[0])};
    failing_malloc_arm(0, true);
    assert_null(pt_memtable_put_entry(memtable, &lost, PT_DELETE, 0));
    assert_true(failing_malloc_disarm());
    assert_same(memtable);
    pt_memtable_free(memtable);
}

static void entries_need_memory(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin_entries();
    pt_memtable *memtable = pt_memtable_new();
    const pt_entry_key entry = {.key = sample_slice(&keys[9]), .columns = 1, .is_new = true};
    failing_malloc_arm(0, true);
    assert_null(pt_memtable_put_entry(memtable, &entry, PT_REPLACE, 4));
    failing_malloc_disarm();
    assert_null(pt_memtable_put_entry(memtable, &entry, PT_REPLACE, (size_t)UINT32_MAX + 1));
    put_or_delete_entry(memtable, 9, 1, &seed);
    put_or_delete_entry(memtable, 7, 1, &seed);
    size_t place = SIZE_MAX;
    pt_pending *pending;
    failing_malloc_arm(0, true);
    assert_int_equal(pt_memtable_next_entry(memtable, entry.key, &place, &pending), SQLITE_NOMEM);
    failing_malloc_disarm();
    assert_entries_with_values(memtable, 9);
    pt_memtable_free(memtable);
}

/* --- Where nothing is left, or nothing is possible --- */

/* Once everything is undone it is a fresh one, also after keys in any order. */
static void is_empty_after_everything_is_undone(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin(SAMPLE_SHARED, &seed);
    pt_memtable *memtable = pt_memtable_new();
    assert_same(memtable);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            put(memtable, sample_random(&seed) % key_count, &seed);
        }
        pt_memtable_discard(memtable, 0);
        memset(expected.now, 0, sizeof expected.now);
        assert_int_equal(pt_memtable_length(memtable), 0);
        assert_same(memtable);
        for (size_t at = 0; at < key_count; at++) {
            put(memtable, at, &seed);
        }
        assert_same(memtable);
        pt_memtable_discard(memtable, 0);
        memset(expected.now, 0, sizeof expected.now);
    }
    pt_memtable_free(memtable);
}

/* The key of one letter in a table. */
static sample_key letter_key(uint32_t table, char letter)
{
    sample_key key = {.bytes = {(uint8_t)letter}, .size = 1};
    sample_set_table(&key, table);
    return key;
}

static uint8_t *put_size(pt_memtable *memtable, char letter, size_t size)
{
    sample_key key = letter_key(1, letter);
    uint8_t *record = pt_memtable_put(memtable, sample_slice(&key), PT_REPLACE, size);
    assert_non_null(record);
    memset(record, (int)size, size);
    return record;
}

static void overwrites_in_place_where_no_savepoint_needs_the_old(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    uint8_t *first = put_size(memtable, 'a', 20);
    put_size(memtable, 'b', 20);
    assert_ptr_equal(put_size(memtable, 'a', 10), first);
    assert_ptr_equal(put_size(memtable, 'a', 20), first);
    assert_int_equal(pt_memtable_length(memtable), 2);
    pt_memtable_protect(memtable, 2);
    uint8_t *second = put_size(memtable, 'a', 15);
    assert_ptr_not_equal(second, first);
    assert_ptr_equal(put_size(memtable, 'a', 5), second);
    assert_int_equal(pt_memtable_length(memtable), 3);
    pt_memtable_discard(memtable, 2);
    pt_pending *pending;
    sample_key key = letter_key(1, 'a');
    assert_int_equal(pt_memtable_find(memtable, sample_slice(&key), &pending), SQLITE_OK);
    assert_int_equal(pt_pending_record(pending).size, 20);
    pt_memtable_free(memtable);
}

static void a_larger_record_becomes_a_newer_version(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    put_size(memtable, 'a', 10);
    put_size(memtable, 'a', 11);
    assert_int_equal(pt_memtable_length(memtable), 2);
    pt_write_set set;
    assert_int_equal(pt_memtable_sorted(memtable, &set), SQLITE_OK);
    assert_int_equal(set.count, 1);
    assert_int_equal(pt_pending_record(set.entries[0]).size, 11);
    sqlite3_free(set.entries);
    pt_memtable_free(memtable);
}

static void put_in_table(pt_memtable *memtable, uint32_t table, char letter)
{
    sample_key key = letter_key(table, letter);
    assert_non_null(pt_memtable_put(memtable, sample_slice(&key), PT_DELETE, 0));
}

static void tells_which_tables_it_may_hold(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    for (int round = 0; round < 2; round++) {
        assert_false(pt_memtable_may_hold(memtable, 0));
        assert_false(pt_memtable_may_hold(memtable, 5));
        put_in_table(memtable, 5, 'a');
        assert_false(pt_memtable_may_hold(memtable, 4));
        assert_true(pt_memtable_may_hold(memtable, 5));
        assert_false(pt_memtable_may_hold(memtable, 6));
        put_in_table(memtable, 9, 'a');
        put_in_table(memtable, 3, 'a');
        put_in_table(memtable, 5, 'a');
        assert_false(pt_memtable_may_hold(memtable, 2));
        assert_true(pt_memtable_may_hold(memtable, 3));
        assert_true(pt_memtable_may_hold(memtable, 9));
        assert_false(pt_memtable_may_hold(memtable, 10));
        pt_memtable_discard(memtable, 1);
        assert_true(pt_memtable_may_hold(memtable, 5));
        pt_memtable_discard(memtable, 0);
    }
    pt_memtable_free(memtable);
}

/* It remembers a few tables for the next transaction. */
static void forgets_its_tables(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    for (int round = 0; round < 2; round++) {
        for (uint32_t tables = 1; tables <= 30; tables++) {
            for (uint32_t table = tables; table > 0; table--) {
                put_in_table(memtable, table, 'b');
                put_in_table(memtable, table, 'a');
            }
            pt_write_set set;
            assert_int_equal(pt_memtable_sorted(memtable, &set), SQLITE_OK);
            assert_int_equal(set.count, 2 * tables);
            for (size_t i = 0; i < set.count; i++) {
                assert_int_equal(pt_key_table(pt_pending_key(set.entries[i])), 1 + i / 2);
            }
            sqlite3_free(set.entries);
            pt_memtable_reset(memtable);
            assert_int_equal(pt_memtable_next_table(memtable, 0), UINT32_MAX);
            assert_false(pt_memtable_may_hold(memtable, 1));
        }
    }
    pt_memtable_free(memtable);
}

/* A commit remembers the entries; they must outlive what is undone afterwards. */
static void pinned_entries_stay_readable(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin(SAMPLE_ANY, &seed);
    pt_memtable *memtable = pt_memtable_new();
    for (int i = 0; i < 200; i++) {
        put(memtable, sample_random(&seed) % key_count, &seed);
    }
    model committed = expected;
    pt_write_set set;
    assert_int_equal(pt_memtable_sorted(memtable, &set), SQLITE_OK);
    pt_memtable_pin(memtable);
    pt_memtable_protect(memtable, pt_memtable_length(memtable));
    pt_memtable_discard(memtable, 0);
    pt_memtable_protect(memtable, 0);
    memset(expected.now, 0, sizeof expected.now);
    for (int i = 0; i < 200; i++) {
        put(memtable, sample_random(&seed) % key_count, &seed);
    }
    assert_same(memtable);
    for (size_t i = 0, at = 0; i < set.count; i++, at++) {
        while (!committed.now[at].present) {
            at++;
        }
        assert_true(pt_slice_equal(pt_pending_key(set.entries[i]), sample_slice(&keys[at])));
        assert_content(set.entries[i], &committed.now[at]);
    }
    sqlite3_free(set.entries);
    pt_memtable_free(memtable);
}

static void undoing_gives_memory_back(void **state)
{
    (void)state;
    uint64_t seed = 1;
    begin(SAMPLE_FEW_BYTES, &seed);
    pt_memtable *memtable = pt_memtable_new();
    sqlite3_int64 used = 0;
    for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 200; i++) {
            put_size(memtable, 'x', (size_t)(i * 10 % 999));
            put(memtable, sample_random(&seed) % key_count, &seed);
        }
        pt_memtable_discard(memtable, 0);
        if (round == 20) {
            used = sqlite3_memory_used();
        }
    }
    assert_true(sqlite3_memory_used() <= used);
    pt_memtable_free(memtable);
}

static void refuses_what_cannot_be_described(void **state)
{
    (void)state;
    pt_memtable *memtable = pt_memtable_new();
    uint8_t *key = calloc(1, UINT16_MAX + 1);
    assert_non_null(key);
    assert_null(pt_memtable_put(memtable, pt_slice_of(key, UINT16_MAX + 1), PT_INSERT, 1));
    assert_null(pt_memtable_put(memtable, pt_slice_of(key, 5), PT_INSERT, (size_t)UINT32_MAX + 1));
    assert_int_equal(pt_memtable_length(memtable), 0);
    assert_non_null(pt_memtable_put(memtable, pt_slice_of(key, UINT16_MAX), PT_INSERT, 1));
    pt_pending *pending;
    assert_int_equal(pt_memtable_find(memtable, pt_slice_of(key, UINT16_MAX), &pending), SQLITE_OK);
    assert_non_null(pending);
    free(key);
    pt_memtable_free(memtable);
}

/* Whatever fails changes nothing and works when it is tried again. */
static void work_without_memory(pt_memtable *memtable, int n, uint64_t *seed)
{
    failing_malloc_arm(n, false);
    for (int step = 0; step < 150; step++) {
        size_t at = sample_random(seed) % key_count;
        if (step % 30 == 29 && expected.marks < MARKS) {
            set_mark(memtable);
        }
        if (!try_put(memtable, at, seed)) {
            assert_true(failing_malloc_disarm());
            assert_same(memtable);
            put(memtable, at, seed);
        }
        pt_memtable_node *node;
        if (step == 60 &&
            pt_memtable_seek(memtable, table_at(at), sample_slice(&keys[at]), PT_FORWARD, &node)) {
            assert_true(failing_malloc_disarm());
            assert_walk(memtable, at, PT_FORWARD);
        }
    }
    pt_write_set set;
    if (pt_memtable_sorted(memtable, &set) == SQLITE_OK) {
        sqlite3_free(set.entries);
    }
}

static void out_of_memory_changes_nothing(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        uint64_t seed = 1;
        begin(SAMPLE_ANY, &seed);
        pt_memtable *memtable = pt_memtable_new();
        work_without_memory(memtable, n, &seed);
        bool hit = failing_malloc_hit;
        failing_malloc_disarm();
        assert_same(memtable);
        roll_back_to(memtable, 1);
        assert_same(memtable);
        pt_memtable_free(memtable);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 8);
            break;
        }
    }
    failing_malloc_arm(0, true);
    assert_null(pt_memtable_new());
    failing_malloc_disarm();
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behaves_like_a_sorted_array),
        cmocka_unit_test(loads_in_ascending_order),
        cmocka_unit_test(loads_in_ascending_order_need_no_index),
        cmocka_unit_test(loads_of_several_tables_need_no_index),
        cmocka_unit_test(finds_entries_of_unique_indexes_by_their_values),
        cmocka_unit_test(new_entries_need_no_index),
        cmocka_unit_test(entries_need_memory),
        cmocka_unit_test(is_empty_after_everything_is_undone),
        cmocka_unit_test(overwrites_in_place_where_no_savepoint_needs_the_old),
        cmocka_unit_test(a_larger_record_becomes_a_newer_version),
        cmocka_unit_test(tells_which_tables_it_may_hold),
        cmocka_unit_test(forgets_its_tables),
        cmocka_unit_test(pinned_entries_stay_readable),
        cmocka_unit_test(undoing_gives_memory_back),
        cmocka_unit_test(refuses_what_cannot_be_described),
        cmocka_unit_test(out_of_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
