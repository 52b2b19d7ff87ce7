/*
 * Keys. An entity key is PartitionKey, a byte 00 and RowKey, in UTF-8. A logical key begins with
 * the id of the table:
 *
 *     table id | PartitionKey | 00 | RowKey
 *
 * Every key pays for the id, and most stores have few tables. So small ids take one byte:
 *
 *     00 to EF      this id
 *     F0, be16      0xF0 to 0xFFFF
 *     F1, be32      0x10000 to PT_TABLE_ID_LIMIT - 1
 *     FE            PT_TABLE_GARBAGE
 *     FF            PT_TABLE_CHUNKS
 *
 * An id is written in one way only; any other bytes are damage. No id begins another id, and memcmp
 * orders ids as numbers. Neither key may contain U+0000, so nothing is escaped, and memcmp orders
 * logical keys by table, PartitionKey and RowKey. Only this module knows the sizes of ids.
 *
 * Tables have ids from 1 to PT_TABLE_ID_LIMIT - 1. Everything else that a store keeps is in the
 * same map, under ids that no table has, and so takes part in snapshots, savepoints and commits as
 * entities do:
 *
 *     PT_TABLE_CATALOG | name            the tables: transaction/table_directory.h
 *     PT_TABLE_CATALOG | name | 00 ...   their indexes: transaction/index_directory.h
 *     PT_TABLE_GARBAGE | table id        dropped tables that still have entities to be deleted;
 *                                        u8 format: 1; of an index, u8 PT_TABLE_OF_ENTRIES
 *     PT_TABLE_CHUNKS  | table id ...    parts of large values: transaction/large_value.h
 */
#ifndef PT_ENTITY_KEY_H
#define PT_ENTITY_KEY_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"

