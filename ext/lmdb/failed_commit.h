/*
 * What the failure of a commit of LMDB means.
 */
#ifndef PT_LMDB_FAILED_COMMIT_H
#define PT_LMDB_FAILED_COMMIT_H

#include "lmdb/registry.h"

/*
 * A commit that LMDB reports as failed (`mdb_rc`) may have taken place: the root page was written,
 * and what came after it failed. To report it as failed would be wrong, because everybody sees it.
 * SQLITE_OK: it took place. Otherwise it did not, or the text says that it did but may be lost.
 */
int pt_lmdb_judge_failed_commit(pt_lmdb_store *store, const pt_format_state *state, pt_sync sync,
                                int mdb_rc, pt_error *error);

#endif
