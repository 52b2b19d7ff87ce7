#include "catalog/check_changes.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "base/xxhash.h"
#include "entity/key.h"

struct pt_checked_table {
    uint32_t table_id;
    uint32_t changes_id;
    uint32_t deletions_id;
    uint64_t entities; /* sums: of the changes that entities should have, */
    uint64_t puts;     /* of those found, */
    uint64_t deletions;
    uint64_t deletes;  /* and of the changes of deletions */
    uint64_t *deleted; /* hashes of the deleted keys */
    size_t deleted_count;
    size_t deleted_capacity;
    bool sorted;
};

void pt_check_free_changes(pt_checked_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        sqlite3_free(tables->tables[i].deleted);
    }
    sqlite3_free(tables->tables);
    *tables = (pt_checked_tables){0};
}

int pt_check_add_changes(pt_checked_tables *tables, const pt_table_entry *entry)
{
    if (!pt_array_reserve(&tables->tables, &tables->capacity, tables->count + 1,
                          sizeof *tables->tables)) {
        return SQLITE_NOMEM;
    }
    tables->tables[tables->count++] =
        (pt_checked_table){.table_id = entry->id,
                           .changes_id = entry->properties.changes_id,
                           .deletions_id = entry->properties.deletions_id};
    return SQLITE_OK;
}

/* The table that has this id, or hidden tables that have; NULL: there is none. */
static pt_checked_table *find_checked_table(pt_checked_tables *tables, uint32_t id)
{
    for (size_t i = 0; i < tables->count; i++) {
        size_t at = (tables->last + i) % tables->count;
        pt_checked_table *table = &tables->tables[at];
        if (table->table_id == id || table->changes_id == id || table->deletions_id == id) {
            tables->last = at;
            return table;
        }
    }
    return NULL;
}

static uint64_t hash_change(pt_slice entity_key, int64_t ticks)
{
    return XXH3_64bits_withSeed(entity_key.data, entity_key.size, (XXH64_hash_t)ticks);
}

void pt_check_expect_change(pt_checked_tables *tables, uint32_t table_id, pt_slice key,
                            int64_t ticks)
{
    pt_checked_table *table = find_checked_table(tables, table_id);
    if (table != NULL) {
        table->entities += hash_change(pt_key_entity(key), ticks);
    }
}

/* --- Deletions --- */

static int compare_hashes(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static int add_deleted(pt_checked_table *table, const pt_change *change)
{
    if (!pt_array_reserve(&table->deleted, &table->deleted_capacity, table->deleted_count + 1,
                          sizeof *table->deleted)) {
        return SQLITE_NOMEM;
    }
    table->deleted[table->deleted_count++] = hash_change(change->entity_key, 0);
    table->deletions += hash_change(change->entity_key, change->ticks);
    return SQLITE_OK;
}

static bool was_deleted(pt_checked_table *table, pt_slice entity_key)
{
    if (table->deleted_count == 0) {
        return false;
    }
    if (!table->sorted) {
        qsort(table->deleted, table->deleted_count, sizeof *table->deleted, compare_hashes);
        table->sorted = true;
    }
    uint64_t hash = hash_change(entity_key, 0);
    return bsearch(&hash, table->deleted, table->deleted_count, sizeof hash, compare_hashes) !=
           NULL;
}

/* --- Changes --- */

static const char *add_found_change(pt_checked_table *table, const pt_change *change)
{
    uint64_t hash = hash_change(change->entity_key, change->ticks);
    if (change->kind == PT_CHANGE_DELETE) {
        table->deletes += hash;
        return NULL;
    }
    table->puts += hash;
    return was_deleted(table, change->entity_key)
               ? "a key that has an entity is noted as deleted; switch the table's changes off "
                 "and on"
               : NULL;
}

int pt_check_find_change(pt_checked_tables *tables, uint32_t id, pt_slice key, pt_slice record,
                         int64_t clock, bool *ours, const char **wrong)
{
    pt_checked_table *table = find_checked_table(tables, id);
    pt_change change;
    *wrong = NULL;
    *ours = table != NULL && table->table_id != id;
    if (!*ours) {
        return SQLITE_OK;
    }
    bool deletion = id == table->deletions_id;
    bool sound =
        deletion ? pt_deletion_read(key, record, &change) : pt_change_read(key, record, &change);
    if (!sound || change.ticks > clock) {
        *wrong = sound ? "its time is later than the newest Timestamp of the store"
                       : "a change is damaged; switch the table's changes off and on";
        return SQLITE_OK;
    }
    if (deletion) {
        return add_deleted(table, &change);
    }
    *wrong = add_found_change(table, &change);
    return SQLITE_OK;
}

const char *pt_check_compare_changes(const pt_checked_tables *tables, size_t number,
                                     uint32_t *table_id)
{
    const pt_checked_table *table = &tables->tables[number];
    *table_id = table->table_id;
    if (table->entities != table->puts) {
        return "its changes are not those of its entities; switch them off and on (UPDATE "
               "pt_tables SET Changes = 'off', then 'on')";
    }
    return table->deletions != table->deletes
               ? "its deletions are not those among its changes; switch them off and on (UPDATE "
                 "pt_tables SET Changes = 'off', then 'on')"
               : NULL;
}
