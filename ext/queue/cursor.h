/*
 * Reading a queue. The rows are the messages that have not expired, hidden or not, in the order in
 * which they are handed out.
 */
#ifndef PT_QUEUE_CURSOR_H
#define PT_QUEUE_CURSOR_H

#include "queue/queue.h"

/*
 * The module's methods of these names. Given MessageId and PopReceipt, xFilter checks the receipt:
 * SQLITE_CONSTRAINT_VTAB (PopReceiptMismatch).
 */
int pt_queue_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int pt_queue_cursor_close(sqlite3_vtab_cursor *cursor);
int pt_queue_cursor_filter(sqlite3_vtab_cursor *cursor, int plan_bits, const char *sentence,
                           int argc, sqlite3_value **argv);
int pt_queue_cursor_next(sqlite3_vtab_cursor *cursor);
int pt_queue_cursor_eof(sqlite3_vtab_cursor *cursor);
int pt_queue_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);

#endif
