/*
 * The large values of an entity that is written: which of its fields become large, and which chunks
 * of the record that was there nothing points to any more.
 */
#ifndef PT_TRANSACTION_LARGE_FIELDS_H
#define PT_TRANSACTION_LARGE_FIELDS_H

#include "transaction/large_value.h"

/* Whether any field must become a large value. */
bool pt_large_fields_are_needed(const pt_bag *bag);

/*
 * Stores the bytes of the fields that must be large as chunks under the write's timestamp, and
 * turns them into the large values that point there. Within a row (transaction/session.h).
 * SQLITE_OK or SQLITE_NOMEM.
 */
int pt_large_fields_put(pt_session *session, uint32_t table_id, int64_t ticks, pt_bag *bag,
                        pt_error *error);

/*
 * Appends to `gone`, an array of pt_large, the large values of the entity under a logical key that
 * no field of `kept` (NULL: nothing is kept) points to. A damaged record has none. SQLITE_OK,
 * SQLITE_NOMEM, and what the engine answers.
 */
int pt_large_fields_find_gone(pt_session *session, pt_slice key, const pt_bag *kept,
                              pt_buffer *gone, pt_error *error);

/* Deletes their chunks. Within a row. SQLITE_OK or SQLITE_NOMEM. */
int pt_large_fields_remove(pt_session *session, uint32_t table_id, const pt_buffer *gone,
                           pt_error *error);

#endif
