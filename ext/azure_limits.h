/*
 * The limits of the Table service: what limits='azure' refuses. Lengths of texts are counted in
 * UTF-16 units, as the service counts. Pure.
 *
 * All functions return SQLITE_OK, SQLITE_NOMEM, or the code of a refusal with a text that names the
 * value, the limit, and the service's code at its end.
 */
#ifndef PT_AZURE_LIMITS_H
#define PT_AZURE_LIMITS_H

#include "bag.h"
#include "error.h"

/* UTF-16 units of a text in UTF-8. Bytes that are not UTF-8 count as one unit each. */
uint64_t pt_utf16_length(pt_slice text);

/* The name of a table: a letter, then 2 to 62 letters and digits; "tables" is reserved.
 * SQLITE_CONSTRAINT_VTAB (InvalidResourceName, OutOfRangeInput). */
int pt_limits_check_table_name(const char *name, pt_error *error);

/* 512 units each; none of / \ # ? and no control character. SQLITE_TOOBIG (PropertyValueTooLarge),
 * SQLITE_CONSTRAINT_VTAB (OutOfRangeInput). */
int pt_limits_check_keys(pt_slice partition_key, pt_slice row_key, pt_error *error);

/*
 * An entity with these properties (STRING and BINARY with their bytes, not large values): their
 * number, names, values and size by the service's formula. SQLITE_TOOBIG (TooManyProperties,
 * PropertyNameTooLong, PropertyValueTooLarge, EntityTooLarge), SQLITE_CONSTRAINT_VTAB
 * (PropertyNameInvalid), SQLITE_MISMATCH (OutOfRangeInput: a DateTime before 1601).
 */
int pt_limits_check_entity(pt_slice partition_key, pt_slice row_key, const pt_field *fields,
                           unsigned count, pt_error *error);

#endif
