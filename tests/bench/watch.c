#include "bench/watch.h"

#include <time.h>

#include "bench/child.h"

enum { INTERVAL_NS = 10000000 };

static void look(memory_watch *watch)
{
    double kib = child_status_kib("RssAnon");
    watch->most_kib = kib > watch->most_kib ? kib : watch->most_kib;
}

static void *keep_looking(void *argument)
{
    memory_watch *watch = argument;
    while (!atomic_load(&watch->stopping)) {
        look(watch);
        nanosleep(&(struct timespec){.tv_nsec = INTERVAL_NS}, NULL);
    }
    return NULL;
}

void watch_start(memory_watch *watch)
{
    watch->started = true;
    require(pthread_create(&watch->thread, NULL, keep_looking, watch) == 0,
            "a thread cannot be started");
}

double watch_stop(memory_watch *watch)
{
    if (watch->started) {
        atomic_store(&watch->stopping, true);
        pthread_join(watch->thread, NULL);
        look(watch);
    }
    return watch->most_kib;
}
