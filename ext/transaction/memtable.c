#include "transaction/memtable.h"

#include "base/arena.h"
#include "base/sqlite.h"
#include "transaction/key_sort.h"
#include "transaction/memtable_index.h"

enum { FIRST_LOG = 64, ARENA_KEPT = 1 << 14 };

struct pt_memtable {
    pt_arena arena;
    pt_pending **log;
    size_t length;
    size_t log_capacity;
    size_t protected_length;
    uint64_t version;
    uint32_t lowest_table; /* the tables written to lie between these */
    uint32_t highest_table;
    bool ascending; /* keys came in ascending order, each once: the log is the sorted order */
    bool pinned;
    bool hashed; /* `hash` is kept */
    bool treed;  /* `tree` is kept */
    pt_hash_index hash;
    pt_tree_index tree;
};

pt_memtable *pt_memtable_new(void)
{
    pt_memtable *memtable = sqlite3_malloc64(sizeof *memtable);
    if (memtable != NULL) {
        *memtable = (pt_memtable){.ascending = true};
    }
    return memtable;
}

void pt_memtable_free(pt_memtable *memtable)
{
    if (memtable == NULL) {
        return;
    }
    pt_hash_index_free(&memtable->hash);
    pt_tree_index_free(&memtable->tree);
    pt_arena_free(&memtable->arena);
    sqlite3_free(memtable->log);
    sqlite3_free(memtable);
}

void pt_memtable_reset(pt_memtable *memtable)
{
    pt_memtable empty = {.arena = memtable->arena,
                         .log = memtable->log,
                         .log_capacity = memtable->log_capacity,
                         .ascending = true};
    pt_hash_index_free(&memtable->hash);
    pt_tree_index_free(&memtable->tree);
    pt_arena_clear(&empty.arena);
    if (empty.arena.total > ARENA_KEPT) {
        pt_arena_free(&empty.arena);
    }
    if (empty.log_capacity > FIRST_LOG) {
        sqlite3_free(empty.log);
        empty.log = NULL;
        empty.log_capacity = 0;
    }
    *memtable = empty;
}

uint64_t pt_memtable_version(const pt_memtable *memtable)
{
    return memtable->version;
}

size_t pt_memtable_length(const pt_memtable *memtable)
{
    return memtable->length;
}

const pt_pending *pt_memtable_entry(const pt_memtable *memtable, size_t position)
{
    return memtable->log[position];
}

bool pt_memtable_may_hold(const pt_memtable *memtable, uint32_t table_id)
{
    return memtable->length != 0 && table_id >= memtable->lowest_table &&
           table_id <= memtable->highest_table;
}

static void note_table(pt_memtable *memtable, uint32_t table_id)
{
    bool first = memtable->length == 0;
    if (first || table_id < memtable->lowest_table) {
        memtable->lowest_table = table_id;
    }
    if (first || table_id > memtable->highest_table) {
        memtable->highest_table = table_id;
    }
}

void pt_memtable_protect(pt_memtable *memtable, size_t length)
{
    memtable->protected_length = length;
}

void pt_memtable_pin(pt_memtable *memtable)
{
    memtable->pinned = true;
}

static bool is_beyond_all(const pt_memtable *memtable, pt_slice key)
{
    return memtable->ascending &&
           (memtable->length == 0 ||
            pt_slice_compare(pt_pending_key(memtable->log[memtable->length - 1]), key) < 0);
}

static int build_hash(pt_memtable *memtable)
{
    if (!pt_hash_index_reserve(&memtable->hash, memtable->length)) {
        return SQLITE_NOMEM;
    }
    for (size_t i = 0; i < memtable->length; i++) {
        const pt_pending *pending = memtable->log[i];
        if (pending->newest) {
            pt_hash_index_set(&memtable->hash, memtable->log, pending,
                              pt_hash_index_hash(pt_pending_key(pending)));
        }
    }
    memtable->hashed = true;
    return SQLITE_OK;
}

