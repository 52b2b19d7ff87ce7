/*
 * The record codec: an entity's timestamp and typed properties as bytes.
 *
 *     offset 0   u8    format: 1
 *            1   u8    flags: 1 = wide (ends are u32 instead of u16); other bits must be 0
 *            2   u16   shape id; 0: the record describes its shape itself
 *            4   u32   checksum
 *            8   i64   timestamp in ticks
 *           16         only with shape id 0: u32 size, description (entity/shape.h)
 *                      fixed area: values of fixed-size types in shape order
 *                      ends: per STRING and BINARY in shape order, the end of its bytes in the data
 *                      data: the bytes; a STRING is followed by a NUL that its end includes
 *
 * INT32 takes 4 bytes, INT64, DOUBLE and DATETIME (ticks) 8, BOOLEAN 1 (0 or 1), GUID 16. A STRING
 * or BINARY whose bytes lie elsewhere (transaction/large_value.h) has a type of its own and takes
 * 18 in the fixed area: u64 size, i64 ticks, u16 ordinal. Integers are little-endian, nothing is
 * aligned. The checksum is the low half of XXH3_64 over the bytes from 8 on, seeded with XXH3_64 of
 * the logical key XOR the first 4 bytes as u32: a record under a wrong key is found out too.
 */
#ifndef PT_ENTITY_RECORD_H
#define PT_ENTITY_RECORD_H

#include "base/buffer.h"
#include "entity/bag.h"
#include "entity/shape.h"

enum { PT_RECORD_HEADER = 16, PT_RECORD_FORMAT = 1, PT_RECORD_MAX = 1 << 30 };

/* A record being read. Valid as long as its bytes and its shape. */
typedef struct pt_record {
    const pt_shape *shape;
    int64_t ticks;
    const uint8_t *fixed;
    const uint8_t *ends;
    const uint8_t *data;
    uint32_t data_size;
    bool wide;
} pt_record;

/* Finds the shape of a dictionary id; NULL if the id is unknown. */
typedef const pt_shape *(*pt_shape_lookup)(void *context, uint16_t shape_id);

/* How records find shapes and names; the engine supplies one for each store. */
typedef struct pt_shape_source {
    pt_shape_lookup shape;
    pt_name_lookup name;
    void *context;
    const pt_shape *hint; /* NULL, or a shape that is taken without a look-up where a record names
                             its id; the id must be one that it keeps */
} pt_shape_source;

/*
 * Verifies the checksum and prepares a record for reading. A shape described inline is parsed into
 * `scratch`, which must then live as long as `record`. Returns SQLITE_OK, SQLITE_NOMEM, or
 * SQLITE_CORRUPT_VTAB for whatever is not a record of this key. The ticks are then within
 * 0..PT_TICKS_MAX.
 */
int pt_record_open(pt_record *record, pt_slice key, pt_slice bytes, const pt_shape_source *source,
                   pt_buffer *scratch);

/*
 * Reads the value of property `index` of the shape. STRING and BINARY point into the record; a
 * STRING has a NUL behind its size, a BOOLEAN is 0 or 1, a DATETIME within 0..PT_TICKS_MAX. Of a
 * large value it says where the bytes are.
 * SQLITE_OK or SQLITE_CORRUPT_VTAB.
 */
int pt_record_value(const pt_record *record, unsigned index, pt_value *value);

/*
 * Bytes of the record of these fields, which must be the shape's properties in its order and with
 * its types; 0 if it would be over PT_RECORD_MAX. The same where the size of their data is known.
 */
size_t pt_record_size(const pt_shape *shape, const pt_field *fields);
size_t pt_record_size_with(const pt_shape *shape, uint64_t data_size);

/* Writes that record into pt_record_size bytes. `key` is the logical key. */
void pt_record_write(const pt_shape *shape, const pt_field *fields, int64_t ticks, pt_slice key,
                     uint8_t *bytes, size_t size);

/*
 * --- Changing values that keep their type and size, without taking the record apart ---
 *
 * A copy of an open record's bytes, whose shape has an id, is patched value by value; then it is
 * sealed, which gives it its timestamp and checksum.
 */

/* Whether every value can be read. */
bool pt_record_is_sound(const pt_record *record);

/* Whether a value, not a large one, has the type of the property and the size of its value. */
bool pt_record_can_take(const pt_record *record, const pt_property *property,
                        const pt_value *value);

/* Writes such a value into the copy, over the property's. */
void pt_record_patch(const pt_record *record, const pt_property *property, const pt_value *value,
                     uint8_t *copy);

void pt_record_seal(int64_t ticks, pt_slice key, uint8_t *bytes, size_t size);

/*
 * Single values of an open record (entity/record.h), for who knows their type already.
 */

enum { PT_NARROW_END = 2, PT_WIDE_END = 4 }; /* bytes of an end, in the record's two forms */

static inline uint32_t pt_record_end(const pt_record *record, uint32_t ordinal)
{
    return record->wide ? pt_get_le32(record->ends + (size_t)ordinal * PT_WIDE_END)
                        : pt_get_le16(record->ends + (size_t)ordinal * PT_NARROW_END);
}

/* The bytes of a STRING with its NUL, or of a BINARY. False if they are not within the data. */
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

/* A STRING, without the NUL that is behind it. False if it is damaged. */
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
