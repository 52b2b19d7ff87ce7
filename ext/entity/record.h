/*
 * Records: the timestamp and the typed properties of an entity, encoded as bytes.
 *
 *     offset 0   u16   shape id; 0: the record contains the description of its shape
 *            2   i64   timestamp in ticks
 *           10         only with shape id 0: u32 size, description (entity/shape.h)
 *                      fixed area: the values of fixed-size types
 *                      ends: for each STRING and BINARY but the last, the end of its bytes in the
 *                      data; the last one ends with the record
 *                      u32 checksum of the data, if the shape has a STRING or BINARY
 *                      u32 checksum of the head
 *                      data: the bytes of STRING and BINARY; the bytes of a STRING end with a NUL
 *
 * Each of the three areas is in the order of the shape's properties. In the fixed area an INT32
 * takes 4 bytes; INT64, DOUBLE and DATETIME (in ticks) take 8; a BOOLEAN takes 1, which is 0 or 1;
 * a GUID takes 16. A STRING or BINARY that is stored outside the record has a type of its own
 * (transaction/large_value.h) and takes 18: u64 size, i64 ticks, u16 ordinal. An end takes 1 byte
 * if the data has up to 255, else 2 if it has up to 65,535, else 4.
 *
 * Integers are little-endian, and nothing is aligned.
 *
 * The head is everything before its own checksum: the low half of XXH3_64 over the logical key
 * followed by the head, plus the size of the record, plus the size of the key times 65,536. In a
 * page key and record lie like this, so they are hashed in one run. The checksum also detects a
 * record that is stored under the wrong key, one that has lost its end, and key and record divided
 * in another place. The checksum of the data is the low half of XXH3_64 over the data. It is part
 * of the head.
 *
 * Opening a record verifies the head, and the first reading of a STRING or BINARY the data: a query
 * that reads no text never touches it. The rule that keeps damage from being hidden: whoever
 * copies or changes a record and writes a new checksum must first have verified the bytes under the
 * old one. A record that gets a new timestamp, number or key keeps its data and their checksum as
 * they are, so damage in the data stays detectable. To change a STRING or BINARY, verify the data
 * first.
 */
#ifndef PT_ENTITY_RECORD_H
#define PT_ENTITY_RECORD_H

#include "base/buffer.h"
#include "entity/bag.h"
#include "entity/shape.h"

enum {
    PT_RECORD_HEADER = 10,
    PT_RECORD_CHECKSUM = 4,
    PT_RECORD_CHECKSUMS = 2 * PT_RECORD_CHECKSUM,
    PT_RECORD_LEAST = PT_RECORD_HEADER + PT_RECORD_CHECKSUM,
    PT_RECORD_MAX = 1 << 30,
};

