#include "table/entry_row.h"

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
static bool tells_value(uint8_t type)
{
    return (type & (PT_ENTRY_CUT | PT_ENTRY_INEXACT)) == 0 && (type & PT_ENTRY_TYPE) != PT_BINARY;
}

bool pt_entry_row_is_whole(const pt_entry_row *row)
{
    bool whole = row->types.size >= row->count;
    for (unsigned i = 0; whole && i < row->count; i++) {
        whole = (row->read >> i & 1) == 0 || tells_value(row->types.data[i]);
    }
    return whole;
}

bool pt_entry_row_show(pt_entry_row *row, sqlite3_context *context, int column, bool *shown)
{
    pt_value value;
    unsigned number = 0;
    while (number < row->count && row->columns[number] != column) {
        number++;
    }
    *shown = number < row->count && tells_value(row->types.data[number]);
    if (!*shown) {
        return true;
    }
    size_t begin = pt_entry_parts_size(row->parts, number);
    pt_slice rest = pt_slice_of(row->parts.data + begin, row->parts.size - begin);
    pt_slice part = pt_slice_of(rest.data, pt_entry_part_size(rest));
    pt_buffer_clear(&row->scratch);
    if (!pt_entry_read(part, row->types.data[number], &value, &row->scratch)) {
        return false;
    }
    pt_value_result(context, &value, row->lasts && row->scratch.size == 0);
    return true;
}
