/*
 * Which version of a store can be read beside LMDB, and from which descriptor.
 */
#ifndef PT_LMDB_INSPECT_H
#define PT_LMDB_INSPECT_H

#include "lmdb/file/forks.h"
#include "lmdb/page/file.h"
#include "store/engine.h"

/* It must not be moved in memory. */
typedef struct pt_lmdb_inspection {
    pt_lmdb_file file;
    pt_lmdb_metas metas;
    const pt_lmdb_meta *meta; /* of the version */
    pt_snapshot *snapshot;    /* NULL: nothing keeps the version's pages from being used again */
    pt_lmdb_owned owned;      /* file.fd, without a snapshot */
    bool writable;
} pt_lmdb_inspection;

/* The version of a snapshot, which is held until the end. Codes as snapshot_begin, SQLITE_CORRUPT
 * and SQLITE_IOERR_READ. */
int pt_lmdb_inspect_store(pt_store *store, pt_lmdb_inspection *inspection, pt_error *error);

/* The newest version of a file that cannot be opened as a store. SQLITE_CANTOPEN if there is none,
 * SQLITE_IOERR_READ. */
int pt_lmdb_inspect_file(const char *path, pt_lmdb_inspection *inspection, pt_error *error);

void pt_lmdb_inspect_end(pt_lmdb_inspection *inspection);

#endif
