/*
 * Large values: strings and binaries that are stored outside their entity's record, in chunks that
 * fit LMDB's pages. They are read only on demand.
 *
 *     key      PT_TABLE_CHUNKS, table id, be64(ticks), be16(ordinal), be32(number)
 *     record   u32 checksum (low half of XXH3_64 over the bytes, seeded with XXH3_64 of the key);
 *              bytes: PT_CHUNK_SIZE of them, fewer in the last one, which may not be empty
 *
 * A chunk is written once and never changed. An update that keeps a large value keeps its chunks:
 * the new record points to them. The write that removes the last record that points to a large
 * value deletes its chunks.
 */
#ifndef PT_TRANSACTION_LARGE_VALUE_H
#define PT_TRANSACTION_LARGE_VALUE_H

#include "entity/record.h"
#include "transaction/session.h"

enum {
    PT_CHUNK_SIZE = 2000,
    PT_CHUNK_HEADER = 4,
    /* A record should take a few pages at most. */
    PT_INLINE_SIZE_MAX = 2000,      /* longer values are always large */
    PT_INLINE_BYTES_MAX = 16384,    /* if a record's other strings and binaries exceed this, */
    PT_INLINE_SMALL_SIZE_MAX = 256, /* only those up to this size stay inline */
};

/*
 * True if a field's value must become a large value. `inline_bytes` is the size of the record's
 * strings and binaries of at most PT_INLINE_SIZE_MAX bytes, taken together. False for a value that
 * is large already.
 */
bool pt_large_is_needed(const pt_value *value, uint64_t inline_bytes);

/*
 * Stores the bytes of a STRING or BINARY as chunks and turns the value into the large one that
 * points to them. `ticks` is the write's timestamp, which no older chunk has; `ordinal` tells the
 * large values of one write apart. Call it within a row (transaction/session.h), and discard the
 * row on failure. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_put(pt_session *session, uint32_t table_id, int64_t ticks, uint16_t ordinal,
                 pt_value *value, pt_error *error);

/*
 * Deletes the chunks of a large value. Call it within a row: then the pending chunks are not
 * overwritten in place, and cursors that stand on an older row can still read them. SQLITE_OK or
 * SQLITE_NOMEM.
 */
int pt_large_remove(pt_session *session, uint32_t table_id, const pt_large *large, pt_error *error);

/* Sets *pending if the transaction has written the large value and not deleted it. SQLITE_OK or
 * SQLITE_NOMEM. */
int pt_large_is_pending(pt_memtable *memtable, uint32_t table_id, const pt_large *large,
                        bool *pending);

/*
 * Reads a large value into `bytes` (emptied first; a NUL follows the content) and turns it into a
 * STRING or BINARY that points there. Leaves other values as they are. Also finds chunks that the
 * transaction has deleted, since a cursor may stand on an older row that points to them. SQLITE_OK;
 * SQLITE_NOMEM; SQLITE_CORRUPT_VTAB (without a text): a chunk is missing or damaged;
 * SQLITE_ABORT_ROLLBACK: the value was pending and has been rolled back; or the engine's error.
 */
int pt_large_read(pt_view *view, uint32_t table_id, pt_value *value, pt_buffer *bytes,
                  pt_error *error);

/* Turns a large value into a STRING or BINARY of its first PT_CHUNK_SIZE bytes, which are valid
 * until the next write. Codes as pt_large_read. */
int pt_large_read_start(pt_view *view, uint32_t table_id, pt_value *value, pt_error *error);

/*
 * *possible = false if it is certain that no entity of the table has a large value. The session
 * must be writing. The snapshot's part of the answer is remembered in the view. SQLITE_OK,
 * SQLITE_NOMEM, or the engine's error.
 */
int pt_large_values_possible(pt_session *session, uint32_t table_id, bool *possible,
                             pt_error *error);

/* --- For checks --- */

typedef struct pt_chunk_key {
    uint32_t table_id;
    int64_t ticks;
    uint16_t ordinal;
    uint32_t number; /* of the chunk in its large value */
} pt_chunk_key;

/* Reads a chunk's key. False if the key is not that of a chunk. */
bool pt_large_read_key(pt_slice key, pt_chunk_key *chunk);

/* The number of chunks of a large value, and the number of bytes in one of them. */
uint32_t pt_large_chunk_count(const pt_large *large);
size_t pt_large_chunk_size(const pt_large *large, uint32_t number);

/* True if the record is the chunk of the key, undamaged, and holds `size` bytes. */
bool pt_large_is_chunk(pt_slice key, pt_slice record, size_t size);

/* --- All fields of an entity that is written --- */

/* True if any field of the bag must become a large value. */
bool pt_large_fields_are_needed(const pt_bag *bag);

/* Calls pt_large_put, within the caller's row, for every field that must become a large value.
 * SQLITE_OK or SQLITE_NOMEM. */
int pt_large_fields_put(pt_session *session, uint32_t table_id, int64_t ticks, pt_bag *bag,
                        pt_error *error);

/*
 * Appends to `gone`, an array of pt_large, the large values of the entity under a logical key,
 * except those that a field of `kept` points to (NULL: keeps nothing). Finds nothing in a damaged
 * record. The session must be writing. SQLITE_OK, SQLITE_NOMEM, or the engine's error.
 */
int pt_large_fields_find_gone(pt_session *session, pt_slice key, const pt_bag *kept,
                              pt_buffer *gone, pt_error *error);

/* The same for an entity whose record the caller has. SQLITE_OK or SQLITE_NOMEM. */
int pt_large_fields_find_in(const pt_session *session, pt_slice key, pt_slice bytes,
                            const pt_bag *kept, pt_buffer *gone, pt_error *error);

/* Calls pt_large_remove, within the caller's row, for each value in `gone`. SQLITE_OK or
 * SQLITE_NOMEM. */
int pt_large_fields_remove(pt_session *session, uint32_t table_id, const pt_buffer *gone,
                           pt_error *error);

#endif
