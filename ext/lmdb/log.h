/*
 * The log in front of LMDB: what this process knows of it.
 *
 * LMDB takes two flushes and about ten pages for a commit, however small. So once small commits
 * come in quick succession (lmdb/log_use.h), they are only appended to a log (lmdb/log/file.h), and
 * kept in memory in the tail (lmdb/log/tail.h), which all readers merge with LMDB's tree. Every
 * LMDB transaction begins by writing the tail to the tree. So its commit leaves nothing in the log,
 * and the log begins again.
 *
 * The state in the store's file names the log, from before the first commit is in the log until the
 * last process that uses it closes the store. What the log holds at any time follows one commit of
 * the file, by its nonce; the rest of it does not verify.
 *
 * A commit is in the log before it is shown. To publish it, its writer sets the word
 * (lmdb/log/word.h), which all processes share. The word alone says what is committed, with two
 * exceptions: a process that opens the store and finds that no other one uses the log goes by the
 * log alone. And a writer that has just locked the store publishes a whole record that a process
 * has left behind when it died: that process may have committed its main database.
 *
 * Processes that use the log hold a shared lock, PT_LOCK_LOG, from before it is made. The first one
 * to open the store and the last one to close it know by the exclusive lock that no other process
 * uses the log. A log that the newest state does not name is removed with the exclusive lock, or by
 * the process that holds the writer lock.
 *
 * To read (lmdb/log_reader.h): the word first, then LMDB's snapshot. If the word is about the
 * version of the snapshot, it says how much of the tail belongs to the view. If it is about another
 * version, nothing does: a commit to the file has come in between, and that had the whole tail in
 * it.
 */
#ifndef PT_LMDB_LOG_H
#define PT_LMDB_LOG_H

#include "lmdb/log/file.h"
#include "lmdb/log/tail.h"
#include "lmdb/log/word.h"
#include "lmdb/state.h"

/* The commit that is being made: lmdb/logged_writer.c. */
typedef struct pt_logged_commit {
    pt_lmdb_store *store; /* this and the next one: pt_writer_head */
    bool is_logged;
    pt_writer *plain; /* the LMDB transaction that it has become, or NULL */
    pt_lmdb_tail *tail;
    pt_tail_row row;
    pt_buffer record;
    uint16_t operations;
    bool has_put;
    int64_t clock;
    pt_sync sync;
    pt_log_chain after; /* the chain with its record */
    bool is_written;    /* a record is in the log, but not published */
    bool is_whole;      /* `row` and `after` are that record's: it can be published */
    bool undoes;        /* write_restore was called for that record */
    void *begin;        /* of its memory in the tail; NULL: none. It is garbage */
    uint32_t begin_end; /* as long as the tail ends there */
} pt_logged_commit;

typedef struct pt_lmdb_log {
    /* What this process follows. Changed with the store's mutex held. */
    pt_lmdb_owned files[2]; /* fd -1: closed. A new one is opened beside the one in use: */
    uint64_t id;
    pt_log_word *word;
    struct pt_mapped_word *mapped; /* all words so far: a thread may be about to read an old one */
    pt_log_word own;    /* for a process that may not write, if no other one uses the log */
    pt_lmdb_tail *tail; /* the newest that was needed, or NULL */

    /* What the newest state says, for the holder of the writer lock. */
    uint64_t seen; /* LMDB's number of the version that it is in; 0: look again */
    pt_format_state state;
    uint64_t next_id;   /* of the log that the next commit to the file names; 0: none */
    pt_log_chain chain; /* of the published records */
    pt_logged_commit commit;
    pt_deadline recent_until; /* small commits are counted in `recent` */
    pt_deadline not_before;   /* is a log to be begun */
    uint64_t dice;            /* for tests: base/ways.h */

    char *name;              /* of the log's file */
    pt_lmdb_file_id file_id; /* of the one that has been opened under it */
    int file;                /* the one of `files` that is in use */
    pt_sync strongest;       /* commit in the tail: writing it to the tree must promise as much */
    unsigned recent;         /* small commits to the file, one soon after the other */
    bool has_lock;           /* PT_LOCK_LOG */
    bool is_locked_blindly;  /* when the store was locked, the newest state could not be read */
    bool may_have_garbage;   /* dropped tables whose entities are not all deleted */
    bool has_room;           /* in the map and on the disk, for what the log may hold */
    bool is_allowed;         /* to begin one */
    bool is_alone;           /* its word is not shared: the log is only read to be ended */
    bool is_given_up;        /* the log that the state names is not there, and that is no error */
} pt_lmdb_log;

/* SQLITE_NOMEM. A private store has no log. */
int pt_log_new(pt_lmdb_store *store, pt_error *error);
void pt_log_free(pt_lmdb_store *store);

