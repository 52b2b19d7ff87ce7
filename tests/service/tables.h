/*
 * The service's tables. Each is a ptable of its name; a ptable named "list of tables", which no
 * table of the service can be, lists them.
 */
#ifndef TESTS_SERVICE_TABLES_H
#define TESTS_SERVICE_TABLES_H

#include "service/address.h"

/* Opens the database: a path, or ":memory:". */
void tables_open(service *served, const char *path);

/* The table's own name, or NULL with the reply saying that it is not there. */
const char *tables_find(const service *served, request *asked, const char *name, reply *given);

/* /Tables and /Tables('T'). */
void tables_perform(service *served, request *asked, const address *named, reply *given);

/* A table's entities are in the order of UTF-16's units. As long as all of its keys are in the same
 * order in UTF-8, that is the order of its ptable, which takes no sorting. */
void tables_put_in_units(const service *served, const char *name);
bool tables_is_in_units(const service *served, const char *name);

/* Runs SQL without rows. False: sqlite3_errmsg says why. `format` has %Q or %w for each text. */
bool tables_run(const service *served, const char *format, const char *text);

/* A statement of SQL that must be valid; %w and %Q are filled in from `text`. */
sqlite3_stmt *tables_prepare(const service *served, const char *format, const char *text);

#endif
