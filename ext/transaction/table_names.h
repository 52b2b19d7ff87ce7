/*
 * Names of tables by their ids. To look for one id, the catalogue must be walked through;
 * statements that come upon many tables gather their names in one walk.
 */
#ifndef PT_TRANSACTION_TABLE_NAMES_H
#define PT_TRANSACTION_TABLE_NAMES_H

#include "transaction/table_directory.h"

typedef struct pt_table_name {
    int64_t id;
    size_t offset; /* into the texts */
} pt_table_name;

/* All zeros is an empty list. */
typedef struct pt_table_names {
    pt_table_name *names;
    size_t count;
    size_t capacity;
    bool sorted;
    pt_buffer texts; /* with a NUL behind each */
} pt_table_names;

/* Adds a name; the id is that of a table, or one that tells more. False: out of memory. */
bool pt_table_names_add(pt_table_names *names, int64_t id, pt_slice name);

/* Adds all tables of the view. Codes as pt_table_walk_next. */
int pt_table_names_add_all(pt_table_names *names, pt_view *view, pt_error *error);

/* The name that was added last with this id, valid until the next one is added; NULL: none was. */
const char *pt_table_names_find(pt_table_names *names, int64_t id);

/* Empties the list; the memory is kept for the next use. */
void pt_table_names_clear(pt_table_names *names);

void pt_table_names_free(pt_table_names *names);

#endif
