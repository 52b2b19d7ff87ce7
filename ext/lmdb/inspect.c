#include "lmdb/inspect.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/file/foreign.h"
#include "lmdb/find.h"
#include "lmdb/store.h"

enum { SNAPSHOT_TRIES = 64 };

/*
 * The meta page of the snapshot's version: a commit overwrites it when another one has come in
 * between. *found = false then.
 */
static int find_meta(pt_lmdb_inspection *inspection, bool *found, pt_error *error)
{
    uint64_t number = inspection->snapshot->version % PT_LMDB_METAS;
    int rc = pt_lmdb_file_metas(&inspection->file, &inspection->metas, error);
    inspection->meta = &inspection->metas.metas[number];
    *found = inspection->metas.wrong[number] == NULL &&
             inspection->meta->version == inspection->snapshot->version;
    return rc;
}

static int fail_to_find(const pt_lmdb_inspection *inspection, pt_error *error)
{
    uint64_t number = inspection->snapshot->version % PT_LMDB_METAS;
    const char *wrong = inspection->metas.wrong[number];
    return wrong == NULL ? pt_error_set(error, SQLITE_BUSY,
                                        "store %Q changes too fast to be checked; try again",
                                        inspection->file.path)
                         : pt_error_set(error, SQLITE_CORRUPT,
                                        "store %Q is damaged: page %lld %s; restore it from a "
                                        "backup",
                                        inspection->file.path, (sqlite3_int64)number, wrong);
}

static int begin(pt_lmdb_inspection *inspection, pt_error *error)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK && !found && tries < SNAPSHOT_TRIES; tries++) {
        pt_lmdb_snapshot_end(inspection->snapshot);
        rc = pt_lmdb_snapshot_begin(inspection->snapshot, error);
        if (rc == SQLITE_OK) {
            rc = find_meta(inspection, &found, error);
        }
    }
    return rc == SQLITE_OK && !found ? fail_to_find(inspection, error) : rc;
}

int pt_lmdb_inspect_store(pt_store *base, pt_lmdb_inspection *inspection, pt_error *error)
{
    const pt_lmdb_store *store = (const pt_lmdb_store *)base;
    *inspection = (pt_lmdb_inspection){.file = {.path = base->path}};
    int rc = pt_lmdb_snapshot_new(base, &inspection->snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_lmdb_snapshot_begin(inspection->snapshot, error);
    if (rc == SQLITE_OK) {
        mdb_env_get_fd(store->env.env, &inspection->file.fd);
        rc = begin(inspection, error);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_inspect_end(inspection);
    }
    return rc;
}

int pt_lmdb_inspect_file(const char *path, pt_lmdb_inspection *inspection, pt_error *error)
{
    *inspection = (pt_lmdb_inspection){.file = {.path = path}};
    int rc = pt_lmdb_find_file(path, false, &inspection->owned, &inspection->writable, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    inspection->file.fd = inspection->owned.fd;
    rc = pt_lmdb_file_metas(&inspection->file, &inspection->metas, error);
    inspection->meta = pt_lmdb_newest_meta(&inspection->metas);
    if (rc == SQLITE_OK && inspection->meta == NULL) {
        rc = pt_error_set(error, SQLITE_CANTOPEN,
                          "file %Q is not a ptable store, or both its meta pages are damaged; "
                          "restore it from a backup",
                          path);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_inspect_end(inspection);
    }
    return rc;
}

/* Only the file of a store that is not open is held by a descriptor of its own. */
void pt_lmdb_inspect_end(pt_lmdb_inspection *inspection)
{
    if (inspection->snapshot != NULL) {
        pt_lmdb_snapshot_free(inspection->snapshot);
        inspection->snapshot = NULL;
    } else {
        pt_lmdb_foreign_keep(&inspection->owned, inspection->writable);
    }
}
