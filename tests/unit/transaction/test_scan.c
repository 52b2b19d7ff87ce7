#include "faults/faulty_engine.h"

#include "faults/failing_malloc.h"
#include "fixtures/sample_keys.h"
#include "transaction/scan.h"

enum { KEYS = 120, MARKS = 4, RECORD = 4 };

/* The model: what the store holds for every key of a sorted array, and what is pending over it.
 * Records are numbers. */
enum { NOTHING = 0, DELETED = -1 };

typedef struct model {
    int stored[KEYS];
    int pending[KEYS];
    int saved[MARKS][KEYS];
    size_t lengths[MARKS]; /* of the memtable */
    size_t marks;
} model;

static sample_key keys[KEYS];
static size_t key_count;
static model expected;
static int last_number;
static uint32_t table; /* a new one for every set of keys */

static int setup(void **state)
{
    *state = open_faulty(NULL);
    return 0;
}

static int teardown(void **state)
{
    pt_store *store = *state;
    store->engine->close(store);
    return 0;
}

static void make_keys(uint64_t *seed)
{
    table += 3;
    key_count = sample_sorted(keys, KEYS, SAMPLE_FEW_BYTES, 0, seed);
    for (size_t i = 0; i < key_count; i++) {
        sample_set_table(&keys[i], table);
    }
}

/* A store in which about two of three keys are. */
static void fill(pt_store *store, uint64_t *seed)
{
    make_keys(seed);
    memset(&expected, 0, sizeof expected);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (size_t i = 0; i < key_count; i++) {
        uint8_t record[RECORD];
        if (sample_random(seed) % 3 == 0) {
            assert_ok(engine->write_delete(writer, sample_slice(&keys[i]), &error));
            continue;
        }
        expected.stored[i] = ++last_number;
        pt_put_le32(record, (uint32_t)last_number);
        assert_ok(engine->write_put(writer, sample_slice(&keys[i]),
                                    pt_slice_of(record, sizeof record), &error));
    }
    commit_write(writer);
    engine->unlock(store);
}

static int shown(size_t at)
{
    int number = expected.pending[at] != NOTHING ? expected.pending[at] : expected.stored[at];
    return number == DELETED ? NOTHING : number;
}

/* --- Changing the memtable and the model --- */

static void put(pt_view *view, size_t at, int number)
{
    bool deletes = number == DELETED;
    uint8_t *record = pt_memtable_put(view->memtable, sample_slice(&keys[at]),
                                      deletes ? PT_DELETE : PT_REPLACE, deletes ? 0 : RECORD);
    assert_non_null(record);
    if (!deletes) {
        pt_put_le32(record, (uint32_t)number);
    }
    expected.pending[at] = number;
}

/* A write that the scan must not show. */
static void put_elsewhere(pt_view *view, uint32_t other_table, uint64_t *seed)
{
    sample_key key = sample_make(SAMPLE_FEW_BYTES, seed);
    sample_set_table(&key, other_table);
    assert_non_null(pt_memtable_put(view->memtable, sample_slice(&key), PT_DELETE, 0));
}

static void set_mark(pt_view *view)
{
    size_t mark = expected.marks++;
    memcpy(expected.saved[mark], expected.pending, sizeof expected.pending);
    expected.lengths[mark] = pt_memtable_length(view->memtable);
    pt_memtable_protect(view->memtable, expected.lengths[mark]);
}

static void roll_back(pt_view *view, size_t mark)
{
    memcpy(expected.pending, expected.saved[mark], sizeof expected.pending);
    expected.marks = mark + 1;
    pt_memtable_discard(view->memtable, expected.lengths[mark]);
    pt_memtable_protect(view->memtable, expected.lengths[mark]);
}

/* Something happens near a key, as when statements run while another one reads. */
static void disturb(pt_view *view, size_t near, uint64_t *seed)
{
    if (view->memtable == NULL) {
        view->memtable = pt_memtable_new();
        set_mark(view);
    }
    size_t at = (near + key_count + sample_random(seed) % 9 - 4) % key_count;
    switch (sample_random(seed) % 10) {
    case 0:
        roll_back(view, sample_random(seed) % expected.marks);
        break;
    case 1:
        if (expected.marks < MARKS) {
            set_mark(view);
        }
        break;
    case 2:
    case 3:
    case 4:
        put(view, at, DELETED);
        break;
    case 5:
        put_elsewhere(view, table + (sample_random(seed) % 2 == 0 ? 1u : UINT32_MAX), seed);
        break;
    default:
        put(view, at, ++last_number);
        break;
    }
}

/* --- A scan and what it should show --- */

typedef struct reading {
    pt_scan scan;
    pt_direction direction;
    size_t low, high; /* indexes: low <= at < high */
    size_t at;
} reading;

