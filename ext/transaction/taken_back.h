/*
 * Commits that are taken back (transaction/session.h). Between the commit to the store and its
 * undo, others may have read its changes. So that they hear of the undo, too,
 *
 *     - an entity that is put back gets a new Timestamp;
 *     - a key under which there is no entity any more gets a deletion at a new time;
 *     - a table that the commit has created, dropped or given other properties gets a new horizon.
 */
#ifndef PT_TRANSACTION_TAKEN_BACK_H
#define PT_TRANSACTION_TAKEN_BACK_H

#include "transaction/session.h"

/*
 * Does this for all that a commit has written and the memtable does not have, in the memtable. All
 * or nothing. SQLITE_NOMEM, or the engine's error.
 */
int pt_taken_back_amend(pt_session *session, const pt_write_set *applied, pt_error *error);

#endif
