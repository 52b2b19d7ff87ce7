/*
 * The cursor of pt_service: key ranges become streams of entities, several of which may be under
 * way at once, and are read one after the other.
 */
#ifndef PT_SERVICE_REMOTE_CURSOR_H
#define PT_SERVICE_REMOTE_CURSOR_H

#include "base/sqlite.h"

int pt_remote_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int pt_remote_cursor_close(sqlite3_vtab_cursor *cursor);
int pt_remote_cursor_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                            sqlite3_value **argv);
int pt_remote_cursor_next(sqlite3_vtab_cursor *cursor);
int pt_remote_cursor_eof(sqlite3_vtab_cursor *cursor);
int pt_remote_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
int pt_remote_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

#endif
