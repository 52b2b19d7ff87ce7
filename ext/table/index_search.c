#include "table/index_search.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/seal.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "table/entry_row.h"
#include "table/index_ranges.h"
#include "transaction/large_value.h"
#include "value/value.h"

/* A row to be sorted: what orders it, and the key of its entity. */
typedef struct sorted_row {
    pt_slice order;
    pt_slice key;
} sorted_row;

struct pt_index_search {
    pt_index index; /* the names of its columns are not valid after the beginning */
    uint32_t table_id;
    int declared[PT_ENTRY_COLUMNS_MAX]; /* the declared column of each, or -1 */
    pt_buffer names;                    /* of the index, whose key has them */
    unsigned loads;                     /* when `index` was found in the list; 0: it was not */
    unsigned fixed;
    pt_direction direction;
    pt_scan scan; /* of the index */
    pt_index_ranges ranges;
    unsigned at;   /* ranges that were begun */
    pt_buffer key; /* of an entity, and one 00 */
    pt_buffer order;
    pt_buffer large;
    bool reads_entries;  /* rows are shown from entries */
    bool on_entry;       /* the row is */
    pt_slice entity_key; /* of the entry */
    pt_entry_row entry;
    bool sorted;
    pt_arena row_arena;
    sorted_row *rows;
    size_t row_count;
    size_t row_capacity;
    size_t next_row;
};

static int ensure_search(pt_index_search **search)
{
    if (*search == NULL) {
        *search = sqlite3_malloc64(sizeof **search);
        if (*search == NULL) {
            return SQLITE_NOMEM;
        }
        memset(*search, 0, sizeof **search);
    }
    return SQLITE_OK;
}

static void forget_rows(pt_index_search *search)
{
    sqlite3_free(search->rows);
    search->rows = NULL;
    search->row_count = 0;
    search->row_capacity = 0;
    search->next_row = 0;
    search->sorted = false;
    pt_arena_clear(&search->row_arena);
}

void pt_index_search_close(pt_index_search *search)
{
    pt_scan_close(&search->scan);
    forget_rows(search);
}

void pt_index_search_free(pt_index_search *search)
{
    if (search == NULL) {
        return;
    }
    forget_rows(search);
    pt_scan_free(&search->scan);
    pt_index_ranges_free(&search->ranges);
    pt_arena_free(&search->row_arena);
    pt_buffer_free(&search->names);
    pt_buffer_free(&search->key);
    pt_buffer_free(&search->order);
    pt_buffer_free(&search->large);
    pt_buffer_free(&search->entry.scratch);
    sqlite3_free(search);
}

/* --- Order --- */

/* True if the entries of a column, in their order, show the values in SQLite's order. */
static bool is_in_order(const pt_index_column *column, pt_type type)
{
    enum { STRINGS = 1 << PT_STRING, TIMES = 1 << PT_DATETIME, GUIDS = 1 << PT_GUID };
    unsigned has = column->has;
    if ((has & PT_INDEX_HAS_CUT) != 0) {
        return false;
    }
    if (type == PT_DATETIME) {
        return (has & (STRINGS | GUIDS | 1 << PT_DOUBLE)) == 0;
    }
    return type != PT_GUID || (has & (STRINGS | TIMES | 1 << PT_DOUBLE)) == 0;
}

static bool gives_order(const pt_index_search *search, const pt_table *table)
{
    for (unsigned i = search->fixed; i < search->index.count; i++) {
        const pt_index_column *column = &search->index.columns[i];
        int declared = search->declared[i];
        pt_type type = declared >= 0 ? table->config.columns[declared].type : PT_STRING;
        if (!is_in_order(column, column->system == PT_SYSTEM_TIMESTAMP ? PT_DATETIME : type)) {
            return false;
        }
    }
    return true;
}

/* --- Beginning --- */

/* Sets the columns from their names, as if there were no index: it may be for sorting only. */
static void take_use(pt_index_search *search, const pt_table *table, const pt_index_use *use)
{
    int end = PT_COLUMN_FIRST + table->config.column_count;
    pt_slice names = use->names;
    pt_slice name;
    search->index = (pt_index){.names = use->names};
    while (pt_index_next_name(&names, &name)) {
        pt_index_column *column = &search->index.columns[search->index.count];
        int shown = pt_entry_row_column_of(table, name);
        bool property = shown >= PT_COLUMN_FIRST && shown < end;
        column->system = pt_find_system_property(name);
        search->entry.columns[search->index.count] = shown;
        search->declared[search->index.count++] = property ? shown - PT_COLUMN_FIRST : -1;
    }
    search->entry.count = search->index.count;
}

