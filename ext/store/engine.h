/*
 * The contract between the layers above and a store engine.
 *
 * A store is an ordered map from logical keys (entity/key.h) to records (entity/record.h). It has
 * snapshots, and one writer at a time over all processes. The layers above work with any engine
 * that implements the methods of pt_engine.
 *
 * To read:
 *
 *     snapshot_new, then as often as needed:
 *     snapshot_begin, get, cursor_open / cursor_seek / cursor_step / cursor_close ..., snapshot_end
 *
 * To write:
 *
 *     lock, snapshot_begin
 *     ... statements collect their writes in a memtable ...
 *     write_begin, write_put / write_delete / write_restore ..., write_commit, write_publish
 *     unlock
 *
 * Threads: different connections call the methods at the same time. One snapshot and its cursors
 * are used by one thread at a time, but not always the same. The lock belongs to no thread and may
 * be held between calls. From write_begin to write_commit or write_abort everything must run on one
 * thread.
 *
 * Errors: a method that takes an error returns an SQLite result code, and unless this is SQLITE_OK
 * fills the error with a text that names the store's file and says what to do. Texts do not begin
 * with "ptable: "; the caller adds that and the table. Output arguments are set on success only.
 * Comments do not name SQLITE_NOMEM, SQLITE_IOERR and SQLITE_CORRUPT (a damaged file), which any
 * method may return.
 */
#ifndef PT_STORE_ENGINE_H
#define PT_STORE_ENGINE_H

#include <stdatomic.h>

#include "base/error.h"
#include "store/check_report.h"
#include "store/dictionary.h"

typedef struct pt_engine pt_engine;
typedef struct pt_writer pt_writer;

/* An open store. All connections of the process that have it open share one object. */
typedef struct pt_store {
    const pt_engine *engine;
    const char *path; /* absolute; "(private)", for messages, for a private store */
    pt_dictionary *dictionary;
    bool is_private;      /* has no name, so large transactions have no place for a file either */
    bool read_only;       /* the file cannot be written: `lock` fails */
    atomic_bool in_doubt; /* contains writes of a failed transaction: see transaction/session.h */
} pt_store;

typedef enum pt_sync { PT_SYNC_OFF, PT_SYNC_NORMAL, PT_SYNC_FULL } pt_sync;

typedef enum pt_direction { PT_FORWARD, PT_BACKWARD } pt_direction;

/*
 * A snapshot, which can be begun and ended many times. While begun it shows one version of the
 * store, and records read through it are valid. The fields describe that version.
 */
typedef struct pt_snapshot {
    pt_store *store;
    uint64_t version;            /* no two commits have the same, until `compact` */
    uint64_t catalog_generation; /* changes with each table that is created or dropped */
    uint32_t next_table_id;
    int64_t clock; /* the last timestamp assigned before this version was committed */
} pt_snapshot;

/*
 * A cursor over the entities and the catalogue of a begun snapshot. Other logical keys (dropped
 * tables and parts of large values) are read by `get` only. A new cursor has no position: seek
 * first.
 */
typedef struct pt_engine_cursor {
    pt_snapshot *snapshot;
    pt_slice key;    /* the logical key, usable until the cursor moves or is closed */
    pt_slice record; /* usable until the snapshot ends */
    bool key_lasts;  /* the key is usable until the snapshot ends, too */
    bool valid;      /* there is an entry at the position: key and record are set */
} pt_engine_cursor;

/* A commit, apart from its writes. */
typedef struct pt_commit {
    pt_sync sync;
    int64_t clock; /* the last timestamp assigned */
    uint32_t next_table_id;
    bool catalog_changed; /* a table was created or dropped */
} pt_commit;

typedef struct pt_table_counts {
    int64_t entities;
    int64_t bytes;  /* of keys and records, including chunks */
    int64_t chunks; /* parts of large values */
} pt_table_counts;

/* Facts about an open store, for people. */
typedef struct pt_store_info {
    int64_t file_bytes;    /* of the data file; what is mapped for a private store */
    int64_t used_bytes;    /* without free pages */
    int64_t page_size;     /* bytes */
    int64_t version;       /* of the newest commit to the data file */
    int64_t logged;        /* commits that are in the log only */
    int64_t clock;         /* the last timestamp that it assigned */
    int64_t readers;       /* snapshots in use, by all processes */
    int64_t oldest_reader; /* the version of the oldest of them; 0: no snapshot is in use */
    int64_t garbage;       /* dropped tables whose entities are not all deleted yet */
} pt_store_info;

/* Facts about a store that a check knows before it reads the first record. */
typedef struct pt_check_facts {
    pt_shape_source shapes; /* valid until the check ends */
    int64_t clock;          /* the last timestamp assigned */
    uint32_t next_table_id;
} pt_check_facts;

