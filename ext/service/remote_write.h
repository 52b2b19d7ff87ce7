/*
 * INSERT, UPDATE and DELETE on a table of the service: each row becomes an operation, which the
 * transaction sends later. Only these send requests before: OR IGNORE, which looks for the entity,
 * and an UPDATE that must know the whole entity (it removes a property, changes a key, or has
 * FROM).
 */
#ifndef PT_SERVICE_REMOTE_WRITE_H
#define PT_SERVICE_REMOTE_WRITE_H

#include "base/sqlite.h"

/* xUpdate. */
int pt_remote_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid);

#endif
