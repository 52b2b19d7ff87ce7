/*
 * The memtable's operations on one table, and two indexes over the newest operation of each key: a
 * hash table and a search tree. All hold pointers or positions only; the operations belong to the
 * memtable.
 */
#ifndef PT_TRANSACTION_MEMTABLE_INDEX_H
#define PT_TRANSACTION_MEMTABLE_INDEX_H

#include <bsd/sys/tree.h>

#include "base/arena.h"
#include "transaction/write_set.h"

/*
 * A slot names an operation by its position in the memtable's log. The hash next to it decides
 * nearly every comparison, and every move to a larger table, without touching the operation.
 */
typedef struct pt_hash_slot {
    uint32_t hash;
    uint32_t next; /* the position of the operation + 1; 0: the slot is empty */
} pt_hash_slot;

/*
 * A hash table with linear probing. All zeros is the empty table. In all functions, `log` is the
 * memtable's log, and `hash` the hash of the key.
 */
typedef struct pt_hash_index {
    pt_hash_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;
} pt_hash_index;

/* Makes room for `more` keys. False when out of memory. */
bool pt_hash_index_reserve(pt_hash_index *index, size_t more);
uint32_t pt_hash_index_hash(pt_slice key);
/* NULL if the key is not in the table. */
pt_pending *pt_hash_index_find(const pt_hash_index *index, pt_pending *const *log, pt_slice key,
                               uint32_t hash);

/* Keys may be given a hash of their beginnings. The operations on keys with such a beginning, one
 * for each key, are those of `hash` from *slot on, which is set for the next call. Begin with
 * SIZE_MAX. NULL: there are no more. */
pt_pending *pt_hash_index_next(const pt_hash_index *index, pt_pending *const *log,
                               pt_slice beginning, uint32_t hash, size_t *slot);

/* Adds an operation, or replaces that of the same key. Room must have been reserved. */
void pt_hash_index_set(pt_hash_index *index, pt_pending *const *log, const pt_pending *pending,
                       uint32_t hash);
/* Does nothing if the key is not in the table. */
void pt_hash_index_remove(pt_hash_index *index, pt_pending *const *log, pt_slice key,
                          uint32_t hash);
void pt_hash_index_free(pt_hash_index *index);

typedef struct pt_tree_node {
    RB_ENTRY(pt_tree_node) link;
    pt_slice key; /* in `pending` */
    pt_pending *pending;
} pt_tree_node;

/* A red-black tree in key order. All zeros is the empty tree. */
typedef struct pt_tree_index {
    RB_HEAD(pt_memtable_tree, pt_tree_node) tree;
    pt_arena arena;
    pt_tree_node *spare; /* unused nodes, linked through RB_LEFT */
} pt_tree_index;

/* Makes sure that the next pt_tree_index_set finds a node. False when out of memory. */
bool pt_tree_index_reserve(pt_tree_index *index);
/* Adds an operation, or replaces that of the same key. A node must have been reserved. */
void pt_tree_index_set(pt_tree_index *index, pt_pending *pending);
/* Does nothing if the key is not in the tree. */
void pt_tree_index_remove(pt_tree_index *index, pt_slice key);
/* The first node with a key >= `key`, or NULL. */
pt_tree_node *pt_tree_index_first_from(pt_tree_index *index, pt_slice key);
/* The last node with a key < `key`, or NULL. */
pt_tree_node *pt_tree_index_last_before(pt_tree_index *index, pt_slice key);
pt_tree_node *pt_tree_index_next(pt_tree_node *node);
pt_tree_node *pt_tree_index_previous(pt_tree_node *node);
void pt_tree_index_free(pt_tree_index *index);

/*
 * The operations on the keys of one table. A load that writes several tables in turn, as an index
 * makes it, thus has all of them in order. The entries of a lane are linked by their positions in
 * the log.
 */
typedef struct pt_lane {
    uint32_t table_id;
    uint32_t last;      /* the position of its last entry, plus 1; 0: it has none */
    uint32_t count;     /* of entries */
    bool ascending;     /* keys came in ascending order, each once */
    bool beyond_stored; /* keys are not stored either if they are greater than the last one here;
                           only if ascending */
    bool deletes;       /* an entry of an index was deleted, perhaps discarded since */
    bool next_is_new;   /* the key that is put next is known not to be pending */
    uint8_t columns;    /* of a unique index: see pt_lane_hash */
    bool hashed;        /* `hash` has been built and is kept up to date */
    bool treed;         /* so has `tree` */
    pt_hash_index hash;
    pt_tree_index tree;
} pt_lane;

/*
 * The hash of a key. In a unique index, entries are found by their values: there it is that of all
 * parts, unless one is NULL, which many entities may have.
 */
uint32_t pt_lane_hash(const pt_lane *lane, pt_slice key);

/* Builds the hash table or the tree. SQLITE_OK or SQLITE_NOMEM. */
int pt_lane_build_hash(pt_lane *lane, pt_pending *const *log);
int pt_lane_build_tree(pt_lane *lane, pt_pending *const *log);

/* The newest operations in key order. Returns how many they are. `entries` has pt_lane_sort_room
 * pointers. */
size_t pt_lane_sort(const pt_lane *lane, pt_pending *const *log, pt_pending **entries);
size_t pt_lane_sort_room(const pt_lane *lane);

#endif
