/*
 * The table that the arguments of pt_partitions and pt_properties name: pt_partitions('Employee')
 * names a ptable, pt_partitions('contoso.ptable', 'Employee') a store and a table in it. So do
 * conditions on the columns Store and TableName of pt_partitions; without the Store it is the
 * default store.
 */
#ifndef PT_CATALOG_TABLES_SOURCE_H
#define PT_CATALOG_TABLES_SOURCE_H

#include "entity/record.h"
#include "module/tvf.h"
#include "table/table.h"
#include "transaction/index_spelling.h"
#include "transaction/scan.h"
#include "transaction/session.h"

/* Closed if zeroed. */
typedef struct pt_catalog_source {
    pt_connection *connection;
    pt_session *session; /* in use */
    char *store;         /* name in the column Store */
    char *table;         /* name in the store */
    uint32_t table_id;
    pt_scan scan; /* sees what the transaction sees now, and nothing that is written later */
    pt_buffer low;
    pt_buffer high;
    pt_buffer shape;
} pt_catalog_source;

/*
 * Finds the table by the arguments of the cursor. SQLITE_ERROR if there is no such ptable, or no
 * such table in the store (TableNotFound); SQLITE_NOTFOUND, without a text, if the table is given
 * by its columns and does not exist; SQLITE_CANTOPEN if there is no such store; or an error of the
 * engine.
 */
int pt_catalog_source_open(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error);

/*
 * The same for a table that arguments at other places name. `store` is NULL: the table is a ptable.
 * Neither is SQLITE_NOTFOUND.
 */
int pt_catalog_source_open_named(pt_catalog_source *source, const pt_tvf_cursor *cursor,
                                 const char *store, const char *table, pt_error *error);

/* Finds only session and name of the table, which may not be there. */
int pt_catalog_source_find(pt_catalog_source *source, pt_connection *connection, const char *store,
                           const char *table, pt_error *error);

void pt_catalog_source_close(pt_catalog_source *source);

/*
 * Moves the scan to the first (forward) or last (backward) entity with low <= EntityKey < high. If
 * `bounded` is false, there is no upper bound.
 */
int pt_catalog_source_seek(pt_catalog_source *source, pt_slice low, pt_slice high, bool bounded,
                           pt_direction direction, pt_error *error);

/* Opens the record at the scan's position. SQLITE_CORRUPT_VTAB, with text, if it is damaged. */
int pt_catalog_source_record(pt_catalog_source *source, pt_record *record, pt_error *error);

/* The id of that record's shape, or 0 if the record describes its shape itself. */
uint16_t pt_catalog_source_shape(const pt_catalog_source *source);

/*
 * Calls `use` with the schema and name of the ptable or queue that `name` names, with or without a
 * schema. It stays connected meanwhile, unless the application drops it. SQLITE_ERROR: there is
 * none; SQLITE_NOMEM; or what `use` returns.
 */
typedef int pt_catalog_table_use(void *context, const char *schema, const char *name,
                                 pt_error *error);
int pt_catalog_use_ptable(pt_connection *connection, const char *name, pt_catalog_table_use *use,
                          void *context, pt_error *error);

/*
 * --- Declared tables ---
 *
 * What the declarations of the connection's ptables and queues say about writing to their stores:
 * for the catalogue's tables, which write without them.
 */

typedef struct pt_declared_tables {
    pt_connection *connection;
    bool connected; /* this transaction has connected the declared tables, */
    bool complete;  /* all of them */
} pt_declared_tables;

/* What the declarations of one table, or of all tables of a store, say together. */
typedef struct pt_declaration {
    pt_sync sync;              /* the most durable; full if there is none, or one cannot be asked */
    bool azure_batch;          /* one has batch='azure' */
    const pt_table *read_only; /* not NULL: all are read-only, and this is one of them */
} pt_declaration;

/*
 * Connects the declared tables, once in a transaction: `connected` is false when it begins. The
 * statements for this can call the application, which may roll back, so this comes before
 * everything else. Tables that cannot be connected are left out. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_declared_tables_connect(pt_declared_tables *declared, pt_error *error);

/* `name` is that of a table in the session's store; NULL: all tables. */
pt_declaration pt_declared_tables_ask(const pt_declared_tables *declared, const pt_session *session,
                                      const char *name);

/* SQLITE_READONLY if declarations say that the table must not be written to. `purpose` ends the
 * message: "to change its indexes". */
int pt_declaration_check_writable(const pt_declaration *said, const char *purpose, pt_error *error);

/* Adds the columns that declarations of a table have, also in their indexes, to the properties that
 * are known. */
void pt_declared_tables_spell(const pt_declared_tables *declared, const pt_session *session,
                              const char *name, pt_index_spelling *spelling);

#endif
