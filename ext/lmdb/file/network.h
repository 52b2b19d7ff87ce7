/*
 * Network file systems. LMDB shares memory between processes, and memory is not shared between
 * machines: two machines would destroy a store there.
 */
#ifndef PT_LMDB_FILE_NETWORK_H
#define PT_LMDB_FILE_NETWORK_H

#include <stdbool.h>

#include "base/error.h"

/*
 * SQLITE_CANTOPEN for a file on a network file system, unless the environment variable
 * PTABLE_NETWORK is "allow". A file system that is not known to be one is accepted.
 */
int pt_lmdb_check_network(int fd, const char *path, pt_error *error);

/* True if the file is on one, allowed or not. */
bool pt_lmdb_is_on_network(int fd);

#endif
