#include "entity/record.h"

#include "base/sqlite.h"
#include "base/ticks.h"
#include "base/xxhash.h"

enum {
    RECORD_TICKS_AT = 2,
    DESCRIPTION_HEADER = 4,
    LARGE_TICKS = 8, /* in the slot of a large value, after its size */
    LARGE_ORDINAL = 16,
    KEY_SIZE_SHIFT = 16, /* in the checksum of the head */
    SHORT_RUN_MAX = 128, /* bytes that XXH3_64bits hashes without a loop */
    SHORT_DATA_MAX = 64, /* bytes that it hashes in the registers that need not be saved */
    GATHERED_MAX = 256,  /* bytes of key and head that are copied, to hash them in one run */
};

/* --- Checksums --- */

static inline uint32_t data_checksum(const uint8_t *data, size_t size)
{
    return (uint32_t)XXH3_64bits(data, size);
}

/* Hashes key and head that do not lie one after the other. */
__attribute__((noinline)) static uint64_t hash_apart(pt_slice key, pt_slice head)
{
    size_t size = key.size + head.size;
    if (size <= GATHERED_MAX) {
        uint8_t gathered[GATHERED_MAX];
        memcpy(gathered, key.data, key.size);
        memcpy(gathered + key.size, head.data, head.size);
        return XXH3_64bits(gathered, size);
    }
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, key.data, key.size);
    XXH3_64bits_update(&state, head.data, head.size);
    return XXH3_64bits_digest(&state);
}

/* What is added to the hash; `size` is that of the record. */
static inline uint32_t sum_of_sizes(pt_slice key, size_t size)
{
    return (uint32_t)(size + (key.size << KEY_SIZE_SHIFT));
}

static inline uint32_t head_checksum(pt_slice key, pt_slice head, size_t size)
{
    uint64_t hash = key.data + key.size == head.data ? XXH3_64bits(key.data, key.size + head.size)
                                                     : hash_apart(key, head);
    return (uint32_t)hash + sum_of_sizes(key, size);
}

/* noinline, so that what is hot needs no room for a call. */
__attribute__((noinline)) static bool is_head_of(pt_slice key, pt_slice head, size_t size)
{
    return pt_get_le32(head.data + head.size) == head_checksum(key, head, size);
}

/* --- Opening --- */

static bool is_time(int64_t ticks)
{
    return (uint64_t)ticks <= (uint64_t)PT_TICKS_MAX;
}

static bool has_record_size(pt_slice bytes)
{
    return bytes.size >= PT_RECORD_LEAST && bytes.size <= PT_RECORD_MAX;
}