/* The model's next row from an index on, which is included. False: there is none. */
static bool model_next(const reading *walk, size_t from, size_t *at)
{
    if (walk->direction == PT_FORWARD) {
        for (*at = from; *at < walk->high; ++*at) {
            if (shown(*at) != NOTHING) {
                return true;
            }
        }
        return false;
    }
    for (*at = from + 1; (*at)-- > walk->low;) {
        if (shown(*at) != NOTHING) {
            return true;
        }
    }
    return false;
}

static void assert_row(const reading *walk, size_t at, int number)
{
    assert_true(walk->scan.valid);
    assert_true(pt_slice_equal(walk->scan.key, sample_slice(&keys[at])));
    assert_int_equal(walk->scan.record.size, RECORD);
    assert_int_equal(pt_get_le32(walk->scan.record.data), number);
}

static void open_walk(reading *walk, pt_view *view)
{
    assert_ok(pt_scan_open(&walk->scan, view, &error));
    assert_false(walk->scan.valid);
}

/* The position of an index; the last one is behind the table. */
static pt_slice position(size_t at)
{
    static pt_key_start end;
    end = pt_key_start_of_table(table + 1);
    return at < key_count ? sample_slice(&keys[at]) : pt_key_start_slice(&end);
}

/* Seeks; false if that finds no row. */
static bool start(reading *walk, pt_direction direction, size_t low, size_t high)
{
    walk->direction = direction;
    walk->low = low;
    walk->high = high;
    assert_ok(pt_scan_seek(&walk->scan, position(low), position(high), direction, &error));
    bool found =
        low < high && model_next(walk, direction == PT_FORWARD ? low : high - 1, &walk->at);
    assert_int_equal(walk->scan.valid, found);
    if (found) {
        assert_row(walk, walk->at, shown(walk->at));
    }
    return found;
}

/* After a move to the first row not before an index, or backward to the last one before it; false
 * at the end. */
static bool arrive(reading *walk, size_t index)
{
    bool forward = walk->direction == PT_FORWARD;
    bool found =
        (forward || index > walk->low) && model_next(walk, forward ? index : index - 1, &walk->at);
    assert_int_equal(walk->scan.valid, found);
    if (found) {
        assert_row(walk, walk->at, shown(walk->at));
    }
    return found;
}

static bool go_on(reading *walk)
{
    assert_ok(pt_scan_step(&walk->scan, &error));
    return arrive(walk, walk->direction == PT_FORWARD ? walk->at + 1 : walk->at);
}

static bool leap(reading *walk, uint64_t *seed)
{
    size_t index = walk->direction == PT_FORWARD
                       ? walk->at + 1 + sample_random(seed) % (walk->high - walk->at)
                       : walk->at - sample_random(seed) % (walk->at - walk->low + 1);
    assert_ok(pt_scan_leap(&walk->scan, position(index), &error));
    return arrive(walk, index);
}

static void narrow(reading *walk, uint64_t *seed)
{
    if (walk->direction == PT_FORWARD) {
        walk->high = walk->at + 1 + sample_random(seed) % (walk->high - walk->at);
        assert_ok(pt_scan_narrow(&walk->scan, position(walk->high), &error));
    } else {
        walk->low = walk->at - sample_random(seed) % (walk->at - walk->low + 1);
        assert_ok(pt_scan_narrow(&walk->scan, position(walk->low), &error));
    }
}

static void walk_along(reading *walk, pt_view *view, uint64_t *seed)
{
    size_t low = sample_random(seed) % key_count;
    size_t high = sample_random(seed) % (key_count + 1);
    bool on = start(walk, sample_random(seed) % 2, low, high);
    while (on) {
        int number = shown(walk->at);
        for (uint32_t changes = sample_random(seed) % 3; changes > 0; changes--) {
            disturb(view, walk->at, seed);
        }
        assert_row(walk, walk->at, number);
        if (sample_random(seed) % 10 == 0) {
            narrow(walk, seed);
        }
        on = sample_random(seed) % 8 == 0 ? leap(walk, seed) : go_on(walk);
    }
}

static pt_view *open_view(pt_store *store)
{
    pt_view *view = NULL;
    assert_ok(pt_view_open(store, &view, &error));
    return view;
}

/* --- Tests --- */

static void merges_like_the_model(void **state)
{
    pt_store *store = *state;
    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        fill(store, &seed);
        pt_view *view = open_view(store);
        reading walk = {0};
        open_walk(&walk, view);
        for (int i = 0; i < 20; i++) {
            walk_along(&walk, view, &seed);
        }
        pt_scan_free(&walk.scan);
        pt_view_release(view);
    }
}

