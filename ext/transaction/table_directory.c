#include "transaction/table_directory.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/seal.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/key.h"

enum { RECORD_FORMAT = 1, RECORD_NAME = 5, KEY_MAX = PT_KEY_TABLE_MAX + PT_TABLE_NAME_MAX };

enum { GARBAGE_FORMAT = 1 };

/* Properties. */
enum { HAS_CHANGES = 1, HAS_EXPIRES = 2, CHANGES_SIZE = 16, PROPERTIES_MAX = 257 };

/* Writes at most PT_TABLE_NAME_MAX bytes of the name. */
static size_t write_key(pt_slice name, uint8_t key[KEY_MAX])
{
    size_t length = name.size < PT_TABLE_NAME_MAX ? name.size : PT_TABLE_NAME_MAX;
    size_t size = pt_key_put_table(key, PT_TABLE_CATALOG);
    for (size_t i = 0; i < length; i++) {
        key[size++] = pt_lower_case(name.data[i]);
    }
    return size;
}

static int make_key(const char *name, uint8_t key[KEY_MAX], size_t *size, pt_error *error)
{
    size_t length = strlen(name);
    if (length > PT_TABLE_NAME_MAX) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "the table's name has %lld bytes; choose one of at most %d "
                            "(OutOfRangeInput)",
                            (long long)length, PT_TABLE_NAME_MAX);
    }
    *size = write_key(pt_slice_text(name), key);
    return SQLITE_OK;
}

static bool is_hidden_id(uint32_t id)
{
    return id != 0 && id < PT_TABLE_ID_LIMIT;
}

/* Takes `size` bytes off the front. NULL if there are not so many. */
static const uint8_t *take_bytes(pt_slice *rest, size_t size)
{
    const uint8_t *bytes = rest->data;
    if (rest->size < size) {
        return NULL;
    }
    *rest = pt_slice_of(bytes + size, rest->size - size);
    return bytes;
}

/* Reads what follows the kind; nothing: there are no properties. */
static bool read_table_properties(pt_slice rest, pt_table_properties *properties)
{
    *properties = (pt_table_properties){.horizon = 0};
    if (rest.size == 0) {
        return true;
    }
    unsigned which = *take_bytes(&rest, 1);
    if ((which & HAS_CHANGES) != 0) {
        const uint8_t *bytes = take_bytes(&rest, CHANGES_SIZE);
        if (bytes == NULL) {
            return false;
        }
        properties->changes_id = pt_get_le32(bytes);
        properties->deletions_id = pt_get_le32(bytes + 4);
        properties->horizon = (int64_t)pt_get_le64(bytes + 8);
        if (!is_hidden_id(properties->changes_id) || !is_hidden_id(properties->deletions_id) ||
            properties->horizon < 0 || properties->horizon > PT_TICKS_MAX) {
            return false;
        }
    }
    if ((which & HAS_EXPIRES) != 0) {
        const uint8_t *size = take_bytes(&rest, sizeof(uint16_t));
        size_t length = size != NULL ? pt_get_le16(size) : 0;
        const uint8_t *name = take_bytes(&rest, length);
        properties->expires = pt_slice_of(name, length);
        if (length == 0 || name == NULL) {
            return false;
        }
    }
    return (which & ~(unsigned)(HAS_CHANGES | HAS_EXPIRES)) == 0;
}

bool pt_table_entry_read(pt_slice key, pt_slice record, pt_table_entry *entry)
{
    size_t length = pt_key_entity(key).size;
    pt_slice content;
    pt_slice rest = {0};
    /* The seal also covers the key, so an entry that moved to another name does not open. */
    if (!pt_unseal(key, record, &content) || content.size < RECORD_NAME + length ||
        content.data[0] != RECORD_FORMAT) {
        return false;
    }
    entry->id = pt_get_le32(content.data + 1);
    entry->name = pt_slice_of(content.data + RECORD_NAME, length);
    size_t kind_at = RECORD_NAME + length;
    bool has_kind = content.size > kind_at;
    entry->kind = has_kind ? (pt_table_kind)content.data[kind_at] : PT_TABLE_OF_ENTITIES;
    if (has_kind && entry->kind == PT_TABLE_OF_ENTITIES) {
        rest = pt_slice_of(content.data + kind_at + 1, content.size - kind_at - 1);
    }
    return is_hidden_id(entry->id) && read_table_properties(rest, &entry->properties);
}

