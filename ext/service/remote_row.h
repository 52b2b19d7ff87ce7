/*
 * The row of a pt_service table: an entity that the service sent, and the columns that SQLite
 * reads.
 */
#ifndef PT_SERVICE_REMOTE_ROW_H
#define PT_SERVICE_REMOTE_ROW_H

#include "base/sqlite.h"
#include "service/config.h"
#include "service/stream.h"

/* The type of the pointer to the row that column Filter returns if the service has judged no
 * filter. */
#define PT_REMOTE_ROW_POINTER "ptable service row"

typedef struct pt_remote_row {
    const pt_service_config *config;
    const pt_page_entity *entity;
    const pt_page *page;    /* has the entity */
    pt_stream_query *query; /* that found it */
    pt_slice filter;        /* the service has judged it; data NULL: none */
    size_t *hints;          /* for each declared column: where an earlier entity had its property */
    pt_buffer text;
} pt_remote_row;

/* xColumn. SQLITE_OK or SQLITE_NOMEM. */
int pt_remote_row_column(pt_remote_row *row, sqlite3_context *context, int column);

void pt_remote_row_free(pt_remote_row *row);

#endif
