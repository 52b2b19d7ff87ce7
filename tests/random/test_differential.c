/*
 * Random statements on ptables and on ordinary tables: both must give the same rows, the same
 * changes() and the same kind of error. N is the number of steps, SEED the first number of their
 * sequence; with the same two the steps are the same. Prints the Test Anything Protocol.
 */
#include "random/generate.h"
#include "random/hosts.h"
#include "random/perform.h"
#include "random/shrink.h"

enum { DEFAULT_STEPS = 14000, DEFAULT_SEED = 1, EPISODE_STEPS = 500, PRINTED_STEPS = 60 };

/* In one of so many, most keys are long. */
enum { LONG_KEY_EPISODES = 5 };

static const twin_host hosts[] = {
    {"in memory", NULL, "UTF-8", "memory"},
    {"WAL file", "wal.db", "UTF-8", "wal"},
    {"rollback-journal file", "delete.db", "UTF-8", "delete"},
    {"in memory, UTF-16", NULL, "UTF-16le", "memory"},
    {"WAL file, UTF-16", "wal16.db", "UTF-16be", "wal"},
};

enum { HOSTS = sizeof hosts / sizeof hosts[0] };

/* The steps since the last BEGIN, or the last ones. */
static void print_last_steps(const step_history *history)
{
    int first = history->count - 1;
    while (first > 0 && history->count - first < PRINTED_STEPS) {
        const char *sql = history->steps[first].statement.sql;
        if (sql != NULL && strncmp(sql, "BEGIN", strlen("BEGIN")) == 0) {
            break;
        }
        first--;
    }
    for (int i = first; i < history->count; i++) {
        step_print(&history->steps[i]);
    }
}

static void report(const twin_host *host, const char *folder, const step_history *history,
                   step_outcome found)
{
    printf("# %s at step %d of this episode; the last steps:\n",
           found == DIFFERENT ? "a difference" : "SQL that both refuse", history->count);
    print_last_steps(history);
    shrink_and_print(host, folder, history, found);
}

/* A sequence of steps on new databases, and everything compared at its end. */
static bool run_episode(const twin_host *host, const char *folder, uint64_t seed, int steps)
{
    twin_pair twins;
    twins_open(&twins, host, folder);
    step_generator generator = {.random = seed,
                                .utf16 = strcmp(host->encoding, "UTF-8") != 0,
                                .long_keys = seed % LONG_KEY_EPISODES == 0};
    step_history history = {0};
    step_outcome outcome = SAME;
    for (int i = 0; i < steps && outcome == SAME; i++) {
        bool last = i == steps - 1;
        history_add(&history, last ? step_of_rule(&generator, STEP_UNORDERED, "everything")
                                   : next_step(&generator, &twins));
        outcome = perform(&twins, &history.steps[history.count - 1], false);
    }
    twins_close(&twins);
    if (outcome != SAME) {
        report(host, folder, &history, outcome);
    }
    history_free(&history);
    return outcome == SAME;
}

static bool run_host(int number, const char *folder, uint64_t seed, uint64_t steps)
{
    uint64_t random = seed * HOSTS + (uint64_t)number;
    bool passed = true;
    for (uint64_t done = 0; done < steps && passed; done += EPISODE_STEPS) {
        passed = run_episode(&hosts[number], folder, random_next(&random), EPISODE_STEPS);
    }
    printf("%sok %d - random statements, %s\n", passed ? "" : "not ", number + 1,
           hosts[number].name);
    fflush(stdout);
    return passed;
}

int main(void)
{
    return run_hosts(HOSTS, DEFAULT_STEPS, DEFAULT_SEED, run_host);
}
