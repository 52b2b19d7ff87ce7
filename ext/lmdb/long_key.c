#include "lmdb/long_key.h"

#include "lmdb/page/format.h"

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

int pt_lmdb_follow_link(MDB_txn *txn, MDB_dbi dbi, const pt_lmdb_part *link, uint64_t *bucket)
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

int pt_lmdb_long_get(MDB_txn *txn, const pt_lmdb_env *env, pt_slice key, MDB_val *record)
{
    pt_lmdb_part part;
    uint64_t bucket = 0;
    for (unsigned depth = 0;; depth++) {
        pt_lmdb_part_at(&part, key, depth, bucket);
        MDB_dbi dbi = pt_lmdb_part_dbi(env, depth);
        if (part.size != PT_LMDB_LINK_SIZE) {
            MDB_val mdb_key = pt_lmdb_part_val(&part);
            return mdb_get(txn, dbi, &mdb_key, record);
        }
        int mdb_rc = pt_lmdb_follow_link(txn, dbi, &part, &bucket);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
}
