/*
 * make bench: reads and writes of one set of entities kept in five ways, side by side; reads and
 * loads beside the floor too. settings.h says what can be set.
 */
#include "bench/dated_table.h"
#include "bench/load.h"
#include "bench/logged_sides.h"
#include "bench/machine.h"
#include "bench/report.h"

/* Made by make. */
#define CSV_PATH "build/bench/bench.csv"
#define INDEXED_ONCE "index: load with 1, unique"
#define INDEXED "index: load with 3"
#define IN_ORDER "load in key order, 1 durable commit"
#define AT_RANDOM "load in random order, 1 durable commit"
#define FOLLOWED "changes: load"
#define UPDATES "update 10 % at random, 1 durable commit"

enum {
    MILLION = 1000000,
    LOAD_MEMORY = 210 * MILLION, /* target: bytes in memory during a load of a million entities */
    FILE_SIZE = 143 * MILLION,   /* target: bytes of their store */
    OWN_TABLES = 3,              /* table I with 3 indexes and with 1, and table C */
    FRESH_SHARE = 4, /* of a fresh store: the partitions that it has of those of the others */
};

typedef struct table_run {
    bench_settings settings;
    FILE *csv;
    double peaks[SIDES_MAX]; /* KiB, of the load in key order */
    measurement loaded;      /* in key order; has no workload before */
    bool changed;            /* since the sides were last compared as a whole */
    table_extent fresh;      /* of the fresh stores; zeros until they are loaded */
    bool own[OWN_TABLES];    /* their stores are loaded */
    bool logged;             /* the sides beside a log are loaded */
} table_run;

static void report(table_run *bench, const measurement *result)
{
    report_row(&lineup_floor, result);
    report_csv_row(bench->csv, &lineup_floor, result);
}

/* A target in bytes for this many entities; 0 if they are too few to be compared with it. */
static double bytes_wanted(const table_run *bench, double of_a_million)
{
    double entities = (double)extent_count(bench->settings.extent);
    return entities < MILLION ? 0 : of_a_million * entities / MILLION;
}

static void report_sizes(table_run *bench, const char *name, double target)
{
    double bytes[SIDES_MAX];
    for (unsigned i = 0; i < lineup_all.count; i++) {
        char path[PATH_SIZE];
        side_folder(lineup_all.sides[i], bench->settings.folder, path);
        bytes[i] = (double)folder_size(path);
    }
    report_bytes(&lineup_all, name, bytes, target);
}

static void report_peaks(table_run *bench, const double peaks[SIDES_MAX])
{
    double bytes[SIDES_MAX];
    for (unsigned i = 0; i < lineup_floor.count; i++) {
        bytes[i] = peaks[i] * 1024;
    }
    report_bytes(&lineup_floor, "  largest resident size of a load", bytes,
                 bytes_wanted(bench, LOAD_MEMORY));
}

/* For the first row that works on them. Timed often enough only if that is asked for. */
static void load_in_order(table_run *bench)
{
    if (bench->loaded.work != NULL) {
        return;
    }
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
    report_peaks(bench, peaks);
}

static void run_load(table_run *bench, const workload *work)
{
    if (work == workload_named(IN_ORDER)) {
        load_in_order(bench);
        report(bench, &bench->loaded);
        report_peaks(bench, bench->peaks);
        report_sizes(bench, "  files after the load", bytes_wanted(bench, FILE_SIZE));
    } else {
        load_at_random(bench);
    }
}

static void fresh_folder(const table_run *bench, char path[PATH_SIZE])
{
    path_join(path, bench->settings.folder, "fresh");
}

/* In stores of their own, which are loaded for the first such row. */
static void run_fresh(table_run *bench, const workload *work)
{
    char folder[PATH_SIZE];
    double peaks[SIDES_MAX];
    measurement result;
    fresh_folder(bench, folder);
    if (bench->fresh.rows == 0) {
        uint32_t share = bench->settings.extent.partitions / FRESH_SHARE;
        bench->fresh = (table_extent){share > 0 ? share : 1, bench->settings.extent.rows};
        folder_make(folder);
        load_measure(&lineup_all, workload_named(IN_ORDER), folder, bench->fresh, 1, &result,
                     peaks);
    }
    measure(&lineup_all, work, folder, bench->fresh, &result);
    report(bench, &result);
}

static void remove_fresh(const table_run *bench)
{
    char folder[PATH_SIZE];
    fresh_folder(bench, folder);
    if (bench->fresh.rows != 0) {
        measure_check(&lineup_all, folder, bench->fresh);
        folder_remove(folder);
    }
}

/* In stores of their own: the others keep their size. */
static void run_dated(table_run *bench, const workload *work)
{
    char folder[PATH_SIZE];
    measurement result;
    path_join(folder, bench->settings.folder, "dated");
    folder_make(folder);
    dated_table_fill(&lineup_sql, folder, bench->settings.extent);
    measure(&lineup_sql, work, folder, extent_tenth(bench->settings.extent), &result);
    folder_remove(folder);
    report(bench, &result);
}

/* --- Tables in stores of their own --- */

