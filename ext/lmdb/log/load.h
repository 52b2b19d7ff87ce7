/*
 * Reads records of a log into the tail (lmdb/log/tail.h) that follows the same commit.
 */
#ifndef PT_LMDB_LOG_LOAD_H
#define PT_LMDB_LOG_LOAD_H

#include "lmdb/log/tail.h"

/* They begin where the tail ends. `fd` is the log of the store at `path`. One thread at a time. */

/* Reads up to `end`. SQLITE_BUSY: what is there does not verify. */
int pt_log_load_up_to(int fd, const char *path, pt_lmdb_tail *tail, uint32_t end, pt_error *error);

/*
 * Reads as long as records verify. *damaged: one does not that was whole on the disk once, or the
 * file is not as long as it was made, or it follows a later version of the store's file.
 */
int pt_log_load_all(int fd, const char *path, pt_lmdb_tail *tail, bool *damaged, pt_error *error);

/* Makes records void that verify further on: a power failure has taken one before them. Otherwise
 * they would come back if the same one were written again. Returns 0 or errno. */
int pt_log_clear_rest(int fd, const pt_lmdb_tail *tail);

#endif
