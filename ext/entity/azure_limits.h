/*
 * The limits of the Table service: what limits='azure' refuses. Lengths of texts are counted in
 * UTF-16 units, as the service counts. Pure.
 *
 * All checks return SQLITE_OK, SQLITE_NOMEM, or the code of a refusal with a text that names the
 * value, the limit, and the service's code at its end.
 */
#ifndef PT_ENTITY_AZURE_LIMITS_H
#define PT_ENTITY_AZURE_LIMITS_H

#include "base/error.h"
#include "entity/bag.h"

/* UTF-16 units of a text in UTF-8. Bytes that are not UTF-8 count as one unit each. */
uint64_t pt_utf16_length(pt_slice text);

/*
 * The name of a table: a letter, then 2 to 62 letters and digits (of ASCII); "tables", in any case,
 * is reserved. SQLITE_CONSTRAINT_VTAB (InvalidResourceName; OutOfRangeInput: its length).
 */
int pt_limits_check_table_name(const char *name, pt_error *error);

/*
 * Keys in UTF-8: 512 units each; none of / \ # ? and no control character (U+0000 to U+001F, U+007F
 * to U+009F). SQLITE_CONSTRAINT_VTAB (PropertyValueTooLarge, OutOfRangeInput).
 */
int pt_limits_check_keys(pt_slice partition_key, pt_slice row_key, pt_error *error);

/* The same but for their lengths. */
int pt_limits_check_key_characters(pt_slice partition_key, pt_slice row_key, pt_error *error);

/*
 * One property, which is not a large value, and its share of the entity's size, which is added to
 * *bytes. SQLITE_CONSTRAINT_VTAB (PropertyNameInvalid; PropertyNameTooLong: 255 units;
 * PropertyValueTooLarge: 32,768 units of a String, 65,536 bytes of a Binary; OutOfRangeInput: a
 * DateTime before 1601).
 *
 * A name must be an identifier of C#. Of ASCII that is letters, _, and digits but at its start. Of
 * the other characters, whose classes are not looked up, those up to U+FFFF are taken for letters,
 * except: U+0080 to U+00BF (but U+00AA, U+00B5 and U+00BA are letters), U+00D7, U+00F7, the
 * punctuation and symbols of U+2000 to U+2BFF, U+2E00 to U+2E7F, U+3000 to U+3004, U+3008 to
 * U+3020, the private use area U+E000 to U+F8FF, and U+FFF0 to U+FFFF.
 */
int pt_limits_check_property(const pt_field *property, uint64_t *bytes, pt_error *error);

/*
 * An entity with so many properties, which have so many bytes together: 252 properties, and 1 MiB
 * by the service's formula. SQLITE_CONSTRAINT_VTAB (TooManyProperties, EntityTooLarge).
 */
int pt_limits_check_entity(pt_slice partition_key, pt_slice row_key, unsigned properties,
                           uint64_t bytes, pt_error *error);

#endif
