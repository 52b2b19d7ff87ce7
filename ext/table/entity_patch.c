#include "table/entity_patch.h"

#include "table/entity_rules.h"
#include "transaction/large_value.h"

/* NULL if it is not there, or has no id. */
static const pt_property *property_of(const pt_shape *shape, uint16_t name_id)
{
    for (unsigned i = 0; i < shape->count; i++) {
        if (shape->properties[i].name_id == name_id) {
            return name_id != 0 ? &shape->properties[i] : NULL;
        }
    }
    return NULL;
}

static bool can_take_all(const pt_record *record, const pt_bag *changes)
{
    for (unsigned i = 0; i < changes->count; i++) {
        const pt_field *field = &changes->fields[i];
        const pt_property *property = property_of(record->shape, field->name_id);
        if (property == NULL || !pt_record_can_take(record, property, &field->value)) {
            return false;
        }
    }
    return true;
}

/* A record with so little data has no value that must become a large one. */
bool pt_entity_can_be_patched(const pt_table *table, const pt_record *record)
{
    return record->shape->id != 0 && record->data_size <= PT_INLINE_SIZE_MAX &&
           !pt_entity_has_rules(table) && can_take_all(record, &table->columns) &&
           pt_record_is_sound(record);
}

int pt_entity_patch(pt_table *table, const pt_record *record, pt_slice key, pt_error *error)
{
    pt_slice old = pt_buffer_slice(&table->old_record);
    int64_t ticks = pt_session_tick(table->session);
    pt_session_require_sync(table->session, table->config.sync);
    uint8_t *bytes = pt_session_put(table->session, key, PT_MERGE, old.size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    memcpy(bytes, old.data, old.size);
    for (unsigned i = 0; i < table->columns.count; i++) {
        const pt_field *field = &table->columns.fields[i];
        pt_record_patch(record, property_of(record->shape, field->name_id), &field->value, bytes);
    }
    pt_record_seal(ticks, key, bytes, old.size);
    return SQLITE_OK;
}