/* Callbacks of a check. One that returns a code other than SQLITE_OK ends the check with it. */
typedef struct pt_check_visitor {
    void *context;
    /* The stored counts of one table. Called for all tables before the other callbacks. */
    int (*counts)(void *context, uint32_t table_id, const pt_table_counts *counts);
    /* Called once, before the first record. */
    void (*begin)(void *context, const pt_check_facts *facts);
    /* Called for each record: first dropped tables (entity/key.h), then the catalogue, the entities
     * and the parts of large values, each in the order of their logical keys. */
    int (*record)(void *context, pt_slice key, pt_slice record, pt_error *error);
    /* A readable form of a logical key or of its beginning. From sqlite3_malloc; NULL when out of
     * memory. */
    char *(*describe)(void *context, pt_slice key);
} pt_check_visitor;

/* Methods that take long call it again and again. */
typedef struct pt_watch {
    void *context;
    bool (*is_over)(void *context); /* true: stop, and return SQLITE_INTERRUPT */
} pt_watch;

enum { PT_OPEN_CREATE = 1, PT_OPEN_PRIVATE = 2 };

struct pt_engine {
    /* --- Stores --- */

    /*
     * Opens the store at `path` (absolute), or creates a private one that disappears with its last
     * close (PT_OPEN_PRIVATE; `path` is ignored). With PT_OPEN_CREATE creates the file if there is
     * none. SQLITE_CANTOPEN if there is no file, or it is a folder, not a store, truncated, or made
     * by a newer version.
     */
    int (*open)(const char *path, unsigned flags, pt_store **store, pt_error *error);
    /*
     * Creates an empty store at `path` with the access rights of the file `like`, or by the umask
     * if that is NULL. Does nothing if there is a file at `path`. SQLITE_CANTOPEN, SQLITE_FULL.
     */
    int (*create)(const char *path, const char *like, pt_error *error);
    /* Free its snapshots first. */
    void (*close)(pt_store *store);

    /* --- The writer lock --- */

    /*
     * Waits up to `wait_ms` for the lock, which excludes all other sessions of all processes. A
     * session that holds it and locks again is refused like any other. SQLITE_BUSY,
     * SQLITE_READONLY.
     */
    int (*lock)(pt_store *store, int wait_ms, pt_error *error);
    /* Frees the dictionary ids that were assigned and not committed, and releases the lock. */
    void (*unlock)(pt_store *store);
    /* Assigns a timestamp: the clock, or one more than the last one assigned if the clock is not
     * later. 0: the last one possible (PT_TICKS_MAX) has been assigned. Call it with the lock held,
     * after a snapshot has begun under it. */
    int64_t (*next_timestamp)(pt_store *store);

    /* --- Snapshots --- */

    int (*snapshot_new)(pt_store *store, pt_snapshot **snapshot, pt_error *error);
    /* Shows the newest version, and loads its dictionary entries. SQLITE_BUSY: too many readers. */
    int (*snapshot_begin)(pt_snapshot *snapshot, pt_error *error);
    /* True if the begun snapshot still shows the newest version. False if not, or if the engine
     * cannot tell. Call it with the lock held: otherwise the answer may be outdated at once. */
    bool (*snapshot_is_newest)(const pt_snapshot *snapshot);
    /* Close its cursors first. Records and keys read through it become invalid. */
    void (*snapshot_end)(pt_snapshot *snapshot);
    /* Ends it if it has begun. NULL is allowed. */
    void (*snapshot_free)(pt_snapshot *snapshot);

    /* Reads one record. If the key does not exist, *found is false. */
    int (*get)(pt_snapshot *snapshot, pt_slice key, bool *found, pt_slice *record, pt_error *error);

    int (*cursor_open)(pt_snapshot *snapshot, pt_engine_cursor **cursor, pt_error *error);
    /* NULL is allowed. */
    void (*cursor_close)(pt_engine_cursor *cursor);
    /*
     * Forward: moves to the first key >= `from`, if it is < `limit`. Backward: moves to the last
     * key < `from`, if it is >= `limit`. Without such a key the cursor becomes invalid. An empty
     * limit means no limit. Both may have any length, and `from` may be the cursor's own key.
     *
     * The limit also holds for all steps in this direction until the next seek. Its bytes are not
     * copied and must last as long.
     */
    int (*cursor_seek)(pt_engine_cursor *cursor, pt_slice from, pt_slice limit,
                       pt_direction direction, pt_error *error);
    /* Replaces the limit by a nearer one, whose bytes must last as well. If the position is beyond
     * it, the cursor becomes invalid. */
    void (*cursor_narrow)(pt_engine_cursor *cursor, pt_slice limit);
    /* Moves a valid cursor to the next (forward) or previous (backward) key. */
    int (*cursor_step)(pt_engine_cursor *cursor, pt_direction direction, pt_error *error);
    /* How many entries are known to follow the position of a valid cursor, within the limit, so
     * that cursor_skip can pass over them. There may be more. */
    unsigned (*cursor_ahead)(const pt_engine_cursor *cursor, pt_direction direction);
    /* Makes `count` steps at once: at least 1, and at most as many as cursor_ahead has told for the
     * position and direction. */
    int (*cursor_skip)(pt_engine_cursor *cursor, pt_direction direction, unsigned count,
                       pt_error *error);

