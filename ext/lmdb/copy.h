/*
 * Copies the newest version of a store to a new file, without free pages and without the entities
 * of dropped tables. Backups and compacting use it.
 */
#ifndef PT_LMDB_COPY_H
#define PT_LMDB_COPY_H

#include "store/engine.h"

/*
 * Writes the newest version to the empty file `name`, which nobody else may know. On success
 * the contents are on the disk, the file's name not yet. The copy has version numbers of its own,
 * which begin like those of a new store. Messages call the file `place`. SQLITE_CORRUPT if damage
 * to the source shows; SQLITE_INTERRUPT; SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM.
 */
int pt_lmdb_copy(pt_store *store, const char *name, const char *place, const pt_watch *watch,
                 pt_error *error);

#endif
