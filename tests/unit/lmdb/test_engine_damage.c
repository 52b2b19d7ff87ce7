/*
 * Stores of which single records of the engine's own are missing, damaged or say what no commit
 * writes, and entries whose sizes cannot be: what needs them is told so, and nothing else happens.
 */
#include "entity/key.h"
#include "fixtures/raw_store.h"
#include "fixtures/sealed.h"
#include "lmdb/long_keys.h"
#include "lmdb/page/format.h"

static void make_store(void)
{
    pt_store *store = open_store(fixture_path);
    store_text(store, 1, "a", "one");
    engine->close(store);
}

static void make_store_anew(void)
{
    unlink(fixture_path);
    make_store();
}

/* --- State, dictionary, counts --- */

static void assert_cannot_begin(const char *part)
{
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = new_snapshot(store);
    assert_fails(engine->snapshot_begin(snapshot, &error), SQLITE_CORRUPT, part);
    engine->snapshot_free(snapshot);
    pt_writer *writer = NULL;
    lock_store(store);
    pt_error error = PT_ERROR_NONE; /* a writer does not need the missing dictionary */
    if (engine->write_begin(store, &writer, &error) == SQLITE_OK) {
        engine->write_abort(writer);
    }
    pt_error_clear(&error);
    engine->unlock(store);
    engine->close(store);
}

static void missing_state_is_reported(void **state)
{
    (void)state;
    make_store();
    raw_put(NULL, pt_format_state_key(), (pt_slice){0});
    assert_cannot_begin("state record (current) is missing");
}

static void put_state(uint16_t names, uint16_t shapes)
{
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    pt_format_state stored = {.next_table_id = 2, .names = names, .shapes = shapes};
    size_t size = pt_format_write_state(&stored, bytes);
    raw_put(NULL, pt_format_state_key(), pt_slice_of(bytes, size));
}

static void missing_dictionary_is_reported(void **state)
{
    (void)state;
    make_store();
    put_state(1, 0);
    assert_cannot_begin("property name 1 of its dictionary is missing");
    put_state(0, 1);
    assert_cannot_begin("shape 1 of its dictionary is missing");
    pt_format_key key = pt_format_shape_key(1);
    raw_put(NULL, pt_slice_of(key.bytes, key.size), pt_slice_text("damaged, without a checksum"));
    assert_cannot_begin("shape 1 of its dictionary is damaged");
}

static void damaged_counts_are_reported(void **state)
{
    (void)state;
    pt_table_counts counts = {0};
    pt_commit commit = {.sync = PT_SYNC_OFF};
    pt_format_key key = pt_format_counts_key(1);
    make_store();
    raw_put(NULL, pt_slice_of(key.bytes, key.size), pt_slice_text("0123456789012345678901234567"));
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_fails(engine->counts(snapshot, 1, &counts, &error), SQLITE_CORRUPT, "counts of a table");
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "b", "two");
    assert_fails(engine->write_commit(writer, &commit, &error), SQLITE_CORRUPT, "backup");
    engine->unlock(store);
    assert_record(snapshot, 1, "a", "one");
    engine->snapshot_end(snapshot);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_record(snapshot, 1, "b", NULL);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* --- Long keys --- */

enum { BUCKET = 7, KEY_MAX = 24000 };

static uint8_t sought[KEY_MAX] = {1, 'b'}; /* and zeros */

/* A key of `long_keys`: the bucket's number and so many zeros; with 503 of them a link. */
static pt_slice bucket_key(uint64_t bucket, size_t zeros)
{
    static uint8_t bytes[PT_LMDB_LINK_SIZE];
    memset(bytes, 0, sizeof bytes);
    pt_lmdb_put_bucket_prefix(bytes, bucket);
    return pt_slice_of(bytes, PT_LMDB_BUCKET_PREFIX + zeros);
}

static void put_link(const char *database, pt_slice key, uint64_t bucket)
{
    uint8_t record[PT_FORMAT_BUCKET_SIZE];
    pt_format_write_bucket(key, bucket, record);
    raw_put(database, key, pt_slice_of(record, sizeof record));
}

