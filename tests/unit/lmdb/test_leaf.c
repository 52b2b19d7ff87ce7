/*
 * Leaf pages read directly, against LMDB's own steps; and the engine's cursors, which walk them,
 * against a sorted array.
 */
#include "fixtures/raw_store.h"

#include "fixtures/sample_keys.h"
#include "lmdb/leaf.h"

enum {
    PAGE = 4096, /* what LMDB takes on most machines; the tests on single pages need no other */
    ENTRIES_MAX = 1500,
    KEY_MAX = 1300,
    LINK = 511,
    OVERFLOW = 2030, /* about here values begin to lie on overflow pages */
};

typedef struct entry {
    uint8_t key[KEY_MAX];
    size_t key_size;
    size_t record_size;
    uint8_t filler;
} entry;

typedef struct contents {
    size_t count;
    size_t key_least, key_most;
    size_t record_least, record_most;
    unsigned keep; /* of so many entries one is left, the others deleted; 0: all are */
} contents;

static entry entries[ENTRIES_MAX]; /* sorted, each key once */
static size_t entry_count;

static pt_slice key_at(size_t at)
{
    return pt_slice_of(entries[at].key, entries[at].key_size);
}

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    return pt_slice_compare(pt_slice_of(x->key, x->key_size), pt_slice_of(y->key, y->key_size));
}

static size_t between(size_t least, size_t most, uint64_t *seed)
{
    return least + sample_random(seed) % (most - least + 1);
}

/* Keys of a table, of which many begin alike. */
static void make_entries(const contents *wanted, uint64_t *seed)
{
    for (size_t i = 0; i < wanted->count; i++) {
        entry *made = &entries[i];
        made->key_size = between(wanted->key_least, wanted->key_most, seed);
        memset(made->key, 'k', made->key_size);
        made->key[0] = 1;
        pt_put_be32(made->key + 1, sample_random(seed) % 40);
        pt_put_be32(made->key + made->key_size - 4, sample_random(seed));
        made->record_size = between(wanted->record_least, wanted->record_most, seed);
        made->filler = (uint8_t)sample_random(seed);
    }
    qsort(entries, wanted->count, sizeof entries[0], compare_entries);
    entry_count = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        if (entry_count == 0 || compare_entries(&entries[entry_count - 1], &entries[i]) != 0) {
            entries[entry_count++] = entries[i];
        }
    }
}

static pt_slice record_at(size_t at)
{
    static uint8_t bytes[4 * PAGE];
    memset(bytes, entries[at].filler, entries[at].record_size);
    return pt_slice_of(bytes, entries[at].record_size);
}

static const contents various[] = {
    {.count = 1500, .key_least = 12, .key_most = 40, .record_most = 30},
    {.count = 600, .key_least = 12, .key_most = 60, .record_least = 0, .record_most = 900},
    {.count = 200, .key_least = 12, .key_most = 40, .record_least = 1700, .record_most = 2100},
    {.count = 300, .key_least = 12, .key_most = 20, .record_least = 5, .record_most = 9000},
    {.count = 400, .key_least = 12, .key_most = LINK, .record_least = 0, .record_most = 2200},
    {.count = 400, .key_least = 508, .key_most = LINK, .record_least = 8, .record_most = 80},
    {.count = 900, .key_least = 12, .key_most = 40, .record_most = 300, .keep = 4},
    {.count = 300,
     .key_least = 12,
     .key_most = 40,
     .record_least = 1500,
     .record_most = 1950,
     .keep = 3},
    {.count = 1, .key_least = 12, .key_most = 12, .record_most = 10},
    {.count = 2, .key_least = 12, .key_most = 12, .record_most = 10},
};
enum { VARIOUS = sizeof various / sizeof various[0] };

/* --- Single pages --- */

typedef struct raw {
    MDB_env *env;
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_dbi dbi;
    size_t page_size;
} raw;

static void drop_some(raw *file, const contents *wanted, uint64_t *seed)
{
    for (size_t i = 0; i < entry_count; i++) {
        MDB_val key = {.mv_size = entries[i].key_size, .mv_data = entries[i].key};
        if (wanted->keep != 0 && sample_random(seed) % wanted->keep != 0) {
            assert_int_equal(mdb_del(file->txn, file->dbi, &key, NULL), 0);
        }
    }
}

