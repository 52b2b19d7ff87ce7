/*
 * Keys. An entity key is PartitionKey, 00, RowKey in UTF-8; a logical key puts the table's id in
 * front:
 *
 *     be32(table id) | PartitionKey | 00 | RowKey
 *
 * U+0000 is refused in both keys, so nothing is escaped and memcmp order is (table, PartitionKey,
 * RowKey) order. Tables have ids from 1 to below PT_TABLE_ID_LIMIT. What a store keeps besides
 * entities lies in the same map, under ids that no table has, and so takes part in snapshots,
 * savepoints and commits like any entity:
 *
 *     be32(PT_TABLE_CATALOG) | name                the tables: transaction/table_directory.h
 *     be32(PT_TABLE_GARBAGE) | be32(table id)      tables that were dropped and whose entities are
 *                                                  still to be deleted; u8 format: 1
 *     be32(PT_TABLE_CHUNKS)  | be32(table id) ...  parts of large values: transaction/large_value.h
 */
#ifndef PT_ENTITY_KEY_H
#define PT_ENTITY_KEY_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"

enum {
    PT_KEY_TABLE_SIZE = 4,      /* bytes of the table id in a logical key */
    PT_KEY_LOGICAL_MAX = 16384, /* bytes of the longest logical key of an entity */
};

/*
 * What stands behind a PartitionKey where the entity keys of its partition begin, and behind them
 * all: a position in the order of keys that is no key.
 */
enum { PT_KEY_PARTITION_START = 0x00, PT_KEY_PARTITION_END = 0x01 };

#define PT_TABLE_ID_LIMIT UINT32_C(0xFF000000)

#define PT_TABLE_CATALOG UINT32_C(0)
#define PT_TABLE_GARBAGE UINT32_C(0xFF000000)
#define PT_TABLE_CHUNKS UINT32_C(0xFF000001)

/* Empties the buffer and begins a logical key in it. Out of memory shows in buffer->failed. */
void pt_key_begin(pt_buffer *buffer, uint32_t table_id);

/* Appends PartitionKey, 00, RowKey. */
void pt_key_append(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key);

/* Splits an entity key at its first NUL. False if there is none. */
bool pt_key_split(pt_slice entity_key, pt_slice *partition_key, pt_slice *row_key);

/* The entity key inside a logical key of at least PT_KEY_TABLE_SIZE bytes. */
static inline pt_slice pt_key_entity(pt_slice logical)
{
    return pt_slice_of(logical.data + PT_KEY_TABLE_SIZE, logical.size - PT_KEY_TABLE_SIZE);
}

/* Both keys of an entity. */
typedef struct pt_keys {
    pt_slice partition;
    pt_slice row;
} pt_keys;

/* The keys inside a logical key; both empty if it cannot be split, as in a damaged store. */
pt_keys pt_keys_of(pt_slice logical);

/* Table id and PartitionKey, as they begin a logical key of at least PT_KEY_TABLE_SIZE bytes. */
pt_slice pt_key_partition(pt_slice logical);

/* Whether a logical key is of the partition that pt_key_partition gave. */
bool pt_key_is_in_partition(pt_slice logical, pt_slice partition);

/*
 * The end of all texts that begin with `prefix`, as text: drops trailing U+10FFFF characters and
 * raises the last code point by one (skipping the surrogates). False if no text is greater than all
 * of them (empty prefix, or nothing but U+10FFFF). `prefix` must be valid UTF-8. `end` is
 * overwritten; out of memory shows in end->failed.
 */
bool pt_key_prefix_end(pt_slice prefix, pt_buffer *end);

/* Whether the bytes are well-formed UTF-8 without U+0000: what a key must be. */
bool pt_key_is_valid_text(pt_slice text);

/*
 * The beginning of a text, short enough for an error message.
 */

enum { PT_EXCERPT_CHARACTERS = 40, PT_EXCERPT_SIZE = 4 * PT_EXCERPT_CHARACTERS + 4 };

/*
 * Writes at most PT_EXCERPT_CHARACTERS characters and a NUL. Ends before a U+0000 and never inside
 * a UTF-8 character; "..." shows that something was left out, '?' stands for what is not UTF-8.
 */
void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE]);

#endif
