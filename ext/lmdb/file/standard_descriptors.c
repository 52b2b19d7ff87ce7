#include "lmdb/file/standard_descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"

static bool one_is_closed(void)
{
    bool closed = false;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        closed = closed || fcntl(fd, F_GETFD) < 0;
    }
    return closed;
}

/*
 * Without O_CLOEXEC, as programs that this process executes need the descriptors too. Read only, so
 * that printing still fails. open() returns the lowest free number, so threads may do this at once.
 */
static int fill_with_null_device(void)
{
    int fd = 0;
    while (fd >= 0 && one_is_closed()) {
        fd = open("/dev/null", O_RDONLY);
        if (fd > STDERR_FILENO) {
            close(fd);
        }
    }
    return fd >= 0 ? 0 : errno;
}

int pt_lmdb_fill_descriptors(const char *path, pt_error *error)
{
    int problem = fill_with_null_device();
    if (problem == 0) {
        return SQLITE_OK;
    }
    if (problem == ENOMEM) {
        return pt_error_nomem(error);
    }
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q cannot be opened: descriptor 0, 1 or 2 of this process is "
                        "closed, so what it prints would be written into the store, and /dev/null "
                        "cannot be opened in its place: %s; keep all three open",
                        path, strerror(problem));
}
