#include "entity/record.h"

#include "base/sqlite.h"
#include "base/ticks.h"
#include "base/xxhash.h"

enum {
    RECORD_FLAGS_AT = 1,
    RECORD_SHAPE_AT = 2,
    RECORD_CHECKSUM_AT = 4,
    RECORD_TICKS_AT = 8,
    FLAG_WIDE = 1,
    DESCRIPTION_HEADER = 4,
    LARGEST_NARROW = UINT16_MAX,
    LARGE_TICKS = 8, /* in the slot of a large value, after its size */
    LARGE_ORDINAL = 16,
};

/* The fields in the first eight bytes of a record, read as one number. */
enum { FLAGS_SHIFT = 8, SHAPE_SHIFT = 16, CHECKSUM_SHIFT = 32, FORMAT_AND_FLAGS = 0xFFFF };

static uint32_t record_checksum(pt_slice key, uint32_t start, pt_slice record)
{
    uint64_t seed = XXH3_64bits(key.data, key.size) ^ start;
    return (uint32_t)XXH3_64bits_withSeed(record.data + RECORD_TICKS_AT,
                                          record.size - RECORD_TICKS_AT, seed);
}

static bool is_time(int64_t ticks)
{
    return (uint64_t)ticks <= (uint64_t)PT_TICKS_MAX;
}

static bool has_record_size(pt_slice bytes)
{
    return bytes.size >= PT_RECORD_HEADER && bytes.size <= PT_RECORD_MAX;
}

/* Checks everything that needs no shape. `head` is the first eight bytes. */
static bool is_record_of(pt_slice bytes, uint64_t head, pt_slice key)
{
    const unsigned flags = (unsigned)FLAG_WIDE << FLAGS_SHIFT;
    return (head & FORMAT_AND_FLAGS & ~flags) == PT_RECORD_FORMAT &&
           head >> CHECKSUM_SHIFT == record_checksum(key, (uint32_t)head, bytes) &&
           is_time((int64_t)pt_get_le64(bytes.data + RECORD_TICKS_AT));
}

