/*
 * The memtable holds what a transaction has written and not committed yet: operations by logical
 * key.
 *
 * Writes are appended to a log. A rollback to a savepoint discards the end of the log. For each
 * table two indexes are built when they are first needed and kept from then on: a hash table for
 * look-ups, and a search tree for reading in key order. A load of the table in ascending key order
 * needs neither.
 *
 * A second write to a key replaces the first one in place. But if the log was protected in between,
 * because a savepoint still needs the first one, it becomes a newer version of the key; discarding
 * it makes the older version show again.
 */
#ifndef PT_TRANSACTION_MEMTABLE_H
#define PT_TRANSACTION_MEMTABLE_H

#include "transaction/write_set.h"

typedef struct pt_memtable pt_memtable;
typedef struct pt_tree_node pt_memtable_node; /* a place in key order */

/* NULL when out of memory. */
pt_memtable *pt_memtable_new(void);
/* Lets a large memtable use a swap file in the folder of this path (absolute), which must last as
 * long as the memtable. */
void pt_memtable_swap_beside(pt_memtable *memtable, const char *path);
/* NULL is allowed. */
void pt_memtable_free(pt_memtable *memtable);

/* Empties the memtable. Keeps as much memory as a small transaction needs. */
void pt_memtable_reset(pt_memtable *memtable);

/* Changes with every write and discard. A place in key order is valid for one version only. */
uint64_t pt_memtable_version(const pt_memtable *memtable);

/* The number of entries in the log, counting all versions. 0: nothing is pending. A later
 * pt_memtable_discard can go back to it. */
size_t pt_memtable_length(const pt_memtable *memtable);

/* The entry at a position of the log. It may be an older version of its key. */
const pt_pending *pt_memtable_entry(const pt_memtable *memtable, size_t position);

/* False only if no key of the table is pending. */
bool pt_memtable_may_hold(pt_memtable *memtable, uint32_t table_id);

/* The first table from this id on with pending keys; UINT32_MAX: there is none. */
uint32_t pt_memtable_next_table(const pt_memtable *memtable, uint32_t table_id);

/*
 * Adds or replaces the operation on a key. Returns room for its record of `record_size` bytes,
 * which lies after a copy of the key; the caller fills it at once. NULL when out of memory, and for
 * sizes that pt_pending cannot hold; then nothing has changed.
 */
uint8_t *pt_memtable_put(pt_memtable *memtable, pt_slice key, pt_operation operation,
                         size_t record_size);

/* The key of an entry of an index. */
typedef struct pt_entry_key {
    pt_slice key;
    unsigned columns; /* of the index, if it is unique: always the same; else 0 */
    bool is_new;      /* no entity has had this entry, unless one in this transaction has lost it */
} pt_entry_key;

/* The same for an entry of an index. */
uint8_t *pt_memtable_put_entry(pt_memtable *memtable, const pt_entry_key *entry,
                               pt_operation operation, size_t record_size);

/*
 * Finds the operations on entries of a unique index that begin with its id and these parts, none of
 * them NULL. *pending is one after the other from call to call, then NULL. Begin with *place =
 * SIZE_MAX; nothing may be written in between. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_memtable_next_entry(pt_memtable *memtable, pt_slice parts, size_t *place,
                           pt_pending **pending);

/*
 * Tells the memtable the last key that a table has in the snapshot (empty: none). If the pending
 * keys of the table have come in ascending order and are beyond it by now, the memtable remembers
 * that.
 */
void pt_memtable_note_last_stored(pt_memtable *memtable, uint32_t table_id, pt_slice last_stored);

/* True if the key is known to be greater than all pending keys of its table, and than all in the
 * snapshot. One comparison. */
bool pt_memtable_is_beyond_stored(pt_memtable *memtable, pt_slice key);

/* The newest operation on a key, or *pending = NULL. SQLITE_OK or SQLITE_NOMEM. */
int pt_memtable_find(pt_memtable *memtable, pt_slice key, pt_pending **pending);

/* The version of its key before this one, or NULL. */
pt_pending *pt_memtable_older(const pt_memtable *memtable, const pt_pending *pending);

/* Until the next call, entries before this length are not overwritten in place: a savepoint or a
 * row may go back to them. */
void pt_memtable_protect(pt_memtable *memtable, size_t length);

/* Discards all entries after this length. */
void pt_memtable_discard(pt_memtable *memtable, size_t length);

/* From now on, discarding keeps the entries' memory, so that pointers to them stay valid. */
void pt_memtable_pin(pt_memtable *memtable);

/*
 * Among the keys of a table: forward, the first place with a key >= `key`; backward, the last place
 * with a key < `key`. *node = NULL if there is none. SQLITE_OK or SQLITE_NOMEM. A step past the end
 * of the table returns NULL.
 */
int pt_memtable_seek(pt_memtable *memtable, uint32_t table_id, pt_slice key, pt_direction direction,
                     pt_memtable_node **node);
pt_memtable_node *pt_memtable_step(pt_memtable_node *node, pt_direction direction);
/* The newest operation on the key at this place. */
pt_pending *pt_memtable_at(const pt_memtable_node *node);

/* The newest operation on each key, in key order. The caller frees the set; the entries belong to
 * the memtable. SQLITE_OK or SQLITE_NOMEM. */
int pt_memtable_sorted(pt_memtable *memtable, pt_write_set *set);

/* --- Savepoints --- */

/* A savepoint is a length of the log to go back to. Levels are SQLite's numbers, from 0 on. */
typedef struct pt_mark {
    int level;
    size_t length; /* of the log when the savepoint was opened */
} pt_mark;

/*
 * The open savepoints of a transaction. All zeros: no savepoint. They are not part of the memtable,
 * because SQLite may open savepoints before there is one. In all functions, `memtable` may be NULL:
 * nothing is pending.
 */
typedef struct pt_savepoints {
    pt_mark *marks;
    size_t count;
    size_t capacity;
} pt_savepoints;

/* Makes room for one more mark. False when out of memory. */
bool pt_savepoints_reserve(pt_savepoints *savepoints);

/*
 * Opens a savepoint of this level, unless it is open already. If there was room for a mark, the
 * savepoint is open even on SQLITE_NOMEM: SQLite also goes back to a savepoint whose opening has
 * failed. Otherwise SQLITE_OK.
 */
int pt_savepoints_open(pt_savepoints *savepoints, pt_memtable *memtable, int level);

/* Closes the savepoint of this level and those inside it. */
void pt_savepoints_release(pt_savepoints *savepoints, pt_memtable *memtable, int level);

/* Discards what was written since the savepoint of this level. The level stays open, those inside
 * it are closed. */
void pt_savepoints_rollback_to(pt_savepoints *savepoints, pt_memtable *memtable, int level);

/* The length of the log when the innermost savepoint was opened; 0: there is none. */
size_t pt_savepoints_length(const pt_savepoints *savepoints);

/* Closes all savepoints. Keeps the memory. */
void pt_savepoints_clear(pt_savepoints *savepoints);
void pt_savepoints_free(pt_savepoints *savepoints);

#endif
