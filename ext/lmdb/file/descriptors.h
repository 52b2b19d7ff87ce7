/*
 * What must be true of this process's file descriptors before a store is opened, and after fork().
 *
 * Standard descriptors: in a process that has closed one of 0 to 2, the next file that is opened
 * gets its number, and whatever the process then prints is written into that file. So before any
 * file of a store is opened, the free numbers are filled with /dev/null, for good. SQLite does the
 * same for its own files.
 *
 * fork(): locks of open file descriptions belong to every copy of a descriptor, and a child process
 * has copies of all of them. A child's copy would keep a lock alive after this process has died,
 * and a lock taken through it would be this process's lock too. So a child closes every descriptor
 * through which locks are or may be taken. lmdb/registry.c installs the handlers of pthread_atfork,
 * which call the ones below.
 */
#ifndef PT_LMDB_FILE_DESCRIPTORS_H
#define PT_LMDB_FILE_DESCRIPTORS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Fills the standard descriptors. Comes before any file of the store at `path` is opened for
 * writing, by LMDB too. SQLITE_CANTOPEN if a descriptor is closed and cannot be filled,
 * SQLITE_NOMEM.
 */
int pt_lmdb_fill_descriptors(const char *path, pt_error *error);

/* --- fork() --- */

/* Counts the forks between this process and the first that used this code. What was opened at
 * another count belongs to a parent process. */
extern atomic_uint pt_lmdb_fork_count;

/* A descriptor that a child closes, or -1. It is in a list: it must not be moved in memory. */
typedef struct pt_lmdb_owned {
    int fd;
    struct pt_lmdb_owned *next;
    struct pt_lmdb_owned **link;
} pt_lmdb_owned;

/* open() of a descriptor that a child closes: no fork can come in between. Returns 0 or errno; fd
 * is -1 after an error. */
int pt_lmdb_open_owned(const char *path, int flags, mode_t mode, pt_lmdb_owned *owned);

/* From now on a child closes `fd`. */
void pt_lmdb_own(int fd, pt_lmdb_owned *owned);

/* A child no longer closes the descriptor, which is returned (-1 if there is none). The caller must
 * close it in a child, or before the next fork. */
int pt_lmdb_disown(pt_lmdb_owned *owned);

void pt_lmdb_close_owned(pt_lmdb_owned *owned);

/* For the handlers of pthread_atfork. */
void pt_lmdb_before_fork(void);
void pt_lmdb_after_fork(bool in_child);

#endif
