/*
 * An error: an SQLite result code and the message for the user. Every layer passes a pointer to one
 * down. Only the files that SQLite calls turn it into zErrMsg or the result of a function.
 */
#ifndef PT_BASE_ERROR_H
#define PT_BASE_ERROR_H

typedef struct pt_error {
    int rc;         /* SQLITE_OK, or the (extended) result code */
    unsigned names; /* what the message says about the row: PT_NAMES_... */
    char *message;  /* from sqlite3_malloc, or NULL; SQLITE_NOMEM never has one */
} pt_error;

/* A message names the row that the error is about by its keys, and by its number in the statement
 * or the batch. What it leaves out is put in front of it: pt_table_fail_row. */
enum { PT_NAMES_KEYS = 1, PT_NAMES_NUMBER = 2 };

#define PT_ERROR_NONE ((pt_error){0})

/*
 * Records an error in place of any earlier one, and returns the code that it recorded: `rc`, or
 * SQLITE_NOMEM if there was no memory for the message. The format is that of sqlite3_mprintf (%Q,
 * %q, %w).
 */
int pt_error_set(pt_error *error, int rc, const char *format, ...);

/* Notes what the message just set names. Returns the error's code. */
int pt_error_naming(pt_error *error, unsigned names);

/* Records SQLITE_NOMEM and returns it. */
int pt_error_nomem(pt_error *error);

/* Frees the message and sets the code to SQLITE_OK. */
void pt_error_clear(pt_error *error);

#endif
