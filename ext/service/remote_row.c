#include "service/remote_row.h"

#include "base/ticks.h"
#include "entity/key.h"
#include "value/json_write.h"
#include "value/value.h"

static void return_slice(sqlite3_context *context, pt_slice text)
{
    sqlite3_result_text64(context, (const char *)text.data, text.size, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
}

static void return_property(pt_remote_row *row, sqlite3_context *context, int declared)
{
    const pt_column *column = &row->config->base.columns[declared];
    const pt_value *value =
        pt_page_find(row->page, row->entity, pt_slice_of(column->name, column->name_size),
                     &row->hints[declared]);
    if (value != NULL) {
        pt_value_result(context, value, false);
    }
}

/* In the order in which the service sent them. */
static int write_properties(pt_remote_row *row)
{
    const pt_page_entity *entity = row->entity;
    const pt_field *fields = row->page->fields + entity->first;
    pt_json_begin(&row->text);
    for (size_t i = 0; i < entity->count; i++) {
        pt_json_add(&row->text, fields[i].name, &fields[i].value);
    }
    pt_json_end(&row->text);
    return row->text.failed ? SQLITE_NOMEM : SQLITE_OK;
}

static int return_buffer(sqlite3_context *context, const pt_buffer *buffer, bool blob)
{
    if (buffer->failed) {
        return SQLITE_NOMEM;
    }
    if (blob) {
        sqlite3_result_blob64(context, buffer->data, buffer->size, SQLITE_TRANSIENT);
    } else {
        return_slice(context, pt_buffer_slice(buffer));
    }
    return SQLITE_OK;
}

/* The time that the service gave the entity when it was written. */
static void return_timestamp(const pt_remote_row *row, sqlite3_context *context)
{
    char text[PT_DATETIME_TEXT_SIZE + 1];
    if (row->entity->ticks != 0) {
        pt_ticks_format(row->entity->ticks, text);
        sqlite3_result_text(context, text, PT_DATETIME_TEXT_SIZE, SQLITE_TRANSIENT);
    }
}

static int return_row_id(pt_remote_row *row, sqlite3_context *context)
{
    pt_buffer key = {0};
    pt_key_append(&key, row->entity->partition, row->entity->row);
    if (key.failed) {
        pt_buffer_free(&key);
        return SQLITE_NOMEM;
    }
    pt_key_append_row_id(&row->text, pt_buffer_slice(&key));
    pt_buffer_free(&key);
    return return_buffer(context, &row->text, false);
}

static int return_tail(pt_remote_row *row, sqlite3_context *context, int tail)
{
    const pt_page_entity *entity = row->entity;
    pt_buffer_clear(&row->text);
    switch (tail) {
    case PT_REMOTE_FILTER:
        if (row->filter.data != NULL) {
            return_slice(context, row->filter);
        } else {
            sqlite3_result_pointer(context, row, PT_REMOTE_ROW_POINTER, NULL);
        }
        return SQLITE_OK;
    case PT_REMOTE_PROPERTIES:
        return write_properties(row) == SQLITE_OK ? return_buffer(context, &row->text, false)
                                                  : SQLITE_NOMEM;
    case PT_REMOTE_TIMESTAMP:
        return_timestamp(row, context);
        return SQLITE_OK;
    case PT_REMOTE_ETAG:
        if (entity->etag.size != 0) {
            return_slice(context, entity->etag);
        }
        return SQLITE_OK;
    case PT_REMOTE_WRITE_MODE:
    case PT_REMOTE_IF_MATCH:
        return SQLITE_OK; /* NULL */
    case PT_REMOTE_ENTITY_KEY:
        pt_key_append(&row->text, entity->partition, entity->row);
        return return_buffer(context, &row->text, true);
    case PT_REMOTE_ENTITY_VERSION:
        pt_key_append(&row->text, entity->partition, entity->row);
        pt_buffer_append_byte(&row->text, 0);
        pt_buffer_append_slice(&row->text, entity->etag);
        return return_buffer(context, &row->text, true);
    default:
        return return_row_id(row, context);
    }
}

int pt_remote_row_column(pt_remote_row *row, sqlite3_context *context, int column)
{
    int declared = column - PT_COLUMN_FIRST;
    if (sqlite3_vtab_nochange(context)) {
        return SQLITE_OK; /* an UPDATE does not need it */
    }
    if (column == PT_COLUMN_PARTITION_KEY) {
        return_slice(context, row->entity->partition);
    } else if (column == PT_COLUMN_ROW_KEY) {
        return_slice(context, row->entity->row);
    } else if (declared < row->config->base.column_count) {
        return_property(row, context, declared);
    } else {
        return return_tail(row, context, declared - row->config->base.column_count);
    }
    return SQLITE_OK;
}

void pt_remote_row_free(pt_remote_row *row)
{
    pt_buffer_free(&row->text);
}
