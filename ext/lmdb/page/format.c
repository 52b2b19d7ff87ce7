/*
 * The file format of a store.
 *
 * A store is one LMDB environment: a data file, and beside it LMDB's lock file, whose name has
 * "-lock" appended. It has four named sub-databases. Their keys are in memcmp order, without
 * duplicates.
 *
 * `entities`: logical key (entity/key.h) -> record (entity/record.h). Table id 0 is the catalogue.
 *
 * LMDB's keys have at most 511 bytes. A logical key of up to 510 bytes is stored as it is. A longer
 * one is stored in two parts. The first is a link in `entities`: its key is the first 510 bytes of
 * the logical key and 00, its value the u64 number of a bucket, sealed (base/seal.h). All long keys
 * with the same first 510 bytes share this link. No other key has 511 bytes, and the 00 keeps the
 * order: a link comes after the key of exactly those 510 bytes and before all that are greater.
 *
 * `long_keys`: the buckets. u64 number of the bucket | rest of the logical key -> record. A rest of
 * more than 502 bytes is again stored in two parts: the key of a link is the bucket number, the
 * first 502 bytes of the rest and 00, its value the sealed u64 number of another bucket, and again
 * no other key has 511 bytes. Exactly one link leads to each bucket. Both are deleted with the last
 * key of the bucket.
 *
 * `chunks`: logical key that begins with PT_TABLE_CHUNKS -> record (transaction/large_value.h).
 *
 * `garbage`: logical key that begins with PT_TABLE_GARBAGE -> u8 format: 1; of an index, u8 2;
 * sealed (entity/key.h).
 *
 * The main database contains the records below, and under the names of the four sub-databases their
 * roots, which LMDB keeps there. A commit that changes a sub-database replaces its root, so the
 * records cost no page of their own: their names are chosen such that roots, state and counts are
 * neighbours. All records are sealed; the roots, which are LMDB's, are not. Integers in keys are
 * big-endian, those in values little-endian:
 *
 *     "header"   8 bytes "ptable", 00, 01; then three u32 sets of features. A program that does not
 *                know a feature of the first set must not open the store, of the second must not
 *                write to it; features of the third may be ignored
 *     "current"  the state, replaced by every commit: 16 bytes nonce, u64 id of the LMDB
 *                transaction, u64 catalogue generation, i64 last timestamp given out, u32 next
 *                table id, u16 highest name id, u16 highest shape id. While a log is in use
 *                (lmdb/log.h), 0 in the place of the next table id, and at the end u64 the log's
 *                id, u32 what the commit promised (pt_sync), u32 next table id, u64 number of what
 *                is seen (pt_format_shown)
 *     "n" id     u16 name id in the key; the property name, UTF-8
 *     "s" id     u16 shape id in the key; the shape's description (entity/shape.h)
 *     "c" table  u32 table id in the key; i64 entities, i64 bytes of their keys and records and of
 *                their chunks, i64 chunks. A table without entities has none
 *     "bucket"   u64 number of the last bucket made; 0 if absent. Numbers are never used again
 *
 * Header and state may be longer, with more fields before the seal. This program ignores such
 * fields. It never changes a header, and copies it with the store, so features of the third set
 * stay, with their fields. It drops what the state has more; so a format that appends to the state
 * must also set a feature of the second set. One that has other records, sub-databases, kinds of
 * tables or types must set a feature of the first set: pt_check would call them damage. A store
 * with unknown features of the second set is read and checked, but not copied. Stores of older
 * formats are refused: those without a feature that every store has today, and the oldest, whose
 * header has 20 bytes, no features and no seal.
 */
#include "lmdb/page/format.h"

#include "base/ticks.h"

static const uint8_t STORE_MAGIC[8] = {'p', 't', 'a', 'b', 'l', 'e', 0, 1};

/* Features that a program must know to open a store, and to write to it. */
enum {
    FEATURE_SEALED = 1,  /* records have checksums */
    FEATURE_COMPACT = 2, /* table ids of few bytes in keys (entity/key.h), records with two
                            checksums (entity/record.h) */
    FEATURE_INDEXES = 4, /* indexes (transaction/index_directory.h), which all writers must keep */
    FEATURE_PROPERTIES =
        8,            /* of tables (transaction/table_directory.h), which they must keep, too */
    FEATURE_LOG = 16, /* while the state names a log (lmdb/log.h). A program looks at the features
                         once, when it opens the store: so the state of a store with a log is
                         damage to one that does not know logs, and it writes nothing after it */
    /* without one: an older store */
    EVERY_STORE = FEATURE_SEALED | FEATURE_COMPACT | FEATURE_INDEXES | FEATURE_PROPERTIES,
    KNOWN_TO_OPEN = EVERY_STORE | FEATURE_LOG,
    KNOWN_TO_WRITE = 0,
};

