/*
 * Making new stores: files that appear whole or not at all, and private stores, whose files have no
 * name.
 */
#ifndef PT_LMDB_CREATE_H
#define PT_LMDB_CREATE_H

#include "base/error.h"
#include "lmdb/env.h"

/*
 * Makes a new, empty store at `path`, durably, with the permissions of the file `like`
 * (lmdb/file/permissions.h), or by the umask if `like` is NULL or names no file. SQLITE_OK also if
 * there is a file at `path` already, or another process makes one first: that one stays.
 * SQLITE_CANTOPEN if the folder is missing or not writable, SQLITE_FULL, SQLITE_IOERR,
 * SQLITE_NOMEM.
 */
int pt_lmdb_create_file(const char *path, const char *like, pt_error *error);

/*
 * Makes a store in an empty file and leaves it open, with a map of `map_size` bytes and without a
 * lock file: nobody else may know the file. Only mdb_env_sync makes it durable. Returns LMDB's
 * code; after an error the environment is closed.
 */
int pt_lmdb_create_in(pt_lmdb_env *env, const char *name, size_t map_size);

/* Makes and opens a store whose file has no name. It is never synced. */
int pt_lmdb_create_private(pt_lmdb_env *env, pt_error *error);

/* Opens the file of a private store in a new environment, then closes the old one. On failure the
 * old one stays; with `with_same_room` also if the new map would be smaller. No transaction of the
 * environment may be open. */
int pt_lmdb_reopen_private(pt_lmdb_env *env, bool with_same_room, pt_error *error);

#endif
