#include "transaction/memtable.h"

#include "base/arena.h"
#include "base/assert.h"
#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/memtable_index.h"

enum { FIRST_LOG = 64, ARENA_KEPT = 1 << 14, LANES_KEPT = 4 };

struct pt_memtable {
    pt_arena arena;
    pt_swap_file swap;
    pt_pending **log;
    size_t length;
    size_t log_capacity;
    size_t protected_length;
    uint64_t version;
    pt_lane *lanes; /* by table id, which is key order; some may be empty */
    size_t lane_count;
    size_t lane_capacity;
    pt_lane *recent; /* the lane found or added last; NULL: none */
    pt_lane *other;  /* the one before, if `recent` is not NULL */
    bool pinned;
};

pt_memtable *pt_memtable_new(void)
{
    pt_memtable *memtable = sqlite3_malloc64(sizeof *memtable);
    if (memtable != NULL) {
        *memtable = (pt_memtable){.length = 0};
    }
    return memtable;
}

void pt_memtable_swap_beside(pt_memtable *memtable, const char *path)
{
    memtable->swap.beside = path;
    memtable->arena.swap = &memtable->swap;
}

static void drop_hash(pt_lane *lane)
{
    if (lane->hashed) {
        pt_hash_index_free(&lane->hash);
        lane->hashed = false;
    }
}

static void empty_lanes(pt_memtable *memtable)
{
    for (size_t i = 0; i < memtable->lane_count; i++) {
        pt_lane *lane = &memtable->lanes[i];
        drop_hash(lane);
        if (lane->treed) {
            pt_tree_index_free(&lane->tree);
        }
        lane->last = 0;
        lane->count = 0;
        lane->ascending = true;
        lane->beyond_stored = false;
        lane->deletes = false;
        lane->treed = false;
    }
}

static void drop_lanes(pt_memtable *memtable)
{
    empty_lanes(memtable);
    sqlite3_free(memtable->lanes);
    memtable->lanes = NULL;
    memtable->lane_count = 0;
    memtable->lane_capacity = 0;
    memtable->recent = NULL;
}

void pt_memtable_free(pt_memtable *memtable)
{
    if (memtable == NULL) {
        return;
    }
    drop_lanes(memtable);
    pt_arena_free(&memtable->arena);
    pt_swap_close(&memtable->swap);
    sqlite3_free(memtable->log);
    sqlite3_free(memtable);
}