enum { FEATURES_TO_OPEN_AT = 8, FEATURES_TO_WRITE_AT = 12, UNSEALED_HEADER_SIZE = 20 };

enum { ID_KEY_SIZE = 3, COUNTS_KEY_SIZE = 5 };

const char *pt_format_database_name(pt_format_database database)
{
    static const char *const names[PT_FORMAT_DATABASES] = {
        [PT_FORMAT_ENTITIES] = "entities",
        [PT_FORMAT_LONG_KEYS] = "long_keys",
        [PT_FORMAT_CHUNKS] = "chunks",
        [PT_FORMAT_GARBAGE] = "garbage",
    };
    return names[database];
}

bool pt_format_find_database(pt_slice name, pt_format_database *database)
{
    *database = 0;
    while (*database < PT_FORMAT_DATABASES &&
           !pt_slice_equal(name, pt_slice_text(pt_format_database_name(*database)))) {
        (*database)++;
    }
    return *database < PT_FORMAT_DATABASES;
}

pt_slice pt_format_header_key(void)
{
    return pt_slice_text("header");
}

pt_slice pt_format_state_key(void)
{
    return pt_slice_text("current");
}

pt_slice pt_format_last_bucket_key(void)
{
    return pt_slice_text("bucket");
}

static pt_format_key make_id_key(char kind, uint16_t id)
{
    return (pt_format_key){.bytes = {(uint8_t)kind, (uint8_t)(id >> 8), (uint8_t)id},
                           .size = ID_KEY_SIZE};
}

static bool read_id_key(pt_slice key, char kind, uint16_t *id)
{
    if (key.size != ID_KEY_SIZE || key.data[0] != (uint8_t)kind) {
        return false;
    }
    *id = (uint16_t)(key.data[1] << 8 | key.data[2]);
    return true;
}

pt_format_key pt_format_name_key(uint16_t id)
{
    return make_id_key('n', id);
}

bool pt_format_is_name_key(pt_slice key, uint16_t *id)
{
    return read_id_key(key, 'n', id);
}

pt_format_key pt_format_shape_key(uint16_t id)
{
    return make_id_key('s', id);
}

bool pt_format_is_shape_key(pt_slice key, uint16_t *id)
{
    return read_id_key(key, 's', id);
}

pt_format_key pt_format_counts_key(uint32_t table_id)
{
    pt_format_key key = {.bytes = {'c'}, .size = COUNTS_KEY_SIZE};
    pt_put_be32(key.bytes + 1, table_id);
    return key;
}

bool pt_format_is_counts_key(pt_slice key, uint32_t *table_id)
{
    if (key.size != COUNTS_KEY_SIZE || key.data[0] != 'c') {
        return false;
    }
    *table_id = pt_get_be32(key.data + 1);
    return true;
}

void pt_format_write_header(uint8_t bytes[PT_FORMAT_HEADER_SIZE])
{
    memset(bytes, 0, PT_FORMAT_HEADER_SIZE);
    memcpy(bytes, STORE_MAGIC, sizeof STORE_MAGIC);
    pt_put_le32(bytes + FEATURES_TO_OPEN_AT, EVERY_STORE);
    pt_seal(pt_format_header_key(), bytes, PT_FORMAT_HEADER_SIZE);
}

pt_format_kind pt_format_read_header(pt_slice record)
{
    pt_slice content;
    if (record.size < UNSEALED_HEADER_SIZE ||
        memcmp(record.data, STORE_MAGIC, sizeof STORE_MAGIC) != 0) {
        return PT_FORMAT_FOREIGN;
    }
    uint32_t features = pt_get_le32(record.data + FEATURES_TO_OPEN_AT);
    if (record.size == UNSEALED_HEADER_SIZE && features == 0) {
        return PT_FORMAT_OLDER;
    }
    if (!pt_unseal(pt_format_header_key(), record, &content) ||
        content.size < UNSEALED_HEADER_SIZE || record.size > PT_FORMAT_HEADER_MAX) {
        return PT_FORMAT_DAMAGED;
    }
    if ((features & ~(uint32_t)KNOWN_TO_OPEN) != 0) {
        return PT_FORMAT_NEWER;
    }
    if ((features & EVERY_STORE) != EVERY_STORE) {
        return PT_FORMAT_OLDER;
    }
    if ((pt_get_le32(record.data + FEATURES_TO_WRITE_AT) & ~(uint32_t)KNOWN_TO_WRITE) != 0) {
        return PT_FORMAT_READ_ONLY;
    }
    return PT_FORMAT_OURS;
}

