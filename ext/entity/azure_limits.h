/*
 * The limits of the Table service, which limits='azure' enforces. The length of a text is counted
 * in UTF-16 units, as the service counts.
 *
 * All checks return SQLITE_OK, SQLITE_NOMEM, or SQLITE_CONSTRAINT_VTAB with a message that names
 * the value, the limit and the service's error code. The codes are given in parentheses below.
 * `rule` tells the message why the limit holds: one of PT_LIMITS_OF_....
 */
#ifndef PT_ENTITY_AZURE_LIMITS_H
#define PT_ENTITY_AZURE_LIMITS_H

#include "base/error.h"
#include "entity/bag.h"

#define PT_LIMITS_OF_OPTION "limits='azure'"
#define PT_LIMITS_OF_SERVICE "the Table service"

/* UTF-16 units of a text in UTF-8. A byte that is not UTF-8 counts as one unit. */
uint64_t pt_utf16_length(pt_slice text);

/*
 * Checks the name of a table: an ASCII letter, then 2 to 62 ASCII letters and digits; "tables" is
 * reserved, in any case (InvalidResourceName; for the length OutOfRangeInput).
 */
int pt_limits_check_table_name(const char *name, pt_error *error);

/*
 * Checks keys: at most 512 units each (PropertyValueTooLarge), none of / \ # ? and no control
 * character, U+0000 to U+001F and U+007F to U+009F (OutOfRangeInput).
 */
int pt_limits_check_keys(pt_slice partition_key, pt_slice row_key, const char *rule,
                         pt_error *error);

/* Checks the characters of keys, but not their length. */
int pt_limits_check_key_characters(pt_slice partition_key, pt_slice row_key, const char *rule,
                                   pt_error *error);

/*
 * Checks a property that is not a large value, and adds the bytes that the service counts for it to
 * *bytes. Limits: 255 units of the name (PropertyNameTooLong); 32,768 units of a String and 65,536
 * bytes of a Binary (PropertyValueTooLarge); no DateTime before 1601 (OutOfRangeInput).
 *
 * The name must be an identifier in C# (PropertyNameInvalid). The ASCII characters of identifiers
 * are letters, _ and, except at the start, digits. There is no table of the classes of other
 * characters here. Those up to U+FFFF count as letters, except: U+0080 to U+00BF (but U+00AA,
 * U+00B5 and U+00BA are letters), U+00D7, U+00F7, the punctuation and symbols of U+2000 to U+2BFF,
 * U+2E00 to U+2E7F, U+3000 to U+3004, U+3008 to U+3020, the private use area U+E000 to U+F8FF, and
 * U+FFF0 to U+FFFF.
 */
int pt_limits_check_property(const pt_field *property, uint64_t *bytes, const char *rule,
                             pt_error *error);

/*
 * Checks an entity by the number of its properties and the sum of their bytes: at most 252
 * properties (TooManyProperties), and 1 MiB by the service's formula (EntityTooLarge).
 */
int pt_limits_check_entity_size(pt_slice partition_key, pt_slice row_key, unsigned properties,
                                uint64_t bytes, const char *rule, pt_error *error);

#endif
