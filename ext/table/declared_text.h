/*
 * Names, quotes and blanks in the text of an argument of CREATE VIRTUAL TABLE, and errors that show
 * it.
 */
#ifndef PT_TABLE_DECLARED_TEXT_H
#define PT_TABLE_DECLARED_TEXT_H

#include "base/bytes.h"
#include "base/error.h"

/* The argument that is being read. */
typedef struct pt_declared_text {
    const char *argument; /* as the user wrote it */
    pt_error *error;
} pt_declared_text;

/* Sets the error: "<formatted text> in argument "..."; <advice>". SQLITE_ERROR or SQLITE_NOMEM. */
int pt_declared_refuse(pt_declared_text *reading, const char *advice, const char *format, ...);

/* Returns the first position that is not a blank. */
const char *pt_declared_skip_blanks(const char *text);

/* Copies a text into memory from sqlite3_malloc and adds a NUL. SQLITE_OK or SQLITE_NOMEM. */
int pt_declared_copy(pt_declared_text *reading, pt_slice text, char **copy);

/* Returns the quote that closes the quote `c`; 0 if `c` is not a quote. */
char pt_declared_closing_quote(char c);

/*
 * Reads a quoted text at the cursor and moves the cursor after it. Inside, a closing quote other
 * than ] is written twice. The text is from sqlite3_malloc; the caller must free it, even after an
 * error. SQLITE_OK, SQLITE_ERROR or SQLITE_NOMEM.
 */
int pt_declared_read_quoted(pt_declared_text *reading, const char **cursor, char **text);

/* Reads a name, quoted or not, in the same way. It may not be empty. */
int pt_declared_read_name(pt_declared_text *reading, const char **cursor, char **name);

#endif
