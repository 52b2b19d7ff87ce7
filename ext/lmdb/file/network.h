/*
 * Network file systems: a store there would be torn, for the memory that LMDB shares between
 * processes is not shared between machines.
 */
#ifndef PT_LMDB_FILE_NETWORK_H
#define PT_LMDB_FILE_NETWORK_H

#include "base/error.h"

/*
 * Refuses a file on one, unless the environment variable PTABLE_NETWORK is "allow". SQLITE_CANTOPEN
 * or SQLITE_OK, also where it is not known what the file lies on.
 */
int pt_lmdb_check_network(int fd, const char *path, pt_error *error);

#endif
