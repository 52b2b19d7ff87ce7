/*
 * The error carrier: an SQLite result code and the text the user will read. It is handed down
 * through every layer; only the SQLite-facing files turn it into zErrMsg or a function result.
 */
#ifndef PT_BASE_ERROR_H
#define PT_BASE_ERROR_H

typedef struct pt_error {
    int rc;        /* SQLITE_OK, or the (extended) result code */
    char *message; /* from sqlite3_malloc, or NULL; SQLITE_NOMEM never has one */
} pt_error;

#define PT_ERROR_NONE ((pt_error){0})

/*
 * Records a failure, replacing an earlier one, and returns the code that was recorded: `rc`, or
 * SQLITE_NOMEM when the text could not be formatted. The format is sqlite3_mprintf's (%Q, %q, %w).
 */
int pt_error_set(pt_error *error, int rc, const char *format, ...);

/* Records SQLITE_NOMEM and returns it. */
int pt_error_nomem(pt_error *error);

/* Frees the text and makes the carrier empty again. */
void pt_error_clear(pt_error *error);

#endif
