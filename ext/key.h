/*
 * Keys. An entity key is PartitionKey, 00, RowKey in UTF-8; a logical key puts the table's id in
 * front:
 *
 *     be32(table id) | PartitionKey | 00 | RowKey
 *
 * U+0000 is refused in both keys, so nothing is escaped and memcmp order is (table, PartitionKey,
 * RowKey) order. Table id 0 is the store's catalogue; tables have ids below PT_TABLE_ID_LIMIT.
 */
#ifndef PT_KEY_H
#define PT_KEY_H

#include "buffer.h"
#include "error.h"

enum {
    PT_KEY_TABLE_SIZE = 4,    /* bytes of the table id in a logical key */
    PT_KEY_LOGICAL_MAX = 510, /* bytes of the longest logical key */
};

#define PT_TABLE_ID_LIMIT UINT32_C(0xFF000000)

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

/*
 * The end of all texts that begin with `prefix`, as text: drops trailing U+10FFFF characters and
 * raises the last code point by one (skipping the surrogates). False if no text is greater than all
 * of them (empty prefix, or nothing but U+10FFFF). `prefix` must be valid UTF-8. `end` is
 * overwritten; out of memory shows in end->failed.
 */
bool pt_key_prefix_end(pt_slice prefix, pt_buffer *end);

/* Whether the bytes are well-formed UTF-8 without U+0000: what a key must be. */
bool pt_key_is_valid_text(pt_slice text);

#endif