enum {
    PT_KEY_TABLE_MAX = 5, /* bytes of the longest table id in a logical key */
    PT_KEY_START_MAX = 1 + PT_KEY_TABLE_MAX,
    PT_KEY_ENTITY_MAX = 16380, /* bytes of the longest entity key, of any table */
    PT_KEY_PARTS_MAX = 4104,   /* bytes before the entity key of an entry: entity/index.h */
    PT_KEY_LOGICAL_MAX = PT_KEY_TABLE_MAX + PT_KEY_PARTS_MAX + PT_KEY_ENTITY_MAX,
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

/* --- Table ids in keys --- */

/* The greatest id that takes one byte, which is the usual case. The functions below decide it by
 * one comparison. */
enum { PT_KEY_SMALL_TABLE = 0xEF };

/* The first bytes of ids that take more than one byte, and the ids that no table has. */
enum {
    PT_KEY_TABLE_16_BITS = 0xF0,
    PT_KEY_TABLE_32_BITS = 0xF1,
    PT_KEY_GARBAGE = 0xFE,
    PT_KEY_CHUNKS = 0xFF,
};

/* For first bytes above PT_KEY_SMALL_TABLE. A byte that begins no id counts as an id of one byte.
 */
static inline size_t pt_key_wide_table_size(uint8_t first)
{
    return first == PT_KEY_TABLE_16_BITS   ? 1 + sizeof(uint16_t)
           : first == PT_KEY_TABLE_32_BITS ? 1 + sizeof(uint32_t)
                                           : 1;
}

/* For first bytes above PT_KEY_SMALL_TABLE. Returns UINT32_MAX, which is no id, for a byte that
 * begins no id. */
uint32_t pt_key_wide_table(const uint8_t *bytes);

/* True if the key is long enough for the table id it begins with. Every key that is read from a
 * store must be checked by this first: the functions below rely on it. */
static inline bool pt_key_has_table(pt_slice logical)
{
    return logical.size != 0 && (logical.data[0] <= PT_KEY_SMALL_TABLE ||
                                 logical.size >= pt_key_wide_table_size(logical.data[0]));
}

/* The bytes of the table id that a logical key begins with. */
static inline size_t pt_key_table_size(pt_slice logical)
{
    return logical.data[0] <= PT_KEY_SMALL_TABLE ? 1 : pt_key_wide_table_size(logical.data[0]);
}

/* The table id of a logical key. */
static inline uint32_t pt_key_table(pt_slice logical)
{
    return logical.data[0] <= PT_KEY_SMALL_TABLE ? logical.data[0]
                                                 : pt_key_wide_table(logical.data);
}

/* Reads the table id at the start of any bytes and returns its size. Returns 0 if there is none, or
 * one that is not written as it should be. */
size_t pt_key_read_table(pt_slice bytes, uint32_t *table_id);

/* Reads the id of the table that a key under PT_TABLE_CHUNKS belongs to. Returns the size of what
 * the key begins with: of pt_key_start_of_chunks. Returns 0 if that is damaged. */
size_t pt_key_read_chunks(pt_slice logical, uint32_t *table_id);

/* Reads the id of a dropped table from its logical key. Returns 0 if the key is damaged. */
size_t pt_key_read_garbage(pt_slice logical, uint32_t *table_id);

/* Writes a table id and returns its size. */
size_t pt_key_put_table(uint8_t bytes[PT_KEY_TABLE_MAX], uint32_t table_id);

/* The bytes that all keys of a table begin with, or all keys of its garbage or chunks. */
typedef struct pt_key_start {
    uint8_t bytes[PT_KEY_START_MAX];
    uint8_t size;
} pt_key_start;

pt_key_start pt_key_start_of_table(uint32_t table_id);
pt_key_start pt_key_start_of_chunks(uint32_t table_id);
/* This is the whole logical key of a dropped table. */
pt_key_start pt_key_start_of_garbage(uint32_t table_id);

/* The position after all keys with this start. Not for the start of PT_TABLE_CHUNKS itself. */
pt_key_start pt_key_start_after(pt_key_start start);

static inline pt_slice pt_key_start_slice(const pt_key_start *start)
{
    return pt_slice_of(start->bytes, start->size);
}

/* --- Logical keys --- */

/* Begins a logical key in the buffer, which is emptied first. Sets buffer->failed when out of
 * memory. */
void pt_key_begin(pt_buffer *buffer, uint32_t table_id);

/* Sets the buffer to the logical key of a position in the table: its id and an entity key. False
 * when out of memory. */
static inline bool pt_key_make(pt_buffer *buffer, uint32_t table_id, pt_slice entity_key)
{
    pt_key_begin(buffer, table_id);
    pt_buffer_append_slice(buffer, entity_key);
    return !buffer->failed;
}

/* Sets the buffer to the position after all keys of a table. Sets buffer->failed when out of
 * memory. */
void pt_key_begin_after(pt_buffer *buffer, uint32_t table_id);

/* Makes a bound of a partition: PartitionKey, and PT_KEY_PARTITION_START or PT_KEY_PARTITION_END.
 * Sets buffer->failed when out of memory. */
void pt_key_bound_partition(pt_buffer *buffer, uint32_t table_id, pt_slice partition_key,
                            uint8_t bound);

/* Appends an entity key. */
void pt_key_append(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key);

/* Appends an entity key and a byte 00. */
void pt_key_append_with_nul(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key);

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

/* The entity key in a logical key. */
static inline pt_slice pt_key_entity(pt_slice logical)
{
    size_t table_size = pt_key_table_size(logical);
    return pt_slice_of(logical.data + table_size, logical.size - table_size);
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

typedef struct pt_keys_excerpts {
    char partition[PT_EXCERPT_SIZE];
    char row[PT_EXCERPT_SIZE];
} pt_keys_excerpts;

/* Returns both keys as whole texts for a message. A damaged key may not be UTF-8: instead of it
 * returns its excerpt, which is written to `excerpts`. */
pt_keys pt_keys_for_message(pt_slice logical, pt_keys_excerpts *excerpts);

/* The table id and PartitionKey at the start of a logical key. */
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
