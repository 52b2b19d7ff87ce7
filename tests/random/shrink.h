/*
 * Cuts the steps that led to a failure down to few that still do.
 */
#ifndef TESTS_RANDOM_SHRINK_H
#define TESTS_RANDOM_SHRINK_H

#include "random/perform.h"

typedef struct step_history {
    test_step *steps;
    int count;
    int capacity;
} step_history;

static inline void history_add(step_history *history, test_step step)
{
    if (history->count == history->capacity) {
        history->capacity = history->capacity * 2 + 64;
        history->steps =
            need(realloc(history->steps, (size_t)history->capacity * sizeof history->steps[0]));
    }
    history->steps[history->count++] = step;
}

static inline void history_free(step_history *history)
{
    for (int i = 0; i < history->count; i++) {
        step_free(&history->steps[i]);
    }
    free(history->steps);
    memset(history, 0, sizeof *history);
}

/* Carries the kept steps out on new databases; whether that ends with the outcome, and where. */
static inline bool replay(const twin_host *host, const char *folder, const step_history *history,
                          const bool *kept, step_outcome wanted, int *end)
{
    twin_pair twins;
    twins_open(&twins, host, folder);
    bool reached = false;
    for (int i = 0; i < history->count && !reached; i++) {
        if (kept[i]) {
            reached = perform(&twins, &history->steps[i], false) == wanted;
            *end = i;
        }
    }
    twins_close(&twins);
    return reached;
}

/* Leaves `size` steps from `from` on out, if the outcome stays. */
static inline void try_without(const twin_host *host, const char *folder,
                               const step_history *history, bool *kept, step_outcome wanted,
                               int from, int size)
{
    size_t bytes = (size_t)history->count * sizeof kept[0];
    bool *fewer = need(malloc(bytes));
    memcpy(fewer, kept, bytes);
    bool any = false;
    for (int i = from; i < from + size && i < history->count; i++) {
        any = any || kept[i];
        fewer[i] = false;
    }
    int end = 0;
    if (any && replay(host, folder, history, fewer, wanted, &end)) {
        memcpy(kept, fewer, bytes);
        memset(kept + end + 1, 0, (size_t)(history->count - end - 1) * sizeof kept[0]);
    }
    free(fewer);
}

/* Prints the steps that are left, and what they lead to. */
static inline void print_replay(const twin_host *host, const char *folder,
                                const step_history *history, const bool *kept)
{
    twin_pair twins;
    twins_open(&twins, host, folder);
    for (int i = 0; i < history->count; i++) {
        if (kept[i]) {
            step_print(&history->steps[i]);
            perform(&twins, &history->steps[i], true);
        }
    }
    twins_close(&twins);
}

static inline void shrink_and_print(const twin_host *host, const char *folder,
                                    const step_history *history, step_outcome wanted)
{
    bool *kept = need(malloc((size_t)history->count * sizeof kept[0]));
    memset(kept, true, (size_t)history->count * sizeof kept[0]);
    int end = 0;
    if (replay(host, folder, history, kept, wanted, &end)) {
        for (int size = history->count / 2; size > 0; size /= 2) {
            for (int from = 0; from < history->count; from += size) {
                try_without(host, folder, history, kept, wanted, from, size);
            }
        }
    }
    puts("# the same with fewer steps:");
    print_replay(host, folder, history, kept);
    free(kept);
}

#endif
