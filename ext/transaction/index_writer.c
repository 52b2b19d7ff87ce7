#include "transaction/index_writer.h"

#include "base/assert.h"
#include "base/seal.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ways.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "transaction/large_value.h"
#include "value/value.h"

static void free_entries(pt_index_entries *entries)
{
    sqlite3_free(entries->entries);
    pt_buffer_free(&entries->keys);
    *entries = (pt_index_entries){0};
}

static void clear_entries(pt_index_entries *entries)
{
    entries->count = 0;
    pt_buffer_clear(&entries->keys);
}

void pt_index_writer_free(pt_index_writer *writer)
{
    pt_index_list_free(&writer->list);
    free_entries(&writer->old);
    free_entries(&writer->fresh);
    pt_change_notes_free(&writer->changes);
    pt_buffer_free(&writer->shape);
    pt_buffer_free(&writer->large);
    pt_buffer_free(&writer->bound);
    pt_buffer_free(&writer->conflict);
    pt_scan_free(&writer->scan);
    *writer = (pt_index_writer){0};
}

int pt_index_writer_load(pt_index_writer *writer, pt_session *session, const char *table,
                         pt_error *error)
{
    writer->session = session;
    int rc = pt_session_read(session, &writer->view, error);
    return rc == SQLITE_OK ? pt_index_list_load(&writer->list, session, writer->view, table, error)
                           : rc;
}

void pt_index_writer_begin(pt_index_writer *writer, uint32_t table_id)
{
    writer->table_id = table_id;
    writer->checked = 0;
    writer->replaces = false;
    clear_entries(&writer->old);
    clear_entries(&writer->fresh);
    pt_change_notes_clear(&writer->changes);
}

void pt_index_writer_end(pt_index_writer *writer)
{
    pt_scan_close(&writer->scan);
}

/* --- The entries of an entity --- */

static int report_unknown_entries(const pt_index_writer *writer, pt_slice key, pt_error *error)
{
    bool changes = writer->list.kept.changes_id != 0;
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe(pt_keys_of(key), keys);
    pt_error_set(error, SQLITE_CORRUPT_VTAB,
                 "the entity with %s is damaged in the store, so its entries in the table's "
                 "indexes are not known; drop the indexes (DELETE FROM pt_indexes)%s, DELETE the "
                 "entity, make the indexes again, then INSERT the entity",
                 keys, changes ? ", UPDATE pt_tables SET Changes = 'off'" : "");
    return pt_error_naming(error, PT_NAMES_KEYS);
}

/* An entity whose entries are made: its record, or the fields that it was put from. */
typedef struct entity_values {
    pt_slice key;
    pt_record *record; /* NULL: there are fields */
    const pt_field *fields;
    int64_t ticks;
    const pt_column_places *places; /* of the indexed properties */
} entity_values;

static int values_of_record(pt_index_writer *writer, pt_slice key, pt_record *record,
                            entity_values *entity, pt_error *error)
{
    *entity = (entity_values){.key = key, .record = record, .ticks = record->ticks};
    entity->places = pt_column_map_find(&writer->list.map, record->shape);
    return entity->places != NULL ? SQLITE_OK : pt_error_nomem(error);
}

static int open_entity(pt_index_writer *writer, pt_slice key, bool *found, pt_record *record,
                       entity_values *entity, pt_error *error)
{
    pt_slice bytes;
    int rc = pt_session_find(writer->session, key, found, &bytes, error);
    if (rc != SQLITE_OK || !*found) {
        return rc;
    }
    pt_shape_source source = pt_dictionary_source(pt_session_store(writer->session)->dictionary);
    rc = pt_record_open(record, key, bytes, &source, &writer->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error)
                                  : report_unknown_entries(writer, key, error);
    }
    return values_of_record(writer, key, record, entity, error);
}

