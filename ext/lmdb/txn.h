/*
 * Begins LMDB transactions and removes what stands in the way: a full reader table, a map that
 * another process has outgrown, an environment that a failed write has made unusable.
 *
 * The last two change the environment, and no transaction of this process may be open while that
 * happens. So every transaction is counted. A change never waits for transactions: it happens when
 * there are none, or is refused.
 */
#ifndef PT_LMDB_TXN_H
#define PT_LMDB_TXN_H

#include "base/assert.h"
#include "lmdb/registry.h"

/* A read transaction that is kept between uses. All of a store's are in a list, because they must
 * be aborted before the environment is closed. */
typedef struct pt_lmdb_reader {
    MDB_txn *txn;  /* NULL, reset, or begun */
    uint64_t seen; /* version of the state that was read last; 0: none */
    struct pt_lmdb_reader *next;
    struct pt_lmdb_reader **link;
} pt_lmdb_reader;

void pt_lmdb_reader_add(pt_lmdb_store *store, pt_lmdb_reader *reader);

/* Removes the reader and aborts its transaction, which must not be begun. */
void pt_lmdb_reader_remove(pt_lmdb_store *store, pt_lmdb_reader *reader);

/*
 * Begin a read or a write transaction, which is counted until pt_lmdb_txn_end. SQLITE_BUSY,
 * SQLITE_IOERR and others, with text.
 */
int pt_lmdb_txn_begin_read(pt_lmdb_store *store, pt_lmdb_reader *reader, pt_error *error);
int pt_lmdb_txn_begin_write(pt_lmdb_store *store, MDB_txn **txn, pt_error *error);

/*
 * LMDB keeps the memory of all pages that a transaction has changed, for the next one, until the
 * environment is closed: up to 512 MB. If a transaction may have left more than PT_LMDB_KEPT_MAX
 * (`holds_much`), this closes the environment and opens it again, unless another transaction of
 * this process is open. Call it after the end of a snapshot.
 */
enum { PT_LMDB_KEPT_MAX = 32 << 20 };
void pt_lmdb_txn_give_back_memory(pt_lmdb_store *store);

/*
 * Sets `holds_much` if a write transaction may have changed so many pages. It ends now, has put so
 * many bytes of keys and records, and has done so many operations that each may have changed a page
 * of its own.
 */
void pt_lmdb_txn_note_size(pt_lmdb_store *store, size_t operations, size_t bytes, bool committed);

/*
 * Corrects the number of the last commit in LMDB's shared memory. The caller holds the writer lock.
 * A process killed right after it wrote a root page has committed, but the number is still that of
 * the commit before. Snapshots go by the number and write transactions by the newest root page, so
 * a session would overwrite a version that it has not read. `known` is a number that was corrected
 * before. Sets *number; 0 if a failed write has broken the environment, whose number cannot be
 * read. Codes as pt_lmdb_txn_begin_write.
 */
int pt_lmdb_txn_correct_number(pt_lmdb_store *store, uint64_t known, uint64_t *number,
                               pt_error *error);

/* To be called after the transaction was reset, aborted or committed. */
static inline void pt_lmdb_txn_end(pt_lmdb_store *store)
{
    PT_ASSERT(atomic_load(&store->active) > 0);
    atomic_fetch_sub(&store->active, 1);
}

/*
 * Calls `work`, which may change the environment, while no transaction of this process is open and
 * none can begin; it must be quick. SQLITE_BUSY if transactions are open, with the store's name and
 * `busy_text` as text; otherwise the result of `work`. If `work` fails and leaves the environment
 * closed, the next transaction opens it again.
 */
typedef int (*pt_lmdb_env_work)(pt_lmdb_store *store, void *context, pt_error *error);
int pt_lmdb_change_env(pt_lmdb_store *store, pt_lmdb_env_work work, void *context,
                       const char *busy_text, pt_error *error);

#endif