static void begin_raw(raw *file, unsigned flags)
{
    assert_int_equal(mdb_txn_begin(file->env, NULL, flags, &file->txn), 0);
    assert_int_equal(mdb_dbi_open(file->txn, "entities", flags == 0 ? MDB_CREATE : 0, &file->dbi),
                     0);
}

/* A file of LMDB with the entries, put in an order that is not theirs, and a reader of it. */
static void open_raw(raw *file, const contents *wanted, uint64_t *seed)
{
    unlink(fixture_path);
    make_entries(wanted, seed);
    assert_int_equal(mdb_env_create(&file->env), 0);
    mdb_env_set_maxdbs(file->env, 2);
    mdb_env_set_mapsize(file->env, 1 << 26);
    assert_int_equal(mdb_env_open(file->env, fixture_path, MDB_NOSUBDIR | MDB_NOSYNC, 0644), 0);
    MDB_stat stat;
    mdb_env_stat(file->env, &stat);
    file->page_size = stat.ms_psize;
    begin_raw(file, 0);
    for (size_t i = 0; i < entry_count; i++) {
        size_t at = i * 7919 % entry_count;
        pt_slice record = record_at(at);
        MDB_val key = {.mv_size = entries[at].key_size, .mv_data = entries[at].key};
        MDB_val value = {.mv_size = record.size, .mv_data = (void *)(uintptr_t)record.data};
        assert_int_equal(mdb_put(file->txn, file->dbi, &key, &value, 0), 0);
    }
    drop_some(file, wanted, seed);
    assert_int_equal(mdb_txn_commit(file->txn), 0);
    begin_raw(file, MDB_RDONLY);
    assert_int_equal(mdb_cursor_open(file->txn, file->dbi, &file->cursor), 0);
}

static void close_raw(raw *file)
{
    mdb_cursor_close(file->cursor);
    mdb_txn_abort(file->txn);
    mdb_env_close(file->env);
}

static uintptr_t page_of(const raw *file, const void *address)
{
    return (uintptr_t)address & ~(uintptr_t)(file->page_size - 1);
}

static bool is_beyond(const MDB_val *key, pt_slice limit, pt_direction direction)
{
    int order = pt_slice_compare(pt_slice_of(key->mv_data, key->mv_size), limit);
    return limit.size != 0 && (direction == PT_FORWARD ? order >= 0 : order < 0);
}

/* Where LMDB's cursor stands now: why the leaf went no further. */
static void assert_end(const raw *file, const pt_lmdb_leaf *leaf, uintptr_t page, int mdb_rc,
                       const MDB_val *key, const MDB_val *value, pt_slice limit)
{
    bool ended = leaf->left == 0 && leaf->at_limit;
    if (mdb_rc == MDB_NOTFOUND || page_of(file, key->mv_data) != page) {
        assert_false(ended);
        return;
    }
    bool beyond = is_beyond(key, limit, leaf->direction);
    bool link = key->mv_size == LINK;
    bool overflow = page_of(file, value->mv_data) != page;
    assert_true(beyond || link || overflow);
    assert_int_equal(ended, beyond && !link);
}

/* Walks from where LMDB's cursor stands, beside it. */
static void walk_beside(raw *file, pt_direction direction, pt_slice limit)
{
    MDB_val key;
    MDB_val value;
    pt_lmdb_leaf leaf;
    assert_int_equal(mdb_cursor_get(file->cursor, &key, &value, MDB_GET_CURRENT), 0);
    uintptr_t page = page_of(file, key.mv_data);
    assert_true(pt_lmdb_leaf_enter(&leaf, key.mv_data, file->page_size, direction, limit));
    for (;;) {
        pt_slice found_key;
        pt_slice found;
        bool stepped = pt_lmdb_leaf_step(&leaf, &found_key, &found);
        MDB_cursor_op op = direction == PT_FORWARD ? MDB_NEXT : MDB_PREV;
        int mdb_rc = mdb_cursor_get(file->cursor, &key, &value, op);
        if (!stepped) {
            assert_end(file, &leaf, page, mdb_rc, &key, &value, limit);
            return;
        }
        assert_int_equal(mdb_rc, 0);
        assert_false(is_beyond(&key, limit, direction));
        assert_ptr_equal(found_key.data, key.mv_data);
        assert_int_equal(found_key.size, key.mv_size);
        assert_ptr_equal(found.data, value.mv_data);
        assert_int_equal(found.size, value.mv_size);
    }
}

