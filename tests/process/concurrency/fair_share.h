/*
 * How long writers wait for their turns, and how many turns each gets: several, in threads or in
 * processes, write as fast as they can until there were enough writes altogether.
 */
#ifndef TESTS_PROCESS_CONCURRENCY_FAIR_SHARE_H
#define TESTS_PROCESS_CONCURRENCY_FAIR_SHARE_H

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "fixtures/child.h"
#include "process/concurrency/appender.h"

enum {
    SHAREHOLDERS = 4,
    SHARE_WRITES = 12000,
    SHARE_PATIENCE_MS = 60000,
    LEAST_SHARE = 5,
    SHARE_TRIES = 3
};

/* In memory that all share. */
typedef struct board {
    atomic_int ready; /* writers that wait for the start */
    atomic_int left;  /* writes, of all */
    int done[SHAREHOLDERS];
    int bad_codes[SHAREHOLDERS];
    int64_t waits[SHARE_WRITES]; /* ns, how long each write took */
} board;

typedef struct shareholder {
    pthread_t thread;
    const char *folder;
    board *common;
    int number;
} shareholder;

static inline board *map_board(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "board", path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(board)) != 0) {
        abort();
    }
    board *common = mmap(NULL, sizeof *common, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (common == MAP_FAILED) {
        abort();
    }
    return common;
}

static inline void take_turns(const shareholder *self, sqlite3 *db)
{
    board *common = self->common;
    atomic_fetch_add(&common->ready, 1);
    while (atomic_load(&common->ready) < SHAREHOLDERS) {
        sched_yield();
    }
    for (;;) {
        int turn = atomic_fetch_sub(&common->left, 1) - 1;
        if (turn < 0 || common->bad_codes[self->number] != SQLITE_OK) {
            return;
        }
        int64_t begin = clock_ns();
        common->bad_codes[self->number] =
            code_of(db, "INSERT OR REPLACE INTO share(PartitionKey, RowKey) VALUES('%d', '%d')",
                    self->number, turn);
        common->waits[turn] = clock_ns() - begin;
        common->done[self->number]++;
    }
}

static inline void *hold_share(void *argument)
{
    const shareholder *self = argument;
    sqlite3 *db = try_open(":memory:");
    if (db != NULL) {
        self->common->bad_codes[self->number] =
            code_of(db,
                    "PRAGMA busy_timeout = %d;"
                    "CREATE VIRTUAL TABLE share USING ptable(store='%s/share.ptable', sync='off')",
                    SHARE_PATIENCE_MS, self->folder);
        take_turns(self, db);
    }
    sqlite3_close(db);
    return NULL;
}

static inline bool is_shareholder(int argc, char **argv)
{
    return argc == 4 && strcmp(argv[1], "shareholder") == 0;
}

/* Arguments: folder, number. */
static inline int be_shareholder(char **argv)
{
    shareholder self = {.folder = argv[2], .common = map_board(argv[2]), .number = atoi(argv[3])};
    hold_share(&self);
    munmap(self.common, sizeof *self.common);
    return 0;
}

static inline int compare_waits(const void *one, const void *other)
{
    const int64_t *a = one;
    const int64_t *b = other;
    return (*a > *b) - (*a < *b);
}

/* Nobody was sent away; whether nobody starved. */
static inline bool are_fair(board *common, const char *who)
{
    int least = SHARE_WRITES;
    int most = 0;
    int sum = 0;
    for (int i = 0; i < SHAREHOLDERS; i++) {
        assert_int_equal(common->bad_codes[i], SQLITE_OK);
        least = common->done[i] < least ? common->done[i] : least;
        most = common->done[i] > most ? common->done[i] : most;
        sum += common->done[i];
    }
    qsort(common->waits, SHARE_WRITES, sizeof common->waits[0], compare_waits);
    printf("# %d writers in %s, %d writes: least %.1f %%, most %.1f %% of them; a write took "
           "%.2f ms at the 99th percentile, %.1f ms at most\n",
           SHAREHOLDERS, who, sum, 100.0 * least / sum, 100.0 * most / sum,
           (double)common->waits[SHARE_WRITES - SHARE_WRITES / 100] / 1e6,
           (double)common->waits[SHARE_WRITES - 1] / 1e6);
    assert_int_equal(sum, SHARE_WRITES);
    assert_true(common->waits[SHARE_WRITES - 1] / 1000000 < SHARE_PATIENCE_MS / 2);
    return least * LEAST_SHARE * SHAREHOLDERS >= sum;
}

/* A machine with other work may leave a writer no time once, without any fault of the lock's. */
static inline void judge_shares(const char *folder, void (*hold_all)(const char *, board *),
                                const char *who)
{
    bool fair = false;
    for (int i = 0; i < SHARE_TRIES && !fair; i++) {
        board *common = map_board(folder);
        memset(common, 0, sizeof *common);
        atomic_store(&common->left, SHARE_WRITES);
        hold_all(folder, common);
        fair = are_fair(common, who);
        munmap(common, sizeof *common);
    }
    assert_true(fair);
}

static inline void hold_in_threads(const char *folder, board *common)
{
    shareholder holders[SHAREHOLDERS];
    for (int i = 0; i < SHAREHOLDERS; i++) {
        holders[i] = (shareholder){.folder = folder, .common = common, .number = i};
        assert_int_equal(pthread_create(&holders[i].thread, NULL, hold_share, &holders[i]), 0);
    }
    for (int i = 0; i < SHAREHOLDERS; i++) {
        assert_int_equal(pthread_join(holders[i].thread, NULL), 0);
    }
}

static inline void hold_in_processes(const char *folder, board *common)
{
    child holders[SHAREHOLDERS];
    (void)common;
    for (int i = 0; i < SHAREHOLDERS; i++) {
        char number[12];
        snprintf(number, sizeof number, "%d", i);
        const char *const arguments[] = {folder, number, NULL};
        holders[i] = start_child("shareholder", arguments);
    }
    for (int i = 0; i < SHAREHOLDERS; i++) {
        stop_child(&holders[i]);
    }
}

static inline void threads_get_their_turns(void **state)
{
    judge_shares(*state, hold_in_threads, "threads");
}

static inline void processes_get_their_turns(void **state)
{
    judge_shares(*state, hold_in_processes, "processes");
}

#endif
