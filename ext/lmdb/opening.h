/*
 * Opening the environment of an existing store. Whatever is wrong with the file is found and
 * reported before LMDB meets it, since LMDB may end the process there.
 */
#ifndef PT_LMDB_OPENING_H
#define PT_LMDB_OPENING_H

#include "base/error.h"
#include "lmdb/env.h"

/*
 * Opens the environment of the store at `path`. `fd` is a descriptor of the file that is meant.
 * Nobody else may be opening or closing an environment on the file (PT_LOCK_GATE).
 * SQLITE_CANTOPEN or SQLITE_CORRUPT for anything but a sound store, SQLITE_BUSY, SQLITE_NOMEM,
 * SQLITE_IOERR.
 */
int pt_lmdb_open_env(pt_lmdb_env *env, const char *path, int fd, bool writable, pt_error *error);

/* After mdb_env_open, also of a new store: keeps the file's descriptor out of programs that are
 * executed, and does what pt_lmdb_map_note_place does. */
int pt_lmdb_finish_opening(pt_lmdb_env *env, const char *path, pt_error *error);

/* Refuse a store of another format. SQLITE_CANTOPEN. */
int pt_lmdb_fail_older(pt_error *error, const char *path);
int pt_lmdb_fail_newer(pt_error *error, const char *path);

#endif
