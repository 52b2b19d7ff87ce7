#include "transaction/large_value.h"

#include "base/seal.h"
#include "base/sqlite.h"
#include "entity/key.h"

/* Where the parts of a key are, after the ids. */
enum { TICKS_AT = 0, ORDINAL_AT = 8, NUMBER_AT = 10, CHUNK_KEY_REST = 14 };

typedef struct chunk_key {
    uint8_t bytes[PT_KEY_START_MAX + CHUNK_KEY_REST];
    size_t start; /* bytes of the ids */
} chunk_key;

/* The key of a large value's first chunk. */
static chunk_key first_key(uint32_t table_id, const pt_large *large)
{
    pt_key_start start = pt_key_start_of_chunks(table_id);
    chunk_key key = {.start = start.size};
    uint8_t *rest = key.bytes + key.start;
    memcpy(key.bytes, start.bytes, start.size);
    pt_put_be32(rest + TICKS_AT, (uint32_t)((uint64_t)large->ticks >> 32));
    pt_put_be32(rest + TICKS_AT + 4, (uint32_t)large->ticks);
    rest[ORDINAL_AT] = (uint8_t)(large->ordinal >> 8);
    rest[ORDINAL_AT + 1] = (uint8_t)large->ordinal;
    return key;
}

static pt_slice nth_key(chunk_key *key, uint32_t number)
{
    pt_put_be32(key->bytes + key->start + NUMBER_AT, number);
    return pt_slice_of(key->bytes, key->start + CHUNK_KEY_REST);
}

uint32_t pt_large_chunk_count(const pt_large *large)
{
    return (uint32_t)((large->size + PT_CHUNK_SIZE - 1) / PT_CHUNK_SIZE);
}

size_t pt_large_chunk_size(const pt_large *large, uint32_t number)
{
    uint64_t rest = large->size - (uint64_t)number * PT_CHUNK_SIZE;
    return rest < PT_CHUNK_SIZE ? (size_t)rest : PT_CHUNK_SIZE;
}

/* --- Writing --- */

bool pt_large_is_needed(const pt_value *value, uint64_t inline_bytes)
{
    if (value->type != PT_STRING && value->type != PT_BINARY) {
        return false;
    }
    return value->bytes.size > PT_INLINE_SIZE_MAX ||
           (inline_bytes > PT_INLINE_BYTES_MAX && value->bytes.size > PT_INLINE_SMALL_SIZE_MAX);
}

int pt_large_put(pt_session *session, uint32_t table_id, int64_t ticks, uint16_t ordinal,
                 pt_value *value, pt_error *error)
{
    pt_large large = {.size = value->bytes.size, .ticks = ticks, .ordinal = ordinal};
    chunk_key key = first_key(table_id, &large);
    for (uint32_t i = 0; i < pt_large_chunk_count(&large); i++) {
        pt_slice bytes = pt_slice_of(value->bytes.data + (size_t)i * PT_CHUNK_SIZE,
                                     pt_large_chunk_size(&large, i));
        pt_slice chunk = nth_key(&key, i);
        /* The timestamp in the key is new, so no older chunk has this key. */
        uint8_t *record = pt_session_put(session, chunk, PT_INSERT, PT_CHUNK_HEADER + bytes.size);
        if (record == NULL) {
            return pt_error_nomem(error);
        }
        pt_put_le32(record, pt_seal_of(chunk, bytes));
        memcpy(record + PT_CHUNK_HEADER, bytes.data, bytes.size);
    }
    /* Only now: `large` and `bytes` share memory in the value. */
    value->type = value->type == PT_STRING ? PT_LARGE_STRING : PT_LARGE_BINARY;
    value->large = large;
    return SQLITE_OK;
}

int pt_large_remove(pt_session *session, uint32_t table_id, const pt_large *large, pt_error *error)
{
    chunk_key key = first_key(table_id, large);
    int rc = SQLITE_OK;
    for (uint32_t i = 0; rc == SQLITE_OK && i < pt_large_chunk_count(large); i++) {
        rc = pt_session_remove(session, nth_key(&key, i), error);
    }
    return rc;
}

/* --- Reading --- */

int pt_large_is_pending(pt_memtable *memtable, uint32_t table_id, const pt_large *large,
                        bool *pending)
{
    /* All chunks are written and deleted together: the first one stands for all. */
    chunk_key key = first_key(table_id, large);
    pt_pending *first;
    int rc = pt_memtable_find(memtable, nth_key(&key, 0), &first);
    *pending = rc == SQLITE_OK && first != NULL && first->operation != PT_DELETE;
    return rc;
}

/* Finds the chunk that the transaction has written, even if it has deleted the chunk since.
 * Each chunk's key is used once, so an older version holds the same bytes. */
