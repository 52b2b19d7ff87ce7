/*
 * Checking indexes: each entity must have its entries, and each entry an entity. For each index a
 * check adds up a hash of each entry that the entities should have, and of each that it finds. Only
 * whole values are in the hash: a large value is not known when its entity is read.
 */
#ifndef PT_CATALOG_CHECK_INDEXES_H
#define PT_CATALOG_CHECK_INDEXES_H

#include "entity/record.h"
#include "transaction/index_directory.h"

typedef struct pt_checked_index pt_checked_index;

/* Empty if zeroed. */
typedef struct pt_checked_indexes {
    pt_checked_index **indexes;
    size_t count;
    size_t capacity;
    size_t last; /* the one that was found last */
} pt_checked_indexes;

/* Adds an index of a table from its catalogue record. *id is its own; 0: the record is damaged.
 * SQLITE_OK or SQLITE_NOMEM. */
int pt_check_add_index(pt_checked_indexes *indexes, uint32_t table_id, const char *table,
                       pt_slice key, pt_slice record, uint32_t *id);

/* The index of an id, or NULL. */
pt_checked_index *pt_check_find_index(pt_checked_indexes *indexes, uint32_t id);

/* "index 'Email' of table 'Employee'" */
const char *pt_check_index_name(const pt_checked_index *index);

/* True if these are the names of its columns. */
bool pt_check_index_is_on(const pt_checked_index *index, pt_slice names);

/* Notes the entries that an entity should have. SQLITE_OK or SQLITE_NOMEM. */
int pt_check_expect_entries(pt_checked_indexes *indexes, uint32_t table_id, pt_slice key,
                            pt_record *record);

/* Notes an entry that was found. *wrong is what is wrong with it, or NULL. SQLITE_OK or
 * SQLITE_NOMEM. */
int pt_check_find_entry(pt_checked_index *index, pt_slice key, pt_slice record, const char **wrong);

/* NULL, or what is wrong with the entries of an index together. Call it when all are read. */
const char *pt_check_compare_entries(const pt_checked_index *index);

void pt_check_free_indexes(pt_checked_indexes *indexes);

#endif
