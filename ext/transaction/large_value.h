/*
 * Large values: strings and binaries that are kept outside their entity's record, in chunks small
 * enough for LMDB's pages, and read only when they are asked for.
 *
 *     key      be32(PT_TABLE_CHUNKS), be32(table id), be64(ticks), be16(ordinal), be32(number)
 *     record   u32 checksum (low half of XXH3_64 over the bytes, seeded with XXH3_64 of the key);
 *              bytes: PT_CHUNK_SIZE of them, fewer in the last one, which may not be empty
 *
 * A chunk is written once and never changed. An entity that keeps a large value keeps pointing to
 * its chunks; they are deleted with the last record that points to them, by the same write.
 */
#ifndef PT_TRANSACTION_LARGE_VALUE_H
#define PT_TRANSACTION_LARGE_VALUE_H

#include "entity/record.h"
#include "transaction/session.h"

enum {
    PT_CHUNK_SIZE = 2000,
    PT_CHUNK_KEY_SIZE = 22,
    PT_CHUNK_HEADER = 4,
    PT_INLINE_SIZE_MAX = 2000,      /* longer values are always large */
    PT_INLINE_BYTES_MAX = 16384,    /* of a record, together; beyond it */
    PT_INLINE_SMALL_SIZE_MAX = 256, /* only these stay inline */
};

/*
 * Whether a field's value must be a large one, in a record whose strings and binaries of at most
 * PT_INLINE_SIZE_MAX bytes have `inline_bytes` together: values over 2,000 bytes always; the larger
 * ones of a record that would still be too big for a few pages. Large ones already need not be made
 * so.
 */
bool pt_large_is_needed(const pt_value *value, uint64_t inline_bytes);

/*
 * Stores the bytes of a STRING or BINARY as chunks and turns the value into the large one that
 * points to them. The session is writing; a failed write is given up as a row
 * (transaction/session.h). SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_put(pt_session *session, uint32_t table_id, int64_t ticks, uint16_t ordinal,
                 pt_value *value, pt_error *error);

/*
 * Deletes the chunks of a large value. Within a row, so that pending ones can still be read through
 * older rows. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_remove(pt_session *session, uint32_t table_id, const pt_large *large, pt_error *error);

/*
 * Whether the transaction has stored a large value and still has it: its chunks are pending.
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_is_pending(pt_memtable *memtable, uint32_t table_id, const pt_large *large,
                        bool *pending);

/*
 * Reads a large value into `bytes` (emptied first; a NUL is put behind its content) and turns it
 * into a STRING or BINARY that points there. Other values stay as they are. SQLITE_OK,
 * SQLITE_NOMEM, SQLITE_CORRUPT_VTAB (without a text) if a chunk is missing or damaged,
 * SQLITE_ABORT_ROLLBACK if it was pending and has been rolled back since, and what the engine
 * answers. A chunk that the transaction has deleted is found all the same, for older rows may still
 * point to it.
 */
int pt_large_read(pt_view *view, uint32_t table_id, pt_value *value, pt_buffer *bytes,
                  pt_error *error);

/*
 * Whether entities of a table may have large values, as the session, which writes, sees it: without
 * cost while none of the store's tables has any. SQLITE_OK, SQLITE_NOMEM, and what the engine
 * answers.
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

/* Takes a chunk's key apart. False if it is none. */
bool pt_large_read_key(pt_slice key, pt_chunk_key *chunk);

/* Of a large value: its chunks, and the bytes in one of them. */
uint32_t pt_large_chunk_count(const pt_large *large);
size_t pt_large_chunk_size(const pt_large *large, uint32_t number);

/* Whether a record is the undamaged chunk of the key, with so many bytes. */
bool pt_large_is_chunk(pt_slice key, pt_slice record, size_t size);

/*
 * The large values of an entity that is written: which of its fields become large, and which chunks
 * of the record that was there nothing points to any more.
 */

/* Whether any field must become a large value. */
bool pt_large_fields_are_needed(const pt_bag *bag);

/*
 * Stores the bytes of the fields that must be large as chunks under the write's timestamp, and
 * turns them into the large values that point there. Within a row (transaction/session.h).
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_fields_put(pt_session *session, uint32_t table_id, int64_t ticks, pt_bag *bag,
                        pt_error *error);

/*
 * Appends to `gone`, an array of pt_large, the large values of the entity under a logical key that
 * no field of `kept` (NULL: nothing is kept) points to. A damaged record has none. SQLITE_OK,
 * SQLITE_NOMEM, and what the engine answers.
 */
int pt_large_fields_find_gone(pt_session *session, pt_slice key, const pt_bag *kept,
                              pt_buffer *gone, pt_error *error);

/* Deletes their chunks. Within a row. SQLITE_OK or SQLITE_NOMEM. */
int pt_large_fields_remove(pt_session *session, uint32_t table_id, const pt_buffer *gone,
                           pt_error *error);

#endif
