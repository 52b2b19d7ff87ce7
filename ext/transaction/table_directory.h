/*
 * The table catalogue: the tables that a store has. It is table 0 of the store, and is read and
 * written like any other table:
 *
 *     key      PT_TABLE_CATALOG, the table's name with A-Z in lower case
 *     record   u8 format: 1; u32 table id, little-endian; the name as it was given; u8 kind;
 *              properties; sealed (base/seal.h)
 *
 * The name is as long as in the key. If a table has no properties, they are not written, nor is
 * the kind PT_TABLE_OF_ENTITIES. Later versions may append fields before the seal.
 *
 *     properties   u8 which, as bits
 *                  1: u32 id of the changes, u32 id of the deletions, i64 horizon
 *                  2: u16 bytes of the column's name, the name
 *
 * The indexes of a table follow it: their keys are that of the table, 00 and more
 * (transaction/index_directory.h).
 */
#ifndef PT_TRANSACTION_TABLE_DIRECTORY_H
#define PT_TRANSACTION_TABLE_DIRECTORY_H

#include "transaction/scan.h"
#include "transaction/session.h"
#include "transaction/view.h"

enum { PT_TABLE_NAME_MAX = 500 };

/* What a table holds. The codes are stored: never renumber. Later versions may have others. */
typedef enum pt_table_kind {
    PT_TABLE_OF_ENTITIES = 0, /* of the module ptable */
    PT_TABLE_OF_MESSAGES = 1, /* of the module pt_queue */
    PT_TABLE_OF_ENTRIES = 2,  /* an index, which is listed under its table */
} pt_table_kind;

/* When a session read something of the catalogue. All zeros: it did not. */
typedef struct pt_catalog_stamp {
    uint64_t generation; /* of the snapshot's catalogue */
    uint64_t changes;    /* of the session's */
    bool known;
} pt_catalog_stamp;

/* True if the view would show the same again. */
static inline bool pt_catalog_stamp_holds(const pt_catalog_stamp *stamp, const pt_session *reader,
                                          const pt_view *view)
{
    return stamp->known && stamp->generation == view->snapshot->catalog_generation &&
           stamp->changes == pt_session_directory_changes(reader) &&
           pt_session_is_current(reader, view);
}

/* An older view, which only cursors still read, does not show the session's changes: what it shows
 * is not kept. */
static inline void pt_catalog_stamp_set(pt_catalog_stamp *stamp, const pt_session *reader,
                                        const pt_view *view)
{
    *stamp = (pt_catalog_stamp){.generation = view->snapshot->catalog_generation,
                                .changes = pt_session_directory_changes(reader),
                                .known = pt_session_is_current(reader, view)};
}

/* A table's id when it was last looked up. */
typedef struct pt_table_id {
    pt_catalog_stamp stamp;
    uint32_t id;
    pt_table_kind kind;
    bool indexed; /* it has indexes, or properties */
    bool expires; /* its entities do: transaction/expiry.h */
} pt_table_id;

/*
 * What the store keeps for all declarations of a table, apart from indexes. All zeros: nothing.
 * Changes are two hidden tables (transaction/change_log.h).
 */
typedef struct pt_table_properties {
    uint32_t changes_id; /* 0: changes are not kept */
    uint32_t deletions_id;
    int64_t horizon;  /* ticks: what changed until then is not known */
    pt_slice expires; /* the name of the column by which entities expire; empty: none */
} pt_table_properties;

enum { PT_EXPIRES_NAME_MAX = 255 }; /* bytes */

/* A table's entry in the catalogue. The slices point into the entry's record. */
typedef struct pt_table_entry {
    uint32_t id;
    pt_table_kind kind;
    pt_slice name; /* as it was given when the table was created */
    pt_table_properties properties;
} pt_table_entry;

/*
 * Looks the table up in the view. Costs nothing while the catalogue has not changed.
 * SQLITE_NOTFOUND (without a text) if there is none; SQLITE_TOOBIG: name too long;
 * SQLITE_CORRUPT_VTAB: its entry is damaged; SQLITE_NOMEM, or the engine's error.
 */
int pt_table_directory_find(pt_session *session, pt_view *view, const char *name,
                            pt_table_id *table, pt_error *error);

/*
 * Adds a table that does not exist. The session must be writing. SQLITE_TOOBIG: name too long;
 * SQLITE_FULL: no table id is left; SQLITE_NOMEM.
 */
int pt_table_directory_add(pt_session *session, const char *name, pt_table_kind kind,
                           pt_error *error);

