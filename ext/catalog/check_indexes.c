#include "catalog/check_indexes.h"

#include "base/seal.h"
#include "base/sqlite.h"
#include "base/xxhash.h"
#include "entity/key.h"

struct pt_checked_index {
    uint32_t table_id;
    pt_index index;
    char *name;
    pt_column properties[PT_ENTRY_COLUMNS_MAX];
    pt_column_map map;
    uint64_t expected; /* sums */
    uint64_t found;
    pt_buffer key;   /* in the catalogue */
    pt_buffer parts; /* of the last entry found, if it is bound by uniqueness */
    pt_buffer made;  /* an entry */
    pt_buffer scratch;
};

static void free_checked_index(pt_checked_index *checked)
{
    pt_column_map_free(&checked->map);
    pt_buffer_free(&checked->key);
    pt_buffer_free(&checked->parts);
    pt_buffer_free(&checked->made);
    pt_buffer_free(&checked->scratch);
    sqlite3_free(checked->name);
    sqlite3_free(checked);
}

void pt_check_free_indexes(pt_checked_indexes *indexes)
{
    for (size_t i = 0; i < indexes->count; i++) {
        free_checked_index(indexes->indexes[i]);
    }
    sqlite3_free(indexes->indexes);
    *indexes = (pt_checked_indexes){0};
}

/* --- The indexes --- */

/* Gives each column a number among the properties, which the map then finds. */
static void number_properties(pt_checked_index *checked)
{
    int count = 0;
    for (unsigned i = 0; i < checked->index.count; i++) {
        pt_index_column *column = &checked->index.columns[i];
        if (column->system == PT_SYSTEM_PROPERTIES) {
            checked->properties[count] = (pt_column){.name = (char *)(uintptr_t)column->name.data,
                                                     .name_size = column->name.size};
            column->property = count++;
        }
    }
    checked->map.columns = checked->properties;
    checked->map.column_count = count;
}

static int name_index(pt_checked_index *checked, const char *table)
{
    pt_buffer name = {0};
    pt_index_name_from_key(checked->index.names, &name);
    if (!name.failed) {
        checked->name = sqlite3_mprintf("index %Q of table %Q", (const char *)name.data, table);
    }
    pt_buffer_free(&name);
    return checked->name != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* The key's copy ends with a 00, so that every name in it does. */
static int fill_index(pt_checked_index *checked, const char *table, pt_slice key, pt_slice record)
{
    pt_buffer_assign(&checked->key, key);
    pt_buffer_append_byte(&checked->key, 0);
    if (checked->key.failed) {
        return SQLITE_NOMEM;
    }
    if (!pt_index_read(pt_slice_of(checked->key.data, key.size), record, &checked->index)) {
        return SQLITE_CORRUPT_VTAB;
    }
    number_properties(checked);
    return name_index(checked, table);
}

int pt_check_add_index(pt_checked_indexes *indexes, uint32_t table_id, const char *table,
                       pt_slice key, pt_slice record, uint32_t *id)
{
    *id = 0;
    if (!pt_array_reserve(&indexes->indexes, &indexes->capacity, indexes->count + 1,
                          sizeof *indexes->indexes)) {
        return SQLITE_NOMEM;
    }
    pt_checked_index *checked = sqlite3_malloc64(sizeof *checked);
    if (checked == NULL) {
        return SQLITE_NOMEM;
    }
    *checked = (pt_checked_index){.table_id = table_id};
    int rc = fill_index(checked, table, key, record);
    if (rc != SQLITE_OK) {
        free_checked_index(checked);
        return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
    }
    *id = checked->index.id;
    indexes->indexes[indexes->count++] = checked;
    return SQLITE_OK;
}

pt_checked_index *pt_check_find_index(pt_checked_indexes *indexes, uint32_t id)
{
    for (size_t i = 0; i < indexes->count; i++) {
        size_t at = (indexes->last + i) % indexes->count;
        if (indexes->indexes[at]->index.id == id) {
            indexes->last = at;
            return indexes->indexes[at];
        }
    }
    return NULL;
}

const char *pt_check_index_name(const pt_checked_index *index)
{
    return index->name;
}

bool pt_check_index_is_on(const pt_checked_index *index, pt_slice names)
{
    return pt_slice_equal(index->index.names, names);
}

/* --- Entries --- */

static bool is_whole_entry(const uint8_t *types, unsigned count)
{
    unsigned all = 0;
    for (unsigned i = 0; i < count; i++) {
        all |= types[i];
    }
    return (all & PT_ENTRY_CUT) == 0;
}

/* The entry's key begins with parts of so many bytes, in which the index's id is included. */
static uint64_t hash_entry(pt_slice key, size_t parts, const uint8_t *types, unsigned count)
{
    size_t from = is_whole_entry(types, count) ? 0 : parts;
    return XXH3_64bits_withSeed(key.data + from, key.size - from, XXH3_64bits(types, count));
}

static pt_value value_of_column(const pt_index_column *column, pt_slice key, pt_record *record,
                                const pt_column_places *places)
{
    pt_value value = {.type = PT_STRING};
    switch (column->system) {
    case PT_SYSTEM_PARTITION_KEY:
        value.bytes = pt_keys_of(key).partition;
        return value;
    case PT_SYSTEM_ROW_KEY:
        value.bytes = pt_keys_of(key).row;
        return value;
    case PT_SYSTEM_TIMESTAMP:
        return (pt_value){.type = PT_DATETIME, .integer = record->ticks};
    default:
        break;
    }
    int place = places->place[column->property];
    if (place < 0 || pt_record_value(record, (unsigned)place, &value) != SQLITE_OK) {
        value.type = PT_NONE;
    }
    return value;
}

/* Large values are longer than an entry shows. */
static uint8_t append_expected(pt_buffer *key, const pt_value *value)
{
    if (!pt_type_is_large(value->type)) {
        return pt_entry_append(key, value);
    }
    return (uint8_t)((value->type == PT_LARGE_STRING ? PT_STRING : PT_BINARY) |
                     (unsigned)PT_ENTRY_CUT);
}

static int expect_entry(pt_checked_index *checked, pt_slice key, pt_record *record)
{
    const pt_index *index = &checked->index;
    const pt_column_places *places = pt_column_map_find(&checked->map, record->shape);
    uint8_t types[PT_ENTRY_COLUMNS_MAX];
    if (places == NULL) {
        return SQLITE_NOMEM;
    }
    if (index->presence >= 0 && places->place[index->columns[index->presence].property] < 0) {
        return SQLITE_OK;
    }
    pt_key_begin(&checked->made, index->id);
    for (unsigned i = 0; i < index->count; i++) {
        pt_value value = value_of_column(&index->columns[i], key, record, places);
        types[i] = append_expected(&checked->made, &value);
    }
    size_t parts = checked->made.size;
    pt_buffer_append_slice(&checked->made, pt_key_entity(key));
    if (checked->made.failed) {
        return SQLITE_NOMEM;
    }
    checked->expected += hash_entry(pt_buffer_slice(&checked->made), parts, types, index->count);
    return SQLITE_OK;
}

int pt_check_expect_entries(pt_checked_indexes *indexes, uint32_t table_id, pt_slice key,
                            pt_record *record)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < indexes->count; i++) {
        if (indexes->indexes[i]->table_id == table_id) {
            rc = expect_entry(indexes->indexes[i], key, record);
        }
    }
    return rc;
}