static int find_pending(pt_view *view, pt_slice key, bool *found, pt_slice *record, pt_error *error)
{
    *found = false;
    if (!pt_view_has_pending(view)) {
        return SQLITE_OK;
    }
    pt_pending *pending;
    if (pt_memtable_find(view->memtable, key, &pending) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    while (pending != NULL && pending->operation == PT_DELETE) {
        pending = pt_memtable_older(view->memtable, pending);
    }
    if (pending != NULL) {
        *found = true;
        *record = pt_pending_record(pending);
    }
    return SQLITE_OK;
}

/* A chunk is neither stored nor pending. If the snapshot is older than the value, this transaction
 * wrote the value and discarded it; otherwise the store is damaged. */
static int report_missing_chunk(const pt_view *view, const pt_large *large, pt_error *error)
{
    if (large->ticks <= view->snapshot->clock) {
        return SQLITE_CORRUPT_VTAB;
    }
    return pt_error_set(error, SQLITE_ABORT_ROLLBACK,
                        "a large value that this statement was reading has been rolled back; run "
                        "the statement again");
}

static int find_chunk(pt_view *view, pt_slice key, const pt_large *large, pt_slice *record,
                      pt_error *error)
{
    bool found;
    /* The snapshot first, unlike pt_view_get: a pending operation on a stored chunk can only be its
     * deletion, and a deleted chunk must still be found. */
    int rc = view->snapshot->store->engine->get(view->snapshot, key, &found, record, error);
    if (rc == SQLITE_OK && !found) {
        rc = find_pending(view, key, &found, record, error);
    }
    return rc != SQLITE_OK || found ? rc : report_missing_chunk(view, large, error);
}

bool pt_large_is_chunk(pt_slice key, pt_slice record, size_t size)
{
    return record.size == PT_CHUNK_HEADER + size &&
           pt_get_le32(record.data) ==
               pt_seal_of(key, pt_slice_of(record.data + PT_CHUNK_HEADER, size));
}

static int append_chunks(pt_view *view, uint32_t table_id, const pt_large *large, pt_buffer *bytes,
                         pt_error *error)
{
    chunk_key first = first_key(table_id, large);
    for (uint32_t i = 0; i < pt_large_chunk_count(large); i++) {
        pt_slice key = nth_key(&first, i);
        size_t size = pt_large_chunk_size(large, i);
        pt_slice record;
        int rc = find_chunk(view, key, large, &record, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        /* Check before copying: the record's size comes from the store. */
        if (!pt_large_is_chunk(key, record, size)) {
            return SQLITE_CORRUPT_VTAB;
        }
        pt_buffer_append(bytes, record.data + PT_CHUNK_HEADER, size);
    }
    return SQLITE_OK;
}

/* Allocates exactly `size` bytes, since SQLite may take ownership of the buffer. */
static bool empty_and_reserve(pt_buffer *bytes, size_t size)
{
    pt_buffer_clear(bytes);
    if (bytes->capacity < size) {
        pt_buffer_free(bytes);
        bytes->data = sqlite3_malloc64(size);
        bytes->capacity = bytes->data != NULL ? size : 0;
    }
    return bytes->data != NULL;
}

int pt_large_read(pt_view *view, uint32_t table_id, pt_value *value, pt_buffer *bytes,
                  pt_error *error)
{
    if (!pt_type_is_large(value->type)) {
        return SQLITE_OK;
    }
    if (!empty_and_reserve(bytes, value->large.size + 1)) {
        return pt_error_nomem(error);
    }
    int rc = append_chunks(view, table_id, &value->large, bytes, error);
    if (rc == SQLITE_OK) {
        bytes->data[bytes->size] = 0;
        value->type = value->type == PT_LARGE_STRING ? PT_STRING : PT_BINARY;
        value->bytes = pt_buffer_slice(bytes);
    }
    return rc;
}

int pt_large_read_start(pt_view *view, uint32_t table_id, pt_value *value, pt_error *error)
{
    chunk_key first = first_key(table_id, &value->large);
    pt_slice key = nth_key(&first, 0);
    size_t size = pt_large_chunk_size(&value->large, 0);
    pt_slice record;
    int rc = find_chunk(view, key, &value->large, &record, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!pt_large_is_chunk(key, record, size)) {
        return SQLITE_CORRUPT_VTAB;
    }
    value->type = value->type == PT_LARGE_STRING ? PT_STRING : PT_BINARY;
    value->bytes = pt_slice_of(record.data + PT_CHUNK_HEADER, size);
    return SQLITE_OK;
}

bool pt_large_read_key(pt_slice key, pt_chunk_key *chunk)
{
    uint32_t table_id;
    size_t start = pt_key_read_chunks(key, &table_id);
    if (start == 0 || key.size != start + CHUNK_KEY_REST) {
        return false;
    }
    const uint8_t *rest = key.data + start;
    const uint8_t *ticks = rest + TICKS_AT;
    *chunk = (pt_chunk_key){
        .table_id = table_id,
        .ticks = (int64_t)((uint64_t)pt_get_be32(ticks) << 32 | pt_get_be32(ticks + 4)),
        .ordinal = (uint16_t)(rest[ORDINAL_AT] << 8 | rest[ORDINAL_AT + 1]),
        .number = pt_get_be32(rest + NUMBER_AT),
    };
    return true;
}

/* --- Tables without large values --- */

static int ask_snapshot(pt_view *view, uint32_t table_id, pt_chunks_known *answer, pt_error *error)
{
    bool any;
    int rc = view->snapshot->store->engine->has_chunks(view->snapshot, table_id, &any, error);
    if (rc == SQLITE_OK) {
        *answer = (pt_chunks_known){.table_id = table_id, .known = true, .any = any};
    }
    return rc;
}

int pt_large_values_possible(pt_session *session, uint32_t table_id, bool *possible,
                             pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(session, &view, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Several tables share a slot. The one looked up last keeps it. */
    pt_chunks_known *known = &view->chunks[table_id % PT_VIEW_CHUNKS_KNOWN];
    if (!known->known || known->table_id != table_id) {
        rc = ask_snapshot(view, table_id, known, error);
    }
    if (rc == SQLITE_OK) {
        *possible = known->any || pt_memtable_may_hold(view->memtable, PT_TABLE_CHUNKS);
    }
    return rc;
}

/* --- Large fields --- */

/* The size of the strings and binaries that are short enough to stay in the record. */
static uint64_t inline_bytes_of(const pt_bag *bag)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_value *value = &bag->fields[i].value;
        bool varies = value->type == PT_STRING || value->type == PT_BINARY;
        bytes += varies && value->bytes.size <= PT_INLINE_SIZE_MAX ? value->bytes.size : 0;
    }
    return bytes;
}

bool pt_large_fields_are_needed(const pt_bag *bag)
{
    uint64_t inline_bytes = 0;
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_value *value = &bag->fields[i].value;
        if (value->type != PT_STRING && value->type != PT_BINARY) {
            continue;
        }
        if (value->bytes.size > PT_INLINE_SIZE_MAX) {
            return true;
        }
        inline_bytes += value->bytes.size;
    }
    return inline_bytes > PT_INLINE_BYTES_MAX;
}

