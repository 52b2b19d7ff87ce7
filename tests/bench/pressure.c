#include "bench/pressure.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { INTERVAL_NS = 20000000, LINE_SIZE = 2 * PATH_SIZE };

/* Those maps of this process that are files of the folder. */
static void take_back_maps(const char *folder)
{
    char line[LINE_SIZE];
    FILE *maps = fopen("/proc/self/maps", "r");
    require(maps != NULL, "/proc/self/maps cannot be read");
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t start, end;
        if (strstr(line, folder) != NULL &&
            sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2) {
            madvise((void *)start, end - start, MADV_PAGEOUT);
        }
    }
    fclose(maps);
}

static void *press(void *argument)
{
    memory_pressure *pressure = argument;
    while (!atomic_load(&pressure->stopping)) {
        if (pressure->mapped) {
            take_back_maps(pressure->folder);
        } else {
            folder_forget(pressure->folder);
        }
        nanosleep(&(struct timespec){.tv_nsec = INTERVAL_NS}, NULL);
    }
    return NULL;
}

void pressure_start(memory_pressure *pressure, const char *folder, bool mapped)
{
    char absolute[PATH_SIZE];
    require(realpath(folder, absolute) != NULL, "a folder of the benchmark is gone");
    *pressure = (memory_pressure){.mapped = mapped};
    memcpy(pressure->folder, absolute, sizeof absolute);
    require(pthread_create(&pressure->thread, NULL, press, pressure) == 0,
            "a thread cannot be started");
}

void pressure_stop(memory_pressure *pressure)
{
    atomic_store(&pressure->stopping, true);
    pthread_join(pressure->thread, NULL);
}