static void set_cursor(raw *file, MDB_val *key)
{
    MDB_val value;
    MDB_val sought = *key;
    assert_int_equal(mdb_cursor_get(file->cursor, &sought, &value, MDB_SET), 0);
}

static void walk_from_everywhere(raw *file, uint64_t *seed)
{
    MDB_val key;
    MDB_val value;
    int mdb_rc = mdb_cursor_get(file->cursor, &key, &value, MDB_FIRST);
    while (mdb_rc == 0) {
        MDB_val from = key;
        for (int direction = PT_FORWARD; direction <= PT_BACKWARD; direction++) {
            set_cursor(file, &from);
            walk_beside(file, (pt_direction)direction, (pt_slice){0});
            for (int i = 0; i < 3; i++) {
                pt_slice limit = key_at(sample_random(seed) % entry_count);
                set_cursor(file, &from);
                walk_beside(file, (pt_direction)direction, limit);
            }
        }
        set_cursor(file, &from);
        mdb_rc = mdb_cursor_get(file->cursor, &key, &value, MDB_NEXT);
    }
    assert_int_equal(mdb_rc, MDB_NOTFOUND);
}

static void leaves_are_walked_as_lmdb_does(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < VARIOUS; i++) {
        uint64_t seed = i;
        raw file;
        open_raw(&file, &various[i], &seed);
        assert_true(pt_lmdb_leaf_is_known(file.page_size));
        walk_from_everywhere(&file, &seed);
        close_raw(&file);
    }
}

static void only_pages_of_the_memory_s_size_are_known(void **state)
{
    (void)state;
    assert_true(pt_lmdb_leaf_is_known(PAGE));
    assert_false(pt_lmdb_leaf_is_known(0));
    assert_false(pt_lmdb_leaf_is_known(PAGE - 2));
    assert_false(pt_lmdb_leaf_is_known((size_t)1 << 20));
}

/* --- Damaged pages --- */

enum { HEADER = 16, SMALL = 100 };

/* A page by itself in memory: nothing beside it may be read. */
static uint8_t *build_page(size_t *key_offset)
{
    uint8_t *page = aligned_alloc(PAGE, PAGE);
    assert_non_null(page);
    memset(page, 0, PAGE);
    size_t at = PAGE;
    const size_t count = 20;
    for (size_t i = 0; i < count; i++) {
        at -= SMALL;
        pt_put_le32(page + at, SMALL - 8 - 12);
        pt_put_le16(page + at + 6, 12);
        pt_put_be32(page + at + 8, (uint32_t)i);
        pt_put_le16(page + HEADER + 2 * i, (uint16_t)at);
    }
    pt_put_le16(page + 10, 2);
    pt_put_le16(page + 12, (uint16_t)(HEADER + 2 * count));
    pt_put_le16(page + 14, (uint16_t)at);
    *key_offset = PAGE - 10 * SMALL + 8;
    return page;
}

static bool lies_in(const uint8_t *page, pt_slice bytes)
{
    return bytes.data >= page && bytes.size <= PAGE && bytes.data + bytes.size <= page + PAGE;
}

/* Returns how many entries are found. */
static unsigned walk_page(const uint8_t *page, size_t key_offset, pt_direction direction,
                          pt_slice limit)
{
    unsigned count = 0;
    pt_lmdb_leaf leaf;
    pt_slice key;
    pt_slice value;
    if (!pt_lmdb_leaf_enter(&leaf, page + key_offset, PAGE, direction, limit)) {
        assert_null(leaf.page);
        return 0;
    }
    while (pt_lmdb_leaf_step(&leaf, &key, &value)) {
        assert_true(lies_in(page, key));
        assert_true(lies_in(page, value));
        count++;
    }
    return count;
}

