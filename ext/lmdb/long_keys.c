#include "lmdb/long_keys.h"

#include <errno.h>

#include "base/sqlite.h"

void pt_lmdb_put_bucket_prefix(uint8_t bytes[PT_LMDB_BUCKET_PREFIX], uint64_t bucket)
{
    pt_put_be32(bytes, (uint32_t)(bucket >> 32));
    pt_put_be32(bytes + 4, (uint32_t)bucket);
}

bool pt_lmdb_is_in_bucket(const MDB_val *key, uint64_t bucket)
{
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    pt_lmdb_put_bucket_prefix(prefix, bucket);
    return pt_slice_has_prefix(pt_lmdb_slice(*key), pt_slice_of(prefix, sizeof prefix));
}

void pt_lmdb_part_at(pt_lmdb_part *part, pt_slice key, unsigned depth, uint64_t bucket)
{
    size_t offset = 0;
    size_t prefix = 0;
    size_t most = PT_LMDB_SHORT_KEY_MAX;
    if (depth != 0) {
        offset = pt_lmdb_depth_offset(depth);
        prefix = PT_LMDB_BUCKET_PREFIX;
        most = PT_LMDB_BUCKET_KEY_MAX;
        pt_lmdb_put_bucket_prefix(part->bytes, bucket);
    }
    size_t rest = key.size - offset;
    size_t size = rest <= most ? rest : most;
    memcpy(part->bytes + prefix, key.data + offset, size);
    part->size = prefix + size;
    if (rest > most) {
        part->bytes[part->size++] = 0;
    }
}

/* The sub-database of the parts at a depth. */
static MDB_dbi dbi_at(const pt_lmdb_env *env, unsigned depth)
{
    return depth == 0 ? env->entities : env->long_keys;
}

/* Reads the bucket that a link leads to. LMDB's code: MDB_NOTFOUND if there is no such link,
 * MDB_CORRUPTED if it is damaged. */
static int read_link(MDB_txn *txn, MDB_dbi dbi, const pt_lmdb_part *link, uint64_t *bucket)
{
    MDB_val key = pt_lmdb_part_val(link);
    MDB_val value;
    int mdb_rc = mdb_get(txn, dbi, &key, &value);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    return pt_format_read_bucket(pt_lmdb_slice(key), pt_lmdb_slice(value), bucket) ? MDB_SUCCESS
                                                                                   : MDB_CORRUPTED;
}

/* Follows one link after another, each in the bucket that the one before led to. The last part of
 * the key is not a link. */
