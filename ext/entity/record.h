/*
 * Records: the timestamp and the typed properties of an entity, encoded as bytes.
 *
 *     offset 0   u8    format: 1
 *            1   u8    flags: 1: wide, the ends are u32 instead of u16; the other bits are 0
 *            2   u16   shape id; 0: the record contains the description of its shape
 *            4   u32   checksum
 *            8   i64   timestamp in ticks
 *           16         only with shape id 0: u32 size, description (entity/shape.h)
 *                      fixed area: the values of fixed-size types
 *                      ends: for each STRING and BINARY, the end of its bytes in the data
 *                      data: the bytes of STRING and BINARY; the bytes of a STRING end with a NUL
 *
 * Each of the three areas is in the order of the shape's properties. In the fixed area an INT32
 * takes 4 bytes; INT64, DOUBLE and DATETIME (in ticks) take 8; a BOOLEAN takes 1, which is 0 or 1;
 * a GUID takes 16. A STRING or BINARY that is stored outside the record has a type of its own
 * (transaction/large_value.h) and takes 18: u64 size, i64 ticks, u16 ordinal.
 *
 * Integers are little-endian, and nothing is aligned. The checksum is the low half of XXH3_64 over
 * the bytes from offset 8 on. Its seed is XXH3_64 of the logical key XOR the first 4 bytes of the
 * record as u32, so the checksum also detects a record that is stored under the wrong key.
 */
#ifndef PT_ENTITY_RECORD_H
#define PT_ENTITY_RECORD_H

#include "base/buffer.h"
#include "entity/bag.h"
#include "entity/shape.h"

enum { PT_RECORD_HEADER = 16, PT_RECORD_FORMAT = 1, PT_RECORD_MAX = 1 << 30 };

/* A record that is open for reading. It is valid as long as its bytes and its shape are. */
typedef struct pt_record {
    const pt_shape *shape;
    int64_t ticks;
    const uint8_t *fixed;
    const uint8_t *ends;
    const uint8_t *data;
    uint32_t data_size;
    uint32_t start; /* the record's first four bytes */
    uint32_t frame; /* bytes before the data */
    bool wide;
} pt_record;

/* Returns the shape of an id in the dictionary, or NULL. */
typedef const pt_shape *(*pt_shape_lookup)(void *context, uint16_t shape_id);

/* Finds the shapes and names of records. Each store has one. */
typedef struct pt_shape_source {
    pt_shape_lookup shape;
    pt_name_lookup name;
    void *context;
    const pt_shape *hint; /* NULL, or the likely shape, which saves the look-up of its id. The id
                             must not become that of another shape */
} pt_shape_source;

/*
 * Verifies the checksum and opens a record for reading. Parses a description in the record into
 * `scratch`, which must then live as long as `record`. Returns SQLITE_OK, SQLITE_NOMEM, or
 * SQLITE_CORRUPT_VTAB if the bytes are not a record of this key. The ticks of an open record are
 * from 0 to PT_TICKS_MAX.
 */
int pt_record_open(pt_record *record, pt_slice key, pt_slice bytes, const pt_shape_source *source,
                   pt_buffer *scratch);

/*
 * Opens a record that begins like the one that `record` was last opened with, whose shape must
 * still be valid, and which must not have described its shape. This spares the work that would have
 * the same result. False if the record begins differently or is damaged: call pt_record_open.
 */
bool pt_record_open_alike(pt_record *record, pt_slice key, pt_slice bytes);

/*
 * Reads the value of the shape's property `index`. STRING and BINARY point into the record, and a
 * NUL follows a STRING. A BOOLEAN is 0 or 1, a DATETIME is from 0 to PT_TICKS_MAX. Of a large value
 * this is only its place. Returns SQLITE_OK or SQLITE_CORRUPT_VTAB.
 */
int pt_record_value(const pt_record *record, unsigned index, pt_value *value);

/*
 * Returns the bytes of the record of these fields, which must be the shape's properties in their
 * order and with their types; 0 if it would have more than PT_RECORD_MAX.
 */
size_t pt_record_size(const pt_shape *shape, const pt_field *fields);

/* Returns the same for fields with this many bytes of data in all. */
size_t pt_record_size_with(const pt_shape *shape, uint64_t data_size);

/* Writes the record of these fields. `size` is its pt_record_size, `key` the logical key. */
void pt_record_write(const pt_shape *shape, const pt_field *fields, int64_t ticks, pt_slice key,
                     uint8_t *bytes, size_t size);

/*
 * --- Patching ---
 *
 * An update that changes no type and no size patches a copy of the record, value by value, and then
 * seals the copy. The shape of the record must have an id.
 */

/* True if every value can be read. */
bool pt_record_is_sound(const pt_record *record);

/* True if the value has the type and size of the property's present value and is not a large value.
 */
bool pt_record_can_take(const pt_record *record, const pt_property *property,
                        const pt_value *value);

/* Writes such a value over the property's value in the copy. */
void pt_record_patch(const pt_record *record, const pt_property *property, const pt_value *value,
                     uint8_t *copy);

/* Writes timestamp and checksum. */
void pt_record_seal(int64_t ticks, pt_slice key, uint8_t *bytes, size_t size);

/* --- Values of an open record, for callers that know the type of the property --- */

enum { PT_NARROW_END = 2, PT_WIDE_END = 4 }; /* bytes of an end */

static inline uint32_t pt_record_end(const pt_record *record, uint32_t ordinal)
{
    return record->wide ? pt_get_le32(record->ends + (size_t)ordinal * PT_WIDE_END)
                        : pt_get_le16(record->ends + (size_t)ordinal * PT_NARROW_END);
}

/* Reads the bytes of a BINARY, or of a STRING with its NUL. Returns false if they are outside the
 * data. */
static inline bool pt_record_binary(const pt_record *record, const pt_property *property,
                                    pt_slice *bytes)
{
    uint32_t start = property->slot != 0 ? pt_record_end(record, property->slot - 1) : 0;
    uint32_t end = pt_record_end(record, property->slot);
    if (start > end || end > record->data_size) {
        return false;
    }
    *bytes = pt_slice_of(record->data + start, end - start);
    return true;
}

/* Reads a STRING, without the NUL that follows it. Returns false if it is damaged. */
static inline bool pt_record_string(const pt_record *record, const pt_property *property,
                                    pt_slice *text)
{
    if (!pt_record_binary(record, property, text) || text->size == 0) {
        return false;
    }
    text->size--;
    return text->data[text->size] == 0;
}

static inline int32_t pt_record_int32(const pt_record *record, const pt_property *property)
{
    return (int32_t)pt_get_le32(record->fixed + property->slot);
}

static inline int64_t pt_record_int64(const pt_record *record, const pt_property *property)
{
    return (int64_t)pt_get_le64(record->fixed + property->slot);
}

static inline double pt_record_double(const pt_record *record, const pt_property *property)
{
    uint64_t bits = pt_get_le64(record->fixed + property->slot);
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

#endif
