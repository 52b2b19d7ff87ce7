#include "table/entry_row.h"

#include "base/ways.h"
#include "value/value.h"

int pt_entry_row_column_of(const pt_table *table, pt_slice name)
{
    const pt_config *config = &table->config;
    int column = config->column_count - 1;
    switch (pt_find_system_property(name)) {
    case PT_SYSTEM_PARTITION_KEY:
        return PT_COLUMN_PARTITION_KEY;
    case PT_SYSTEM_ROW_KEY:
        return PT_COLUMN_ROW_KEY;
    case PT_SYSTEM_TIMESTAMP:
        return PT_COLUMN_FIRST + config->column_count + PT_TAIL_TIMESTAMP;
    default:
        break;
    }
    while (column >= 0 && !pt_slice_equal(name, pt_slice_of(config->columns[column].name,
                                                            config->columns[column].name_size))) {
        column--;
    }
    return column >= 0 ? PT_COLUMN_FIRST + column : -1;
}

/* Binaries are read from the entity: few are so short that all their bytes are in the entry. */
static inline bool tells_value(uint8_t type)
{
    return (type & (PT_ENTRY_CUT | PT_ENTRY_INEXACT)) == 0 && (type & PT_ENTRY_TYPE) != PT_BINARY;
}

/* True if the values of a type are shown as the text that stands for them in a part. */
static inline bool is_shown_as_text(uint8_t type)
{
    enum { TEXT_TYPES = 1 << PT_STRING | 1 << PT_DATETIME | 1 << PT_GUID };
    return type <= PT_TYPE_LAST && (TEXT_TYPES >> type & 1) != 0;
}

size_t pt_entry_row_take(pt_entry_row *row, pt_slice entry, pt_slice types, bool lasts)
{
    pt_slice rest = entry;
    row->whole = true;
    row->lasts = lasts;
    row->types = types;
    if (types.size < row->count) {
        return 0;
    }
    for (unsigned i = 0; i < row->count; i++) {
        uint8_t type = types.data[i];
        size_t size = PT_WAYS_ARE_GENERAL ? 0 : pt_entry_plain_text_size(rest);
        bool direct = size != 0 && is_shown_as_text(type);
        row->texts[i] = direct && lasts ? (const char *)rest.data + 1 : NULL;
        if (size == 0) {
            size = pt_entry_part_size(rest);
        }
        if (size == 0) {
            return 0;
        }
        if (!direct && (row->read >> i & 1) != 0 && !tells_value(type)) {
            row->whole = false;
        }
        row->parts[i] = pt_slice_of(rest.data, size);
        rest = pt_slice_of(rest.data + size, rest.size - size);
    }
    return entry.size - rest.size;
}

bool pt_entry_row_show(pt_entry_row *row, sqlite3_context *context, int column, bool *shown)
{
    pt_value value;
    unsigned number = pt_entry_row_find(row, column);
    *shown = number < row->count && tells_value(row->types.data[number]);
    if (!*shown) {
        return true;
    }
    pt_buffer_clear(&row->scratch);
    if (!pt_entry_read(row->parts[number], row->types.data[number], &value, &row->scratch)) {
        return false;
    }
    pt_value_result(context, &value, row->lasts && row->scratch.size == 0);
    return true;
}
