#include "lmdb/store_cursor.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/leaf.h"
#include "lmdb/long_keys.h"

typedef struct pt_lmdb_cursor {
    pt_engine_cursor base;  /* first */
    pt_lmdb_leaf leaf;      /* around the position, all zeros if it is not known */
    unsigned fork_count;    /* the store's: lmdb/registry.h */
    pt_direction direction; /* that was sought in */
    pt_slice limit;         /* in that direction; empty: none */
    bool is_behind;   /* LMDB's cursor is not where this one is, but somewhere else on the leaf */
    size_t leaf_size; /* of known pages; 0: leaves are not read */
    MDB_cursor *cursor;
    pt_lmdb_long_cursor *long_cursor; /* NULL until the first long key */
    bool long_cursor_is_renewed;      /* for the snapshot's transaction */
    struct pt_lmdb_cursor *next_spare;
} pt_lmdb_cursor;

/* --- Opening and closing --- */

/* After LMDB's cursor was moved, or before it is moved to anywhere. */
static void forget_leaf(pt_lmdb_cursor *cursor)
{
    cursor->leaf = (pt_lmdb_leaf){0};
    cursor->is_behind = false;
}

static pt_lmdb_cursor *take_spare(pt_lmdb_snapshot *snapshot)
{
    pt_lmdb_cursor *cursor = snapshot->spares;
    if (cursor == NULL || mdb_cursor_renew(snapshot->reader.txn, cursor->cursor) != MDB_SUCCESS) {
        return NULL;
    }
    snapshot->spares = cursor->next_spare;
    return cursor;
}

int pt_lmdb_cursor_open(pt_snapshot *base, pt_engine_cursor **cursor, pt_error *error)
{
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base);
    pt_lmdb_store *store = snapshot->store;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_lmdb_cursor *opened = take_spare(snapshot);
    if (opened == NULL) {
        opened = sqlite3_malloc64(sizeof *opened);
        if (opened == NULL) {
            return pt_error_nomem(error);
        }
        int mdb_rc = mdb_cursor_open(snapshot->reader.txn, store->env.entities, &opened->cursor);
        if (mdb_rc != MDB_SUCCESS) {
            sqlite3_free(opened);
            return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "opening a cursor");
        }
        opened->long_cursor = NULL;
        size_t page_size = store->env.page_size;
        opened->leaf_size = pt_lmdb_leaf_is_known(page_size) ? page_size : 0;
    }
    opened->base = (pt_engine_cursor){.snapshot = base};
    opened->fork_count = store->fork_count;
    forget_leaf(opened);
    opened->long_cursor_is_renewed = false;
    opened->next_spare = NULL;
    *cursor = &opened->base;
    return SQLITE_OK;
}

void pt_lmdb_cursor_close(pt_engine_cursor *base)
{
    if (base == NULL) {
        return;
    }
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(base->snapshot);
    /* An UPDATE closes its cursor and then asks for the record that it stood on. */
    bool stands = cursor->base.valid && cursor->base.key_lasts && snapshot->begun;
    snapshot->left_key = stands ? cursor->base.key : (pt_slice){0};
    snapshot->left_record = cursor->base.record;
    cursor->next_spare = snapshot->spares;
    snapshot->spares = cursor;
}

void pt_lmdb_free_spare_cursors(pt_lmdb_snapshot *snapshot)
{
    while (snapshot->spares != NULL) {
        pt_lmdb_cursor *spare = snapshot->spares;
        snapshot->spares = spare->next_spare;
        pt_lmdb_long_cursor_close(spare->long_cursor);
        mdb_cursor_close(spare->cursor);
        sqlite3_free(spare);
    }
}

/* The cursor's companion for long keys, usable in the snapshot's transaction. LMDB's code. */
static int prepare_long_cursor(pt_lmdb_cursor *cursor)
{
    const pt_lmdb_snapshot *snapshot = pt_lmdb_own_snapshot(cursor->base.snapshot);
    int mdb_rc = MDB_SUCCESS;
    if (cursor->long_cursor == NULL) {
        mdb_rc = pt_lmdb_long_cursor_open(snapshot->reader.txn, &snapshot->store->env,
                                          &cursor->long_cursor);
    } else if (!cursor->long_cursor_is_renewed) {
        mdb_rc = pt_lmdb_long_cursor_renew(cursor->long_cursor, snapshot->reader.txn);
    }
    cursor->long_cursor_is_renewed = mdb_rc == MDB_SUCCESS;
    return mdb_rc;
}

