#include "lmdb_info.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "lmdb_store.h"
#include "sqlite.h"

/* A line of LMDB's list of readers: process, thread, and the version it reads, or "-". */
static int note_reader(const char *line, void *context)
{
    pt_store_info *info = context;
    const char *last = strrchr(line, ' ');
    int64_t version = last != NULL ? strtoll(last, NULL, 10) : 0;
    if (version > 0) {
        info->readers++;
        if (info->oldest_reader == 0 || version < info->oldest_reader) {
            info->oldest_reader = version;
        }
    }
    return 0;
}

static int note_newest(pt_store *store, pt_store_info *info, pt_error *error)
{
    pt_snapshot *snapshot = NULL;
    int rc = store->engine->snapshot_new(store, &snapshot, error);
    if (rc == SQLITE_OK) {
        rc = store->engine->snapshot_begin(snapshot, error);
    }
    if (rc == SQLITE_OK) {
        info->version = (int64_t)snapshot->version;
        info->clock = snapshot->clock;
    }
    store->engine->snapshot_free(snapshot);
    return rc;
}

int pt_lmdb_info(pt_store *base, pt_store_info *out, pt_error *error)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    if (pt_lmdb_is_inherited(store)) {
        return pt_lmdb_fail_inherited(store, error);
    }
    pt_store_info info = {.page_size = store->env.page_size};
    mdb_reader_list(store->env.env, note_reader, &info);
    int rc = note_newest(base, &info, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    MDB_envinfo env;
    struct stat status;
    mdb_env_info(store->env.env, &env);
    info.used_bytes = (int64_t)(env.me_last_pgno + 1) * info.page_size;
    info.file_bytes =
        store->fd >= 0 && fstat(store->fd, &status) == 0 ? status.st_size : info.used_bytes;
    *out = info;
    return SQLITE_OK;
}
