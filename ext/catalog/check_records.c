#include "catalog/check_records.h"

#include "base/seal.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "catalog/check_changes.h"
#include "catalog/check_indexes.h"
#include "catalog/check_values.h"
#include "entity/key.h"
#include "transaction/large_value.h"
#include "transaction/table_directory.h"

/* --- Tables --- */

/* A table that the check has met. */
typedef struct met_table {
    uint32_t id;
    bool is_listed; /* in the catalogue */
    bool is_hidden; /* it belongs to another table, as its name tells */
    bool is_dropped_index;
    bool is_dropped;        /* noted as dropped; its entities are still to be deleted */
    pt_table_counts stored; /* what the store says */
    pt_table_counts found;  /* what the check has counted */
    char *name;             /* from sqlite3_malloc, or NULL */
} met_table;

/* Tables in the order of their ids. Empty if zeroed. */
typedef struct met_tables {
    met_table *tables;
    size_t count;
    size_t capacity;
    size_t last; /* index of the table that was found last */
} met_tables;

/* The index of the first table with at least this id. */
static size_t find_table_place(const met_tables *tables, uint32_t id)
{
    size_t low = 0;
    size_t high = tables->count;
    /* Most ids are met in ascending order. */
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

/* The table of an id, or NULL. Valid until a table is added. */
static met_table *find_met_table(met_tables *tables, uint32_t id)
{
    if (tables->last < tables->count && tables->tables[tables->last].id == id) {
        return &tables->tables[tables->last];
    }
    size_t place = find_table_place(tables, id);
    if (place == tables->count || tables->tables[place].id != id) {
        return NULL;
    }
    tables->last = place;
    return &tables->tables[place];
}

/* Finds the table of an id, or adds it. NULL when out of memory. */
static met_table *add_met_table(met_tables *tables, uint32_t id)
{
    met_table *found = find_met_table(tables, id);
    if (found != NULL || !pt_array_reserve(&tables->tables, &tables->capacity, tables->count + 1,
                                           sizeof *tables->tables)) {
        return found;
    }
    size_t place = find_table_place(tables, id);
    met_table *added = &tables->tables[place];
    memmove(added + 1, added, (tables->count - place) * sizeof *added);
    *added = (met_table){.id = id};
    tables->count++;
    tables->last = place;
    return added;
}

static void free_met_tables(met_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        sqlite3_free(tables->tables[i].name);
    }
    sqlite3_free(tables->tables);
    *tables = (met_tables){0};
}

/* --- The check --- */

typedef struct check_run {
    pt_check_report report;
    pt_check_facts facts;
    met_tables tables;
    pt_met_values values;
    pt_checked_indexes indexes;
    pt_checked_tables changes;
    uint32_t
        last_listed;    /* the table that the catalogue has listed last; 0: its entry is damaged */
    pt_buffer last_key; /* and its key in the catalogue */
    pt_buffer expires;  /* the property by which its entities expire, until its index is listed */
    pt_buffer shape;    /* of a record that describes its shape itself */
} check_run;

/* --- Describing a place --- */

