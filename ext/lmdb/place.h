/*
 * Whether a store's file still has its name: what is written to one that has not would be lost.
 */
#ifndef PT_LMDB_PLACE_H
#define PT_LMDB_PLACE_H

#include "lmdb/registry.h"

/* Whether the file is certainly not the one that has this name. */
bool pt_lmdb_has_lost_name(const struct stat *file, const char *path);

/* The error of a store that has lost its name; `rc`. */
int pt_lmdb_fail_moved(pt_error *error, int rc, const char *path);

/* SQLITE_OK if the store's file has its name, `code` if not; SQLITE_IOERR. */
int pt_lmdb_check_place(const pt_lmdb_store *store, int code, pt_error *error);

/* Before a commit that must last: so must the file's name. SQLITE_OK, SQLITE_IOERR. */
int pt_lmdb_settle_name(pt_lmdb_store *store, pt_error *error);

#endif
