/*
 * An error: an SQLite result code and the message for the user. Every layer passes a pointer to one
 * down. Only the files that SQLite calls turn it into zErrMsg or the result of a function.
 */
#ifndef PT_BASE_ERROR_H
#define PT_BASE_ERROR_H

typedef struct pt_error {
    int rc;        /* SQLITE_OK, or the (extended) result code */
    char *message; /* from sqlite3_malloc, or NULL; SQLITE_NOMEM never has one */
} pt_error;

#define PT_ERROR_NONE ((pt_error){0})

/*
 * Records an error in place of any earlier one, and returns the code that it recorded: `rc`, or
 * SQLITE_NOMEM if there was no memory for the message. The format is that of sqlite3_mprintf (%Q,
 * %q, %w).
 */
int pt_error_set(pt_error *error, int rc, const char *format, ...);

/* Records SQLITE_NOMEM and returns it. */
int pt_error_nomem(pt_error *error);

/* Frees the message and sets the code to SQLITE_OK. */
void pt_error_clear(pt_error *error);

#endif