/* A tenth as large as the others. The rows on one table find it loaded by one of them. */
static const struct own_table {
    const char *load;
    const char *folder;
    const char *load_folder; /* of the rows that are loads: what they make is not kept */
} own_tables[OWN_TABLES] = {{INDEXED, "indexed", "indexed-load"},
                            {INDEXED_ONCE, "indexed-once", "indexed-once-load"},
                            {FOLLOWED, "followed", "followed-load"}};

static unsigned own_table_of(const workload *work)
{
    return work->followed ? 2 : work->indexes == 1 ? 1 : 0;
}

static void load_own(table_run *bench, const workload *work, const char *folder, unsigned runs,
                     measurement *result)
{
    double peaks[SIDES_MAX];
    folder_make(folder);
    load_measure(&lineup_sql, work, folder, extent_tenth(bench->settings.extent), runs, result,
                 peaks);
}

static void run_own(table_run *bench, const workload *work, unsigned which)
{
    const struct own_table *own = &own_tables[which];
    char folder[PATH_SIZE];
    measurement result;
    path_join(folder, bench->settings.folder, work->loads ? own->load_folder : own->folder);
    if (work->loads) {
        load_own(bench, work, folder, LOAD_RUNS_MAX, &result);
        folder_remove(folder);
        report(bench, &result);
        return;
    }
    if (!bench->own[which]) {
        load_own(bench, workload_named(own->load), folder, 1, &result);
        bench->own[which] = true;
    }
    measure(&lineup_sql, work, folder, extent_tenth(bench->settings.extent), &result);
    report(bench, &result);
}

static void remove_own(const table_run *bench)
{
    for (unsigned i = 0; i < OWN_TABLES; i++) {
        char folder[PATH_SIZE];
        path_join(folder, bench->settings.folder, own_tables[i].folder);
        if (bench->own[i]) {
            folder_remove(folder);
        }
    }
}

/* --- Beside a log --- */

static void logged_folder(const table_run *bench, char path[PATH_SIZE])
{
    path_join(path, bench->settings.folder, "logged");
}

static void run_beside_log(table_run *bench, const workload *work)
{
    char folder[PATH_SIZE];
    measurement result;
    table_extent extent = extent_tenth(bench->settings.extent);
    logged_folder(bench, folder);
    if (!bench->logged) {
        report_head(&lineup_logged, "READS BESIDE A LOG");
        folder_make(folder);
        logged_sides_fill(folder, extent);
        bench->logged = true;
    }
    measure(&lineup_logged, work, folder, extent, &result);
    report_row(&lineup_logged, &result);
    report_csv_row(bench->csv, &lineup_logged, &result);
}

static void remove_logged(const table_run *bench)
{
    char folder[PATH_SIZE];
    logged_folder(bench, folder);
    if (bench->logged) {
        folder_remove(folder);
    }
}

/* The first such transaction copies nearly every page of LMDB's file. */
static void report_first_update(table_run *bench, const workload *work)
{
    measure_once(&lineup_all, work, bench->settings.folder, bench->settings.extent);
    report_sizes(bench, "  files after one such transaction", 0);
}

static void run_measured(table_run *bench, const workload *work)
{
    measurement result;
    const side_lineup *lineup = work->writes ? &lineup_all : &lineup_floor;
    load_in_order(bench);
    if (work == workload_named(UPDATES)) {
        report_first_update(bench, work);
    }
    measure(lineup, work, bench->settings.folder, bench->settings.extent, &result);
    bench->changed = bench->changed || work->writes;
    report(bench, &result);
    if (work == workload_named(UPDATES)) {
        report_sizes(bench, "  files after all runs of it", 0);
        measure_check(&lineup_all, bench->settings.folder, bench->settings.extent);
    }
}

static void run_row(table_run *bench, const workload *work)
{
    if (work->indexes != 0 || work->followed) {
        run_own(bench, work, own_table_of(work));
    } else if (work->beside_log) {
        run_beside_log(bench, work);
    } else if (work->loads) {
        run_load(bench, work);
    } else if (work->fresh) {
        run_fresh(bench, work);
    } else if (work->dated) {
        run_dated(bench, work);
    } else {
        run_measured(bench, work);
    }
}

static void run_table(table_run *bench, const char *title, bool writes)
{
    bool begun = false;
    for (unsigned i = 0; i < workload_count; i++) {
        if (workloads[i].writes == writes && settings_wants(&bench->settings, workloads[i].name)) {
            if (!begun && !workloads[i].beside_log) {
                report_head(&lineup_floor, title);
            }
            begun = true;
            run_row(bench, &workloads[i]);
        }
    }
}

static void print_legend(void)
{
    printf(
        "\n"
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
        "LMDB loads in key order with MDB_APPEND. A fresh store was only loaded, with a quarter of"
        " the partitions; the other\n"
        "rows that write without BEGIN find the free pages of the updates before them.\n",
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
    run_table(&bench, "READS", false);
    run_table(&bench, "WRITES", true);
    if (bench.changed) {
        measure_check(&lineup_all, bench.settings.folder, bench.settings.extent);
    }
    remove_fresh(&bench);
    remove_own(&bench);
    remove_logged(&bench);
    require(fclose(bench.csv) == 0, CSV_PATH " cannot be written");
    printf("\nwritten: %s\n", CSV_PATH);
    return 0;
}
