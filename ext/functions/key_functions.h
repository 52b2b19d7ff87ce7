/*
 * SQL functions that build keys, split them and compare their prefixes. If an argument is NULL, so
 * is the result. Keys and their parts are TEXT, or INTEGER, which is converted to text, as is a
 * REAL that is an integer. Every other REAL and BLOB are refused.
 */
#ifndef PT_FUNCTIONS_KEY_FUNCTIONS_H
#define PT_FUNCTIONS_KEY_FUNCTIONS_H

#include "base/sqlite.h"

/*
 * pt_starts_with(text, prefix): 1 if the bytes of `text` begin with those of `prefix`, else 0.
 * Values of all types are converted to text. Needs no user data, so that a table's xFindFunction
 * can return it.
 */
void pt_function_starts_with(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_prefix_end(prefix): the smallest text greater than every text with that prefix, or NULL. */
void pt_function_prefix_end(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_compound_key(part, ...) and pt_compound_key_sep(sep, part, ...): the parts joined by '_' or
 * `sep`. Fails if pt_key_part could not return the parts: if one contains the separator, or if the
 * end of one and the separator after it form a separator that begins earlier.
 */
void pt_function_compound_key(sqlite3_context *context, int argc, sqlite3_value **argv);
void pt_function_compound_key_sep(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_key_part(key, n [, sep]): the n-th part, counted from 1, or backward from -1. NULL if there
 * are fewer parts. The key is split from left to right.
 */
void pt_function_key_part(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_pad(integer, width): the digits of an integer >= 0 with leading zeros, `width` characters. */
void pt_function_pad(sqlite3_context *context, int argc, sqlite3_value **argv);

/*
 * pt_hash_bucket(text, n): a number from 0 to n-1: the hash of the text modulo n. The hash is XXH64
 * of its UTF-8 bytes with seed 0. Other languages have libraries for it, and its bits are good for
 * any n:
 *
 *     ""        ef46db3751d8e999
 *     "a"       d24ec4f1a98c6e5b
 *     "foobar"  a2aa05ed9085aaf9
 */
void pt_function_hash_bucket(sqlite3_context *context, int argc, sqlite3_value **argv);

/* pt_entity_key(PartitionKey, RowKey): the BLOB in the column EntityKey (entity/key.h). */
void pt_function_entity_key(sqlite3_context *context, int argc, sqlite3_value **argv);

#endif
