#include "measure.h"

#include <inttypes.h>

typedef struct contest {
    const lineup *lineup;
    void *sessions[SIDES_MAX];
    task task;
} contest;

static void open_sides(contest *contest, const char *folder)
{
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        char path[PATH_SIZE];
        const side *side = contest->lineup->sides[i];
        side_folder(side, folder, path);
        folder_make(path);
        contest->sessions[i] = side->open(
            &(opening){path, contest->task.work->durability, contest->task.work->analyzed});
    }
}

static void close_sides(contest *contest)
{
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        contest->lineup->sides[i]->close(contest->sessions[i]);
    }
}

static double run_timed(const contest *contest, unsigned side, digest *digest)
{
    double start = now();
    contest->lineup->sides[side]->run(contest->sessions[side], &contest->task, digest);
    return now() - start;
}

static void compare(const contest *contest, unsigned side, digest expected, digest found)
{
    if (found.rows != expected.rows || found.sum != expected.sum) {
        fail("%s, run %u: %s has %" PRIu64 " rows with the sum %" PRIx64 ", %s %" PRIu64
             " rows with the sum %" PRIx64,
             contest->task.work->name, contest->task.run, contest->lineup->sides[0]->title,
             expected.rows, expected.sum, contest->lineup->sides[side]->title, found.rows,
             found.sum);
    }
}

/* One run on each side; returns what all of them have read. */
static digest run_sides(const contest *contest, double seconds[SIDES_MAX])
{
    digest first = {0};
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        digest found = {.thorough = contest->task.thorough};
        seconds[i] = run_timed(contest, i, &found);
        if (i == 0) {
            first = found;
        }
        compare(contest, i, first, found);
    }
    return first;
}

void measure(const lineup *lineup, const workload *work, const char *folder, extent extent,
             result *result)
{
    double seconds[SIDES_MAX];
    double all[SIDES_MAX][RUNS];
    contest contest = {.lineup = lineup, .task = {.work = work, .extent = extent}};
    *result = (struct result){.work = work, .operations = workload_operations(work, extent)};
    contest.task.operations = result->operations;
    contest.task.thorough = true;
    open_sides(&contest, folder);
    run_sides(&contest, seconds);
    contest.task.thorough = false;
    for (unsigned run = 0; run < RUNS; run++) {
        contest.task.run = run + 1;
        if (work->writes) {
            folder_settle(folder);
        }
        result->rows += run_sides(&contest, seconds).rows;
        for (unsigned i = 0; i < lineup->count; i++) {
            all[i][run] = seconds[i];
        }
    }
    close_sides(&contest);
    for (unsigned i = 0; i < lineup->count; i++) {
        result->times[i] = summarize(all[i], RUNS);
    }
}

void measure_once(const lineup *lineup, const workload *work, const char *folder, extent extent)
{
    double seconds[SIDES_MAX];
    contest contest = {.lineup = lineup, .task = {.work = work, .extent = extent}};
    contest.task.operations = workload_operations(work, extent);
    contest.task.thorough = true;
    open_sides(&contest, folder);
    run_sides(&contest, seconds);
    close_sides(&contest);
}

void measure_check(const lineup *lineup, const char *folder, extent extent)
{
    measure_once(lineup, &workload_check, folder, extent);
}
