/*
 * Checking a whole store, page by page and record by record, without LMDB. The function is
 * pt_engine's method.
 */
#ifndef PT_LMDB_CHECK_H
#define PT_LMDB_CHECK_H

#include "lmdb/file/forks.h"
#include "lmdb/page/page_file.h"
#include "store/engine.h"

int pt_lmdb_check(const char *path, pt_store *store, const pt_watch *watch,
                  const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                  pt_error *error);

/*
 * Which version of a store can be read beside LMDB, and from which descriptor.
 */

/* It must not be moved in memory. */
typedef struct pt_lmdb_inspection {
    pt_lmdb_page_file file;
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
