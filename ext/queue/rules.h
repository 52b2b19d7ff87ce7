/*
 * Which values a queue takes: times in seconds, numbers of messages, bodies, names. With
 * limits='azure' those that the Queue service takes, in whole seconds.
 *
 * Functions return SQLITE_OK, SQLITE_NOMEM, or the code of a refusal with a text that names what
 * was given: SQLITE_MISMATCH for what has the wrong type, SQLITE_CONSTRAINT_VTAB for what is out of
 * range.
 */
#ifndef PT_QUEUE_RULES_H
#define PT_QUEUE_RULES_H

#include "base/error.h"
#include "base/sqlite.h"
#include "entity/edm.h"

/* `ticks` later, at most PT_TICKS_MAX. Neither is negative. */
int64_t pt_queue_later(int64_t time, int64_t ticks);

/* When a message that is hidden for so many ticks may be looked at again: at the latest when it
 * expires, for then it is to be removed by who hands out the next ones. */
int64_t pt_queue_hide(int64_t time, int64_t ticks, int64_t expires);

/* How long a message lives, in ticks; PT_TICKS_MAX: for ever, which is what -1 says, and NULL but
 * for limits='azure': 7 days. Otherwise above 0. */
int pt_queue_read_time_to_live(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error);

/* How long a new message, which lives so many ticks, stays hidden; NULL: not at all. With
 * limits='azure' at most 7 days and shorter than it lives. */
int pt_queue_read_insert_timeout(bool azure, sqlite3_value *seconds, int64_t time_to_live,
                                 int64_t *ticks, pt_error *error);

/* How long messages that are handed out stay hidden, in ticks: above 0. */
int pt_queue_read_get_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks, pt_error *error);

/* How long a message that is changed stays hidden, in ticks from 0 on. */
int pt_queue_read_update_timeout(bool azure, sqlite3_value *seconds, int64_t *ticks,
                                 pt_error *error);

/* With limits='azure' a message that is changed is not hidden for longer than the rest of its life,
 * in ticks. */
int pt_queue_check_update_timeout(bool azure, sqlite3_value *seconds, int64_t ticks, int64_t rest,
                                  pt_error *error);

/* How many messages are asked for: from 1 on. */
int pt_queue_read_count(bool azure, sqlite3_value *value, int64_t *count, pt_error *error);

/* A body: TEXT or BLOB, whose bytes it points to. SQLITE_CONSTRAINT_NOTNULL. */
int pt_queue_read_body(bool azure, sqlite3_value *value, pt_value *body, pt_error *error);

/*
 * The name of a new queue in the store, and of its poison queue if it has one. With limits='azure'
 * 3 to 63 of a-z, 0-9 and single dashes inside. SQLITE_CONSTRAINT_VTAB (InvalidResourceName;
 * OutOfRangeInput: its length), SQLITE_TOOBIG.
 */
int pt_queue_check_name(bool azure, const char *name, bool has_poison, pt_error *error);

#endif
