/*
 * Keys. An entity key is PartitionKey, a byte 00 and RowKey, in UTF-8. A logical key begins with
 * the id of the table:
 *
 *     be32(table id) | PartitionKey | 00 | RowKey
 *
 * Neither key may contain U+0000. So nothing is escaped, and memcmp orders logical keys by table,
 * PartitionKey and RowKey. Tables have ids from 1 to PT_TABLE_ID_LIMIT - 1. Everything else that a
 * store keeps is in the same map, under ids that no table has, and so takes part in snapshots,
 * savepoints and commits as entities do:
 *
 *     be32(PT_TABLE_CATALOG) | name                the tables: transaction/table_directory.h
 *     be32(PT_TABLE_GARBAGE) | be32(table id)      dropped tables that still have entities to be
 *                                                  deleted; u8 format: 1
 *     be32(PT_TABLE_CHUNKS)  | be32(table id) ...  parts of large values: transaction/large_value.h
 */
#ifndef PT_ENTITY_KEY_H
#define PT_ENTITY_KEY_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

enum {
    PT_KEY_TABLE_SIZE = 4,      /* bytes of the table id in a logical key */
    PT_KEY_GARBAGE_SIZE = 8,    /* bytes of the logical key of a dropped table */
    PT_KEY_LOGICAL_MAX = 16384, /* bytes of the longest logical key of an entity */
};

/*
 * PartitionKey and PT_KEY_PARTITION_START begin every entity key of the partition. PartitionKey and
 * PT_KEY_PARTITION_END are not a key, but the position after all keys of the partition.
 */
enum { PT_KEY_PARTITION_START = 0x00, PT_KEY_PARTITION_END = 0x01 };

#define PT_TABLE_ID_LIMIT UINT32_C(0xFF000000)

#define PT_TABLE_CATALOG UINT32_C(0)
#define PT_TABLE_GARBAGE UINT32_C(0xFF000000)
#define PT_TABLE_CHUNKS UINT32_C(0xFF000001)

/* Writes the logical key of a dropped table. */
void pt_key_write_garbage(uint32_t table_id, uint8_t key[PT_KEY_GARBAGE_SIZE]);

/* Begins a logical key in the buffer, which is emptied first. Sets buffer->failed when out of
 * memory. */
void pt_key_begin(pt_buffer *buffer, uint32_t table_id);

/* Appends an entity key. */
void pt_key_append(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key);

/* Splits an entity key at its first 00. Returns false if it has none. */
bool pt_key_split(pt_slice entity_key, pt_slice *partition_key, pt_slice *row_key);

/*
 * The row id of an entity is its key as a text: PartitionKey, '/' and RowKey, in which every byte
 * but A-Z, a-z, 0-9, '-', '.', '_' and '~' is written as %XX in upper case. It needs no quotes in
 * SQL.
 */

/* Appends the row id of an entity key. Returns false if the entity key cannot be split. Sets
 * buffer->failed when out of memory. */
bool pt_key_append_row_id(pt_buffer *buffer, pt_slice entity_key);

/* Writes the entity key of a row id and returns its size; it has at most as many bytes as the text.
 * Returns 0 if the text is not the row id of any key, because it would be spelled differently. */
size_t pt_key_from_row_id(pt_slice text, uint8_t *entity_key);

/* The entity key in a logical key, which has at least PT_KEY_TABLE_SIZE bytes. */
static inline pt_slice pt_key_entity(pt_slice logical)
{
    return pt_slice_of(logical.data + PT_KEY_TABLE_SIZE, logical.size - PT_KEY_TABLE_SIZE);
}

/* Both keys of an entity. */
typedef struct pt_keys {
    pt_slice partition;
    pt_slice row;
} pt_keys;

/* The keys in a logical key; both empty if it cannot be split because the store is damaged. */
pt_keys pt_keys_of(pt_slice logical);

/* The keys in a message: "PartitionKey 'a', RowKey 'b'". Long ones are shortened. */
enum { PT_KEYS_TEXT_SIZE = 4 * PT_EXCERPT_SIZE + 40 };
void pt_keys_describe(pt_keys keys, char text[PT_KEYS_TEXT_SIZE]);

/* The table id and PartitionKey at the start of a logical key, which has at least
 * PT_KEY_TABLE_SIZE bytes. */
pt_slice pt_key_partition(pt_slice logical);

/* True if a logical key is in a partition, which pt_key_partition returned. */
bool pt_key_is_in_partition(pt_slice logical, pt_slice partition);

/*
 * Sets `end` to the least text that is greater than all texts that begin with `prefix`: drops
 * trailing U+10FFFF and increments the last code point, skipping the surrogates. Returns false if
 * there is no such text because the prefix is empty or consists of U+10FFFF. `prefix` must be valid
 * UTF-8. Sets end->failed when out of memory.
 */
bool pt_key_prefix_end(pt_slice prefix, pt_buffer *end);

/* True if the text can be a key: well-formed UTF-8 without U+0000. */
bool pt_key_is_valid_text(pt_slice text);

#endif