/* Judges one value of an entry, which the catalogue must have noted. */
static bool is_sound_value(pt_checked_index *checked, unsigned column, pt_slice part, uint8_t type)
{
    pt_value value;
    unsigned has = checked->index.columns[column].has;
    bool cut = (type & PT_ENTRY_CUT) != 0;
    if ((has & 1u << (type & PT_ENTRY_TYPE)) == 0 || (cut && (has & PT_INDEX_HAS_CUT) == 0)) {
        return false;
    }
    if ((type & PT_ENTRY_INEXACT) != 0) {
        return (type & PT_ENTRY_TYPE) == PT_DOUBLE;
    }
    return pt_entry_read(part, type, &value, &checked->scratch);
}

/* Sets *parts to the bytes of id and parts. False if anything is damaged. */
static bool read_index_entry(pt_checked_index *checked, pt_slice key, const uint8_t *types,
                             size_t *parts)
{
    pt_slice partition;
    pt_slice row;
    size_t at = pt_key_table_size(key);
    for (unsigned i = 0; i < checked->index.count; i++) {
        pt_slice rest = pt_slice_of(key.data + at, key.size - at);
        size_t size = pt_entry_part_size(rest);
        if (size == 0 || !is_sound_value(checked, i, pt_slice_of(rest.data, size), types[i])) {
            return false;
        }
        at += size;
    }
    *parts = at;
    return pt_key_split(pt_slice_of(key.data + at, key.size - at), &partition, &row);
}

/* Entries with equal parts are neighbours. */
static bool breaks_uniqueness(pt_checked_index *checked, pt_slice parts, const uint8_t *types)
{
    const pt_index *index = &checked->index;
    bool bound = index->unique && is_whole_entry(types, index->count) &&
                 memchr(types, PT_NONE, index->count) == NULL;
    bool breaks = bound && pt_slice_equal(parts, pt_buffer_slice(&checked->parts));
    pt_buffer_assign(&checked->parts, bound ? parts : (pt_slice){0});
    return breaks;
}

int pt_check_find_entry(pt_checked_index *checked, pt_slice key, pt_slice record,
                        const char **wrong)
{
    pt_slice types;
    size_t parts;
    *wrong = "an entry is damaged";
    if (!pt_unseal(key, record, &types) || types.size < checked->index.count ||
        !read_index_entry(checked, key, types.data, &parts)) {
        return checked->scratch.failed ? SQLITE_NOMEM : SQLITE_OK;
    }
    *wrong = breaks_uniqueness(checked, pt_slice_of(key.data, parts), types.data)
                 ? "two entities have the same values, which should be unique"
                 : NULL;
    checked->found += hash_entry(key, parts, types.data, checked->index.count);
    return checked->parts.failed ? SQLITE_NOMEM : SQLITE_OK;
}

const char *pt_check_compare_entries(const pt_checked_index *checked)
{
    return checked->expected == checked->found
               ? NULL
               : "its entries are not those of the table's entities; drop it (DELETE FROM "
                 "pt_indexes) and make it again";
}
