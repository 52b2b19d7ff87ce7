#include "bench/load.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/child.h"
#include "bench/watch.h"

enum { NUMBER_SIZE = 24, LOAD_NUMBERS = 3 };

#define LOAD "load"
#define LOAD_WATCHED "load-watched"

bool load_is_asked(int argc, char **argv)
{
    return argc > 1 && strncmp(argv[1], LOAD, strlen(LOAD)) == 0;
}

/* load SIDE ROW FOLDER PARTITIONS ROWS */
int load_main(char **argv)
{
    const bench_side *side = side_titled(argv[2]);
    job task = {.work = workload_named(argv[3])};
    task.extent =
        (table_extent){(uint32_t)strtoul(argv[5], NULL, 10), (uint32_t)strtoul(argv[6], NULL, 10)};
    task.operations = workload_operations(task.work, task.extent);
    checksum written = {0};
    memory_watch watch = {0};
    void *session = side->open(&(side_opening){.folder = argv[4],
                                               .durability = task.work->durability,
                                               .followed = task.work->followed,
                                               .indexes = task.work->indexes});
    if (strcmp(argv[1], LOAD_WATCHED) == 0) {
        watch_start(&watch);
    }
    double start = now();
    side->run(session, &task, &written);
    double seconds = now() - start;
    double private_kib = watch_stop(&watch);
    require(written.rows == task.operations, "a load has not written all rows");
    printf("%.9f %.0f %.0f\n", seconds, child_peak_kib(), private_kib);
    side->close(session);
    return 0;
}

load_result load_run(const bench_side *side, const workload *work, const char *folder,
                     table_extent extent, bool watched)
{
    char path[PATH_SIZE], partitions[NUMBER_SIZE], rows[NUMBER_SIZE];
    double numbers[CHILD_NUMBERS];
    side_folder(side, folder, path);
    folder_remove(path);
    folder_make(path);
    folder_settle(folder);
    snprintf(partitions, sizeof partitions, "%" PRIu32, extent.partitions);
    snprintf(rows, sizeof rows, "%" PRIu32, extent.rows);
    const char *arguments[] = {
        watched ? LOAD_WATCHED : LOAD, side->title, work->name, path, partitions, rows, NULL};
    require(child_run(arguments, numbers) == LOAD_NUMBERS, "a load has not told its time");
    return (load_result){numbers[0], numbers[1], numbers[2]};
}

static unsigned runs_of(const bench_side *side, unsigned most)
{
    return side->load_runs < most ? side->load_runs : most;
}

void load_measure(const side_lineup *lineup, const workload *work, const char *folder,
                  table_extent extent, unsigned runs, measurement *result, double peaks[SIDES_MAX])
{
    double all[SIDES_MAX][LOAD_RUNS_MAX];
    *result =
        (measurement){.work = work, .runs = 1, .operations = workload_operations(work, extent)};
    result->rows = result->operations;
    for (unsigned run = 0; run < runs; run++) {
        for (unsigned i = 0; i < lineup->count; i++) {
            if (run >= runs_of(lineup->sides[i], runs)) {
                continue;
            }
            load_result load = load_run(lineup->sides[i], work, folder, extent, false);
            all[i][run] = load.seconds;
            peaks[i] = run > 0 && peaks[i] > load.peak_kib ? peaks[i] : load.peak_kib;
        }
    }
    for (unsigned i = 0; i < lineup->count; i++) {
        result->times[i] = summarize(all[i], runs_of(lineup->sides[i], runs));
    }
}
