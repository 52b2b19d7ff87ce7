/*
 * Makes the process die in the middle of its work, as if by kill -9, at the n-th system call that
 * changes a file.
 */
#ifndef TESTS_FAULTS_MORTAL_H
#define TESTS_FAULTS_MORTAL_H

#include <signal.h>

#include "faults/call_facts.h"

/* How much of its last call a process still makes. */
typedef enum mortal_death {
    DIES_BEFORE,
    DIES_WITHIN, /* a write: half of it, whole sectors, but any bytes of a log; other calls: before
                  */
    DIES_AFTER,  /* a write or a sync: before the change of shared memory that follows it */
    DEATHS,
} mortal_death;

enum { MORTAL_SECTOR = 512 };

static int64_t mortal_calls; /* so far */
static int64_t mortal_last;  /* the call that the process dies of, or 0 */
static mortal_death mortal_way;
static void (*mortal_note)(const system_call *call); /* of each call that is made, or NULL */

static inline bool mortal_changes(const system_call *call)
{
    return call->kind == CALL_WRITE || call->kind == CALL_SYNC || call->kind == CALL_SIZE ||
           call->kind == CALL_ROOM || call->kind == CALL_NAME ||
           (call->kind == CALL_OPEN && (call->flags & (O_CREAT | O_TRUNC)) != 0);
}

static inline bool mortal_is_of_log(const system_call *call)
{
    const char *path = path_of(call);
    return path != NULL && ends_with(path, "-log");
}

static inline void mortal_write(const system_call *call, bool whole)
{
    struct iovec part = call->parts[0];
    size_t unit = mortal_is_of_log(call) ? 1 : MORTAL_SECTOR;
    part.iov_len = part.iov_len / 2 / unit * unit;
    const struct iovec *parts = whole ? call->parts : &part;
    int count = whole ? call->part_count : 1;
    if (call->offset < 0) {
        syscall(SYS_writev, call->fd, parts, count);
    } else {
        syscall(SYS_pwritev, call->fd, parts, count, call->offset, 0);
    }
}

/* Half of a record is none; and where half of a record is overwritten, it is none any more. */
static inline void mortal_die(const system_call *call)
{
    bool done = mortal_way == DIES_AFTER;
    if (call->kind == CALL_WRITE && mortal_way != DIES_BEFORE) {
        mortal_write(call, mortal_way == DIES_AFTER);
        done = done || (mortal_is_of_log(call) && is_nothing(call));
    } else if (call->kind == CALL_SYNC && mortal_way == DIES_AFTER && call->fd >= 0) {
        syscall(SYS_fsync, call->fd);
    }
    if (done && mortal_note != NULL) {
        mortal_note(call);
    }
    raise(SIGKILL);
}

static inline system_call_verdict mortal_judge(const system_call *call)
{
    if (mortal_changes(call)) {
        mortal_calls++;
        if (mortal_calls == mortal_last) {
            mortal_die(call);
        }
        if (mortal_note != NULL) {
            mortal_note(call);
        }
    }
    return (system_call_verdict){0};
}

/* Counts from now on; the process dies before the call of this number, or lives with 0. */
static inline void mortal_begin(int64_t last)
{
    mortal_calls = 0;
    mortal_last = last;
    system_call_judge = mortal_judge;
}

#endif
