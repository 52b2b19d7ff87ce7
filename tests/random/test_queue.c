/*
 * Random statements of several connections on a queue and on a model of it: rows, errors,
 * changes(), and all messages after each statement must be the model's. N is the number of steps,
 * SEED the first number of their sequence; with the same two the steps are the same. Prints the
 * Test Anything Protocol.
 */
#include <time.h>

#include "random/hosts.h"
#include "random/queue_steps.h"

/* An episode ends, on a slow machine before its last step, while what it hides for
 * NOT_SO_LONG_TIME, 30 seconds, is still hidden. */
enum { DEFAULT_STEPS = 2500, DEFAULT_SEED = 1, EPISODE_STEPS = 250, EPISODE_SECONDS = 15 };

#define ALL(text)                                                                                  \
    {                                                                                              \
        text, text, text                                                                           \
    }

static const world_host hosts[] = {
    {.name = "databases in memory",
     .connections = 3,
     .encodings = ALL("UTF-8"),
     .modes = ALL("memory"),
     .schemas = "mmt"},
    {.name = "a database file each",
     .connections = 3,
     .files = {"wal.db", "delete.db", NULL},
     .encodings = ALL("UTF-8"),
     .modes = {"wal", "delete", "memory"},
     .schemas = "mmm"},
    {.name = "one WAL file",
     .connections = 3,
     .files = ALL("one.db"),
     .encodings = ALL("UTF-8"),
     .modes = ALL("wal"),
     .one_main = true,
     .schemas = "mmm"},
    {.name = "UTF-16 and UTF-8",
     .connections = 2,
     .files = {NULL, "utf16.db"},
     .encodings = {"UTF-16le", "UTF-16be"},
     .modes = {"memory", "wal"},
     .schemas = "mm"},
    {.name = "a private store",
     .connections = 1,
     .encodings = {"UTF-8"},
     .modes = {"memory"},
     .private_store = true,
     .schemas = "m"},
};

enum { HOSTS = sizeof hosts / sizeof hosts[0] };

/* Steps of an episode, and which of them are carried out. */
typedef struct queue_history {
    const world_host *host;
    const char *folder;
    uint64_t seed;
    int count;
    queue_step steps[EPISODE_STEPS];
    bool kept[EPISODE_STEPS];
} queue_history;

/* Carries out the kept steps on new databases. The number of those up to a difference; 0: there is
 * none. */
static int replay(const queue_history *history, bool prints)
{
    queue_world *world = need(malloc(sizeof *world));
    world_open(world, history->host, history->folder, history->seed);
    world->prints_statements = prints;
    world->prints_difference = prints;
    int i = 0;
    for (; i < history->count && !world->different; i++) {
        if (history->kept[i]) {
            perform_queue_step(world, &history->steps[i]);
        }
    }
    int end = world->different ? i : 0;
    world_close(world);
    free(world);
    return end;
}

/* Leaves `size` steps from `from` on out, if there is still a difference. */
static void try_without(queue_history *history, int from, int size)
{
    bool before[EPISODE_STEPS];
    int before_count = history->count;
    memcpy(before, history->kept, sizeof before);
    int end = from + size < history->count ? from + size : history->count;
    memset(history->kept + from, false, (size_t)(end - from) * sizeof(bool));
    int difference = replay(history, false);
    if (difference == 0) {
        memcpy(history->kept, before, sizeof before);
        history->count = before_count;
    } else {
        history->count = difference;
    }
}

static void shrink(queue_history *history)
{
    int end = replay(history, false);
    history->count = end != 0 ? end : history->count;
    for (int size = history->count / 2; size > 0 && end != 0; size /= 2) {
        for (int from = 0; from < history->count; from += size) {
            try_without(history, from, size);
        }
    }
    puts("# the same with fewer steps:");
    replay(history, true);
}

/* Adds its steps to *steps. */
static bool run_episode(const world_host *host, const char *folder, uint64_t seed, uint64_t *steps)
{
    queue_world *world = need(malloc(sizeof *world));
    queue_history *history = need(malloc(sizeof *history));
    *history = (queue_history){.host = host, .folder = folder, .seed = seed};
    world_open(world, host, folder, seed);
    world->prints_difference = true;
    uint64_t random = seed;
    time_t began = time(NULL);
    while (history->count < EPISODE_STEPS && !world->different &&
           time(NULL) - began < EPISODE_SECONDS) {
        queue_step *step = &history->steps[history->count];
        *step = next_queue_step(world, &random);
        history->kept[history->count++] = true;
        perform_queue_step(world, step);
    }
    bool passed = !world->different;
    *steps += (uint64_t)history->count;
    world_close(world);
    if (!passed) {
        printf("# a difference at step %d of this episode\n", history->count);
        shrink(history);
    }
    free(history);
    free(world);
    return passed;
}

static bool run_host(int number, const char *folder, uint64_t seed, uint64_t steps)
{
    uint64_t random = seed * HOSTS + (uint64_t)number;
    bool passed = true;
    for (uint64_t done = 0; done < steps && passed;) {
        passed = run_episode(&hosts[number], folder, random_next(&random), &done);
    }
    printf("%sok %d - random statements on queues, %s\n", passed ? "" : "not ", number + 1,
           hosts[number].name);
    fflush(stdout);
    return passed;
}

int main(void)
{
    learn_bodies();
    int failed = run_hosts(HOSTS, DEFAULT_STEPS, DEFAULT_SEED, run_host);
    forget_bodies();
    return failed;
}
