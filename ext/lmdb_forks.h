/*
 * Descriptors through which locks are taken. A child process has copies of them, which would keep
 * the locks alive when this process has given them back by its death.
 */
#ifndef PT_LMDB_FORKS_H
#define PT_LMDB_FORKS_H

#include <stdbool.h>

/* A descriptor that a child closes; zeros: none. It must not be moved in memory. */
typedef struct pt_lmdb_owned {
    int fd;
    struct pt_lmdb_owned *next;
    struct pt_lmdb_owned **link;
} pt_lmdb_owned;

/* How many forks of this process have begun. A descriptor opened since is in no child as long as
 * that stays so. */
unsigned pt_lmdb_forks(void);

/* From now on a child closes it. False, and nothing is done: a child may have it, for there were
 * `forks` when it was not yet open, and are more now. */
bool pt_lmdb_own(pt_lmdb_owned *owned, int fd, unsigned forks);

/* Before it is closed, or while forks are kept from beginning. */
void pt_lmdb_disown(pt_lmdb_owned *owned);

/* For the handlers of pthread_atfork. */
void pt_lmdb_forks_begin(void);
void pt_lmdb_forks_end_in_parent(void);
void pt_lmdb_forks_end_in_child(void);

#endif
