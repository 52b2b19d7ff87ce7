/*
 * The writes of a transaction. pt_pending is one write that is not committed yet. A write set holds
 * the newest write of each key, in key order, as a commit applies them to the store.
 */
#ifndef PT_TRANSACTION_WRITE_SET_H
#define PT_TRANSACTION_WRITE_SET_H

#include "base/swap_file.h"
#include "store/engine.h"

typedef enum pt_operation {
    PT_INSERT,  /* the entity did not exist */
    PT_REPLACE, /* the record replaces whatever was there */
    PT_MERGE,   /* the record is the old one with some properties changed */
    PT_DELETE,  /* there is no record */
} pt_operation;

#define PT_PENDING_MAX (UINT32_MAX - 1)

typedef struct pt_pending {
    /* In the memtable's log. Links are positions plus 1; 0: none. */
    uint32_t position; /* below PT_PENDING_MAX */
    uint32_t older;    /* the version that shows again if this one is discarded */
    uint32_t before;   /* the entry before it of the same table */
    uint32_t record_size;
    uint32_t record_capacity;
    uint16_t key_size;
    uint8_t operation; /* a pt_operation */
    bool newest : 1;   /* the log has no newer version of the key */
    bool of_index : 1; /* an entry of an index, no operation of the user */
    uint8_t bytes[];   /* key, record */
} pt_pending;

static inline pt_slice pt_pending_key(const pt_pending *pending)
{
    return pt_slice_of(pending->bytes, pending->key_size);
}

static inline pt_slice pt_pending_record(const pt_pending *pending)
{
    return pt_slice_of(pending->bytes + pending->key_size, pending->record_size);
}

/* All zeros is the empty set. The entries belong to a memtable; the array is from sqlite3_malloc.
 */
typedef struct pt_write_set {
    pt_pending **entries;
    size_t count;
    pt_swap_file *swap; /* with some of the entries; NULL: none */
} pt_write_set;

void pt_write_set_free(pt_write_set *set);

/* True if the set touches the table catalogue. */
bool pt_write_set_changes_catalog(const pt_write_set *set);

/*
 * In one store transaction: undoes `undo`, that is, puts its keys back to what they are in
 * `before`; then applies `redo`. Either may be empty. All or nothing. The caller holds the writer
 * lock. Unless it undoes, this also deletes some entities of dropped tables: in the same commit,
 * and for a large set or after SQLITE_FULL in commits of their own. SQLITE_OK, SQLITE_FULL,
 * SQLITE_NOMEM, or another error of the engine.
 */
int pt_write_set_commit(pt_store *store, const pt_write_set *undo, pt_snapshot *before,
                        const pt_write_set *redo, const pt_commit *commit, pt_error *error);

#endif