/* Of a large value, the beginning, or with `whole` all of it. */
static int read_large_part(pt_index_writer *writer, pt_slice key, bool whole, pt_value *value,
                           pt_error *error)
{
    int rc = whole ? pt_large_read(writer->view, writer->table_id, value, &writer->large, error)
                   : pt_large_read_start(writer->view, writer->table_id, value, error);
    return rc == SQLITE_CORRUPT_VTAB ? report_unknown_entries(writer, key, error) : rc;
}

static inline int read_property(pt_index_writer *writer, const entity_values *entity, int place,
                                bool whole, pt_value *value, pt_error *error)
{
    if (entity->record == NULL) {
        *value = entity->fields[place].value;
    } else if (pt_record_value(entity->record, (unsigned)place, value) != SQLITE_OK) {
        return report_unknown_entries(writer, entity->key, error);
    }
    return pt_type_is_large(value->type) ? read_large_part(writer, entity->key, whole, value, error)
                                         : SQLITE_OK;
}

/* PT_NONE if the entity has no such property. */
static inline int read_indexed_column(pt_index_writer *writer, const pt_index_column *column,
                                      const entity_values *entity, bool whole, pt_value *value,
                                      pt_error *error)
{
    int place;
    switch (column->system) {
    case PT_SYSTEM_PARTITION_KEY:
        *value = (pt_value){.type = PT_STRING, .bytes = pt_keys_of(entity->key).partition};
        return SQLITE_OK;
    case PT_SYSTEM_ROW_KEY:
        *value = (pt_value){.type = PT_STRING, .bytes = pt_keys_of(entity->key).row};
        return SQLITE_OK;
    case PT_SYSTEM_TIMESTAMP:
        *value = (pt_value){.type = PT_DATETIME, .integer = entity->ticks};
        return SQLITE_OK;
    default:
        PT_ASSERT(entity->places != NULL);
        place = entity->places->place[column->property];
        value->type = PT_NONE;
        return place >= 0 ? read_property(writer, entity, place, whole, value, error) : SQLITE_OK;
    }
}

static bool has_entry(const pt_index *index, const pt_column_places *places)
{
    PT_ASSERT(places != NULL);
    return index->presence < 0 || places->place[index->columns[index->presence].property] >= 0;
}