    /* The counts of a table; zeros if it has no entities. */
    int (*counts)(pt_snapshot *snapshot, uint32_t table_id, pt_table_counts *counts,
                  pt_error *error);

    /* False only if the table has no chunks. */
    int (*has_chunks)(pt_snapshot *snapshot, uint32_t table_id, bool *any, pt_error *error);

    /* --- Administration --- */

    int (*info)(pt_store *store, pt_store_info *info, pt_error *error);

    /*
     * Reads everything in one version of a store, undisturbed by writers, and calls the visitor.
     * Without a store (NULL) reads the file at `path`, which may be too damaged to be opened: the
     * engine then never reads it through memory that a damaged file could make unreadable. Adds
     * problems with the engine's own structures to the report. *complete is false if some records
     * could not be read. `watch` may be NULL. SQLITE_CANTOPEN if no version of the file can be
     * read or the store has another format; SQLITE_INTERRUPT.
     */
    int (*check)(const char *path, pt_store *store, const pt_watch *watch,
                 const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                 pt_error *error);

    /*
     * Copies the newest version to a new file, durably and without free pages, while readers and
     * writers go on. *bytes is the size of the copy. SQLITE_CANTOPEN if the file exists or cannot
     * be created; SQLITE_INTERRUPT.
     */
    int (*backup)(pt_store *store, const char *path, const pt_watch *watch, int64_t *bytes,
                  pt_error *error);
    /*
     * Makes the file as small as possible; *bytes is by how much. Versions restart. Waits up to
     * `wait_ms` for writers, then for the readers of this process. SQLITE_BUSY if that was not long
     * enough, or if another process has the store open; then only the entities of dropped tables
     * have been deleted. SQLITE_INTERRUPT. Do not call it with the lock held.
     */
    int (*compact)(pt_store *store, int wait_ms, const pt_watch *watch, int64_t *bytes,
                   pt_error *error);

    /*
     * For a store that cannot be opened because its log is missing or damaged: gives up the commits
     * in it, but for those before the damage. Sets *kept to their number (-1: the store has no log)
     * and *clock to the last timestamp that is left. SQLITE_BUSY if the store is open anywhere.
     */
    int (*forget_log)(const char *path, int64_t *kept, int64_t *clock, pt_error *error);

    /* --- Writing, with the lock held --- */

    int (*write_begin)(pt_store *store, pt_writer **writer, pt_error *error);
    /*
     * Deletes some entities and chunks of tables that earlier commits have dropped, few enough that
     * the commit stays quick. *collected is false if there were none; to find that out costs
     * nothing. Call it before the other writes, and not in a commit that undoes an earlier one.
     */
    int (*write_collect)(pt_writer *writer, bool *collected, pt_error *error);
    /* Inserts or replaces. Fast if the keys come in ascending order. */
    int (*write_put)(pt_writer *writer, pt_slice key, pt_slice record, pt_error *error);
    /* Deletes the key if it exists. */
    int (*write_delete)(pt_writer *writer, pt_slice key, pt_error *error);
    /* Makes the key what it is in an older snapshot: gives it that record, or deletes it. A commit
     * that takes the place of an earlier one in this way is durable, whatever its sync: otherwise a
     * power failure could leave the earlier one. */
    int (*write_restore)(pt_writer *writer, pt_snapshot *snapshot, pt_slice key, pt_error *error);
    /*
     * Makes all writes visible at once, at the latest by write_publish, with the dictionary ids
     * assigned since the last commit, and durable as commit->sync says. Frees the writer, also on
     * failure. After a failure the store has none of the writes, unless the text says that the
     * commit took place but may be lost (SQLITE_IOERR). SQLITE_FULL: the disk or the map is full.
     */
    int (*write_commit)(pt_writer *writer, const pt_commit *commit, pt_error *error);
    /* Discards all writes and frees the writer. If a write fails, this is all that you may call.
     * NULL is allowed. */
    void (*write_abort)(pt_writer *writer);
    /* Shows the last commit to everybody, if it is not shown yet, as `unlock` does too. After a
     * commit that is not shown, write_restore for all its keys, or other writes after that, and
     * write_commit take its place. */
    void (*write_publish)(pt_store *store);
};

/* The name and version of the engine's library, e.g. "LMDB 0.9.24". */
const char *pt_engine_version(void);

#endif