static void damaged_headers_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint16_t value;
    } damages[] = {
        {10, 0},  {10, 1},          {10, 4},          {10, 0x22},       {10, 0x42}, {10, 0x12},
        {12, 0},  {12, 15},         {12, HEADER},     {12, PAGE - 1},   {12, 20},   {14, PAGE + 2},
        {14, 20}, {14, UINT16_MAX}, {12, UINT16_MAX}, {HEADER + 18, 0},
    };
    size_t key_offset;
    uint8_t *page = build_page(&key_offset);
    assert_int_equal(walk_page(page, key_offset, PT_FORWARD, (pt_slice){0}), 10);
    assert_int_equal(walk_page(page, key_offset, PT_BACKWARD, (pt_slice){0}), 9);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        uint16_t sound = pt_get_le16(page + damages[i].at);
        pt_put_le16(page + damages[i].at, damages[i].value);
        pt_lmdb_leaf leaf;
        assert_false(pt_lmdb_leaf_enter(&leaf, page + key_offset, PAGE, PT_FORWARD, (pt_slice){0}));
        assert_null(leaf.page);
        pt_put_le16(page + damages[i].at, sound);
    }
    pt_lmdb_leaf leaf;
    assert_false(pt_lmdb_leaf_enter(&leaf, page + 4, PAGE, PT_FORWARD, (pt_slice){0}));
    assert_false(pt_lmdb_leaf_enter(&leaf, page + key_offset + 2, PAGE, PT_FORWARD, (pt_slice){0}));
    free(page);
}

/* The walk ends before the entry, the fourth from where it begins. */
static void damaged_entries_are_left_alone(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint16_t value;
    } damages[] = {
        {0, 2700}, {2, 1}, {2, UINT16_MAX}, {4, 1}, {4, 2}, {4, 4}, {6, LINK}, {6, UINT16_MAX},
    };
    size_t key_offset;
    uint8_t *page = build_page(&key_offset);
    uint8_t *damaged = page + pt_get_le16(page + HEADER + 2 * 13);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        uint16_t sound = pt_get_le16(damaged + damages[i].at);
        pt_put_le16(damaged + damages[i].at, damages[i].value);
        assert_int_equal(walk_page(page, key_offset, PT_FORWARD, (pt_slice){0}), 3);
        pt_put_le16(damaged + damages[i].at, sound);
    }
    static const uint16_t offsets[] = {PAGE - 7, PAGE - 2, PAGE, UINT16_MAX};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        pt_put_le16(page + HEADER + 2 * 13, offsets[i]);
        assert_int_equal(walk_page(page, key_offset, PT_FORWARD, (pt_slice){0}), 3);
    }
    free(page);
}

/* Without a limit, a fence is the first that looks at the entries before it. */
static void a_fence_leaves_damaged_entries_alone(void **state)
{
    (void)state;
    enum { FENCE = 12 };
    for (int direction = PT_FORWARD; direction <= PT_BACKWARD; direction++) {
        size_t key_offset;
        uint8_t fence[12] = {0};
        pt_lmdb_leaf leaf;
        pt_slice key;
        pt_slice value;
        uint8_t *page = build_page(&key_offset);
        uint8_t *begin = page + pt_get_le16(page + HEADER + 2 * (direction == PT_FORWARD ? 5 : 19));
        pt_put_be32(fence, FENCE);
        assert_true(
            pt_lmdb_leaf_enter(&leaf, begin + 8, PAGE, (pt_direction)direction, (pt_slice){0}));
        for (unsigned i = 0; i < 20; i++) {
            if (page + pt_get_le16(page + HEADER + 2 * i) != begin) {
                pt_put_le16(page + HEADER + 2 * i, PAGE - 2);
            }
        }
        pt_lmdb_leaf_fence(&leaf, pt_slice_of(fence, sizeof fence));
        assert_false(pt_lmdb_leaf_step(&leaf, &key, &value));
        free(page);
    }
}

static void no_damage_leads_outside_the_page(void **state)
{
    (void)state;
    uint64_t seed = 1;
    size_t key_offset;
    uint8_t *page = build_page(&key_offset);
    uint8_t *sound = build_page(&key_offset);
    for (int round = 0; round < 30000; round++) {
        memcpy(page, sound, PAGE);
        for (uint32_t damages = 1 + sample_random(&seed) % 3; damages > 0; damages--) {
            size_t place =
                sample_random(&seed) % 2 == 0
                    ? sample_random(&seed) % (HEADER + 2 * 20)
                    : PAGE - SMALL * (1 + sample_random(&seed) % 20) + sample_random(&seed) % 8;
            page[place] = (uint8_t)sample_random(&seed);
        }
        uint8_t limit[12] = {0};
        pt_put_be32(limit, sample_random(&seed) % 22);
        pt_slice limits[] = {{0}, pt_slice_of(limit, sizeof limit)};
        walk_page(page, key_offset, sample_random(&seed) % 2, limits[sample_random(&seed) % 2]);
    }
    free(page);
    free(sound);
}