/* Most searches use the same index as the one before. */
static int find_index_of(pt_index_search *search, pt_table *table, const pt_index_use *use,
                         const pt_scan *scan, bool *found, pt_error *error)
{
    pt_index_list *list = &table->indexes.list;
    int rc = pt_index_list_load(list, table->session, scan->view, table->config.table, error);
    *found = rc == SQLITE_OK && search->loads == list->loads &&
             pt_slice_equal(use->names, pt_buffer_slice(&search->names));
    if (rc != SQLITE_OK || *found) {
        return rc;
    }
    take_use(search, table, use);
    const pt_index *index = pt_index_list_find(list, use->names);
    *found = index != NULL;
    search->loads = 0;
    if (index == NULL) {
        return SQLITE_OK;
    }
    if (!pt_buffer_assign(&search->names, use->names)) {
        return pt_error_nomem(error);
    }
    search->index = *index;
    search->index.names = pt_buffer_slice(&search->names);
    search->loads = list->loads;
    return SQLITE_OK;
}

static int open_index_entries(pt_index_search *search, const pt_scan *scan, pt_error *error)
{
    int rc = SQLITE_OK;
    if (search->scan.view != scan->view) {
        rc = pt_scan_open(&search->scan, scan->view, error);
    }
    search->scan.horizon = scan->horizon;
    return rc;
}

