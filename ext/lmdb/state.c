#include "lmdb/state.h"

#include "base/sqlite.h"
#include "lmdb/file/errors.h"

int pt_lmdb_fail_damaged(pt_error *error, const pt_lmdb_store *store, const char *what)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: %s; the file is damaged: restore it from a backup",
                        store->base.path, what);
}

int pt_lmdb_read_state(pt_lmdb_store *store, MDB_txn *txn, pt_format_state *state, pt_error *error)
{
    MDB_val key = pt_lmdb_val(pt_format_state_key());
    MDB_val value;
    int mdb_rc = mdb_get(txn, store->env.meta, &key, &value);
    if (mdb_rc == MDB_NOTFOUND ||
        (mdb_rc == MDB_SUCCESS && !pt_format_read_state(pt_lmdb_slice(value), state))) {
        return pt_lmdb_fail_damaged(error, store,
                                    "its state record (current) is missing or damaged");
    }
    return mdb_rc == MDB_SUCCESS
               ? SQLITE_OK
               : pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading its state");
}

int pt_lmdb_mark_header(MDB_txn *txn, MDB_dbi meta, bool has_log,
                        uint8_t header[PT_FORMAT_HEADER_MAX], size_t *size)
{
    MDB_val key = pt_lmdb_val(pt_format_header_key());
    MDB_val value;
    int mdb_rc = mdb_get(txn, meta, &key, &value);
    if (mdb_rc != MDB_SUCCESS || pt_format_read_header(pt_lmdb_slice(value)) != PT_FORMAT_OURS) {
        return mdb_rc == MDB_SUCCESS || mdb_rc == MDB_NOTFOUND ? MDB_CORRUPTED : mdb_rc;
    }
    *size = pt_format_mark_log(pt_lmdb_slice(value), has_log, header);
    return MDB_SUCCESS;
}

/* --- The newest version --- */

static int read_newest(pt_lmdb_store *store, MDB_txn *txn, pt_lmdb_newest *newest, pt_error *error)
{
    MDB_stat stat;
    int mdb_rc = mdb_stat(txn, store->env.garbage, &stat);
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail_reading(error, mdb_rc, store->base.path, "reading its state");
    }
    newest->number = mdb_txn_id(txn);
    newest->has_garbage = stat.ms_entries != 0;
    return pt_lmdb_read_state(store, txn, &newest->state, error);
}

/* *undisturbed: the version is that of the newest root page. */
static int try_to_look(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_lmdb_newest *newest,
                       bool *undisturbed, pt_error *error)
{
    MDB_envinfo info;
    int rc = pt_lmdb_txn_begin_read(store, reader, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    mdb_env_info(store->env.env, &info);
    *undisturbed = info.me_last_txnid == mdb_txn_id(reader->txn);
    if (*undisturbed) {
        rc = read_newest(store, reader->txn, newest, error);
    }
    mdb_txn_reset(reader->txn);
    pt_lmdb_txn_end(store);
    return rc;
}

/*
 * Commits may pass while the transaction begins, and overwrite what it reads: lmdb/snapshot.c. Or a
 * process was killed after it wrote a root page and before LMDB said so to the others: then
 * transactions do not begin with the newest version until the number is corrected.
 */
int pt_lmdb_look_at_newest(pt_lmdb_store *store, pt_lmdb_newest *newest, pt_error *error)
{
    enum { LOOKS_MAX = 64, LOOKS_BEFORE_CORRECTING = 4 };
    pt_lmdb_reader reader = {0};
    bool undisturbed = false;
    uint64_t number;
    int rc = SQLITE_OK;
    pt_lmdb_reader_add(store, &reader);
    for (int tries = 1; rc == SQLITE_OK && !undisturbed && tries <= LOOKS_MAX; tries++) {
        if (tries > LOOKS_BEFORE_CORRECTING && !store->env.read_only) {
            rc = pt_lmdb_txn_correct_number(store, 0, &number, error);
        }
        if (rc == SQLITE_OK) {
            rc = try_to_look(store, &reader, newest, &undisturbed, error);
        }
    }
    pt_lmdb_reader_remove(store, &reader);
    return rc != SQLITE_OK || undisturbed
               ? rc
               : pt_error_set(error, SQLITE_BUSY, "store %Q changes too fast; try again",
                              store->base.path);
}