/* Adds the entry of an entity in one index. */
static int add_entry(pt_index_writer *writer, unsigned number, const entity_values *entity,
                     pt_index_entries *entries, pt_error *error)
{
    const pt_index *index = &writer->list.indexes[number];
    pt_buffer *keys = &entries->keys;
    if (!pt_array_reserve(&entries->entries, &entries->capacity, entries->count + 1,
                          sizeof *entries->entries)) {
        return pt_error_nomem(error);
    }
    pt_index_entry *entry = &entries->entries[entries->count];
    *entry = (pt_index_entry){.index = number, .key_at = keys->size, .is_whole = true};
    pt_buffer_append_slice(keys, pt_key_start_slice(&index->start));
    for (unsigned i = 0; i < index->count; i++) {
        pt_value value;
        int rc = read_indexed_column(writer, &index->columns[i], entity, false, &value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        entry->types[i] = pt_entry_append(keys, &value);
        entry->is_whole = entry->is_whole && value.type != PT_NONE;
    }
    entry->parts = keys->size - entry->key_at;
    pt_buffer_append_slice(keys, pt_key_entity(entity->key));
    entry->key_size = keys->size - entry->key_at;
    entries->count++;
    return keys->failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* False when out of memory. */
static bool note_change(pt_index_writer *writer, const entity_values *entity, bool fresh)
{
    return writer->list.kept.changes_id == 0 ||
           (fresh ? pt_change_notes_gain(&writer->changes, entity->key, entity->record)
                  : pt_change_notes_lose(&writer->changes, entity->key, entity->record));
}

static int add_entries(pt_index_writer *writer, const entity_values *entity,
                       pt_index_entries *entries, pt_error *error)
{
    if (!note_change(writer, entity, entries == &writer->fresh)) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    for (unsigned i = 0; rc == SQLITE_OK && i < writer->list.count; i++) {
        if (has_entry(&writer->list.indexes[i], entity->places)) {
            rc = add_entry(writer, i, entity, entries, error);
        }
    }
    return rc;
}

int pt_index_writer_lose_record(pt_index_writer *writer, pt_slice key, pt_record *record,
                                pt_error *error)
{
    entity_values entity = {.record = NULL};
    int rc = values_of_record(writer, key, record, &entity, error);
    return rc == SQLITE_OK ? add_entries(writer, &entity, &writer->old, error) : rc;
}

static int add_entries_of(pt_index_writer *writer, pt_slice key, pt_index_entries *entries,
                          pt_error *error)
{
    bool found;
    pt_record record = {0};
    entity_values entity = {.record = NULL};
    if (pt_index_list_is_empty(&writer->list)) {
        return SQLITE_OK; /* a damaged entity has none, either */
    }
    int rc = open_entity(writer, key, &found, &record, &entity, error);
    return rc == SQLITE_OK && found ? add_entries(writer, &entity, entries, error) : rc;
}

int pt_index_writer_lose(pt_index_writer *writer, pt_slice key, pt_error *error)
{
    return add_entries_of(writer, key, &writer->old, error);
}

static pt_slice key_of(const pt_index_entries *entries, const pt_index_entry *entry)
{
    return pt_slice_of(entries->keys.data + entry->key_at, entry->key_size);
}

/* Marks the old entries that are also fresh. */
static void compare_entries(pt_index_writer *writer)
{
    for (size_t i = 0; i < writer->fresh.count; i++) {
        pt_index_entry *fresh = &writer->fresh.entries[i];
        for (size_t j = 0; j < writer->old.count && !fresh->stays; j++) {
            pt_index_entry *old = &writer->old.entries[j];
            bool same = old->index == fresh->index &&
                        memcmp(old->types, fresh->types, sizeof old->types) == 0 &&
                        pt_slice_equal(key_of(&writer->old, old), key_of(&writer->fresh, fresh));
            fresh->stays = same;
            old->stays = old->stays || same;
        }
    }
}

/* What the fields say, the record made of them says. */
static int add_entries_of_fields(pt_index_writer *writer, pt_slice key, const pt_put_entity *put,
                                 pt_error *error)
{
    const entity_values entity = {.key = key,
                                  .fields = put->fields,
                                  .ticks = put->ticks,
                                  .places = pt_column_map_find(&writer->list.map, put->shape)};
    return entity.places != NULL ? add_entries(writer, &entity, &writer->fresh, error)
                                 : pt_error_nomem(error);
}

int pt_index_writer_gain(pt_index_writer *writer, pt_slice key, const pt_put_entity *put,
                         pt_error *error)
{
    bool known = put != NULL && put->shape != NULL;
    /* Changes are noted of the record. */
    bool direct = known && writer->list.kept.changes_id == 0 && !PT_WAYS_ARE_GENERAL;
    int rc = direct ? add_entries_of_fields(writer, key, put, error)
                    : add_entries_of(writer, key, &writer->fresh, error);
    if (rc == SQLITE_OK) {
        writer->replaces = writer->old.count != 0;
        compare_entries(writer);
    }
    return rc;
}

/* --- Writing entries --- */

static pt_entry_key entry_key_of(const pt_index_writer *writer, const pt_index_entries *entries,
                                 const pt_index_entry *entry)
{
    const pt_index *index = &writer->list.indexes[entry->index];
    return (pt_entry_key){.key = key_of(entries, entry),
                          .columns = index->unique ? index->count : 0,
                          .is_new = !writer->replaces};
}

int pt_index_writer_remove(pt_index_writer *writer, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < writer->old.count; i++) {
        const pt_index_entry *entry = &writer->old.entries[i];
        if (!entry->stays) {
            const pt_entry_key key = entry_key_of(writer, &writer->old, entry);
            rc = pt_session_remove_entry(writer->session, &key, error);
        }
    }
    clear_entries(&writer->old);
    return rc == SQLITE_OK ? pt_change_notes_remove(&writer->changes, writer->session,
                                                    &writer->list.kept, error)
                           : rc;
}

static int note_types(pt_index_writer *writer, const pt_index_entry *entry, pt_error *error)
{
    pt_index *index = &writer->list.indexes[entry->index];
    uint16_t has[PT_ENTRY_COLUMNS_MAX] = {0};
    bool more = false;
    for (unsigned i = 0; i < index->count; i++) {
        unsigned type = entry->types[i] & PT_ENTRY_TYPE;
        has[i] = (uint16_t)((1u << type) |
                            ((entry->types[i] & PT_ENTRY_CUT) != 0 ? PT_INDEX_HAS_CUT : 0u));
        more = more || (has[i] & ~(unsigned)index->columns[i].has) != 0;
    }
    return more ? pt_index_directory_note(writer->session, index, has, error) : SQLITE_OK;
}

static int put_entry_record(pt_index_writer *writer, const pt_index_entries *entries,
                            const pt_index_entry *entry, pt_error *error)
{
    size_t count = writer->list.indexes[entry->index].count;
    const pt_entry_key entry_key = entry_key_of(writer, entries, entry);
    uint8_t *record = pt_session_put_entry(writer->session, &entry_key, count + PT_SEAL_SIZE);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    memcpy(record, entry->types, count);
    pt_seal(entry_key.key, record, count + PT_SEAL_SIZE);
    return note_types(writer, entry, error);
}

int pt_index_writer_put(pt_index_writer *writer, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < writer->fresh.count; i++) {
        const pt_index_entry *entry = &writer->fresh.entries[i];
        if (!entry->stays) {
            rc = put_entry_record(writer, &writer->fresh, entry, error);
        }
    }
    return rc == SQLITE_OK
               ? pt_change_notes_put(&writer->changes, writer->session, &writer->list.kept, error)
               : rc;
}

