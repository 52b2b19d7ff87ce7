/*
 * Reads the text of an argument of CREATE VIRTUAL TABLE: names, quotes, blanks. Messages contain
 * the argument as the user wrote it.
 */
#ifndef PT_TABLE_CONFIG_TEXT_H
#define PT_TABLE_CONFIG_TEXT_H

#include "base/bytes.h"
#include "base/error.h"

/* The argument that is being read. */
typedef struct pt_config_reading {
    const char *argument; /* as the user wrote it */
    pt_error *error;
} pt_config_reading;

/* Sets the error: "<formatted text> in argument "..."; <advice>". SQLITE_ERROR or SQLITE_NOMEM. */
int pt_config_refuse(pt_config_reading *reading, const char *advice, const char *format, ...);

/* Returns the first position that is not a blank. */
const char *pt_config_skip_blanks(const char *text);

/* Returns the text without trailing blanks. */
pt_slice pt_config_trimmed(const char *text);

/* Bytes of the unquoted name at the start of a text. */
size_t pt_config_name_length(const char *text);

/* Returns the quote that closes the quote `c`; 0 if `c` is not a quote. */
char pt_config_closing_quote(char c);

/* Copies a text into memory from sqlite3_malloc and adds a NUL. SQLITE_OK or SQLITE_NOMEM. */
int pt_config_copy(pt_config_reading *reading, pt_slice text, char **copy);

/*
 * Reads a quoted text at the cursor and moves the cursor after it. Inside, a closing quote other
 * than ] is written twice. The text is from sqlite3_malloc; the caller must free it, even after an
 * error. SQLITE_OK, SQLITE_ERROR or SQLITE_NOMEM.
 */
int pt_config_read_quoted(pt_config_reading *reading, const char **cursor, char **text);

/* Reads a name, quoted or not, in the same way. It may not be empty. */
int pt_config_read_name(pt_config_reading *reading, const char **cursor, char **name);

#endif
