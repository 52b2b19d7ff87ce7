/*
 * Descriptors through which locks are taken, or may be. A child process has copies of them, which
 * would keep the locks alive when this process has given them back by its death, and would share
 * those that the child takes.
 */
#ifndef PT_LMDB_FILE_FORKS_H
#define PT_LMDB_FILE_FORKS_H

#include <sys/types.h>

/* A descriptor that a child closes; fd -1: none. It must not be moved in memory. */
typedef struct pt_lmdb_owned {
    int fd;
    struct pt_lmdb_owned *next;
    struct pt_lmdb_owned **link;
} pt_lmdb_owned;

/* open(), of which no child ever has the descriptor: no fork begins meanwhile. 0, or errno and
 * there is none. */
int pt_lmdb_open_owned(const char *path, int flags, mode_t mode, pt_lmdb_owned *owned);

/* From now on a child closes it. */
void pt_lmdb_own(int fd, pt_lmdb_owned *owned);

/* Gives the descriptor away, -1 if there is none: to whom closes it in a child himself, or before a
 * fork can begin. */
int pt_lmdb_disown(pt_lmdb_owned *owned);

void pt_lmdb_close_owned(pt_lmdb_owned *owned);

/* For the handlers of pthread_atfork. */
void pt_lmdb_forks_begin(void);
void pt_lmdb_forks_end_in_parent(void);
void pt_lmdb_forks_end_in_child(void);

#endif
