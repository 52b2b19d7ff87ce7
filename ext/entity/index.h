/*
 * Indexes: their entries and their definitions. An index is a hidden table of the store, and an
 * entry a record of it:
 *
 *     key      table id of the index, one part for each column, PartitionKey, 00, RowKey
 *     record   one byte for each column: the type of the value (pt_type), and PT_ENTRY_CUT,
 *              PT_ENTRY_INEXACT; sealed (base/seal.h)
 *
 * Parts are compared by memcmp in the order in which SQLite compares the values that a column
 * shows. A part ends by itself, so what follows decides only among equal values:
 *
 *     00                     no value: NULL, first in order
 *     10 number              an Int32, Int64, Boolean or Double
 *     20 bytes 00 01         a String, and the texts that stand for a DateTime, a Guid and NaN
 *     30 bytes 00 01         a Binary
 *
 * In bytes, 00 is written as 00 FF. Only the first PT_ENTRY_VALUE_MAX bytes of a value are there.
 *
 * A number is written as the greatest Double not above it, big-endian, such that memcmp orders it:
 * the bits of a negative one inverted, of others with the sign set. If that Double is 2^53 or more,
 * or -2^53 or less, two bytes follow: how much greater the number is, which may only be an Int64.
 * So an Int64 and a Double that are equal have equal parts. -0.0 is written as 0.
 */
#ifndef PT_ENTITY_INDEX_H
#define PT_ENTITY_INDEX_H

#include "base/buffer.h"
#include "entity/column.h"

enum {
    PT_ENTRY_COLUMNS_MAX = 8, /* of an index */
    PT_ENTRY_VALUE_MAX = 255, /* bytes of a text or binary */
    PT_ENTRY_PART_MAX = 1 + 2 * PT_ENTRY_VALUE_MAX + 2,
    PT_ENTRY_PARTS_MAX = PT_ENTRY_COLUMNS_MAX * PT_ENTRY_PART_MAX,
};

/* Classes of values: the first bytes of parts. */
typedef enum pt_entry_class {
    PT_ENTRY_NULL = 0x00,
    PT_ENTRY_NUMBER = 0x10,
    PT_ENTRY_TEXT = 0x20,
    PT_ENTRY_BINARY = 0x30,
} pt_entry_class;

/* No part begins with this byte, nor does a PartitionKey. After some parts it is the position after
 * all entries that begin with them. */
enum { PT_ENTRY_END = 0xFF };

/* The byte of a value in an entry's record. */
enum {
    PT_ENTRY_TYPE = 0x0F,    /* these bits are the pt_type; PT_NONE: there is no value */
    PT_ENTRY_INEXACT = 0x40, /* the part does not tell the value: -0.0 or NaN */
    PT_ENTRY_CUT = 0x80,     /* the value is longer than its part says */
};

/* The class of values of a type. NaN is a text. */
pt_entry_class pt_entry_class_of(const pt_value *value);

/*
 * Appends the part of a value, and returns its byte for the record. Of a large value the caller
 * gives the beginning, at least PT_ENTRY_VALUE_MAX + 1 bytes, as a STRING or BINARY. Sets
 * key->failed when out of memory.
 */
uint8_t pt_entry_append(pt_buffer *key, const pt_value *value);

/* Appends the same part of a whole value, of any length: for sorting values outside of indexes. */
void pt_entry_append_whole(pt_buffer *key, const pt_value *value);

/* Appends the beginning that all parts of texts with a prefix have. The prefix has at most
 * PT_ENTRY_VALUE_MAX bytes. */
void pt_entry_append_prefix(pt_buffer *key, pt_slice prefix);

/* The bytes of the part at the start of `bytes`; 0 if there is none, because the key is damaged. */
size_t pt_entry_part_size(pt_slice bytes);

/* What ends a text or binary, and stands for a 00 in it. */
enum { PT_ENTRY_ESCAPE = 0x00, PT_ENTRY_ESCAPED_END = 0x01, PT_ENTRY_ESCAPED_NUL = 0xFF };
enum { PT_ENTRY_END_SIZE = 2 };

/* The same for a text without a 00: its bytes follow the class, and a 00 follows them. 0 for
 * anything else. */
static inline size_t pt_entry_plain_text_size(pt_slice bytes)
{
    if (bytes.size == 0 || bytes.data[0] != PT_ENTRY_TEXT) {
        return 0;
    }
    const uint8_t *end = memchr(bytes.data, PT_ENTRY_ESCAPE, bytes.size - 1);
    return end != NULL && end[1] == PT_ENTRY_ESCAPED_END
               ? (size_t)(end - bytes.data) + PT_ENTRY_END_SIZE
               : 0;
}

/* The bytes of `count` parts at the start of `bytes`; 0 if the key is damaged. */
size_t pt_entry_parts_size(pt_slice bytes, unsigned count);

/* The same if no part says that there is no value, as uniqueness demands; else 0. */
size_t pt_entry_whole_parts_size(pt_slice bytes, unsigned count);

/* True if values of an entry whose record begins with these bytes may be longer than its parts say.
 */
bool pt_entry_is_cut(const uint8_t *types, unsigned count);

/*
 * Reads the value of a part, whose byte in the record is `type`, neither PT_ENTRY_CUT nor
 * PT_ENTRY_INEXACT. A text or binary points into the part, or into `scratch` if it contains a 00; a
 * NUL follows. Returns false if the part is not that of a value of the type, or when out of memory:
 * then scratch->failed.
 */
bool pt_entry_read(pt_slice part, uint8_t type, pt_value *value, pt_buffer *scratch);

/*
 * --- Definitions ---
 *
 * The columns of an index, and if it is unique. A column is a property, or the name of
 * PartitionKey, RowKey or Timestamp.
 */

enum { PT_INDEX_NAMES_MAX = 2000 }; /* bytes of all names of an index, with a NUL after each */

/* Empty if zeroed. */
typedef struct pt_index_definition {
    bool unique;
    unsigned count;
    pt_buffer names; /* of the columns, a NUL after each; failed: out of memory */
} pt_index_definition;

void pt_index_definition_free(pt_index_definition *definition);

/* Adds a column. Returns NULL, or what is wrong with it, for a message. PartitionKey, RowKey and
 * Timestamp may be given in any case. */
const char *pt_index_definition_add(pt_index_definition *definition, pt_slice name);

/* Adds the columns of a text: names with commas between. A name may be in double quotes. Columns
 * that the table declares may be given in any case. Returns as above. */
const char *pt_index_definition_add_list(pt_index_definition *definition, pt_slice list,
                                         const pt_column *columns, int count);

/* NULL, or what is wrong with the columns together. `unique` is set. */
const char *pt_index_definition_problem(const pt_index_definition *definition);

/* The names as the catalogue has them, with a 00 between two. */
pt_slice pt_index_definition_key(const pt_index_definition *definition);

/* The name of an index: that of its columns, joined by commas. From such a key; the text ends with
 * a NUL. Sets name->failed when out of memory. */
void pt_index_name_from_key(pt_slice key, pt_buffer *name);

/* Takes the next name off a key of columns. False at the end. */
bool pt_index_next_name(pt_slice *key, pt_slice *name);

#endif
