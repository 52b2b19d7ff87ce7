/*
 * The memtable: what a transaction has written and not yet committed, as operations by logical key.
 *
 * Entries are appended to a log, which is what savepoints and rollbacks cut back. Two indexes are
 * built when they are first needed and kept from then on: a hash table for look-ups, and a search
 * tree for reading in key order. A load in ascending key order needs neither.
 *
 * A second write to a key replaces the first one in place, unless a savepoint in between still
 * needs the first; then it becomes a newer version, and cutting the log back brings the older one
 * to light again.
 */
#ifndef PT_TRANSACTION_MEMTABLE_H
#define PT_TRANSACTION_MEMTABLE_H

#include "store/engine.h"
#include "transaction/pending.h"

typedef struct pt_memtable pt_memtable;
typedef struct pt_memtable_node pt_memtable_node; /* a place in key order */

/* NULL when out of memory. */
pt_memtable *pt_memtable_new(void);
void pt_memtable_free(pt_memtable *memtable);

/* Makes it as new, but for the memory that a small transaction needs, which it keeps. */
void pt_memtable_reset(pt_memtable *memtable);

/* Changes with every write and rollback: a place in key order must then be sought again. */
uint64_t pt_memtable_version(const pt_memtable *memtable);

/* Entries in the log, all versions: 0 means that nothing is pending. Also a position to cut back
 * to. */
size_t pt_memtable_length(const pt_memtable *memtable);

/* The entry at a position of the log; it may be an older version of its key. */
const pt_pending *pt_memtable_entry(const pt_memtable *memtable, size_t position);

/* Whether keys of a table may be pending. False is certain. */
bool pt_memtable_may_hold(const pt_memtable *memtable, uint32_t table_id);

/*
 * Adds or replaces the operation on a key and returns room for its record of `record_size` bytes,
 * which the caller fills at once. NULL when out of memory, and nothing has changed.
 */
uint8_t *pt_memtable_put(pt_memtable *memtable, pt_slice key, pt_operation operation,
                         size_t record_size);

/* The newest operation on a key, or *pending = NULL. SQLITE_OK or SQLITE_NOMEM. */
int pt_memtable_find(pt_memtable *memtable, pt_slice key, pt_pending **pending);

/* Entries before this length stay as they are until it is lowered again: a savepoint needs them. */
void pt_memtable_protect(pt_memtable *memtable, size_t length);

/* Undoes everything behind a length. */
void pt_memtable_cut(pt_memtable *memtable, size_t length);

/* From now on cutting keeps the entries' memory, so that pointers to them stay valid. */
void pt_memtable_pin(pt_memtable *memtable);

/*
 * Forward: the first place with a key >= `key`. Backward: the last with a key < `key`. *node = NULL
 * if there is none. SQLITE_OK or SQLITE_NOMEM. Steps from one place to its neighbour are valid for
 * one version.
 */
int pt_memtable_seek(pt_memtable *memtable, pt_slice key, pt_direction direction,
                     pt_memtable_node **node);
pt_memtable_node *pt_memtable_step(pt_memtable_node *node, pt_direction direction);
pt_pending *pt_memtable_at(const pt_memtable_node *node);

/*
 * All newest operations in key order, in an array from sqlite3_malloc. SQLITE_OK or SQLITE_NOMEM.
 * The entries belong to the memtable.
 */
int pt_memtable_sorted(pt_memtable *memtable, pt_pending ***entries, size_t *count);

#endif
