#include "lmdb/log/load.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/log/errors.h"
#include "lmdb/log/file.h"

/* Entities and chunks are logged, the catalogue and garbage never. */
static bool is_sound_key(pt_slice key)
{
    uint32_t table = 0;
    if (key.size > PT_KEY_LOGICAL_MAX) {
        return false;
    }
    return key.data[0] == PT_KEY_CHUNKS
               ? pt_key_read_chunks(key, &table) != 0
               : pt_key_read_table(key, &table) != 0 && table != PT_TABLE_CATALOG &&
                     table < PT_TABLE_ID_LIMIT;
}

/* SQLITE_OK; SQLITE_NOMEM; SQLITE_CORRUPT if the operations are not what the record says. */
static int make_nodes(pt_lmdb_tail *tail, pt_log_record *record, pt_tail_row *row)
{
    pt_log_operation operation;
    while (pt_log_record_next(record, &operation)) {
        if (!is_sound_key(operation.key)) {
            return SQLITE_CORRUPT;
        }
        pt_tail_node *node = pt_tail_make(tail, operation.key, operation.record, operation.deletes);
        if (node == NULL) {
            return SQLITE_NOMEM;
        }
        pt_tail_row_append(row, node);
    }
    return record->facts.count == 0 ? SQLITE_OK : SQLITE_CORRUPT;
}

/* Adds the records that begin where the tail ends, until one does not verify. Sets *size, theirs.
 */
static int add_records(pt_lmdb_tail *tail, pt_slice bytes, size_t *size)
{
    pt_log_record record;
    pt_log_chain after = tail->chain;
    int rc = SQLITE_OK;
    *size = 0;
    while (
        rc == SQLITE_OK &&
        pt_log_record_read(pt_slice_of(bytes.data + *size, bytes.size - *size), &after, &record)) {
        pt_tail_row row;
        rc = pt_tail_row_begin(tail, &row) ? make_nodes(tail, &record, &row) : SQLITE_NOMEM;
        if (rc == SQLITE_OK) {
            *size += after.end - tail->chain.end;
            pt_tail_add_commit(tail, &row, &after, record.facts.clock);
        }
    }
    return rc;
}

static int read_records(int fd, const char *path, uint32_t from, size_t size, uint8_t **bytes,
                        size_t *got, pt_error *error)
{
    *bytes = sqlite3_malloc64(size);
    if (*bytes == NULL) {
        return pt_error_nomem(error);
    }
    int problem = pt_log_file_read(fd, from, *bytes, size, got);
    if (problem != 0) {
        sqlite3_free(*bytes);
        return pt_log_fail_reading(error, path, problem);
    }
    return SQLITE_OK;
}

int pt_log_load_up_to(int fd, const char *path, pt_lmdb_tail *tail, uint32_t end, pt_error *error)
{
    uint32_t from = tail->chain.end;
    uint8_t *bytes = NULL;
    size_t got = 0;
    size_t size;
    if (end > PT_LOG_ROOM || end <= from) {
        return end == from ? SQLITE_OK : SQLITE_BUSY;
    }
    int rc = read_records(fd, path, from, end - from, &bytes, &got, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = add_records(tail, pt_slice_of(bytes, got), &size);
    sqlite3_free(bytes);
    return rc == SQLITE_NOMEM                          ? pt_error_nomem(error)
           : rc == SQLITE_OK && tail->chain.end >= end ? SQLITE_OK
                                                       : SQLITE_BUSY;
}

int pt_log_load_all(int fd, const char *path, pt_lmdb_tail *tail, bool *damaged, pt_error *error)
{
    uint32_t from = tail->chain.end;
    uint8_t *bytes = NULL;
    size_t got = 0;
    size_t size;
    int rc = read_records(fd, path, from, PT_LOG_ROOM - from, &bytes, &got, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = add_records(tail, pt_slice_of(bytes, got), &size);
    pt_slice rest = pt_slice_of(bytes + size, got - size);
    uint32_t end = tail->chain.end;
    *damaged = rc == SQLITE_CORRUPT || got < PT_LOG_ROOM - from ||
               pt_log_flushed_beyond(rest, &tail->chain) > end ||
               (end == 0 && pt_log_follows_later_version(rest, &tail->chain));
    sqlite3_free(bytes);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : SQLITE_OK;
}

int pt_log_clear_rest(int fd, const pt_lmdb_tail *tail)
{
    uint32_t end = tail->chain.end;
    uint8_t *bytes = sqlite3_malloc64(PT_LOG_ROOM - end);
    size_t got = 0;
    size_t at = 0;
    size_t size;
    if (bytes == NULL) {
        return ENOMEM;
    }
    int problem = pt_log_file_read(fd, end, bytes, PT_LOG_ROOM - end, &got);
    while (problem == 0 && pt_log_find_beyond(pt_slice_of(bytes, got), &tail->chain, &at, &size)) {
        problem = pt_log_file_void(fd, end + (uint32_t)at);
        at += size;
    }
    sqlite3_free(bytes);
    return problem;
}