/* --- Moving --- */

/* Whether a key is one that a move in the direction may lead to. */
static bool is_within_limit(const pt_lmdb_cursor *cursor, pt_slice key, pt_direction direction)
{
    if (direction != cursor->direction || cursor->limit.size == 0) {
        return true;
    }
    int order = pt_slice_compare(key, cursor->limit);
    return direction == PT_FORWARD ? order < 0 : order >= 0;
}

static void lose_position(pt_lmdb_cursor *cursor)
{
    cursor->base.valid = false;
    cursor->base.key = (pt_slice){0};
}

/* After a move that has led nowhere. */
static int end_nowhere(pt_lmdb_cursor *cursor, int mdb_rc, pt_error *error)
{
    lose_position(cursor);
    const char *path = cursor->base.snapshot->store->path;
    return mdb_rc == MDB_NOTFOUND ? SQLITE_OK
                                  : pt_lmdb_fail_reading(error, mdb_rc, path, "moving a cursor");
}

/* Whether an entry is one that can be looked at; long keys are composed, and not in a page. */
static inline bool can_be_read(const pt_lmdb_cursor *cursor, const MDB_val *key,
                               const MDB_val *record)
{
    const pt_lmdb_env *env = &pt_lmdb_own_snapshot(cursor->base.snapshot)->store->env;
    return key->mv_size >= PT_KEY_TABLE_SIZE &&
           (key->mv_size > PT_LMDB_SHORT_KEY_MAX || pt_lmdb_is_in_page(env, key)) &&
           pt_lmdb_is_in_store(env, record);
}

/* Takes over where a move has led to, a logical key and its record; or that it led nowhere. */
static inline int take(pt_lmdb_cursor *cursor, int mdb_rc, pt_direction direction,
                       const MDB_val *key, const MDB_val *record, pt_error *error)
{
    if (mdb_rc == MDB_SUCCESS && !can_be_read(cursor, key, record)) {
        mdb_rc = MDB_CORRUPTED;
    }
    if (mdb_rc != MDB_SUCCESS) {
        return end_nowhere(cursor, mdb_rc, error);
    }
    pt_slice found = pt_lmdb_slice(*key);
    cursor->base.valid = is_within_limit(cursor, found, direction);
    cursor->base.key = found;
    cursor->base.record = pt_lmdb_slice(*record);
    cursor->base.key_lasts = found.size <= PT_LMDB_SHORT_KEY_MAX; /* long ones are composed */
    return SQLITE_OK;
}

/* From a link to the long keys behind it, of which there are some. LMDB has no longer key. */
static int enter_link(pt_lmdb_cursor *cursor, pt_direction direction, MDB_val *key, MDB_val *record)
{
    const pt_lmdb_env *env = &pt_lmdb_own_snapshot(cursor->base.snapshot)->store->env;
    if (key->mv_size > PT_LMDB_LINK_SIZE || !pt_lmdb_is_in_page(env, key)) {
        return MDB_CORRUPTED;
    }
    int mdb_rc = prepare_long_cursor(cursor);
    return mdb_rc == MDB_SUCCESS
               ? pt_lmdb_long_cursor_enter(cursor->long_cursor, direction, key, record)
               : mdb_rc;
}

/* `key` is what the operation needs. Long keys are entered from the side that `direction` says. */
static int move(pt_lmdb_cursor *cursor, MDB_val *key, MDB_cursor_op op, pt_direction direction,
                pt_error *error)
{
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, &record, op);
    if (mdb_rc == MDB_SUCCESS && key->mv_size >= PT_LMDB_LINK_SIZE) {
        mdb_rc = enter_link(cursor, direction, key, &record);
    }
    return take(cursor, mdb_rc, direction, key, &record, error);
}