void pt_memtable_reset(pt_memtable *memtable)
{
    empty_lanes(memtable);
    if (memtable->lane_count > LANES_KEPT) {
        drop_lanes(memtable);
    }
    pt_memtable empty = {.arena = memtable->arena,
                         .log = memtable->log,
                         .log_capacity = memtable->log_capacity,
                         .lanes = memtable->lanes,
                         .lane_count = memtable->lane_count,
                         .lane_capacity = memtable->lane_capacity,
                         .recent = memtable->recent,
                         .other = memtable->other};
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

/* --- Lanes --- */

/* The place of a table's lane, or where it belongs. */
static size_t place_of_lane(const pt_memtable *memtable, uint32_t table_id)
{
    size_t low = 0;
    size_t high = memtable->lane_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memtable->lanes[middle].table_id < table_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* noinline, so that find_lane is short where the lane is the last one found. */
__attribute__((noinline)) static pt_lane *search_lane(pt_memtable *memtable, uint32_t table_id)
{
    /* A table and its index take turns. */
    pt_lane *found = memtable->other;
    if (memtable->recent == NULL || found->table_id != table_id) {
        size_t at = place_of_lane(memtable, table_id);
        if (at == memtable->lane_count || memtable->lanes[at].table_id != table_id) {
            return NULL;
        }
        found = &memtable->lanes[at];
    }
    memtable->other = memtable->recent;
    memtable->recent = found;
    return found;
}

/* NULL if the table has none. */
static inline pt_lane *find_lane(pt_memtable *memtable, uint32_t table_id)
{
    pt_lane *recent = memtable->recent;
    return recent != NULL && recent->table_id == table_id ? recent
                                                          : search_lane(memtable, table_id);
}

/* NULL when out of memory. */
static pt_lane *add_lane(pt_memtable *memtable, uint32_t table_id)
{
    if (!pt_array_reserve(&memtable->lanes, &memtable->lane_capacity, memtable->lane_count + 1,
                          sizeof *memtable->lanes)) {
        return NULL;
    }
    size_t at = place_of_lane(memtable, table_id);
    pt_lane *added = &memtable->lanes[at];
    memmove(added + 1, added, (memtable->lane_count - at) * sizeof *added);
    memtable->lane_count++;
    memtable->recent = added;
    memtable->other = added;
    *added = (pt_lane){.table_id = table_id, .ascending = true};
    return added;
}

bool pt_memtable_may_hold(pt_memtable *memtable, uint32_t table_id)
{
    /* Asked of large values, which most transactions have none of: their id is the greatest. */
    size_t count = memtable->lane_count;
    if (memtable->length == 0 || memtable->lanes[count - 1].table_id < table_id) {
        return false;
    }
    const pt_lane *lane = find_lane(memtable, table_id);
    return lane != NULL && lane->count != 0;
}

uint32_t pt_memtable_next_table(const pt_memtable *memtable, uint32_t table_id)
{
    size_t at = place_of_lane(memtable, table_id);
    while (at < memtable->lane_count && memtable->lanes[at].count == 0) {
        at++;
    }
    return at < memtable->lane_count ? memtable->lanes[at].table_id : UINT32_MAX;
}

void pt_memtable_protect(pt_memtable *memtable, size_t length)
{
    memtable->protected_length = length;
}

void pt_memtable_pin(pt_memtable *memtable)
{
    memtable->pinned = true;
}

/* True if the lane is in ascending order and the key is greater than all in it: then the key is not
 * pending, and no index is needed. */
static inline bool is_beyond_all(const pt_memtable *memtable, const pt_lane *lane, pt_slice key)
{
    return lane->ascending &&
           (lane->last == 0 ||
            pt_slice_compare(pt_pending_key(memtable->log[lane->last - 1]), key) < 0);
}

bool pt_memtable_is_beyond_stored(pt_memtable *memtable, pt_slice key)
{
    const pt_lane *lane = find_lane(memtable, pt_key_table(key));
    return lane != NULL && lane->beyond_stored && is_beyond_all(memtable, lane, key);
}

void pt_memtable_note_last_stored(pt_memtable *memtable, uint32_t table_id, pt_slice last_stored)
{
    pt_lane *lane = find_lane(memtable, table_id);
    if (lane != NULL && lane->ascending && lane->last != 0) {
        pt_slice last = pt_pending_key(memtable->log[lane->last - 1]);
        lane->beyond_stored = pt_slice_compare(last, last_stored) > 0;
    }
}

/* The newest operation on a key that is not beyond all. SQLITE_NOMEM is possible only while there
 * is no index yet. */
static int find_hashed(const pt_memtable *memtable, pt_lane *lane, pt_slice key, uint32_t hash,
                       pt_pending **pending)
{
    if (!lane->hashed && pt_lane_build_hash(lane, memtable->log) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *pending = pt_hash_index_find(&lane->hash, memtable->log, key, hash);
    return SQLITE_OK;
}

int pt_memtable_find(pt_memtable *memtable, pt_slice key, pt_pending **pending)
{
    pt_lane *lane = memtable->length != 0 ? find_lane(memtable, pt_key_table(key)) : NULL;
    *pending = NULL;
    if (lane == NULL || lane->last == 0) {
        return SQLITE_OK;
    }
    if (lane->ascending) {
        pt_pending *last = memtable->log[lane->last - 1];
        int order = pt_slice_compare(pt_pending_key(last), key);
        *pending = order == 0 ? last : NULL;
        if (order <= 0) {
            return SQLITE_OK;
        }
    }
    return find_hashed(memtable, lane, key, pt_lane_hash(lane, key), pending);
}

int pt_memtable_next_entry(pt_memtable *memtable, pt_slice parts, size_t *place,
                           pt_pending **pending)
{
    pt_lane *lane = find_lane(memtable, pt_key_table(parts));
    *pending = NULL;
    if (lane == NULL || is_beyond_all(memtable, lane, parts)) {
        return SQLITE_OK;
    }
    PT_ASSERT(lane->columns != 0);
    if (!lane->hashed && pt_lane_build_hash(lane, memtable->log) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *pending =
        pt_hash_index_next(&lane->hash, memtable->log, parts, pt_hash_index_hash(parts), place);
    return SQLITE_OK;
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

static pt_pending *append_entry(pt_memtable *memtable, pt_lane *lane, pt_slice key, uint32_t hash,
                                size_t record_size)
{
    /* Reserve everywhere first: from here on nothing can fail, so log and indexes stay in step. */
    if (!reserve_log(memtable) || (lane->hashed && !pt_hash_index_reserve(&lane->hash, 1)) ||
        (lane->treed && !pt_tree_index_reserve(&lane->tree))) {
        return NULL;
    }
    pt_pending *pending =
        pt_arena_alloc(&memtable->arena, sizeof *pending + key.size + record_size);
    if (pending == NULL) {
        return NULL;
    }
    *pending = (pt_pending){.position = (uint32_t)memtable->length,
                            .before = lane->last,
                            .record_capacity = (uint32_t)record_size,
                            .key_size = (uint16_t)key.size,
                            .newest = true};
    memcpy(pending->bytes, key.data, key.size);
    memtable->log[memtable->length++] = pending;
    lane->last = (uint32_t)memtable->length;
    lane->count++;
    if (lane->hashed) {
        pt_hash_index_set(&lane->hash, memtable->log, pending, hash);
    }
    if (lane->treed) {
        pt_tree_index_set(&lane->tree, pending);
    }
    return pending;
}

static inline bool can_be_described(pt_slice key, size_t record_size)
{
    return record_size <= UINT32_MAX && key.size <= UINT16_MAX;
}

static inline pt_lane *find_or_add_lane(pt_memtable *memtable, pt_slice key)
{
    uint32_t table_id = pt_key_table(key);
    pt_lane *lane = find_lane(memtable, table_id);
    return lane != NULL ? lane : add_lane(memtable, table_id);
}

uint8_t *pt_memtable_put(pt_memtable *memtable, pt_slice key, pt_operation operation,
                         size_t record_size)
{
    pt_lane *lane = can_be_described(key, record_size) ? find_or_add_lane(memtable, key) : NULL;
    if (lane == NULL) {
        return NULL;
    }
    bool beyond_all = is_beyond_all(memtable, lane, key);
    bool absent = beyond_all || lane->next_is_new;
    uint32_t hash = absent && !lane->hashed ? 0 : pt_lane_hash(lane, key);
    pt_pending *present = NULL;
    if (!absent && find_hashed(memtable, lane, key, hash, &present) != SQLITE_OK) {
        return NULL;
    }
    /* Overwrite in place if no savepoint needs the old record and the new one fits. */
    pt_pending *pending = present;
    if (present == NULL || !is_unprotected(memtable, present) ||
        present->record_capacity < record_size) {
        pending = append_entry(memtable, lane, key, hash, record_size);
        if (pending == NULL) {
            return NULL;
        }
        lane->ascending = beyond_all;
        if (present != NULL) {
            pending->older = present->position + 1;
            present->newest = false;
        }
    }
    pending->operation = (uint8_t)operation;
    pending->record_size = (uint32_t)record_size;
    memtable->version++;
    return pending->bytes + pending->key_size;
}

uint8_t *pt_memtable_put_entry(pt_memtable *memtable, const pt_entry_key *entry,
                               pt_operation operation, size_t record_size)
{
    pt_slice key = entry->key;
    pt_lane *lane = can_be_described(key, record_size) ? find_or_add_lane(memtable, key) : NULL;
    if (lane == NULL) {
        return NULL;
    }
    lane->columns = (uint8_t)entry->columns;
    lane->deletes = lane->deletes || operation == PT_DELETE;
    lane->next_is_new = entry->is_new && !lane->deletes;
    uint8_t *record = pt_memtable_put(memtable, key, operation, record_size);
    lane->next_is_new = false;
    if (record != NULL) {
        size_t before = key.size + offsetof(pt_pending, bytes);
        ((pt_pending *)(void *)(record - before))->of_index = true;
    }
    return record;
}

pt_pending *pt_memtable_older(const pt_memtable *memtable, const pt_pending *pending)
{
    return pending->older != 0 ? memtable->log[pending->older - 1] : NULL;
}

/* Takes the last entry off the log; the version before it shows again. */
static void discard_last(pt_memtable *memtable)
{
    pt_pending *pending = memtable->log[memtable->length - 1];
    pt_pending *older = pt_memtable_older(memtable, pending);
    pt_slice key = pt_pending_key(pending);
    pt_lane *lane = find_lane(memtable, pt_key_table(key));
    memtable->length--;
    lane->last = pending->before;
    lane->count--;
    /* An empty lane is in ascending order again; which keys broke the order is not known. */
    lane->ascending = lane->ascending || lane->count == 0;
    /* The keys that are left may be less than stored ones. */
    lane->beyond_stored = false;
    if (older != NULL) {
        older->newest = true;
    }
    if (lane->hashed) {
        uint32_t hash = pt_lane_hash(lane, key);
        older != NULL ? pt_hash_index_set(&lane->hash, memtable->log, older, hash)
                      : pt_hash_index_remove(&lane->hash, memtable->log, key, hash);
    }
    if (lane->treed) {
        /* Remove first: this frees the node that setting the older version takes. */
        pt_tree_index_remove(&lane->tree, key);
        if (older != NULL) {
            pt_tree_index_set(&lane->tree, older);
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
    memtable->version++;
}

int pt_memtable_seek(pt_memtable *memtable, uint32_t table_id, pt_slice key, pt_direction direction,
                     pt_memtable_node **node)
{
    pt_lane *lane = find_lane(memtable, table_id);
    *node = NULL;
    if (lane == NULL) {
        return SQLITE_OK;
    }
    if (!lane->treed && pt_lane_build_tree(lane, memtable->log) != SQLITE_OK) {
        return SQLITE_NOMEM;
    }
    *node = direction == PT_FORWARD ? pt_tree_index_first_from(&lane->tree, key)
                                    : pt_tree_index_last_before(&lane->tree, key);
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

/* A log in ascending order is the write set as it stands. */
static bool is_log_ascending(const pt_memtable *memtable)
{
    size_t used = 0;
    bool ascending = true;
    for (size_t i = 0; i < memtable->lane_count; i++) {
        used += memtable->lanes[i].count != 0;
        ascending = ascending && memtable->lanes[i].ascending;
    }
    return used <= 1 && ascending;
}

/* The room that sorting the lanes one after the other needs, in pointers. */
static size_t room_for_sorting(const pt_memtable *memtable)
{
    size_t before = 0;
    size_t most = 0;
    for (size_t i = 0; i < memtable->lane_count; i++) {
        size_t own = pt_lane_sort_room(&memtable->lanes[i]);
        most = before + own > most ? before + own : most;
        before += memtable->lanes[i].count;
    }
    return most;
}

/* The newest operations of all lanes, in key order. Sets *count. NULL when out of memory. */
static pt_pending **sort_lanes(const pt_memtable *memtable, size_t *count)
{
    size_t size = (room_for_sorting(memtable) + 1) * sizeof(pt_pending *);
    pt_pending **entries = sqlite3_malloc64(size);
    if (entries == NULL) {
        return NULL;
    }
    pt_large_pages_ask(entries, size);
    *count = 0;
    for (size_t i = 0; i < memtable->lane_count; i++) {
        *count += pt_lane_sort(&memtable->lanes[i], memtable->log, entries + *count);
    }
    pt_pending **smaller = sqlite3_realloc64(entries, (*count + 1) * sizeof(pt_pending *));
    if (smaller == NULL) {
        sqlite3_free(entries);
    }
    return smaller;
}

/* NULL when out of memory. */
static pt_pending **copy_log(const pt_memtable *memtable, size_t *count)
{
    pt_pending **entries = sqlite3_malloc64((memtable->length + 1) * sizeof *entries);
    *count = memtable->length;
    if (entries != NULL && memtable->length != 0) {
        memcpy(entries, memtable->log, memtable->length * sizeof *entries);
    }
    return entries;
}

int pt_memtable_sorted(pt_memtable *memtable, pt_write_set *set)
{
    pt_write_set sorted = {.swap = memtable->swap.count != 0 ? &memtable->swap : NULL};
    sorted.entries = is_log_ascending(memtable) ? copy_log(memtable, &sorted.count)
                                                : sort_lanes(memtable, &sorted.count);
    if (sorted.entries == NULL) {
        return SQLITE_NOMEM;
    }
    /* The commit that follows needs the memory more. A later look-up builds the index again. */
    for (size_t i = 0; i < memtable->lane_count; i++) {
        drop_hash(&memtable->lanes[i]);
    }
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

size_t pt_savepoints_length(const pt_savepoints *savepoints)
{
    return last_mark(savepoints)->length;
}

/* Protects the entries that the innermost savepoint needs. */
static void protect_for_last(const pt_savepoints *savepoints, pt_memtable *memtable)
{
    if (memtable != NULL) {
        pt_memtable_protect(memtable, pt_savepoints_length(savepoints));
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
    protect_for_last(savepoints, memtable);
    return rc;
}

void pt_savepoints_release(pt_savepoints *savepoints, pt_memtable *memtable, int level)
{
    drop_marks(savepoints, level);
    protect_for_last(savepoints, memtable);
}

void pt_savepoints_rollback_to(pt_savepoints *savepoints, pt_memtable *memtable, int level)
{
    drop_marks(savepoints, level + 1);
    /* A level without a mark was opened before the first write: go back to nothing. */
    bool known = last_mark(savepoints)->level == level;
    if (memtable != NULL) {
        pt_memtable_discard(memtable, known ? last_mark(savepoints)->length : 0);
    }
    protect_for_last(savepoints, memtable);
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
