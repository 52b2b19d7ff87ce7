/*
 * The log for readers: following the log that a state names, and its tail.
 *
 * A process that may write joins those that use the log, and its word says what is published. One
 * that may not write cannot hold PT_LOCK_LOG, so for each view it looks who uses the log: if some
 * process does, it goes by the word, too. If none does, it reads the log alone, as if it had opened
 * the store first.
 */
#ifndef PT_LMDB_LOG_READER_H
#define PT_LMDB_LOG_READER_H

#include "lmdb/log.h"

/*
 * Follows the log that a state names. SQLITE_BUSY: it has ended, so begin again with a newer state.
 * SQLITE_CANTOPEN: it is not there. A process that may not write is given the *word that it goes
 * by.
 */
int pt_log_attach(pt_lmdb_store *store, const pt_format_state *state, uint64_t *word,
                  pt_error *error);

/*
 * The tail that follows the version of this state, retained, and read at least up to `end`.
 * SQLITE_BUSY: the word is about another version by now. SQLITE_CORRUPT.
 */
int pt_log_tail_of(pt_lmdb_store *store, const pt_format_state *state, uint32_t end,
                   pt_lmdb_tail **tail, pt_error *error);

#endif
