/*
 * The text of one argument of CREATE VIRTUAL TABLE: names, quotes, blanks.
 */
#ifndef PT_TABLE_ARGUMENT_H
#define PT_TABLE_ARGUMENT_H

#include "base/bytes.h"
#include "base/error.h"

/* What is being read. */
typedef struct pt_config_reading {
    const char *argument; /* as the user wrote it */
    pt_error *error;
} pt_config_reading;

/* Fails with "<what> in argument "..."; <advice>", `what` being formatted. */
int pt_config_refuse(pt_config_reading *reading, const char *advice, const char *format, ...);

const char *pt_config_skip_blanks(const char *text);

/* Without trailing blanks. */
pt_slice pt_config_trimmed(const char *text);

/* Bytes of a name without quotes that the text begins with. */
size_t pt_config_name_length(const char *text);

/* The quote that ends what `c` begins; 0 if it begins nothing. */
char pt_config_closing_quote(char c);

/* A copy from sqlite3_malloc, with a NUL. SQLITE_OK or SQLITE_NOMEM. */
int pt_config_copy(pt_config_reading *reading, pt_slice text, char **copy);

/* Reads a quoted text, in which the closing quote (but not ]) may stand doubled. The caller frees
 * the text in any case, and so below. */
int pt_config_read_quoted(pt_config_reading *reading, const char **cursor, char **text);

/* Reads a name, which may be quoted. */
int pt_config_read_name(pt_config_reading *reading, const char **cursor, char **name);

#endif