/* --- Uniqueness --- */

/* Makes the key of the entity of an entry whose parts have so many bytes. */
static bool make_entity_key(uint32_t table_id, pt_slice entry, size_t parts, pt_buffer *key)
{
    pt_key_begin(key, table_id);
    pt_buffer_append(key, entry.data + parts, entry.size - parts);
    return !key->failed;
}

/* Appends the whole values that an entity has in an index. */
static int append_whole_values(pt_index_writer *writer, const pt_index *index, pt_slice key,
                               pt_buffer *values, pt_error *error)
{
    bool found;
    pt_record record = {0};
    entity_values entity = {.record = NULL};
    int rc = open_entity(writer, key, &found, &record, &entity, error);
    if (rc != SQLITE_OK || !found) {
        return rc != SQLITE_OK ? rc : pt_index_report_damage(index, error);
    }
    for (unsigned i = 0; rc == SQLITE_OK && i < index->count; i++) {
        pt_value value;
        rc = read_indexed_column(writer, &index->columns[i], &entity, true, &value, error);
        if (rc == SQLITE_OK) {
            pt_entry_append_whole(values, &value);
        }
    }
    return rc == SQLITE_OK && values->failed ? pt_error_nomem(error) : rc;
}

static int compare_whole_values(pt_index_writer *writer, const pt_index *index, pt_slice a,
                                pt_slice b, bool *same, pt_error *error)
{
    pt_buffer values[2] = {{0}, {0}};
    int rc = append_whole_values(writer, index, a, &values[0], error);
    if (rc == SQLITE_OK) {
        rc = append_whole_values(writer, index, b, &values[1], error);
    }
    *same =
        rc == SQLITE_OK && pt_slice_equal(pt_buffer_slice(&values[0]), pt_buffer_slice(&values[1]));
    pt_buffer_free(&values[0]);
    pt_buffer_free(&values[1]);
    return rc;
}

/* Judges an entry whose parts are those of a fresh entry. That its entity has these values, too, is
 * verified: nothing is removed or blamed for others. */