int pt_large_fields_put(pt_session *session, uint32_t table_id, int64_t ticks, pt_bag *bag,
                        pt_error *error)
{
    uint64_t inline_bytes = inline_bytes_of(bag);
    uint16_t ordinal = 0;
    int rc = SQLITE_OK;
    for (unsigned i = 0; rc == SQLITE_OK && i < bag->count; i++) {
        pt_value *value = &bag->fields[i].value;
        if (pt_large_is_needed(value, inline_bytes)) {
            rc = pt_large_put(session, table_id, ticks, ordinal++, value, error);
        }
    }
    return rc;
}

static bool is_kept(const pt_bag *kept, const pt_large *large)
{
    for (unsigned i = 0; kept != NULL && i < kept->count; i++) {
        const pt_value *value = &kept->fields[i].value;
        if (pt_type_is_large(value->type) && value->large.ticks == large->ticks &&
            value->large.ordinal == large->ordinal) {
            return true;
        }
    }
    return false;
}

static void append_gone(pt_record *record, const pt_bag *kept, pt_buffer *gone)
{
    for (unsigned i = 0; i < record->shape->count; i++) {
        pt_value value;
        if (pt_type_is_large((pt_type)record->shape->properties[i].type) &&
            pt_record_value(record, i, &value) == SQLITE_OK && !is_kept(kept, &value.large)) {
            pt_buffer_append(gone, &value.large, sizeof value.large);
        }
    }
}

int pt_large_fields_find_in(const pt_session *session, pt_slice key, pt_slice bytes,
                            const pt_bag *kept, pt_buffer *gone, pt_error *error)
{
    pt_shape_source source = pt_dictionary_source(pt_session_store(session)->dictionary);
    pt_buffer shape = {0};
    pt_record record;
    int rc = pt_record_open(&record, key, bytes, &source, &shape);
    if (rc == SQLITE_OK) {
        append_gone(&record, kept, gone);
    }
    pt_buffer_free(&shape);
    return rc == SQLITE_NOMEM || gone->failed ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_large_fields_find_gone(pt_session *session, pt_slice key, const pt_bag *kept,
                              pt_buffer *gone, pt_error *error)
{
    bool possible;
    bool found;
    pt_slice bytes;
    int rc = pt_large_values_possible(session, pt_key_table(key), &possible, error);
    if (rc != SQLITE_OK || !possible) {
        return rc;
    }
    /* The record is valid until the next write: list its large values before chunks are deleted. */
    rc = pt_session_find(session, key, &found, &bytes, error);
    return rc == SQLITE_OK && found
               ? pt_large_fields_find_in(session, key, bytes, kept, gone, error)
               : rc;
}

int pt_large_fields_remove(pt_session *session, uint32_t table_id, const pt_buffer *gone,
                           pt_error *error)
{
    int rc = SQLITE_OK;
    for (size_t at = 0; rc == SQLITE_OK && at < gone->size; at += sizeof(pt_large)) {
        pt_large large;
        memcpy(&large, gone->data + at, sizeof large);
        rc = pt_large_remove(session, table_id, &large, error);
    }
    return rc;
}