static int build_tree(pt_memtable *memtable)
{
    for (size_t i = 0; i < memtable->length; i++) {
        if (!memtable->log[i]->newest) {
            continue;
        }
        if (!pt_tree_index_reserve(&memtable->tree)) {
            pt_tree_index_free(&memtable->tree);
            return SQLITE_NOMEM;
        }
        pt_tree_index_set(&memtable->tree, memtable->log[i]);
    }
    memtable->treed = true;
    return SQLITE_OK;
}

/* The newest operation on a key that is not beyond all; out of memory only while there is no index
 * yet. */
static int find_hashed(pt_memtable *memtable, pt_slice key, uint32_t hash, pt_pending **pending)
{
    if (!memtable->hashed && build_hash(memtable) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *pending = pt_hash_index_find(&memtable->hash, memtable->log, key, hash);
    return SQLITE_OK;
}

int pt_memtable_find(pt_memtable *memtable, pt_slice key, pt_pending **pending)
{
    *pending = NULL;
    if (memtable->length == 0 || is_beyond_all(memtable, key)) {
        return SQLITE_OK;
    }
    return find_hashed(memtable, key, pt_hash_index_hash(key), pending);
}

static bool reserve_log(pt_memtable *memtable)
{
    if (memtable->length >= PT_PENDING_MAX) {
        return false;
    }
    if (memtable->length < memtable->log_capacity) {
        return true;
    }
    size_t capacity = memtable->log_capacity == 0
                          ? FIRST_LOG
                          : memtable->log_capacity + memtable->log_capacity / 2;
    pt_pending **log = sqlite3_realloc64(memtable->log, capacity * sizeof *log);
    if (log == NULL) {
        return false;
    }
    memtable->log = log;
    memtable->log_capacity = capacity;
    return true;
}

/* Whether the entry was written after the last savepoint. */
static bool is_unprotected(const pt_memtable *memtable, const pt_pending *pending)
{
    return pending->position >= memtable->protected_length;
}

static pt_pending *append(pt_memtable *memtable, pt_slice key, uint32_t hash, size_t record_size)
{
    if (!reserve_log(memtable) ||
        (memtable->hashed && !pt_hash_index_reserve(&memtable->hash, 1)) ||
        (memtable->treed && !pt_tree_index_reserve(&memtable->tree))) {
        return NULL;
    }
    pt_pending *pending =
        pt_arena_alloc(&memtable->arena, sizeof *pending + key.size + record_size);
    if (pending == NULL) {
        return NULL;
    }
    *pending = (pt_pending){.position = (uint32_t)memtable->length,
                            .record_capacity = (uint32_t)record_size,
                            .key_size = (uint16_t)key.size,
                            .newest = true};
    memcpy(pending->bytes, key.data, key.size);
    note_table(memtable, pt_get_be32(key.data));
    memtable->log[memtable->length++] = pending;
    if (memtable->hashed) {
        pt_hash_index_set(&memtable->hash, memtable->log, pending, hash);
    }
    if (memtable->treed) {
        pt_tree_index_set(&memtable->tree, pending);
    }
    return pending;
}

uint8_t *pt_memtable_put(pt_memtable *memtable, pt_slice key, pt_operation operation,
                         size_t record_size)
{
    bool beyond_all = is_beyond_all(memtable, key);
    uint32_t hash = beyond_all && !memtable->hashed ? 0 : pt_hash_index_hash(key);
    pt_pending *present = NULL;
    if (record_size > UINT32_MAX || key.size > UINT16_MAX ||
        (!beyond_all && find_hashed(memtable, key, hash, &present) != SQLITE_OK)) {
        return NULL;
    }
    pt_pending *pending = present;
    if (present == NULL || !is_unprotected(memtable, present) ||
        present->record_capacity < record_size) {
        pending = append(memtable, key, hash, record_size);
        if (pending == NULL) {
            return NULL;
        }
        memtable->ascending = beyond_all;
        pending->older = present;
        if (present != NULL) {
            present->newest = false;
        }
    }
    pending->operation = (uint8_t)operation;
    pending->record_size = (uint32_t)record_size;
    memtable->version++;
    return pending->bytes + pending->key_size;
}

/* Takes the last entry off the log and brings the version before it to light. */
static void undo_last(pt_memtable *memtable)
{
    pt_pending *pending = memtable->log[--memtable->length];
    pt_pending *older = pending->older;
    pt_slice key = pt_pending_key(pending);
    if (older != NULL) {
        older->newest = true;
    }
    if (memtable->hashed) {
        uint32_t hash = pt_hash_index_hash(key);
        older != NULL ? pt_hash_index_set(&memtable->hash, memtable->log, older, hash)
                      : pt_hash_index_remove(&memtable->hash, memtable->log, key, hash);
    }
    if (memtable->treed) {
        pt_tree_index_remove(&memtable->tree, key);
        if (older != NULL) {
            pt_tree_index_set(&memtable->tree, older);
        }
    }
}

void pt_memtable_cut(pt_memtable *memtable, size_t length)
{
    if (length >= memtable->length) {
        return;
    }
    pt_pending *first_undone = memtable->log[length];
    while (memtable->length > length) {
        undo_last(memtable);
    }
    if (!memtable->pinned) {
        pt_arena_give_back(&memtable->arena, first_undone);
    }
    memtable->ascending = memtable->ascending || length == 0;
    memtable->version++;
}

int pt_memtable_seek(pt_memtable *memtable, pt_slice key, pt_direction direction,
                     pt_memtable_node **node)
{
    if (!memtable->treed && build_tree(memtable) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *node = direction == PT_FORWARD ? pt_tree_index_first_from(&memtable->tree, key)
                                    : pt_tree_index_last_before(&memtable->tree, key);
    return SQLITE_OK;
}

pt_memtable_node *pt_memtable_step(pt_memtable_node *node, pt_direction direction)
{
    return direction == PT_FORWARD ? pt_tree_index_next(node) : pt_tree_index_previous(node);
}

pt_pending *pt_memtable_at(const pt_memtable_node *node)
{
    return node->pending;
}

/* Sorts the items and shrinks their array to their pointers. NULL, and the array is gone, when that
 * fails. */
static void *sort_entries(pt_sort_item *items, size_t count)
{
    pt_key_sort(items, count);
    pt_pending **entries = (pt_pending **)items;
    for (size_t i = 0; i < count; i++) {
        pt_pending *pending = items[i].pending;
        memcpy(&entries[i], &pending, sizeof pending);
    }
    void *smaller = sqlite3_realloc64(entries, (count + 1) * sizeof *entries);
    if (smaller == NULL) {
        sqlite3_free(entries);
    }
    return smaller;
}

/* A commit has better use for its memory; a look-up after that builds it again. */
static void drop_hash(pt_memtable *memtable)
{
    pt_hash_index_free(&memtable->hash);
    memtable->hashed = false;
}

int pt_memtable_sorted(pt_memtable *memtable, pt_pending ***entries, size_t *count)
{
    size_t item_size = memtable->ascending ? sizeof(pt_pending *) : sizeof(pt_sort_item);
    void *items = sqlite3_malloc64((memtable->length + 1) * item_size);
    if (items == NULL) {
        return SQLITE_NOMEM;
    }
    *count = 0;
    if (memtable->ascending) {
        if (memtable->length != 0) {
            memcpy(items, memtable->log, memtable->length * sizeof *memtable->log);
        }
        *count = memtable->length;
    } else {
        pt_sort_item *sortable = items;
        pt_large_pages_ask(items, (memtable->length + 1) * item_size);
        for (size_t i = 0; i < memtable->length; i++) {
            if (memtable->log[i]->newest) {
                sortable[(*count)++].pending = memtable->log[i];
            }
        }
        items = sort_entries(sortable, *count);
        if (items == NULL) {
            return SQLITE_NOMEM;
        }
    }
    drop_hash(memtable);
    *entries = items;
    return SQLITE_OK;
}
