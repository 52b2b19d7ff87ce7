/*
 * The tail: the commits that are in the log (lmdb/log.h) and not yet in LMDB's tree, in memory.
 *
 * A skip list in key order. Nodes are only inserted, by one thread at a time; readers need no lock.
 * All versions of a key stay, the newest first. A node's version is where its commit ends in the
 * log. A view reads the list up to a version: it does not see nodes with a later one. The whole
 * list is freed with its last user.
 */
#ifndef PT_LMDB_LOG_TAIL_H
#define PT_LMDB_LOG_TAIL_H

#include <stdatomic.h>

#include "base/arena.h"
#include "entity/key.h"
#include "lmdb/log/record.h"
#include "store/engine.h"

enum { PT_TAIL_HEIGHT = 8, PT_TAIL_BLOOM_WORDS = 512 };

typedef struct pt_tail_node {
    uint32_t end; /* of its commit, in the log */
    uint32_t record_size;
    uint16_t key_size;
    uint8_t height;
    bool deletes : 1;
    bool has_older : 1;                    /* the next node has the same key */
    _Atomic(struct pt_tail_node *) next[]; /* `height` of them; then key and record */
} pt_tail_node;

typedef struct pt_lmdb_tail {
    atomic_uint references;
    uint64_t version;     /* of LMDB's tree, which it follows */
    pt_log_chain chain;   /* of the records in it: guarded by the store's mutex */
    _Atomic uint32_t end; /* of the last commit in it */
    _Atomic uint32_t commits;
    _Atomic(const struct pt_tail_commit *) last; /* commit */
    uint32_t random;
    pt_arena arena;
    _Atomic uint64_t tables; /* bit t % 64: there may be keys of table t */
    atomic_bool has_chunks;
    _Atomic uint64_t bloom[PT_TAIL_BLOOM_WORDS];
    _Atomic(pt_tail_node *) first[PT_TAIL_HEIGHT];
} pt_lmdb_tail;

/* NULL when out of memory. */
pt_lmdb_tail *pt_tail_new(uint64_t version, const pt_log_chain *chain);
void pt_tail_retain(pt_lmdb_tail *tail);
void pt_tail_release(pt_lmdb_tail *tail); /* NULL is allowed */

static inline pt_slice pt_tail_key(const pt_tail_node *node)
{
    return pt_slice_of(&node->next[node->height], node->key_size);
}

static inline pt_slice pt_tail_record(const pt_tail_node *node)
{
    return pt_slice_of((const uint8_t *)&node->next[node->height] + node->key_size,
                       node->record_size);
}

/* A node that is not in the list yet. NULL when out of memory. */
pt_tail_node *pt_tail_make(pt_lmdb_tail *tail, pt_slice key, pt_slice record, bool deletes);

/* Inserts it as a part of a commit that is not shown yet: it ends there. */
void pt_tail_insert(pt_lmdb_tail *tail, pt_tail_node *node, uint32_t end);

/* A commit in the list. */
typedef struct pt_tail_commit {
    uint32_t end;
    int64_t clock;
    const struct pt_tail_commit *before;
} pt_tail_commit;

/* Nodes that are not in the list yet are in a row, through their first links. */
typedef struct pt_tail_row {
    pt_tail_node *first;
    pt_tail_node *last;
    pt_tail_commit *commit; /* made before, as adding it must not fail */
} pt_tail_row;

/* An empty row. False when out of memory. */
bool pt_tail_row_begin(pt_lmdb_tail *tail, pt_tail_row *row);

void pt_tail_row_append(pt_tail_row *row, pt_tail_node *node);
pt_tail_node *pt_tail_row_next(const pt_tail_node *node);

/* Inserts the nodes of a commit, and shows it: it is the next one, which `after` is the chain with.
 * With the store's mutex. */
void pt_tail_add_commit(pt_lmdb_tail *tail, const pt_tail_row *row, const pt_log_chain *after,
                        int64_t clock);

/* The clock of the view up to `end`, where a commit ends. */
int64_t pt_tail_clock(const pt_lmdb_tail *tail, uint32_t end);

/* False only if there is no key of the table. */
static inline bool pt_tail_may_hold(const pt_lmdb_tail *tail, uint32_t table_id)
{
    return (atomic_load_explicit(&tail->tables, memory_order_relaxed) >> table_id % 64 & 1) != 0;
}

/* The key as it is in the view up to `end`; NULL: the tail says nothing of it. */
const pt_tail_node *pt_tail_find(const pt_lmdb_tail *tail, pt_slice key, uint32_t end);

/* Forward: the first key >= `from`; backward: the last one < `from`; in the view up to `end`. NULL:
 * none. */
const pt_tail_node *pt_tail_seek(const pt_lmdb_tail *tail, pt_slice from, uint32_t end,
                                 pt_direction direction);

/* The neighbour in that view. */
const pt_tail_node *pt_tail_step(const pt_lmdb_tail *tail, const pt_tail_node *node, uint32_t end,
                                 pt_direction direction);

#endif