static int move_on(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    MDB_val key;
    return move(cursor, &key, direction == PT_FORWARD ? MDB_NEXT : MDB_PREV, direction, error);
}

/*
 * Ends a search for the last key before the one whose place, the first that is not before it, was
 * looked for in `entities` with this outcome.
 */
static int move_before(pt_lmdb_cursor *cursor, int mdb_rc, pt_error *error)
{
    MDB_val key = {0};
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return end_nowhere(cursor, mdb_rc, error);
    }
    return move(cursor, &key, mdb_rc == MDB_SUCCESS ? MDB_PREV : MDB_LAST, PT_BACKWARD, error);
}

static int seek_short(pt_lmdb_cursor *cursor, pt_slice sought, pt_direction direction,
                      pt_error *error)
{
    MDB_val key = pt_lmdb_val(sought);
    if (direction == PT_FORWARD) {
        return move(cursor, &key, MDB_SET_RANGE, direction, error);
    }
    MDB_val record;
    return move_before(cursor, mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET_RANGE), error);
}

/* Behind the link that is on the way to the key, or from there on in `entities`. */
static int seek_behind_link(pt_lmdb_cursor *cursor, pt_slice sought, pt_direction direction,
                            MDB_val record, pt_error *error)
{
    MDB_val key;
    int mdb_rc = prepare_long_cursor(cursor);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = pt_lmdb_long_cursor_seek(cursor->long_cursor, sought, direction, &key, &record);
        if (mdb_rc == MDB_NOTFOUND) {
            return move_on(cursor, direction, error);
        }
    }
    return take(cursor, mdb_rc, direction, &key, &record, error);
}

static int seek_long(pt_lmdb_cursor *cursor, pt_slice sought, pt_direction direction,
                     pt_error *error)
{
    pt_lmdb_part link;
    pt_lmdb_part_at(&link, sought, 0, 0);
    MDB_val key = pt_lmdb_part_val(&link);
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET_RANGE);
    if (mdb_rc == MDB_SUCCESS && key.mv_size == link.size &&
        memcmp(key.mv_data, link.bytes, link.size) == 0) {
        return seek_behind_link(cursor, sought, direction, record, error);
    }
    if (direction == PT_BACKWARD) {
        return move_before(cursor, mdb_rc, error);
    }
    return mdb_rc == MDB_SUCCESS ? move(cursor, &key, MDB_GET_CURRENT, direction, error)
                                 : take(cursor, mdb_rc, direction, &key, &record, error);
}

/*
 * A page that lies in another's place may hold sound entities of another table: what a move came to
 * must lie behind the place that it began at.
 */
__attribute__((noinline)) static int verify_order(pt_lmdb_cursor *cursor, int rc, pt_slice from,
                                                  pt_direction direction, pt_error *error)
{
    if (rc != SQLITE_OK || !cursor->base.valid) {
        return rc;
    }
    int order = pt_slice_compare(cursor->base.key, from);
    return (direction == PT_FORWARD ? order >= 0 : order < 0)
               ? rc
               : end_nowhere(cursor, MDB_CORRUPTED, error);
}

/* Whether a search has compared the key that it came to. It goes to the next page's first one
 * unseen. A key that is composed lies in no page. */
static inline bool is_compared(const pt_lmdb_cursor *cursor)
{
    return cursor->base.valid && cursor->base.key_lasts && cursor->leaf_size != 0 &&
           !pt_lmdb_leaf_is_first(cursor->base.key.data, cursor->leaf_size);
}

static int seek(pt_lmdb_cursor *cursor, pt_slice from, pt_direction direction, pt_error *error)
{
    if (from.size > PT_LMDB_SHORT_KEY_MAX) {
        return seek_long(cursor, from, direction, error);
    }
    if (from.size != 0) {
        int rc = seek_short(cursor, from, direction, error);
        return direction == PT_FORWARD && is_compared(cursor)
                   ? rc
                   : verify_order(cursor, rc, from, direction, error);
    }
    MDB_val none = {0}; /* LMDB has no empty key */
    return direction == PT_FORWARD ? move(cursor, &none, MDB_FIRST, direction, error)
                                   : end_nowhere(cursor, MDB_NOTFOUND, error);
}

