#include "transaction/change_log.h"

#include "base/assert.h"
#include "base/seal.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/damage.h"
#include "entity/key.h"

enum { CHANGE_TIME_SIZE = 8 };

/* --- Keys and records --- */

static void put_change_time(uint8_t *bytes, int64_t ticks)
{
    pt_put_be32(bytes, (uint32_t)((uint64_t)ticks >> 32));
    pt_put_be32(bytes + sizeof(uint32_t), (uint32_t)ticks);
}

static int64_t get_change_time(const uint8_t *bytes)
{
    return (int64_t)((uint64_t)pt_get_be32(bytes) << 32 | pt_get_be32(bytes + sizeof(uint32_t)));
}

static bool make_change_key(pt_buffer *key, uint32_t changes_id, int64_t ticks, pt_slice entity_key)
{
    uint8_t time[CHANGE_TIME_SIZE];
    put_change_time(time, ticks);
    pt_key_begin(key, changes_id);
    pt_buffer_append(key, time, sizeof time);
    pt_buffer_append_slice(key, entity_key);
    return !key->failed;
}

void pt_change_begin_after(pt_buffer *key, uint32_t changes_id, int64_t ticks)
{
    make_change_key(key, changes_id, ticks + 1, (pt_slice){0});
}

static bool is_entity_key(pt_slice key)
{
    return key.size != 0 && memchr(key.data, 0, key.size) != NULL;
}

static bool is_change_time(int64_t ticks)
{
    return ticks >= 0 && ticks <= PT_TICKS_MAX;
}

bool pt_change_read(pt_slice key, pt_slice record, pt_change *change)
{
    pt_slice rest = pt_key_entity(key);
    pt_slice content;
    if (rest.size < CHANGE_TIME_SIZE || !pt_unseal(key, record, &content) || content.size == 0) {
        return false;
    }
    *change = (pt_change){
        .ticks = get_change_time(rest.data),
        .kind = (pt_change_kind)content.data[0],
        .entity_key = pt_slice_of(rest.data + CHANGE_TIME_SIZE, rest.size - CHANGE_TIME_SIZE)};
    return is_change_time(change->ticks) && is_entity_key(change->entity_key) &&
           (change->kind == PT_CHANGE_PUT || change->kind == PT_CHANGE_DELETE);
}

bool pt_deletion_read(pt_slice key, pt_slice record, pt_change *change)
{
    pt_slice content;
    if (!pt_unseal(key, record, &content) || content.size < sizeof(int64_t)) {
        return false;
    }
    *change = (pt_change){.ticks = (int64_t)pt_get_le64(content.data),
                          .kind = PT_CHANGE_DELETE,
                          .entity_key = pt_key_entity(key)};
    return is_change_time(change->ticks) && is_entity_key(change->entity_key);
}

int pt_change_log_report_damage(pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                        "a change of the table is damaged in the store; switch its changes off and "
                        "on (UPDATE pt_tables SET Changes = 'off', then 'on'), and let followers "
                        "copy the table anew");
}

static int put_change(pt_session *session, pt_slice key, pt_change_kind kind, pt_error *error)
{
    /* A time is given out once, so the key is new. */
    const pt_entry_key entry = {.key = key, .is_new = true};
    uint8_t *record = pt_session_put_entry(session, &entry, 1 + PT_SEAL_SIZE);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    record[0] = (uint8_t)kind;
    pt_seal(key, record, 1 + PT_SEAL_SIZE);
    pt_session_note_changes(session);
    return SQLITE_OK;
}

static int remove_made(pt_session *session, const pt_buffer *made, pt_error *error)
{
    return pt_session_remove_entry(session, &(pt_entry_key){.key = pt_buffer_slice(made)}, error);
}

static int remove_change(pt_session *session, uint32_t changes_id, int64_t ticks,
                         pt_slice entity_key, pt_buffer *made, pt_error *error)
{
    return make_change_key(made, changes_id, ticks, entity_key) ? remove_made(session, made, error)
                                                                : pt_error_nomem(error);
}

/* --- Deletions --- */