size_t pt_format_mark_log(pt_slice header, bool has_log, uint8_t bytes[PT_FORMAT_HEADER_MAX])
{
    memmove(bytes, header.data, header.size);
    uint32_t features = pt_get_le32(bytes + FEATURES_TO_OPEN_AT);
    features = has_log ? features | FEATURE_LOG : features & ~(uint32_t)FEATURE_LOG;
    pt_put_le32(bytes + FEATURES_TO_OPEN_AT, features);
    pt_seal(pt_format_header_key(), bytes, header.size);
    return header.size;
}

size_t pt_format_write_state(const pt_format_state *state,
                             uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE])
{
    memcpy(bytes, state->nonce, PT_FORMAT_NONCE_SIZE);
    pt_put_le64(bytes + 16, state->version);
    pt_put_le64(bytes + 24, state->catalog_generation);
    pt_put_le64(bytes + 32, (uint64_t)state->clock);
    pt_put_le32(bytes + 40, state->next_table_id);
    pt_put_le16(bytes + 44, state->names);
    pt_put_le16(bytes + 46, state->shapes);
    size_t size = PT_FORMAT_STATE_SIZE;
    if (state->log_id != 0) {
        pt_put_le32(bytes + 40, 0); /* FEATURE_LOG */
        pt_put_le64(bytes + 48, state->log_id);
        pt_put_le32(bytes + 56, state->sync);
        pt_put_le32(bytes + 60, state->next_table_id);
        pt_put_le64(bytes + 64, state->shown);
        size = PT_FORMAT_LOGGED_STATE_SIZE;
    }
    pt_seal(pt_format_state_key(), bytes, size);
    return size;
}

bool pt_format_read_state(pt_slice record, pt_format_state *state)
{
    pt_slice content;
    if (record.size < PT_FORMAT_STATE_SIZE || !pt_unseal(pt_format_state_key(), record, &content)) {
        return false;
    }
    memcpy(state->nonce, record.data, PT_FORMAT_NONCE_SIZE);
    state->version = pt_get_le64(record.data + 16);
    state->catalog_generation = pt_get_le64(record.data + 24);
    state->clock = (int64_t)pt_get_le64(record.data + 32);
    state->next_table_id = pt_get_le32(record.data + 40);
    state->names = pt_get_le16(record.data + 44);
    state->shapes = pt_get_le16(record.data + 46);
    state->log_id = 0;
    state->sync = PT_SYNC_OFF;
    state->shown = pt_format_shown(state->version, 0);
    if (state->next_table_id == 0 && record.size >= PT_FORMAT_LOGGED_STATE_SIZE) {
        uint32_t sync = pt_get_le32(record.data + 56);
        state->log_id = pt_get_le64(record.data + 48);
        state->sync = sync <= PT_SYNC_FULL ? (pt_sync)sync : PT_SYNC_OFF;
        state->next_table_id = pt_get_le32(record.data + 60);
        state->shown = pt_get_le64(record.data + 64);
    }
    return state->clock >= 0 && state->clock <= PT_TICKS_MAX && state->next_table_id != 0 &&
           state->next_table_id <= PT_TABLE_ID_LIMIT;
}

void pt_format_write_counts(pt_slice key, const pt_table_counts *counts,
                            uint8_t record[PT_FORMAT_COUNTS_SIZE])
{
    pt_put_le64(record, (uint64_t)counts->entities);
    pt_put_le64(record + 8, (uint64_t)counts->bytes);
    pt_put_le64(record + 16, (uint64_t)counts->chunks);
    pt_seal(key, record, PT_FORMAT_COUNTS_SIZE);
}

bool pt_format_read_counts(pt_slice key, pt_slice record, pt_table_counts *counts)
{
    pt_slice content;
    if (record.size < PT_FORMAT_COUNTS_SIZE || !pt_unseal(key, record, &content)) {
        return false;
    }
    counts->entities = (int64_t)pt_get_le64(record.data);
    counts->bytes = (int64_t)pt_get_le64(record.data + 8);
    counts->chunks = (int64_t)pt_get_le64(record.data + 16);
    return true;
}

void pt_format_write_bucket(pt_slice key, uint64_t bucket, uint8_t record[PT_FORMAT_BUCKET_SIZE])
{
    pt_put_le64(record, bucket);
    pt_seal(key, record, PT_FORMAT_BUCKET_SIZE);
}

bool pt_format_read_bucket(pt_slice key, pt_slice record, uint64_t *bucket)
{
    pt_slice content;
    if (record.size != PT_FORMAT_BUCKET_SIZE || !pt_unseal(key, record, &content)) {
        return false;
    }
    *bucket = pt_get_le64(record.data);
    return *bucket != 0 && *bucket <= PT_FORMAT_BUCKET_MAX;
}
