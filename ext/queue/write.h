/*
 * Writing a queue: INSERT adds a message, UPDATE and DELETE are for who holds one. Each row is all
 * or nothing, for SQLite opens no savepoint around a single row.
 */
#ifndef PT_QUEUE_WRITE_H
#define PT_QUEUE_WRITE_H

#include "queue/queue.h"

/* The module's xUpdate. */
int pt_queue_write(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

#endif