bool pt_table_entry_is_of(const pt_table_entry *entry, pt_slice key)
{
    uint8_t own[KEY_MAX];
    return pt_slice_equal(pt_slice_of(own, write_key(entry->name, own)), key);
}

static int report_damage(const pt_view *view, pt_slice name, pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                        "the catalogue entry of table '%.*q' is damaged in store %Q; restore the "
                        "store from a backup",
                        (int)name.size, (const char *)name.data, view->snapshot->store->path);
}

int pt_table_directory_read(pt_view *view, const char *name, pt_table_entry *entry, pt_error *error)
{
    uint8_t key[KEY_MAX];
    size_t size = 0;
    int rc = make_key(name, key, &size, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    bool found;
    pt_slice record;
    rc = pt_view_get(view, pt_slice_of(key, size), &found, &record, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!found) {
        return SQLITE_NOTFOUND;
    }
    return pt_table_entry_read(pt_slice_of(key, size), record, entry)
               ? SQLITE_OK
               : report_damage(view, pt_slice_text(name), error);
}

void pt_table_directory_key(const char *name, bool indexes, pt_buffer *key)
{
    uint8_t bytes[KEY_MAX];
    size_t size = write_key(pt_slice_text(name), bytes);
    pt_buffer_assign(key, pt_slice_of(bytes, size));
    if (indexes) {
        pt_buffer_append_byte(key, 0);
    }
}

int pt_table_directory_open_indexes(pt_scan *scan, pt_view *view, const char *name, pt_error *error)
{
    pt_buffer low = {0};
    pt_buffer high = {0};
    pt_table_directory_key(name, false, &high);
    pt_table_directory_key(name, true, &low);
    pt_buffer_append_byte(&high, 1); /* after 00, with which the keys of indexes go on */
    int rc = low.failed || high.failed ? pt_error_nomem(error) : pt_scan_open(scan, view, error);
    if (rc == SQLITE_OK) {
        rc = pt_scan_seek(scan, pt_buffer_slice(&low), pt_buffer_slice(&high), PT_FORWARD, error);
    }
    pt_buffer_free(&low);
    pt_buffer_free(&high);
    return rc;
}

static int find_any_index(pt_view *view, const char *name, bool *found, pt_error *error)
{
    pt_scan scan = {0};
    int rc = pt_table_directory_open_indexes(&scan, view, name, error);
    *found = rc == SQLITE_OK && scan.valid;
    pt_scan_free(&scan);
    return rc;
}

/* noinline, so that the usual case, which every row of a load passes, needs no room for a scan. */
__attribute__((noinline)) static int look_up_table(pt_session *session, pt_view *view,
                                                   const char *name, pt_table_id *table,
                                                   pt_error *error)
{
    /* On failure nothing is known: the next statement looks again. */
    table->stamp.known = false;
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, name, &entry, error);
    if (rc == SQLITE_OK) {
        rc = find_any_index(view, name, &table->indexed, error);
    }
    if (rc == SQLITE_OK) {
        const pt_table_properties *properties = &entry.properties;
        table->indexed |= properties->changes_id != 0 || properties->expires.size != 0;
        table->expires = properties->expires.size != 0;
        table->id = entry.id;
        table->kind = entry.kind;
        pt_catalog_stamp_set(&table->stamp, session, view);
    }
    return rc;
}

int pt_table_directory_find(pt_session *session, pt_view *view, const char *name,
                            pt_table_id *table, pt_error *error)
{
    return pt_catalog_stamp_holds(&table->stamp, session, view)
               ? SQLITE_OK
               : look_up_table(session, view, name, table, error);
}

/* --- Writing --- */

/* Writes the properties, if there are any, and returns their size. */
static size_t write_table_properties(const pt_table_properties *properties,
                                     uint8_t bytes[1 + CHANGES_SIZE + PROPERTIES_MAX])
{
    size_t size = 1;
    bytes[0] = 0;
    if (properties->changes_id != 0) {
        bytes[0] |= HAS_CHANGES;
        pt_put_le32(bytes + size, properties->changes_id);
        pt_put_le32(bytes + size + 4, properties->deletions_id);
        pt_put_le64(bytes + size + 8, (uint64_t)properties->horizon);
        size += CHANGES_SIZE;
    }
    if (properties->expires.size != 0) {
        size_t length = properties->expires.size;
        PT_ASSERT(length <= PT_EXPIRES_NAME_MAX);
        bytes[0] |= HAS_EXPIRES;
        pt_put_le16(bytes + size, (uint16_t)length);
        memcpy(bytes + size + 2, properties->expires.data, length);
        size += 2 + length;
    }
    return bytes[0] != 0 ? size : 0;
}

