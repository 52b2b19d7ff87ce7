/*
 * Which operation of the Table service an INSERT is: what WriteMode and IfMatch say. Operations
 * that are named so fail with the service's error where plain SQL would pass over an entity.
 */
#ifndef PT_TABLE_OPERATION_H
#define PT_TABLE_OPERATION_H

#include "table/entity_writer.h"

typedef enum pt_write_mode {
    PT_WRITE_INSERT,
    PT_WRITE_REPLACE,
    PT_WRITE_MERGE,
    PT_WRITE_DELETE,
} pt_write_mode;

typedef struct pt_write_form {
    pt_write_mode mode;
    bool given;      /* by WriteMode, not by the kind of statement */
    bool must_exist; /* IfMatch is given */
    pt_slice etag;   /* that the entity must have; data NULL: any */
} pt_write_form;

/*
 * Reads WriteMode (without it: INSERT, or REPLACE for OR REPLACE) and IfMatch, whose bytes `etag`
 * points to. SQLITE_CONSTRAINT_VTAB (InvalidInput): an unknown mode, IfMatch neither * nor a weak
 * ETag or with a mode that takes none, properties for a DELETE.
 */
int pt_write_form_read(const pt_table *table, const pt_write_arguments *given, pt_write_form *form,
                       pt_error *error);

/*
 * Performs the operation on the entity of a logical key, with the properties in table->bag.
 * SQLITE_CONSTRAINT_PRIMARYKEY (EntityAlreadyExists), SQLITE_CONSTRAINT_CHECK (ResourceNotFound),
 * SQLITE_CONSTRAINT_VTAB (UpdateConditionNotSatisfied), and what pt_entity_put answers. On failure
 * nothing has changed.
 */
int pt_write_perform(pt_table *table, pt_slice key, const pt_write_form *form, pt_error *error);

#endif
