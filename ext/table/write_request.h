/*
 * WriteMode and IfMatch: they make an INSERT one of the Table service's operations. Such an
 * operation fails with the service's error where plain SQL would silently do nothing. Here they are
 * only read.
 */
#ifndef PT_TABLE_WRITE_REQUEST_H
#define PT_TABLE_WRITE_REQUEST_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/sqlite.h"
#include "entity/column.h"

typedef enum pt_write_mode {
    PT_WRITE_INSERT,
    PT_WRITE_REPLACE,
    PT_WRITE_MERGE,
    PT_WRITE_DELETE,
} pt_write_mode;

typedef struct pt_write_request {
    pt_write_mode mode;
    bool mode_given; /* by WriteMode, not by the kind of statement */
    bool must_exist; /* IfMatch is given */
    pt_slice etag;   /* the entity must have this ETag; data NULL: any */
} pt_write_request;

/* What a row of an INSERT gives. */
typedef struct pt_given_request {
    sqlite3_value *mode;
    sqlite3_value *if_match;
    bool or_replace; /* the statement is an INSERT OR REPLACE */
    const pt_column *columns;
    int column_count;
    sqlite3_value **declared; /* the values of `columns` */
    sqlite3_value *properties;
} pt_given_request;

/*
 * Reads WriteMode and IfMatch. Without WriteMode an INSERT inserts and an INSERT OR REPLACE
 * replaces. The etag points into the value of IfMatch. SQLITE_CONSTRAINT_VTAB (InvalidInput) for an
 * unknown mode; an IfMatch that is neither * nor a weak ETag, or that is given without a mode or
 * with 'insert'; and a delete with properties. SQLITE_NOMEM.
 */
int pt_write_request_read(const pt_given_request *given, pt_write_request *request,
                          pt_error *error);

#endif