static int judge_same_entry(pt_index_writer *writer, const pt_index_entry *fresh, pt_slice key,
                            pt_slice record, bool *same, pt_error *error)
{
    const pt_index *index = &writer->list.indexes[fresh->index];
    pt_slice own = key_of(&writer->fresh, fresh);
    pt_slice types;
    *same = false;
    /* An entity that is put again has its old entry, with other types. */
    if (pt_slice_equal(key, own)) {
        return SQLITE_OK;
    }
    if (!pt_unseal(key, record, &types) || types.size < index->count) {
        return pt_index_report_damage(index, error);
    }
    bool cut =
        pt_entry_is_cut(types.data, index->count) || pt_entry_is_cut(fresh->types, index->count);
    pt_buffer own_key = {0};
    int rc = make_entity_key(writer->table_id, key, fresh->parts, &writer->conflict) &&
                     make_entity_key(writer->table_id, own, fresh->parts, &own_key)
                 ? compare_whole_values(writer, index, pt_buffer_slice(&own_key),
                                        pt_buffer_slice(&writer->conflict), same, error)
                 : pt_error_nomem(error);
    pt_buffer_free(&own_key);
    return rc == SQLITE_OK && !*same && !cut ? pt_index_report_damage(index, error) : rc;
}

static int find_same_pending(pt_index_writer *writer, const pt_index_entry *fresh, pt_slice parts,
                             bool *found, pt_error *error)
{
    size_t place = SIZE_MAX;
    for (;;) {
        pt_pending *pending;
        int rc = pt_memtable_next_entry(writer->view->memtable, parts, &place, &pending);
        if (rc != SQLITE_OK) {
            return pt_error_nomem(error);
        }
        if (pending != NULL && pending->operation != PT_DELETE) {
            rc = judge_same_entry(writer, fresh, pt_pending_key(pending),
                                  pt_pending_record(pending), found, error);
        }
        if (rc != SQLITE_OK || *found || pending == NULL) {
            return rc;
        }
    }
}

