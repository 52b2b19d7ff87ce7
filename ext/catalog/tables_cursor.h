/*
 * Reading pt_tables: the tables of one store, or of all stores that are open.
 */
#ifndef PT_CATALOG_TABLES_CURSOR_H
#define PT_CATALOG_TABLES_CURSOR_H

#include "catalog/tables_source.h"
#include "module/follower.h"
#include "transaction/table_directory.h"

enum {
    PT_TABLES_STORE,
    PT_TABLES_NAME,
    PT_TABLES_ENTITIES,
    PT_TABLES_BYTES,
    PT_TABLES_CHANGES,
    PT_TABLES_EXPIRES,
    PT_TABLES_LIMITS,
    PT_TABLES_HORIZON,
};

/* The virtual table pt_tables. */
typedef struct pt_tables {
    pt_follower follower; /* first */
    pt_declared_tables declared;
    unsigned cursors;     /* number of open cursors */
    pt_buffer named;      /* u32 numbers of the sessions that those cursors were told to read */
    pt_table_names names; /* names by rowid of the rows read by a statement that may delete them */
} pt_tables;

static inline pt_tables *pt_tables_of(sqlite3_vtab *vtab)
{
    return (pt_tables *)vtab;
}

static inline sqlite3_int64 pt_tables_rowid(uint32_t session, uint32_t table)
{
    return (sqlite3_int64)((uint64_t)session << 32 | table);
}

/* True if an open cursor was told to read this session, by its Store or as the default store. */
bool pt_tables_is_named(const pt_tables *tables, uint32_t session);

/* The module's methods. */
int pt_tables_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);
int pt_tables_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor);
int pt_tables_close(sqlite3_vtab_cursor *cursor);
int pt_tables_filter(sqlite3_vtab_cursor *cursor, int plan, const char *sentence, int argc,
                     sqlite3_value **argv);
int pt_tables_next(sqlite3_vtab_cursor *cursor);
int pt_tables_eof(sqlite3_vtab_cursor *cursor);
int pt_tables_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column);
int pt_tables_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *rowid);

#endif