/* Takes the description of a shape off the start of `rest`, and parses it. */
static int parse_inline_shape(pt_slice *rest, const pt_shape_source *source, pt_buffer *scratch,
                              const pt_shape **shape)
{
    if (rest->size < DESCRIPTION_HEADER) {
        return SQLITE_CORRUPT_VTAB;
    }
    size_t size = pt_get_le32(rest->data);
    if (size > rest->size - DESCRIPTION_HEADER) {
        return SQLITE_CORRUPT_VTAB;
    }
    pt_slice description = pt_slice_of(rest->data + DESCRIPTION_HEADER, size);
    size_t memory_size = pt_shape_memory(description);
    if (memory_size == 0) {
        return SQLITE_CORRUPT_VTAB;
    }
    pt_buffer_clear(scratch);
    void *memory = pt_buffer_extend(scratch, memory_size);
    if (memory == NULL) {
        return SQLITE_NOMEM;
    }
    *shape = pt_shape_parse(description, source->name, source->context, memory);
    *rest = pt_slice_of(description.data + size, rest->size - DESCRIPTION_HEADER - size);
    return *shape != NULL ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

/* The bytes after the header. */
static pt_slice record_body(pt_slice bytes)
{
    return pt_slice_of(bytes.data + PT_RECORD_HEADER, bytes.size - PT_RECORD_HEADER);
}

/* Finds the three areas in the bytes after header and description. Their size must fit the shape.
 */
static inline int divide_body(pt_record *record, pt_slice body)
{
    const pt_shape *shape = record->shape;
    size_t ends_size = (size_t)shape->variable * (record->wide ? PT_WIDE_END : PT_NARROW_END);
    if (body.size < shape->fixed_size + ends_size) {
        return SQLITE_CORRUPT_VTAB;
    }
    record->fixed = body.data;
    record->ends = body.data + shape->fixed_size;
    record->data = record->ends + ends_size;
    record->frame = (uint32_t)(PT_RECORD_HEADER + shape->fixed_size + ends_size);
    record->data_size = (uint32_t)(body.size - shape->fixed_size - ends_size);
    uint32_t used = shape->variable != 0 ? pt_record_end(record, shape->variable - 1) : 0;
    return used == record->data_size ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

/* Finds the shape by its id or description, and then the three areas. */
__attribute__((noinline)) static int divide_by_source(pt_record *record, uint16_t shape_id,
                                                      pt_slice bytes, const pt_shape_source *source,
                                                      pt_buffer *scratch)
{
    pt_slice body = record_body(bytes);
    if (shape_id != 0) {
        record->shape = source->shape(source->context, shape_id);
    } else {
        int rc = parse_inline_shape(&body, source, scratch, &record->shape);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return record->shape != NULL ? divide_body(record, body) : SQLITE_CORRUPT_VTAB;
}

static bool is_id_of(const pt_shape *shape, uint16_t shape_id)
{
    return shape != NULL && shape_id != 0 && shape->id == shape_id;
}

int pt_record_open(pt_record *record, pt_slice key, pt_slice bytes, const pt_shape_source *source,
                   pt_buffer *scratch)
{
    if (!has_record_size(bytes)) {
        return SQLITE_CORRUPT_VTAB;
    }
    uint64_t head = pt_get_le64(bytes.data);
    if (!is_record_of(bytes, head, key)) {
        return SQLITE_CORRUPT_VTAB;
    }
    record->ticks = (int64_t)pt_get_le64(bytes.data + RECORD_TICKS_AT);
    record->wide = (head >> FLAGS_SHIFT & FLAG_WIDE) != 0;
    record->start = (uint32_t)head;
    uint16_t shape_id = (uint16_t)(head >> SHAPE_SHIFT);
    if (!is_id_of(source->hint, shape_id)) {
        return divide_by_source(record, shape_id, bytes, source, scratch);
    }
    record->shape = source->hint;
    return divide_body(record, record_body(bytes));
}

/* The first four bytes are format, flags and shape id. */
bool pt_record_open_alike(pt_record *record, pt_slice key, pt_slice bytes)
{
    if (bytes.size < record->frame || bytes.size > PT_RECORD_MAX) {
        return false;
    }
    uint64_t head = pt_get_le64(bytes.data);
    if ((uint32_t)head != record->start ||
        head >> CHECKSUM_SHIFT != record_checksum(key, record->start, bytes)) {
        return false;
    }
    const pt_shape *shape = record->shape;
    record->ticks = (int64_t)pt_get_le64(bytes.data + RECORD_TICKS_AT);
    record->fixed = bytes.data + PT_RECORD_HEADER;
    record->ends = record->fixed + shape->fixed_size;
    record->data = bytes.data + record->frame;
    record->data_size = (uint32_t)(bytes.size - record->frame);
    uint32_t used = shape->variable != 0 ? pt_record_end(record, shape->variable - 1) : 0;
    return used == record->data_size && is_time(record->ticks);
}

static uint64_t bits_of_real(double real)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static int ok_or_corrupt(bool sound)
{
    return sound ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

static int read_large(const uint8_t *fixed, pt_large *large)
{
    *large = (pt_large){.size = pt_get_le64(fixed),
                        .ticks = (int64_t)pt_get_le64(fixed + LARGE_TICKS),
                        .ordinal = pt_get_le16(fixed + LARGE_ORDINAL)};
    return ok_or_corrupt(large->size != 0 && large->size <= PT_LARGE_SIZE_MAX &&
                         is_time(large->ticks));
}

int pt_record_value(const pt_record *record, unsigned index, pt_value *value)
{
    const pt_property *property = &record->shape->properties[index];
    value->type = (pt_type)property->type;
    switch (value->type) {
    case PT_STRING:
        return ok_or_corrupt(pt_record_string(record, property, &value->bytes));
    case PT_BINARY:
        return ok_or_corrupt(pt_record_binary(record, property, &value->bytes));
    case PT_INT32:
        value->integer = pt_record_int32(record, property);
        return SQLITE_OK;
    case PT_INT64:
        value->integer = pt_record_int64(record, property);
        return SQLITE_OK;
    case PT_DOUBLE:
        value->real = pt_record_double(record, property);
        return SQLITE_OK;
    case PT_BOOLEAN:
        value->integer = record->fixed[property->slot];
        return ok_or_corrupt(value->integer <= 1);
    case PT_DATETIME:
        value->integer = pt_record_int64(record, property);
        return ok_or_corrupt(is_time(value->integer));
    case PT_GUID:
        memcpy(value->guid, record->fixed + property->slot, PT_GUID_SIZE);
        return SQLITE_OK;
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        return read_large(record->fixed + property->slot, &value->large);
    case PT_NONE:
        break;
    }
    return SQLITE_CORRUPT_VTAB;
}

static size_t description_size(const pt_shape *shape)
{
    return shape->id == 0 ? DESCRIPTION_HEADER + shape->description.size : 0;
}

/* Bytes of a record without its data. */
static size_t frame_size(const pt_shape *shape, bool wide)
{
    return PT_RECORD_HEADER + description_size(shape) + shape->fixed_size +
           (size_t)shape->variable * (wide ? PT_WIDE_END : PT_NARROW_END);
}

size_t pt_record_size(const pt_shape *shape, const pt_field *fields)
{
    uint64_t data_size = 0;
    for (unsigned i = 0; i < shape->count; i++) {
        data_size += pt_value_data_size(&fields[i].value);
    }
    return pt_record_size_with(shape, data_size);
}

size_t pt_record_size_with(const pt_shape *shape, uint64_t data_size)
{
    uint64_t size = frame_size(shape, data_size > LARGEST_NARROW) + data_size;
    return size <= PT_RECORD_MAX ? (size_t)size : 0;
}

static void put_fixed(uint8_t *at, const pt_value *value)
{
    switch (value->type) {
    case PT_INT32:
        pt_put_le32(at, (uint32_t)value->integer);
        break;
    case PT_INT64:
    case PT_DATETIME:
        pt_put_le64(at, (uint64_t)value->integer);
        break;
    case PT_DOUBLE:
        pt_put_le64(at, bits_of_real(value->real));
        break;
    case PT_BOOLEAN:
        *at = value->integer != 0;
        break;
    case PT_GUID:
        memcpy(at, value->guid, PT_GUID_SIZE);
        break;
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
        pt_put_le64(at, value->large.size);
        pt_put_le64(at + LARGE_TICKS, (uint64_t)value->large.ticks);
        pt_put_le16(at + LARGE_ORDINAL, value->large.ordinal);
        break;
    case PT_NONE:
    case PT_STRING:
    case PT_BINARY:
        break;
    }
}

static uint8_t *put_data(uint8_t *at, const pt_value *value)
{
    if (value->bytes.size != 0) {
        memcpy(at, value->bytes.data, value->bytes.size);
        at += value->bytes.size;
    }
    if (value->type == PT_STRING) {
        *at++ = 0;
    }
    return at;
}

static uint8_t *put_end(uint8_t *at, size_t end, bool wide)
{
    if (wide) {
        pt_put_le32(at, (uint32_t)end);
        return at + PT_WIDE_END;
    }
    pt_put_le16(at, (uint16_t)end);
    return at + PT_NARROW_END;
}

static void put_values(const pt_shape *shape, const pt_field *fields, uint8_t *body, bool wide)
{
    uint8_t *fixed = body;
    uint8_t *ends = fixed + shape->fixed_size;
    uint8_t *data = ends + (size_t)shape->variable * (wide ? PT_WIDE_END : PT_NARROW_END);
    uint8_t *at = data;
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_value *value = &fields[i].value;
        if (value->type == PT_STRING || value->type == PT_BINARY) {
            at = put_data(at, value);
            ends = put_end(ends, (size_t)(at - data), wide);
        } else {
            put_fixed(fixed + shape->properties[i].slot, value);
        }
    }
}

void pt_record_write(const pt_shape *shape, const pt_field *fields, int64_t ticks, pt_slice key,
                     uint8_t *bytes, size_t size)
{
    bool wide = size - frame_size(shape, false) > LARGEST_NARROW;
    bytes[0] = PT_RECORD_FORMAT;
    bytes[RECORD_FLAGS_AT] = wide ? FLAG_WIDE : 0;
    pt_put_le16(bytes + RECORD_SHAPE_AT, shape->id);
    uint8_t *body = bytes + PT_RECORD_HEADER;
    if (shape->id == 0) {
        pt_put_le32(body, (uint32_t)shape->description.size);
        memcpy(body + DESCRIPTION_HEADER, shape->description.data, shape->description.size);
        body += description_size(shape);
    }
    put_values(shape, fields, body, wide);
    pt_record_seal(ticks, key, bytes, size);
}

void pt_record_seal(int64_t ticks, pt_slice key, uint8_t *bytes, size_t size)
{
    pt_put_le64(bytes + RECORD_TICKS_AT, (uint64_t)ticks);
    uint32_t sum = record_checksum(key, pt_get_le32(bytes), pt_slice_of(bytes, size));
    pt_put_le32(bytes + RECORD_CHECKSUM_AT, sum);
}

/* --- Patching --- */

static bool is_sound_value(const pt_record *record, unsigned index)
{
    const pt_property *property = &record->shape->properties[index];
    pt_slice text;
    pt_value value;
    switch ((pt_type)property->type) {
    case PT_INT32:
    case PT_INT64:
    case PT_DOUBLE:
    case PT_GUID:
        return true;
    case PT_STRING:
        return pt_record_string(record, property, &text);
    default:
        return pt_record_value(record, index, &value) == SQLITE_OK;
    }
}

bool pt_record_is_sound(const pt_record *record)
{
    unsigned count = record->shape->count;
    unsigned i = 0;
    while (i < count && is_sound_value(record, i)) {
        i++;
    }
    return i == count;
}

bool pt_record_can_take(const pt_record *record, const pt_property *property, const pt_value *value)
{
    pt_slice present;
    if (value->type != (pt_type)property->type || pt_type_is_large(value->type)) {
        return false;
    }
    switch (value->type) {
    case PT_STRING:
        return pt_record_string(record, property, &present) && present.size == value->bytes.size;
    case PT_BINARY:
        return pt_record_binary(record, property, &present) && present.size == value->bytes.size;
    default:
        return true;
    }
}

void pt_record_patch(const pt_record *record, const pt_property *property, const pt_value *value,
                     uint8_t *copy)
{
    uint8_t *body = copy + PT_RECORD_HEADER;
    pt_slice present;
    if (value->type != PT_STRING && value->type != PT_BINARY) {
        put_fixed(body + property->slot, value);
    } else if (pt_record_binary(record, property, &present)) {
        put_data(body + (present.data - record->fixed), value);
    }
}