/* Seeks the stored entries with these parts. */
static int seek_same_stored(pt_index_writer *writer, pt_slice parts, pt_error *error)
{
    pt_buffer_assign(&writer->bound, parts);
    pt_buffer_append_byte(&writer->bound, PT_ENTRY_END);
    int rc = writer->bound.failed ? pt_error_nomem(error) : SQLITE_OK;
    if (rc == SQLITE_OK && writer->scan.view == NULL) {
        rc = pt_scan_open(&writer->scan, writer->view, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    writer->scan.horizon = 0; /* without those that are pending */
    return pt_scan_seek(&writer->scan, parts, pt_buffer_slice(&writer->bound), PT_FORWARD, error);
}

static int find_same_stored(pt_index_writer *writer, const pt_index_entry *fresh, pt_slice parts,
                            bool *found, pt_error *error)
{
    pt_scan *scan = &writer->scan;
    int rc = seek_same_stored(writer, parts, error);
    while (rc == SQLITE_OK && scan->valid && !*found) {
        pt_pending *pending;
        if (pt_memtable_find(writer->view->memtable, scan->key, &pending) != SQLITE_OK) {
            return pt_error_nomem(error);
        }
        if (pending == NULL) {
            rc = judge_same_entry(writer, fresh, scan->key, scan->record, found, error);
        }
        if (rc == SQLITE_OK && !*found) {
            rc = pt_scan_step(scan, error);
        }
    }
    return rc;
}

/* Finds an entry of another entity with the values of a fresh entry, none of them NULL. */
static int find_same(pt_index_writer *writer, const pt_index_entry *fresh, bool *found,
                     pt_error *error)
{
    pt_slice parts = pt_slice_of(writer->fresh.keys.data + fresh->key_at, fresh->parts);
    bool beyond;
    *found = false;
    if (pt_memtable_is_beyond_stored(writer->view->memtable, parts)) {
        return SQLITE_OK;
    }
    int rc = find_same_pending(writer, fresh, parts, found, error);
    if (rc != SQLITE_OK || *found) {
        return rc;
    }
    rc = pt_view_is_beyond_stored(writer->view, parts, &beyond, error);
    return rc == SQLITE_OK && !beyond ? find_same_stored(writer, fresh, parts, found, error) : rc;
}

int pt_index_writer_find_conflict(pt_index_writer *writer, const pt_index **index, pt_slice *key,
                                  pt_error *error)
{
    *index = NULL;
    for (; writer->checked < writer->fresh.count; writer->checked++) {
        const pt_index_entry *entry = &writer->fresh.entries[writer->checked];
        bool found = false;
        int rc = SQLITE_OK;
        const pt_index *unique = &writer->list.indexes[entry->index];
        /* If a value is cut, the end that the entry does not show may have changed. */
        bool changed = !entry->stays || pt_entry_is_cut(entry->types, unique->count);
        if (unique->unique && entry->is_whole && changed) {
            rc = find_same(writer, entry, &found, error);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (found) {
            *index = &writer->list.indexes[entry->index];
            *key = pt_buffer_slice(&writer->conflict);
            return SQLITE_OK;
        }
    }
    return SQLITE_OK;
}

/* Appends the first value of an entity in an index, shortened, as a literal. */
static int describe_values(pt_index_writer *writer, const pt_index *index, pt_slice key,
                           pt_buffer *text, pt_error *error)
{
    bool found;
    pt_record record = {0};
    entity_values entity = {.record = NULL};
    int rc = open_entity(writer, key, &found, &record, &entity, error);
    if (rc == SQLITE_OK && !found) {
        return pt_index_report_damage(index, error);
    }
    for (unsigned i = 0; rc == SQLITE_OK && i < index->count; i++) {
        pt_value value;
        char shown[PT_EXCERPT_SIZE];
        pt_buffer own = {0};
        rc = read_indexed_column(writer, &index->columns[i], &entity, false, &value, error);
        if (rc == SQLITE_OK) {
            pt_value_append_text(&own, &value);
            pt_excerpt(pt_buffer_slice(&own), shown);
            pt_buffer_append_text(text, i != 0 ? "', '" : "'");
            pt_buffer_append_text(text, shown);
        }
        pt_buffer_free(&own);
    }
    pt_buffer_append(text, "'", sizeof "'");
    return rc == SQLITE_OK && text->failed ? pt_error_nomem(error) : rc;
}

/* The name of an index and the values that an entity has there. */
static int describe_index(pt_index_writer *writer, const pt_index *index, pt_slice key,
                          pt_buffer *name, pt_buffer *values, pt_error *error)
{
    pt_index_name_from_key(index->names, name);
    int rc = describe_values(writer, index, key, values, error);
    return rc == SQLITE_OK && name->failed ? pt_error_nomem(error) : rc;
}

int pt_index_writer_refuse(pt_index_writer *writer, const pt_index *index, pt_slice key,
                           pt_error *error)
{
    char keys[PT_KEYS_TEXT_SIZE];
    pt_buffer name = {0};
    pt_buffer values = {0};
    int rc = describe_index(writer, index, key, &name, &values, error);
    if (rc == SQLITE_OK) {
        pt_keys_describe(pt_keys_of(key), keys);
        rc = pt_error_set(error, SQLITE_CONSTRAINT_UNIQUE,
                          "the entity with %s already has %s %s, which is unique; give another "
                          "value, or change or delete that entity first",
                          keys, (const char *)name.data, (const char *)values.data);
    }
    pt_buffer_free(&name);
    pt_buffer_free(&values);
    return rc;
}

/* The entity of a fresh entry, and that in writer->conflict, have the same values. */
static int refuse_duplicates(pt_index_writer *writer, const pt_index_entry *fresh, pt_error *error)
{
    const pt_index *index = &writer->list.indexes[fresh->index];
    char keys[2][PT_KEYS_TEXT_SIZE];
    pt_buffer name = {0};
    pt_buffer values = {0};
    pt_buffer own = {0};
    int rc = make_entity_key(writer->table_id, key_of(&writer->fresh, fresh), fresh->parts, &own)
                 ? describe_index(writer, index, pt_buffer_slice(&own), &name, &values, error)
                 : pt_error_nomem(error);
    if (rc == SQLITE_OK) {
        pt_keys_describe(pt_keys_of(pt_buffer_slice(&writer->conflict)), keys[0]);
        pt_keys_describe(pt_keys_of(pt_buffer_slice(&own)), keys[1]);
        rc = pt_error_set(error, SQLITE_CONSTRAINT_UNIQUE,
                          "the index on %s cannot be unique: the entities with %s and %s both "
                          "have %s; change one of them, or make an index that is not unique",
                          (const char *)name.data, keys[0], keys[1], (const char *)values.data);
    }
    pt_buffer_free(&name);
    pt_buffer_free(&values);
    pt_buffer_free(&own);
    return rc;
}

/* --- For building --- */

int pt_index_writer_add(pt_index_writer *writer, unsigned number, const pt_scan *scan,
                        pt_error *error)
{
    pt_record record = {0};
    entity_values entity = {.record = NULL};
    pt_shape_source source = pt_dictionary_source(pt_session_store(writer->session)->dictionary);
    int rc = pt_record_open(&record, scan->key, scan->record, &source, &writer->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(scan->key, error);
    }
    rc = values_of_record(writer, scan->key, &record, &entity, error);
    if (rc != SQLITE_OK || !has_entry(&writer->list.indexes[number], entity.places)) {
        return rc;
    }
    clear_entries(&writer->fresh);
    rc = add_entry(writer, number, &entity, &writer->fresh, error);
    return rc == SQLITE_OK ? put_entry_record(writer, &writer->fresh, writer->fresh.entries, error)
                           : rc;
}

/* Makes the scan's entry the only fresh one. */
static int take_entry(pt_index_writer *writer, unsigned number, const pt_scan *scan,
                      pt_error *error)
{
    const pt_index *index = &writer->list.indexes[number];
    size_t start = pt_key_table_size(scan->key);
    size_t parts = pt_entry_parts_size(pt_key_entity(scan->key), index->count);
    pt_slice types;
    if (parts == 0 || !pt_unseal(scan->key, scan->record, &types) || types.size < index->count) {
        return pt_index_report_damage(index, error);
    }
    pt_index_entry entry = {.index = number,
                            .key_size = scan->key.size,
                            .parts = start + parts,
                            .is_whole = memchr(types.data, PT_NONE, index->count) == NULL};
    memcpy(entry.types, types.data, index->count);
    clear_entries(&writer->fresh);
    pt_buffer_append_slice(&writer->fresh.keys, scan->key);
    if (writer->fresh.keys.failed ||
        !pt_array_reserve(&writer->fresh.entries, &writer->fresh.capacity, 1, sizeof entry)) {
        return pt_error_nomem(error);
    }
    writer->fresh.entries[0] = entry;
    writer->fresh.count = 1;
    return SQLITE_OK;
}

int pt_index_writer_check(pt_index_writer *writer, unsigned number, const pt_scan *scan,
                          pt_buffer *before, pt_error *error)
{
    bool found = false;
    int rc = take_entry(writer, number, scan, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_index_entry *entry = writer->fresh.entries;
    pt_slice parts = pt_slice_of(writer->fresh.keys.data, entry->parts);
    /* Entries with equal parts are neighbours. */
    if (entry->is_whole && pt_slice_equal(parts, pt_buffer_slice(before))) {
        rc = find_same(writer, entry, &found, error);
    }
    if (rc == SQLITE_OK && found) {
        rc = refuse_duplicates(writer, entry, error);
    }
    return rc == SQLITE_OK && !pt_buffer_assign(before, parts) ? pt_error_nomem(error) : rc;
}