/* False if the table is known to have none. */
static int may_have_deletions(pt_session *session, uint32_t deletions_id, bool *possible,
                              pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(session, &view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_chunks_known *known = &view->chunks[deletions_id % PT_VIEW_CHUNKS_KNOWN];
    if (!known->known || known->table_id != deletions_id) {
        pt_table_counts counts;
        rc = view->snapshot->store->engine->counts(view->snapshot, deletions_id, &counts, error);
        *known = (pt_chunks_known){.table_id = deletions_id,
                                   .known = rc == SQLITE_OK,
                                   .any = rc == SQLITE_OK && counts.entities != 0};
    }
    *possible = known->any || pt_memtable_may_hold(view->memtable, deletions_id);
    return rc;
}

/* Finds the deletion of a key, which is then in `made`. */
static int find_deletion(pt_session *session, uint32_t deletions_id, pt_slice entity_key,
                         pt_buffer *made, bool *found, int64_t *ticks, pt_error *error)
{
    pt_slice record;
    pt_change change;
    bool possible = false;
    *found = false;
    int rc = may_have_deletions(session, deletions_id, &possible, error);
    if (rc != SQLITE_OK || !possible) {
        return rc;
    }
    if (!pt_key_make(made, deletions_id, entity_key)) {
        return pt_error_nomem(error);
    }
    rc = pt_session_find(session, pt_buffer_slice(made), found, &record, error);
    if (rc != SQLITE_OK || !*found) {
        return rc;
    }
    bool sound = pt_deletion_read(pt_buffer_slice(made), record, &change);
    *ticks = sound ? change.ticks : 0;
    return sound ? SQLITE_OK : pt_change_log_report_damage(error);
}

/* Removes the deletion of a key, if there is one. */
static int remove_deletion(pt_session *session, const pt_table_properties *properties,
                           pt_slice entity_key, pt_buffer *made, pt_error *error)
{
    bool found;
    int64_t ticks = 0;
    int rc =
        find_deletion(session, properties->deletions_id, entity_key, made, &found, &ticks, error);
    if (rc != SQLITE_OK || !found) {
        return rc;
    }
    rc = remove_made(session, made, error);
    return rc == SQLITE_OK
               ? remove_change(session, properties->changes_id, ticks, entity_key, made, error)
               : rc;
}

/* Adds the deletion of a key that has none. */
static int put_deletion(pt_session *session, const pt_table_properties *properties,
                        pt_slice entity_key, pt_buffer *made, pt_error *error)
{
    int64_t ticks = 0;
    int rc = pt_session_next_timestamp(session, &ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!pt_key_make(made, properties->deletions_id, entity_key)) {
        return pt_error_nomem(error);
    }
    const pt_entry_key entry = {.key = pt_buffer_slice(made)};
    uint8_t *record = pt_session_put_entry(session, &entry, sizeof(int64_t) + PT_SEAL_SIZE);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    pt_put_le64(record, (uint64_t)ticks);
    pt_seal(entry.key, record, sizeof(int64_t) + PT_SEAL_SIZE);
    return make_change_key(made, properties->changes_id, ticks, entity_key)
               ? put_change(session, pt_buffer_slice(made), PT_CHANGE_DELETE, error)
               : pt_error_nomem(error);
}

int pt_change_log_delete(pt_session *session, const pt_table_properties *properties, pt_slice key,
                         pt_error *error)
{
    pt_buffer made = {0};
    pt_slice entity_key = pt_key_entity(key);
    int rc = remove_deletion(session, properties, entity_key, &made, error);
    if (rc == SQLITE_OK) {
        rc = put_deletion(session, properties, entity_key, &made, error);
    }
    pt_buffer_free(&made);
    return rc;
}

/* --- The changes of a row --- */

void pt_change_notes_free(pt_change_notes *notes)
{
    sqlite3_free(notes->lost);
    pt_buffer_free(&notes->keys);
    pt_buffer_free(&notes->made);
    *notes = (pt_change_notes){0};
}

void pt_change_notes_clear(pt_change_notes *notes)
{
    notes->count = 0;
    notes->has_fresh = false;
    notes->replaces = false;
    pt_buffer_clear(&notes->keys);
}

static bool note_entity(pt_change_notes *notes, pt_slice key, int64_t ticks,
                        pt_changed_entity *noted)
{
    pt_slice entity_key = pt_key_entity(key);
    *noted = (pt_changed_entity){
        .ticks = ticks, .key_at = notes->keys.size, .key_size = entity_key.size};
    pt_buffer_append_slice(&notes->keys, entity_key);
    return !notes->keys.failed;
}

static pt_slice noted_key(const pt_change_notes *notes, const pt_changed_entity *noted)
{
    return pt_slice_of(notes->keys.data + noted->key_at, noted->key_size);
}

bool pt_change_notes_lose(pt_change_notes *notes, pt_slice key, const pt_record *record)
{
    return pt_array_reserve(&notes->lost, &notes->capacity, notes->count + 1,
                            sizeof *notes->lost) &&
           note_entity(notes, key, record->ticks, &notes->lost[notes->count++]);
}

bool pt_change_notes_gain(pt_change_notes *notes, pt_slice key, const pt_record *record)
{
    notes->has_fresh = note_entity(notes, key, record->ticks, &notes->fresh);
    return notes->has_fresh;
}

static bool is_put_again(const pt_change_notes *notes, pt_slice entity_key)
{
    return notes->has_fresh && pt_slice_equal(noted_key(notes, &notes->fresh), entity_key);
}

int pt_change_notes_remove(pt_change_notes *notes, pt_session *session,
                           const pt_table_properties *properties, pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < notes->count; i++) {
        pt_slice key = noted_key(notes, &notes->lost[i]);
        bool again = is_put_again(notes, key);
        notes->replaces = notes->replaces || again;
        rc = remove_change(session, properties->changes_id, notes->lost[i].ticks, key, &notes->made,
                           error);
        if (rc == SQLITE_OK && !again) {
            rc = put_deletion(session, properties, key, &notes->made, error);
        }
    }
    notes->count = 0;
    return rc;
}