int pt_lmdb_long_get(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *record)
{
    pt_lmdb_part part;
    uint64_t bucket = 0;
    for (unsigned depth = 0;; depth++) {
        pt_lmdb_part_at(&part, key, depth, bucket);
        MDB_dbi dbi = dbi_at(env, depth);
        if (part.size != PT_LMDB_LINK_SIZE) {
            MDB_val mdb_key = pt_lmdb_part_val(&part);
            return mdb_get(txn, dbi, &mdb_key, record);
        }
        int mdb_rc = read_link(txn, dbi, &part, &bucket);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* --- Cursors --- */

struct pt_lmdb_long_cursor {
    MDB_cursor *cursor;                      /* on `long_keys` */
    unsigned depth;                          /* of the bucket that holds the position */
    uint64_t buckets[PT_LMDB_DEPTH_MAX + 1]; /* those on the way to it, by depth, from 1 on */
    uint8_t key[PT_KEY_LOGICAL_MAX];         /* the position's logical key, put together */
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

static uint64_t current_bucket(const pt_lmdb_long_cursor *cursor)
{
    return cursor->buckets[cursor->depth];
}

/* Enters the bucket that a link leads to: its key and value are given. */
static int enter_bucket(pt_lmdb_long_cursor *cursor, pt_slice key, const MDB_val *link)
{
    uint64_t bucket;
    /* No key is long enough for more: links that go on must run in a circle. */
    if (cursor->depth == PT_LMDB_DEPTH_MAX ||
        !pt_format_read_bucket(key, pt_lmdb_slice(*link), &bucket)) {
        return MDB_CORRUPTED;
    }
    cursor->buckets[++cursor->depth] = bucket;
    return MDB_SUCCESS;
}

/* Leaves the current bucket for the one around it, and moves to the link that led here. */
static int leave_bucket(pt_lmdb_long_cursor *cursor, MDB_val *key, MDB_val *value)
{
    pt_lmdb_part link;
    /* All keys of the bucket begin with the same `passed` bytes; a link stands for longer keys. */
    size_t passed = pt_lmdb_depth_offset(cursor->depth--);
    pt_lmdb_part_at(&link, pt_slice_of(cursor->key, passed + 1), cursor->depth,
                    current_bucket(cursor));
    *key = pt_lmdb_part_val(&link);
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET);
    return mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/* Ends a backward search. MDB_SET_RANGE has looked for the first key that is not below the sought
 * one, with this result; this moves to the key before it, or to the last one of all. */
static int move_before_found(pt_lmdb_long_cursor *cursor, int mdb_rc, MDB_val *key, MDB_val *value)
{
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    MDB_cursor_op op = mdb_rc == MDB_SUCCESS ? MDB_PREV : MDB_LAST;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/* Moves to the first (backward: last) key of the current bucket. It has one: empty buckets are
 * deleted. */
static int move_to_edge(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                        MDB_val *value)
{
    uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
    bool backward = direction == PT_BACKWARD;
    /* The last key comes before every key of the bucket with the next number. */
    pt_lmdb_put_bucket_prefix(prefix, current_bucket(cursor) + (backward ? 1 : 0));
    *key = pt_lmdb_val(pt_slice_of(prefix, sizeof prefix));
    int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
    if (backward) {
        mdb_rc = move_before_found(cursor, mdb_rc, key, value);
    }
    if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, current_bucket(cursor))) {
        return MDB_SUCCESS;
    }
    return mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
}

/*
 * Ends a move that has come to a key of the current bucket. If the key is a link, goes on through
 * the first (backward: last) keys of one bucket after the other, until there is a record. Puts the
 * logical key together on the way.
 */
static int follow_first_links(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *value)
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
        int mdb_rc = enter_bucket(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = move_to_edge(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

static int step_in_long_keys(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *value)
{
    MDB_cursor_op op = direction == PT_FORWARD ? MDB_NEXT : MDB_PREV;
    return mdb_cursor_get(cursor->cursor, key, value, op);
}

/*
 * Ends a move with this result. A key of the current bucket leads to a record. Any other key, or
 * none, means that the bucket is at its end: then continues after its link in the bucket around it,
 * as often as needed. MDB_NOTFOUND: the outermost bucket is at its end too.
 */
static int find_record_from(pt_lmdb_long_cursor *cursor, int mdb_rc, pt_direction direction,
                            MDB_val *key, MDB_val *value)
{
    for (;;) {
        if (mdb_rc == MDB_SUCCESS && pt_lmdb_is_in_bucket(key, current_bucket(cursor))) {
            return follow_first_links(cursor, direction, key, value);
        }
        if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
            return mdb_rc;
        }
        if (cursor->depth == 1) {
            return MDB_NOTFOUND;
        }
        mdb_rc = leave_bucket(cursor, key, value);
        if (mdb_rc == MDB_SUCCESS) {
            mdb_rc = step_in_long_keys(cursor, direction, key, value);
        }
    }
}

/* Enters the outermost bucket. `link` is the value of the link in `entities` for long keys that
 * begin like `key`, which may be the cursor's own. */
static int begin_at_link(pt_lmdb_long_cursor *cursor, const void *key, const MDB_val *link)
{
    uint8_t link_key[PT_LMDB_LINK_SIZE];
    memcpy(link_key, key, PT_LMDB_SHORT_KEY_MAX);
    link_key[PT_LMDB_SHORT_KEY_MAX] = 0;
    cursor->depth = 0;
    memmove(cursor->key, key, PT_LMDB_SHORT_KEY_MAX);
    return enter_bucket(cursor, pt_slice_of(link_key, sizeof link_key), link);
}

int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record)
{
    int mdb_rc = begin_at_link(cursor, key->mv_data, record);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = move_to_edge(cursor, direction, key, record);
    }
    return mdb_rc == MDB_SUCCESS ? follow_first_links(cursor, direction, key, record) : mdb_rc;
}

static bool is_same_link(const pt_lmdb_part *part, const MDB_val *key)
{
    return part->size == PT_LMDB_LINK_SIZE && key->mv_size == PT_LMDB_LINK_SIZE &&
           memcmp(part->bytes, key->mv_data, PT_LMDB_LINK_SIZE) == 0;
}

/* Follows the links on the way to `sought` as far as they exist. In the last bucket, looks for the
 * first key that is not below `sought`. */
static int search_buckets(pt_lmdb_long_cursor *cursor, pt_slice sought, MDB_val *key,
                          MDB_val *value)
{
    for (;;) {
        pt_lmdb_part part;
        pt_lmdb_part_at(&part, sought, cursor->depth, current_bucket(cursor));
        *key = pt_lmdb_part_val(&part);
        int mdb_rc = mdb_cursor_get(cursor->cursor, key, value, MDB_SET_RANGE);
        if (mdb_rc != MDB_SUCCESS || !is_same_link(&part, key)) {
            return mdb_rc;
        }
        size_t offset = pt_lmdb_depth_offset(cursor->depth);
        mdb_rc = enter_bucket(cursor, pt_lmdb_slice(*key), value);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        memmove(cursor->key + offset, sought.data + offset, PT_LMDB_BUCKET_KEY_MAX);
    }
}

int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record)
{
    int mdb_rc = begin_at_link(cursor, sought.data, record);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = search_buckets(cursor, sought, key, record);
    if (direction == PT_BACKWARD) {
        mdb_rc = move_before_found(cursor, mdb_rc, key, record);
    }
    return find_record_from(cursor, mdb_rc, direction, key, record);
}

