/*
 * Positions in the buckets of long keys. While a cursor on `entities` stands on a link, one of
 * these stands on one of the long keys behind it.
 */
#ifndef PT_LMDB_LONG_CURSOR_H
#define PT_LMDB_LONG_CURSOR_H

#include "lmdb/long_key.h"
#include "store/engine.h"

typedef struct pt_lmdb_long_cursor pt_lmdb_long_cursor;

/* ENOMEM, and LMDB's codes. */
int pt_lmdb_long_cursor_open(MDB_txn *txn, const pt_lmdb_env *env, pt_lmdb_long_cursor **cursor);

/* Makes it usable in another read transaction. LMDB's code. */
int pt_lmdb_long_cursor_renew(pt_lmdb_long_cursor *cursor, MDB_txn *txn);

void pt_lmdb_long_cursor_close(pt_lmdb_long_cursor *cursor); /* NULL is allowed */

/*
 * In all of these `key` and `record` receive the logical key, which is the cursor's until it moves,
 * and its record. LMDB's code; MDB_CORRUPTED: links lead nowhere, or too far.
 */

/* Goes to the first (forward) or last long key behind a link, whose LMDB key and value are given in
 * `key` and `record`. */
int pt_lmdb_long_cursor_enter(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                              MDB_val *record);

/*
 * Goes to the first long key >= `sought` (forward) or the last one < `sought` behind the link that
 * is on the way to `sought`, whose value is given in `record`. MDB_NOTFOUND: there is none behind
 * this link.
 */
int pt_lmdb_long_cursor_seek(pt_lmdb_long_cursor *cursor, pt_slice sought, pt_direction direction,
                             MDB_val *key, MDB_val *record);

/* Goes to the neighbour. MDB_NOTFOUND: there is none behind this link. */
int pt_lmdb_long_cursor_step(pt_lmdb_long_cursor *cursor, pt_direction direction, MDB_val *key,
                             MDB_val *record);

#endif
