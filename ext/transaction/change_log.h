/*
 * The changes of a table: when each of its entities was written last, and the keys of those that
 * were deleted. A table that keeps them (pt_table_properties) has two hidden tables in the store:
 *
 *     deletions  key      id, PartitionKey, 00, RowKey
 *                record   i64 time, little-endian; sealed (base/seal.h)
 *     changes    key      id, time as be64, PartitionKey, 00, RowKey
 *                record   u8 pt_change_kind; sealed
 *
 * Each entity has one change, at its Timestamp. Each key in the deletions has one, at the time
 * there; no entity has such a key. So the changes are those of each key's last write, in the order
 * of the writes. A deletion stays until an entity is put under its key, or it is forgotten.
 *
 * The horizon is a time. Who has read all changes until then or later can go on from there; before
 * it, changes are not known: they were not kept yet, or their deletions have been forgotten.
 *
 * pt_index_writer calls the functions that write, in the row of the write.
 */
#ifndef PT_TRANSACTION_CHANGE_LOG_H
#define PT_TRANSACTION_CHANGE_LOG_H

#include "entity/record.h"
#include "transaction/table_directory.h"

/* The codes are stored. */
typedef enum pt_change_kind { PT_CHANGE_PUT = 1, PT_CHANGE_DELETE = 2 } pt_change_kind;

typedef struct pt_change {
    int64_t ticks;
    pt_change_kind kind;
    pt_slice entity_key; /* PartitionKey, 00, RowKey */
} pt_change;

/* Reads a record of the changes, or of the deletions (kind PT_CHANGE_DELETE). False if it is
 * damaged. */
bool pt_change_read(pt_slice key, pt_slice record, pt_change *change);
bool pt_deletion_read(pt_slice key, pt_slice record, pt_change *change);

/* Sets the key before which the changes until a time, that included, are. Sets key->failed when out
 * of memory. */
void pt_change_begin_after(pt_buffer *key, uint32_t changes_id, int64_t ticks);

/* --- Writing --- */

/* An entity that goes or is put. */
typedef struct pt_changed_entity {
    int64_t ticks;
    size_t key_at; /* of its entity key, in the keys */
    size_t key_size;
} pt_changed_entity;

/* What a row changes. All zeros before its first use. */
typedef struct pt_change_notes {
    pt_changed_entity *lost;
    size_t count;
    size_t capacity;
    pt_changed_entity fresh;
    bool has_fresh;
    bool replaces; /* an entity of the fresh one's key was there */
    pt_buffer keys;
    pt_buffer made; /* a key of the changes or deletions */
} pt_change_notes;

void pt_change_notes_free(pt_change_notes *notes);
void pt_change_notes_clear(pt_change_notes *notes);

/* Notes the entity of a logical key: one that will go, or the one that has been put. False when out
 * of memory. */
bool pt_change_notes_lose(pt_change_notes *notes, pt_slice key, const pt_record *record);
bool pt_change_notes_gain(pt_change_notes *notes, pt_slice key, const pt_record *record);

/* Removes the changes of the entities that were lost, and notes deletions of those that are not put
 * again, at new times. SQLITE_FULL: there is no later Timestamp; other codes as pt_session_find. */
int pt_change_notes_remove(pt_change_notes *notes, pt_session *session,
                           const pt_table_properties *properties, pt_error *error);

/* Adds the change of the entity that was put. */
int pt_change_notes_put(pt_change_notes *notes, pt_session *session,
                        const pt_table_properties *properties, pt_error *error);

/* Notes at a new time that there is no entity under a logical key. */
int pt_change_log_delete(pt_session *session, const pt_table_properties *properties, pt_slice key,
                         pt_error *error);

/* --- Switching --- */

/*
 * Begins or ends to keep the changes of a table, in a row of its own. Does nothing if that is as it
 * should be. When it begins, all entities have their changes, and the horizon is the present time.
 * The session is writing. SQLITE_NOTFOUND (without a text) and other codes as
 * pt_table_directory_set_properties; SQLITE_CORRUPT_VTAB: an entity is damaged.
 */
int pt_change_log_switch(pt_session *session, const char *table, bool on, pt_error *error);

/* Forgets the deletions before a time. *count is how many they were. The horizon becomes the time
 * of the last of them. The table keeps its changes. */
int pt_change_log_forget(pt_session *session, const char *table, int64_t before, int64_t *count,
                         pt_error *error);

int pt_change_log_report_damage(pt_error *error);

#endif