/* A record that is open for reading. It is valid as long as its bytes and its shape are. */
typedef struct pt_record {
    const pt_shape *shape;
    int64_t ticks;
    const uint8_t *fixed;
    const uint8_t *data;
    uint32_t data_size;
    uint8_t end_width;  /* log2 of the bytes of an end */
    bool data_verified; /* the checksum of the data has been found right */
    /* The same for all records of the shape: */
    uint32_t fixed_at;     /* offset of the fixed area */
    uint32_t ends;         /* number of ends */
    uint32_t narrow_frame; /* bytes of the record without data, with ends of one byte */
    uint32_t narrow_max;   /* bytes of data that may follow them */
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
 * Verifies the head and opens a record for reading. Parses a description in the record into
 * `scratch`, which must then live as long as `record`. Returns SQLITE_OK, SQLITE_NOMEM, or
 * SQLITE_CORRUPT_VTAB if the bytes are not a record of this key. The ticks of an open record are
 * from 0 to PT_TICKS_MAX.
 */
int pt_record_open(pt_record *record, pt_slice key, pt_slice bytes, const pt_shape_source *source,
                   pt_buffer *scratch);

/*
 * Opens a record of the shape of the record that `record` was last opened with. The shape must
 * still be valid, and must have an id. This spares the work that would have the same result. False
 * if the record has another shape or is damaged: call pt_record_open.
 */
bool pt_record_open_alike(pt_record *record, pt_slice key, pt_slice bytes);

/* Verifies the data of a record whose shape has a STRING or BINARY. True if they are sound. */
bool pt_record_verify_data(pt_record *record);

/*
 * Reads the value of the shape's property `index`, and verifies the data before the first STRING or
 * BINARY. These point into the record, and a NUL follows a STRING. A BOOLEAN is 0 or 1, a DATETIME
 * is from 0 to PT_TICKS_MAX. Of a large value this is only its place. Returns SQLITE_OK or
 * SQLITE_CORRUPT_VTAB.
 */
int pt_record_value(pt_record *record, unsigned index, pt_value *value);

/* True if every value can be read. */
bool pt_record_is_sound(pt_record *record);

/* The id of the shape as the bytes say, which are not verified; 0 if they are no record. */
static inline uint16_t pt_record_shape_id(pt_slice bytes)
{
    return bytes.size >= PT_RECORD_LEAST ? pt_get_le16(bytes.data) : 0;
}

/* The bytes of an open record. */
static inline pt_slice pt_record_bytes(const pt_record *record)
{
    const uint8_t *start = record->fixed - record->fixed_at;
    return pt_slice_of(start, (size_t)(record->data - start) + record->data_size);
}

/*
 * Returns the bytes of the record of these fields, which must be the shape's properties in their
 * order and with their types; 0 if it would have more than PT_RECORD_MAX.
 */
size_t pt_record_size(const pt_shape *shape, const pt_field *fields);

/* Returns the same for fields with this many bytes of data in all. */
size_t pt_record_size_with(const pt_shape *shape, uint64_t data_size);

/* Writes the record of these fields. `size` is its pt_record_size, `key` the logical key. It takes
 * less time if the bytes follow the key in memory. */
void pt_record_write(const pt_shape *shape, const pt_field *fields, int64_t ticks, pt_slice key,
                     uint8_t *bytes, size_t size);

/*
 * --- Patching ---
 *
 * An update that changes no type and no size patches a copy of the record, value by value, and then
 * seals the copy. The shape of the record must have an id.
 */

/* True if the value has the type and size of the property's present value and is not a large value.
 * For a STRING or BINARY the data must also be sound. */
bool pt_record_can_take(pt_record *record, const pt_property *property, const pt_value *value);

/* Writes such a value over the property's value in the copy, and the checksum of changed data. */
void pt_record_patch(pt_record *record, const pt_property *property, const pt_value *value,
                     uint8_t *copy);

/* Writes timestamp and checksum of the head into the copy. */
void pt_record_seal(const pt_record *record, int64_t ticks, pt_slice key, uint8_t *copy);

/* --- Values of an open record, for callers that know the type of the property --- */

/* The end in the data of the STRING or BINARY that has so many others behind it: at least 1. */
static inline uint32_t pt_record_end(const pt_record *record, uint32_t others_behind)
{
    const uint8_t *ends_end = record->data - PT_RECORD_CHECKSUMS;
    switch (record->end_width) {
    case 0:
        return *(ends_end - others_behind);
    case 1:
        return pt_get_le16(ends_end - 2 * (size_t)others_behind);
    default:
        return pt_get_le32(ends_end - 4 * (size_t)others_behind);
    }
}

/* Reads the bytes of a BINARY, or of a STRING with its NUL. Returns false if the data are damaged.
 */
static inline bool pt_record_binary(pt_record *record, const pt_property *property, pt_slice *bytes)
{
    if (!record->data_verified && !pt_record_verify_data(record)) {
        return false;
    }
    uint32_t behind = record->ends - property->slot;
    uint32_t start = property->slot != 0 ? pt_record_end(record, behind + 1) : 0;
    uint32_t end = behind != 0 ? pt_record_end(record, behind) : record->data_size;
    if (start > end || end > record->data_size) {
        return false;
    }
    *bytes = pt_slice_of(record->data + start, end - start);
    return true;
}

/* Reads a STRING, without the NUL that follows it. Returns false if it is damaged. */
static inline bool pt_record_string(pt_record *record, const pt_property *property, pt_slice *text)
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
