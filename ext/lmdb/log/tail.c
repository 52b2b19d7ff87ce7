#include "lmdb/log/tail.h"

#include "base/sqlite.h"
#include "base/xxhash.h"

enum { FIRST_RANDOM = 1463534242 }; /* any number but 0 */

pt_lmdb_tail *pt_tail_new(uint64_t version, const pt_log_chain *chain)
{
    pt_lmdb_tail *tail = sqlite3_malloc64(sizeof *tail);
    if (tail != NULL) {
        memset(tail, 0, sizeof *tail);
        tail->version = version;
        tail->chain = *chain;
        tail->random = FIRST_RANDOM;
        atomic_store(&tail->references, 1);
    }
    return tail;
}

void pt_tail_retain(pt_lmdb_tail *tail)
{
    atomic_fetch_add_explicit(&tail->references, 1, memory_order_relaxed);
}

void pt_tail_release(pt_lmdb_tail *tail)
{
    if (tail != NULL &&
        atomic_fetch_sub_explicit(&tail->references, 1, memory_order_acq_rel) == 1) {
        pt_arena_free(&tail->arena);
        sqlite3_free(tail);
    }
}

/* --- The Bloom filter: two bits a key --- */

typedef struct bloom_bits {
    size_t words[2];
    uint64_t masks[2];
} bloom_bits;

static inline bloom_bits bloom_bits_of(pt_slice key)
{
    uint64_t hash = XXH3_64bits(key.data, key.size);
    return (bloom_bits){
        .words = {hash % PT_TAIL_BLOOM_WORDS, (hash >> 32) % PT_TAIL_BLOOM_WORDS},
        .masks = {UINT64_C(1) << (hash >> 16 & 63), UINT64_C(1) << (hash >> 48 & 63)},
    };
}

static void note_key(pt_lmdb_tail *tail, pt_slice key)
{
    bloom_bits bits = bloom_bits_of(key);
    for (int i = 0; i < 2; i++) {
        atomic_fetch_or_explicit(&tail->bloom[bits.words[i]], bits.masks[i], memory_order_relaxed);
    }
    uint64_t table = UINT64_C(1) << pt_key_table(key) % 64;
    atomic_fetch_or_explicit(&tail->tables, table, memory_order_relaxed);
    if (key.data[0] == PT_KEY_CHUNKS) {
        atomic_store_explicit(&tail->has_chunks, true, memory_order_relaxed);
    }
}

static inline bool may_hold_key(const pt_lmdb_tail *tail, pt_slice key)
{
    bloom_bits bits = bloom_bits_of(key);
    return (atomic_load_explicit(&tail->bloom[bits.words[0]], memory_order_relaxed) &
            bits.masks[0]) != 0 &&
           (atomic_load_explicit(&tail->bloom[bits.words[1]], memory_order_relaxed) &
            bits.masks[1]) != 0;
}

/* --- Inserting --- */

static unsigned draw_height(pt_lmdb_tail *tail)
{
    uint32_t x = tail->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    tail->random = x;
    unsigned height = 1;
    while (height < PT_TAIL_HEIGHT && (x & 3) == 0) {
        height++;
        x >>= 2;
    }
    return height;
}

pt_tail_node *pt_tail_make(pt_lmdb_tail *tail, pt_slice key, pt_slice record, bool deletes)
{
    unsigned height = draw_height(tail);
    size_t links = height * sizeof(pt_tail_node *);
    pt_tail_node *node =
        pt_arena_alloc(&tail->arena, sizeof *node + links + key.size + record.size);
    if (node == NULL) {
        return NULL;
    }
    memset(node, 0, sizeof *node + links);
    node->record_size = (uint32_t)record.size;
    node->key_size = (uint16_t)key.size;
    node->height = (uint8_t)height;
    node->deletes = deletes;
    uint8_t *bytes = (uint8_t *)&node->next[height];
    memcpy(bytes, key.data, key.size);
    if (record.size != 0) {
        memcpy(bytes + key.size, record.data, record.size);
    }
    return node;
}

typedef _Atomic(pt_tail_node *) tail_link;

static inline pt_tail_node *follow_link(const tail_link *link)
{
    return atomic_load_explicit(link, memory_order_acquire);
}

/* The first node whose key is not below `key`: its newest version. With `places` also where a node
 * of that key would be linked in. */
static pt_tail_node *find_place(const pt_lmdb_tail *tail, pt_slice key,
                                const tail_link *places[PT_TAIL_HEIGHT])
{
    const tail_link *links = tail->first;
    pt_tail_node *next = NULL;
    const pt_tail_node *known = NULL; /* not below the key */
    for (int level = PT_TAIL_HEIGHT - 1; level >= 0; level--) {
        while ((next = follow_link(&links[level])) != NULL && next != known &&
               pt_slice_compare(pt_tail_key(next), key) < 0) {
            links = next->next;
        }
        known = next;
        if (places != NULL) {
            places[level] = &links[level];
        }
    }
    return next;
}

void pt_tail_insert(pt_lmdb_tail *tail, pt_tail_node *node, uint32_t end)
{
    const tail_link *places[PT_TAIL_HEIGHT];
    pt_slice key = pt_tail_key(node);
    pt_tail_node *next = find_place(tail, key, places);
    node->end = end;
    node->has_older = next != NULL && pt_slice_equal(pt_tail_key(next), key);
    note_key(tail, key);
    /* From below: a reader that meets the node finds all its links in place. */
    for (unsigned level = 0; level < node->height; level++) {
        atomic_store_explicit(&node->next[level], follow_link(places[level]), memory_order_relaxed);
        atomic_store_explicit((tail_link *)(uintptr_t)places[level], node, memory_order_release);
    }
}

