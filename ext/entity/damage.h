/*
 * Messages about stored entities that cannot be read. Each names the entity by its keys. Both
 * functions return SQLITE_CORRUPT_VTAB, or SQLITE_NOMEM.
 */
#ifndef PT_ENTITY_DAMAGE_H
#define PT_ENTITY_DAMAGE_H

#include "base/bytes.h"
#include "base/error.h"

/* The key or the record of the entity is malformed. */
int pt_report_damage(pt_slice logical_key, pt_error *error);

/* The large value of one property cannot be read. `name` is NUL-terminated. */
int pt_report_damaged_property(pt_slice logical_key, pt_slice name, pt_error *error);

#endif
