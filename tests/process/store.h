/*
 * What a store file holds, asked of the engine itself, beside all SQL.
 */
#ifndef STORE_H
#define STORE_H

#include "database.h"
#include "entity/key.h"
#include "store/engine.h"

typedef struct store_content {
    int64_t tables;   /* entries of the catalogue */
    int64_t entities; /* of all tables, found by reading them */
    int64_t counted;  /* of all tables, as the store counts them */
} store_content;

enum { STORE_TABLES_MAX = 100 };

static inline void store_count(pt_snapshot *snapshot, store_content *content)
{
    const pt_engine *engine = &pt_lmdb_engine;
    pt_error error = PT_ERROR_NONE;
    pt_engine_cursor *cursor;
    assert_int_equal(engine->cursor_open(snapshot, &cursor, &error), SQLITE_OK);
    const pt_slice start = {0};
    int rc = engine->cursor_seek(cursor, start, (pt_slice){0}, PT_FORWARD, &error);
    while (rc == SQLITE_OK && cursor->valid) {
        int64_t *counter =
            pt_get_be32(cursor->key.data) == 0 ? &content->tables : &content->entities;
        (*counter)++;
        rc = engine->cursor_step(cursor, PT_FORWARD, &error);
    }
    assert_int_equal(rc, SQLITE_OK);
    engine->cursor_close(cursor);
    for (uint32_t id = 1; id < STORE_TABLES_MAX; id++) {
        pt_table_counts counts;
        assert_int_equal(engine->counts(snapshot, id, &counts, &error), SQLITE_OK);
        content->counted += counts.entities;
    }
}

static inline store_content content_of_store(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    path_in(folder, name, path);
    pt_error error = PT_ERROR_NONE;
    pt_store *store;
    pt_snapshot *snapshot;
    store_content content = {0};
    assert_int_equal(pt_lmdb_engine.open(path, 0, &store, &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_engine.snapshot_new(store, &snapshot, &error), SQLITE_OK);
    assert_int_equal(pt_lmdb_engine.snapshot_begin(snapshot, &error), SQLITE_OK);
    store_count(snapshot, &content);
    pt_lmdb_engine.snapshot_free(snapshot);
    pt_lmdb_engine.close(store);
    return content;
}

#define assert_store(folder, name, table_count, entity_count)                                      \
    do {                                                                                           \
        store_content content = content_of_store(folder, name);                                    \
        assert_int_equal(content.tables, table_count);                                             \
        assert_int_equal(content.entities, entity_count);                                          \
        assert_int_equal(content.counted, entity_count);                                           \
    } while (0)

#endif
