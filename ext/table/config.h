/*
 * CREATE VIRTUAL TABLE name USING ptable(...) or pt_queue(...): from arguments to columns and
 * options.
 */
#ifndef PT_TABLE_CONFIG_H
#define PT_TABLE_CONFIG_H

#include "base/error.h"
#include "entity/column.h"
#include "entity/shape.h"
#include "store/engine.h"

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

/*
 * The table that a ptable is to SQLite: PartitionKey, RowKey, the declared columns, and a tail of
 * columns that every ptable has.
 */

/* Positions in the declared table; the declared columns begin at PT_COLUMN_FIRST. */
enum { PT_COLUMN_PARTITION_KEY = 0, PT_COLUMN_ROW_KEY = 1, PT_COLUMN_FIRST = 2 };

/* The columns behind the declared ones, as offsets from PT_COLUMN_FIRST + column_count. */
enum {
    PT_TAIL_FILTER, /* the first hidden column: what a table-valued function's argument goes to */
    PT_TAIL_PROPERTIES,
    PT_TAIL_TIMESTAMP,
    PT_TAIL_ETAG,
    PT_TAIL_WRITE_MODE,
    PT_TAIL_IF_MATCH,
    PT_TAIL_ENTITY_KEY,
    PT_TAIL_COUNT,
};

/* Whether a column of the tail has this name, in any case. */
bool pt_declaration_reserves(const char *name);

/* The text for sqlite3_declare_vtab, from sqlite3_malloc; NULL when out of memory. */
char *pt_declaration_text(const pt_config *config);

/*
 * Where a table's declared columns are in the shapes of its entities, worked out once for each
 * shape.
 */

typedef struct pt_column_places {
    const pt_shape *shape;
    int place[]; /* per declared column: index of the property, or -1 */
} pt_column_places;

typedef struct pt_column_map {
    const pt_column *columns;
    int column_count;
    pt_column_places **by_id; /* element 0 serves shapes without an id, one after the other */
    unsigned capacity;
} pt_column_map;

/* All zeros but `columns` and `column_count` is the empty map. NULL when out of memory. */
const pt_column_places *pt_column_map_find(pt_column_map *map, const pt_shape *shape);

/* The name id of a column's property; 0 if it is not in the shape. */
static inline uint16_t pt_column_places_name_id(const pt_column_places *places, int column)
{
    int place = places->place[column];
    return place >= 0 ? places->shape->properties[place].name_id : 0;
}

void pt_column_map_free(pt_column_map *map);

#endif
