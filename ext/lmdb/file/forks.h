/*
 * Descriptors through which locks are taken, or may be. A child process has copies of them, which
 * would keep the locks alive when this process has given them back by its death, and would share
 * those that the child takes.
 */
#ifndef PT_LMDB_FILE_FORKS_H
#define PT_LMDB_FILE_FORKS_H

#include <stdbool.h>
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

/*
 * Files that were opened as stores and are none. A process loses all fcntl() locks on a file when
 * it closes any descriptor of it, and this one may be a database that SQLite has locked, or the
 * lock file of LMDB. So such descriptors stay open: one a file, which is used again. A child, which
 * has no such locks when it begins, closes them.
 */

/* Takes the descriptor over. It is closed only if it is not one of a regular file. */
void pt_lmdb_foreign_keep(pt_lmdb_owned *owned, bool writable);

/* The descriptor that is kept of the file of this name, which is the caller's from now on. */
bool pt_lmdb_foreign_take(const char *path, pt_lmdb_owned *owned, bool *writable);

/* For the handlers of pthread_atfork, around those of lmdb/file/forks.h. */
void pt_lmdb_foreign_forks_begin(void);
void pt_lmdb_foreign_forks_end_in_parent(void);
void pt_lmdb_foreign_forks_end_in_child(void);

#endif
