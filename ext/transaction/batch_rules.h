/*
 * The rules of an entity group transaction: what batch='azure' refuses. One table, one partition,
 * at most 100 operations, each entity once, at most 4 MiB of keys and records.
 *
 * A transaction in which a table with batch='azure' has written is such a batch, and from then on
 * the rules hold for every write of the connection to a ptable. Before, tables without the option
 * write what they like, but what they have written counts as part of the batch.
 *
 * What has been done so far is read from the memtables' logs, so rollbacks to savepoints need no
 * care. The table catalogue is no part of a batch, and chunks of large values only of its size.
 */
#ifndef PT_TRANSACTION_BATCH_RULES_H
#define PT_TRANSACTION_BATCH_RULES_H

#include "transaction/connection.h"

enum { PT_BATCH_OPERATIONS_MAX = 100, PT_BATCH_BYTES_MAX = 4 << 20 };

/*
 * Whether one more operation of a session, on the entity of a logical key with so many bytes of key
 * and record, fits into the connection's batch. The text names the operation's index, from 0 on.
 * SQLITE_CONSTRAINT_VTAB (CommandsInBatchActOnDifferentPartitions: of another partition, table or
 * store; InvalidDuplicateRow; InvalidInput: too many; RequestBodyTooLarge), SQLITE_NOMEM.
 */
int pt_batch_rules_check(const pt_connection *connection, const pt_session *session, pt_slice key,
                         size_t bytes, pt_error *error);

#endif
