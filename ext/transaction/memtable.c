#include "transaction/memtable.h"

#include "base/arena.h"
#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/key_sort.h"
#include "transaction/memtable_index.h"

enum { FIRST_LOG = 64, ARENA_KEPT = 1 << 14 };

struct pt_memtable {
    pt_arena arena;
    pt_swap_file swap;
    pt_pending **log;
    size_t length;
    size_t log_capacity;
    size_t protected_length;
    uint64_t version;
    uint32_t lowest_table; /* of all keys in the log, discarded ones too */
    uint32_t highest_table;
    uint32_t beyond_table; /* if beyond_stored */
    bool beyond_stored;    /* keys of that table are not stored either if they are greater than the
                              last one here; only if ascending */
    bool ascending;        /* keys came in ascending order, each once: the log is in key order */
    bool pinned;
    bool hashed; /* `hash` has been built and is kept up to date */
    bool treed;  /* so has `tree` */
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

void pt_memtable_swap_beside(pt_memtable *memtable, const char *path)
{
    memtable->swap.beside = path;
    memtable->arena.swap = &memtable->swap;
}

static void drop_hash(pt_memtable *memtable)
{
    if (memtable->hashed) {
        pt_hash_index_free(&memtable->hash);
        memtable->hashed = false;
    }
}

static void drop_tree(pt_memtable *memtable)
{
    if (memtable->treed) {
        pt_tree_index_free(&memtable->tree);
        memtable->treed = false;
    }
}

void pt_memtable_free(pt_memtable *memtable)
{
    if (memtable == NULL) {
        return;
    }
    drop_hash(memtable);
    drop_tree(memtable);
    pt_arena_free(&memtable->arena);
    pt_swap_close(&memtable->swap);
    sqlite3_free(memtable->log);
    sqlite3_free(memtable);
}

void pt_memtable_reset(pt_memtable *memtable)
{
    drop_hash(memtable);
    drop_tree(memtable);
    pt_memtable empty = {.arena = memtable->arena,
                         .log = memtable->log,
                         .log_capacity = memtable->log_capacity,
                         .ascending = true};
    pt_arena_clear(&empty.arena);
    if (empty.arena.total > ARENA_KEPT) {
        pt_arena_free(&empty.arena);
    }
    pt_swap_close(&memtable->swap);
    empty.swap = memtable->swap;
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

/* Discarding does not narrow the range: that would cost a walk over the log. */
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

/* True if the log is in ascending order and the key is greater than all in it: then the key is not
 * pending, and no index is needed. */
static bool is_beyond_all(const pt_memtable *memtable, pt_slice key)
{
    return memtable->ascending &&
           (memtable->length == 0 ||
            pt_slice_compare(pt_pending_key(memtable->log[memtable->length - 1]), key) < 0);
}

bool pt_memtable_is_beyond_stored(const pt_memtable *memtable, pt_slice key)
{
    return memtable->beyond_stored && pt_key_table(key) == memtable->beyond_table &&
           is_beyond_all(memtable, key);
}

void pt_memtable_note_last_stored(pt_memtable *memtable, uint32_t table_id, pt_slice last_stored)
{
    if (!memtable->ascending || memtable->length == 0) {
        return;
    }
    pt_slice last = pt_pending_key(memtable->log[memtable->length - 1]);
    if (pt_key_table(last) == table_id && pt_slice_compare(last, last_stored) > 0) {
        memtable->beyond_table = table_id;
        memtable->beyond_stored = true;
    }
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

/* The newest operation on a key that is not beyond all. SQLITE_NOMEM is possible only while there
 * is no index yet. */
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

/* True if the entry was written after the last savepoint was opened or the last row begun. */
static bool is_unprotected(const pt_memtable *memtable, const pt_pending *pending)
{
    return pending->position >= memtable->protected_length;
}

static pt_pending *append_entry(pt_memtable *memtable, pt_slice key, uint32_t hash,
                                size_t record_size)
{
    /* Reserve everywhere first: from here on nothing can fail, so log and indexes stay in step. */
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
    /* Before the entry is counted: with an empty log, note_table forgets discarded tables. */
    note_table(memtable, pt_key_table(key));
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
    /* Overwrite in place if no savepoint needs the old record and the new one fits. */
    pt_pending *pending = present;
    if (present == NULL || !is_unprotected(memtable, present) ||
        present->record_capacity < record_size) {
        pending = append_entry(memtable, key, hash, record_size);
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

void pt_memtable_mark_entry(pt_slice key, uint8_t *record)
{
    pt_pending *pending = (pt_pending *)(void *)(record - key.size - offsetof(pt_pending, bytes));
    pending->of_index = true;
}

/* Takes the last entry off the log; the version before it shows again. */
static void discard_last(pt_memtable *memtable)
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
        /* Remove first: this frees the node that setting the older version takes. */
        pt_tree_index_remove(&memtable->tree, key);
        if (older != NULL) {
            pt_tree_index_set(&memtable->tree, older);
        }
    }
}

void pt_memtable_discard(pt_memtable *memtable, size_t length)
{
    if (length >= memtable->length) {
        return;
    }
    pt_pending *first_discarded = memtable->log[length];
    /* From the newest to the oldest, or a key with several versions would show a wrong one. */
    while (memtable->length > length) {
        discard_last(memtable);
    }
    /* If pinned, the write set that xSync has committed still points to the entries. */
    if (!memtable->pinned) {
        pt_arena_give_back(&memtable->arena, first_discarded);
    }
    /* An empty log is in ascending order again; which keys broke the order is not known. */
    memtable->ascending = memtable->ascending || length == 0;
    /* The keys that are left may be less than stored ones. */
    memtable->beyond_stored = false;
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

/* Sorts the items and shrinks their array to an array of their pointers. On failure frees the array
 * and returns NULL. */
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

/* A log in ascending order is the write set as it stands. */
static void copy_log(const pt_memtable *memtable, pt_write_set *set)
{
    set->count = memtable->length;
    if (set->count != 0) {
        memcpy(set->entries, memtable->log, set->count * sizeof *set->entries);
    }
}

static size_t collect_newest(const pt_memtable *memtable, pt_sort_item *items)
{
    size_t count = 0;
    pt_large_pages_ask(items, (memtable->length + 1) * sizeof *items);
    for (size_t i = 0; i < memtable->length; i++) {
        if (memtable->log[i]->newest) {
            items[count++].pending = memtable->log[i];
        }
    }
    return count;
}

int pt_memtable_sorted(pt_memtable *memtable, pt_write_set *set)
{
    size_t item_size = memtable->ascending ? sizeof(pt_pending *) : sizeof(pt_sort_item);
    void *items = sqlite3_malloc64((memtable->length + 1) * item_size);
    if (items == NULL) {
        return SQLITE_NOMEM;
    }
    pt_write_set sorted = {.entries = items,
                           .swap = memtable->swap.count != 0 ? &memtable->swap : NULL};
    if (memtable->ascending) {
        copy_log(memtable, &sorted);
    } else {
        sorted.count = collect_newest(memtable, items);
        sorted.entries = sort_entries(items, sorted.count);
        if (sorted.entries == NULL) {
            return SQLITE_NOMEM;
        }
    }
    /* The commit that follows needs the memory more. A later look-up builds the index again. */
    drop_hash(memtable);
    *set = sorted;
    return SQLITE_OK;
}

/* --- Savepoints --- */

bool pt_savepoints_reserve(pt_savepoints *savepoints)
{
    return pt_array_reserve(&savepoints->marks, &savepoints->capacity, savepoints->count + 1,
                            sizeof *savepoints->marks);
}

static const pt_mark *last_mark(const pt_savepoints *savepoints)
{
    static const pt_mark none = {.level = -1, .length = 0};
    return savepoints->count != 0 ? &savepoints->marks[savepoints->count - 1] : &none;
}

static void drop_marks(pt_savepoints *savepoints, int level)
{
    while (last_mark(savepoints)->level >= level) {
        savepoints->count--;
    }
}

void pt_savepoints_protect(const pt_savepoints *savepoints, pt_memtable *memtable)
{
    if (memtable != NULL) {
        pt_memtable_protect(memtable, last_mark(savepoints)->length);
    }
}

/* Uses the room that is there, then reserves room for the next mark: see pt_savepoints_open. */
static int add_mark(pt_savepoints *savepoints, int level, size_t length)
{
    if (!pt_savepoints_reserve(savepoints)) {
        return SQLITE_NOMEM;
    }
    savepoints->marks[savepoints->count++] = (pt_mark){.level = level, .length = length};
    return pt_savepoints_reserve(savepoints) ? SQLITE_OK : SQLITE_NOMEM;
}

/*
 * SQLite does not call xSavepoint for levels that were opened before a table joined. If another
 * table of the store had joined, they have marks already. If not, nothing was pending when they
 * were opened, so they get the length of the mark before them (0 if there is no mark).
 */
int pt_savepoints_open(pt_savepoints *savepoints, pt_memtable *memtable, int level)
{
    size_t length = memtable != NULL ? pt_memtable_length(memtable) : 0;
    int rc = SQLITE_OK;
    drop_marks(savepoints, level + 1);
    while (rc == SQLITE_OK && last_mark(savepoints)->level < level) {
        int next = last_mark(savepoints)->level + 1;
        rc = add_mark(savepoints, next, next == level ? length : last_mark(savepoints)->length);
    }
    pt_savepoints_protect(savepoints, memtable);
    return rc;
}

void pt_savepoints_release(pt_savepoints *savepoints, pt_memtable *memtable, int level)
{
    drop_marks(savepoints, level);
    pt_savepoints_protect(savepoints, memtable);
}

void pt_savepoints_rollback_to(pt_savepoints *savepoints, pt_memtable *memtable, int level)
{
    drop_marks(savepoints, level + 1);
    /* A level without a mark was opened before the first write: go back to nothing. */
    bool known = last_mark(savepoints)->level == level;
    if (memtable != NULL) {
        pt_memtable_discard(memtable, known ? last_mark(savepoints)->length : 0);
    }
    pt_savepoints_protect(savepoints, memtable);
}

void pt_savepoints_clear(pt_savepoints *savepoints)
{
    savepoints->count = 0;
}

void pt_savepoints_free(pt_savepoints *savepoints)
{
    sqlite3_free(savepoints->marks);
    *savepoints = (pt_savepoints){0};
}
