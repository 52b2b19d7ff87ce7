/*
 * The arguments of CREATE VIRTUAL TABLE name USING ptable(...) and pt_queue(...), parsed to columns
 * and options, and the declaration that ptable makes of them for SQLite.
 */
#ifndef PT_TABLE_CONFIG_H
#define PT_TABLE_CONFIG_H

#include "base/error.h"
#include "entity/column.h"
#include "entity/index.h"
#include "store/engine.h"

/* Columns can be named for the rowid in three ways. */
enum { PT_ROW_IDS_MAX = 3 };

typedef struct pt_config {
    char *sql_name;   /* the virtual table's name */
    char *table;      /* name in the store */
    bool table_given; /* by the option `table` */
    char *store;      /* the option `store` as given, or NULL */
    char *expires;    /* entities expire by this property; NULL: the declaration does not say */
    pt_sync sync;
    bool read_only;
    bool deny_scan;
    bool changes;       /* the store keeps the changes; false: the declaration does not say */
    bool azure_limits;  /* refuse entities that the Table service refuses */
    bool azure_batch;   /* a transaction must be an entity group transaction */
    pt_column *columns; /* declared, without the keys */
    int column_count;
    pt_index_definition *indexes; /* declared */
    int index_count;
    const char *row_ids[PT_ROW_IDS_MAX]; /* the columns named for the rowid */
    int row_id_count;
    int64_t max_dequeue_count; /* queue: a message dequeued this often is poison; 0: never */
} pt_config;

typedef enum pt_option_kind {
    PT_OPTION_TEXT,   /* the field is a char * from sqlite3_malloc */
    PT_OPTION_FLAG,   /* a bool: the second choice is true */
    PT_OPTION_CHOICE, /* an unsigned or an enum: the index of a choice */
    PT_OPTION_COUNT,  /* an int64_t */
} pt_option_kind;

/* The modules that share a table of options, as bits. */
typedef enum pt_option_module { PT_FOR_PTABLE = 1, PT_FOR_QUEUE = 2 } pt_option_module;

typedef struct pt_config_option {
    const char *name;
    unsigned modules; /* those that have it, where modules share the table */
    pt_option_kind kind;
    size_t field;           /* its offset in the configuration */
    int64_t least, most;    /* of a count */
    const char *choices[3]; /* of a flag or choice: the words for 0, 1, 2 */
    const char *advice;     /* names the choices */
} pt_config_option;

typedef struct pt_tail_column {
    const char *name;
    const char *declared;       /* type, HIDDEN and collation, with a blank before */
    bool hidden_beside_columns; /* hidden if columns are declared */
} pt_tail_column;

/* How the arguments of one module differ from those of others. */
typedef struct pt_config_form {
    const pt_config_option *options; /* messages list them in this order */
    size_t option_count;
    unsigned module;            /* of those that share the table of options, or 0 */
    const pt_tail_column *tail; /* the columns after the declared ones */
    int tail_count;             /* 0: no columns can be declared */
    bool takes_indexes;         /* index(...) and unique(...) */
} pt_config_form;

extern const pt_config_form pt_config_of_ptable;
extern const pt_config_form pt_config_of_queue;

/* True if the module has this option of its table. */
static inline bool pt_config_has(const pt_config_form *form, const pt_config_option *option)
{
    return (option->modules & form->module) == form->module;
}

/* A queue's poison queue has the queue's name in the store with this added. */
#define PT_POISON_ENDING "-poison"

/*
 * Parses the arguments of xCreate: argv[0] module, argv[1] schema, argv[2] table, then those of the
 * user. SQLITE_NOMEM, or SQLITE_ERROR with a text that names the argument, the reason and the valid
 * choices; `config` is then empty.
 */
int pt_config_parse(int argc, const char *const *argv, pt_config *config, pt_error *error);

/* pt_config_parse for a queue, which declares no columns and has some other options. */
int pt_config_parse_queue(int argc, const char *const *argv, pt_config *config, pt_error *error);

/*
 * pt_config_parse for another module. `config`, whose defaults are set, may be the first member of
 * a larger struct that the options' fields are in. After an error it is empty, but not the rest of
 * the struct.
 */
int pt_config_parse_form(const pt_config_form *form, int argc, const char *const *argv,
                         pt_config *config, pt_error *error);

void pt_config_free(pt_config *config);

/*
 * --- Columns ---
 *
 * A ptable has the columns PartitionKey and RowKey, the declared columns from PT_COLUMN_FIRST on,
 * and a tail of columns that are the same for every ptable. The last columns, from PT_TAIL_COUNT on
 * in the tail, are `_rowid_`, `rowid` and `oid`, which all return the row id of the entity
 * (entity/key.h). They exist because programs use these names for any table, and SQLite takes
 * "_rowid_" for a text if there is no such column. A declared column of the same name replaces one.
 */

enum { PT_COLUMN_PARTITION_KEY = 0, PT_COLUMN_ROW_KEY = 1, PT_COLUMN_FIRST = 2 };

/* The tail, as offsets from PT_COLUMN_FIRST + column_count. */
enum {
    PT_TAIL_FILTER, /* the first hidden column, so t('...') in FROM is a filter */
    PT_TAIL_PROPERTIES,
    PT_TAIL_TIMESTAMP,
    PT_TAIL_ETAG,
    PT_TAIL_WRITE_MODE,
    PT_TAIL_IF_MATCH,
    PT_TAIL_ENTITY_KEY,
    PT_TAIL_COUNT,
};

/* True if a module keeps this name, in any case, for a column of its tail. */
bool pt_declaration_reserves(const pt_config_form *form, const char *name);

/* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
char *pt_declaration_text(const pt_config_form *form, const pt_config *config);

#endif
