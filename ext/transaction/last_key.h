/*
 * The greatest key that a table has in a snapshot. In loads every new key lies behind it, and then
 * there is no need to look for an entity under that key.
 */
#ifndef PT_TRANSACTION_LAST_KEY_H
#define PT_TRANSACTION_LAST_KEY_H

#include "base/buffer.h"
#include "store/engine.h"

/* All zeros: none is known. */
typedef struct pt_last_key {
    pt_buffer key; /* empty: the table has none */
    uint32_t table;
    bool known;
} pt_last_key;

/* Whether the key is greater than all of its table, whose last one is found if it is not known.
 * SQLITE_OK, SQLITE_NOMEM, and what the engine answers. */
int pt_last_key_is_before(pt_last_key *last, pt_snapshot *snapshot, pt_slice key, bool *before,
                          pt_error *error);

/* For another snapshot. */
void pt_last_key_forget(pt_last_key *last);

void pt_last_key_free(pt_last_key *last);

#endif
