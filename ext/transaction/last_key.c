#include "transaction/last_key.h"

#include "base/sqlite.h"
#include "entity/key.h"

static int find(pt_last_key *last, pt_snapshot *snapshot, uint32_t table, pt_error *error)
{
    const pt_engine *engine = snapshot->store->engine;
    uint8_t first[PT_KEY_TABLE_SIZE];
    uint8_t behind[PT_KEY_TABLE_SIZE];
    pt_put_be32(first, table);
    pt_put_be32(behind, table + 1);
    pt_engine_cursor *cursor;
    int rc = engine->cursor_open(snapshot, &cursor, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_buffer_clear(&last->key);
    last->known = false;
    rc = engine->cursor_seek(cursor, pt_slice_of(behind, sizeof behind),
                             pt_slice_of(first, sizeof first), PT_BACKWARD, error);
    if (rc == SQLITE_OK && cursor->valid && !pt_buffer_assign(&last->key, cursor->key)) {
        rc = pt_error_nomem(error);
    }
    engine->cursor_close(cursor);
    last->known = rc == SQLITE_OK;
    last->table = table;
    return rc;
}

int pt_last_key_is_before(pt_last_key *last, pt_snapshot *snapshot, pt_slice key, bool *before,
                          pt_error *error)
{
    uint32_t table = pt_get_be32(key.data);
    if (!last->known || last->table != table) {
        int rc = find(last, snapshot, table, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    *before = pt_slice_compare(key, pt_buffer_slice(&last->key)) > 0;
    return SQLITE_OK;
}

void pt_last_key_forget(pt_last_key *last)
{
    last->known = false;
}

void pt_last_key_free(pt_last_key *last)
{
    pt_buffer_free(&last->key);
}
