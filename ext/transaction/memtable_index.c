#include "transaction/memtable_index.h"

#include "base/sqlite.h"
#include "base/xxhash.h"
#include "entity/index.h"
#include "entity/key.h"
#include "transaction/key_sort.h"

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

pt_pending *pt_hash_index_next(const pt_hash_index *index, pt_pending *const *log,
                               pt_slice beginning, uint32_t hash, size_t *slot)
{
    size_t mask = index->slot_count - 1;
    size_t at = *slot == SIZE_MAX ? hash & mask : *slot;
    for (; index->slots[at].next != 0; at = (at + 1) & mask) {
        const pt_hash_slot *seen = &index->slots[at];
        if (seen->hash == hash &&
            pt_slice_has_prefix(pt_pending_key(log[seen->next - 1]), beginning)) {
            *slot = (at + 1) & mask;
            return log[seen->next - 1];
        }
    }
    return NULL;
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

/* --- Lanes --- */

uint32_t pt_lane_hash(const pt_lane *lane, pt_slice key)
{
    if (lane->columns == 0) {
        return pt_hash_index_hash(key);
    }
    size_t size = pt_entry_whole_parts_size(pt_key_entity(key), lane->columns);
    return pt_hash_index_hash(size == 0 ? key
                                        : pt_slice_of(key.data, pt_key_table_size(key) + size));
}

/* The entry that a link of a lane leads to, or NULL. */
static pt_pending *linked_entry(pt_pending *const *log, uint32_t link)
{
    return link != 0 ? log[link - 1] : NULL;
}

int pt_lane_build_hash(pt_lane *lane, pt_pending *const *log)
{
    if (!pt_hash_index_reserve(&lane->hash, lane->count)) {
        return SQLITE_NOMEM;
    }
    const pt_pending *pending = linked_entry(log, lane->last);
    for (; pending != NULL; pending = linked_entry(log, pending->before)) {
        if (pending->newest) {
            pt_hash_index_set(&lane->hash, log, pending,
                              pt_lane_hash(lane, pt_pending_key(pending)));
        }
    }
    lane->hashed = true;
    return SQLITE_OK;
}

int pt_lane_build_tree(pt_lane *lane, pt_pending *const *log)
{
    pt_pending *pending = linked_entry(log, lane->last);
    for (; pending != NULL; pending = linked_entry(log, pending->before)) {
        if (!pending->newest) {
            continue;
        }
        if (!pt_tree_index_reserve(&lane->tree)) {
            pt_tree_index_free(&lane->tree);
            return SQLITE_NOMEM;
        }
        pt_tree_index_set(&lane->tree, pending);
    }
    lane->treed = true;
    return SQLITE_OK;
}

/* Copies a lane in ascending order. Its entries are linked from the last one on. */
static size_t copy_lane(const pt_lane *lane, pt_pending *const *log, pt_pending **entries)
{
    size_t at = lane->count;
    pt_pending *pending = linked_entry(log, lane->last);
    for (; pending != NULL; pending = linked_entry(log, pending->before)) {
        entries[--at] = pending;
    }
    return lane->count;
}

/* Sorts the newest operations of a lane. In `entries` there must be room for sort items, of which
 * only pointers are left. */
static size_t sort_lane(const pt_lane *lane, pt_pending *const *log, pt_pending **entries)
{
    pt_sort_item *items = (pt_sort_item *)entries;
    size_t count = 0;
    pt_pending *pending = linked_entry(log, lane->last);
    for (; pending != NULL; pending = linked_entry(log, pending->before)) {
        if (pending->newest) {
            items[count++].pending = pending;
        }
    }
    pt_key_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        pt_pending *sorted = items[i].pending;
        memcpy(&entries[i], &sorted, sizeof sorted);
    }
    return count;
}

size_t pt_lane_sort(const pt_lane *lane, pt_pending *const *log, pt_pending **entries)
{
    return lane->ascending ? copy_lane(lane, log, entries) : sort_lane(lane, log, entries);
}

size_t pt_lane_sort_room(const pt_lane *lane)
{
    return lane->ascending ? lane->count : (size_t)lane->count * 2;
}
