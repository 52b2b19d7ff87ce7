#include "transaction/large_fields.h"

#include "base/sqlite.h"
#include "entity/key.h"

/* Bytes of the strings and binaries that are not too long for the record by themselves. */
static uint64_t inline_bytes_of(const pt_bag *bag)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_value *value = &bag->fields[i].value;
        bool varies = value->type == PT_STRING || value->type == PT_BINARY;
        bytes += varies && value->bytes.size <= PT_INLINE_SIZE_MAX ? value->bytes.size : 0;
    }
    return bytes;
}

bool pt_large_fields_are_needed(const pt_bag *bag)
{
    uint64_t inline_bytes = 0;
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_value *value = &bag->fields[i].value;
        if (value->type != PT_STRING && value->type != PT_BINARY) {
            continue;
        }
        if (value->bytes.size > PT_INLINE_SIZE_MAX) {
            return true;
        }
        inline_bytes += value->bytes.size;
    }
    return inline_bytes > PT_INLINE_BYTES_MAX;
}

int pt_large_fields_put(pt_session *session, uint32_t table_id, int64_t ticks, pt_bag *bag,
                        pt_error *error)
{
    uint64_t inline_bytes = inline_bytes_of(bag);
    uint16_t ordinal = 0;
    int rc = SQLITE_OK;
    for (unsigned i = 0; rc == SQLITE_OK && i < bag->count; i++) {
        pt_value *value = &bag->fields[i].value;
        if (pt_large_is_needed(value, inline_bytes)) {
            rc = pt_large_put(session, table_id, ticks, ordinal++, value, error);
        }
    }
    return rc;
}

static bool is_kept(const pt_bag *kept, const pt_large *large)
{
    for (unsigned i = 0; kept != NULL && i < kept->count; i++) {
        const pt_value *value = &kept->fields[i].value;
        if (pt_type_is_large(value->type) && value->large.ticks == large->ticks &&
            value->large.ordinal == large->ordinal) {
            return true;
        }
    }
    return false;
}

static void append_gone(const pt_record *record, const pt_bag *kept, pt_buffer *gone)
{
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        if (pt_type_is_large((pt_type)record->shape->properties[i].type) &&
            pt_record_value(record, i, &value) == SQLITE_OK && !is_kept(kept, &value.large)) {
            pt_buffer_append(gone, &value.large, sizeof value.large);
        }
    }
}

static int find_in_record(pt_session *session, pt_slice key, pt_slice bytes, const pt_bag *kept,
                          pt_buffer *gone, pt_error *error)
{
    pt_shape_source source = pt_dictionary_source(pt_session_store(session)->dictionary);
    pt_buffer shape = {0};
    pt_record record;
    int rc = pt_record_open(&record, key, bytes, &source, &shape);
    if (rc == SQLITE_OK) {
        append_gone(&record, kept, gone);
    }
    pt_buffer_free(&shape);
    return rc == SQLITE_NOMEM || gone->failed ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_large_fields_find_gone(pt_session *session, pt_slice key, const pt_bag *kept,
                              pt_buffer *gone, pt_error *error)
{
    bool possible;
    bool found;
    pt_slice bytes;
    int rc = pt_large_values_possible(session, pt_get_be32(key.data), &possible, error);
    if (rc != SQLITE_OK || !possible) {
        return rc;
    }
    rc = pt_session_find(session, key, &found, &bytes, error);
    return rc == SQLITE_OK && found ? find_in_record(session, key, bytes, kept, gone, error) : rc;
}

int pt_large_fields_remove(pt_session *session, uint32_t table_id, const pt_buffer *gone,
                           pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t at = 0; rc == SQLITE_OK && at < gone->size; at += sizeof(pt_large)) {
        pt_large large;
        memcpy(&large, gone->data + at, sizeof large);
        rc = pt_large_remove(session, table_id, &large, error);
    }
    return rc;
}
