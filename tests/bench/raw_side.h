/*
 * LMDB's side: what the C API of LMDB does with the same keys and comparable records. A session is
 * an environment; reads renew one transaction, each write or group of writes is one.
 */
#ifndef TESTS_BENCH_RAW_SIDE_H
#define TESTS_BENCH_RAW_SIDE_H

#include <lmdb.h>

#include "bench/raw_record.h"
#include "bench/side.h"

typedef struct raw_session {
    MDB_env *env;
    MDB_dbi dbi;
    MDB_txn *reading; /* reset between operations */
    MDB_cursor *cursor;
    uint32_t table; /* that operations are on; RAW_TABLE */
} raw_session;

void raw_require(int rc);

/* One read operation, in a transaction that is open with its cursor. */
void raw_read(raw_session *session, const job *task, const sample *entity, checksum *digest);

/* One write operation. */
void raw_write(raw_session *session, MDB_txn *txn, const job *task, const sample *entity,
               checksum *digest);

/* Deletes all keys that begin with the prefix, entry by entry; how many. */
uint64_t raw_delete_prefix(raw_session *session, MDB_txn *txn, const uint8_t *prefix, size_t size);

/* Deletes the rows of the session's table with this Age, in one transaction; how many. */
uint64_t raw_delete_aged(raw_session *session, int32_t age);

#endif