/* A statement's own scans: what one's reader writes the others see. */
static void several_scans_share_a_view(void **state)
{
    enum { SCANS = 4 };
    pt_store *store = *state;
    for (uint64_t run = 1; run <= 30; run++) {
        uint64_t seed = run;
        fill(store, &seed);
        pt_view *view = open_view(store);
        reading walks[SCANS] = {0};
        bool on[SCANS];
        for (size_t i = 0; i < SCANS; i++) {
            open_walk(&walks[i], view);
            on[i] = start(&walks[i], i % 2, 0, key_count);
        }
        for (int step = 0; step < 300; step++) {
            size_t i = sample_random(&seed) % SCANS;
            on[i] = on[i] && go_on(&walks[i]);
            if (sample_random(&seed) % 3 == 0) {
                disturb(view, sample_random(&seed) % key_count, &seed);
            }
        }
        for (size_t i = 0; i < SCANS; i++) {
            pt_scan_free(&walks[i].scan);
        }
        pt_view_release(view);
    }
}

/* True if a scan of one key shows it as the model has it, and a step finds nothing more. */
static void assert_point(pt_scan *scan, size_t at)
{
    sample_key key = keys[at];
    uint8_t high[SAMPLE_KEY_MAX + 1] = {0};
    pt_slice low = sample_slice(&key);
    memcpy(high, low.data, low.size);
    assert_ok(pt_scan_seek(scan, low, pt_slice_of(high, low.size + 1), PT_FORWARD, &error));
    assert_int_equal(scan->valid, shown(at) != NOTHING);
    if (scan->valid) {
        assert_true(pt_slice_equal(scan->key, low));
        assert_int_equal(pt_get_le32(scan->record.data), shown(at));
        assert_ok(pt_scan_step(scan, &error));
        assert_false(scan->valid);
    }
}

static void one_key_is_found_like_the_model(void **state)
{
    pt_store *store = *state;
    for (uint64_t run = 1; run <= 30; run++) {
        uint64_t seed = run;
        fill(store, &seed);
        pt_view *view = open_view(store);
        reading walk = {0};
        open_walk(&walk, view);
        for (int i = 0; i < 500; i++) {
            size_t at = sample_random(&seed) % key_count;
            disturb(view, at, &seed);
            assert_point(&walk.scan, at);
        }
        pt_scan_free(&walk.scan);
        pt_view_release(view);
    }
}

/* What comes later than the scan was frozen is not seen, and what was before it is. */
static void one_key_is_found_as_it_was(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    view->memtable = pt_memtable_new();
    put(view, 0, ++last_number);
    put(view, 1, DELETED);
    pt_memtable_protect(view->memtable, pt_memtable_length(view->memtable));
    pt_scan scan = {0};
    assert_ok(pt_scan_open(&scan, view, &error));
    pt_scan_freeze(&scan);
    model then = expected;
    for (size_t at = 0; at < 3; at++) {
        put(view, at, ++last_number);
    }
    expected = then;
    for (size_t at = 0; at < 3; at++) {
        assert_point(&scan, at);
    }
    pt_scan_free(&scan);
    pt_view_release(view);
}

static void writes_to_other_tables_cost_nothing(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    reading walk = {0};
    open_walk(&walk, view);
    assert_true(start(&walk, PT_FORWARD, 0, key_count));
    view->memtable = pt_memtable_new();
    put_elsewhere(view, table - 1, &seed);
    failing_malloc_arm(0, true);
    while (go_on(&walk)) {
    }
    assert_false(failing_malloc_disarm());
    pt_scan_free(&walk.scan);
    pt_view_release(view);
}

static void a_scan_keeps_its_view_alive(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    pt_view *other = open_view(store);
    reading walk = {0};
    open_walk(&walk, view);
    assert_int_equal(view->references, 2);
    open_walk(&walk, other);
    assert_int_equal(view->references, 1);
    assert_int_equal(other->references, 2);
    pt_view_release(view);
    pt_view_release(other);
    assert_true(start(&walk, PT_BACKWARD, 0, key_count));
    assert_true(go_on(&walk));
    pt_scan_close(&walk.scan);
    assert_false(walk.scan.valid);
    pt_scan_close(&walk.scan);
    pt_scan_free(&walk.scan);
    pt_scan_free(&walk.scan);
}

static void a_withdrawn_view_cannot_be_read_further(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    reading walk = {0};
    open_walk(&walk, view);
    assert_true(start(&walk, PT_FORWARD, 0, key_count));
    view->rolled_back = true;
    assert_fails(pt_scan_step(&walk.scan, &error), SQLITE_ABORT_ROLLBACK, "rolled back");
    assert_false(walk.scan.valid);
    assert_fails(pt_scan_seek(&walk.scan, sample_slice(&keys[0]), sample_slice(&keys[1]),
                              PT_FORWARD, &error),
                 SQLITE_ABORT_ROLLBACK, "run the statement again");
    assert_false(walk.scan.valid);
    pt_scan_free(&walk.scan);
    pt_view_release(view);
}

