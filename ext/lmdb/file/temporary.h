/*
 * Files that appear whole or not at all: they are made under a temporary name beside their place,
 * the place's name and "-new-" with 16 hexadecimal digits. Who makes one holds its gate
 * (lmdb/file/locks.h); one whose gate is free was left behind by a process that died, and the next
 * that makes a file for the same place removes it.
 */
#ifndef PT_LMDB_FILE_TEMPORARY_H
#define PT_LMDB_FILE_TEMPORARY_H

#include <sys/stat.h>

#include "lmdb/file/forks.h"

/* `fd` is open for writing and holds the gate exclusively; -1: somebody has taken it over. It must
 * not be moved in memory. */
typedef struct pt_lmdb_temporary {
    char *name; /* from sqlite3_malloc; NULL: it has got its own name */
    int fd;
    pt_lmdb_owned owned; /* fd */
} pt_lmdb_temporary;

/*
 * Makes an empty file for `path` (absolute), for whom the file `like` is (lmdb/file/guards.h) or,
 * with NULL, as the umask says, and removes what others have left behind. 0 or errno.
 */
int pt_lmdb_temporary_make(const char *path, const struct stat *like, pt_lmdb_temporary *temporary);

/*
 * Gives it the name `path`, durably; it keeps no other. 0, or errno: EEXIST if something has that
 * name. To be closed in any case.
 */
int pt_lmdb_temporary_publish(pt_lmdb_temporary *temporary, const char *path);

/* Gives it the name `path` in place of the file that has it, not yet durably. 0 or errno. */
int pt_lmdb_temporary_replace(pt_lmdb_temporary *temporary, const char *path);

/* Gives the descriptor away: it is the caller's, and no child has it, as long as none is forked. */
int pt_lmdb_temporary_take(pt_lmdb_temporary *temporary);

/* Closes the file, and removes it unless it was published. */
void pt_lmdb_temporary_close(pt_lmdb_temporary *temporary);

/* Makes the names in the folder of `path` durable. 0 or errno. */
int pt_lmdb_sync_folder(const char *path);

#endif
