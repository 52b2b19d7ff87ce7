#include "catalog/check.h"

#include <stdlib.h>

#include "base/seal.h"
#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/table_directory.h"

enum { GARBAGE_KEY = 2 * PT_KEY_TABLE_SIZE };

typedef struct check {
    pt_check_report report;
    pt_check_facts facts;
    pt_check_tables tables;
    pt_check_values values;
    pt_buffer shape; /* of records that describe theirs */
} check;

/* --- Saying where --- */

static uint32_t id_in(pt_slice key, size_t at)
{
    return key.size >= at + PT_KEY_TABLE_SIZE ? pt_get_be32(key.data + at) : 0;
}

/* "table 'Employee'" or "table number 7", from sqlite3_malloc. */
static char *describe_table(check *self, uint32_t id)
{
    const pt_check_table *table = pt_check_tables_find(&self->tables, id);
    if (table != NULL && table->name != NULL) {
        return sqlite3_mprintf("table %Q", table->name);
    }
    return sqlite3_mprintf("%stable number %lld",
                           table != NULL && table->is_dropped ? "dropped " : "", (sqlite3_int64)id);
}

static char *describe_entity(const char *table, pt_slice key)
{
    pt_keys keys = pt_keys_of(key);
    char partition[PT_EXCERPT_SIZE];
    char row[PT_EXCERPT_SIZE];
    bool whole = keys.partition.data != NULL;
    pt_excerpt(whole ? keys.partition : pt_key_entity(key), partition);
    pt_excerpt(keys.row, row);
    return whole ? sqlite3_mprintf("%s, PartitionKey %Q, RowKey %Q", table, partition, row)
                 : sqlite3_mprintf("%s, PartitionKey %Q", table, partition);
}

static char *describe(void *context, pt_slice key)
{
    check *self = context;
    if (key.size < PT_KEY_TABLE_SIZE) {
        return sqlite3_mprintf("a key of %d bytes", (int)key.size);
    }
    uint32_t id = pt_get_be32(key.data);
    if (id == PT_TABLE_CATALOG) {
        char name[PT_EXCERPT_SIZE];
        pt_excerpt(pt_key_entity(key), name);
        return sqlite3_mprintf("the catalogue's table %Q", name);
    }
    bool is_part = id == PT_TABLE_CHUNKS || id == PT_TABLE_GARBAGE;
    char *table = describe_table(self, is_part ? id_in(key, PT_KEY_TABLE_SIZE) : id);
    if (table == NULL || id == PT_TABLE_GARBAGE) {
        return table;
    }
    char *text =
        is_part ? sqlite3_mprintf("large values of %s", table) : describe_entity(table, key);
    sqlite3_free(table);
    return text;
}

/* Reports a problem of what a key says. */
static int report(check *self, pt_slice key, const char *what)
{
    if (!pt_check_shows_more(&self->report)) {
        self->report.problems++;
        return SQLITE_OK;
    }
    char *where = describe(self, key);
    if (where == NULL) {
        return SQLITE_NOMEM;
    }
    pt_check_problem(&self->report, "%s: %s", where, what);
    sqlite3_free(where);
    return SQLITE_OK;
}

/* --- Tables --- */