int pt_change_notes_put(pt_change_notes *notes, pt_session *session,
                        const pt_table_properties *properties, pt_error *error)
{
    if (!notes->has_fresh) {
        return SQLITE_OK;
    }
    pt_slice key = noted_key(notes, &notes->fresh);
    int rc = notes->replaces ? SQLITE_OK
                             : remove_deletion(session, properties, key, &notes->made, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return make_change_key(&notes->made, properties->changes_id, notes->fresh.ticks, key)
               ? put_change(session, pt_buffer_slice(&notes->made), PT_CHANGE_PUT, error)
               : pt_error_nomem(error);
}

/* --- Switching on and off --- */

static int add_change_of(pt_session *session, uint32_t changes_id, const pt_scan *scan,
                         pt_buffer *shape, pt_buffer *made, pt_error *error)
{
    pt_record record = {0};
    pt_shape_source source = pt_dictionary_source(pt_session_store(session)->dictionary);
    int rc = pt_record_open(&record, scan->key, scan->record, &source, shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(scan->key, error);
    }
    return make_change_key(made, changes_id, record.ticks, pt_key_entity(scan->key))
               ? put_change(session, pt_buffer_slice(made), PT_CHANGE_PUT, error)
               : pt_error_nomem(error);
}

static int add_changes_of_table(pt_session *session, pt_view *view, uint32_t table_id,
                                uint32_t changes_id, pt_error *error)
{
    pt_scan scan = {0};
    pt_buffer shape = {0};
    pt_buffer made = {0};
    int rc = pt_scan_open_table(&scan, view, table_id, error);
    while (rc == SQLITE_OK && scan.valid) {
        rc = add_change_of(session, changes_id, &scan, &shape, &made, error);
        rc = rc == SQLITE_OK ? pt_view_step(view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    pt_buffer_free(&shape);
    pt_buffer_free(&made);
    return rc;
}

/* The deletions come first: a check meets them before the changes. */
static int make_ids(pt_session *session, pt_table_properties *properties, pt_error *error)
{
    properties->deletions_id = pt_session_new_table_id(session);
    properties->changes_id = pt_session_new_table_id(session);
    if (properties->changes_id < PT_TABLE_ID_LIMIT) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_FULL,
                        "store %Q has given out all its table ids; use another store",
                        pt_session_store(session)->path);
}

static int switch_on(pt_session *session, pt_view *view, const char *table,
                     const pt_table_entry *entry, pt_error *error)
{
    pt_table_properties properties = entry->properties;
    uint32_t table_id = entry->id;
    int rc = make_ids(session, &properties, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(session, &properties.horizon, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_set_properties(session, view, table, &properties, error);
    }
    return rc == SQLITE_OK
               ? add_changes_of_table(session, view, table_id, properties.changes_id, error)
               : rc;
}

static int switch_off(pt_session *session, pt_view *view, const char *table,
                      const pt_table_entry *entry, pt_error *error)
{
    const pt_table_properties properties = {.expires = entry->properties.expires};
    return pt_table_directory_set_properties(session, view, table, &properties, error);
}

int pt_change_log_switch(pt_session *session, const char *table, bool on, pt_error *error)
{
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, table, &entry, error);
    }
    if (rc != SQLITE_OK || (entry.properties.changes_id != 0) == on) {
        return rc;
    }
    size_t row = pt_session_begin_row(session);
    rc = on ? switch_on(session, view, table, &entry, error)
            : switch_off(session, view, table, &entry, error);
    return pt_session_finish_catalog_row(session, row, rc);
}

/* --- Forgetting --- */

typedef struct forgetting {
    pt_session *session;
    pt_table_properties properties;
    int64_t before;
    int64_t count;
    int64_t last; /* the time of the last deletion that was forgotten */
    pt_buffer made;
} forgetting;

static int forget_deletion(forgetting *self, const pt_scan *scan, pt_error *error)
{
    pt_change change;
    if (!pt_deletion_read(scan->key, scan->record, &change)) {
        return pt_change_log_report_damage(error);
    }
    if (change.ticks >= self->before) {
        return SQLITE_OK;
    }
    self->count++;
    self->last = change.ticks > self->last ? change.ticks : self->last;
    int rc = remove_change(self->session, self->properties.changes_id, change.ticks,
                           change.entity_key, &self->made, error);
    return rc == SQLITE_OK
               ? pt_session_remove_entry(self->session, &(pt_entry_key){.key = scan->key}, error)
               : rc;
}

static int forget_all(forgetting *self, pt_view *view, pt_error *error)
{
    pt_scan scan = {0};
    int rc = pt_scan_open_table(&scan, view, self->properties.deletions_id, error);
    while (rc == SQLITE_OK && scan.valid) {
        rc = forget_deletion(self, &scan, error);
        rc = rc == SQLITE_OK ? pt_view_step(view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc;
}

static int forget_in_row(forgetting *self, pt_view *view, const char *table, pt_error *error)
{
    int rc = forget_all(self, view, error);
    if (rc == SQLITE_OK && self->last > self->properties.horizon) {
        self->properties.horizon = self->last;
        rc =
            pt_table_directory_set_properties(self->session, view, table, &self->properties, error);
    }
    return rc;
}

int pt_change_log_forget(pt_session *session, const char *table, int64_t before, int64_t *count,
                         pt_error *error)
{
    pt_view *view = NULL;
    pt_table_entry entry = {0};
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_read(view, table, &entry, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    PT_ASSERT(entry.properties.changes_id != 0);
    /* The expiry is read again: what the entry points to may move meanwhile. */
    forgetting self = {.session = session, .properties = entry.properties, .before = before};
    pt_buffer expires = {0};
    if (!pt_buffer_assign(&expires, entry.properties.expires)) {
        return pt_error_nomem(error);
    }
    self.properties.expires = pt_buffer_slice(&expires);
    size_t row = pt_session_begin_row(session);
    rc = pt_session_finish_catalog_row(session, row, forget_in_row(&self, view, table, error));
    *count = self.count;
    pt_buffer_free(&self.made);
    pt_buffer_free(&expires);
    return rc;
}
