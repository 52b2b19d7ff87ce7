/*
 * The tables that SQLite has connected on a connection, by their names in SQL: for functions and
 * table-valued functions that are given a table's name.
 */
#ifndef PT_TRANSACTION_CONNECTED_TABLES_H
#define PT_TRANSACTION_CONNECTED_TABLES_H

#include "transaction/connection.h"

/* Part of the table's object, which owns the names. */
typedef struct pt_connected {
    struct pt_connected *next;
    const char *schema;
    const char *name;
} pt_connected;

/* Not copied: remove the table before it is freed. */
void pt_connected_tables_add(pt_connection *connection, pt_connected *table);
/* Does nothing if the table was not added. */
void pt_connected_tables_remove(pt_connection *connection, pt_connected *table);
/* The table that was connected last under this name (case does not matter), or NULL. */
pt_connected *pt_connected_tables_find(const pt_connection *connection, const char *schema,
                                       const char *name);

#endif
