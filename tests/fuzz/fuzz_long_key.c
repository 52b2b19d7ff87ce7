/*
 * Keys in a store, short ones and such as do not fit into LMDB's: the input writes and deletes
 * keys, many of which begin with the same bytes, gives commits up, and looks for keys; a sorted
 * array says what is to be found. In the end all are deleted, and nothing is left of them.
 */
#include "base/sqlite.h"
#include "entity/key.h"
#include "fuzz/fuzz.h"
#include "lmdb/engine.h"

enum { KEYS_MAX = 48, KEY_MAX = 4096, TABLES = 2 };

/* Their ids take one byte and five. */
static const uint32_t tables[TABLES] = {1, 0x01234567};

typedef struct stored_key {
    uint8_t bytes[KEY_MAX];
    size_t size;
    bool there;
    bool was_there; /* when the last commit was made */
    uint8_t record;
    uint8_t was_record;
} stored_key;

static const pt_engine *const engine = &pt_lmdb_engine;
static pt_store *store;
static pt_snapshot *snapshot;
static pt_writer *writer;
static stored_key *keys[KEYS_MAX]; /* ascending */
static int key_count;

static void must_work(int rc, const pt_error *error)
{
    if (rc != SQLITE_OK) {
        printf("# %d: %s\n", rc, error->message);
    }
    must_hold(rc == SQLITE_OK, "the store works");
}

static void open_once(void)
{
    pt_error error = PT_ERROR_NONE;
    if (store == NULL) {
        must_work(engine->open("", PT_OPEN_PRIVATE | PT_OPEN_CREATE, &store, &error), &error);
        must_work(engine->snapshot_new(store, &snapshot, &error), &error);
        must_work(engine->lock(store, 0, &error), &error);
    }
}

/* --- Keys --- */

static pt_slice slice_of(const stored_key *key)
{
    return pt_slice_of(key->bytes, key->size);
}

/* Table, a stem of few different bytes, cut to a length near those where another piece begins, and
 * a few bytes more. */
static size_t take_key(fuzz_input *input, uint8_t bytes[KEY_MAX])
{
    static const uint16_t lengths[] = {1,   20,  504,  505,  506,  507,  508,  509,
                                       510, 511, 1007, 1008, 1010, 1011, 1013, 1100};
    unsigned choice = take_byte(input);
    size_t size = pt_key_put_table(bytes, tables[choice & 1]);
    size_t stem = lengths[(choice >> 1) % (sizeof lengths / sizeof lengths[0])];
    memset(bytes + size, choice >> 7 ? 0xFF : 'k', stem);
    size += stem;
    if (stem > 500 && (choice & 0x20) != 0) {
        bytes[PT_KEY_TABLE_MAX + 300] = 'l';
    }
    if ((choice & 0x40) != 0) {
        memset(bytes + size, 'k', 1004);
        size += 1004;
    }
    pt_slice tail = take_bytes(input, take_below(input, 8));
    if (tail.size != 0) {
        memcpy(bytes + size, tail.data, tail.size);
    }
    return size + tail.size;
}

/* Where the first key is that is not before. */
static int place_of(pt_slice key)
{
    int place = 0;
    while (place < key_count && pt_slice_compare(slice_of(keys[place]), key) < 0) {
        place++;
    }
    return place;
}

/* Its place, made if need be; -1: there is no room. */
static int find_or_make(pt_slice key)
{
    int place = place_of(key);
    if (place < key_count && pt_slice_equal(slice_of(keys[place]), key)) {
        return place;
    }
    if (key_count == KEYS_MAX) {
        return -1;
    }
    memmove(keys + place + 1, keys + place, (size_t)(key_count - place) * sizeof keys[0]);
    keys[place] = calloc(1, sizeof *keys[0]);
    must_hold(keys[place] != NULL, "there is memory");
    memcpy(keys[place]->bytes, key.data, key.size);
    keys[place]->size = key.size;
    key_count++;
    return place;
}

/* --- Writing --- */

static void need_writer(void)
{
    pt_error error = PT_ERROR_NONE;
    if (writer == NULL) {
        must_work(engine->write_begin(store, &writer, &error), &error);
    }
}

static void put(pt_slice key, uint8_t number)
{
    pt_error error = PT_ERROR_NONE;
    int place = find_or_make(key);
    if (place < 0) {
        return;
    }
    uint8_t record[300];
    memset(record, number, sizeof record);
    need_writer();
    must_work(engine->write_put(writer, key, pt_slice_of(record, 1 + number), &error), &error);
    keys[place]->there = true;
    keys[place]->record = number;
}

static void delete (pt_slice key)
{
    pt_error error = PT_ERROR_NONE;
    need_writer();
    must_work(engine->write_delete(writer, key, &error), &error);
    int place = place_of(key);
    if (place < key_count && pt_slice_equal(slice_of(keys[place]), key)) {
        keys[place]->there = false;
    }
}

static void commit(void)
{
    pt_error error = PT_ERROR_NONE;
    const pt_commit how = {.sync = PT_SYNC_OFF, .clock = 1, .next_table_id = 3};
    if (writer == NULL) {
        return;
    }
    must_work(engine->write_commit(writer, &how, &error), &error);
    writer = NULL;
    for (int i = 0; i < key_count; i++) {
        keys[i]->was_there = keys[i]->there;
        keys[i]->was_record = keys[i]->record;
    }
}

