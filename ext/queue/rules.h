/*
 * The values that a queue accepts: visibility timeouts and other times, numbers of messages, bodies
 * and names. Times are given in seconds, which may have a fraction. `azure` means limits='azure':
 * the rules of the Queue service, with whole seconds.
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or an error with a text that shows the given value:
 * SQLITE_MISMATCH if it has the wrong type, SQLITE_CONSTRAINT_VTAB if it is out of range.
 */
#ifndef PT_QUEUE_RULES_H
#define PT_QUEUE_RULES_H

#include "base/error.h"
#include "base/sqlite.h"
#include "entity/edm.h"

/* time + ticks, at most PT_TICKS_MAX. Neither is negative. */
int64_t pt_queue_later(int64_t time, int64_t ticks);

/* The time at which a message that is hidden for so many ticks becomes visible. That is not later
 * than it expires, so that the next hand-out finds it and removes it. */
int64_t pt_queue_next_visible(int64_t time, int64_t ticks, int64_t expires);

/* Reads TimeToLive: above 0, or -1 for ever, which gives PT_TICKS_MAX. NULL means for ever, or 7
 * days with `azure`. */
int pt_queue_read_time_to_live(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error);

/* Reads the visibility timeout of INSERT, for a message that lives so many ticks: 0 or more. NULL
 * means 0. With `azure` at most 7 days and less than the message lives. */
int pt_queue_read_insert_timeout(bool azure, sqlite3_value *seconds, int64_t time_to_live,
                                 int64_t *ticks, pt_error *error);

/* Reads the visibility timeout of pt_queue_get: above 0. With `azure` at most 7 days. */
int pt_queue_read_get_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error);

/* Reads the visibility timeout of UPDATE and pt_queue_update: 0 or more. With `azure` at most 7
 * days. */
int pt_queue_read_update_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks,
                                 pt_error *error);

/* Checks that timeout against the rest of the message's life, in ticks, which it must not exceed
 * with `azure`. */
int pt_queue_check_update_timeout(bool azure, sqlite3_value *seconds, int64_t ticks, int64_t rest,
                                  pt_error *error);

/* Reads the number of messages to hand out: 1 or more. With `azure` at most 32. */
int pt_queue_read_count(bool azure, sqlite3_value *value, int64_t *count, pt_error *error);

/* Reads a body, TEXT or BLOB. It points to the bytes of the value. SQLITE_CONSTRAINT_NOTNULL if it
 * is NULL. */
int pt_queue_read_body(bool azure, sqlite3_value *value, pt_value *body, pt_error *error);

/*
 * Checks the name of a new queue in the store, which must leave room for PT_POISON_ENDING if there
 * is a poison queue. With `azure` it has 3 to 63 characters: a-z, 0-9 and single inner dashes.
 * SQLITE_CONSTRAINT_VTAB (InvalidResourceName, or OutOfRangeInput for its length), SQLITE_TOOBIG.
 */
int pt_queue_check_name(bool azure, const char *name, bool has_poison, pt_error *error);

#endif