static int put_entry(pt_session *session, pt_slice key, pt_operation operation,
                     const pt_table_entry *entry, pt_error *error)
{
    uint8_t properties[1 + CHANGES_SIZE + PROPERTIES_MAX];
    size_t properties_size = write_table_properties(&entry->properties, properties);
    size_t length = entry->name.size;
    size_t kind_size = entry->kind != PT_TABLE_OF_ENTITIES || properties_size != 0 ? 1 : 0;
    size_t record_size = RECORD_NAME + length + kind_size + properties_size + PT_SEAL_SIZE;
    uint8_t *record = pt_session_put(session, key, operation, record_size);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    record[0] = RECORD_FORMAT;
    pt_put_le32(record + 1, entry->id);
    memcpy(record + RECORD_NAME, entry->name.data, length);
    if (kind_size != 0) {
        record[RECORD_NAME + length] = (uint8_t)entry->kind;
        memcpy(record + RECORD_NAME + length + 1, properties, properties_size);
    }
    pt_seal(key, record, record_size);
    pt_session_note_catalog_change(session);
    return SQLITE_OK;
}

int pt_table_directory_add(pt_session *session, const char *name, pt_table_kind kind,
                           pt_error *error)
{
    uint8_t key[KEY_MAX];
    size_t size = 0;
    int rc = make_key(name, key, &size, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    uint32_t id = pt_session_new_table_id(session);
    if (id >= PT_TABLE_ID_LIMIT) {
        return pt_error_set(error, SQLITE_FULL,
                            "store %Q has given out all its table ids; use another store",
                            pt_session_store(session)->path);
    }
    const pt_table_entry entry = {.id = id, .kind = kind, .name = pt_slice_text(name)};
    return put_entry(session, pt_slice_of(key, size), PT_INSERT, &entry, error);
}

/* The kind is only written for an index, as in the catalogue. */
static int put_garbage(pt_session *session, pt_slice key, bool is_index, pt_error *error)
{
    size_t size = (is_index ? 2 : 1) + (size_t)PT_SEAL_SIZE;
    uint8_t *record = pt_session_put(session, key, PT_INSERT, size);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    record[0] = GARBAGE_FORMAT;
    if (is_index) {
        record[1] = PT_TABLE_OF_ENTRIES;
    }
    pt_seal(key, record, size);
    return SQLITE_OK;
}

/* Marks what a table or index holds to be collected. */
static int discard_table(pt_session *session, uint32_t id, bool is_index, pt_error *error)
{
    pt_key_start bytes = pt_key_start_of_garbage(id);
    return put_garbage(session, pt_key_start_slice(&bytes), is_index, error);
}

int pt_table_directory_remove_key(pt_session *session, pt_slice key, uint32_t id, pt_error *error)
{
    /* In one row, so that a failure after the removal brings the entry back. */
    size_t row = pt_session_begin_row(session);
    int rc = pt_session_remove(session, key, error);
    if (rc == SQLITE_OK) {
        rc = discard_table(session, id, pt_slice_has_nul(pt_key_entity(key)), error);
    }
    if (rc == SQLITE_OK) {
        pt_session_end_row(session);
        pt_session_note_catalog_change(session);
    } else {
        pt_session_discard_row(session, row);
    }
    return rc;
}

static int remove_indexes(pt_session *session, pt_view *view, const char *name, pt_error *error)
{
    pt_scan scan = {0};
    int rc = pt_table_directory_open_indexes(&scan, view, name, error);
    while (rc == SQLITE_OK && scan.valid) {
        pt_table_entry index;
        rc = pt_table_entry_read(scan.key, scan.record, &index)
                 ? pt_table_directory_remove_key(session, scan.key, index.id, error)
                 : report_damage(view, pt_slice_text(name), error);
        rc = rc == SQLITE_OK ? pt_scan_step(&scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc;
}

/* Discards the hidden tables that `old` has and `properties` has not. */
static int discard_changes(pt_session *session, const pt_table_properties *old,
                           const pt_table_properties *properties, pt_error *error)
{
    if (old->changes_id == 0 || old->changes_id == properties->changes_id) {
        return SQLITE_OK;
    }
    pt_session_note_changes(session);
    int rc = discard_table(session, old->changes_id, true, error);
    return rc == SQLITE_OK ? discard_table(session, old->deletions_id, true, error) : rc;
}

/* The stored entry points into a record that may move when another one is put. */
static int replace_entry(pt_session *session, pt_slice key, const pt_table_entry *stored,
                         const pt_table_properties *properties, pt_error *error)
{
    uint8_t expires[PT_EXPIRES_NAME_MAX];
    uint8_t name[PT_TABLE_NAME_MAX];
    const pt_table_properties old = stored->properties;
    pt_table_entry entry = *stored;
    entry.properties = *properties;
    memcpy(name, stored->name.data, stored->name.size);
    entry.name.data = name;
    if (properties->expires.size != 0) {
        memcpy(expires, properties->expires.data, properties->expires.size);
        entry.properties.expires.data = expires;
    }
    size_t row = pt_session_begin_row(session);
    int rc = put_entry(session, key, PT_REPLACE, &entry, error);
    if (rc == SQLITE_OK) {
        rc = discard_changes(session, &old, &entry.properties, error);
    }
    return pt_session_finish_catalog_row(session, row, rc);
}

int pt_table_directory_set_properties(pt_session *session, pt_view *view, const char *name,
                                      const pt_table_properties *properties, pt_error *error)
{
    PT_ASSERT(properties->expires.size <= PT_EXPIRES_NAME_MAX);
    uint8_t key[KEY_MAX];
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, name, &entry, error);
    return rc == SQLITE_OK
               ? replace_entry(session, pt_slice_of(key, write_key(pt_slice_text(name), key)),
                               &entry, properties, error)
               : rc;
}

int pt_table_directory_remove(pt_session *session, pt_view *view, const char *name, pt_error *error)
{
    static const pt_table_properties none;
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, name, &entry, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    uint8_t key[KEY_MAX];
    size_t size = write_key(pt_slice_text(name), key);
    size_t row = pt_session_begin_row(session);
    rc = remove_indexes(session, view, name, error);
    if (rc == SQLITE_OK) {
        rc = discard_changes(session, &entry.properties, &none, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_table_directory_remove_key(session, pt_slice_of(key, size), entry.id, error);
    }
    if (rc != SQLITE_OK) {
        pt_session_discard_row(session, row);
        return rc;
    }
    pt_session_end_row(session);
    return SQLITE_OK;
}

/* --- All tables --- */

int pt_table_walk_open(pt_table_walk *walk, pt_view *view, pt_slice from, pt_error *error)
{
    uint8_t low[KEY_MAX];
    size_t low_size = write_key(from, low);
    pt_key_start high = pt_key_start_after(pt_key_start_of_table(PT_TABLE_CATALOG));
    walk->begun = false;
    int rc = pt_scan_open(&walk->scan, view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* A statement that creates a table for each one it walks over must come to an end. */
    pt_scan_freeze(&walk->scan);
    return pt_scan_seek(&walk->scan, pt_slice_of(low, low_size), pt_key_start_slice(&high),
                        PT_FORWARD, error);
}

int pt_table_walk_next(pt_table_walk *walk, pt_table_entry *entry, bool *found, pt_error *error)
{
    int rc = pt_view_step(walk->scan.view, error);
    if (rc == SQLITE_OK && walk->begun && walk->scan.valid) {
        rc = pt_scan_step(&walk->scan, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    walk->begun = true;
    /* Indexes are not tables of the user. Their keys contain a 00. */
    while (rc == SQLITE_OK && walk->scan.valid && pt_slice_has_nul(pt_key_entity(walk->scan.key))) {
        rc = pt_scan_step(&walk->scan, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    *found = walk->scan.valid;
    if (!*found || pt_table_entry_read(walk->scan.key, walk->scan.record, entry)) {
        return SQLITE_OK;
    }
    return report_damage(walk->scan.view, pt_key_entity(walk->scan.key), error);
}

void pt_table_walk_close(pt_table_walk *walk)
{
    pt_scan_free(&walk->scan);
    *walk = (pt_table_walk){0};
}

/* --- Table names --- */

bool pt_table_names_add(pt_table_names *names, int64_t id, pt_slice name)
{
    size_t offset = names->texts.size;
    pt_buffer_append_slice(&names->texts, name);
    pt_buffer_append_byte(&names->texts, 0);
    if (names->texts.failed || !pt_array_reserve(&names->names, &names->capacity, names->count + 1,
                                                 sizeof *names->names)) {
        return false;
    }
    names->names[names->count++] = (pt_table_name){id, offset};
    names->sorted = false;
    return true;
}

int pt_table_names_add_all(pt_table_names *names, pt_view *view, pt_error *error)
{
    pt_table_walk walk = {0};
    pt_table_entry entry = {0};
    bool found = true;
    int rc = pt_table_walk_open(&walk, view, (pt_slice){0}, error);
    while (rc == SQLITE_OK && found) {
        rc = pt_table_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found && !pt_table_names_add(names, entry.id, entry.name)) {
            rc = pt_error_nomem(error);
        }
    }
    pt_table_walk_close(&walk);
    return rc;
}

static int compare_names(const void *a, const void *b)
{
    const pt_table_name *left = a;
    const pt_table_name *right = b;
    if (left->id != right->id) {
        return left->id < right->id ? -1 : 1;
    }
    return (left->offset > right->offset) - (left->offset < right->offset);
}

const char *pt_table_names_find(pt_table_names *names, int64_t id)
{
    /* Sort on the first look-up after names were added. Equal ids stay in the order of adding, so
     * the search for the last one finds the newest name. */
    if (!names->sorted && names->count != 0) {
        qsort(names->names, names->count, sizeof *names->names, compare_names);
    }
    names->sorted = true;
    size_t low = 0;
    size_t high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->names[middle].id <= id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low != 0 && names->names[low - 1].id == id;
    return found ? (const char *)names->texts.data + names->names[low - 1].offset : NULL;
}

void pt_table_names_clear(pt_table_names *names)
{
    names->count = 0;
    pt_buffer_clear(&names->texts);
}

void pt_table_names_free(pt_table_names *names)
{
    sqlite3_free(names->names);
    pt_buffer_free(&names->texts);
    *names = (pt_table_names){0};
}

/* --- Table counts --- */

/* How pending operations change the number of records and bytes. */
typedef struct change_sum {
    int64_t records;
    int64_t bytes;
} change_sum;

static int add_change(pt_view *view, const pt_pending *pending, change_sum *sum, pt_error *error)
{
    pt_slice key = pt_pending_key(pending);
    bool found;
    pt_slice before;
    int rc = view->snapshot->store->engine->get(view->snapshot, key, &found, &before, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* The operation replaces the stored record: subtract the old one, add the new one. */
    if (found) {
        sum->records--;
        sum->bytes -= (int64_t)(key.size + before.size);
    }
    if (pending->operation != PT_DELETE) {
        sum->records++;
        sum->bytes += (int64_t)(key.size + pending->record_size);
    }
    return SQLITE_OK;
}

static int add_changes(pt_view *view, pt_slice prefix, change_sum *sum, pt_error *error)
{
    if (!pt_view_has_pending(view) || !pt_memtable_may_hold(view->memtable, pt_key_table(prefix))) {
        return SQLITE_OK;
    }
    pt_memtable_node *node;
    if (pt_memtable_seek(view->memtable, pt_key_table(prefix), prefix, PT_FORWARD, &node) !=
        SQLITE_OK) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    /* Nothing writes while we walk, so the node stays valid. */
    while (rc == SQLITE_OK && node != NULL &&
           pt_slice_has_prefix(pt_pending_key(pt_memtable_at(node)), prefix)) {
        rc = add_change(view, pt_memtable_at(node), sum, error);
        rc = rc == SQLITE_OK ? pt_view_step(view, error) : rc;
        node = pt_memtable_step(node, PT_FORWARD);
    }
    return rc;
}

int pt_table_counts_of(pt_view *view, uint32_t table_id, pt_table_counts *counts, pt_error *error)
{
    pt_key_start entities = pt_key_start_of_table(table_id);
    pt_key_start chunks = pt_key_start_of_chunks(table_id);
    change_sum of_entities = {0};
    change_sum of_chunks = {0};
    pt_table_counts stored;
    int rc = view->snapshot->store->engine->counts(view->snapshot, table_id, &stored, error);
    if (rc == SQLITE_OK) {
        rc = add_changes(view, pt_key_start_slice(&entities), &of_entities, error);
    }
    if (rc == SQLITE_OK) {
        rc = add_changes(view, pt_key_start_slice(&chunks), &of_chunks, error);
    }
    if (rc == SQLITE_OK) {
        counts->entities = pt_add_counts(stored.entities, of_entities.records);
        counts->bytes = pt_add_counts(stored.bytes, of_entities.bytes + of_chunks.bytes);
        counts->chunks = pt_add_counts(stored.chunks, of_chunks.records);
    }
    return rc;
}