int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record)
{
    return find_record_from(cursor, step_in_long_keys(cursor, direction, key, record), direction,
                            key, record);
}

/* --- Putting --- */

static MDB_txn *txn_of(const pt_lmdb_long_trees *trees)
{
    return trees->entities->txn;
}

static pt_lmdb_tree *tree_at(const pt_lmdb_long_trees *trees, unsigned depth)
{
    return depth == 0 ? trees->entities : trees->long_keys;
}

static pt_slice part_slice(const pt_lmdb_part *part)
{
    return pt_slice_of(part->bytes, part->size);
}

/* Assigns a number that no bucket has had. */
static int assign_bucket(const pt_lmdb_long_trees *trees, uint64_t *bucket)
{
    MDB_val key = pt_lmdb_val(pt_format_last_bucket_key());
    MDB_val value;
    uint64_t last = 0;
    int mdb_rc = mdb_get(txn_of(trees), trees->env->meta, &key, &value);
    if (mdb_rc != MDB_SUCCESS && mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    if (mdb_rc == MDB_SUCCESS &&
        (!pt_format_read_bucket(pt_format_last_bucket_key(), pt_lmdb_slice(value), &last) ||
         last == PT_FORMAT_BUCKET_MAX)) {
        return MDB_CORRUPTED; /* so many buckets were never made */
    }
    uint8_t record[PT_FORMAT_BUCKET_SIZE];
    *bucket = last + 1;
    pt_format_write_bucket(pt_format_last_bucket_key(), *bucket, record);
    value = pt_lmdb_val(pt_slice_of(record, sizeof record));
    return mdb_put(txn_of(trees), trees->env->meta, &key, &value, 0);
}

/* Puts a link to a new bucket. */
static int put_link(const pt_lmdb_long_trees *trees, const pt_lmdb_part *link, unsigned depth,
                    uint64_t *bucket)
{
    uint8_t value[PT_FORMAT_BUCKET_SIZE];
    int mdb_rc = assign_bucket(trees, bucket);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    pt_lmdb_old old;
    pt_format_write_bucket(part_slice(link), *bucket, value);
    return pt_lmdb_tree_put(tree_at(trees, depth), part_slice(link),
                            pt_slice_of(value, sizeof value), &old);
}

int pt_lmdb_long_put(const pt_lmdb_long_trees *trees, pt_slice key, pt_slice record,
                     pt_lmdb_old *old)
{
    pt_lmdb_part part;
    uint64_t bucket = 0;
    for (unsigned depth = 0;; depth++) {
        pt_lmdb_part_at(&part, key, depth, bucket);
        if (part.size != PT_LMDB_LINK_SIZE) {
            return pt_lmdb_tree_put(tree_at(trees, depth), part_slice(&part), record, old);
        }
        int mdb_rc = read_link(txn_of(trees), dbi_at(trees->env, depth), &part, &bucket);
        if (mdb_rc == MDB_NOTFOUND) {
            mdb_rc = put_link(trees, &part, depth, &bucket);
        }
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* --- Deleting --- */

/* The buckets on the way to a long key, by depth, from 1 on. */
typedef struct bucket_path {
    unsigned depth;
    uint64_t buckets[PT_LMDB_DEPTH_MAX + 1];
} bucket_path;

static int find_bucket_path(const pt_lmdb_long_trees *trees, pt_slice key, bucket_path *found,
                            pt_lmdb_part *last)
{
    for (found->depth = 0;; found->depth++) {
        pt_lmdb_part_at(last, key, found->depth, found->buckets[found->depth]);
        if (last->size != PT_LMDB_LINK_SIZE) {
            return MDB_SUCCESS;
        }
        int mdb_rc = read_link(txn_of(trees), dbi_at(trees->env, found->depth), last,
                               &found->buckets[found->depth + 1]);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}

/* Deletes the links to buckets that a deletion has emptied, from the innermost outwards: the link
 * may have been the last key of the bucket around it. */
static int delete_empty_buckets(const pt_lmdb_long_trees *trees, pt_slice key,
                                const bucket_path *path)
{
    for (unsigned depth = path->depth; depth > 0; depth--) {
        uint8_t prefix[PT_LMDB_BUCKET_PREFIX];
        bool in_use = false;
        pt_lmdb_put_bucket_prefix(prefix, path->buckets[depth]);
        int mdb_rc =
            pt_lmdb_tree_has_prefix(trees->long_keys, pt_slice_of(prefix, sizeof prefix), &in_use);
        if (mdb_rc != MDB_SUCCESS || in_use) {
            return mdb_rc;
        }
        pt_lmdb_part link;
        pt_lmdb_old old;
        pt_lmdb_part_at(&link, key, depth - 1, path->buckets[depth - 1]);
        mdb_rc = pt_lmdb_tree_delete(tree_at(trees, depth - 1), part_slice(&link), &old);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    return MDB_SUCCESS;
}

int pt_lmdb_long_delete(const pt_lmdb_long_trees *trees, pt_slice key, pt_lmdb_old *old)
{
    bucket_path path;
    pt_lmdb_part last;
    *old = (pt_lmdb_old){.present = false};
    /* Was never put, and would need more buckets than a bucket_path has. */
    if (key.size > PT_KEY_LOGICAL_MAX) {
        return MDB_SUCCESS;
    }
    path.buckets[0] = 0;
    int mdb_rc = find_bucket_path(trees, key, &path, &last);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc == MDB_NOTFOUND ? MDB_SUCCESS : mdb_rc;
    }
    mdb_rc = pt_lmdb_tree_delete(trees->long_keys, part_slice(&last), old);
    if (mdb_rc != MDB_SUCCESS || !old->present) {
        return mdb_rc;
    }
    return delete_empty_buckets(trees, key, &path);
}
