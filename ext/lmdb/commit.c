#include "lmdb/commit.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/error.h"
#include "lmdb/store.h"

enum { COMMITS_BETWEEN_READER_CHECKS = 256 };

/*
 * A full commit flushes the whole file before it writes its root page, and that page before it
 * returns: so it also makes durable whatever earlier commits left unflushed.
 */
static int commit_transaction(const pt_lmdb_store *store, MDB_txn *txn, pt_sync sync)
{
    MDB_env *env = store->env.env;
    bool private = store->fd < 0;
    unsigned flags = private || sync == PT_SYNC_OFF ? MDB_NOSYNC
                     : sync == PT_SYNC_NORMAL       ? MDB_NOMETASYNC
                                                    : 0u;
    mdb_env_set_flags(env, MDB_NOSYNC | MDB_NOMETASYNC, 0);
    mdb_env_set_flags(env, flags, 1);
    return mdb_txn_commit(txn);
}

/* Whether the newest version is this commit. SQLITE_OK or the reason why it cannot be said. */
static int look_for(pt_lmdb_store *store, const pt_format_state *state, bool *found,
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
 * LMDB begins nothing any more after it could not write a root page. The map still shows which root
 * page is the newest, and whoever opens the file will see that one.
 */
static bool is_newest(const pt_lmdb_store *store, const pt_format_state *state)
{
    MDB_envinfo info;
    mdb_env_info(store->env.env, &info);
    return info.me_last_txnid == state->version;
}

static bool took_place(pt_lmdb_store *store, const pt_format_state *state)
{
    bool found = false;
    pt_error ignored = PT_ERROR_NONE;
    if (look_for(store, state, &found, &ignored) != SQLITE_OK) {
        found = is_newest(store, state);
    }
    pt_error_clear(&ignored);
    return found;
}

static int flush(const pt_lmdb_store *store)
{
    int fd;
    mdb_env_get_fd(store->env.env, &fd);
    return fdatasync(fd);
}

/* LMDB may report a failure of a commit that nevertheless took place. */
static int settle_failure(pt_lmdb_store *store, const pt_format_state *state, pt_sync sync,
                          int mdb_rc, pt_error *error)
{
    if (!took_place(store, state)) {
        return pt_lmdb_fail(error, pt_lmdb_env_write_problem(&store->env, mdb_rc), store->base.path,
                            "committing");
    }
    if (store->fd < 0 || sync != PT_SYNC_FULL || flush(store) == 0) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q: the commit took place, but may be lost when the power fails "
                        "(%s); check the disk",
                        store->base.path, mdb_strerror(mdb_rc));
}

/*
 * LMDB does not write a last page that it has taken and given back in the same transaction; the
 * file then ends before the last page, which is how a truncated file looks.
 */
static void extend_file(pt_lmdb_store *store)
{
    int fd;
    struct stat file;
    MDB_envinfo info;
    mdb_env_info(store->env.env, &info);
    off_t size = (off_t)((info.me_last_pgno + 1) * store->env.page_size);
    if (size <= store->file_size) {
        return;
    }
    mdb_env_get_fd(store->env.env, &fd);
    if (fstat(fd, &file) == 0 && (file.st_size >= size || ftruncate(fd, size) == 0)) {
        store->file_size = size;
    }
}

static void finish(pt_lmdb_store *store, const pt_format_state *state)
{
    pt_dictionary_commit(store->base.dictionary);
    pt_lmdb_note_clock(store, state->clock);
    extend_file(store);
    if (++store->commits % COMMITS_BETWEEN_READER_CHECKS == 0) {
        mdb_reader_check(store->env.env, NULL);
    }
}

int pt_lmdb_commit(pt_lmdb_store *store, MDB_txn *txn, pt_sync sync, const pt_format_state *state,
                   pt_error *error)
{
    int mdb_rc = commit_transaction(store, txn, sync);
    int rc = mdb_rc == MDB_SUCCESS ? SQLITE_OK : settle_failure(store, state, sync, mdb_rc, error);
    if (rc == SQLITE_OK) {
        finish(store, state);
    }
    return rc;
}
