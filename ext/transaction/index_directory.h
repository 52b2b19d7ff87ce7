/*
 * The indexes of a table, in the store's catalogue. An index is a hidden table, which has a
 * catalogue record of its own:
 *
 *     key      that of its table (transaction/table_directory.h), 00, the names of its columns with
 *              a 00 between two
 *     record   as that of a table, of the kind PT_TABLE_OF_ENTRIES; then u8: 1 if it is unique; u8
 *              number of columns; for each column u16: which values it has had; sealed
 *
 * Bit n of "which values" is set if an entry has had a value of the pt_type n, and PT_INDEX_HAS_CUT
 * if one was cut (entity/index.h). The bits stay when such values are gone. They tell
 * what a look-up need not look for.
 */
#ifndef PT_TRANSACTION_INDEX_DIRECTORY_H
#define PT_TRANSACTION_INDEX_DIRECTORY_H

#include "base/arena.h"
#include "entity/column_map.h"
#include "entity/index.h"
#include "entity/key.h"
#include "transaction/table_directory.h"

enum { PT_INDEX_HAS_CUT = 1 << 15 };

typedef struct pt_index_column {
    pt_slice name;             /* a NUL follows */
    pt_system_property system; /* PT_SYSTEM_PROPERTIES: it is a property */
    int property;              /* then its number in the list's properties */
    uint16_t has;              /* which values */
} pt_index_column;

typedef struct pt_index {
    pt_slice key;   /* in the catalogue */
    pt_slice names; /* of the columns, with a 00 between two */
    uint32_t id;
    pt_key_start start; /* of the keys of its entries */
    bool unique;
    unsigned count;
    int presence; /* the first column that is a property: an entity without it has no entry; -1 */
    pt_index_column columns[PT_ENTRY_COLUMNS_MAX];
} pt_index;

/* The indexes of one table, in the order of the catalogue. Empty if zeroed. */
typedef struct pt_index_list {
    pt_index *indexes;
    unsigned count;
    unsigned capacity;
    pt_column *properties; /* all that are indexed, each once */
    unsigned property_count;
    unsigned property_capacity;
    pt_column_map map;        /* their places in entities */
    pt_table_properties kept; /* the properties of the table */
    pt_arena arena;
    pt_catalog_stamp stamp;
    unsigned loads; /* how often it was loaded */
} pt_index_list;

/*
 * Loads the list of a table, unless it is known. A list is that of one table of one session; free
 * it before it is loaded for another. Pointers into the list are valid until it is loaded again.
 * SQLITE_CORRUPT_VTAB: a record of the catalogue is damaged; SQLITE_NOMEM, or the engine's error.
 */
int pt_index_list_load(pt_index_list *list, pt_session *session, pt_view *view, const char *table,
                       pt_error *error);

void pt_index_list_free(pt_index_list *list);

/* True if writing the table's entities writes nothing else: it has no indexes and keeps no changes.
 */
bool pt_index_list_is_empty(const pt_index_list *list);

/* The index with these columns, or NULL. */
pt_index *pt_index_list_find(const pt_index_list *list, pt_slice names);

/* Adds an index without entries to the catalogue. The table exists, and does not have this index.
 * SQLITE_FULL: no table id is left; SQLITE_NOMEM. */
int pt_index_directory_add(pt_session *session, const char *table,
                           const pt_index_definition *definition, pt_error *error);

/* Drops the index of a key in the catalogue. SQLITE_ERROR: entities of its table expire by it.
 * Other codes as pt_table_directory_remove_key. */
int pt_index_directory_remove(pt_session *session, pt_view *view, pt_slice key, uint32_t id,
                              pt_error *error);

/* Notes that the columns of an index have values with these bits. SQLITE_OK or SQLITE_NOMEM. */
int pt_index_directory_note(pt_session *session, pt_index *index,
                            const uint16_t has[PT_ENTRY_COLUMNS_MAX], pt_error *error);

/* SQLITE_CORRUPT_VTAB: an entry of the index is damaged. */
int pt_index_report_damage(const pt_index *index, pt_error *error);

/* Reads an index from its catalogue key and record. Its key and names point into them. The numbers
 * of properties are not set. False if the record is damaged. */
bool pt_index_read(pt_slice key, pt_slice record, pt_index *index);

#endif
