#include "control_group.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel takes what is written as a whole. */
static bool write_number(const char *group, const char *name, uint64_t number)
{
    char path[PATH_SIZE];
    path_join(path, group, name);
    FILE *file = fopen(path, "r+");
    if (file == NULL) {
        return false;
    }
    bool written = fprintf(file, "%" PRIu64 "\n", number) > 0;
    return (fclose(file) == 0) && written;
}

static char made_group[PATH_SIZE];

static void remove_made_group(void)
{
    rmdir(made_group);
}

void control_group_make(const char *parent, uint64_t bytes, char path[PATH_SIZE])
{
    char name[40];
    snprintf(name, sizeof name, "ptable-bench-%d", (int)getpid());
    path_join(path, parent, name);
    if (mkdir(path, 0755) != 0) {
        fail("no control group can be made in CGROUP='%s': %s", parent, strerror(errno));
    }
    memcpy(made_group, path, PATH_SIZE);
    atexit(remove_made_group);
    if (!write_number(path, "memory.max", bytes) &&
        !write_number(path, "memory.limit_in_bytes", bytes)) {
        fail("groups in CGROUP='%s' cannot be limited: it does not control memory", parent);
    }
}

void control_group_join(const char *path)
{
    require(write_number(path, "cgroup.procs", (uint64_t)getpid()),
            "a process cannot go into a control group");
}
