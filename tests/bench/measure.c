#include "bench/measure.h"

#include <inttypes.h>

typedef struct side_contest {
    const side_lineup *lineup;
    const char *folder;
    void *sessions[SIDES_MAX];
    job task;
} side_contest;

static void open_sides(side_contest *contest)
{
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        char path[PATH_SIZE];
        const bench_side *side = contest->lineup->sides[i];
        side_folder(side, contest->folder, path);
        folder_make(path);
        const workload *work = contest->task.work;
        contest->sessions[i] = side->open(&(side_opening){.folder = path,
                                                          .durability = work->durability,
                                                          .analyzed = work->analyzed,
                                                          .dated = work->dated,
                                                          .followed = work->followed,
                                                          .indexes = work->indexes});
    }
}

static void close_sides(side_contest *contest)
{
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        contest->lineup->sides[i]->close(contest->sessions[i]);
    }
}

static double run_timed(const side_contest *contest, unsigned side, checksum *digest)
{
    double start = now();
    contest->lineup->sides[side]->run(contest->sessions[side], &contest->task, digest);
    return now() - start;
}

static void compare(const side_contest *contest, unsigned side, checksum expected, checksum found)
{
    /* Rows that are made up are as many, but always the same ones, so none or all pass. */
    bool made_up = contest->lineup->sides[side]->made_up;
    bool as_many =
        found.rows == expected.rows || (made_up && contest->task.work->condition != CONDITION_NONE);
    if (!as_many || (found.sum != expected.sum && !made_up)) {
        fail("%s, run %u: %s has %" PRIu64 " rows with the sum %" PRIx64 ", %s %" PRIu64
             " rows with the sum %" PRIx64,
             contest->task.work->name, contest->task.run, contest->lineup->sides[0]->title,
             expected.rows, expected.sum, contest->lineup->sides[side]->title, found.rows,
             found.sum);
    }
}

/* One run on each side, none of which has to write what another has left; returns what all of them
 * have read. */
static checksum run_sides(const side_contest *contest, double seconds[SIDES_MAX])
{
    checksum first = {0};
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        checksum found = {.thorough = contest->task.thorough};
        if (contest->task.work->writes) {
            folder_settle(contest->folder);
        }
        seconds[i] = run_timed(contest, i, &found);
        if (i == 0) {
            first = found;
        }
        compare(contest, i, first, found);
    }
    return first;
}

void measure(const side_lineup *lineup, const workload *work, const char *folder,
             table_extent extent, measurement *result)
{
    double seconds[SIDES_MAX];
    double all[SIDES_MAX][RUNS];
    side_contest contest = {
        .lineup = lineup, .folder = folder, .task = {.work = work, .extent = extent}};
    *result = (measurement){.work = work, .operations = workload_operations(work, extent)};
    contest.task.operations = result->operations;
    contest.task.thorough = true;
    open_sides(&contest);
    run_sides(&contest, seconds);
    contest.task.thorough = false;
    for (unsigned run = 0; run < RUNS; run++) {
        contest.task.run = run + 1;
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

void measure_once(const side_lineup *lineup, const workload *work, const char *folder,
                  table_extent extent)
{
    double seconds[SIDES_MAX];
    side_contest contest = {
        .lineup = lineup, .folder = folder, .task = {.work = work, .extent = extent}};
    contest.task.operations = workload_operations(work, extent);
    contest.task.thorough = true;
    open_sides(&contest);
    run_sides(&contest, seconds);
    close_sides(&contest);
}

void measure_check(const side_lineup *lineup, const char *folder, table_extent extent)
{
    measure_once(lineup, &workload_check, folder, extent);
}
