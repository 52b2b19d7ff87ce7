#include "lmdb/info.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/map.h"
#include "lmdb/snapshot.h"

/* The mutex keeps other threads from closing the environment. */
static pt_lmdb_readers look_at_readers(pt_lmdb_store *store)
{
    pthread_mutex_lock(&store->mutex);
    pt_lmdb_readers readers = pt_lmdb_env_readers(&store->env);
    pthread_mutex_unlock(&store->mutex);
    return readers;
}

char *pt_lmdb_list_processes(pt_lmdb_store *store)
{
    pt_lmdb_readers readers = look_at_readers(store);
    char *list = sqlite3_mprintf("");
    for (int i = 0; list != NULL && i < readers.process_count; i++) {
        list = sqlite3_mprintf("%z%s%ld", list, i > 0 ? ", " : "", readers.processes[i]);
    }
    return list;
}

static int64_t size_of_file(const pt_lmdb_store *store, int64_t mapped)
{
    int fd;
    struct stat file;
    mdb_env_get_fd(store->env.env, &fd);
    bool is_private = store->fd < 0;
    return !is_private && fstat(fd, &file) == 0 ? (int64_t)file.st_size : mapped;
}

static int read_info(pt_lmdb_snapshot *snapshot, pt_store_info *info, pt_error *error)
{
    const pt_lmdb_store *store = snapshot->store;
    MDB_txn *txn = snapshot->reader.txn;
    MDB_envinfo environment;
    MDB_stat garbage;
    size_t free_pages = 0;
    int mdb_rc = pt_lmdb_count_free_pages(txn, &free_pages);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_stat(txn, store->env.garbage, &garbage);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "looking at its free pages");
    }
    mdb_env_info(store->env.env, &environment);
    int64_t pages = (int64_t)environment.me_last_pgno + 1;
    info->page_size = store->env.page_size;
    info->used_bytes = (pages - (int64_t)free_pages) * info->page_size;
    info->file_bytes = size_of_file(store, pages * info->page_size);
    info->version = (int64_t)snapshot->tree_version;
    info->logged = snapshot->tail_end != 0 ? (int64_t)atomic_load_explicit(&snapshot->tail->commits,
                                                                           memory_order_relaxed)
                                           : 0;
    info->clock = snapshot->base.clock;
    info->garbage = (int64_t)garbage.ms_entries;
    return SQLITE_OK;
}

int pt_lmdb_info(pt_store *base, pt_store_info *info, pt_error *error)
{
    pt_store_info found = {0};
    pt_snapshot *snapshot = NULL;
    int rc = pt_lmdb_snapshot_new(base, &snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Before this function takes a snapshot of its own, which does not count. */
    pt_lmdb_readers readers = look_at_readers((pt_lmdb_store *)base);
    found.readers = readers.count;
    found.oldest_reader = readers.oldest;
    rc = pt_lmdb_snapshot_begin(snapshot, error);
    if (rc == SQLITE_OK) {
        rc = read_info(pt_lmdb_own_snapshot(snapshot), &found, error);
    }
    pt_lmdb_snapshot_free(snapshot);
    if (rc == SQLITE_OK) {
        *info = found;
    }
    return rc;
}
