/*
 * The table catalogue: which tables a store has. It is table 0 of the store, read and written like
 * any other:
 *
 *     key      be32(0), the table's name with A-Z in lower case
 *     record   u8 format: 1; u32 table id, little-endian; the name as it was given
 *
 * Later versions may append to the record.
 */
#ifndef PT_TABLE_DIRECTORY_H
#define PT_TABLE_DIRECTORY_H

#include "session.h"

enum { PT_TABLE_NAME_MAX = 500 };

/* A table's id as it was last looked up. All zeros: never. */
typedef struct pt_table_id {
    uint64_t generation; /* of the snapshot's catalogue */
    uint64_t changes;    /* of the session's */
    uint32_t id;
    bool known;
} pt_table_id;

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
int pt_table_directory_add(pt_session *session, const char *name, pt_error *error);

#endif
