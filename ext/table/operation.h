/*
 * WriteMode and IfMatch: they make an INSERT one of the Table service's operations. Such an
 * operation fails with the service's error where plain SQL would silently do nothing.
 */
#ifndef PT_TABLE_OPERATION_H
#define PT_TABLE_OPERATION_H

#include "entity/record.h"
#include "table/arguments.h"

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

/*
 * Reads WriteMode and IfMatch. Without WriteMode an INSERT inserts and an INSERT OR REPLACE
 * replaces. The etag points into the value of IfMatch. SQLITE_CONSTRAINT_VTAB (InvalidInput) for an
 * unknown mode; an IfMatch that is neither * nor a weak ETag, or that is given without a mode or
 * with 'insert'; and a delete with properties. SQLITE_NOMEM.
 */
int pt_write_request_read(const pt_table *table, const pt_write_arguments *given,
                          pt_write_request *request, pt_error *error);

/*
 * Checks IfMatch against the entity; `record` is only read if the request has an ETag.
 * SQLITE_CONSTRAINT_CHECK (ResourceNotFound), SQLITE_CONSTRAINT_VTAB (UpdateConditionNotSatisfied).
 */
int pt_write_request_check(const pt_write_request *request, pt_slice key, bool found,
                           const pt_record *record, pt_error *error);

/* True if the statement that is writing has OR REPLACE. */
bool pt_is_or_replace(const pt_table *table);

#endif
