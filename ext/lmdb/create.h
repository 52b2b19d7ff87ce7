/*
 * New stores: files that appear whole or not at all, and private ones without a name.
 */
#ifndef PT_LMDB_CREATE_H
#define PT_LMDB_CREATE_H

#include "lmdb/env.h"

/*
 * Makes a new, empty store at `path`, durably, for whom the file `like` is (lmdb/file/guards.h);
 * NULL, or one that is not there: as the umask says. A file that is there already, or that somebody
 * else was quicker to make, stays, which counts as success. SQLITE_CANTOPEN with a text if the
 * folder is missing or not writable, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM.
 */
int pt_lmdb_create_file(const char *path, const char *like, pt_error *error);

/*
 * Makes a store in an empty file, and leaves it open: for a file that nobody else knows, as LMDB
 * then needs no lock file; it is synced by mdb_env_sync only. LMDB's code.
 */
int pt_lmdb_create_in(pt_lmdb_env *env, const char *name, size_t map_size);

/* Makes and opens a store of which no name is left on the disk. It is never synced. */
int pt_lmdb_create_private(pt_lmdb_env *env, pt_error *error);

/* Opens the nameless file of an environment in a new one, and closes the old. On failure the old
 * one stays. No transaction of it may be open. */
int pt_lmdb_reopen_private(pt_lmdb_env *env, pt_error *error);

#endif
