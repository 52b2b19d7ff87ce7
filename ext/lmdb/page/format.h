/*
 * What a store's file contains: keys in LMDB's databases, and the records of the main database. The
 * format is described in lmdb/page/format.c.
 */
#ifndef PT_LMDB_PAGE_FORMAT_H
#define PT_LMDB_PAGE_FORMAT_H

#include "base/seal.h"
#include "entity/key.h"
#include "store/engine.h"

/* The sub-databases. */
typedef enum pt_format_database {
    PT_FORMAT_ENTITIES,
    PT_FORMAT_LONG_KEYS,
    PT_FORMAT_CHUNKS,
    PT_FORMAT_GARBAGE,
    PT_FORMAT_DATABASES,
} pt_format_database;

const char *pt_format_database_name(pt_format_database database);

/* Finds the sub-database of this name; false if there is none. */
bool pt_format_find_database(pt_slice name, pt_format_database *database);

/*
 * Keys of `entities` and `long_keys`.
 */

enum {
    PT_LMDB_SHORT_KEY_MAX = 510,  /* bytes of a logical key that is stored without a link */
    PT_LMDB_LINK_SIZE = 511,      /* bytes of an LMDB key that is a link */
    PT_LMDB_BUCKET_PREFIX = 8,    /* bytes of the bucket number that begins a key in a bucket */
    PT_LMDB_BUCKET_KEY_MAX = 502, /* bytes of the logical key that may follow it */
    PT_LMDB_DEPTH_MAX = (PT_KEY_LOGICAL_MAX - PT_LMDB_SHORT_KEY_MAX + PT_LMDB_BUCKET_KEY_MAX - 1) /
                        PT_LMDB_BUCKET_KEY_MAX, /* buckets on the way to the longest key */
};

typedef struct pt_format_key {
    uint8_t bytes[5];
    size_t size;
} pt_format_key;

/*
 * The main database.
 */

enum {
    PT_FORMAT_NONCE_SIZE = 16,
    PT_FORMAT_HEADER_SIZE = 20 + PT_SEAL_SIZE,
    PT_FORMAT_HEADER_MAX = 256, /* of later versions */
    PT_FORMAT_STATE_SIZE = 48 + PT_SEAL_SIZE,
    PT_FORMAT_LOGGED_STATE_SIZE = 72 + PT_SEAL_SIZE,
    PT_FORMAT_COUNTS_SIZE = 24 + PT_SEAL_SIZE,
    PT_FORMAT_BUCKET_SIZE = 8 + PT_SEAL_SIZE,
};

/* The record "current", which every commit replaces. */
typedef struct pt_format_state {
    uint8_t nonce[PT_FORMAT_NONCE_SIZE]; /* no two commits have the same */
    uint64_t version;                    /* LMDB's transaction id of the commit */
    uint64_t catalog_generation;
    int64_t clock;
    uint32_t next_table_id;
    uint16_t names;  /* highest name id of the dictionary */
    uint16_t shapes; /* highest shape id */
    uint64_t log_id; /* of the log that holds later commits; 0: none */
    pt_sync sync;    /* how durable the commit is; kept only if there is a log */
    uint64_t shown;  /* what the commit shows: pt_format_shown */
} pt_format_state;

/*
 * The number of what is seen in a version of the tree with the log up to `end`. No two commits of
 * entities have the same. A commit that only writes the log to the tree changes nothing that is
 * seen, so it has the number of before.
 */
static inline uint64_t pt_format_shown(uint64_t version, uint32_t end)
{
    enum { END_SHIFT = 40 };
    return version | (uint64_t)end << END_SHIFT;
}

typedef enum pt_format_kind {
    PT_FORMAT_OURS,
    PT_FORMAT_FOREIGN,   /* not the header of a store */
    PT_FORMAT_DAMAGED,   /* the header of a store, but its checksum is wrong */
    PT_FORMAT_OLDER,     /* keys or records have an older format */
    PT_FORMAT_NEWER,     /* unknown features forbid reading */
    PT_FORMAT_READ_ONLY, /* unknown features forbid writing */
} pt_format_kind;

pt_slice pt_format_header_key(void);
pt_slice pt_format_state_key(void);
pt_slice pt_format_last_bucket_key(void);
pt_format_key pt_format_name_key(uint16_t id);
pt_format_key pt_format_shape_key(uint16_t id);
pt_format_key pt_format_counts_key(uint32_t table_id);

/* These recognize a key that the functions above made, and read the id in it. */
bool pt_format_is_name_key(pt_slice key, uint16_t *id);
bool pt_format_is_shape_key(pt_slice key, uint16_t *id);
bool pt_format_is_counts_key(pt_slice key, uint32_t *table_id);

void pt_format_write_header(uint8_t bytes[PT_FORMAT_HEADER_SIZE]);
pt_format_kind pt_format_read_header(pt_slice record);

/* Copies a header that was read, with what else it says, and marks if the store has a log: then a
 * program that does not know logs must not open it. Returns the size. */
size_t pt_format_mark_log(pt_slice header, bool has_log, uint8_t bytes[PT_FORMAT_HEADER_MAX]);

/* Returns the size: PT_FORMAT_STATE_SIZE if there is no log. */
size_t pt_format_write_state(const pt_format_state *state,
                             uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE]);

/* False if the record is damaged or too short, or has values that no commit writes. */
bool pt_format_read_state(pt_slice record, pt_format_state *state);

void pt_format_write_counts(pt_slice key, const pt_table_counts *counts,
                            uint8_t record[PT_FORMAT_COUNTS_SIZE]);

/* False if the record is damaged or too short. */
bool pt_format_read_counts(pt_slice key, pt_slice record, pt_table_counts *counts);

/* The highest number of a bucket: every bucket has a next number, before which its keys end. */
#define PT_FORMAT_BUCKET_MAX (UINT64_MAX - 1)

/* A bucket number: the record of the last bucket, or the value of a link. */
void pt_format_write_bucket(pt_slice key, uint64_t bucket, uint8_t record[PT_FORMAT_BUCKET_SIZE]);

/* False if the record is damaged, has another size, or is 0 or more than PT_FORMAT_BUCKET_MAX,
 * which no bucket's number is. */
bool pt_format_read_bucket(pt_slice key, pt_slice record, uint64_t *bucket);

#endif
