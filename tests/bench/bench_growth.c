/*
 * make bench-growth: what becomes slower as a store grows, and what deleting does to the commits
 * that come after it. BENCH=growth, BENCH=deleting or BENCH=freelist does one of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/commits.h"
#include "bench/format.h"
#include "bench/freelist.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "bench/other_table.h"
#include "bench/raw_side.h"
#include "bench/sql_side.h"

#define LOAD "load in key order, 1 durable commit"

static const bench_side *const compared[] = {&side_ordinary, &side_ptable_memory, &side_lmdb};
static const side_lineup three = {compared, ARRAY_SIZE(compared)};

/* --- Sizes --- */

enum { GROWTH = 10, SIZES = 3, GROWING = 3 };

static const char *const size_names[SIZES] = {"1x", "10x rows", "10x partitions"};

/* What is measured at each size, and whether for each operation or for each row that it reads. */
static const struct {
    const char *name;
    const char *title;
    bool each_row;
} growing[GROWING] = {
    {"point query, 1 column, random", "point query, random", false},
    {"partition scan, 1 column", "partition scan, each row", true},
    {COMMIT_WORK, "durable commit of 1 insert", false},
};

static table_extent size_of(table_extent base, unsigned size)
{
    return (table_extent){base.partitions * (size == 2 ? GROWTH : 1),
                          base.rows * (size == 1 ? GROWTH : 1)};
}

static void check_size(table_extent base)
{
    require(base.partitions <= PARTITIONS_MAX / GROWTH && base.rows <= ROWS_MAX / GROWTH,
            "SCALE and PARTITIONS are at most 1000 and 90 here");
}

static void load_all(const char *folder, table_extent extent)
{
    for (unsigned i = 0; i < three.count; i++) {
        load_run(three.sides[i], workload_named(LOAD), folder, extent, false);
    }
}

static void measure_size(const bench_settings *settings, unsigned size,
                         double seconds[SIZES][GROWING][SIDES_MAX])
{
    table_extent extent = size_of(settings->extent, size);
    load_all(settings->folder, extent);
    for (unsigned i = 0; i < GROWING; i++) {
        measurement result;
        measure(&three, workload_named(growing[i].name), settings->folder, extent, &result);
        uint64_t each = growing[i].each_row ? result.rows / result.runs : result.operations;
        for (unsigned side = 0; side < three.count; side++) {
            seconds[size][i][side] = result.times[side].median / (double)each;
        }
    }
}

static void print_sizes(double seconds[SIZES][GROWING][SIDES_MAX])
{
    char time[FORMAT_SIZE], growth[FORMAT_SIZE];
    printf("\n%-28s%-16s%12s%20s%20s\n", "GROWTH (times as long as 1x)", "", size_names[0],
           size_names[1], size_names[2]);
    for (unsigned i = 0; i < GROWING; i++) {
        for (unsigned side = 0; side < three.count; side++) {
            printf("%-28s%-16s%12s", side == 0 ? growing[i].title : "", three.sides[side]->title,
                   format_seconds(seconds[0][i][side], time));
            for (unsigned size = 1; size < SIZES; size++) {
                printf("%14s %5s", format_seconds(seconds[size][i][side], time),
                       format_ratio(seconds[size][i][side] / seconds[0][i][side], growth));
            }
            printf("\n");
        }
    }
}

static void grow(const bench_settings *settings)
{
    static double seconds[SIZES][GROWING][SIDES_MAX];
    check_size(settings->extent);
    for (unsigned size = 0; size < SIZES; size++) {
        measure_size(settings, size, seconds);
    }
    print_sizes(seconds);
}

/* --- Deleting --- */

enum { COMMITS = 1000, LARGE = 1000000, SMALL = 1000, LARGE_PARTITION = 950000 };

/* Large parts of the store that are deleted one after the other. */
typedef enum doomed {
    DOOMED_NOTHING,
    DOOMED_SMALL_PARTITION,
    DOOMED_LARGE_PARTITION,
    DOOMED_TABLE,
    DOOMED_COUNT,
} doomed;

typedef struct deleting {
    const bench_side *side;
    void *session;
    uint32_t large; /* rows */
    commit_run commits;
} deleting;

static void load_part(deleting *self, const workload *work, table_extent extent, uint32_t partition)
{
    checksum written = {0};
    job task = {.work = work, .extent = extent, .partition = partition};
    task.operations = extent_count(extent);
    self->side->run(self->session, &task, &written);
    require(written.rows == task.operations, "a load has not written all rows");
}

