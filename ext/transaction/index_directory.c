#include "transaction/index_directory.h"

#include "base/seal.h"
#include "base/sqlite.h"
#include "entity/key.h"

enum { INDEX_FORMAT = 1, INDEX_NAME_AT = 5, COLUMN_SIZE = 2 };

/* What follows the name in the record. */
enum { KIND_AT, UNIQUE_AT, COUNT_AT, COLUMNS_AT };

/* --- Records --- */

static size_t record_size(size_t name, unsigned columns)
{
    return INDEX_NAME_AT + name + COLUMNS_AT + (size_t)columns * COLUMN_SIZE + PT_SEAL_SIZE;
}

/* Writes the record. The name in it is that in the key: indexes are not shown by it. */
static int put_index(pt_session *session, const pt_index *index, pt_error *error)
{
    pt_slice name = pt_key_entity(index->key);
    size_t size = record_size(name.size, index->count);
    uint8_t *record = pt_session_put(session, index->key, PT_REPLACE, size);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    record[0] = INDEX_FORMAT;
    pt_put_le32(record + 1, index->id);
    memcpy(record + INDEX_NAME_AT, name.data, name.size);
    uint8_t *rest = record + INDEX_NAME_AT + name.size;
    rest[KIND_AT] = PT_TABLE_OF_ENTRIES;
    rest[UNIQUE_AT] = index->unique;
    rest[COUNT_AT] = (uint8_t)index->count;
    for (unsigned i = 0; i < index->count; i++) {
        pt_put_le16(rest + COLUMNS_AT + (size_t)i * COLUMN_SIZE, index->columns[i].has);
    }
    pt_seal(index->key, record, size);
    pt_session_note_catalog_change(session);
    return SQLITE_OK;
}

static bool read_columns(pt_index *index, const uint8_t *has)
{
    pt_slice names = index->names;
    unsigned count = 0;
    index->presence = -1;
    for (; count < index->count; count++) {
        pt_index_column *column = &index->columns[count];
        if (!pt_index_next_name(&names, &column->name) || column->name.size == 0) {
            return false;
        }
        column->system = pt_find_system_property(column->name);
        column->property = -1;
        column->has = pt_get_le16(has + (size_t)count * COLUMN_SIZE);
        if (index->presence < 0 && column->system == PT_SYSTEM_PROPERTIES) {
            index->presence = (int)count;
        }
    }
    return names.size == 0;
}

bool pt_index_read(pt_slice key, pt_slice record, pt_index *index)
{
    pt_table_entry entry;
    pt_slice name = pt_key_entity(key);
    const uint8_t *end = name.size != 0 ? memchr(name.data, 0, name.size) : NULL;
    if (end == NULL || !pt_table_entry_read(key, record, &entry) ||
        entry.kind != PT_TABLE_OF_ENTRIES || record.size < record_size(name.size, 1)) {
        return false;
    }
    const uint8_t *rest = record.data + INDEX_NAME_AT + name.size;
    size_t table_size = (size_t)(end - name.data) + 1;
    *index = (pt_index){.key = key,
                        .names = pt_slice_of(end + 1, name.size - table_size),
                        .id = entry.id,
                        .start = pt_key_start_of_table(entry.id),
                        .unique = rest[UNIQUE_AT] != 0,
                        .count = rest[COUNT_AT]};
    return rest[UNIQUE_AT] <= 1 && index->count != 0 && index->count <= PT_ENTRY_COLUMNS_MAX &&
           record.size >= record_size(name.size, index->count) &&
           read_columns(index, rest + COLUMNS_AT);
}

/* --- Lists --- */

void pt_index_list_free(pt_index_list *list)
{
    pt_column_map_free(&list->map);
    pt_arena_free(&list->arena);
    *list = (pt_index_list){0};
}

static void empty_list(pt_index_list *list)
{
    pt_column_map_free(&list->map);
    pt_arena_clear(&list->arena);
    *list = (pt_index_list){.arena = list->arena, .loads = list->loads + 1};
}

/* Finds or adds the property of a column. False when out of memory. */
static bool number_property(pt_index_list *list, pt_index_column *column)
{
    unsigned i = 0;
    while (i < list->property_count &&
           !pt_slice_equal(column->name,
                           pt_slice_of(list->properties[i].name, list->properties[i].name_size))) {
        i++;
    }
    column->property = (int)i;
    if (i < list->property_count) {
        return true;
    }
    if (!pt_arena_reserve(&list->arena, &list->properties, &list->property_capacity, i,
                          sizeof *list->properties)) {
        return false;
    }
    list->properties[i] =
        (pt_column){.name = (char *)(uintptr_t)column->name.data, .name_size = column->name.size};
    list->property_count++;
    return true;
}

/* The names of columns are terminated: each is followed by a 00 in the key, whose copy ends with
 * one. */
static int add_to_list(pt_index_list *list, pt_slice key, pt_slice record, bool *sound)
{
    pt_slice copy = pt_arena_copy(&list->arena, key);
    if (copy.data == NULL || !pt_arena_reserve(&list->arena, &list->indexes, &list->capacity,
                                               list->count, sizeof *list->indexes)) {
        return SQLITE_NOMEM;
    }
    pt_index *index = &list->indexes[list->count];
    *sound = pt_index_read(copy, record, index);
    for (unsigned i = 0; *sound && i < index->count; i++) {
        if (index->columns[i].system == PT_SYSTEM_PROPERTIES &&
            !number_property(list, &index->columns[i])) {
            return SQLITE_NOMEM;
        }
    }
    list->count += *sound;
    return SQLITE_OK;
}

