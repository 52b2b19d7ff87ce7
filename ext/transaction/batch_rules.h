/*
 * The rules of an entity group transaction, which batch='azure' enforces: one table, one partition,
 * at most 100 operations, each entity once, at most 4 MiB of keys and records.
 *
 * A batch begins when a table with batch='azure' is written to. From then on the rules hold for
 * every write of the connection to a ptable, until the transaction ends. Writes before that are not
 * checked, but they count as part of the batch.
 *
 * The rules read the memtables' logs to see what has been written, so ROLLBACK TO needs no special
 * care. The table catalogue is not part of a batch; chunks of large values count for its size only.
 */
#ifndef PT_TRANSACTION_BATCH_RULES_H
#define PT_TRANSACTION_BATCH_RULES_H

#include "transaction/connection.h"

enum { PT_BATCH_OPERATIONS_MAX = 100, PT_BATCH_BYTES_MAX = 4 << 20 };

/* A batch begins with the write that the session has just made, unless the session has one. */
void pt_batch_rules_begin(pt_connection *connection, pt_session *session);

/* True if a session of the connection has a batch. Costs next to nothing while none has. */
bool pt_batch_rules_apply(pt_connection *connection);

/* The number of operations that the connection's transaction has made so far. */
size_t pt_batch_rules_operations(const pt_connection *connection);

/*
 * Checks that one more operation of a session fits into the connection's batch: on the entity of
 * this logical key, with so many bytes of key and record. The message names the operation's index,
 * from 0 on. SQLITE_CONSTRAINT_VTAB (CommandsInBatchActOnDifferentPartitions: another partition,
 * table or store; InvalidDuplicateRow; InvalidInput: too many; RequestBodyTooLarge), SQLITE_NOMEM.
 */
int pt_batch_rules_check(const pt_connection *connection, const pt_session *session, pt_slice key,
                         size_t bytes, pt_error *error);

#endif