int pt_index_search_begin(pt_index_search **found, const pt_row *row,
                          const pt_conditions *conditions, sqlite3_value **argv, unsigned plan,
                          bool *able, bool *sorts, pt_error *error)
{
    pt_table *table = row->table;
    pt_index_use use = pt_index_use_read(conditions->terms.rest);
    bool troubled = false;
    const unsigned keys = PT_PLAN_TERM(PT_TERM_PK_EQ) | PT_PLAN_TERM(PT_TERM_RK_EQ);
    bool by_row = (plan & PT_PLAN_TERM(PT_TERM_RK_EQ)) != 0;
    *able = false;
    if (ensure_search(found) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    pt_index_search *search = *found;
    forget_rows(search);
    pt_index_ranges_begin(&search->ranges);
    search->at = 0;
    search->reads_entries = false;
    search->on_entry = false;
    search->table_id = row->table_id;
    search->direction = (plan & PT_PLAN_DESCENDING) != 0 ? PT_BACKWARD : PT_FORWARD;
    search->fixed = use.order ? use.fixed : 0;
    search->entry.read = use.read;
    *sorts = use.order;
    int rc = find_index_of(search, table, &use, row->scan, able, error);
    if (rc != SQLITE_OK || !*able) {
        return rc;
    }
    search->ranges.index = &search->index;
    search->ranges.declared = search->declared;
    search->ranges.fixed = search->fixed;
    search->ranges.by_key = (plan & keys) != 0;
    search->ranges.key = by_row ? PT_SYSTEM_ROW_KEY : PT_SYSTEM_PARTITION_KEY;
    if (pt_index_ranges_make(&search->ranges, conditions, search->ranges.by_key ? argv[0] : NULL,
                             able, &troubled) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (!*able) {
        return SQLITE_OK;
    }
    *sorts = use.order && (troubled || !gives_order(search, table));
    /* An entry does not tell if its entity has expired. */
    search->reads_entries = use.entries && !*sorts && !conditions->terms.never && !row->expires;
    return open_index_entries(search, row->scan, error);
}

/* --- Entries --- */

/* Moves to the first entry in the ranges that were not begun. */
__attribute__((noinline)) static int begin_next_range(pt_index_search *search, pt_error *error)
{
    bool forward = search->direction == PT_FORWARD;
    int rc = SQLITE_OK;
    search->scan.valid = false;
    while (rc == SQLITE_OK && !search->scan.valid && search->at < search->ranges.count) {
        unsigned number = forward ? search->at : search->ranges.count - 1 - search->at;
        search->at++;
        rc = pt_scan_seek(&search->scan, search->ranges.ranges[number].low,
                          search->ranges.ranges[number].high, search->direction, error);
    }
    return rc;
}

/* Moves to the next entry in the ranges. */
static inline int step_entries(pt_index_search *search, pt_error *error)
{
    int rc = SQLITE_OK;
    if (search->at != 0) {
        rc = pt_scan_step(&search->scan, error);
        if (rc != SQLITE_OK || search->scan.valid) {
            return rc;
        }
    }
    return begin_next_range(search, error);
}

/* Moves the scan of the table to an entity, whose key is followed by a 00 in search->key. */
static int seek_entity(pt_index_search *search, pt_scan *scan, pt_error *error)
{
    pt_slice high = pt_buffer_slice(&search->key);
    return pt_scan_seek(scan, pt_slice_of(high.data, high.size - 1), high, PT_FORWARD, error);
}

static bool make_entity_point(pt_index_search *search, pt_slice entity_key)
{
    pt_key_make(&search->key, search->table_id, entity_key);
    pt_buffer_append_byte(&search->key, 0);
    return !search->key.failed;
}

/* noinline, like next_sorted: rows of entries alone need neither. */
__attribute__((noinline)) static int fetch_entity(pt_index_search *search, pt_scan *scan,
                                                  pt_error *error)
{
    if (!make_entity_point(search, search->entity_key)) {
        return pt_error_nomem(error);
    }
    int rc = seek_entity(search, scan, error);
    search->on_entry = false;
    return rc == SQLITE_OK && !scan->valid ? pt_index_report_damage(&search->index, error) : rc;
}

/* Reads the entry that the scan of the index is on. Returns the bytes of its parts; 0 if it is
 * damaged. */
static inline size_t read_entry_parts(pt_index_search *search, pt_slice entry)
{
    pt_slice types;
    bool lasts = !search->scan.on_pending && search->scan.base->key_lasts;
    if (!pt_unseal(search->scan.key, search->scan.record, &types)) {
        return 0;
    }
    return search->reads_entries ? pt_entry_row_take(&search->entry, entry, types, lasts)
                                 : pt_entry_parts_size(entry, search->index.count);
}

static inline int take_entry_row(pt_index_search *search, pt_scan *scan, pt_error *error)
{
    pt_slice entry = pt_key_entity(search->scan.key);
    size_t parts = read_entry_parts(search, entry);
    if (parts == 0) {
        search->on_entry = false;
        return pt_index_report_damage(&search->index, error);
    }
    search->entity_key = pt_slice_of(entry.data + parts, entry.size - parts);
    search->on_entry = search->reads_entries && search->entry.whole;
    if (!search->on_entry) {
        return fetch_entity(search, scan, error);
    }
    pt_scan_show_key(scan, (pt_slice){0}); /* until a column needs it */
    return SQLITE_OK;
}

/* Moves the scan to the next sorted row whose entity is still there. */
__attribute__((noinline)) static int next_sorted(pt_index_search *search, pt_scan *scan, bool *eof,
                                                 pt_error *error)
{
    bool forward = search->direction == PT_FORWARD;
    bool found = false;
    int rc = SQLITE_OK;
    *eof = false;
    while (rc == SQLITE_OK && !found && !*eof) {
        *eof = search->next_row == search->row_count;
        if (!*eof) {
            size_t at = search->next_row++;
            const sorted_row *row = &search->rows[forward ? at : search->row_count - 1 - at];
            rc = make_entity_point(search, row->key) ? seek_entity(search, scan, error)
                                                     : pt_error_nomem(error);
            found = scan->valid;
        }
    }
    return rc;
}

int pt_index_search_next(pt_index_search *search, pt_scan *scan, bool *eof, pt_error *error)
{
    if (search->sorted) {
        return next_sorted(search, scan, eof, error);
    }
    int rc = step_entries(search, error);
    *eof = rc == SQLITE_OK && !search->scan.valid;
    if (rc == SQLITE_OK && !*eof) {
        rc = pt_view_step(scan->view, error);
    }
    return rc == SQLITE_OK && !*eof ? take_entry_row(search, scan, error) : rc;
}

/* --- Rows from entries --- */

bool pt_index_search_reads_entries(const pt_index_search *search)
{
    return search->reads_entries;
}

/* For the columns of keys, which need no entity. */
static int show_key(pt_index_search *search, pt_scan *scan, pt_error *error)
{
    if (scan->key.size == 0) {
        if (!pt_key_make(&search->key, search->table_id, search->entity_key)) {
            return pt_error_nomem(error);
        }
        pt_scan_show_key(scan, pt_buffer_slice(&search->key));
    }
    return SQLITE_OK;
}

/* *shown = false: the row has the column. */
static int show_from_entry(pt_index_search *search, pt_scan *scan, pt_row *row,
                           sqlite3_context *context, int column, bool *shown, pt_error *error)
{
    int entity_key = PT_COLUMN_FIRST + row->table->config.column_count + PT_TAIL_ENTITY_KEY;
    if (!pt_entry_row_show(&search->entry, context, column, shown)) {
        return search->entry.scratch.failed ? pt_error_nomem(error)
                                            : pt_index_report_damage(&search->index, error);
    }
    if (*shown) {
        return SQLITE_OK;
    }
    if (column < PT_COLUMN_FIRST || column >= entity_key) {
        return show_key(search, scan, error);
    }
    int rc = fetch_entity(search, scan, error);
    pt_row_moved(row);
    return rc == SQLITE_OK && scan->on_pending ? pt_row_open(row, error) : rc;
}

/* noinline, so that a text of the entry needs no error. */
__attribute__((noinline)) static int show_column(pt_index_search *search, pt_scan *scan,
                                                 pt_row *row, sqlite3_context *context, int column)
{
    pt_error error = PT_ERROR_NONE;
    bool shown = false;
    if (search->on_entry && !(row->may_change && sqlite3_vtab_nochange(context)) &&
        show_from_entry(search, scan, row, context, column, &shown, &error) != SQLITE_OK) {
        return pt_table_fail(row->table, &error);
    }
    return shown ? SQLITE_OK : pt_row_column(row, context, column);
}

int pt_index_search_column(pt_index_search *search, pt_scan *scan, pt_row *row,
                           sqlite3_context *context, int column)
{
    bool shown = search->on_entry && !row->may_change &&
                 pt_entry_row_show_text(&search->entry, context, column);
    return shown ? SQLITE_OK : show_column(search, scan, row, context, column);
}

/* --- Sorting --- */

/* Appends a text in the order of PT_DATETIME, in which a text that is no time comes after all
 * times, and an empty one before them. */
static void append_time_order(pt_buffer *order, pt_slice text)
{
    int64_t ticks = pt_ticks_place(text);
    if (ticks >= 0 && ticks <= PT_TICKS_MAX) {
        const pt_value time = {.type = PT_DATETIME, .integer = ticks};
        pt_entry_append_whole(order, &time);
    } else {
        pt_entry_append_prefix(order, pt_slice_text(ticks < 0 ? "" : ":"));
        pt_buffer_append_slice(order, text);
        pt_buffer_append(order, "\0\1", 2);
    }
}

/* NaN is shown as a text, and stands among the texts. */
static void name_not_a_number(pt_value *value)
{
    if (pt_entry_class_of(value) == PT_ENTRY_TEXT && value->type == PT_DOUBLE) {
        *value = (pt_value){.type = PT_STRING, .bytes = pt_slice_text(pt_double_name(value->real))};
    }
}

/* Appends what orders rows by a column of a declared type. */
static void append_order(pt_buffer *order, pt_type type, const pt_value *value)
{
    char guid[PT_GUID_TEXT_SIZE + 1];
    size_t before = order->size;
    if (type == PT_DATETIME && value->type == PT_STRING) {
        append_time_order(order, value->bytes);
    } else if (type == PT_DATETIME && value->type == PT_GUID) {
        pt_guid_format(value->guid, guid);
        append_time_order(order, pt_slice_text(guid));
    } else {
        pt_entry_append_whole(order, value);
    }
    bool folds = type == PT_GUID && pt_entry_class_of(value) == PT_ENTRY_TEXT && !order->failed;
    for (size_t i = before; folds && i < order->size; i++) {
        order->data[i] = pt_lower_case(order->data[i]); /* as NOCASE does */
    }
}

static int append_column(pt_index_search *search, pt_row *row, unsigned number, pt_error *error)
{
    const pt_index_column *column = &search->index.columns[number];
    pt_keys keys = pt_keys_of(row->scan->key);
    int declared = search->declared[number];
    pt_value value = {.type = PT_NONE};
    pt_type type = PT_STRING;
    if (column->system == PT_SYSTEM_PARTITION_KEY || column->system == PT_SYSTEM_ROW_KEY) {
        bool partition = column->system == PT_SYSTEM_PARTITION_KEY;
        value = (pt_value){.type = PT_STRING, .bytes = partition ? keys.partition : keys.row};
    } else if (column->system == PT_SYSTEM_TIMESTAMP) {
        value = (pt_value){.type = PT_DATETIME, .integer = row->record.ticks};
    } else if (declared >= 0) {
        type = row->table->config.columns[declared].type;
        const pt_column_places *places = pt_column_map_find(&row->table->map, row->record.shape);
        if (places == NULL) {
            return pt_error_nomem(error);
        }
        int place = places->place[declared];
        if (place >= 0 && pt_record_value(&row->record, (unsigned)place, &value) != SQLITE_OK) {
            return pt_report_damage(row->scan->key, error);
        }
        int rc = pt_large_read(row->scan->view, search->table_id, &value, &search->large, error);
        if (rc != SQLITE_OK) {
            return rc == SQLITE_CORRUPT_VTAB ? pt_report_damage(row->scan->key, error) : rc;
        }
    }
    name_not_a_number(&value);
    append_order(&search->order, type, &value);
    return SQLITE_OK;
}

static int collect_row(pt_index_search *search, pt_row *row, pt_error *error)
{
    pt_slice key = pt_key_entity(row->scan->key);
    int rc = pt_row_open(row, error);
    pt_buffer_clear(&search->order);
    for (unsigned i = search->fixed; rc == SQLITE_OK && i < search->index.count; i++) {
        rc = append_column(search, row, i, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_buffer_append_slice(&search->order, key);
    sorted_row made = {.key = pt_arena_copy(&search->row_arena, key)};
    if (!search->order.failed) {
        made.order = pt_arena_copy(&search->row_arena, pt_buffer_slice(&search->order));
    }
    if (made.order.data == NULL || made.key.data == NULL ||
        !pt_array_reserve(&search->rows, &search->row_capacity, search->row_count + 1,
                          sizeof made)) {
        return pt_error_nomem(error);
    }
    search->rows[search->row_count++] = made;
    return SQLITE_OK;
}

static int sorted_order(const void *a, const void *b)
{
    return pt_slice_compare(((const sorted_row *)a)->order, ((const sorted_row *)b)->order);
}

int pt_index_search_sort(pt_index_search *search, pt_row *row, const bool *eof,
                         pt_index_search_step *step, void *context, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !*eof) {
        rc = collect_row(search, row, error);
        rc = rc == SQLITE_OK ? step(context, error) : rc;
    }
    if (rc == SQLITE_OK) {
        qsort(search->rows, search->row_count, sizeof *search->rows, sorted_order);
    }
    search->sorted = true;
    return rc;
}

/* --- Uses --- */

enum { ORDER_AT, FIXED_AT, ENTRIES_AT, READ_AT, NAMES_SIZE_AT, NAMES_AT = NAMES_SIZE_AT + 4 };

void pt_index_use_write(const pt_index_use *use, pt_buffer *text)
{
    uint8_t head[NAMES_AT];
    head[ORDER_AT] = use->order;
    head[ENTRIES_AT] = use->entries;
    head[READ_AT] = (uint8_t)use->read;
    head[FIXED_AT] = (uint8_t)use->fixed;
    pt_put_le32(head + NAMES_SIZE_AT, (uint32_t)use->names.size);
    pt_buffer_append(text, head, sizeof head);
    pt_buffer_append_slice(text, use->names);
}

pt_index_use pt_index_use_read(const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    return (pt_index_use){.order = bytes[ORDER_AT] != 0,
                          .fixed = bytes[FIXED_AT],
                          .entries = bytes[ENTRIES_AT] != 0,
                          .read = bytes[READ_AT],
                          .names =
                              pt_slice_of(bytes + NAMES_AT, pt_get_le32(bytes + NAMES_SIZE_AT))};
}
