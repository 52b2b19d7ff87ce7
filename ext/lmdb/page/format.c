/*
 * A store is one LMDB environment (the data file, and beside it LMDB's lock file with "-lock" at
 * the end of its name) with four named sub-databases, all in memcmp order without duplicates.
 *
 * `entities`: logical key (entity/key.h) -> record (entity/record.h). Table id 0 is the catalogue.
 * LMDB's keys have at most 511 bytes; of a logical key of more than 510 the first 510 and 00 are
 * the key here, whose value is the u64 number of a bucket, sealed (base/seal.h): a link. No other
 * key here has 511 bytes.
 *
 * `long_keys`: the buckets. u64 number of the bucket in the key, and what follows in the logical
 * key -> record. If more than 502 bytes follow: number, the first 502 and 00 -> u64 number of a
 * further bucket, again a sealed link, and again nothing else has 511 bytes. A bucket has one link
 * to it, and goes with its last key.
 *
 * `chunks`: logical key beginning with PT_TABLE_CHUNKS -> record (transaction/large_value.h).
 *
 * `garbage`: logical key beginning with PT_TABLE_GARBAGE -> u8 format: 1, sealed (entity/key.h).
 *
 * The main database, in which LMDB keeps the roots of those four under their names, holds what is
 * known of the store. A commit that touches any of the four renews their roots, so that its records
 * cost no page of their own; the names order the roots, the current state and the counts beside
 * each other. They are sealed, but for the roots, which are LMDB's. Integers in keys are
 * big-endian, those in values little-endian:
 *
 *     "header"   8 bytes "ptable", 00, 01; then u32 features whose ignorance forbids opening, u32
 *                features whose ignorance forbids writing, u32 features that may be ignored
 *     "current"  renewed by every commit: 16 bytes nonce, u64 id of the LMDB transaction, u64
 *                catalogue generation, i64 last timestamp given out, u32 next table id, u16 highest
 *                name id, u16 highest shape id
 *     "n" id     u16 name id in the key; the property name, UTF-8
 *     "s" id     u16 shape id in the key; the shape's description (entity/shape.h)
 *     "c" table  u32 table id in the key; i64 entities, i64 bytes of their keys and records and of
 *                their chunks, i64 chunks; absent for tables without entities
 *     "bucket"   u64 number of the last bucket made; absent: 0. None is given out twice
 *
 * Header and state may be longer than this, before their seals: what follows is ignored here and
 * not kept, so a format that appends to the state must also set a feature whose ignorance forbids
 * writing. A header of 20 bytes without features is that of a store without seals, which is
 * refused.
 */
#include "lmdb/page/format.h"

#include "base/ticks.h"
#include "entity/key.h"

static const uint8_t STORE_MAGIC[8] = {'p', 't', 'a', 'b', 'l', 'e', 0, 1};

/* Features whose ignorance forbids opening. All stores have the seals. */
enum { SEALED = 1, KNOWN_INCOMPATIBLE = SEALED, KNOWN_READ_ONLY_COMPATIBLE = 0 };

enum { UNSEALED_HEADER_SIZE = 20, READ_ONLY_AT = 12, FEATURES_AT = 8 };

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

static pt_format_key short_key(char kind, uint16_t id)
{
    return (pt_format_key){.bytes = {(uint8_t)kind, (uint8_t)(id >> 8), (uint8_t)id}, .size = 3};
}

pt_format_key pt_format_name_key(uint16_t id)
{
    return short_key('n', id);
}

pt_format_key pt_format_shape_key(uint16_t id)
{
    return short_key('s', id);
}

pt_format_key pt_format_counts_key(uint32_t table_id)
{
    pt_format_key key = {.bytes = {'c'}, .size = 5};
    pt_put_be32(key.bytes + 1, table_id);
    return key;
}

void pt_format_write_header(uint8_t bytes[PT_FORMAT_HEADER_SIZE])
{
    memset(bytes, 0, PT_FORMAT_HEADER_SIZE);
    memcpy(bytes, STORE_MAGIC, sizeof STORE_MAGIC);
    pt_put_le32(bytes + FEATURES_AT, SEALED);
    pt_seal(pt_format_header_key(), bytes, PT_FORMAT_HEADER_SIZE);
}

pt_format_kind pt_format_read_header(pt_slice record)
{
    pt_slice content;
    if (record.size < UNSEALED_HEADER_SIZE ||
        memcmp(record.data, STORE_MAGIC, sizeof STORE_MAGIC) != 0) {
        return PT_FORMAT_FOREIGN;
    }
    uint32_t features = pt_get_le32(record.data + FEATURES_AT);
    if (record.size == UNSEALED_HEADER_SIZE && features == 0) {
        return PT_FORMAT_OLDER;
    }
    if (!pt_unseal(pt_format_header_key(), record, &content) ||
        content.size < UNSEALED_HEADER_SIZE) {
        return PT_FORMAT_DAMAGED;
    }
    if ((features & ~(uint32_t)KNOWN_INCOMPATIBLE) != 0) {
        return PT_FORMAT_NEWER;
    }
    if ((pt_get_le32(record.data + READ_ONLY_AT) & ~(uint32_t)KNOWN_READ_ONLY_COMPATIBLE) != 0) {
        return PT_FORMAT_READ_ONLY;
    }
    return PT_FORMAT_OURS;
}

void pt_format_write_state(const pt_format_state *state, uint8_t bytes[PT_FORMAT_STATE_SIZE])
{
    memcpy(bytes, state->nonce, PT_FORMAT_NONCE_SIZE);
    pt_put_le64(bytes + 16, state->version);
    pt_put_le64(bytes + 24, state->catalog_generation);
    pt_put_le64(bytes + 32, (uint64_t)state->clock);
    pt_put_le32(bytes + 40, state->next_table_id);
    pt_put_le16(bytes + 44, state->names);
    pt_put_le16(bytes + 46, state->shapes);
    pt_seal(pt_format_state_key(), bytes, PT_FORMAT_STATE_SIZE);
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
    return *bucket != 0;
}
