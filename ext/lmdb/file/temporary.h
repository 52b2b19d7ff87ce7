/*
 * New files that appear whole or not at all. Such a file is made beside its place under a temporary
 * name, which is the name of the place with "-new-" and 16 hexadecimal digits, and gets its own
 * name when it is complete. Its maker holds its gate (lmdb/file/locks.h). If the gate is free, the
 * maker has died, and the next process that makes a file for the same place removes it.
 */
#ifndef PT_LMDB_FILE_TEMPORARY_H
#define PT_LMDB_FILE_TEMPORARY_H

#include "base/error.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/permissions.h"

/* Must not be moved in memory. */
typedef struct pt_lmdb_temporary {
    char *name;          /* from sqlite3_malloc; NULL once the file has its own name */
    int fd;              /* open for writing, holds the gate; -1 after pt_lmdb_temporary_take */
    pt_lmdb_owned owned; /* fd */
} pt_lmdb_temporary;

/*
 * Makes an empty file for `path` (absolute), with the permissions of the file `like` (the main
 * database, or the store that the file belongs to) or, if NULL, by the umask. Removes abandoned
 * files for the same place. Returns 0 or errno.
 */
int pt_lmdb_temporary_make(const char *path, const pt_lmdb_permissions *like,
                           pt_lmdb_temporary *temporary);

/*
 * Gives the file the name `path`, durably, as its only name. Returns 0 or errno; EEXIST if there is
 * a file of that name. Close it in any case.
 */
int pt_lmdb_temporary_publish(pt_lmdb_temporary *temporary, const char *path);

/* Puts the file in the place of the file at `path`, not yet durably. Returns 0 or errno. */
int pt_lmdb_temporary_replace(pt_lmdb_temporary *temporary, const char *path);

/* Gives the descriptor to the caller, who must close it in a child, as after pt_lmdb_disown. */
int pt_lmdb_temporary_take(pt_lmdb_temporary *temporary);

/* Closes the file, and removes it if it still has its temporary name. */
void pt_lmdb_temporary_close(pt_lmdb_temporary *temporary);

/* Makes a folder for this user only, in the first usable place for temporary files. Returns its
 * name, from sqlite3_malloc; NULL after an error: SQLITE_CANTOPEN, SQLITE_NOMEM. */
char *pt_lmdb_temporary_folder(pt_error *error);

/* Makes the names in the folder of `path` durable. Returns 0 or errno. */
int pt_lmdb_sync_folder(const char *path);

#endif