static bool is_inherited(const pt_lmdb_cursor *cursor)
{
    return cursor->fork_count != atomic_load_explicit(&pt_lmdb_fork_count, memory_order_relaxed);
}

static int fail_inherited(const pt_lmdb_cursor *cursor, pt_error *error)
{
    return pt_lmdb_fail_inherited(pt_lmdb_own_snapshot(cursor->base.snapshot)->store, error);
}

int pt_lmdb_cursor_seek(pt_engine_cursor *base, pt_slice from, pt_slice limit,
                        pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    if (is_inherited(cursor)) {
        return fail_inherited(cursor, error);
    }
    forget_leaf(cursor);
    cursor->direction = direction;
    cursor->limit = limit;
    return seek(cursor, from, direction, error);
}

void pt_lmdb_cursor_narrow(pt_engine_cursor *base, pt_slice limit)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    cursor->limit = limit;
    cursor->leaf = (pt_lmdb_leaf){0};
    if (base->valid && !is_within_limit(cursor, base->key, cursor->direction)) {
        lose_position(cursor);
    }
}

static int step_long(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    MDB_val key;
    MDB_val record;
    int mdb_rc = pt_lmdb_long_cursor_step(cursor->long_cursor, direction, &key, &record);
    return mdb_rc == MDB_NOTFOUND ? move_on(cursor, direction, error)
                                  : take(cursor, mdb_rc, direction, &key, &record, error);
}

/* Puts LMDB's cursor where this one is. LMDB's code. */
static int catch_up(pt_lmdb_cursor *cursor)
{
    MDB_val key = pt_lmdb_val(cursor->base.key);
    MDB_val record;
    int mdb_rc = mdb_cursor_get(cursor->cursor, &key, &record, MDB_SET);
    return mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc; /* it has been seen on the page */
}

static int step_with_lmdb(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    int mdb_rc = cursor->is_behind ? catch_up(cursor) : MDB_SUCCESS;
    forget_leaf(cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return end_nowhere(cursor, mdb_rc, error);
    }
    pt_slice left = cursor->base.key;
    int rc = move_on(cursor, direction, error);
    return verify_order(cursor, rc, left, direction, error);
}

/* Finds the leaf around the position, so that it can be walked in the direction. */
static bool enter_leaf(pt_lmdb_cursor *cursor, pt_direction direction)
{
    const pt_slice none = {0};
    return cursor->leaf_size != 0 &&
           pt_lmdb_leaf_enter(&cursor->leaf, cursor->base.key.data, cursor->leaf_size, direction,
                              direction == cursor->direction ? cursor->limit : none);
}

/*
 * A step from where the leaf is not known, or has been walked to its end. Not inlined, so that
 * pt_lmdb_cursor_step need not save registers for it.
 */
__attribute__((noinline)) static int step_further(pt_lmdb_cursor *cursor, pt_direction direction,
                                                  pt_error *error)
{
    if (is_inherited(cursor)) {
        return fail_inherited(cursor, error);
    }
    if (cursor->base.key.size > PT_LMDB_SHORT_KEY_MAX) {
        return step_long(cursor, direction, error);
    }
    bool known = cursor->leaf.page != NULL && cursor->leaf.direction == direction;
    if (!known && enter_leaf(cursor, direction) &&
        pt_lmdb_leaf_step(&cursor->leaf, &cursor->base.key, &cursor->base.record)) {
        cursor->is_behind = true;
        return SQLITE_OK;
    }
    if (cursor->leaf.at_limit && cursor->leaf.left == 0) {
        lose_position(cursor);
        return SQLITE_OK;
    }
    return step_with_lmdb(cursor, direction, error);
}

int pt_lmdb_cursor_step(pt_engine_cursor *base, pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    if (is_inherited(cursor) || direction != cursor->leaf.direction ||
        !pt_lmdb_leaf_step(&cursor->leaf, &base->key, &base->record)) {
        return step_further(cursor, direction, error);
    }
    cursor->is_behind = true;
    return SQLITE_OK;
}