static void put_bucket(void)
{
    put_link("entities", pt_slice_of(sought, PT_LMDB_LINK_SIZE), BUCKET);
}

/* Whichever way leads to them. */
static void assert_long_keys_are_damaged(void)
{
    const pt_slice none = {0};
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    assert_ok(engine->cursor_seek(cursor, none, none, PT_FORWARD, &error));
    assert_fails(engine->cursor_step(cursor, PT_FORWARD, &error), SQLITE_CORRUPT, "backup");
    assert_fails(engine->cursor_seek(cursor, pt_slice_of("\2", 1), none, PT_BACKWARD, &error),
                 SQLITE_CORRUPT, "backup");
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void long_keys_of_impossible_sizes_are_reported(void **state)
{
    (void)state;
    make_store();
    put_bucket();
    raw_put("long_keys", bucket_key(BUCKET, 0), pt_slice_text("nothing of a key"));
    assert_long_keys_are_damaged();
    make_store_anew();
    put_bucket();
    for (unsigned depth = 1; depth < PT_LMDB_DEPTH_MAX; depth++) {
        pt_slice link = bucket_key(BUCKET + depth - 1, PT_LMDB_BUCKET_KEY_MAX + 1);
        put_link("long_keys", link, BUCKET + depth);
    }
    raw_put("long_keys", bucket_key(BUCKET + PT_LMDB_DEPTH_MAX - 1, 450),
            pt_slice_text("more than the longest key may have"));
    assert_long_keys_are_damaged();
}

/* However long what is sought is: it would be followed for ever. */
static void circle_of_links_is_left(void **state)
{
    (void)state;
    const pt_slice none = {0};
    make_store();
    put_bucket();
    put_link("long_keys", bucket_key(BUCKET, PT_LMDB_BUCKET_KEY_MAX + 1), BUCKET);
    assert_long_keys_are_damaged();
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    for (int direction = 0; direction < 2; direction++) {
        assert_fails(engine->cursor_seek(cursor, pt_slice_of(sought, sizeof sought), none,
                                         direction == 0 ? PT_FORWARD : PT_BACKWARD, &error),
                     SQLITE_CORRUPT, "backup");
        assert_false(cursor->valid);
    }
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static void damaged_number_of_the_last_bucket_is_reported(void **state)
{
    (void)state;
    make_store();
    raw_put(NULL, pt_format_last_bucket_key(), pt_slice_text("0123456789012345"));
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    assert_fails(engine->write_put(writer, pt_slice_of(sought, 600), pt_slice_text("x"), &error),
                 SQLITE_CORRUPT, "writing a record");
    engine->write_abort(writer);
    engine->unlock(store);
    engine->close(store);
}

/* --- Garbage --- */

static void assert_cannot_collect_after(pt_slice key, pt_slice record)
{
    raw_put("garbage", key, record);
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    bool collected;
    pt_writer *writer = begin_write(store);
    assert_fails(engine->write_collect(writer, &collected, &error), SQLITE_CORRUPT,
                 "what is left of a dropped table");
    engine->write_abort(writer);
    engine->unlock(store);
    engine->close(store);
}

static void assert_cannot_collect(void)
{
    test_key garbage = garbage_key(1);
    pt_slice key = key_slice(&garbage);
    assert_cannot_collect_after(key, sealed(key, pt_slice_text("\1")));
}

/* Of the catalogue, of a damaged id, of none, of more than an id, and with a wrong checksum. */
static void garbage_of_no_table_is_reported(void **state)
{
    (void)state;
    static const pt_slice keys[] = {
        {(const uint8_t *)"\xFE\0", 2}, {(const uint8_t *)"\xFE\xF0\0\1", 4},
        {(const uint8_t *)"\xFE", 1},   {(const uint8_t *)"\xFE\1\1", 3},
        {(const uint8_t *)"\xFF\1", 2}, {(const uint8_t *)"\xFE\xFE", 2},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        make_store_anew();
        assert_cannot_collect_after(keys[i], sealed(keys[i], pt_slice_text("\1")));
    }
    make_store_anew();
    assert_cannot_collect_after(pt_slice_of("\xFE\1", 2), pt_slice_text("no checksum"));
}

static void garbage_behind_damaged_links_is_reported(void **state)
{
    (void)state;
    pt_slice link = bucket_key(BUCKET, PT_LMDB_BUCKET_KEY_MAX + 1);
    make_store();
    raw_put("entities", pt_slice_of(sought, PT_LMDB_LINK_SIZE), pt_slice_text("0123456789012345"));
    assert_cannot_collect();
    make_store_anew();
    put_bucket();
    raw_put("long_keys", link, pt_slice_text("0123456789012345"));
    assert_cannot_collect();
    make_store_anew();
    put_bucket();
    put_link("long_keys", link, BUCKET); /* to the bucket that it is in */
    assert_cannot_collect();
}

/* --- Sizes --- */

enum {
    ROWS = 600,

    KEY = 7,
    VALUE = 54,
    PAGE = 4096,
    FILE_MAX = 1 << 21,
    ENTRY_HEADER = 8,
    FLAGS = 10,
    UPPER = 14,
    LEAF = 2
};

static uint8_t file_bytes[FILE_MAX];

static size_t read_file(void)
{
    FILE *file = fopen(fixture_path, "rb");
    assert_non_null(file);
    size_t size = fread(file_bytes, 1, sizeof file_bytes, file);
    fclose(file);
    return size;
}

static void write_file(size_t size)
{
    FILE *file = fopen(fixture_path, "r+b");
    assert_non_null(file);
    assert_int_equal(fwrite(file_bytes, 1, size, file), size);
    fclose(file);
}

/* Where the key of a row lies in the file next, from a place on; the file's size: nowhere. */
static size_t find_row(int row, size_t from, size_t size)
{
    char text[16];
    snprintf(text, sizeof text, "%06d", row);
    test_key key = key_of(1, text);
    while (from + key.size < size && memcmp(file_bytes + from, key.bytes, key.size) != 0) {
        from++;
    }
    return from + key.size < size ? from : size;
}

/* The row, of those in the middle, that lies nearest to the end of its page. */
static int last_row_of_a_page(void)
{
    int last = 0;
    size_t farthest = 0;
    size_t size = read_file();
    for (int row = ROWS / 3; row < ROWS / 2; row++) {
        size_t offset = find_row(row, 0, size) % PAGE;
        if (offset > farthest) {
            farthest = offset;
            last = row;
        }
    }
    return last;
}

/* Overwrites the sizes in front of the key on each leaf page where it lies. */
static void damage_sizes(int row, uint32_t value_size, uint16_t key_size)
{
    size_t size = read_file();
    int found = 0;
    for (size_t at = find_row(row, 0, size); at < size; at = find_row(row, at + 1, size)) {
        if (pt_get_le16(file_bytes + at / PAGE * PAGE + FLAGS) == LEAF) {
            pt_put_le32(file_bytes + at - ENTRY_HEADER, value_size);
            pt_put_le16(file_bytes + at - 2, key_size);
            found++;
        }
    }
    assert_true(found > 0);
    write_file(size);
}

/* How many rows come before the end, or that error. */
static int walk(pt_store *store, pt_direction direction, int expected)
{
    int rows = 0;
    int rc;
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_error error = PT_ERROR_NONE;
    pt_engine_cursor *cursor = NULL;
    pt_slice end = pt_slice_of("\2", direction == PT_FORWARD ? 0 : 1);
    assert_int_equal(engine->cursor_open(snapshot, &cursor, &error), SQLITE_OK);
    rc = engine->cursor_seek(cursor, end, (pt_slice){0}, direction, &error);
    while (rc == SQLITE_OK && cursor->valid) {
        assert_int_equal(cursor->key.size, KEY);
        rows++;
        rc = engine->cursor_step(cursor, direction, &error);
    }
    assert_int_equal(rc, expected);
    pt_error_clear(&error);
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    return rows;
}

/* In the header of each leaf that has, or had, the row in the middle. */
static void set_in_headers(size_t field, uint16_t value)
{
    size_t size = read_file();
    for (size_t at = find_row(ROWS / 2, 0, size); at < size;
         at = find_row(ROWS / 2, at + 1, size)) {
        pt_put_le16(file_bytes + at / PAGE * PAGE + field, value);
    }
    write_file(size);
}

/* What LMDB has no use for: its leaf is then read by LMDB alone. */
static void leaf_whose_header_is_strange_is_read(void **state)
{
    (void)state;
    make_store_of(ROWS);
    set_in_headers(UPPER, 0xFFFF);
    pt_store *store = open_store(fixture_path);
    assert_int_equal(walk(store, PT_FORWARD, SQLITE_OK), ROWS);
    assert_int_equal(walk(store, PT_BACKWARD, SQLITE_OK), ROWS);
    engine->close(store);
}

static void assert_row_is_damaged(int row, bool key_is_sound)
{
    char text[16];
    bool found;
    pt_slice record;
    pt_store *store = open_store(fixture_path);
    assert_int_equal(walk(store, PT_FORWARD, SQLITE_CORRUPT), row);
    assert_int_equal(walk(store, PT_BACKWARD, SQLITE_CORRUPT), ROWS - row - 1);
    pt_snapshot *snapshot = begin_snapshot(store);
    snprintf(text, sizeof text, "%06d", row);
    test_key key = key_of(1, text);
    if (key_is_sound) {
        assert_fails(engine->get(snapshot, key_slice(&key), &found, &record, &error),
                     SQLITE_CORRUPT, "reading a record");
    }
    engine->snapshot_free(snapshot);
    engine->close(store);
}

/* LMDB hands out what they say. */
static void sizes_that_leave_the_page_are_reported(void **state)
{
    (void)state;
    static const struct {
        uint32_t value;
        uint16_t key;
    } sizes[] = {{5000, KEY},  {0x7FFFFFFF, KEY}, {VALUE, 500},   {VALUE, 511},
                 {VALUE, 512}, {VALUE, 5000},     {VALUE, 65535}, {VALUE, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        unlink(fixture_path);
        make_store_of(ROWS);
        int row = last_row_of_a_page();
        damage_sizes(row, sizes[i].value, sizes[i].key);
        assert_row_is_damaged(row, sizes[i].key == KEY);
    }
}

/* Each key is put among sound ones, so that the leaf is walked without LMDB up to it. */
static void keys_without_a_whole_table_id_are_reported(void **state)
{
    (void)state;
    static const pt_slice keys[] = {
        {(const uint8_t *)"\xF0", 1},
        {(const uint8_t *)"\xF0\1", 2},
        {(const uint8_t *)"\xF1", 1},
        {(const uint8_t *)"\xF1\1\2\3", 4},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        unlink(fixture_path);
        pt_store *store = open_store(fixture_path);
        store_text(store, 1, "abcdef", "of table 1");
        store_text(store, 2, "abcdef", "of table 2");
        store_text(store, 0x02000000, "abcdef", "of a later table");
        store_text(store, 0x02000000, "abcdeg", "of a later table");
        engine->close(store);
        raw_put("entities", keys[i], pt_slice_text("of no table"));
        store = open_store(fixture_path);
        pt_snapshot *snapshot = begin_snapshot(store);
        pt_engine_cursor *cursor = NULL;
        pt_slice none = {0};
        assert_ok(engine->cursor_open(snapshot, &cursor, &error));
        assert_ok(engine->cursor_seek(cursor, none, none, PT_FORWARD, &error));
        assert_ok(engine->cursor_step(cursor, PT_FORWARD, &error));
        assert_int_equal(pt_key_table(cursor->key), 2);
        assert_fails(engine->cursor_step(cursor, PT_FORWARD, &error), SQLITE_CORRUPT, "backup");
        assert_ok(engine->cursor_seek(cursor, pt_slice_text("\xFE"), none, PT_BACKWARD, &error));
        assert_ok(engine->cursor_step(cursor, PT_BACKWARD, &error));
        assert_int_equal(pt_key_table(cursor->key), 0x02000000);
        assert_fails(engine->cursor_step(cursor, PT_BACKWARD, &error), SQLITE_CORRUPT, "backup");
        assert_fails(engine->cursor_seek(cursor, keys[i], none, PT_FORWARD, &error), SQLITE_CORRUPT,
                     "backup");
        engine->cursor_close(cursor);
        engine->snapshot_free(snapshot);
        engine->close(store);
    }
}

/* As short as a table id, one byte longer, and so on: all are found, in both directions. */
static void the_shortest_keys_are_read(void **state)
{
    (void)state;
    static const uint32_t tables[] = {1, 0xEF, 0xF0, 0xFFFF, 0x10000};
    enum { TABLES = 5, TEXTS = 5 };
    static const char *const texts[TEXTS] = {"", "a", "ab", "abc", "abcd"};
    pt_store *store = open_store(fixture_path);
    for (int i = TABLES * TEXTS - 1; i >= 0; i--) {
        store_text(store, tables[i / TEXTS], texts[i % TEXTS], "record");
    }
    pt_snapshot *snapshot = begin_snapshot(store);
    pt_engine_cursor *cursor = NULL;
    bool found;
    pt_slice record;
    assert_fails(engine->get(snapshot, (pt_slice){0}, &found, &record, &error), SQLITE_IOERR,
                 "MDB_BAD_VALSIZE");
    assert_ok(engine->cursor_open(snapshot, &cursor, &error));
    for (pt_direction direction = PT_FORWARD; direction <= PT_BACKWARD; direction++) {
        bool forward = direction == PT_FORWARD;
        pt_slice from = pt_slice_of("\xFE", forward ? 0 : 1);
        assert_ok(engine->cursor_seek(cursor, from, (pt_slice){0}, direction, &error));
        for (int i = 0; i < TABLES * TEXTS; i++) {
            int at = forward ? i : TABLES * TEXTS - 1 - i;
            test_key key = key_of(tables[at / TEXTS], texts[at % TEXTS]);
            assert_true(cursor->valid && pt_slice_equal(cursor->key, key_slice(&key)));
            assert_ok(engine->cursor_step(cursor, direction, &error));
        }
        assert_false(cursor->valid);
    }
    engine->cursor_close(cursor);
    engine->snapshot_free(snapshot);
    engine->close(store);
}

static int get_row(pt_snapshot *snapshot, int row, pt_error *error)
{
    char text[16];
    bool found;
    pt_slice record;
    snprintf(text, sizeof text, "%06d", row);
    test_key key = key_of(1, text);
    return engine->get(snapshot, key_slice(&key), &found, &record, error);
}

/* LMDB then refuses everything, and does not say why. */
static void a_snapshot_that_met_damage_goes_on_saying_so(void **state)
{
    (void)state;
    static const char again[] = "this transaction has met damage";
    pt_engine_cursor *cursor = NULL;
    pt_table_counts counts;
    make_store_of(ROWS);
    set_in_headers(FLAGS, 0);
    pt_store *store = open_store(fixture_path);
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_fails(get_row(snapshot, ROWS / 2, &error), SQLITE_CORRUPT, "pt_check lists the damage");
    assert_fails(get_row(snapshot, 0, &error), SQLITE_CORRUPT, again);
    assert_fails(get_row(snapshot, 0, &error), SQLITE_CORRUPT, "restore it from a backup");
    assert_fails(engine->cursor_open(snapshot, &cursor, &error), SQLITE_CORRUPT, again);
    assert_fails(engine->counts(snapshot, 1, &counts, &error), SQLITE_CORRUPT, again);
    engine->snapshot_end(snapshot);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    assert_ok(get_row(snapshot, 0, &error));
    engine->snapshot_free(snapshot);
    engine->close(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        store_test(missing_state_is_reported),
        store_test(missing_dictionary_is_reported),
        store_test(damaged_counts_are_reported),
        store_test(long_keys_of_impossible_sizes_are_reported),
        store_test(circle_of_links_is_left),
        store_test(damaged_number_of_the_last_bucket_is_reported),
        store_test(garbage_of_no_table_is_reported),
        store_test(garbage_behind_damaged_links_is_reported),
        store_test(leaf_whose_header_is_strange_is_read),
        store_test(sizes_that_leave_the_page_are_reported),
        store_test(keys_without_a_whole_table_id_are_reported),
        store_test(the_shortest_keys_are_read),
        store_test(a_snapshot_that_met_damage_goes_on_saying_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
