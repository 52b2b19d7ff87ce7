#include "lmdb/long_cursor.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/page/format.h"

struct pt_lmdb_long_cursor {
    MDB_cursor *cursor;                      /* on `long_keys` */
    unsigned depth;                          /* of the bucket that holds the position */
    uint64_t buckets[PT_LMDB_DEPTH_MAX + 1]; /* by depth, from 1 on */
    uint8_t key[PT_KEY_LOGICAL_MAX];
};

int pt_lmdb_long_cursor_open(MDB_txn *txn, const pt_lmdb_env *env, pt_lmdb_long_cursor **cursor)
{
    pt_lmdb_long_cursor *opened = sqlite3_malloc64(sizeof *opened);
    if (opened == NULL) {
        return ENOMEM;
    }
    int mdb_rc = mdb_cursor_open(txn, env->long_keys, &opened->cursor);
    if (mdb_rc != MDB_SUCCESS) {
        sqlite3_free(opened);
        return mdb_rc;
    }
    *cursor = opened;
    return MDB_SUCCESS;
}

int pt_lmdb_long_cursor_renew(pt_lmdb_long_cursor *cursor, MDB_txn *txn)
{
    return mdb_cursor_renew(txn, cursor->cursor);
}

void pt_lmdb_long_cursor_close(pt_lmdb_long_cursor *cursor)
{
    if (cursor != NULL) {
        mdb_cursor_close(cursor->cursor);
        sqlite3_free(cursor);
    }
}

static uint64_t bucket_of(const pt_lmdb_long_cursor *cursor)
{
    return cursor->buckets[cursor->depth];
}

/* Makes the bucket a link, of this key, leads to the current one. */
static int descend(pt_lmdb_long_cursor *cursor, pt_slice key, const MDB_val *link)
{
    uint64_t bucket;
    if (cursor->depth == PT_LMDB_DEPTH_MAX ||
        !pt_format_read_bucket(key, pt_lmdb_slice(*link), &bucket)) {
        return MDB_CORRUPTED;
    }
    cursor->buckets[++cursor->depth] = bucket;
    return MDB_SUCCESS;
}

/* Goes to the link of the current bucket; the bucket around that becomes the current one. */
static int ascend(pt_lmdb_long_cursor *cursor, MDB_val *key, MDB_val *value)
{
    pt_lmdb_part link;
    size_t passed = pt_lmdb_depth_offset(cursor->depth--);
    pt_lmdb_part_at(&link, pt_slice_of(cursor->key, passed + 1), cursor->depth, bucket_of(cursor));
    *key = pt_lmdb_part_val(&link);
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET);
    return mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/* From the first place behind what was sought to the last one before it. */
static int go_before(pt_lmdb_long_cursor *cursor, int mdb_rc, MDB_val *key, MDB_val *value)
{
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    MDB_cursor_op op = mdb_rc == MDB_SUCCESS ? MDB_PREV : MDB_LAST;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/* To the first or last key of the current bucket, which has some. */
static int go_to_end(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                     MDB_val *value)
{
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    bool backward = direction == PT_BACKWARD;
    pt_lmdb_put_bucket_prefix(prefix, bucket_of(cursor) + (backward ? 1 : 0));
    *key = pt_lmdb_val(pt_slice_of(prefix, sizeof prefix));
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
    if (backward) {
        mdb_rc = go_before(cursor, mdb_rc, key, value);
    }
    if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, bucket_of(cursor))) {
        return MDB_SUCCESS;
    }
    return mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/* From a key of the current bucket to the record that it, or the links that begin there, lead to.
 */
static int arrive(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key, MDB_val *value)
{
    for (;;) {
        bool link = key->mv_size == PT_LMDB_LINK_SIZE;
        if (key->mv_size > PT_LMDB_LINK_SIZE) {
            return MDB_CORRUPTED;
        }
        size_t offset = pt_lmdb_depth_offset(cursor->depth);
        size_t size = key->mv_size - PT_LMDB_BUCKET_PREFIX - (link ? 1 : 0);
        if (size == 0 || size > sizeof cursor->key - offset) {
            return MDB_CORRUPTED;
        }
        memcpy(cursor->key + offset, (const uint8_t *)key->mv_data + PT_LMDB_BUCKET_PREFIX, size);
        if (!link) {
            *key = pt_lmdb_val(pt_slice_of(cursor->key, offset + size));
            return MDB_SUCCESS;
        }
        int mdb_rc = descend(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = go_to_end(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

static int step_over(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                     MDB_val *value)
{
    MDB_cursor_op op = direction == PT_FORWARD ? MDB_NEXT : MDB_PREV;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/* What a move has come to; if it has left the current bucket, the search goes on around that. */
static int settle(pt_lmdb_long_cursor *cursor, int mdb_rc, pt_direction direction, MDB_val *key,
                  MDB_val *value)
{
    for (;;) {
        if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, bucket_of(cursor))) {
            return arrive(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
            return mdb_rc;
        }
        if (cursor->depth == 1) {
            return MDB_NOTFOUND;
        }
        mdb_rc = ascend(cursor, key, value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = step_over(cursor, direction, key, value);
        }
    }
}

/* Begins at the link in `entities` of keys that begin as this one, which may be the cursor's. */
static int begin(pt_lmdb_long_cursor *cursor, const void *key, const MDB_val *link)
{
    uint8_t link_key[PT_LMDB_LINK_SIZE];
    memcpy(link_key, key, PT_LMDB_SHORT_KEY_MAX);
    link_key[PT_LMDB_SHORT_KEY_MAX] = 0;
    cursor->depth = 0;
    memmove(cursor->key, key, PT_LMDB_SHORT_KEY_MAX);
    return descend(cursor, pt_slice_of(link_key, sizeof link_key), link);
}

int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record)
{
    int mdb_rc = begin(cursor, key->mv_data, record);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = go_to_end(cursor, direction, key, record);
    }
    return mdb_rc == MDB_SUCCESS ? arrive(cursor, direction, key, record) : mdb_rc;
}

static bool is_link(const pt_lmdb_part *part, const MDB_val *key)
{
    return part->size == PT_LMDB_LINK_SIZE && key->mv_size == PT_LMDB_LINK_SIZE &&
           memcmp(part->bytes, key->mv_data, PT_LMDB_LINK_SIZE) == 0;
}

/* Follows the links that are on the way to `sought` to where there is none, and finds the first
 * place there that is not before it. */
static int follow(pt_lmdb_long_cursor *cursor, pt_slice sought, MDB_val *key, MDB_val *value)
{
    for (;;) {
        pt_lmdb_part part;
        pt_lmdb_part_at(&part, sought, cursor->depth, bucket_of(cursor));
        *key = pt_lmdb_part_val(&part);
        int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
        if (mdb_rc != MDB_SUCCESS || !is_link(&part, key)) {
            return mdb_rc;
        }
        size_t offset = pt_lmdb_depth_offset(cursor->depth);
        mdb_rc = descend(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        memmove(cursor->key + offset, sought.data + offset, PT_LMDB_BUCKET_KEY_MAX);
    }
}

int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record)
{
    int mdb_rc = begin(cursor, sought.data, record);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = follow(cursor, sought, key, record);
    if (direction == PT_BACKWARD) {
        mdb_rc = go_before(cursor, mdb_rc, key, record);
    }
    return settle(cursor, mdb_rc, direction, key, record);
}

int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record)
{
    return settle(cursor, step_over(cursor, direction, key, record), direction, key, record);
}