static void give_up(void)
{
    engine->write_abort(writer);
    writer = NULL;
    for (int i = 0; i < key_count; i++) {
        keys[i]->there = keys[i]->was_there;
        keys[i]->record = keys[i]->was_record;
    }
}

/* --- Reading what was committed --- */

/* The next key from a place on that is there, in a direction; -1 or key_count: none. */
static int present(int place, int step)
{
    while (place >= 0 && place < key_count && !keys[place]->was_there) {
        place += step;
    }
    return place;
}

static void check_record(pt_slice record, int place)
{
    must_hold(record.size == 1u + keys[place]->was_record, "a record has its size");
    for (size_t i = 0; i < record.size; i++) {
        must_hold(record.data[i] == keys[place]->was_record, "a record has its bytes");
    }
}

static void check_at(const pt_engine_cursor *cursor, int place)
{
    bool expected = place >= 0 && place < key_count;
    must_hold(cursor->valid == expected, "a key is there or is not");
    if (expected) {
        must_hold(pt_slice_equal(cursor->key, slice_of(keys[place])), "the key is the next one");
        check_record(cursor->record, place);
    }
}

static void walk(pt_engine_cursor *cursor, pt_slice from, pt_direction direction)
{
    pt_error error = PT_ERROR_NONE;
    int step = direction == PT_FORWARD ? 1 : -1;
    int place = place_of(from) - (direction == PT_BACKWARD);
    must_work(engine->cursor_seek(cursor, from, (pt_slice){0}, direction, &error), &error);
    for (place = present(place, step); cursor->valid; place = present(place + step, step)) {
        check_at(cursor, place);
        must_work(engine->cursor_step(cursor, direction, &error), &error);
    }
    check_at(cursor, place);
}

/* Up to a limit. */
static void check_limit(pt_engine_cursor *cursor, pt_slice from, pt_slice limit)
{
    pt_error error = PT_ERROR_NONE;
    int place = present(place_of(from), 1);
    bool inside = place < key_count &&
                  (limit.size == 0 || pt_slice_compare(slice_of(keys[place]), limit) < 0);
    must_work(engine->cursor_seek(cursor, from, limit, PT_FORWARD, &error), &error);
    check_at(cursor, inside ? place : -1);
}

static void check_counts(void)
{
    pt_error error = PT_ERROR_NONE;
    for (int t = 0; t < TABLES; t++) {
        pt_table_counts counts = {0};
        int64_t entities = 0;
        int64_t bytes = 0;
        for (int i = 0; i < key_count; i++) {
            bool mine = keys[i]->was_there && pt_key_table(slice_of(keys[i])) == tables[t];
            entities += mine;
            bytes += mine ? (int64_t)keys[i]->size + 1 + keys[i]->was_record : 0;
        }
        must_work(engine->counts(snapshot, tables[t], &counts, &error), &error);
        must_hold(counts.entities == entities && counts.bytes == bytes, "entities are counted");
    }
}

static void look_for(pt_slice key, pt_slice limit)
{
    pt_error error = PT_ERROR_NONE;
    pt_engine_cursor *cursor = NULL;
    pt_slice record = {0};
    bool found = false;
    must_work(engine->snapshot_begin(snapshot, &error), &error);
    must_work(engine->cursor_open(snapshot, &cursor, &error), &error);
    walk(cursor, key, PT_FORWARD);
    walk(cursor, key, PT_BACKWARD);
    check_limit(cursor, key, limit);
    if (key.size != 0) {
        must_work(engine->get(snapshot, key, &found, &record, &error), &error);
    }
    int place = place_of(key);
    bool expected =
        place < key_count && keys[place]->was_there && pt_slice_equal(slice_of(keys[place]), key);
    must_hold(found == expected, "a key is got if it is there");
    if (found) {
        check_record(record, place);
    }
    check_counts();
    engine->cursor_close(cursor);
    engine->snapshot_end(snapshot);
}

/* --- Inputs --- */

static void take_step(fuzz_input *input)
{
    static uint8_t bytes[KEY_MAX];
    static uint8_t limit[KEY_MAX];
    unsigned choice = take_below(input, 16);
    if (choice == 0) {
        give_up();
    } else if (choice == 1) {
        commit();
    } else {
        pt_slice key = pt_slice_of(bytes, take_key(input, bytes));
        if (choice == 2) {
            look_for(key, pt_slice_of(limit, take_key(input, limit)));
        } else if (choice < 6) {
            delete (key);
        } else {
            put(key, take_byte(input));
        }
    }
}

static void delete_all(void)
{
    for (int i = 0; i < key_count; i++) {
        delete (slice_of(keys[i]));
    }
    commit();
    look_for(pt_slice_of("", 0), pt_slice_of("", 0));
    for (int i = 0; i < key_count; i++) {
        free(keys[i]);
    }
    key_count = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_once();
    fuzz_input input = fuzz_input_of(data, size);
    while (input.left != 0) {
        take_step(&input);
    }
    commit();
    look_for(pt_slice_of("", 0), pt_slice_of("\xFE", 1));
    delete_all();
    return 0;
}
