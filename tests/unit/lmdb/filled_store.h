/*
 * A store with short and long keys.
 */
#ifndef TESTS_UNIT_LMDB_FILLED_STORE_H
#define TESTS_UNIT_LMDB_FILLED_STORE_H

#include "entity/key.h"
#include "fixtures/store_fixture.h"

enum { LONG = 1400 }; /* bytes of a long key that three links lead to */

static uint8_t long_keys[4][LONG];

/* Keys of table 1, in order; but for the first they part behind their last link. */
static inline pt_slice long_key(unsigned number)
{
    uint8_t *bytes = long_keys[number];
    memset(bytes, 'k', LONG);
    bytes[0] = 1;
    bytes[LONG - 1] = (uint8_t)('0' + number);
    return pt_slice_of(bytes, number == 0 ? 600 : LONG);
}

/* With six entities of table 1: "a", "b", three with long keys, and "z". */
static inline pt_store *open_filled_store(void)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", "one");
    put_text(writer, 1, "b", "two");
    for (unsigned i = 0; i < 3; i++) {
        assert_ok(engine->write_put(writer, long_key(i), pt_slice_text("long"), &error));
    }
    put_text(writer, 1, "z", "last");
    commit_write(writer);
    engine->unlock(store);
    return store;
}

/* Rows from the cursor's position on. */
static inline int count_from(pt_engine_cursor *cursor, pt_direction direction, int *rows,
                             pt_error *error)
{
    int rc = SQLITE_OK;
    *rows = 0;
    while (rc == SQLITE_OK && cursor->valid) {
        ++*rows;
        rc = engine->cursor_step(cursor, direction, error);
    }
    return rc;
}

typedef struct scan_start {
    pt_slice from;
    pt_slice limit;
    pt_direction direction;
    int rows;
} scan_start;

/* Fails the test if other rows come than are to. */
static inline int scan_from(pt_snapshot *snapshot, const scan_start *start, pt_error *error)
{
    int rows = 0;
    pt_engine_cursor *cursor = NULL;
    int rc = engine->cursor_open(snapshot, &cursor, error);
    if (rc == SQLITE_OK) {
        rc = engine->cursor_seek(cursor, start->from, start->limit, start->direction, error);
    }
    if (rc == SQLITE_OK) {
        rc = count_from(cursor, start->direction, &rows, error);
    }
    assert_true(rc != SQLITE_OK || rows == start->rows);
    engine->cursor_close(cursor);
    return rc;
}

#endif
