/*
 * The tables that a check has come upon, by their ids: what was counted, and what the store says.
 */
#ifndef PT_CATALOG_CHECK_TABLES_H
#define PT_CATALOG_CHECK_TABLES_H

#include "store/engine.h"

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
