/*
 * The table that the arguments of pt_partitions and pt_properties name: pt_partitions('Employee')
 * names a ptable, pt_partitions('contoso.ptable', 'Employee') a store and a table in it.
 */
#ifndef PT_CATALOG_TABLES_SOURCE_H
#define PT_CATALOG_TABLES_SOURCE_H

#include "entity/record.h"
#include "module/tvf.h"
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
 * Finds the table by the one or two arguments of the cursor. SQLITE_ERROR if there is no such
 * ptable, or no such table in the store (TableNotFound); SQLITE_CANTOPEN if there is no such store;
 * or an error of the engine.
 */
int pt_catalog_source_open(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error);
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

#endif
