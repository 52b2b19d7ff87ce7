/*
 * make bench: reads and writes of one set of entities kept in five ways, side by side; reads and
 * loads beside the floor too. settings.h says what can be set.
 */
#include "bench/format.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "bench/report.h"

/* Made by make. */
#define CSV_PATH "build/bench/bench.csv"
#define IN_ORDER "load in key order, 1 durable commit"
#define AT_RANDOM "load in random order, 1 durable commit"
#define UPDATES "update 10 % at random, 1 durable commit"

typedef struct table_run {
    bench_settings settings;
    FILE *csv;
    double peaks[SIDES_MAX]; /* KiB, of the load in key order */
    measurement loaded;      /* in key order */
    bool changed;            /* since the sides were last compared as a whole */
} table_run;

static void report(table_run *bench, const measurement *result)
{
    report_row(&lineup_floor, result);
    report_csv_row(bench->csv, &lineup_floor, result);
}

static void report_sizes(table_run *bench, const char *name)
{
    char texts[SIDES_MAX][FORMAT_SIZE];
    for (unsigned i = 0; i < lineup_all.count; i++) {
        char path[PATH_SIZE];
        side_folder(lineup_all.sides[i], bench->settings.folder, path);
        format_megabytes((double)folder_size(path), texts[i]);
    }
    report_texts(&lineup_all, name, texts);
}

static void report_peaks(const double peaks[SIDES_MAX], const char *name)
{
    char texts[SIDES_MAX][FORMAT_SIZE];
    for (unsigned i = 0; i < lineup_floor.count; i++) {
        format_megabytes(peaks[i] * 1024, texts[i]);
    }
    report_texts(&lineup_floor, name, texts);
}

/* What all other rows work on; timed often enough only if that is asked for. */
static void load_in_order(table_run *bench)
{
    unsigned runs = settings_wants(&bench->settings, IN_ORDER) ? LOAD_RUNS_MAX : 1;
    load_measure(&lineup_floor, workload_named(IN_ORDER), bench->settings.folder,
                 bench->settings.extent, runs, &bench->loaded, bench->peaks);
    measure_check(&lineup_all, bench->settings.folder, bench->settings.extent);
}

/* Beside the other data, which the rows behind this one still need. */
static void load_at_random(table_run *bench)
{
    double peaks[SIDES_MAX];
    char folder[PATH_SIZE];
    measurement result;
    path_join(folder, bench->settings.folder, "random");
    folder_make(folder);
    load_measure(&lineup_floor, workload_named(AT_RANDOM), folder, bench->settings.extent,
                 LOAD_RUNS_MAX, &result, peaks);
    measure_check(&lineup_all, folder, bench->settings.extent);
    folder_remove(folder);
    report(bench, &result);
    report_peaks(peaks, "  largest resident size of a load");
}

static void run_load(table_run *bench, const workload *work)
{
    if (work == workload_named(IN_ORDER)) {
        report(bench, &bench->loaded);
        report_peaks(bench->peaks, "  largest resident size of a load");
        report_sizes(bench, "  files after the load");
    } else {
        load_at_random(bench);
    }
}

/* The first such transaction copies nearly every page of LMDB's file. */
static void report_first_update(table_run *bench, const workload *work)
{
    measure_once(&lineup_all, work, bench->settings.folder, bench->settings.extent);
    report_sizes(bench, "  files after one such transaction");
}

static void run_measured(table_run *bench, const workload *work)
{
    measurement result;
    const side_lineup *lineup = work->writes ? &lineup_all : &lineup_floor;
    if (work == workload_named(UPDATES)) {
        report_first_update(bench, work);
    }
    measure(lineup, work, bench->settings.folder, bench->settings.extent, &result);
    bench->changed = bench->changed || work->writes;
    report(bench, &result);
    if (work == workload_named(UPDATES)) {
        report_sizes(bench, "  files after all runs of it");
        measure_check(&lineup_all, bench->settings.folder, bench->settings.extent);
    }
}

static void run_row(table_run *bench, const workload *work)
{
    if (work->loads) {
        run_load(bench, work);
    } else {
        run_measured(bench, work);
    }
}

static void run_table(table_run *bench, const char *title, bool writes)
{
    bool begun = false;
    for (unsigned i = 0; i < workload_count; i++) {
        if (workloads[i].writes == writes && settings_wants(&bench->settings, workloads[i].name)) {
            if (!begun) {
                report_head(&lineup_floor, title);
            }
            begun = true;
            run_row(bench, &workloads[i]);
        }
    }
}

static void print_legend(void)
{
    printf("\n"
           "The time of one operation, and how many times as fast as the ordinary table it is;"
           " ! is below the target for\n"
           "the hosts :memory: / WAL. Medians of %d runs in turns; of loads %d, of JSON's loads %u,"
           " each in a process of its own.\n"
           "Rows are those of one operation. All sides read and write the same values, or the"
           " benchmark ends with an error. The\n"
           "floor does not: it is a virtual table that stores nothing and makes up as many rows,"
           " always the same ones; what is\n"
           "loaded it takes value by value and forgets. So only the number of rows is checked, and "
           "no row"
           " passes a condition. No\n"
           "virtual table can be faster.\n"
           "Outside BEGIN each statement on an ordinary table, or in a file host, locks the file"
           " and reads its header again:\n"
           "most of the lead of point queries from :memory: is that. Resident sizes count pages"
           " of mapped files, as LMDB's.\n"
           "LMDB loads in key order with MDB_APPEND.\n",
           RUNS, LOAD_RUNS_MAX, side_json.load_runs);
}

int main(int argc, char **argv)
{
    if (load_is_asked(argc, argv)) {
        return load_main(argv);
    }
    table_run bench = {0};
    settings_read(&bench.settings);
    machine_print(&bench.settings);
    print_legend();
    bench.csv = report_csv_open(CSV_PATH);
    load_in_order(&bench);
    run_table(&bench, "READS", false);
    run_table(&bench, "WRITES", true);
    if (bench.changed) {
        measure_check(&lineup_all, bench.settings.folder, bench.settings.extent);
    }
    require(fclose(bench.csv) == 0, CSV_PATH " cannot be written");
    printf("\nwritten: %s\n", CSV_PATH);
    return 0;
}
