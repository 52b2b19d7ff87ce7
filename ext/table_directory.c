#include "table_directory.h"

#include "key.h"
#include "sqlite.h"

enum { RECORD_FORMAT = 1, RECORD_NAME = 5, KEY_MAX = PT_KEY_TABLE_SIZE + PT_TABLE_NAME_MAX };

static int make_key(const char *name, uint8_t key[KEY_MAX], size_t *size, pt_error *error)
{
    size_t length = strlen(name);
    if (length > PT_TABLE_NAME_MAX) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "the table's name has %lld bytes; choose one of at most %d",
                            (long long)length, PT_TABLE_NAME_MAX);
    }
    pt_put_be32(key, 0);
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool upper = c >= 'A' && c <= 'Z';
        key[PT_KEY_TABLE_SIZE + i] = (uint8_t)(upper ? c - 'A' + 'a' : c);
    }
    *size = PT_KEY_TABLE_SIZE + length;
    return SQLITE_OK;
}

static bool read_id(pt_slice record, uint32_t *id)
{
    if (record.size < RECORD_NAME || record.data[0] != RECORD_FORMAT) {
        return false;
    }
    *id = pt_get_le32(record.data + 1);
    return *id != 0 && *id < PT_TABLE_ID_LIMIT;
}

static int look_up(pt_view *view, const char *name, uint32_t *id, pt_error *error)
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
    if (!read_id(record, id)) {
        return pt_error_set(error, SQLITE_CORRUPT_VTAB,
                            "the catalogue entry of table %Q is damaged in store %Q; restore the "
                            "store from a backup",
                            name, view->snapshot->store->path);
    }
    return SQLITE_OK;
}

int pt_table_directory_find(pt_session *session, pt_view *view, const char *name,
                            pt_table_id *table, pt_error *error)
{
    uint64_t generation = view->snapshot->catalog_generation;
    uint64_t changes = pt_session_catalog_changes(session);
    if (table->known && table->generation == generation && table->changes == changes) {
        return SQLITE_OK;
    }
    table->known = false;
    int rc = look_up(view, name, &table->id, error);
    if (rc == SQLITE_OK) {
        table->known = true;
        table->generation = generation;
        table->changes = changes;
    }
    return rc;
}

int pt_table_directory_add(pt_session *session, const char *name, pt_error *error)
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
    size_t length = size - PT_KEY_TABLE_SIZE;
    uint8_t *record =
        pt_session_put(session, pt_slice_of(key, size), PT_INSERT, RECORD_NAME + length);
    if (record == NULL) {
        return pt_error_nomem(error);
    }
    record[0] = RECORD_FORMAT;
    pt_put_le32(record + 1, id);
    memcpy(record + RECORD_NAME, name, length);
    pt_session_note_catalog_change(session);
    return SQLITE_OK;
}