/* --- For readers --- */

/* The id of the log that this process follows, or 0. To be read before the word: a word that is
 * read afterwards is the one of this log, unless the log has ended in between. */
static inline uint64_t pt_log_attached(const pt_lmdb_store *store)
{
    return atomic_load_explicit(&store->attached_log, memory_order_acquire);
}

static inline uint64_t pt_log_read_word(const pt_lmdb_store *store)
{
    const pt_log_word *word = atomic_load_explicit(&store->word, memory_order_acquire);
    return word == NULL ? pt_log_word_of(0, 0)
                        : atomic_load_explicit(&word->published, memory_order_acquire);
}

/* --- With the writer lock held --- */

/* With the lock just taken: learns what others have done. `number` is LMDB's of the newest version;
 * 0: not known. */
int pt_log_catch_up(pt_lmdb_store *store, uint64_t number, pt_error *error);

/* True if the log holds commits that are not in LMDB's tree. */
static inline bool pt_log_has_tail(const pt_lmdb_store *store)
{
    return store->log != NULL && store->log->chain.end != 0;
}

/* How durable a commit to the file must be for which `wanted` was asked. `named` is the log that
 * the state before it names. */
pt_sync pt_log_sync_of(const pt_lmdb_store *store, uint64_t named, pt_sync wanted);

/* Called after a commit to the file. */
void pt_log_note_lmdb_commit(pt_lmdb_store *store);

/* The store's file will be replaced by a copy, whose versions have lower numbers: another one with
 * a number that we know must not be taken for it. The log has ended. */
void pt_log_forget_versions(pt_lmdb_store *store);

/* Sets the commit's tail, which the next record follows, and begins its row there. The record that
 * is written, if there is one, can only be replaced from now on. False when out of memory. */
bool pt_log_begin_commit(pt_lmdb_store *store);

/* Sets has_room. */
bool pt_log_look_for_room(pt_lmdb_store *store);

/* Shows the record that was written last. */
void pt_log_publish(pt_lmdb_store *store);

/* Says to all processes whether there may be a record that is not published. */
void pt_log_mark_pending(pt_lmdb_store *store, bool pending);

/* Nothing may be logged any more, by no process: the next commit goes to the file and ends it. */
void pt_log_note_failure(pt_lmdb_store *store);

/* After a commit to the file has failed: the disk may have another version of the file than this
 * process sees, or one that is less durable than it says of itself. Nothing may be logged that
 * follows it. */
void pt_log_distrust_base(pt_lmdb_store *store);
bool pt_log_has_failed(const pt_lmdb_store *store);

/* --- For lmdb/log_reader.h, with the store's mutex --- */

/* Maps the word of this log, unless the one in use is about it. Returns 0 or errno; EIDRM if there
 * is none. */
int pt_log_find_word(pt_lmdb_store *store, pt_log_word_use use, uint64_t id);

/* From now on the process goes by this word, for the log whose file is open. */
void pt_log_follow(pt_lmdb_store *store, uint64_t id, pt_log_word *word);
void pt_log_unfollow(pt_lmdb_store *store);

/* The tail that follows the version of this state; a new one if another was needed last. NULL when
 * out of memory. */
pt_lmdb_tail *pt_log_newest_tail(pt_lmdb_store *store, const pt_format_state *state);

/* Puts this tail, or NULL, in the place of the newest one. Takes over the reference. */
void pt_log_replace_tail(pt_lmdb_store *store, pt_lmdb_tail *tail);

/* Without the mutex: follows this log with PT_LOCK_LOG, as processes do that may write. Returns 0
 * or errno; EAGAIN if the lock cannot be had. */
int pt_log_join(pt_lmdb_store *store, uint64_t id);

/* --- For lmdb/log_use.h and lmdb/log_open.h --- */

/* The log's file. */
int pt_log_fd(const pt_lmdb_log *log);

/* Takes PT_LOCK_LOG without waiting. SQLITE_OK, SQLITE_BUSY, SQLITE_IOERR. */
int pt_log_lock(pt_lmdb_store *store, bool exclusive);
void pt_log_unlock(pt_lmdb_store *store);

/* Reads all records that verify, of the log that the state names, and publishes them. No other
 * process may use the log. *damaged: there is one that does not verify before the end. */
int pt_log_recover(pt_lmdb_store *store, const pt_format_state *state, bool *damaged,
                   pt_error *error);

/* Makes a new log ready to be named by the next commit. Returns 0 or errno; EAGAIN if the lock
 * cannot be had. */
int pt_log_prepare(pt_lmdb_store *store);

/* Goes on without a log. Its file is closed and not removed. */
void pt_log_detach(pt_lmdb_store *store);

#endif