static int report_index(const pt_view *view, const char *table, pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                        "the catalogue entry of an index of table %Q is damaged in store %Q; "
                        "restore the store from a backup",
                        table, view->snapshot->store->path);
}

/* A table that is not there has none. */
static int load_properties(pt_index_list *list, pt_view *view, const char *table, pt_error *error)
{
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, table, &entry, error);
    list->kept = entry.properties;
    if (rc == SQLITE_OK && entry.properties.expires.size != 0) {
        list->kept.expires = pt_arena_copy(&list->arena, entry.properties.expires);
        rc = list->kept.expires.data != NULL ? rc : pt_error_nomem(error);
    }
    return rc == SQLITE_NOTFOUND ? SQLITE_OK : rc;
}

static int fill_list(pt_index_list *list, pt_view *view, const char *table, pt_error *error)
{
    pt_scan scan = {0};
    bool sound = true;
    int rc = load_properties(list, view, table, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_open_indexes(&scan, view, table, error);
    }
    while (rc == SQLITE_OK && scan.valid) {
        rc = add_to_list(list, scan.key, scan.record, &sound) == SQLITE_OK ? SQLITE_OK
                                                                           : pt_error_nomem(error);
        if (rc == SQLITE_OK && !sound) {
            rc = report_index(view, table, error);
        }
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    list->map.columns = list->properties;
    list->map.column_count = (int)list->property_count;
    return rc;
}

/* noinline: every row that is written passes pt_index_list_load, and seldom this. */
__attribute__((noinline)) static int load_again(pt_index_list *list, pt_session *session,
                                                pt_view *view, const char *table, pt_error *error)
{
    empty_list(list);
    int rc = fill_list(list, view, table, error);
    if (rc == SQLITE_OK) {
        pt_catalog_stamp_set(&list->stamp, session, view);
    }
    return rc;
}

int pt_index_list_load(pt_index_list *list, pt_session *session, pt_view *view, const char *table,
                       pt_error *error)
{
    return pt_catalog_stamp_holds(&list->stamp, session, view)
               ? SQLITE_OK
               : load_again(list, session, view, table, error);
}

bool pt_index_list_is_empty(const pt_index_list *list)
{
    return list->count == 0 && list->kept.changes_id == 0;
}

pt_index *pt_index_list_find(const pt_index_list *list, pt_slice names)
{
    for (unsigned i = 0; i < list->count; i++) {
        if (pt_slice_equal(list->indexes[i].names, names)) {
            return &list->indexes[i];
        }
    }
    return NULL;
}

int pt_index_report_damage(const pt_index *index, pt_error *error)
{
    pt_buffer name = {0};
    pt_index_name_from_key(index->names, &name);
    int rc = name.failed
                 ? pt_error_nomem(error)
                 : pt_error_set(error, SQLITE_CORRUPT_VTAB,
                                "an entry of index %Q is damaged in the store; drop the index "
                                "(DELETE FROM pt_indexes) and make it again",
                                (const char *)name.data);
    pt_buffer_free(&name);
    return rc;
}

/* --- Writing --- */

int pt_index_directory_add(pt_session *session, const char *table,
                           const pt_index_definition *definition, pt_error *error)
{
    uint32_t id = pt_session_new_table_id(session);
    if (id >= PT_TABLE_ID_LIMIT) {
        return pt_error_set(error, SQLITE_FULL,
                            "store %Q has given out all its table ids; use another store",
                            pt_session_store(session)->path);
    }
    pt_buffer key = {0};
    pt_table_directory_key(table, true, &key);
    pt_buffer_append_slice(&key, pt_index_definition_key(definition));
    const pt_index index = {.key = pt_buffer_slice(&key),
                            .id = id,
                            .unique = definition->unique,
                            .count = definition->count};
    int rc = key.failed ? pt_error_nomem(error) : put_index(session, &index, error);
    pt_buffer_free(&key);
    return rc;
}

int pt_index_directory_remove(pt_session *session, pt_view *view, pt_slice key, uint32_t id,
                              pt_error *error)
{
    pt_table_entry table = {0};
    const char *name = (const char *)pt_key_entity(key).data; /* a 00 follows */
    size_t table_size = strlen(name) + 1;
    pt_slice columns =
        pt_slice_of(pt_key_entity(key).data + table_size, pt_key_entity(key).size - table_size);
    int rc = pt_table_directory_read(view, name, &table, error);
    if (rc == SQLITE_OK && pt_slice_equal(columns, table.properties.expires)) {
        return pt_error_set(
            error, SQLITE_ERROR,
            "entities of table '%.*q' expire by %.*s, and the index is needed for that; "
            "first UPDATE pt_tables SET Expires = NULL WHERE Store = %Q AND "
            "TableName = '%.*q'",
            (int)table.name.size, (const char *)table.name.data, (int)columns.size,
            (const char *)columns.data, view->snapshot->store->path, (int)table.name.size,
            (const char *)table.name.data);
    }
    return rc == SQLITE_OK ? pt_table_directory_remove_key(session, key, id, error) : rc;
}

int pt_index_directory_note(pt_session *session, pt_index *index,
                            const uint16_t has[PT_ENTRY_COLUMNS_MAX], pt_error *error)
{
    unsigned more = 0;
    for (unsigned i = 0; i < index->count; i++) {
        more |= has[i] & ~(unsigned)index->columns[i].has;
        index->columns[i].has |= has[i];
    }
    return more != 0 ? put_index(session, index, error) : SQLITE_OK;
}
