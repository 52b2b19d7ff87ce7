/*
 * Checking a store: its engine reads it through and verifies its own structures; what the records
 * say, and how they belong together, is verified here.
 */
#ifndef PT_CATALOG_CHECK_H
#define PT_CATALOG_CHECK_H

#include "base/arena.h"
#include "store/engine.h"
#include "transaction/large_value.h"

/*
 * Checks an open store, or with store NULL the file at `path`, which `engine` cannot open. *text,
 * from sqlite3_malloc, is "ok" or the problems (store/check_report.h). With watch NULL nothing
 * interrupts it. SQLITE_NOMEM, SQLITE_IOERR, SQLITE_INTERRUPT, and SQLITE_CANTOPEN if there is
 * nothing that can be checked.
 */
int pt_check(const pt_engine *engine, const char *path, pt_store *store, const pt_watch *watch,
             char **text, pt_error *error);

/*
 * The large values that a check has come upon in records, against the parts that are stored.
 */

typedef struct pt_check_value {
    uint32_t table_id;
    pt_large large;
    pt_slice key; /* logical, of the entity */
} pt_check_value;

/* All zeros: none. */
typedef struct pt_check_values {
    pt_check_value *values;
    size_t count;
    size_t capacity;
    pt_arena keys;
    bool sorted;
    size_t next;     /* value whose parts come next */
    uint32_t number; /* of the next part */
} pt_check_values;

/* False when out of memory. */
bool pt_check_values_add(pt_check_values *values, uint32_t table_id, const pt_large *large,
                         pt_slice key);

typedef enum pt_check_part {
    PT_CHECK_PART_SOUND,
    PT_CHECK_PART_DAMAGED, /* *value: whose part it is */
    PT_CHECK_PART_ORPHAN,  /* no record says that it is there */
} pt_check_part;

/*
 * Takes the next part in the order of their keys. First asked for what lacks parts before this one
 * until there is none.
 */
pt_check_part pt_check_values_take(pt_check_values *values, const pt_chunk_key *chunk, pt_slice key,
                                   pt_slice record, const pt_check_value **value);

/* The next large value that lacks parts, of those before a part (NULL: of all); NULL: there is
 * none. */
const pt_check_value *pt_check_values_lacking(pt_check_values *values, const pt_chunk_key *before);

void pt_check_values_free(pt_check_values *values);

/*
 * The tables that a check has come upon, by their ids: what was counted, and what the store says.
 */

typedef struct pt_check_table {
    uint32_t id;
    bool is_listed;  /* in the catalogue */
    bool is_dropped; /* among those to be collected */
    bool is_counted; /* the store has counts of it */
    pt_table_counts stored;
    pt_table_counts found;
    char *name; /* from sqlite3_malloc, or NULL */
} pt_check_table;

/* In the order of their ids. All zeros: none. */
typedef struct pt_check_tables {
    pt_check_table *tables;
    size_t count;
    size_t capacity;
    size_t last; /* index of the one that was found last */
} pt_check_tables;

/* The table of an id, or NULL. Valid until one is added. */
pt_check_table *pt_check_tables_find(pt_check_tables *tables, uint32_t id);

/* The table of an id, made if it is not there. NULL when out of memory. */
pt_check_table *pt_check_tables_add(pt_check_tables *tables, uint32_t id);

void pt_check_tables_free(pt_check_tables *tables);

#endif
