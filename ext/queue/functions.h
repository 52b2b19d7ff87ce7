/*
 * The table-valued functions of queues:
 *
 *     pt_queue_get(queue [, count [, seconds]])                hands out messages
 *     pt_queue_update(queue, id, receipt, seconds [, body])    changes a message handed out before
 *
 *     MessageId, Body, InsertionTime, ExpirationTime, TimeNextVisible, DequeueCount, PopReceipt
 *
 * `queue` is the name of a virtual table, with or without a schema. pt_queue_get hands out at most
 * `count` messages (1) and hides them for `seconds` (30). pt_queue_update makes a message visible
 * after `seconds`, sets its body if one is given, and returns it with its new PopReceipt.
 *
 * They change the queue by a nested statement (queue/run_request.h). Inside a transaction the
 * change is part of it; otherwise it commits before the first row is returned. It waits for other
 * writers of the store up to busy_timeout, but fails at once while this connection reads a database
 * with a rollback journal: that read lock may keep the other writer from committing. Then use BEGIN
 * IMMEDIATE, which waits before anything is read. Views and triggers cannot call the functions,
 * except those in the TEMP schema.
 *
 * A call that is written once in a statement hands out once per execution, when it is first read,
 * and returns the same rows however often SQLite reads it, for instance in the inner loop of a join
 * or in a correlated subquery. If its arguments come from another table, each set of arguments is a
 * call of its own. A call that is written twice hands out twice; so may one in a WITH subquery that
 * is used twice, unless it is AS MATERIALIZED. All messages asked for are handed out, even if WHERE
 * or LIMIT then drops rows.
 *
 * When a statement fails, its hand-outs are undone if SQLite undoes the statement: in autocommit,
 * any statement that writes a table (INSERT .. SELECT); inside BEGIN, a statement that may write
 * several rows, if it writes a virtual table or one with constraints, or calls a function.
 * Otherwise the rows that it has written stay too, as in INSERT INTO plain SELECT .. FROM
 * pt_queue_update(..) with an outdated receipt. SQLite undoes no SELECT and, inside BEGIN, no
 * INSERT .. VALUES of one row. After a ROLLBACK the remaining rows of a call can still be read, but
 * their PopReceipts are no longer valid.
 */
#ifndef PT_QUEUE_FUNCTIONS_H
#define PT_QUEUE_FUNCTIONS_H

#include "module/tvf.h"

extern const pt_tvf pt_tvf_queue_get;
extern const pt_tvf pt_tvf_queue_update;

#endif