static int take_counts(void *context, uint32_t id, const pt_table_counts *counts)
{
    check *self = context;
    pt_check_table *table = pt_check_tables_add(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    table->is_counted = true;
    table->stored = *counts;
    return SQLITE_OK;
}

static void begin(void *context, const pt_check_facts *facts)
{
    check *self = context;
    self->facts = *facts;
}

static bool is_id(const check *self, uint32_t id)
{
    return id != 0 && id < PT_TABLE_ID_LIMIT && id < self->facts.next_table_id;
}

static int take_garbage(check *self, pt_slice key, pt_slice record)
{
    uint32_t id = id_in(key, PT_KEY_TABLE_SIZE);
    pt_slice content;
    if (key.size != GARBAGE_KEY || !is_id(self, id) || !pt_unseal(key, record, &content) ||
        content.size != 1 || content.data[0] != 1) {
        return report(self, key, "the note that it is to be deleted is damaged");
    }
    pt_check_table *table = pt_check_tables_add(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    table->is_dropped = true;
    return SQLITE_OK;
}

static int take_table(check *self, pt_slice key, pt_slice record)
{
    pt_table_entry entry;
    if (!pt_table_entry_read(key, record, &entry) || !is_id(self, entry.id) ||
        !pt_table_entry_is_of(&entry, key)) {
        return report(self, key, "its entry is damaged, and its entities cannot be reached");
    }
    pt_check_table *table = pt_check_tables_add(&self->tables, entry.id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    if (table->is_listed || table->is_dropped) {
        return report(self, key, "another table, or a dropped one, has the same number");
    }
    table->is_listed = true;
    table->name = sqlite3_mprintf("%.*s", (int)entry.name.size, (const char *)entry.name.data);
    return table->name != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static void count(pt_check_table *table, int64_t *counter, pt_slice key, pt_slice record)
{
    (*counter)++;
    table->found.bytes += (int64_t)(key.size + record.size);
}

/* --- Entities --- */

/* What is wrong with a key; NULL: nothing. */
static const char *judge_key(pt_slice key)
{
    pt_slice partition;
    pt_slice row;
    if (!pt_key_split(pt_key_entity(key), &partition, &row)) {
        return "its key is damaged: it has no end of a PartitionKey";
    }
    if (!pt_key_is_valid_text(partition) || !pt_key_is_valid_text(row)) {
        return "its keys are damaged: they are not UTF-8";
    }
    return NULL;
}

static int note_large_values(check *self, uint32_t id, const pt_record *record, pt_slice key)
{
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        if (!pt_type_is_large((pt_type)record->shape->properties[i].type) ||
            pt_record_value(record, i, &value) != SQLITE_OK) {
            continue;
        }
        if (!pt_check_values_add(&self->values, id, &value.large, key)) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

static int take_entity(check *self, uint32_t id, pt_slice key, pt_slice bytes)
{
    pt_check_table *table = pt_check_tables_add(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    count(table, &table->found.entities, key, bytes);
    bool is_dropped = table->is_dropped;
    const char *wrong = judge_key(key);
    if (wrong != NULL) {
        return report(self, key, wrong);
    }
    pt_record record = {0};
    int rc = pt_record_open(&record, key, bytes, &self->facts.shapes, &self->shape);
    if (rc == SQLITE_NOMEM) {
        return rc;
    }
    if (rc != SQLITE_OK || !pt_record_is_sound(&record)) {
        return report(self, key, "the entity is damaged; it can be replaced or deleted");
    }
    if (record.ticks > self->facts.clock) {
        return report(self, key, "its Timestamp is later than the store's last one");
    }
    return is_dropped ? SQLITE_OK : note_large_values(self, id, &record, key);
}

/* --- Parts of large values --- */

static int report_lacking(check *self, const pt_chunk_key *before)
{
    const pt_check_value *lacking;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && (lacking = pt_check_values_lacking(&self->values, before)) != NULL) {
        rc = report(self, lacking->key,
                    "a large value of the entity is incomplete: parts of it are missing");
    }
    return rc;
}

static int take_part(check *self, pt_slice key, pt_slice record)
{
    pt_chunk_key chunk;
    const pt_check_value *value = NULL;
    if (!pt_large_read_key(key, &chunk)) {
        return report(self, key, "a part has a key that no version writes");
    }
    pt_check_table *table = pt_check_tables_add(&self->tables, chunk.table_id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    count(table, &table->found.chunks, key, record);
    if (table->is_dropped) {
        bool sound = record.size > PT_CHUNK_HEADER &&
                     pt_large_is_chunk(key, record, record.size - PT_CHUNK_HEADER);
        return sound ? SQLITE_OK : report(self, key, "a part is damaged");
    }
    int rc = report_lacking(self, &chunk);
    if (rc != SQLITE_OK) {
        return rc;
    }
    switch (pt_check_values_take(&self->values, &chunk, key, record, &value)) {
    case PT_CHECK_PART_DAMAGED:
        return report(self, value->key, "a large value of the entity is damaged");
    case PT_CHECK_PART_ORPHAN:
        return report(self, key, "a part belongs to no entity");
    case PT_CHECK_PART_SOUND:
        break;
    }
    return SQLITE_OK;
}

static int take_record(void *context, pt_slice key, pt_slice record, pt_error *error)
{
    check *self = context;
    uint32_t id = id_in(key, 0);
    int rc;
    if (key.size < PT_KEY_TABLE_SIZE) {
        rc = report(self, key, "it is too short to be a key");
    } else if (id == PT_TABLE_CATALOG) {
        rc = take_table(self, key, record);
    } else if (id == PT_TABLE_GARBAGE) {
        rc = take_garbage(self, key, record);
    } else if (id == PT_TABLE_CHUNKS) {
        rc = take_part(self, key, record);
    } else {
        rc = take_entity(self, id, key, record);
    }
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

/* --- The whole --- */

static bool are_equal(const pt_table_counts *a, const pt_table_counts *b)
{
    return a->entities == b->entities && a->bytes == b->bytes && a->chunks == b->chunks;
}

static int compare_counts(check *self, const pt_check_table *table)
{
    char *name = describe_table(self, table->id);
    if (name == NULL) {
        return SQLITE_NOMEM;
    }
    if (!table->is_listed) {
        pt_check_problem(&self->report,
                         "%s: the catalogue does not have it, but there are %lld entities and %lld "
                         "parts of large values, which cannot be reached, or counts",
                         name, (sqlite3_int64)table->found.entities,
                         (sqlite3_int64)table->found.chunks);
    } else {
        pt_check_problem(
            &self->report,
            "%s: the store says that it has %lld entities, %lld parts of large values and %lld "
            "bytes, but %lld, %lld and %lld were found",
            name, (sqlite3_int64)table->stored.entities, (sqlite3_int64)table->stored.chunks,
            (sqlite3_int64)table->stored.bytes, (sqlite3_int64)table->found.entities,
            (sqlite3_int64)table->found.chunks, (sqlite3_int64)table->found.bytes);
    }
    sqlite3_free(name);
    return SQLITE_OK;
}

/* Where records could not be read, what belongs to them is missing for that reason. */
static int compare(check *self)
{
    int rc = report_lacking(self, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < self->tables.count; i++) {
        const pt_check_table *table = &self->tables.tables[i];
        if (!table->is_dropped &&
            (!table->is_listed || !are_equal(&table->stored, &table->found))) {
            rc = compare_counts(self, table);
        }
    }
    return rc;
}

int pt_check(const pt_engine *engine, const char *path, pt_store *store, const pt_watch *watch,
             char **text, pt_error *error)
{
    check self = {0};
    bool complete = false;
    const pt_check_visitor visitor = {.context = &self,
                                      .counts = take_counts,
                                      .begin = begin,
                                      .record = take_record,
                                      .describe = describe};
    int rc = engine->check(path, store, watch, &visitor, &self.report, &complete, error);
    if (rc == SQLITE_OK && complete && compare(&self) != SQLITE_OK) {
        rc = pt_error_nomem(error);
    }
    char *found = pt_check_report_text(&self.report);
    if (rc == SQLITE_OK && found == NULL) {
        rc = pt_error_nomem(error);
    }
    pt_check_tables_free(&self.tables);
    pt_check_values_free(&self.values);
    pt_buffer_free(&self.shape);
    if (rc != SQLITE_OK) {
        sqlite3_free(found);
        return rc;
    }
    *text = found;
    return SQLITE_OK;
}

/* --- Check large --- */

enum { FIRST_CAPACITY = 64 };

bool pt_check_values_add(pt_check_values *values, uint32_t table_id, const pt_large *large,
                         pt_slice key)
{
    if (values->count == values->capacity) {
        size_t capacity = values->capacity != 0 ? 2 * values->capacity : FIRST_CAPACITY;
        pt_check_value *larger = sqlite3_realloc64(values->values, capacity * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        values->values = larger;
        values->capacity = capacity;
    }
    pt_slice copy = pt_arena_copy(&values->keys, key);
    if (copy.data == NULL) {
        return false;
    }
    values->values[values->count++] =
        (pt_check_value){.table_id = table_id, .large = *large, .key = copy};
    return true;
}

/* --- Order: that of the keys of the parts --- */

static int compare_places(uint32_t table_a, int64_t ticks_a, uint16_t ordinal_a, uint32_t table_b,
                          int64_t ticks_b, uint16_t ordinal_b)
{
    if (table_a != table_b) {
        return table_a < table_b ? -1 : 1;
    }
    if (ticks_a != ticks_b) {
        return ticks_a < ticks_b ? -1 : 1;
    }
    return (ordinal_a > ordinal_b) - (ordinal_a < ordinal_b);
}

static int compare_values(const void *a, const void *b)
{
    const pt_check_value *left = a;
    const pt_check_value *right = b;
    return compare_places(left->table_id, left->large.ticks, left->large.ordinal, right->table_id,
                          right->large.ticks, right->large.ordinal);
}

static int compare_with_part(const pt_check_value *value, const pt_chunk_key *chunk)
{
    return compare_places(value->table_id, value->large.ticks, value->large.ordinal,
                          chunk->table_id, chunk->ticks, chunk->ordinal);
}

static void sort(pt_check_values *values)
{
    if (!values->sorted && values->count != 0) {
        qsort(values->values, values->count, sizeof *values->values, compare_values);
    }
    values->sorted = true;
}

/* --- Parts --- */

/* On to the next value; of two that say the same place, the second finds nothing left. */
static void go_on(pt_check_values *values)
{
    values->next++;
    values->number = 0;
}

const pt_check_value *pt_check_values_lacking(pt_check_values *values, const pt_chunk_key *before)
{
    sort(values);
    while (values->next < values->count) {
        const pt_check_value *value = &values->values[values->next];
        int order = before != NULL ? compare_with_part(value, before) : -1;
        if (order > 0) {
            return NULL;
        }
        bool lacks = order < 0 ? values->number < pt_large_chunk_count(&value->large)
                               : values->number < before->number;
        if (order == 0 && !lacks) {
            return NULL;
        }
        if (order < 0) {
            go_on(values);
        } else {
            values->number = before->number;
        }
        if (lacks) {
            return value;
        }
    }
    return NULL;
}

pt_check_part pt_check_values_take(pt_check_values *values, const pt_chunk_key *chunk, pt_slice key,
                                   pt_slice record, const pt_check_value **value)
{
    const pt_check_value *next =
        values->next < values->count ? &values->values[values->next] : NULL;
    if (next == NULL || compare_with_part(next, chunk) != 0 || values->number != chunk->number ||
        chunk->number >= pt_large_chunk_count(&next->large)) {
        return PT_CHECK_PART_ORPHAN;
    }
    values->number++;
    *value = next;
    return pt_large_is_chunk(key, record, pt_large_chunk_size(&next->large, chunk->number))
               ? PT_CHECK_PART_SOUND
               : PT_CHECK_PART_DAMAGED;
}

void pt_check_values_free(pt_check_values *values)
{
    sqlite3_free(values->values);
    pt_arena_free(&values->keys);
    *values = (pt_check_values){0};
}

/* --- Check tables --- */

enum { FIRST_TABLES_CAPACITY = 16 };

/* The place of the first table whose id is not below this one. */
static size_t place_of(const pt_check_tables *tables, uint32_t id)
{
    size_t low = 0;
    size_t high = tables->count;
    /* Ids are mostly met in their order. */
    if (high != 0 && tables->tables[high - 1].id < id) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tables->tables[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

pt_check_table *pt_check_tables_find(pt_check_tables *tables, uint32_t id)
{
    if (tables->last < tables->count && tables->tables[tables->last].id == id) {
        return &tables->tables[tables->last];
    }
    size_t place = place_of(tables, id);
    if (place == tables->count || tables->tables[place].id != id) {
        return NULL;
    }
    tables->last = place;
    return &tables->tables[place];
}

static bool make_room(pt_check_tables *tables)
{
    if (tables->count < tables->capacity) {
        return true;
    }
    size_t capacity = tables->capacity != 0 ? 2 * tables->capacity : FIRST_TABLES_CAPACITY;
    pt_check_table *larger = sqlite3_realloc64(tables->tables, capacity * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    tables->tables = larger;
    tables->capacity = capacity;
    return true;
}

pt_check_table *pt_check_tables_add(pt_check_tables *tables, uint32_t id)
{
    pt_check_table *found = pt_check_tables_find(tables, id);
    if (found != NULL || !make_room(tables)) {
        return found;
    }
    size_t place = place_of(tables, id);
    pt_check_table *added = &tables->tables[place];
    memmove(added + 1, added, (tables->count - place) * sizeof *added);
    *added = (pt_check_table){.id = id};
    tables->count++;
    tables->last = place;
    return added;
}

void pt_check_tables_free(pt_check_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        sqlite3_free(tables->tables[i].name);
    }
    sqlite3_free(tables->tables);
    *tables = (pt_check_tables){0};
}
