/*
 * The table catalogue: which tables a store has. It is table 0 of the store, read and written like
 * any other:
 *
 *     key      be32(0), the table's name with A-Z in lower case
 *     record   u8 format: 1; u32 table id, little-endian; the name as it was given; u8 kind;
 *              sealed (base/seal.h)
 *
 * The name is as long as in the key. Without a kind it is PT_TABLE_OF_ENTITIES, and that is not
 * written. Later versions may append to it, before the seal.
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
} pt_table_kind;

/* A table's id as it was last looked up. All zeros: never. */
typedef struct pt_table_id {
    uint64_t generation; /* of the snapshot's catalogue */
    uint64_t changes;    /* of the session's */
    uint32_t id;
    pt_table_kind kind;
    bool known;
} pt_table_id;

/* A table as the catalogue has it. The name lies in its entry. */
typedef struct pt_table_entry {
    uint32_t id;
    pt_table_kind kind;
    pt_slice name; /* as it was given when the table was made */
} pt_table_entry;

/*
 * Looks the table up as the view shows it; without cost while the catalogue has not changed.
 * SQLITE_NOTFOUND (without a text) if there is none; SQLITE_TOOBIG: name too long;
 * SQLITE_CORRUPT_VTAB: its entry is damaged; SQLITE_NOMEM, and what the engine answers.
 */
int pt_table_directory_find(pt_session *session, pt_view *view, const char *name,
                            pt_table_id *table, pt_error *error);

/*
 * Enters a table that is not there. The session must be writing. SQLITE_TOOBIG: name too long;
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
 * Drops a table that is there: takes its entry out, and puts it with those whose entities are to be
 * deleted (entity/key.h), in time that does not depend on how many there are. The session must be
 * writing. On failure nothing has changed. SQLITE_NOTFOUND (without a text) and others as above.
 */
int pt_table_directory_remove(pt_session *session, pt_view *view, const char *name,
                              pt_error *error);

/* Reads an entry from its logical key and record. False if no version wrote it. */
bool pt_table_entry_read(pt_slice key, pt_slice record, pt_table_entry *entry);

/* Whether the key is that of the entry's name. */
bool pt_table_entry_is_of(const pt_table_entry *entry, pt_slice key);

/* --- All tables of a store, in the order of their names --- */

/* All zeros is a closed walk. Tables that are made later do not show. */
typedef struct pt_table_walk {
    pt_scan scan;
    bool begun;
} pt_table_walk;

/* Begins before the table of the name `from`, or where it would be; empty: the first one. */
int pt_table_walk_open(pt_table_walk *walk, pt_view *view, pt_slice from, pt_error *error);

/* The next table; *found = false: there is none. The entry is valid until the next step. */
int pt_table_walk_next(pt_table_walk *walk, pt_table_entry *entry, bool *found, pt_error *error);

/* Lets the view go and frees the memory. */
void pt_table_walk_close(pt_table_walk *walk);

/*
 * Names of tables by their ids. To look for one id, the catalogue must be walked through;
 * statements that come upon many tables gather their names in one walk.
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

/*
 * How much a table holds, as a transaction sees it.
 */

/*
 * The counts of the snapshot and what pending operations add to them: exact, in time that grows
 * with the table's pending operations only. SQLITE_OK, SQLITE_NOMEM, and what the engine answers.
 */
int pt_table_counts_of(pt_view *view, uint32_t table_id, pt_table_counts *counts, pt_error *error);

#endif
