/*
 * Locks on a store's file: between processes, and the queue of this process's writers.
 *
 * The locks between processes are open-file-description locks on bytes of the data file far past
 * its end. They belong to the descriptor through which they were taken, not to a thread or a
 * process, and the kernel releases them with its last close, so also when the process dies. LMDB
 * itself locks only its lock file.
 */
#ifndef PT_LMDB_FILE_LOCKS_H
#define PT_LMDB_FILE_LOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum pt_lock_byte {
    PT_LOCK_GATE,           /* exclusive while an environment is being opened or closed */
    PT_LOCK_WRITER,         /* exclusive from the first write to the end of the commit */
    PT_LOCK_PRESENCE,       /* shared while the store is open */
    PT_LOCK_LOG,            /* shared while the log is used, exclusive by one alone (lmdb/log.h) */
    PT_LOCK_PROCESS_0 = 16, /* pt_lock_of_process */
    PT_LOCK_LAST = 0x7FFFFFFF,
} pt_lock_byte;

/* Shared while the process has the store open: so others know that it follows logs. LMDB's reader
 * table has the process ids. */
static inline pt_lock_byte pt_lock_of_process(long process)
{
    return (pt_lock_byte)(PT_LOCK_PROCESS_0 + process % (PT_LOCK_LAST - PT_LOCK_PROCESS_0));
}

/* A point of the monotonic clock in ns; 0: it has passed. */
typedef int64_t pt_deadline;

/* `wait_ms` from now; a negative number counts as 0. */
pt_deadline pt_deadline_in(int wait_ms);

bool pt_deadline_has_passed(pt_deadline deadline);

/* Sleeps until the next try to take a lock. False, without sleeping, if the deadline has passed. */
bool pt_lock_pause(pt_deadline deadline);

/*
 * Takes a lock, polling until the deadline; tries at least once. An exclusive lock needs a
 * descriptor open for writing. SQLITE_OK, SQLITE_BUSY, or SQLITE_IOERR_LOCK with errno set.
 */
int pt_lock_take(int fd, pt_lock_byte byte, bool exclusive, pt_deadline deadline);
void pt_lock_release(int fd, pt_lock_byte byte);

/* Sets *held if another descriptor has the lock, shared or exclusive. Returns 0 or errno. */
int pt_lock_look(int fd, pt_lock_byte byte, bool *held);

/* The same, but only if it has it exclusively. */
int pt_lock_look_if_exclusive(int fd, pt_lock_byte byte, bool *held);

typedef struct pt_queue_place pt_queue_place;

/* The sessions of this process that want the writer lock: first come, first served, except that the
 * one that had it may overtake for a short time. Only one at a time polls for the lock between
 * processes. */
typedef struct pt_writer_queue {
    pthread_mutex_t mutex;
    pthread_condattr_t monotonic; /* the clock of deadlines */
    bool taken;
    pt_queue_place *first, *last; /* waiting sessions */
    int64_t passed_at;            /* when the lock was last given to one that had waited */
} pt_writer_queue;

/* False if the system refuses. */
bool pt_writer_queue_init(pt_writer_queue *queue);
void pt_writer_queue_destroy(pt_writer_queue *queue);

/* Waits until no session holds the lock, or is to have it before this one. SQLITE_OK; SQLITE_BUSY
 * when the deadline has passed; SQLITE_NOMEM. */
int pt_writer_queue_enter(pt_writer_queue *queue, pt_deadline deadline);

/* Lets the next session in. May be called from any thread. */
void pt_writer_queue_leave(pt_writer_queue *queue);

#endif