static void a_failing_engine_ends_the_scan(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    reading walk = {0};
    fault_next(FAULTY_CURSOR_OPEN);
    assert_fails(pt_scan_open(&walk.scan, view, &error), FAULTY_RC, "fire");
    assert_int_equal(view->references, 1);
    for (int merged = 0; merged < 2; merged++) {
        open_walk(&walk, view);
        fault_next(FAULTY_CURSOR_SEEK);
        assert_fails(pt_scan_seek(&walk.scan, sample_slice(&keys[0]), sample_slice(&keys[1]),
                                  PT_FORWARD, &error),
                     FAULTY_RC, "fire");
        assert_false(walk.scan.valid);
        assert_true(start(&walk, PT_FORWARD, 0, key_count));
        assert_true(go_on(&walk));
        fault_next(FAULTY_CURSOR_STEP);
        assert_fails(pt_scan_step(&walk.scan, &error), FAULTY_RC, "fire");
        assert_false(walk.scan.valid);
        view->memtable = merged == 0 ? pt_memtable_new() : view->memtable;
        put(view, key_count - 1, ++last_number);
    }
    pt_scan_free(&walk.scan);
    pt_view_release(view);
}

/* Passing over a pending deletion may be what fails. */
static void a_failure_behind_a_deletion_ends_the_scan(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    pt_view *view = open_view(store);
    view->memtable = pt_memtable_new();
    for (size_t i = 0; i < key_count; i++) {
        put(view, i, DELETED);
    }
    reading walk = {0};
    open_walk(&walk, view);
    fault_next(FAULTY_CURSOR_STEP);
    assert_fails(pt_scan_seek(&walk.scan, sample_slice(&keys[0]),
                              sample_slice(&keys[key_count - 1]), PT_FORWARD, &error),
                 FAULTY_RC, "fire");
    assert_false(walk.scan.valid);
    assert_false(start(&walk, PT_FORWARD, 0, key_count));
    pt_scan_free(&walk.scan);
    pt_view_release(view);
}

/* One write between the first rows, so that the scan seeks the memtable again. */
static int scan_with_a_write(pt_view *view, pt_scan *scan, pt_error *error)
{
    const pt_slice high = sample_slice(&keys[key_count - 1]);
    int rc = pt_scan_open(scan, view, error);
    for (int turn = 0; rc == SQLITE_OK && turn < 2; turn++) {
        pt_direction direction = turn == 0 ? PT_FORWARD : PT_BACKWARD;
        rc = pt_scan_seek(scan, sample_slice(&keys[0]), high, direction, error);
        for (int rows = 0; rc == SQLITE_OK && scan->valid; rows++) {
            if (rows == 1 && pt_memtable_put(view->memtable, sample_slice(&keys[key_count / 2]),
                                             PT_DELETE, 0) == NULL) {
                return pt_error_nomem(error);
            }
            rc = pt_scan_step(scan, error);
            assert_false(rc != SQLITE_OK && scan->valid);
        }
    }
    if (rc == SQLITE_OK) {
        rc = pt_scan_narrow(scan, sample_slice(&keys[0]), error);
    }
    return rc;
}

static void out_of_memory_leaves_nothing_behind(void **state)
{
    pt_store *store = *state;
    uint64_t seed = 1;
    fill(store, &seed);
    sqlite3_int64 before = sqlite3_memory_used();
    for (int n = 0;; n++) {
        pt_view *view = open_view(store);
        pt_scan scan = {0};
        pt_error error = PT_ERROR_NONE;
        view->memtable = pt_memtable_new();
        put(view, 0, ++last_number);
        put(view, key_count - 2, DELETED);
        failing_malloc_arm(n, false);
        int rc = scan_with_a_write(view, &scan, &error);
        bool hit = failing_malloc_disarm();
        assert_int_equal(rc, hit ? SQLITE_NOMEM : SQLITE_OK);
        assert_int_equal(error.rc, rc);
        pt_scan_free(&scan);
        pt_view_release(view);
        assert_int_equal(sqlite3_memory_used(), before);
        if (!hit) {
            assert_true(n > 6);
            break;
        }
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(merges_like_the_model),
        TEST(several_scans_share_a_view),
        TEST(one_key_is_found_like_the_model),
        TEST(one_key_is_found_as_it_was),
        TEST(writes_to_other_tables_cost_nothing),
        TEST(a_scan_keeps_its_view_alive),
        TEST(a_withdrawn_view_cannot_be_read_further),
        TEST(a_failing_engine_ends_the_scan),
        TEST(a_failure_behind_a_deletion_ends_the_scan),
        TEST(out_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
