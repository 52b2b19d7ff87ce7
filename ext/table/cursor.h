/*
 * Cursors of ptable: a cursor walks the key ranges of its plan (query/ranges.h) over the session's
 * view (transaction/scan.h).
 */
#ifndef PT_TABLE_CURSOR_H
#define PT_TABLE_CURSOR_H

#include "table/table.h"

/* xOpen, xClose, xFilter, xNext, xEof and xColumn of the module. */
int pt_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int pt_cursor_close(sqlite3_vtab_cursor *cursor);
int pt_cursor_filter(sqlite3_vtab_cursor *cursor, int plan_bits, const char *sentence, int argc,
                     sqlite3_value **argv);
int pt_cursor_next(sqlite3_vtab_cursor *cursor);
int pt_cursor_eof(sqlite3_vtab_cursor *cursor);
int pt_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);

/* Frees a cursor that a table keeps for its next statement. NULL is allowed. */
void pt_cursor_free(pt_cursor *cursor);

#endif
