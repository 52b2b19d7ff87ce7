/*
 * The log when a store is opened and closed.
 *
 * The first process that uses a log after others have ended reads it, and publishes what verifies.
 * The last one writes it to LMDB's tree and removes it, so that a store which was closed cleanly is
 * one file.
 */
#ifndef PT_LMDB_LOG_OPEN_H
#define PT_LMDB_LOG_OPEN_H

#include "lmdb/registry.h"

/* For pt_lmdb_open. */
extern const pt_lmdb_hooks pt_log_hooks;

/* pt_engine's forget_log, for this engine. */
int pt_log_forget(const char *path, const pt_engine *engine, int64_t *kept, int64_t *clock,
                  pt_error *error);

#endif
