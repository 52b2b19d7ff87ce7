/*
 * What a store engine must do. A store is an ordered map from logical keys (entity/key.h) to
 * records (entity/record.h) with snapshots and one writer at a time, over all processes. Everything
 * above this line works with any engine that offers these methods.
 *
 * Protocol of a write, where the last line happens within one call of the layer above:
 *
 *     lock, snapshot_begin
 *     ... statements collect their writes in a memtable ...
 *     write_begin, write_put / write_delete / write_restore ..., write_commit, unlock
 *
 * The lock is bound neither to a thread nor to a call. write_begin to write_commit or write_abort
 * must run on one thread.
 *
 * All methods return an SQLite result code and, on failure, fill `error` with a text that names the
 * store's file and says what to do; texts do not begin with "ptable: ", the caller adds the table.
 * Output arguments are set only on success.
 */
#ifndef PT_STORE_ENGINE_H
#define PT_STORE_ENGINE_H

#include <stdatomic.h>

#include "base/error.h"
#include "store/check_report.h"
#include "store/dictionary.h"

typedef struct pt_engine pt_engine;
typedef struct pt_writer pt_writer;

/* An open store, shared by all connections of the process that have it open. */
typedef struct pt_store {
    const pt_engine *engine;
    const char *path; /* for messages; "(private)" for a private store */
    pt_dictionary *dictionary;
    bool read_only;       /* the file cannot be written: every lock is refused */
    atomic_bool in_doubt; /* shows writes of a transaction that failed: see transaction/session.h */
} pt_store;

typedef enum pt_sync { PT_SYNC_OFF, PT_SYNC_NORMAL, PT_SYNC_FULL } pt_sync;

typedef enum pt_direction { PT_FORWARD, PT_BACKWARD } pt_direction;

/*
 * A reusable snapshot object. Between snapshot_begin and snapshot_end it shows one version of the
 * store; records read through it stay valid for that time. It may move between threads but not be
 * used by two at once.
 */
typedef struct pt_snapshot {
    pt_store *store;
    uint64_t version;            /* rises with each commit to the store, but see `compact` */
    uint64_t catalog_generation; /* changes whenever a table was created or dropped */
    uint32_t next_table_id;
    int64_t clock; /* the last timestamp given out when this version was committed */
} pt_snapshot;

/* A cursor over the entities and the catalogue of a begun snapshot: what else has a logical key is
 * read by `get` only. Move to a position first; then key and record are set while `valid`. */
typedef struct pt_engine_cursor {
    pt_snapshot *snapshot;
    pt_slice key;    /* logical key, valid until the cursor moves or is closed */
    pt_slice record; /* valid as long as the snapshot */
    bool key_lasts;  /* so is the key */
    bool valid;
} pt_engine_cursor;

/* What a commit records besides the entities. */
typedef struct pt_commit {
    pt_sync sync;
    int64_t clock; /* last timestamp given out */
    uint32_t next_table_id;
    bool catalog_changed;
} pt_commit;

typedef struct pt_table_counts {
    int64_t entities;
    int64_t bytes;  /* keys and records, of chunks too */
    int64_t chunks; /* parts of large values */
} pt_table_counts;

/* What there is to know about an open store, for people. */
typedef struct pt_store_info {
    int64_t file_bytes;    /* of the data file; what is mapped for a private store */
    int64_t used_bytes;    /* without free pages */
    int64_t page_size;     /* bytes */
    int64_t version;       /* of the newest commit */
    int64_t clock;         /* the last timestamp given out by it */
    int64_t readers;       /* snapshots in use, by all processes */
    int64_t oldest_reader; /* version that the oldest of them shows; 0: none */
    int64_t garbage;       /* dropped tables still to be collected */
} pt_store_info;

/* What a check knows of a store before it comes to the records. */
typedef struct pt_check_facts {
    pt_shape_source shapes; /* valid until the check ends */
    int64_t clock;          /* the last timestamp given out */
    uint32_t next_table_id;
} pt_check_facts;

/* Who is told of the records of a store that is checked. Codes are SQLite's; what is not SQLITE_OK
 * ends the check. */
typedef struct pt_check_visitor {
    void *context;
    /* The counts that are stored: before all the rest. */
    int (*counts)(void *context, uint32_t table_id, const pt_table_counts *counts);
    void (*begin)(void *context, const pt_check_facts *facts);
    /* A record: first those of dropped tables (entity/key.h), then the catalogue, the entities and
     * the parts of large values, each in the order of their logical keys. */
    int (*record)(void *context, pt_slice key, pt_slice record, pt_error *error);
    /* A logical key, or the beginning of one, for people. From sqlite3_malloc; NULL when out of
     * memory. */
    char *(*describe)(void *context, pt_slice key);
} pt_check_visitor;

/* Asked now and then by what takes long. */
typedef struct pt_watch {
    void *context;
    bool (*is_over)(void *context); /* give up: SQLITE_INTERRUPT */
} pt_watch;

enum { PT_OPEN_CREATE = 1, PT_OPEN_PRIVATE = 2 };

struct pt_engine {
    /*
     * Opens the store at `path` (absolute), or a new private one that vanishes with its last close
     * (path ignored). PT_OPEN_CREATE: make it if there is no file. SQLITE_CANTOPEN if there is
     * none, for a folder, a file that is not a store, a truncated one, one made by a newer version;
     * SQLITE_NOMEM; SQLITE_IOERR.
     */
    int (*open)(const char *path, unsigned flags, pt_store **store, pt_error *error);
    /*
     * Makes an empty store at `path`, if there is no file, for those whom the file `like` is for:
     * with the same access rights. SQLITE_CANTOPEN, SQLITE_FULL, SQLITE_IOERR, SQLITE_NOMEM.
     */
    int (*create)(const char *path, const char *like, pt_error *error);
    /* Its snapshots must have been freed. */
    void (*close)(pt_store *store);

