/*
 * The records of a log (lmdb/log/file.h): each is one commit.
 *
 * A record, at a multiple of 8 bytes from the first one, is
 *
 *     u32 size      of all of it, a multiple of 8
 *     u16 count     of its operations
 *     u8 sync       what the commit asked for (pt_sync); then u8 0
 *     i64 clock     the last timestamp assigned
 *     u64 version   of the store's file that the record follows
 *     u32 at        where it begins: bytes from the first record
 *     u32 flushed   the records before this place were known to be on the disk when it was written
 *     u64 previous  checksum of the record before, or the seed
 *     u64 checksum  XXH3_64 of everything else, with the seed
 *
 * and its operations: u16 key size, u8 1 for a deletion or 0, u8 0, u32 record size, key, record;
 * then zeros. Integers are little-endian.
 *
 * The seed is made of the log's id and of the nonce of the commit in the store's file that the
 * records follow (lmdb/page/format.c). So records that an earlier commit has put into the file do
 * not verify, and a log begins again without being cleared. As each record has the checksum of the
 * one before, none verifies as the next one unless all before it are there. As it has a checksum of
 * its own, it can also be found beyond a damaged one.
 */
#ifndef PT_LMDB_LOG_RECORD_H
#define PT_LMDB_LOG_RECORD_H

#include <stdbool.h>

#include "base/buffer.h"

enum {
    PT_LOG_RECORD_HEADER = 48,
    PT_LOG_RECORD_ALIGNMENT = 8,
    PT_LOG_OPERATION_HEADER = 8,
};

/* Where a row of records stands: what the next one must say. */
typedef struct pt_log_chain {
    uint64_t version; /* of the store's file that it follows */
    uint64_t seed;
    uint64_t last;    /* checksum of the last record, or the seed */
    uint32_t end;     /* of the last record */
    uint32_t flushed; /* the records before this place are known to be on the disk */
} pt_log_chain;

pt_log_chain pt_log_chain_of(uint64_t log_id, uint64_t version, pt_slice nonce);

/* --- Writing --- */

/* Begins a record in the buffer. False when out of memory; the next two note it in the buffer. */
bool pt_log_record_begin(pt_buffer *buffer);
void pt_log_record_add(pt_buffer *buffer, pt_slice key, pt_slice record, bool deletes);

/* A record, apart from its operations. */
typedef struct pt_log_facts {
    uint16_t count;
    uint8_t sync;
    int64_t clock;
} pt_log_facts;

/* Ends the record: it follows the chain, which stays. Sets *after, the chain with it. */
void pt_log_record_end(pt_buffer *buffer, const pt_log_facts *facts, const pt_log_chain *chain,
                       pt_log_chain *after);

/* --- Reading --- */

typedef struct pt_log_record {
    pt_log_facts facts;  /* count: the operations that are left */
    pt_slice operations; /* these */
} pt_log_record;

typedef struct pt_log_operation {
    pt_slice key;
    pt_slice record;
    bool deletes;
} pt_log_operation;

/* Reads the record at the beginning of `bytes`, and moves the chain on. False if none is there that
 * verifies; then the chain stays. */
bool pt_log_record_read(pt_slice bytes, pt_log_chain *chain, pt_log_record *record);

/* Takes the next operation out of the record. False if there is none, or none that can be read;
 * the count is not 0 then. */
bool pt_log_record_next(pt_log_record *record, pt_log_operation *operation);

/* `bytes` is where the row of records ends. Finds the next record at *at or after it that verifies
 * by itself, and its size. False: there is none. */
bool pt_log_find_beyond(pt_slice bytes, const pt_log_chain *chain, size_t *at, size_t *size);

/*
 * `bytes` is where the row of records ends: at its beginning none verifies. Returns how far the
 * records are known to have been on the disk, by those that verify by themselves further on. More
 * than chain->end: then the record that does not verify was whole on the disk once.
 */
uint32_t pt_log_flushed_beyond(pt_slice bytes, const pt_log_chain *chain);

/*
 * `bytes` is the beginning of a log of which no record verifies. True if it says of itself that it
 * begins with a full commit that follows a later version of the store's file than the chain: that
 * version was on the disk, so the file is an older one.
 */
bool pt_log_follows_later_version(pt_slice bytes, const pt_log_chain *chain);

#endif
