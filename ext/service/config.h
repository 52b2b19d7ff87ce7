/*
 * The arguments of CREATE VIRTUAL TABLE name USING pt_service(...), and the columns of such a
 * table.
 */
#ifndef PT_SERVICE_CONFIG_H
#define PT_SERVICE_CONFIG_H

#include "service/dialect.h"
#include "table/config.h"

typedef struct pt_service_config {
    pt_config base; /* columns, table, deny_scan, read_only */
    char *account;
    bool split;           /* batch: an autocommit statement need not be one batch */
    int64_t parallel;     /* requests at once */
    int64_t streams;      /* of a scan whose order does not matter, at once; 0: not given */
    int64_t timeout;      /* seconds a request */
    int64_t retries;      /* of a request */
    int64_t max_requests; /* of a statement; as in pt_budget */
    bool push_keys;       /* no conditions but those on keys, and Filter, are sent */
    bool declared_types;  /* every entity has the declared types */
    pt_dialect dialect;   /* unknown: not given */
} pt_service_config;

/* The tail, as offsets from PT_COLUMN_FIRST + column_count. Then come the row ids, as in a ptable.
 */
enum {
    PT_REMOTE_FILTER, /* the first hidden column, so t('...') in FROM is a filter */
    PT_REMOTE_PROPERTIES,
    PT_REMOTE_TIMESTAMP,
    PT_REMOTE_ETAG,
    PT_REMOTE_WRITE_MODE, /* for INSERT only, as is IfMatch */
    PT_REMOTE_IF_MATCH,
    PT_REMOTE_ENTITY_KEY,
    PT_REMOTE_ENTITY_VERSION, /* PartitionKey 00 RowKey 00 ETag: the primary key */
    PT_REMOTE_COUNT,
};

/* SQLITE_ERROR if the service can have no table of this name; SQLITE_NOMEM. */
int pt_service_check_table_name(const char *name, pt_error *error);

/* Codes as pt_config_parse and pt_service_check_table_name. After an error `config` is empty. */
int pt_service_config_parse(int argc, const char *const *argv, pt_service_config *config,
                            pt_error *error);
void pt_service_config_free(pt_service_config *config);

/* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
char *pt_service_declaration(const pt_service_config *config);

#endif