/* --- Cursors --- */

static void fill_store(pt_store *store, const contents *wanted, uint64_t *seed)
{
    make_entries(wanted, seed);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (size_t i = 0; i < entry_count; i++) {
        size_t at = i * 7919 % entry_count;
        assert_ok(engine->write_put(writer, key_at(at), record_at(at), &error));
    }
    commit_write(writer);
    size_t kept = 0;
    writer = begin_write(store);
    for (size_t i = 0; i < entry_count; i++) {
        if (wanted->keep != 0 && sample_random(seed) % wanted->keep != 0) {
            assert_ok(engine->write_delete(writer, key_at(i), &error));
        } else {
            entries[kept++] = entries[i];
        }
    }
    entry_count = kept;
    commit_write(writer);
    engine->unlock(store);
}

static void assert_entry(const pt_engine_cursor *cursor, long at, bool valid)
{
    assert_int_equal(cursor->valid, valid);
    if (valid) {
        assert_true(pt_slice_equal(cursor->key, key_at((size_t)at)));
        assert_true(pt_slice_equal(cursor->record, record_at((size_t)at)));
    }
}

/* Positions are numbers of entries; the one behind the last is a limit, too. */
static pt_slice position(long at)
{
    static const uint8_t end[] = {2};
    return at < (long)entry_count ? key_at((size_t)at) : pt_slice_of(end, sizeof end);
}

static unsigned long skipped;

/* Through a part of the entries, now and then a few steps back or many at once, now and then with a
 * new limit. */
static void walk_randomly(pt_engine_cursor *cursor, uint64_t *seed)
{
    pt_direction direction = sample_random(seed) % 2 == 0 ? PT_FORWARD : PT_BACKWARD;
    long sign = direction == PT_FORWARD ? 1 : -1;
    long count = (long)entry_count;
    long from = (long)(sample_random(seed) % (entry_count + 1));
    long limit = (long)(sample_random(seed) % (entry_count + 1));
    uint32_t turns = sample_random(seed) % 3 == 0 ? 5 : 1 << 20;
    assert_ok(engine->cursor_seek(cursor, position(from), position(limit), direction, &error));
    long at = direction == PT_FORWARD ? from : from - 1;
    while (cursor->valid) {
        bool within = direction == PT_FORWARD ? at < limit : at >= limit;
        assert_entry(cursor, at, within);
        if (sample_random(seed) % turns == 0 && at - sign >= 0 && at - sign < count) {
            assert_ok(engine->cursor_step(cursor, sign > 0 ? PT_BACKWARD : PT_FORWARD, &error));
            at -= sign;
            assert_entry(cursor, at, true);
        }
        if (sample_random(seed) % 50 == 0 && (limit - at) * sign > 1) {
            limit -= sign * (long)(sample_random(seed) % (uint32_t)((limit - at) * sign));
            engine->cursor_narrow(cursor, position(limit));
        }
        unsigned ahead = sample_random(seed) % 8 == 0 ? engine->cursor_ahead(cursor, direction) : 0;
        if (ahead != 0) {
            unsigned steps = 1 + sample_random(seed) % ahead;
            assert_ok(engine->cursor_skip(cursor, direction, steps, &error));
            at += sign * (long)steps;
            assert_entry(cursor, at, true);
            skipped += steps;
            continue;
        }
        assert_ok(engine->cursor_step(cursor, direction, &error));
        at += sign;
    }
    assert_true(direction == PT_FORWARD ? at >= limit || at >= count : at < limit || at < 0);
}

