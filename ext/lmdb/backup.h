/*
 * pt_engine's backup: copies a store that is in use to a new file.
 */
#ifndef PT_LMDB_BACKUP_H
#define PT_LMDB_BACKUP_H

#include "store/engine.h"

/* If it fails there is no new file. */
int pt_lmdb_backup(pt_store *store, const char *path, const pt_watch *watch, int64_t *bytes,
                   pt_error *error);

#endif
