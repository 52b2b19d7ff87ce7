/*
 * Single values of an open record (entity/entity.h), for who knows their type already.
 */
#ifndef PT_ENTITY_RECORD_VALUE_H
#define PT_ENTITY_RECORD_VALUE_H

#include "entity/entity.h"

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
