#include "bench/measure.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct side_contest {
    const side_lineup *lineup;
    const char *folder;
    void *sessions[SIDES_MAX];
    job task;
} side_contest;

static void *open_side(const side_contest *contest, unsigned number)
{
    char path[PATH_SIZE];
    const bench_side *side = contest->lineup->sides[number];
    const workload *work = contest->task.work;
    side_folder(side, contest->folder, path);
    folder_make(path);
    return side->open(&(side_opening){.folder = path,
                                      .extent = contest->task.extent,
                                      .durability = work->durability,
                                      .analyzed = work->analyzed,
                                      .dated = work->dated,
                                      .followed = work->followed,
                                      .indexes = work->indexes});
}

static void open_sides(side_contest *contest)
{
    for (unsigned i = 0; i < contest->lineup->count && !contest->task.work->reopens; i++) {
        contest->sessions[i] = open_side(contest, i);
    }
}

static void close_sides(side_contest *contest)
{
    for (unsigned i = 0; i < contest->lineup->count && !contest->task.work->reopens; i++) {
        contest->lineup->sides[i]->close(contest->sessions[i]);
    }
}

/* The operations of a run, each of which is one of its own to the side. */
static void run_reopening(const side_contest *contest, unsigned side, checksum *digest)
{
    job task = contest->task;
    task.operations = 1;
    task.singles = NULL;
    for (uint64_t i = 0; i < contest->task.operations; i++) {
        double start = now();
        task.run = contest->task.run * (uint32_t)contest->task.operations + (uint32_t)i;
        void *session = open_side(contest, side);
        contest->lineup->sides[side]->run(session, &task, digest);
        contest->lineup->sides[side]->close(session);
        task_note_single(&contest->task, i, start);
    }
}

static double run_timed(const side_contest *contest, unsigned side, checksum *digest)
{
    double start = now();
    if (contest->task.work->reopens) {
        run_reopening(contest, side, digest);
    } else {
        contest->lineup->sides[side]->run(contest->sessions[side], &contest->task, digest);
    }
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
 * have read. `singles` of a side get the times of its operations, if they are not NULL. */
static checksum run_sides(side_contest *contest, double seconds[SIDES_MAX],
                          double *const singles[SIDES_MAX])
{
    checksum first = {0};
    for (unsigned i = 0; i < contest->lineup->count; i++) {
        checksum found = {.thorough = contest->task.thorough};
        if (contest->task.work->writes) {
            folder_settle(contest->folder);
        }
        contest->task.singles = singles[i];
        seconds[i] = run_timed(contest, i, &found);
        if (i == 0) {
            first = found;
        }
        compare(contest, i, first, found);
    }
    return first;
}

static double *const no_singles[SIDES_MAX];

/* The timed runs, in turns. */
static void run_in_turns(side_contest *contest, measurement *result)
{
    static double all[SIDES_MAX][RUNS_BESIDE_LOG];
    const unsigned sides = contest->lineup->count;
    double seconds[SIDES_MAX];
    double *singles[SIDES_MAX] = {0};
    const uint64_t operations = result->operations;
    for (unsigned i = 0; i < sides && contest->task.work->singles; i++) {
        singles[i] = calloc(result->runs * operations, sizeof *singles[i]);
        require(singles[i] != NULL, "out of memory");
    }
    for (unsigned run = 0; run < result->runs; run++) {
        double *now_timed[SIDES_MAX] = {0};
        for (unsigned i = 0; i < sides && singles[i] != NULL; i++) {
            now_timed[i] = singles[i] + run * operations;
        }
        contest->task.run = run + 1;
        result->rows += run_sides(contest, seconds, now_timed).rows;
        for (unsigned i = 0; i < sides; i++) {
            all[i][run] = seconds[i];
        }
    }
    for (unsigned i = 0; i < sides; i++) {
        result->times[i] = summarize(all[i], result->runs);
        if (singles[i] != NULL) {
            result->singles[i] = summarize(singles[i], (unsigned)(result->runs * operations));
        }
        free(singles[i]);
    }
}

void measure(const side_lineup *lineup, const workload *work, const char *folder,
             table_extent extent, measurement *result)
{
    double seconds[SIDES_MAX];
    side_contest contest = {
        .lineup = lineup, .folder = folder, .task = {.work = work, .extent = extent}};
    *result = (measurement){.work = work,
                            .runs = work->beside_log ? RUNS_BESIDE_LOG : RUNS,
                            .operations = workload_operations(work, extent)};
    contest.task.operations = result->operations;
    contest.task.thorough = true;
    open_sides(&contest);
    run_sides(&contest, seconds, no_singles);
    contest.task.thorough = false;
    run_in_turns(&contest, result);
    close_sides(&contest);
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
    run_sides(&contest, seconds, no_singles);
    close_sides(&contest);
}

void measure_check(const side_lineup *lineup, const char *folder, table_extent extent)
{
    measure_once(lineup, &workload_check, folder, extent);
}
