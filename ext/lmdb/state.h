/*
 * Reads the state of a store (lmdb/page/format.h).
 */
#ifndef PT_LMDB_STATE_H
#define PT_LMDB_STATE_H

#include "lmdb/txn.h"

/* SQLITE_CORRUPT with a message that says what is damaged, and what to do. */
int pt_lmdb_fail_damaged(pt_error *error, const pt_lmdb_store *store, const char *what);

/* Reads the record "current" within a transaction. SQLITE_CORRUPT if it is missing or damaged, or a
 * code of pt_lmdb_fail_reading. */
int pt_lmdb_read_state(pt_lmdb_store *store, MDB_txn *txn, pt_format_state *state, pt_error *error);

/* Reads the header, and marks it as that of a store with a log, or without one. Returns LMDB's
 * code.
 */
int pt_lmdb_mark_header(MDB_txn *txn, MDB_dbi meta, bool has_log,
                        uint8_t header[PT_FORMAT_HEADER_MAX], size_t *size);

/* The newest version of the store's file. */
typedef struct pt_lmdb_newest {
    uint64_t number; /* LMDB's */
    pt_format_state state;
    bool has_garbage; /* dropped tables to be collected */
} pt_lmdb_newest;

/* In a transaction of its own. SQLITE_BUSY: too many readers, or the store changes too fast. */
int pt_lmdb_look_at_newest(pt_lmdb_store *store, pt_lmdb_newest *newest, pt_error *error);

#endif