/* A large partition in the table, and another large table. */
static void load_doomed(deleting *self, const char *folder)
{
    static workload into_partition, into_other; /* sessions keep statements by their workload */
    into_partition = *workload_named(LOAD);
    into_partition.access = ACCESS_INSERT;
    into_other = other_table_workload(LOAD);
    load_part(self, &into_partition, (table_extent){1, self->large}, LARGE_PARTITION);
    other_table_declare(self->side, self->session, folder);
    other_table_select(self->side, self->session, true);
    load_part(self, &into_other, (table_extent){(self->large + SMALL - 1) / SMALL, SMALL}, 0);
    other_table_select(self->side, self->session, false);
}

static void delete_partition(deleting *self, uint32_t partition)
{
    sample entity;
    uint8_t prefix[RAW_KEY_SIZE];
    data_set_keys(&entity, partition, "row", 0);
    if (self->side == &side_lmdb) {
        size_t size = raw_write_partition(prefix, RAW_TABLE, entity.partition_key);
        raw_delete_together(self->session, prefix, size);
    } else {
        sql_execute(self->session, "DELETE FROM E WHERE PartitionKey = '%.*s'", KEY_SIZE,
                    entity.partition_key);
    }
}

static void delete_part(deleting *self, doomed part)
{
    if (part == DOOMED_SMALL_PARTITION) {
        delete_partition(self, 0);
    } else if (part == DOOMED_LARGE_PARTITION) {
        delete_partition(self, LARGE_PARTITION);
    } else if (part == DOOMED_TABLE) {
        other_table_drop(self->side, self->session);
    }
}

static void report_part(deleting *self, doomed part)
{
    static const char *const names[DOOMED_COUNT] = {"(nothing yet)", "a partition of 1,000",
                                                    "a large partition", "a large table"};
    char time[FORMAT_SIZE], median[FORMAT_SIZE], most[FORMAT_SIZE];
    double start = now();
    delete_part(self, part);
    double deleted = now() - start;
    summary commits = commit_often(&self->commits, COMMITS);
    printf("%-22s%-18s%12s%14s%14s\n", part == 0 ? self->side->title : "", names[part],
           part == DOOMED_NOTHING ? "-" : format_seconds(deleted, time),
           format_seconds(commits.median, median), format_seconds(commits.most, most));
    fflush(stdout);
}

/* What is left must be the same on all sides. */
static void check_rest(deleting *self, table_extent extent)
{
    static checksum first;
    checksum rest = {.thorough = true};
    job task = {.work = &workload_check, .extent = extent, .operations = 1};
    self->side->run(self->session, &task, &rest);
    first = self->side == three.sides[0] ? rest : first;
    require(rest.rows == first.rows && rest.sum == first.sum,
            "after deleting, the sides have not the same rows");
}

static void delete_on(const bench_settings *settings, const bench_side *side)
{
    char folder[PATH_SIZE];
    char absolute[PATH_SIZE];
    table_extent extent = {settings->extent.partitions, SMALL};
    load_run(side, workload_named(LOAD), settings->folder, extent, false);
    side_folder(side, settings->folder, folder);
    require(realpath(folder, absolute) != NULL, "a folder of the benchmark is gone");
    deleting self = {.side = side,
                     .large = (uint32_t)((uint64_t)LARGE * settings->extent.rows / SMALL)};
    self.session = side->open(&(side_opening){.folder = folder, .durability = DURABLE});
    self.commits = (commit_run){side, self.session, workload_named(COMMIT_WORK), extent, 0};
    load_doomed(&self, absolute);
    for (doomed part = 0; part < DOOMED_COUNT; part++) {
        report_part(&self, part);
    }
    check_rest(&self, extent);
    side->close(self.session);
}

static void delete_all(const bench_settings *settings)
{
    char large[FORMAT_SIZE];
    printf("\n%-22s%-18s%12s%14s%14s\n", "DELETING, THEN", "deleted", "it takes", "commit,",
           "commit,");
    printf("%-22s%-18s%12s%14s%14s\n", "1,000 SMALL COMMITS", "", "", "median", "longest");
    for (unsigned i = 0; i < three.count; i++) {
        delete_on(settings, three.sides[i]);
    }
    printf("\nLarge: %s entities, beside a table with as many. LMDB itself deletes all of them in"
           " one transaction; the others\nas one SQL statement. Every commit is durable. Those "
           "behind a ptable that was dropped delete it in slices,\n"
           "64 pages each, and take longer until it is gone.\n",
           format_count((uint64_t)LARGE * settings->extent.rows / SMALL, large));
}

int main(int argc, char **argv)
{
    bench_settings settings;
    if (load_is_asked(argc, argv)) {
        return load_main(argv);
    }
    settings_read(&settings);
    machine_print(&settings);
    if (settings_wants(&settings, "growth")) {
        grow(&settings);
    }
    if (settings_wants(&settings, "deleting")) {
        delete_all(&settings);
    }
    if (settings_wants(&settings, "freelist")) {
        freelist_measure(&three, settings.folder);
    }
    return 0;
}
