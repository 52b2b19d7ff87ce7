#include "transaction/taken_back.h"

#include "base/sqlite.h"
#include "entity/key.h"
#include "transaction/index_writer.h"

/* --- What was committed --- */

/* The place of the first key from `key` on. */
static size_t find_applied(const pt_write_set *applied, pt_slice key)
{
    size_t low = 0;
    size_t high = applied->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pt_slice_compare(pt_pending_key(applied->entries[middle]), key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static bool was_applied(const pt_write_set *applied, pt_slice key)
{
    size_t at = find_applied(applied, key);
    return at < applied->count && pt_slice_equal(pt_pending_key(applied->entries[at]), key);
}

/* --- Entities --- */

/* Puts an entity again, with a new Timestamp. */
static int put_again(pt_index_writer *writer, pt_slice key, pt_slice old, pt_error *error)
{
    int64_t ticks = 0;
    pt_record record = {0};
    pt_shape_source source = pt_dictionary_source(pt_session_store(writer->session)->dictionary);
    int rc = pt_record_open(&record, key, old, &source, &writer->shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(writer->session, &ticks, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* As an entry, since it is no operation of the user. */
    uint8_t *bytes = pt_session_put_entry(writer->session, &(pt_entry_key){.key = key}, old.size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    memcpy(bytes, old.data, old.size);
    pt_record_seal(&record, ticks, pt_slice_of(bytes - key.size, key.size), bytes);
    return SQLITE_OK;
}

/* The entity is in the snapshot, so its record stays where it is while others are put. */
static int renew_entity(pt_index_writer *writer, pt_slice key, pt_slice old, pt_error *error)
{
    pt_index_writer_begin(writer, pt_key_table(key));
    int rc = pt_index_writer_lose(writer, key, error);
    if (rc == SQLITE_OK) {
        rc = put_again(writer, key, old, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_gain(writer, key, NULL, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_remove(writer, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_put(writer, error);
    }
    pt_index_writer_end(writer);
    return rc;
}

static int amend_key(pt_index_writer *writer, pt_slice key, pt_error *error)
{
    bool found;
    pt_slice record;
    pt_pending *pending;
    if (pt_memtable_find(writer->view->memtable, key, &pending) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (pending != NULL) {
        return SQLITE_OK;
    }
    int rc = pt_session_find(writer->session, key, &found, &record, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return found ? renew_entity(writer, key, record, error)
                 : pt_change_log_delete(writer->session, &writer->list.kept, key, error);
}

static int amend_entities(pt_session *session, const char *table, uint32_t id,
                          const pt_write_set *applied, pt_error *error)
{
    pt_index_writer writer = {.session = NULL};
    pt_key_start start = pt_key_start_of_table(id);
    pt_slice prefix = pt_key_start_slice(&start);
    int rc = pt_index_writer_load(&writer, session, table, error);
    for (size_t i = find_applied(applied, prefix); rc == SQLITE_OK && i < applied->count; i++) {
        pt_slice key = pt_pending_key(applied->entries[i]);
        if (!pt_slice_has_prefix(key, prefix)) {
            break;
        }
        rc = amend_key(&writer, key, error);
    }
    pt_index_writer_free(&writer);
    return rc;
}

/* --- Tables --- */

static int renew_horizon(pt_session *session, pt_view *view, const char *table, pt_error *error)
{
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, table, &entry, error);
    pt_table_properties properties = entry.properties;
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(session, &properties.horizon, error);
    }
    return rc == SQLITE_OK
               ? pt_table_directory_set_properties(session, view, table, &properties, error)
               : rc;
}

static int amend_table(pt_session *session, pt_view *view, const char *table, uint32_t id,
                       const pt_write_set *applied, pt_error *error)
{
    pt_buffer key = {0};
    pt_table_directory_key(table, false, &key);
    if (key.failed) {
        return pt_error_nomem(error);
    }
    bool renewed = was_applied(applied, pt_buffer_slice(&key));
    pt_buffer_free(&key);
    return renewed ? renew_horizon(session, view, table, error)
                   : amend_entities(session, table, id, applied, error);
}

/* Collects the tables that keep changes: what a walk returns is only valid until the next write. */
static int collect_tables(pt_view *view, pt_table_names *names, pt_error *error)
{
    pt_table_walk walk = {0};
    pt_table_entry entry = {0};
    bool found = true;
    int rc = pt_table_walk_open(&walk, view, (pt_slice){0}, error);
    while (rc == SQLITE_OK && found) {
        rc = pt_table_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found && entry.properties.changes_id != 0 &&
            !pt_table_names_add(names, entry.id, entry.name)) {
            rc = pt_error_nomem(error);
        }
    }
    pt_table_walk_close(&walk);
    return rc;
}

int pt_taken_back_amend(pt_session *session, const pt_write_set *applied, pt_error *error)
{
    pt_view *view = NULL;
    pt_table_names names = {0};
    size_t row = pt_session_begin_row(session);
    int rc = pt_session_read(session, &view, error);
    if (rc == SQLITE_OK) {
        rc = collect_tables(view, &names, error);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < names.count; i++) {
        const char *table = (const char *)names.texts.data + names.names[i].offset;
        rc = amend_table(session, view, table, (uint32_t)names.names[i].id, applied, error);
    }
    pt_table_names_free(&names);
    if (rc == SQLITE_OK) {
        pt_session_end_row(session);
    } else {
        pt_session_discard_row(session, row);
    }
    return rc;
}