    /*
     * Waits up to `wait_ms` for the writer lock, which excludes every other session of every
     * process. Taking it twice without unlock is refused like any other holder: SQLITE_BUSY.
     * SQLITE_READONLY if the store is read-only.
     */
    int (*lock)(pt_store *store, int wait_ms, pt_error *error);

    /* Also withdraws dictionary ids that were assigned and not committed. */
    void (*unlock)(pt_store *store);

    /* The next timestamp: the clock, or one more than the last one given out. Lock held, snapshot
     * taken since. */
    int64_t (*tick)(pt_store *store);

    int (*snapshot_new)(pt_store *store, pt_snapshot **snapshot, pt_error *error);
    /* Shows the newest version; its dictionary entries have been loaded. SQLITE_BUSY: too many
     * readers. */
    int (*snapshot_begin)(pt_snapshot *snapshot, pt_error *error);
    /* Whether it certainly shows the newest version still. Lock held, snapshot begun. */
    bool (*snapshot_is_newest)(const pt_snapshot *snapshot);
    void (*snapshot_end)(pt_snapshot *snapshot);  /* nothing read through it is valid any more */
    void (*snapshot_free)(pt_snapshot *snapshot); /* ends it if need be; NULL is allowed */

    /* One record. *found says whether the key is there. */
    int (*get)(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record, pt_error *error);

    int (*cursor_open)(pt_snapshot *snapshot, pt_engine_cursor **cursor, pt_error *error);
    void (*cursor_close)(pt_engine_cursor *cursor); /* before its snapshot ends; NULL is allowed */
    /*
     * Forward: the first key >= `from` that is below `limit`. Backward: the last key < `from` that
     * is not below `limit`. An empty limit is none. Both may have any length; `from` may be the
     * cursor's own key, and the bytes of `limit` must stay as long as it holds: for this search
     * and all steps in its direction, until the next one.
     */
    int (*cursor_seek)(pt_engine_cursor *cursor, pt_slice from, pt_slice limit,
                       pt_direction direction, pt_error *error);
    /* Another limit for what was sought, nearer than the last one. A position beyond it is lost. */
    void (*cursor_narrow)(pt_engine_cursor *cursor, pt_slice limit);
    /* The neighbour of a valid position. */
    int (*cursor_step)(pt_engine_cursor *cursor, pt_direction direction, pt_error *error);

    /* Entities and bytes of a table; zeros for one that has none. */
    int (*counts)(pt_snapshot *snapshot, uint32_t table_id, pt_table_counts *counts,
                  pt_error *error);

    int (*info)(pt_store *store, pt_store_info *info, pt_error *error);

    /*
     * Reads all of an open store, in one version that is not disturbed by writers, or, with store
     * NULL, of the file at `path`, which may be too damaged to be opened: never through memory that
     * a damaged file could make unreadable. The report is told what is wrong with the engine's own
     * structures. *complete = false: not all records could be read. With watch NULL nothing
     * interrupts it. SQLITE_NOMEM; SQLITE_IOERR; SQLITE_CANTOPEN: the file has no version that can
     * be read; SQLITE_INTERRUPT.
     */
    int (*check)(const char *path, pt_store *store, const pt_watch *watch,
                 const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                 pt_error *error);

    /*
     * Copies the newest version to a new file, durably, without what nobody needs any more; readers
     * and writers go on meanwhile. *bytes: its size. SQLITE_CANTOPEN for a file that exists, or
     * cannot be made; SQLITE_INTERRUPT.
     */
    int (*backup)(pt_store *store, const char *path, const pt_watch *watch, int64_t *bytes,
                  pt_error *error);
    /*
     * Gives back to the file system what the file need not hold; `version` is counted anew. *bytes:
     * by how much it became smaller. Waits up to `wait_ms` for writers, then for readers of this
     * process. SQLITE_BUSY if that was not long enough, or if another process has the store open:
     * then only what is left of dropped tables has been collected. The lock must not be held.
     */
    int (*compact)(pt_store *store, int wait_ms, const pt_watch *watch, int64_t *bytes,
                   pt_error *error);

    int (*write_begin)(pt_store *store, pt_writer **writer, pt_error *error);
    /*
     * Deletes a slice of the entities and chunks of tables that earlier commits have dropped: few
     * enough that the commit stays quick. *collected: whether there was anything to delete; it
     * costs nothing when there is not. Before any other write, and not in a commit that takes an
     * earlier one back.
     */
    int (*write_collect)(pt_writer *writer, bool *collected, pt_error *error);
    /* Inserts or replaces. Keys should come in ascending order: that is what is fast. */
    int (*write_put)(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error);
    /* Deletes the key if it is there. */
    int (*write_delete)(pt_writer *writer, pt_slice key, pt_error *error);
    /* Puts the key back to what it is in an older snapshot: its record, or absent. */
    int (*write_restore)(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error);
    /*
     * Makes it all visible at once, with the dictionary ids assigned since; durable as commit->sync
     * says. On failure nothing of it is there, and the writer is gone either way. SQLITE_FULL: disk
     * or map full.
     */
    int (*write_commit)(pt_writer *writer, const pt_commit *commit, pt_error *error);
    void (*write_abort)(pt_writer *writer); /* NULL is allowed */
};

/* Name and version of the engine's library, e.g. "LMDB 0.9.24". */
const char *pt_engine_version(void);

#endif
