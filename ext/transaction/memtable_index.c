#include "transaction/memtable_index.h"

#include "base/sqlite.h"
#include "base/xxhash.h"

enum { FIRST_SLOTS = 256 };

uint32_t pt_hash_index_hash(pt_slice key)
{
    return (uint32_t)XXH3_64bits(key.data, key.size);
}

/* The slot of the key, or the empty slot where it belongs. */
static size_t find_hash_slot(const pt_hash_index *index, pt_pending *const *log, pt_slice key,
                             uint32_t hash)
{
    size_t mask = index->slot_count - 1;
    size_t at = hash & mask;
    for (; index->slots[at].next != 0; at = (at + 1) & mask) {
        const pt_hash_slot *slot = &index->slots[at];
        if (slot->hash == hash && pt_slice_equal(pt_pending_key(log[slot->next - 1]), key)) {
            break;
        }
    }
    return at;
}

/* The stored hashes suffice: keys are distinct, so each goes to the next empty slot. */
static void move_slots(pt_hash_index *to, const pt_hash_index *from)
{
    size_t mask = to->slot_count - 1;
    for (size_t i = 0; i < from->slot_count; i++) {
        if (from->slots[i].next != 0) {
            size_t at = from->slots[i].hash & mask;
            while (to->slots[at].next != 0) {
                at = (at + 1) & mask;
            }
            to->slots[at] = from->slots[i];
        }
    }
    to->used = from->used;
}

bool pt_hash_index_reserve(pt_hash_index *index, size_t more)
{
    size_t slots = index->slot_count == 0 ? FIRST_SLOTS : index->slot_count;
    /* At most three quarters full, or linear probing gets slow. */
    while ((index->used + more) * 4 > slots * 3) {
        slots *= 2;
    }
    if (slots == index->slot_count) {
        return true;
    }
    pt_hash_index larger = {.slot_count = slots};
    larger.slots = sqlite3_malloc64(slots * sizeof *larger.slots);
    if (larger.slots == NULL) {
        return false;
    }
    /* Before memset touches the memory, or it already has small pages. */
    pt_large_pages_ask(larger.slots, slots * sizeof *larger.slots);
    memset(larger.slots, 0, slots * sizeof *larger.slots);
    move_slots(&larger, index);
    sqlite3_free(index->slots);
    *index = larger;
    return true;
}

pt_pending *pt_hash_index_find(const pt_hash_index *index, pt_pending *const *log, pt_slice key,
                               uint32_t hash)
{
    uint32_t next = index->slots[find_hash_slot(index, log, key, hash)].next;
    return next != 0 ? log[next - 1] : NULL;
}

void pt_hash_index_set(pt_hash_index *index, pt_pending *const *log, const pt_pending *pending,
                       uint32_t hash)
{
    pt_hash_slot *slot = &index->slots[find_hash_slot(index, log, pt_pending_key(pending), hash)];
    index->used += slot->next == 0;
    *slot = (pt_hash_slot){.hash = hash, .next = pending->position + 1};
}

void pt_hash_index_remove(pt_hash_index *index, pt_pending *const *log, pt_slice key, uint32_t hash)
{
    size_t mask = index->slot_count - 1;
    size_t hole = find_hash_slot(index, log, key, hash);
    if (index->slots[hole].next == 0) {
        return;
    }
    /* No slot may be left empty between a key and its home slot, or a search would stop too early.
     * So an entry after the hole moves into it if its way from home leads past the hole. */
    for (size_t at = (hole + 1) & mask; index->slots[at].next != 0; at = (at + 1) & mask) {
        size_t home = index->slots[at].hash & mask;
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            index->slots[hole] = index->slots[at];
            hole = at;
        }
    }
    index->slots[hole].next = 0;
    index->used--;
}

void pt_hash_index_free(pt_hash_index *index)
{
    sqlite3_free(index->slots);
    *index = (pt_hash_index){0};
}

static int compare_nodes(const pt_tree_node *a, const pt_tree_node *b)
{
    return pt_slice_compare(a->key, b->key);
}

RB_GENERATE_INTERNAL(pt_memtable_tree, pt_tree_node, link, compare_nodes,
                     __attribute__((__unused__)) static)

/* Nodes are never freed one by one: the arena frees them all. */
static void keep_spare(pt_tree_index *index, pt_tree_node *node)
{
    RB_LEFT(node, link) = index->spare;
    index->spare = node;
}

bool pt_tree_index_reserve(pt_tree_index *index)
{
    if (index->spare == NULL) {
        pt_tree_node *node = pt_arena_alloc(&index->arena, sizeof *node);
        if (node == NULL) {
            return false;
        }
        keep_spare(index, node);
    }
    return true;
}

void pt_tree_index_set(pt_tree_index *index, pt_pending *pending)
{
    pt_tree_node *node = index->spare;
    index->spare = RB_LEFT(node, link);
    node->key = pt_pending_key(pending);
    node->pending = pending;
    pt_tree_node *present = RB_INSERT(pt_memtable_tree, &index->tree, node);
    /* The key must move with the operation: that of the old operation may be freed. */
    if (present != NULL) {
        present->key = node->key;
        present->pending = pending;
        keep_spare(index, node);
    }
}

void pt_tree_index_remove(pt_tree_index *index, pt_slice key)
{
    pt_tree_node wanted = {.key = key};
    pt_tree_node *node = RB_FIND(pt_memtable_tree, &index->tree, &wanted);
    if (node != NULL) {
        RB_REMOVE(pt_memtable_tree, &index->tree, node);
        keep_spare(index, node);
    }
}

pt_tree_node *pt_tree_index_first_from(pt_tree_index *index, pt_slice key)
{
    pt_tree_node wanted = {.key = key};
    return RB_NFIND(pt_memtable_tree, &index->tree, &wanted);
}

pt_tree_node *pt_tree_index_last_before(pt_tree_index *index, pt_slice key)
{
    pt_tree_node *after = pt_tree_index_first_from(index, key);
    return after != NULL ? pt_tree_index_previous(after) : RB_MAX(pt_memtable_tree, &index->tree);
}

pt_tree_node *pt_tree_index_next(pt_tree_node *node)
{
    return RB_NEXT(pt_memtable_tree, NULL, node);
}

pt_tree_node *pt_tree_index_previous(pt_tree_node *node)
{
    return RB_PREV(pt_memtable_tree, NULL, node);
}

void pt_tree_index_free(pt_tree_index *index)
{
    pt_arena_free(&index->arena);
    *index = (pt_tree_index){0};
}
