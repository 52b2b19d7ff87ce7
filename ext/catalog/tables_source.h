/*
 * The table that a function was told to look into: pt_partitions('Employee') by the name of a
 * ptable, or pt_partitions('contoso.ptable', 'Employee') by a store and a table there.
 */
#ifndef PT_CATALOG_TABLES_SOURCE_H
#define PT_CATALOG_TABLES_SOURCE_H

#include "entity/record.h"
#include "module/tvf.h"
#include "transaction/scan.h"
#include "transaction/session.h"

/* All zeros: closed. */
typedef struct pt_catalog_source {
    pt_connection *connection;
    pt_session *session; /* in use */
    char *store;         /* what it is called in columns */
    char *table;         /* name in the store */
    uint32_t table_id;
    pt_scan scan; /* sees what the transaction sees, and nothing written later */
    pt_buffer low;
    pt_buffer high;
    pt_buffer shape;
} pt_catalog_source;

/*
 * Finds the table by the cursor's one or two arguments. SQLITE_ERROR: no such ptable, or the store
 * has no such table (TableNotFound); SQLITE_CANTOPEN: no such store; and what the engine answers.
 */
int pt_catalog_source_open(pt_catalog_source *source, const pt_tvf_cursor *cursor, pt_error *error);
void pt_catalog_source_close(pt_catalog_source *source);

/*
 * Moves the scan to the first entity with low <= EntityKey < high (forward) or the last one
 * (backward). With `bounded` false the table's end is the high end.
 */
int pt_catalog_source_seek(pt_catalog_source *source, pt_slice low, pt_slice high, bool bounded,
                           pt_direction direction, pt_error *error);

/* Opens the record that the scan stands on. SQLITE_CORRUPT_VTAB, with text, if it is damaged. */
int pt_catalog_source_record(pt_catalog_source *source, pt_record *record, pt_error *error);

/* The id of that record's shape; 0: the record describes its shape itself. */
uint16_t pt_catalog_source_shape(const pt_catalog_source *source);

#endif
