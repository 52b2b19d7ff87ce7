#include "lmdb/file/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <time.h>

#include "base/sqlite.h"

#define FIRST_LOCK_BYTE (INT64_C(1) << 62)

enum {
    NS_PER_SECOND = 1000000000,
    NS_PER_MS = 1000000,
    POLL_NS = 100000, /* between two tries, times 0.5 to 1.5; if it grew, writers would starve */
    SLICE_NS = 2 * NS_PER_MS, /* pt_writer_queue_leave */
    NAP_NS = NS_PER_MS / 2,
};

struct pt_queue_place {
    pt_queue_place *next;
    pthread_cond_t condition;
    bool granted;
    bool called; /* is awake, or soon will be */
};

/* --- Between processes --- */

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

pt_deadline pt_deadline_in(int wait_ms)
{
    return wait_ms > 0 ? monotonic_ns() + (int64_t)wait_ms * NS_PER_MS : 0;
}

bool pt_deadline_has_passed(pt_deadline deadline)
{
    return monotonic_ns() >= deadline;
}

static struct flock lock_of(pt_lock_byte byte, short type)
{
    return (struct flock){
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)(FIRST_LOCK_BYTE + (int64_t)byte),
        .l_len = 1,
    };
}

static int set_lock(int fd, pt_lock_byte byte, short type)
{
    struct flock lock = lock_of(byte, type);
    int result;
    do {
        result = fcntl(fd, F_OFD_SETLK, &lock);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

bool pt_lock_pause(pt_deadline deadline)
{
    int64_t now = monotonic_ns();
    if (now >= deadline) {
        return false;
    }
    uint32_t noise;
    sqlite3_randomness((int)sizeof noise, &noise);
    int64_t pause = POLL_NS / 2 + (int64_t)(noise % POLL_NS);
    if (pause > deadline - now) {
        pause = deadline - now;
    }
    struct timespec time = {.tv_nsec = (long)pause};
    nanosleep(&time, NULL);
    return true;
}

int pt_lock_take(int fd, pt_lock_byte byte, bool exclusive, pt_deadline deadline)
{
    for (;;) {
        int problem = set_lock(fd, byte, exclusive ? F_WRLCK : F_RDLCK);
        if (problem == 0) {
            return SQLITE_OK;
        }
        if (problem != EAGAIN && problem != EACCES) {
            errno = problem;
            return SQLITE_IOERR_LOCK;
        }
        if (!pt_lock_pause(deadline)) {
            return SQLITE_BUSY;
        }
    }
}

void pt_lock_release(int fd, pt_lock_byte byte)
{
    set_lock(fd, byte, F_UNLCK);
}

/* True for *held if a lock of this type could not be taken. */
static int look_at_lock(int fd, pt_lock_byte byte, short type, bool *held)
{
    struct flock lock = lock_of(byte, type);
    int problem = fcntl(fd, F_OFD_GETLK, &lock) == 0 ? 0 : errno;
    *held = problem == 0 && lock.l_type != F_UNLCK;
    return problem;
}

int pt_lock_look(int fd, pt_lock_byte byte, bool *held)
{
    return look_at_lock(fd, byte, F_WRLCK, held);
}

int pt_lock_look_if_exclusive(int fd, pt_lock_byte byte, bool *held)
{
    return look_at_lock(fd, byte, F_RDLCK, held);
}

/* --- Within the process --- */

bool pt_writer_queue_init(pt_writer_queue *queue)
{
    *queue = (pt_writer_queue){0};
    if (pthread_mutex_init(&queue->mutex, NULL) != 0) {
        return false;
    }
    if (pthread_condattr_init(&queue->monotonic) == 0) {
        if (pthread_condattr_setclock(&queue->monotonic, CLOCK_MONOTONIC) == 0) {
            return true;
        }
        pthread_condattr_destroy(&queue->monotonic);
    }
    pthread_mutex_destroy(&queue->mutex);
    return false;
}

void pt_writer_queue_destroy(pt_writer_queue *queue)
{
    pthread_condattr_destroy(&queue->monotonic);
    pthread_mutex_destroy(&queue->mutex);
}

static void append_place(pt_writer_queue *queue, pt_queue_place *place)
{
    if (queue->last == NULL) {
        queue->first = place;
    } else {
        queue->last->next = place;
    }
    queue->last = place;
}

static void remove_place(pt_writer_queue *queue, pt_queue_place *place)
{
    pt_queue_place *before = NULL;
    for (pt_queue_place *at = queue->first; at != place; at = at->next) {
        before = at;
    }
    if (before == NULL) {
        queue->first = place->next;
    } else {
        before->next = place->next;
    }
    if (queue->last == place) {
        queue->last = before;
    }
}

/* The lock passes to a session that has waited, and is no longer in the queue. */
static void grant(pt_writer_queue *queue, pt_queue_place *place)
{
    remove_place(queue, place);
    place->granted = true;
    queue->taken = true;
    queue->passed_at = monotonic_ns();
}

/* Sleeps until the place is called, or the deadline. A session that was called in vain looks again
 * after a nap: to wake it after each commit would slow down the one that commits. */
static void sleep_in_queue(pt_writer_queue *queue, pt_queue_place *place, pt_deadline deadline)
{
    pt_deadline nap = place->called ? monotonic_ns() + NAP_NS : deadline;
    pt_deadline until = nap < deadline ? nap : deadline;
    const struct timespec time = {
        .tv_sec = (time_t)(until / NS_PER_SECOND),
        .tv_nsec = (long)(until % NS_PER_SECOND),
    };
    pthread_cond_timedwait(&place->condition, &queue->mutex, &time);
}

/* Each place has a condition of its own: a broadcast would wake all sessions for one to go on. */
static int wait_in_queue(pt_writer_queue *queue, pt_deadline deadline)
{
    pt_queue_place place = {0};
    if (pthread_cond_init(&place.condition, &queue->monotonic) != 0) {
        return SQLITE_NOMEM;
    }
    append_place(queue, &place);
    do {
        sleep_in_queue(queue, &place, deadline);
        if (!place.granted && !queue->taken) {
            grant(queue, &place);
        }
    } while (!place.granted && !pt_deadline_has_passed(deadline));
    /* A place granted at the deadline counts, and is out of the queue already. */
    if (!place.granted) {
        remove_place(queue, &place);
    }
    pthread_cond_destroy(&place.condition);
    return place.granted ? SQLITE_OK : SQLITE_BUSY;
}

int pt_writer_queue_enter(pt_writer_queue *queue, pt_deadline deadline)
{
    pthread_mutex_lock(&queue->mutex);
    int rc = queue->taken ? wait_in_queue(queue, deadline) : SQLITE_OK;
    queue->taken |= rc == SQLITE_OK;
    pthread_mutex_unlock(&queue->mutex);
    return rc;
}

/*
 * Waking a thread takes longer than many commits do, and the lock would be idle meanwhile. So
 * within its slice of time the session that leaves may come back before the next one is awake.
 */
__attribute__((noinline)) static void call_next(pt_writer_queue *queue, pt_queue_place *next)
{
    bool is_over = monotonic_ns() - queue->passed_at >= SLICE_NS;
    if (is_over) {
        grant(queue, next);
    }
    /* With the mutex held: afterwards the place may be gone. */
    if (is_over || !next->called) {
        next->called = true;
        pthread_cond_signal(&next->condition);
    }
}

void pt_writer_queue_leave(pt_writer_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->taken = false;
    if (queue->first != NULL) {
        call_next(queue, queue->first);
    }
    pthread_mutex_unlock(&queue->mutex);
}
