/*
 * Checking the changes of tables (transaction/change_log.h): each entity must have its change, each
 * deletion its own, and no key both. As in catalog/check_indexes.h sums of hashes are compared.
 * A check meets the entities of a table first, then its deletions, then its changes.
 */
#ifndef PT_CATALOG_CHECK_CHANGES_H
#define PT_CATALOG_CHECK_CHANGES_H

#include "transaction/change_log.h"

typedef struct pt_checked_table pt_checked_table;

/* Empty if zeroed. */
typedef struct pt_checked_tables {
    pt_checked_table *tables;
    size_t count;
    size_t capacity;
    size_t last; /* the one that was found last */
} pt_checked_tables;

/* Adds a table that keeps its changes. SQLITE_OK or SQLITE_NOMEM. */
int pt_check_add_changes(pt_checked_tables *tables, const pt_table_entry *entry);

/* Notes the change that an entity should have. */
void pt_check_expect_change(pt_checked_tables *tables, uint32_t table_id, pt_slice key,
                            int64_t ticks);

/* Judges a record if it is a change or deletion: then *ours is true, and *wrong what is wrong with
 * it, or NULL. `clock` is the last Timestamp of the store. SQLITE_OK or SQLITE_NOMEM. */
int pt_check_find_change(pt_checked_tables *tables, uint32_t id, pt_slice key, pt_slice record,
                         int64_t clock, bool *ours, const char **wrong);

/* NULL, or what is wrong with the changes of a table together. *table_id is that of the table.
 * Call it when all are read, with numbers from 0 to tables->count - 1. */
const char *pt_check_compare_changes(const pt_checked_tables *tables, size_t number,
                                     uint32_t *table_id);

void pt_check_free_changes(pt_checked_tables *tables);

#endif