bool pt_tail_row_begin(pt_lmdb_tail *tail, pt_tail_row *row)
{
    *row = (pt_tail_row){.commit = pt_arena_alloc(&tail->arena, sizeof *row->commit)};
    return row->commit != NULL;
}

void pt_tail_row_append(pt_tail_row *row, pt_tail_node *node)
{
    atomic_store_explicit(&node->next[0], NULL, memory_order_relaxed);
    if (row->first == NULL) {
        row->first = node;
    } else {
        atomic_store_explicit(&row->last->next[0], node, memory_order_relaxed);
    }
    row->last = node;
}

pt_tail_node *pt_tail_row_next(const pt_tail_node *node)
{
    return atomic_load_explicit(&node->next[0], memory_order_relaxed);
}

void pt_tail_add_commit(pt_lmdb_tail *tail, const pt_tail_row *row, const pt_log_chain *after,
                        int64_t clock)
{
    for (pt_tail_node *node = row->first; node != NULL;) {
        pt_tail_node *next = pt_tail_row_next(node); /* inserting sets the link */
        pt_tail_insert(tail, node, after->end);
        node = next;
    }
    tail->chain = *after;
    /* A commit that has assigned no timestamp leaves the clock where it is, as in the tree. */
    const pt_tail_commit *before = atomic_load_explicit(&tail->last, memory_order_relaxed);
    *row->commit = (pt_tail_commit){
        .end = after->end,
        .clock = before != NULL && before->clock > clock ? before->clock : clock,
        .before = before,
    };
    atomic_store_explicit(&tail->last, row->commit, memory_order_release);
    atomic_fetch_add_explicit(&tail->commits, 1, memory_order_relaxed);
    atomic_store_explicit(&tail->end, after->end, memory_order_release);
}

int64_t pt_tail_clock(const pt_lmdb_tail *tail, uint32_t end)
{
    const pt_tail_commit *commit = atomic_load_explicit(&tail->last, memory_order_acquire);
    while (commit != NULL && commit->end > end) {
        commit = commit->before;
    }
    return commit != NULL ? commit->clock : 0;
}

/* --- Reading --- */

/* The version of this key that the view shows, from the newest on; NULL: none, and *after is the
 * next key. */
static const pt_tail_node *choose_version(const pt_tail_node *node, uint32_t end,
                                          const pt_tail_node **after)
{
    while (node->end > end) {
        if (!node->has_older) {
            *after = follow_link(&node->next[0]);
            return NULL;
        }
        node = follow_link(&node->next[0]);
    }
    return node;
}

static const pt_tail_node *first_visible(const pt_tail_node *node, uint32_t end)
{
    while (node != NULL) {
        const pt_tail_node *chosen = choose_version(node, end, &node);
        if (chosen != NULL) {
            return chosen;
        }
    }
    return NULL;
}

const pt_tail_node *pt_tail_find(const pt_lmdb_tail *tail, pt_slice key, uint32_t end)
{
    if (!pt_key_has_table(key) || !pt_tail_may_hold(tail, pt_key_table(key)) ||
        !may_hold_key(tail, key)) {
        return NULL;
    }
    const pt_tail_node *after;
    const pt_tail_node *node = find_place(tail, key, NULL);
    return node != NULL && pt_slice_equal(pt_tail_key(node), key)
               ? choose_version(node, end, &after)
               : NULL;
}

/* The last node below the key; NULL: none. */
static const pt_tail_node *last_below(const pt_lmdb_tail *tail, pt_slice key)
{
    const tail_link *links = tail->first;
    const pt_tail_node *last = NULL;
    for (int level = PT_TAIL_HEIGHT - 1; level >= 0; level--) {
        pt_tail_node *next;
        while ((next = follow_link(&links[level])) != NULL &&
               pt_slice_compare(pt_tail_key(next), key) < 0) {
            links = next->next;
            last = next;
        }
    }
    return last;
}

static const pt_tail_node *last_visible_below(const pt_lmdb_tail *tail, pt_slice key, uint32_t end)
{
    const pt_tail_node *last;
    while ((last = last_below(tail, key)) != NULL) {
        const pt_tail_node *after;
        key = pt_tail_key(last);
        const pt_tail_node *chosen = choose_version(find_place(tail, key, NULL), end, &after);
        if (chosen != NULL) {
            return chosen;
        }
    }
    return NULL;
}

const pt_tail_node *pt_tail_seek(const pt_lmdb_tail *tail, pt_slice from, uint32_t end,
                                 pt_direction direction)
{
    return direction == PT_FORWARD ? first_visible(find_place(tail, from, NULL), end)
                                   : last_visible_below(tail, from, end);
}

const pt_tail_node *pt_tail_step(const pt_lmdb_tail *tail, const pt_tail_node *node, uint32_t end,
                                 pt_direction direction)
{
    if (direction == PT_BACKWARD) {
        return last_visible_below(tail, pt_tail_key(node), end);
    }
    while (node->has_older) {
        node = follow_link(&node->next[0]);
    }
    return first_visible(follow_link(&node->next[0]), end);
}
