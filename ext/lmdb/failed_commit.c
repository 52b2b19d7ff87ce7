#include "lmdb/failed_commit.h"

#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/log.h"
#include "lmdb/page/page.h"
#include "lmdb/state.h"

/* Compares the nonce of the newest version with this commit's. Fails if it cannot be read. */
static int find_own_commit(pt_lmdb_store *store, const pt_format_state *state, bool *found,
                           pt_error *error)
{
    MDB_txn *txn;
    pt_format_state newest;
    int mdb_rc = mdb_txn_begin(store->env.env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc == MDB_PANIC) {
        atomic_store(&store->broken, true);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, store->base.path, "looking for a commit that failed");
    }
    int rc = pt_lmdb_read_state(store, txn, &newest, error);
    mdb_txn_abort(txn);
    *found = rc == SQLITE_OK && memcmp(newest.nonce, state->nonce, PT_FORMAT_NONCE_SIZE) == 0;
    return rc;
}

/*
 * After LMDB has failed to write a root page it begins no transaction until the environment is
 * opened again (lmdb/txn.c). The map still shows which root page is the newest, and that is what
 * the next one to open the file will see.
 */
static bool is_newest_root(const pt_lmdb_store *store, const pt_format_state *state)
{
    MDB_envinfo info;
    mdb_env_info(store->env.env, &info);
    return info.me_last_txnid == state->version;
}

static bool commit_took_place(pt_lmdb_store *store, const pt_format_state *state)
{
    bool found = false;
    pt_error ignored = PT_ERROR_NONE;
    if (find_own_commit(store, state, &found, &ignored) != SQLITE_OK) {
        found = is_newest_root(store, state);
    }
    pt_error_clear(&ignored);
    return found;
}

static int flush_file(const pt_lmdb_store *store)
{
    int fd;
    mdb_env_get_fd(store->env.env, &fd);
    return fdatasync(fd);
}

/*
 * LMDB has put back the older number of the root page that it could not write, but not the older
 * roots: they are those of the commit that failed, or a part of them. Nobody reads them, as the
 * number is the older one, but pt_check would take them for damage. So the page becomes what the
 * newest version says, under the number that it has. If this fails, too, the next commit does it.
 */
static void put_back_roots(const pt_lmdb_store *store, const pt_format_state *state)
{
    enum { ROOTS_AT = 32 }; /* up to the number: lmdb/page/page.h */
    const size_t size = PT_LMDB_META_COMMIT_AT - ROOTS_AT;
    uint8_t newest[PT_LMDB_META_SIZE];
    pt_lmdb_meta meta;
    int fd;
    uint64_t failed = state->version % PT_LMDB_METAS;
    off_t page_size = (off_t)store->env.page_size;
    mdb_env_get_fd(store->env.env, &fd);
    if (pread(fd, newest, sizeof newest, (off_t)(1 - failed) * page_size) ==
            (ssize_t)sizeof newest &&
        pt_lmdb_meta_read(newest, 1 - failed, &meta) == NULL &&
        meta.version + 1 == state->version) {
        ssize_t written = pwrite(fd, newest + ROOTS_AT, size, (off_t)failed * page_size + ROOTS_AT);
        (void)written;
    }
}

int pt_lmdb_judge_failed_commit(pt_lmdb_store *store, const pt_format_state *state, pt_sync sync,
                                int mdb_rc, pt_error *error)
{
    if (!commit_took_place(store, state)) {
        if (atomic_load(&store->broken)) {
            put_back_roots(store, state);
            /* Until it is overwritten, the disk may have the new root page: then what is logged
             * from now on would not follow the newest version that the next one finds. */
            if (flush_file(store) != 0) {
                pt_log_distrust_base(store);
            }
        }
        return pt_lmdb_fail(error, pt_lmdb_env_write_problem(&store->env, mdb_rc), store->base.path,
                            "committing");
    }
    /* Visible, but was it flushed? A flush that succeeds now makes up for the one that failed. */
    if (store->fd < 0 || sync != PT_SYNC_FULL || flush_file(store) == 0) {
        return SQLITE_OK;
    }
    pt_log_distrust_base(store);
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q: the commit took place, but may be lost when the power fails "
                        "(%s); check the disk",
                        store->base.path, mdb_strerror(mdb_rc));
}
