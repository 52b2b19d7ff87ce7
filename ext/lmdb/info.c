#include "lmdb/info.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/map.h"
#include "lmdb/snapshot.h"

/*
 * LMDB lists the reader table as text. A reader's line ends with the version that it shows, or with
 * "-" if it shows none. Other lines are headings.
 */
static int note_reader(const char *line, void *context)
{
    pt_store_info *info = context;
    const char *last = strrchr(line, ' ');
    char *end = NULL;
    long long version = last != NULL ? strtoll(last + 1, &end, 10) : 0;
    if (end == NULL || end == last + 1 || *end != '\n') {
        return 0;
    }
    info->readers++;
    if (info->oldest_reader == 0 || version < info->oldest_reader) {
        info->oldest_reader = version;
    }
    return 0;
}

/* The mutex keeps other threads from closing the environment. */
static void list_readers(pt_lmdb_store *store, MDB_msg_func *note, void *context)
{
    pthread_mutex_lock(&store->mutex);
    if (store->env.env != NULL) {
        /* Without the slots of processes that have died. */
        mdb_reader_check(store->env.env, NULL);
        mdb_reader_list(store->env.env, note, context);
    }
    pthread_mutex_unlock(&store->mutex);
}

/* --- Processes --- */

enum { PROCESSES_MAX = 8 };

typedef struct processes {
    long ids[PROCESSES_MAX]; /* each once */
    int count;
} processes;

/* A reader's line begins with its process. */
static int note_process(const char *line, void *context)
{
    processes *found = context;
    char *end;
    long id = strtol(line, &end, 10);
    if (end == line || id == (long)getpid() || found->count == PROCESSES_MAX) {
        return 0;
    }
    for (int i = 0; i < found->count; i++) {
        if (found->ids[i] == id) {
            return 0;
        }
    }
    found->ids[found->count++] = id;
    return 0;
}

char *pt_lmdb_list_processes(pt_lmdb_store *store)
{
    processes found = {.count = 0};
    list_readers(store, note_process, &found);
    char *list = sqlite3_mprintf("");
    for (int i = 0; list != NULL && i < found.count; i++) {
        list = sqlite3_mprintf("%z%s%lld", list, i > 0 ? ", " : "", (sqlite3_int64)found.ids[i]);
    }
    return list;
}

/* --- Information --- */

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
    info->version = (int64_t)snapshot->base.version;
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
    /* Listed before this function takes a snapshot of its own, which does not count. */
    list_readers((pt_lmdb_store *)base, note_reader, &found);
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