/*
 * The entry of a name, valid until the next write or the view's end. SQLITE_NOTFOUND (without a
 * text) and other codes as pt_table_directory_find.
 */
int pt_table_directory_read(pt_view *view, const char *name, pt_table_entry *entry,
                            pt_error *error);

/*
 * Gives a table other properties. Ids of hidden tables that it loses are dropped with what they
 * hold. The session must be writing; `properties` may point into the table's entry. On failure
 * nothing has changed. SQLITE_NOTFOUND (without a text) and other codes as
 * pt_table_directory_find.
 */
int pt_table_directory_set_properties(pt_session *session, pt_view *view, const char *name,
                                      const pt_table_properties *properties, pt_error *error);

/* Sets the key under which the catalogue has the table; with `indexes`, that of its indexes, which
 * all begin with it. Sets key->failed when out of memory. The name has at most PT_TABLE_NAME_MAX
 * bytes. */
void pt_table_directory_key(const char *name, bool indexes, pt_buffer *key);

/* Opens a scan of the catalogue on the indexes of a table. Codes as pt_scan_seek. */
int pt_table_directory_open_indexes(pt_scan *scan, pt_view *view, const char *name,
                                    pt_error *error);

/* Removes the table or index of a key from the catalogue, and marks what it holds to be collected.
 * On failure nothing has changed. SQLITE_OK or SQLITE_NOMEM. */
int pt_table_directory_remove_key(pt_session *session, pt_slice key, uint32_t id, pt_error *error);

/*
 * Drops a table with its indexes and changes: removes its entry, and marks its entities to be
 * collected (entity/key.h). The time does not depend on the number of entities. The session must be
 * writing. On failure nothing has changed. SQLITE_NOTFOUND (without a text) and other codes as
 * above.
 */
int pt_table_directory_remove(pt_session *session, pt_view *view, const char *name,
                              pt_error *error);

/* Reads an entry from its logical key and record, into which its name points. False if the record
 * is damaged. */
bool pt_table_entry_read(pt_slice key, pt_slice record, pt_table_entry *entry);

/* True if the key is that of the entry's name. */
bool pt_table_entry_is_of(const pt_table_entry *entry, pt_slice key);

/* --- All tables of a store, in the order of their names --- */

/* All zeros is a closed walk. A walk does not show tables that are created after it was opened. */
typedef struct pt_table_walk {
    pt_scan scan;
    bool begun;
} pt_table_walk;

/*
 * The first table of the walk is the one named `from`, or the next one in order. Empty: all tables.
 * The walk retains the view. Close it even if this fails. SQLITE_NOMEM, SQLITE_ABORT_ROLLBACK, or
 * the engine's error.
 */
int pt_table_walk_open(pt_table_walk *walk, pt_view *view, pt_slice from, pt_error *error);

/* The next table. *found = false at the end. The entry is valid until the next step.
 * SQLITE_CORRUPT_VTAB: the entry is damaged; SQLITE_INTERRUPT; other codes as pt_table_walk_open.
 */
int pt_table_walk_next(pt_table_walk *walk, pt_table_entry *entry, bool *found, pt_error *error);

/* Releases the view and frees the memory. */
void pt_table_walk_close(pt_table_walk *walk);

/*
 * --- Table names by ids ---
 *
 * The catalogue is ordered by name, so finding an id takes a walk through it. Statements that show
 * many tables collect all names in one walk.
 */

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
    pt_buffer texts; /* each ends with a NUL */
} pt_table_names;

/* Adds a name under an id of the caller's choice: that of the table, or one that also tells the
 * store. False when out of memory. */
bool pt_table_names_add(pt_table_names *names, int64_t id, pt_slice name);

/* Adds all tables of the view. Codes as pt_table_walk_next. */
int pt_table_names_add_all(pt_table_names *names, pt_view *view, pt_error *error);

/* The name that was added last under this id, valid until the next name is added. NULL if there is
 * none. */
const char *pt_table_names_find(pt_table_names *names, int64_t id);

/* Empties the list. Keeps the memory for the next use. */
void pt_table_names_clear(pt_table_names *names);

void pt_table_names_free(pt_table_names *names);

/* --- Counts --- */

/*
 * How much a table holds in the view: the snapshot's counts and the changes of pending operations.
 * Exact. The time depends on the number of the table's pending operations only. SQLITE_OK,
 * SQLITE_NOMEM, SQLITE_INTERRUPT, or the engine's error.
 */
int pt_table_counts_of(pt_view *view, uint32_t table_id, pt_table_counts *counts, pt_error *error);

#endif
