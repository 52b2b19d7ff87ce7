/*
 * The rules of an entity group transaction: what batch='azure' refuses. One table, one partition,
 * at most 100 operations, each entity once, at most 4 MiB of keys and records.
 *
 * What has been done so far is read from the memtable, so rollbacks to savepoints need no care.
 */
#ifndef PT_BATCH_RULES_H
#define PT_BATCH_RULES_H

#include "session.h"

enum { PT_BATCH_OPERATIONS_MAX = 100, PT_BATCH_BYTES_MAX = 4 << 20 };

/*
 * Whether one more operation, on the entity of a logical key with so many bytes of key and record,
 * fits into the transaction's batch. The text names the operation's index, from 0 on.
 * SQLITE_CONSTRAINT_VTAB (CommandsInBatchActOnDifferentPartitions, InvalidDuplicateRow,
 * InvalidInput), SQLITE_TOOBIG (RequestBodyTooLarge), SQLITE_NOMEM.
 */
int pt_batch_rules_check(pt_session *session, pt_slice key, size_t bytes, pt_error *error);

#endif
