#include "lmdb_cursor.h"

#include "lmdb_error.h"
#include "lmdb_long_cursor.h"
#include "sqlite.h"

typedef struct pt_lmdb_cursor {
    pt_engine_cursor base; /* first */
    MDB_cursor *cursor;
    pt_lmdb_long_cursor *long_cursor; /* NULL until the first long key */
    bool long_cursor_is_renewed;      /* for the snapshot's transaction */
    struct pt_lmdb_cursor *next_spare;
} pt_lmdb_cursor;

/* --- Opening and closing --- */

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
            return pt_lmdb_fail(error, mdb_rc, store->base.path, "opening a cursor");
        }
        opened->long_cursor = NULL;
    }
    opened->base = (pt_engine_cursor){.snapshot = base};
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

/* Takes over where a move has led to, a logical key and its record; or that it led nowhere. */
static int take(pt_lmdb_cursor *cursor, int mdb_rc, const MDB_val *key, const MDB_val *record,
                pt_error *error)
{
    cursor->base.valid = mdb_rc == MDB_SUCCESS;
    if (cursor->base.valid) {
        cursor->base.key = pt_lmdb_slice(*key);
        cursor->base.record = pt_lmdb_slice(*record);
        cursor->base.key_lasts = key->mv_size <= PT_LMDB_SHORT_KEY_MAX; /* long ones are composed */
        return SQLITE_OK;
    }
    cursor->base.key = (pt_slice){0};
    const char *path = cursor->base.snapshot->store->path;
    return mdb_rc == MDB_NOTFOUND ? SQLITE_OK
                                  : pt_lmdb_fail(error, mdb_rc, path, "moving a cursor");
}

/* From a link to the long keys behind it, of which there are some. */
static int enter_link(pt_lmdb_cursor *cursor, pt_direction direction, MDB_val *key, MDB_val *record)
{
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
    if (mdb_rc == MDB_SUCCESS && key->mv_size == PT_LMDB_LINK_SIZE) {
        mdb_rc = enter_link(cursor, direction, key, &record);
    }
    return take(cursor, mdb_rc, key, &record, error);
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
        return take(cursor, mdb_rc, &key, &key, error);
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
    return take(cursor, mdb_rc, &key, &record, error);
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
                                 : take(cursor, mdb_rc, &key, &record, error);
}

int pt_lmdb_cursor_seek(pt_engine_cursor *base, pt_slice key, pt_direction direction,
                        pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    const pt_lmdb_store *store = pt_lmdb_own_snapshot(base->snapshot)->store;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    if (key.size > PT_LMDB_SHORT_KEY_MAX) {
        return seek_long(cursor, key, direction, error);
    }
    if (key.size != 0) {
        return seek_short(cursor, key, direction, error);
    }
    MDB_val none = {0}; /* LMDB has no empty key */
    return direction == PT_FORWARD ? move(cursor, &none, MDB_FIRST, direction, error)
                                   : take(cursor, MDB_NOTFOUND, &none, &none, error);
}

static int step_long(pt_lmdb_cursor *cursor, pt_direction direction, pt_error *error)
{
    MDB_val key;
    MDB_val record;
    int mdb_rc = pt_lmdb_long_cursor_step(cursor->long_cursor, direction, &key, &record);
    return mdb_rc == MDB_NOTFOUND ? move_on(cursor, direction, error)
                                  : take(cursor, mdb_rc, &key, &record, error);
}

/*
 * In a page that was filled in order each entry lies as far below the one before as that is long,
 * so the one after this one is probably as far away as this one is from the last. It is on its way
 * to the cache while SQLite works on this row. One step and three lines ahead was the best of what
 * was measured; asking for the next page, too, made scans slower.
 */
static void prefetch_beyond(const uint8_t *last, const uint8_t *key)
{
    enum { CACHE_LINE = 64, LINES = 3 };
    uintptr_t expected = (uintptr_t)key + ((uintptr_t)key - (uintptr_t)last);
    for (uintptr_t i = 0; i < LINES; i++) {
        __builtin_prefetch((const void *)(expected + i * CACHE_LINE));
    }
}

int pt_lmdb_cursor_step(pt_engine_cursor *base, pt_direction direction, pt_error *error)
{
    pt_lmdb_cursor *cursor = (pt_lmdb_cursor *)base;
    const pt_lmdb_store *store = pt_lmdb_own_snapshot(base->snapshot)->store;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    if (base->key.size > PT_LMDB_SHORT_KEY_MAX) {
        return step_long(cursor, direction, error);
    }
    const uint8_t *last = base->key.data;
    int rc = move_on(cursor, direction, error);
    prefetch_beyond(last, base->key.data);
    return rc;
}
