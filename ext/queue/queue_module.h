/*
 * The module `pt_queue`: its methods, put together and registered. Its options are read by
 * table/config.h.
 */
#ifndef PT_QUEUE_QUEUE_MODULE_H
#define PT_QUEUE_QUEUE_MODULE_H

#include "transaction/connection.h"

/* Registers the module, which keeps a reference to the connection. Returns an SQLite code. */
int pt_queue_register(sqlite3 *db, pt_connection *connection);

#endif
