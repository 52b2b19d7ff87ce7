/*
 * A store with short and long keys.
 */
#ifndef FILLED_STORE_H
#define FILLED_STORE_H

#include "key.h"
#include "store_fixture.h"

enum { LONG = 1400 }; /* bytes of a long key that is behind three links */

static uint8_t long_keys[4][LONG];

/* Keys of table 1, in order; but for the first they part behind their last link. */
static inline pt_slice long_key(unsigned number)
{
    uint8_t *bytes = long_keys[number];
    memset(bytes, 'k', LONG);
    pt_put_be32(bytes, 1);
    bytes[LONG - 1] = (uint8_t)('0' + number);
    return pt_slice_of(bytes, number == 0 ? 600 : LONG);
}

/* With five entities of table 1: "a", three with long keys, and "z". */
static inline pt_store *open_filled_store(void)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, 1, "a", "one");
    for (unsigned i = 0; i < 3; i++) {
        assert_ok(engine->write_put(writer, long_key(i), pt_slice_text("long"), &error));
    }
    put_text(writer, 1, "z", "last");
    commit_write(writer);
    engine->unlock(store);
    return store;
}

#endif
