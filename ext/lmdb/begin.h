/*
 * Beginning LMDB transactions, with the remedies for what may stand in the way: a full table of
 * readers, a map that another process has outgrown, an environment that a failed write has left
 * unusable.
 *
 * The last two change the environment, during which no transaction of this process may be open.
 * Every transaction is therefore counted, and nobody waits for those that are: the change is made
 * when there are none, or refused.
 */
#ifndef PT_LMDB_BEGIN_H
#define PT_LMDB_BEGIN_H

#include "lmdb/registry.h"

/* A read transaction that is kept between its uses. In a list, for the day when the environment
 * must be closed. */
typedef struct pt_lmdb_reader {
    MDB_txn *txn;  /* NULL, reset, or begun */
    uint64_t seen; /* version of the state that was read last; 0: none */
    struct pt_lmdb_reader *next;
    struct pt_lmdb_reader **link;
} pt_lmdb_reader;

void pt_lmdb_reader_enter(pt_lmdb_store *store, pt_lmdb_reader *reader);

/* Takes the reader out and aborts its transaction, which must not be begun. */
void pt_lmdb_reader_leave(pt_lmdb_store *store, pt_lmdb_reader *reader);

/*
 * Begins a read transaction (reader given) or a write transaction. It is counted until
 * pt_lmdb_end. SQLITE_BUSY, SQLITE_IOERR and others, with text.
 */
int pt_lmdb_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error);
int pt_lmdb_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error);

/*
 * Lets `work` change the environment, while no transaction of this process is open and none can
 * begin; it must not take long. SQLITE_BUSY if there are transactions, with a text that goes on
 * with `busy_text` after the store's name; else what `work` answers. After a failure that has left
 * the environment closed, the next transaction opens it.
 */
typedef int (*pt_lmdb_work)(pt_lmdb_store *store, void *context, pt_error *error);
int pt_lmdb_change(pt_lmdb_store *store, pt_lmdb_work work, void *context, const char *busy_text,
                   pt_error *error);

/* After a transaction was reset, aborted or committed. */
static inline void pt_lmdb_end(pt_lmdb_store *store)
{
    atomic_fetch_sub(&store->active, 1);
}

#endif
