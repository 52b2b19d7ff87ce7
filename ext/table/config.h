/*
 * CREATE VIRTUAL TABLE name USING ptable(...) or pt_queue(...): from arguments to columns and
 * options.
 */
#ifndef PT_TABLE_CONFIG_H
#define PT_TABLE_CONFIG_H

#include "base/error.h"
#include "entity/edm.h"
#include "store/engine.h"

typedef struct pt_column {
    char *name;
    size_t name_size;
    pt_type type; /* PT_NONE: keeps each value's own */
} pt_column;

typedef struct pt_config {
    char *sql_name;   /* the virtual table's name */
    char *table;      /* name in the store */
    bool table_given; /* by the option `table` */
    char *store;      /* as given by the option, or NULL */
    pt_sync sync;
    bool read_only;
    bool deny_scan;
    bool azure_limits;  /* refuse what the Table service refuses */
    bool azure_batch;   /* a transaction must be an entity group transaction */
    pt_column *columns; /* the declared ones, without the keys */
    int column_count;
    int64_t max_dequeue_count; /* of a queue: then a message is poison; 0: never */
} pt_config;

/* What the name of a queue's poison queue adds to its own in the store. */
#define PT_POISON_ENDING "-poison"

/*
 * Reads the arguments as xCreate gets them: argv[0] module, argv[1] schema, argv[2] table, then the
 * user's. On failure SQLITE_ERROR with a text that names the argument, the reason and the valid
 * choices, or SQLITE_NOMEM; `config` is then empty.
 */
int pt_config_parse(int argc, const char *const *argv, pt_config *config, pt_error *error);

/* The same for a queue, which has no columns to declare and some other options. */
int pt_config_parse_queue(int argc, const char *const *argv, pt_config *config, pt_error *error);

void pt_config_free(pt_config *config);

#endif
