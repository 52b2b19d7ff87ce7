/*
 * A sequence of random steps on new databases, with ptables and with ordinary tables.
 */
#ifndef TESTS_RANDOM_EPISODE_H
#define TESTS_RANDOM_EPISODE_H

#include "random/generate.h"
#include "random/hosts.h"
#include "random/perform.h"
#include "random/shrink.h"

enum { EPISODE_STEPS = 500, PRINTED_STEPS = 60 };

/* In one of so many, most keys are long. */
enum { LONG_KEY_EPISODES = 5 };

/* The steps since the last BEGIN, or the last ones. */
static inline void print_last_steps(const step_history *history)
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

static inline void report(const twin_host *host, const char *folder, const step_history *history,
                          step_outcome found)
{
    printf("# %s at step %d of this episode; the last steps:\n",
           found == DIFFERENT ? "a difference" : "SQL that both refuse", history->count);
    print_last_steps(history);
    shrink_and_print(host, folder, history, found);
}

/* A sequence of steps on new databases, and everything compared at its end. */
static inline bool run_episode(const twin_host *host, const char *folder, uint64_t seed, int steps)
{
    twin_pair twins;
    twins_open(&twins, host, folder);
    step_generator generator = {.random = seed,
                                .unique = host->unique,
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

/* Runs so many steps on one of some hosts. */
static inline bool run_episodes(const twin_host *all, int hosts, int number, const char *folder,
                                uint64_t seed, uint64_t steps)
{
    uint64_t random = seed * (uint64_t)hosts + (uint64_t)number;
    bool passed = true;
    for (uint64_t done = 0; done < steps && passed; done += EPISODE_STEPS) {
        passed = run_episode(&all[number], folder, random_next(&random), EPISODE_STEPS);
    }
    printf("%sok %d - random statements, %s\n", passed ? "" : "not ", number + 1, all[number].name);
    fflush(stdout);
    return passed;
}

#endif