static void cursors_keep_to_their_ranges(void **state)
{
    (void)state;
    skipped = 0;
    for (uint64_t i = 0; i < VARIOUS; i++) {
        contents wanted = various[i];
        wanted.key_most = wanted.key_most >= LINK ? KEY_MAX : wanted.key_most;
        uint64_t seed = i;
        pt_store *store = open_store(fixture_path);
        fill_store(store, &wanted, &seed);
        pt_snapshot *snapshot = begin_snapshot(store);
        pt_engine_cursor *cursor = NULL;
        assert_ok(engine->cursor_open(snapshot, &cursor, &error));
        for (int walk = 0; walk < 60; walk++) {
            walk_randomly(cursor, &seed);
        }
        engine->cursor_close(cursor);
        engine->snapshot_free(snapshot);
        engine->close(store);
        unlink(fixture_path);
    }
    assert_true(skipped > 100);
}

/* A limit that is drawn nearer than where the cursor stands. */
static void a_position_beyond_the_limit_is_lost(void **state)
{
    (void)state;
    uint64_t seed = 1;
    pt_store *store = open_store(fixture_path);
    fill_store(store, &various[0], &seed);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, key_at(20), (pt_slice){0}, PT_FORWARD, &error));
    engine->cursor_narrow(cursor, key_at(21));
    assert_entry(cursor, 20, true);
    engine->cursor_narrow(cursor, key_at(20));
    assert_false(cursor->valid);
    assert_ok(engine->cursor_seek(cursor, key_at(20), (pt_slice){0}, PT_BACKWARD, &error));
    engine->cursor_narrow(cursor, key_at(19));
    assert_entry(cursor, 19, true);
    engine->cursor_narrow(cursor, key_at(20));
    assert_false(cursor->valid);
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* What a cursor knew of a page is gone when it is used again in a later snapshot. */
static void a_cursor_used_again_knows_no_page(void **state)
{
    (void)state;
    uint64_t seed = 1;
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = new_snapshot(store);
    pt_engine_cursor *last = NULL;
    for (int round = 0; round < 20; round++) {
        contents wanted = various[round % 4];
        fill_store(store, &wanted, &seed);
        assert_ok(engine->snapshot_begin(snapshot, &error));
        pt_engine_cursor *cursor = NULL;
        assert_ok(engine->cursor_open(snapshot, &cursor, &error));
        assert_true(last == NULL || cursor == last);
        assert_false(cursor->valid);
        last = cursor;
        walk_randomly(cursor, &seed);
        assert_ok(engine->cursor_seek(cursor, key_at(0), (pt_slice){0}, PT_FORWARD, &error));
        for (int i = 0; i < 5; i++) {
            assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        }
        engine->cursor_close(cursor);
        engine->snapshot_end(snapshot);
        lock_store(store);
        pt_writer *writer = begin_write(store);
        for (size_t i = 0; i < entry_count; i++) {
            assert_ok(engine->write_delete(writer, key_at(i), &error));
        }
        commit_write(writer);
        engine->unlock(store);
    }
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static pt_engine_cursor *inherited;

static int step_inherited(void)
{
    pt_error error = PT_ERROR_NONE;
    int forward = engine->cursor_step(inherited, PT_FORWARD, &error);
    pt_error_clear(&error);
    int backward = engine->cursor_step(inherited, PT_BACKWARD, &error);
    pt_error_clear(&error);
    return forward == SQLITE_OK || backward == SQLITE_OK;
}

static void a_child_does_not_walk_on(void **state)
{
    (void)state;
    uint64_t seed = 1;
    pt_store *store = open_store(fixture_path);
    fill_store(store, &various[0], &seed);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_ok(engine->cursor_open(snapshot, &inherited, &error));
    assert_ok(engine->cursor_seek(inherited, key_at(0), (pt_slice){0}, PT_FORWARD, &error));
    for (long i = 1; i < 5; i++) {
        assert_ok(engine->cursor_step(inherited, PT_FORWARD, &error));
        assert_entry(inherited, i, true);
        await_child(start_child(step_inherited));
    }
    engine->cursor_close(inherited);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(leaves_are_walked_as_lmdb_does),
        store_test(only_pages_of_the_memory_s_size_are_known),
        store_test(damaged_headers_are_left_alone),
        store_test(damaged_entries_are_left_alone),
        store_test(a_fence_leaves_damaged_entries_alone),
        store_test(no_damage_leads_outside_the_page),
        store_test(cursors_keep_to_their_ranges),
        store_test(a_position_beyond_the_limit_is_lost),
        store_test(a_cursor_used_again_knows_no_page),
        store_test(a_child_does_not_walk_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
