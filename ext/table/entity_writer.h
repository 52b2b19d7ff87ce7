/*
 * Storing entities: INSERT, UPDATE, DELETE and the queues all write with pt_entity_write.
 *
 * The entity to be stored is put together in table->bag, or as changes in table->columns. Each
 * write is all or nothing: SQLite opens no savepoint around a single row. Entities that have
 * expired (transaction/expiry.h) are not there; the entity that takes the key or unique value of
 * one replaces it. Values that are too long for a record are stored as large values; large values
 * that no entity has any more are deleted. The session must be writing
 * (pt_transaction_prepare_write).
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of an error with text.
 */
#ifndef PT_TABLE_ENTITY_WRITER_H
#define PT_TABLE_ENTITY_WRITER_H

#include "entity/record.h"
#include "table/table.h"

/* What one row of a statement does to the store. Keys are logical. */
typedef struct pt_entity_change {
    const pt_slice *put;    /* stores table->bag under this key; NULL: stores nothing */
    const pt_slice *remove; /* removes the entity of this key, even if damaged; NULL: no entity */
    pt_operation operation; /* of `put`; PT_INSERT: there is no entity under the key, or one that
                               has expired */
    /* Stores this entity with table->columns laid over its properties (PT_NONE removes one) instead
     * of table->bag. The record is one of pt_entity_open_old. */
    pt_record *over;
    /* SQLITE_CONSTRAINT_PRIMARYKEY if there is an entity under `put`; the message gives
     * this advice. NULL: do not look. */
    const char *if_absent;
    bool rules_checked; /* the caller has called pt_entity_check_rules or pt_entity_check_removal */
    pt_put_entity *made_from; /* set if the record is made of fields; NULL: not wanted */
} pt_entity_change;

/* Makes a change, after checking the table's rules (table/entity_rules.h). On failure nothing has
 * changed. */
int pt_entity_write(pt_table *table, const pt_entity_change *change, pt_error *error);

/*
 * The same for the filled template table->alike in place of table->bag. The change has `put` and
 * nothing to remove. The shape must be that of the last entity stored. `data_size` is from
 * pt_template_fill.
 */
int pt_entity_write_template(pt_table *table, const pt_entity_change *change, uint64_t data_size,
                             pt_error *error);

/* Stores table->bag under a key. */
static inline int pt_entity_put(pt_table *table, pt_slice key, pt_operation operation,
                                pt_error *error)
{
    return pt_entity_write(table, &(pt_entity_change){.put = &key, .operation = operation}, error);
}

/* Stores table->bag under a new key and removes the entity of the old one. */
static inline int pt_entity_move(pt_table *table, pt_slice old_key, pt_slice new_key,
                                 pt_operation operation, pt_error *error)
{
    const pt_entity_change change = {.put = &new_key, .remove = &old_key, .operation = operation};
    return pt_entity_write(table, &change, error);
}

/* Removes the entity of a key. */
static inline int pt_entity_remove(pt_table *table, pt_slice key, pt_error *error)
{
    return pt_entity_write(table, &(pt_entity_change){.remove = &key}, error);
}

/* *found = false: there is no entity under the key, or it has expired. SQLITE_CORRUPT_VTAB: it is
 * damaged, so it is not known if it has. */
int pt_entity_find(pt_table *table, pt_slice key, bool *found, pt_error *error);

/* Copies the entity of a key to table->old_record and opens the copy, because writing the entity
 * may overwrite the original. `record` is only set if *found, and valid until the next call.
 * SQLITE_CORRUPT_VTAB if the entity is damaged. */
int pt_entity_open_old(pt_table *table, pt_slice key, bool *found, pt_record *record,
                       pt_error *error);

/* Lays table->columns over table->bag; PT_NONE removes a property. */
int pt_entity_set_columns(pt_table *table, pt_error *error);

/* Where the declared columns are in the shape of the last entity stored: the next one probably has
 * the same. NULL if there is none, or when out of memory. */
const pt_column_places *pt_entity_last_places(pt_table *table);

#endif