/* Parses the description of a shape that follows the header. */
static int parse_inline_shape(pt_slice bytes, const pt_shape_source *source, pt_buffer *scratch,
                              const pt_shape **shape)
{
    pt_slice rest = pt_slice_of(bytes.data + PT_RECORD_HEADER, bytes.size - PT_RECORD_HEADER);
    size_t size = pt_get_le32(rest.data); /* PT_RECORD_LEAST leaves room for it */
    if (size > rest.size - DESCRIPTION_HEADER) {
        return SQLITE_CORRUPT_VTAB;
    }
    pt_slice description = pt_slice_of(rest.data + DESCRIPTION_HEADER, size);
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
    return *shape != NULL ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

static bool is_id_of(const pt_shape *shape, uint16_t shape_id)
{
    return shape != NULL && shape_id != 0 && shape->id == shape_id;
}

/* Finds the shape by its id or description. */
static int find_shape(pt_slice bytes, const pt_shape_source *source, pt_buffer *scratch,
                      const pt_shape **shape)
{
    uint16_t shape_id = pt_get_le16(bytes.data);
    if (is_id_of(source->hint, shape_id)) {
        *shape = source->hint;
        return SQLITE_OK;
    }
    if (shape_id == 0) {
        return parse_inline_shape(bytes, source, scratch, shape);
    }
    *shape = source->shape(source->context, shape_id);
    return *shape != NULL ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

static size_t description_size(const pt_shape *shape)
{
    return shape->id == 0 ? DESCRIPTION_HEADER + shape->description.size : 0;
}

/* Sets what is the same for all records of the shape. */
static inline void set_shape(pt_record *record, const pt_shape *shape)
{
    bool has_data = shape->variable != 0;
    record->shape = shape;
    record->fixed_at = (uint32_t)(PT_RECORD_HEADER + description_size(shape));
    record->ends = has_data ? shape->variable - 1 : 0;
    record->narrow_frame = record->fixed_at + shape->fixed_size + record->ends +
                           (unsigned)(has_data ? PT_RECORD_CHECKSUMS : PT_RECORD_CHECKSUM);
    record->narrow_max = has_data ? UINT8_MAX : 0;
}

/* Bytes of a record without its data, with ends of this width. */
static inline size_t frame_size(const pt_record *record, unsigned width)
{
    return record->narrow_frame + (((size_t)record->ends << width) - record->ends);
}

/* The width of the ends in a record of this size. It follows from the bytes of data, which are
 * those that the ends leave. */
static unsigned width_in(const pt_record *record, size_t size)
{
    if (size <= (size_t)record->narrow_frame + UINT8_MAX) {
        return 0;
    }
    return size <= frame_size(record, 1) + UINT16_MAX ? 1 : 2;
}

int pt_record_open(pt_record *record, pt_slice key, pt_slice bytes, const pt_shape_source *source,
                   pt_buffer *scratch)
{
    const pt_shape *shape;
    if (!has_record_size(bytes)) {
        return SQLITE_CORRUPT_VTAB;
    }
    /* Nothing is verified yet: the shape says where the head ends. */
    int rc = find_shape(bytes, source, scratch, &shape);
    if (rc != SQLITE_OK) {
        return rc;
    }
    set_shape(record, shape);
    return pt_record_open_alike(record, key, bytes) ? SQLITE_OK : SQLITE_CORRUPT_VTAB;
}

/* Opens a record that has room for so many bytes of data, which have ends of this width. */
static inline bool open_divided(pt_record *record, pt_slice key, pt_slice bytes, size_t data_size,
                                unsigned width)
{
    size_t frame = bytes.size - data_size;
    uint64_t ticks = pt_get_le64(bytes.data + RECORD_TICKS_AT);
    if (pt_get_le16(bytes.data) != record->shape->id || ticks > (uint64_t)PT_TICKS_MAX) {
        return false;
    }
    const uint8_t *data = bytes.data + frame;
    record->ticks = (int64_t)ticks;
    record->fixed = bytes.data + record->fixed_at;
    record->data = data;
    record->data_size = (uint32_t)data_size;
    record->end_width = (uint8_t)width;
    record->data_verified = false;
    size_t run_size = key.size + frame - PT_RECORD_CHECKSUM;
    if (key.data + key.size != bytes.data || run_size > SHORT_RUN_MAX) {
        return is_head_of(key, pt_slice_of(bytes.data, frame - PT_RECORD_CHECKSUM), bytes.size);
    }
    uint32_t hash = pt_get_le32(data - PT_RECORD_CHECKSUM) - sum_of_sizes(key, bytes.size);
    return hash == (uint32_t)XXH3_64bits(key.data, run_size);
}

__attribute__((noinline)) static bool open_wide(pt_record *record, pt_slice key, pt_slice bytes)
{
    if (bytes.size > PT_RECORD_MAX || record->shape->variable == 0) {
        return false;
    }
    unsigned width = width_in(record, bytes.size);
    size_t frame = frame_size(record, width);
    return bytes.size >= frame && open_divided(record, key, bytes, bytes.size - frame, width);
}

/* Hot: flattened, so that short keys and heads are hashed without a call. Most records have little
 * data. */
__attribute__((flatten)) bool pt_record_open_alike(pt_record *record, pt_slice key, pt_slice bytes)
{
    size_t data_size = bytes.size - record->narrow_frame; /* huge if the record is too short */
    return data_size <= record->narrow_max ? open_divided(record, key, bytes, data_size, 0)
                                           : open_wide(record, key, bytes);
}

/* noinline, like is_head_of. */
__attribute__((noinline, flatten)) static bool verify_long_data(pt_record *record)
{
    uint32_t sum = pt_get_le32(record->data - PT_RECORD_CHECKSUMS);
    record->data_verified = data_checksum(record->data, record->data_size) == sum;
    return record->data_verified;
}

/* Hot, like pt_record_open_alike. */
__attribute__((flatten)) bool pt_record_verify_data(pt_record *record)
{
    if (record->data_size > SHORT_DATA_MAX) {
        return verify_long_data(record);
    }
    uint32_t sum = pt_get_le32(record->data - PT_RECORD_CHECKSUMS);
    record->data_verified = data_checksum(record->data, record->data_size) == sum;
    return record->data_verified;
}

/* --- Values --- */

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

int pt_record_value(pt_record *record, unsigned index, pt_value *value)
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

bool pt_record_is_sound(pt_record *record)
{
    unsigned count = record->shape->count;
    unsigned i = 0;
    pt_value value;
    while (i < count && pt_record_value(record, i, &value) == SQLITE_OK) {
        i++;
    }
    return i == count;
}

/* --- Writing --- */

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
    pt_record record;
    unsigned width = data_size <= UINT8_MAX ? 0 : data_size <= UINT16_MAX ? 1 : 2;
    set_shape(&record, shape);
    uint64_t size = frame_size(&record, width) + data_size;
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

static uint8_t *put_end(uint8_t *at, uint32_t end, unsigned width)
{
    if (width == 0) {
        *at = (uint8_t)end;
        return at + sizeof(uint8_t);
    }
    if (width == 1) {
        pt_put_le16(at, (uint16_t)end);
        return at + sizeof(uint16_t);
    }
    pt_put_le32(at, end);
    return at + sizeof(uint32_t);
}

/* Writes the values and the checksum of the data. */
static void put_values(const pt_shape *shape, const pt_field *fields, uint8_t *fixed, uint8_t *data,
                       unsigned width)
{
    uint8_t *ends = fixed + shape->fixed_size;
    uint8_t *at = data;
    unsigned behind = shape->variable;
    for (unsigned i = 0; i < shape->count; i++) {
        const pt_value *value = &fields[i].value;
        if (value->type != PT_STRING && value->type != PT_BINARY) {
            put_fixed(fixed + shape->properties[i].slot, value);
            continue;
        }
        at = put_data(at, value);
        behind--;
        if (behind != 0) {
            ends = put_end(ends, (uint32_t)(at - data), width);
        }
    }
    if (shape->variable != 0) {
        pt_put_le32(ends, data_checksum(data, (size_t)(at - data)));
    }
}

/* Writes the timestamp and the checksum of the head. */
static void seal(int64_t ticks, pt_slice key, uint8_t *bytes, size_t frame, size_t size)
{
    pt_put_le64(bytes + RECORD_TICKS_AT, (uint64_t)ticks);
    pt_slice head = pt_slice_of(bytes, frame - PT_RECORD_CHECKSUM);
    pt_put_le32(bytes + head.size, head_checksum(key, head, size));
}

__attribute__((flatten)) void pt_record_write(const pt_shape *shape, const pt_field *fields,
                                              int64_t ticks, pt_slice key, uint8_t *bytes,
                                              size_t size)
{
    pt_record record;
    set_shape(&record, shape);
    unsigned width = width_in(&record, size);
    size_t frame = frame_size(&record, width);
    pt_put_le16(bytes, shape->id);
    if (shape->id == 0) {
        uint8_t *description = bytes + PT_RECORD_HEADER;
        pt_put_le32(description, (uint32_t)shape->description.size);
        memcpy(description + DESCRIPTION_HEADER, shape->description.data, shape->description.size);
    }
    put_values(shape, fields, bytes + record.fixed_at, bytes + frame, width);
    seal(ticks, key, bytes, frame, size);
}

/* --- Patching --- */

bool pt_record_can_take(pt_record *record, const pt_property *property, const pt_value *value)
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

void pt_record_patch(pt_record *record, const pt_property *property, const pt_value *value,
                     uint8_t *copy)
{
    pt_slice present;
    if (value->type != PT_STRING && value->type != PT_BINARY) {
        put_fixed(copy + record->fixed_at + property->slot, value);
    } else if (pt_record_binary(record, property, &present)) {
        uint8_t *data = copy + (record->data - pt_record_bytes(record).data);
        put_data(data + (present.data - record->data), value);
        pt_put_le32(data - PT_RECORD_CHECKSUMS, data_checksum(data, record->data_size));
    }
}

void pt_record_seal(const pt_record *record, int64_t ticks, pt_slice key, uint8_t *copy)
{
    pt_slice bytes = pt_record_bytes(record);
    seal(ticks, key, copy, bytes.size - record->data_size, bytes.size);
}
