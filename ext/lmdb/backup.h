/*
 * Backups: copies of a store that is in use.
 */
#ifndef PT_LMDB_BACKUP_H
#define PT_LMDB_BACKUP_H

#include "store/engine.h"

/* pt_engine's backup. A failure leaves no file. */
int pt_lmdb_backup(pt_store *store, const char *path, const pt_watch *watch, int64_t *bytes,
                   pt_error *error);

#endif