/* "table 'Employee'" or "table number 7", from sqlite3_malloc. */
static char *describe_table(check_run *self, uint32_t id)
{
    const met_table *table = find_met_table(&self->tables, id);
    if (table != NULL && table->is_hidden && table->name != NULL) {
        return sqlite3_mprintf("%s", table->name);
    }
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

static char *describe_key(void *context, pt_slice key)
{
    check_run *self = context;
    uint32_t id;
    if (pt_key_read_table(key, &id) == 0) {
        return sqlite3_mprintf("a key of %d bytes", (int)key.size);
    }
    if (id == PT_TABLE_CATALOG) {
        char name[PT_EXCERPT_SIZE];
        pt_excerpt(pt_key_entity(key), name);
        return sqlite3_mprintf("the catalogue's table %Q", name);
    }
    bool is_part = id == PT_TABLE_CHUNKS || id == PT_TABLE_GARBAGE;
    uint32_t owner = id;
    if (is_part && pt_key_read_table(pt_key_entity(key), &owner) == 0) {
        owner = 0;
    }
    char *table = describe_table(self, owner);
    if (table == NULL || id == PT_TABLE_GARBAGE) {
        return table;
    }
    char *text =
        is_part ? sqlite3_mprintf("large values of %s", table) : describe_entity(table, key);
    sqlite3_free(table);
    return text;
}

/* Reports a problem with what is stored under a key. */
static int report_problem(check_run *self, pt_slice key, const char *what)
{
    if (!pt_check_shows_more(&self->report)) {
        self->report.problems++;
        return SQLITE_OK;
    }
    char *where = describe_key(self, key);
    if (where == NULL) {
        return SQLITE_NOMEM;
    }
    pt_check_problem(&self->report, "%s: %s", where, what);
    sqlite3_free(where);
    return SQLITE_OK;
}

/* --- The catalogue --- */

static int note_stored_counts(void *context, uint32_t id, const pt_table_counts *counts)
{
    check_run *self = context;
    met_table *table = add_met_table(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    table->stored = *counts;
    return SQLITE_OK;
}

static void note_facts(void *context, const pt_check_facts *facts)
{
    check_run *self = context;
    self->facts = *facts;
}

static bool is_table_id(const check_run *self, uint32_t id)
{
    return id != 0 && id < PT_TABLE_ID_LIMIT && id < self->facts.next_table_id;
}

static int check_dropped_table(check_run *self, pt_slice key, pt_slice record)
{
    uint32_t id;
    pt_slice content;
    if (pt_key_read_garbage(key, &id) == 0 || !is_table_id(self, id) ||
        !pt_unseal(key, record, &content) || content.size == 0 || content.data[0] != 1 ||
        content.size > 2 || (content.size == 2 && content.data[1] != PT_TABLE_OF_ENTRIES)) {
        return report_problem(self, key, "the note that it was dropped is damaged");
    }
    met_table *table = add_met_table(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    table->is_dropped = true;
    table->is_dropped_index = content.size == 2;
    return SQLITE_OK;
}

/* Lists a table, index or other hidden table, which takes over the name. */
static int list_table(check_run *self, pt_slice key, uint32_t id, bool is_hidden, char *name)
{
    met_table *table = name != NULL ? add_met_table(&self->tables, id) : NULL;
    if (table == NULL) {
        sqlite3_free(name);
        return SQLITE_NOMEM;
    }
    if (table->is_listed || table->is_dropped) {
        sqlite3_free(name);
        return report_problem(self, key, "another table, or a dropped table, has the same number");
    }
    table->is_listed = true;
    table->is_hidden = is_hidden;
    table->name = name;
    return SQLITE_OK;
}

/* The catalogue lists the indexes of a table after the table. */
static int check_listed_index(check_run *self, pt_slice key, pt_slice record)
{
    uint32_t id = 0;
    met_table *owner = find_met_table(&self->tables, self->last_listed);
    pt_slice owner_key = pt_buffer_slice(&self->last_key);
    int rc = SQLITE_OK;
    if (owner != NULL && owner->name != NULL && pt_slice_has_prefix(key, owner_key) &&
        key.data[owner_key.size] == 0) {
        rc = pt_check_add_index(&self->indexes, owner->id, owner->name, key, record, &id);
    }
    if (rc != SQLITE_OK || !is_table_id(self, id)) {
        return rc != SQLITE_OK ? rc : report_problem(self, key, "the entry of an index is damaged");
    }
    const pt_checked_index *index = pt_check_find_index(&self->indexes, id);
    if (pt_check_index_is_on(index, pt_buffer_slice(&self->expires))) {
        pt_buffer_clear(&self->expires);
    }
    return list_table(self, key, id, true, sqlite3_mprintf("%s", pt_check_index_name(index)));
}

/* Called when all indexes of the last table are listed. */
static int report_lost_index(check_run *self)
{
    if (self->expires.size == 0) {
        return SQLITE_OK;
    }
    char *name = describe_table(self, self->last_listed);
    if (name == NULL) {
        return SQLITE_NOMEM;
    }
    pt_check_problem(&self->report,
                     "%s: its entities expire by %.*s, but the index on that property is missing; "
                     "make it (INSERT INTO pt_indexes)",
                     name, (int)self->expires.size, (const char *)self->expires.data);
    sqlite3_free(name);
    pt_buffer_clear(&self->expires);
    return SQLITE_OK;
}

/* Lists the hidden tables of a table that keeps its changes. A check meets the deletions first. */
static int check_listed_changes(check_run *self, pt_slice key, const pt_table_entry *entry)
{
    const pt_table_properties *kept = &entry->properties;
    int size = (int)entry->name.size;
    const char *name = (const char *)entry->name.data;
    if (kept->changes_id == 0) {
        return SQLITE_OK;
    }
    if (entry->id >= kept->deletions_id || kept->deletions_id >= kept->changes_id ||
        !is_table_id(self, kept->changes_id)) {
        return report_problem(self, key, "the numbers of its changes are damaged");
    }
    int rc = list_table(self, key, kept->deletions_id, true,
                        sqlite3_mprintf("deletions of table '%.*q'", size, name));
    if (rc == SQLITE_OK) {
        rc = list_table(self, key, kept->changes_id, true,
                        sqlite3_mprintf("changes of table '%.*q'", size, name));
    }
    return rc == SQLITE_OK ? pt_check_add_changes(&self->changes, entry) : rc;
}

static int check_catalog_entry(check_run *self, pt_slice key, pt_slice record)
{
    pt_table_entry entry;
    if (pt_slice_has_nul(pt_key_entity(key))) {
        return check_listed_index(self, key, record);
    }
    if (report_lost_index(self) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    self->last_listed = 0;
    if (!pt_table_entry_read(key, record, &entry) || !is_table_id(self, entry.id) ||
        !pt_table_entry_is_of(&entry, key)) {
        return report_problem(self, key, "its entry is damaged, so its entities cannot be reached");
    }
    self->last_listed = entry.id;
    if (!pt_buffer_assign(&self->last_key, key) ||
        !pt_buffer_assign(&self->expires, entry.properties.expires)) {
        return SQLITE_NOMEM;
    }
    int rc =
        list_table(self, key, entry.id, false,
                   sqlite3_mprintf("%.*s", (int)entry.name.size, (const char *)entry.name.data));
    return rc == SQLITE_OK ? check_listed_changes(self, key, &entry) : rc;
}

/* Counts a record of the table with `counter`, one of table->found. */
static void count_table_record(met_table *table, int64_t *counter, pt_slice key, pt_slice record)
{
    (*counter)++;
    table->found.bytes += (int64_t)(key.size + record.size);
}

/* --- Entities --- */

/* The problem of an entity's key, or NULL. */
static const char *find_key_problem(pt_slice key)
{
    pt_slice partition;
    pt_slice row;
    if (!pt_key_split(pt_key_entity(key), &partition, &row)) {
        return "its key is damaged: the PartitionKey does not end";
    }
    if (!pt_key_is_valid_text(partition) || !pt_key_is_valid_text(row)) {
        return "its keys are damaged: they are not UTF-8";
    }
    return NULL;
}

static int note_large_values(check_run *self, uint32_t id, pt_record *record, pt_slice key)
{
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        if (!pt_type_is_large((pt_type)record->shape->properties[i].type) ||
            pt_record_value(record, i, &value) != SQLITE_OK) {
            continue;
        }
        if (!pt_check_add_value(&self->values, id, &value.large, key)) {
            return SQLITE_NOMEM;
        }
    }
    return SQLITE_OK;
}

/* The problem of an open record, or NULL. */
static const char *find_record_problem(pt_record *record, int64_t clock)
{
    if (record->shape->variable != 0 && !pt_record_verify_data(record)) {
        return "the entity is damaged in its Strings and Binaries, which cannot be read; it can be "
               "replaced or deleted";
    }
    if (!pt_record_is_sound(record)) {
        return "the entity is damaged: one of its values is none of its type; it can be replaced "
               "or deleted";
    }
    return record->ticks > clock ? "its Timestamp is later than the newest one of the store" : NULL;
}

static int check_entity(check_run *self, uint32_t id, pt_slice key, pt_slice bytes)
{
    met_table *table = add_met_table(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    count_table_record(table, &table->found.entities, key, bytes);
    bool is_dropped = table->is_dropped;
    if (table->is_dropped_index) {
        return SQLITE_OK;
    }
    const char *wrong = find_key_problem(key);
    if (wrong != NULL) {
        return report_problem(self, key, wrong);
    }
    pt_record record = {0};
    int rc = pt_record_open(&record, key, bytes, &self->facts.shapes, &self->shape);
    if (rc == SQLITE_NOMEM) {
        return rc;
    }
    wrong = rc == SQLITE_OK ? find_record_problem(&record, self->facts.clock)
                            : "the entity is damaged in its keys, its Timestamp or what else the "
                              "head of its record has; it can be replaced or deleted";
    if (wrong != NULL) {
        return report_problem(self, key, wrong);
    }
    if (!is_dropped) {
        pt_check_expect_change(&self->changes, id, key, record.ticks);
        rc = note_large_values(self, id, &record, key);
    }
    return rc == SQLITE_OK && !is_dropped
               ? pt_check_expect_entries(&self->indexes, id, key, &record)
               : rc;
}

static int check_entry(check_run *self, pt_checked_index *index, uint32_t id, pt_slice key,
                       pt_slice bytes)
{
    met_table *table = add_met_table(&self->tables, id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    count_table_record(table, &table->found.entities, key, bytes);
    const char *wrong;
    int rc = pt_check_find_entry(index, key, bytes, &wrong);
    return rc == SQLITE_OK && wrong != NULL ? report_problem(self, key, wrong) : rc;
}

/* *ours = false: the record is no change of a table. */
static int check_change(check_run *self, uint32_t id, pt_slice key, pt_slice bytes, bool *ours)
{
    const char *wrong;
    int rc = pt_check_find_change(&self->changes, id, key, bytes, self->facts.clock, ours, &wrong);
    met_table *table = *ours ? find_met_table(&self->tables, id) : NULL;
    if (table != NULL) {
        count_table_record(table, &table->found.entities, key, bytes);
    }
    return rc == SQLITE_OK && wrong != NULL ? report_problem(self, key, wrong) : rc;
}

/* Checks an entity, an entry of an index, or a change. */
static int check_row(check_run *self, uint32_t id, pt_slice key, pt_slice record)
{
    bool ours;
    pt_checked_index *index = pt_check_find_index(&self->indexes, id);
    if (index != NULL) {
        return check_entry(self, index, id, key, record);
    }
    int rc = check_change(self, id, key, record, &ours);
    return rc == SQLITE_OK && !ours ? check_entity(self, id, key, record) : rc;
}

/* --- Parts of large values --- */

static int report_incomplete_values(check_run *self, const pt_chunk_key *before)
{
    const pt_met_value *value;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && (value = pt_check_next_incomplete(&self->values, before)) != NULL) {
        rc = report_problem(self, value->key,
                            "a large value of the entity is incomplete: it lacks parts");
    }
    return rc;
}

static int check_chunk(check_run *self, pt_slice key, pt_slice record)
{
    pt_chunk_key chunk;
    const pt_met_value *value = NULL;
    if (!pt_large_read_key(key, &chunk)) {
        return report_problem(self, key, "the key of a part is damaged");
    }
    met_table *table = add_met_table(&self->tables, chunk.table_id);
    if (table == NULL) {
        return SQLITE_NOMEM;
    }
    count_table_record(table, &table->found.chunks, key, record);
    if (table->is_dropped) {
        bool sound = record.size > PT_CHUNK_HEADER &&
                     pt_large_is_chunk(key, record, record.size - PT_CHUNK_HEADER);
        return sound ? SQLITE_OK : report_problem(self, key, "a part is damaged");
    }
    int rc = report_incomplete_values(self, &chunk);
    if (rc != SQLITE_OK) {
        return rc;
    }
    switch (pt_check_match_part(&self->values, &chunk, key, record, &value)) {
    case PT_PART_DAMAGED:
        return report_problem(self, value->key, "a large value of the entity is damaged");
    case PT_PART_ORPHAN:
        return report_problem(self, key, "a part belongs to no entity");
    case PT_PART_SOUND:
        break;
    }
    return SQLITE_OK;
}

static int check_stored_record(void *context, pt_slice key, pt_slice record, pt_error *error)
{
    check_run *self = context;
    uint32_t id;
    int rc;
    if (pt_key_read_table(key, &id) == 0) {
        rc = report_problem(self, key, "it does not begin with the id of a table");
    } else if (id == PT_TABLE_CATALOG) {
        rc = check_catalog_entry(self, key, record);
    } else if (id == PT_TABLE_GARBAGE) {
        rc = check_dropped_table(self, key, record);
    } else if (id == PT_TABLE_CHUNKS) {
        rc = check_chunk(self, key, record);
    } else {
        rc = check_row(self, id, key, record);
    }
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

/* --- Counts --- */

static bool are_counts_equal(const pt_table_counts *a, const pt_table_counts *b)
{
    return a->entities == b->entities && a->bytes == b->bytes && a->chunks == b->chunks;
}

/* Reports that the counts of a table differ. */
static int report_counts(check_run *self, const met_table *table)
{
    char *name = describe_table(self, table->id);
    if (name == NULL) {
        return SQLITE_NOMEM;
    }
    if (!table->is_listed) {
        pt_check_problem(
            &self->report,
            "%s: it is not in the catalogue, but it has %lld entities and %lld parts of "
            "large values, which cannot be reached, or counts",
            name, (sqlite3_int64)table->found.entities, (sqlite3_int64)table->found.chunks);
    } else {
        pt_check_problem(
            &self->report,
            "%s: the store says %lld entities, %lld parts of large values and %lld bytes, but "
            "%lld, %lld and %lld were found",
            name, (sqlite3_int64)table->stored.entities, (sqlite3_int64)table->stored.chunks,
            (sqlite3_int64)table->stored.bytes, (sqlite3_int64)table->found.entities,
            (sqlite3_int64)table->found.chunks, (sqlite3_int64)table->found.bytes);
    }
    sqlite3_free(name);
    return SQLITE_OK;
}

/* Called only if all records could be read; otherwise parts and counts would seem to be missing. */
static int compare_tables(check_run *self)
{
    int rc = report_incomplete_values(self, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < self->tables.count; i++) {
        const met_table *table = &self->tables.tables[i];
        if (!table->is_dropped &&
            (!table->is_listed || !are_counts_equal(&table->stored, &table->found))) {
            rc = report_counts(self, table);
        }
    }
    return rc;
}

/* Called in that case, too. */
static void compare_indexes(check_run *self)
{
    for (size_t i = 0; i < self->indexes.count; i++) {
        const char *wrong = pt_check_compare_entries(self->indexes.indexes[i]);
        if (wrong != NULL) {
            pt_check_problem(&self->report, "%s: %s", pt_check_index_name(self->indexes.indexes[i]),
                             wrong);
        }
    }
}

static int compare_changes(check_run *self)
{
    for (size_t i = 0; i < self->changes.count; i++) {
        uint32_t id;
        const char *wrong = pt_check_compare_changes(&self->changes, i, &id);
        char *name = wrong != NULL ? describe_table(self, id) : NULL;
        if (wrong != NULL && name == NULL) {
            return SQLITE_NOMEM;
        }
        if (wrong != NULL) {
            pt_check_problem(&self->report, "%s: %s", name, wrong);
        }
        sqlite3_free(name);
    }
    return SQLITE_OK;
}

int pt_check_store(const pt_engine *engine, const char *path, pt_store *store,
                   const pt_watch *watch, char **text, pt_error *error)
{
    check_run self = {0};
    bool complete = false;
    const pt_check_visitor visitor = {.context = &self,
                                      .counts = note_stored_counts,
                                      .begin = note_facts,
                                      .record = check_stored_record,
                                      .describe = describe_key};
    int rc = engine->check(path, store, watch, &visitor, &self.report, &complete, error);
    if (rc == SQLITE_OK && complete) {
        rc = compare_tables(&self) == SQLITE_OK ? SQLITE_OK : pt_error_nomem(error);
        compare_indexes(&self);
        if (rc == SQLITE_OK &&
            (report_lost_index(&self) != SQLITE_OK || compare_changes(&self) != SQLITE_OK)) {
            rc = pt_error_nomem(error);
        }
    }
    char *found = pt_check_report_text(&self.report);
    if (rc == SQLITE_OK && found == NULL) {
        rc = pt_error_nomem(error);
    }
    free_met_tables(&self.tables);
    pt_check_free_values(&self.values);
    pt_check_free_indexes(&self.indexes);
    pt_check_free_changes(&self.changes);
    pt_buffer_free(&self.last_key);
    pt_buffer_free(&self.expires);
    pt_buffer_free(&self.shape);
    if (rc != SQLITE_OK) {
        sqlite3_free(found);
        return rc;
    }
    *text = found;
    return SQLITE_OK;
}
