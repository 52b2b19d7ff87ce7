/*
 * make bench-memory: how much memory loads, scans and a large transaction take.
 *
 *     N=20000000     entities of the large transaction
 *     LIMIT_MB=16    private memory that the scans may have
 *
 * Resident memory is private memory and those pages of mapped files that are in memory. LMDB maps
 * its file, so these are counted there, while SQLite reads files through the same page cache
 * without their being counted. Pages of files are given back when memory is wanted elsewhere, so
 * private memory is what counts; without being root it can be limited (RLIMIT_DATA), and resident
 * memory cannot. What happens when pages of files are wanted back is shown by taking them all back
 * again and again.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "bench/child.h"
#include "bench/format.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "bench/pressure.h"
#include "bench/sql_side.h"
#include "bench/watch.h"

enum { TRANSACTION_SIZE = 20000000, LIMIT_MB = 16, MB = 1000000, ROWS = 1000, NUMBER_SIZE = 24 };

static const bench_side *const compared[] = {&side_ordinary, &side_ptable_memory};

static void print_memory(const char *name, const char *title, double seconds, double peak_kib,
                         double private_kib)
{
    char time[FORMAT_SIZE], peak[FORMAT_SIZE], private_peak[FORMAT_SIZE];
    printf("%-44s%-17s%10s%14s%14s\n", name, title, format_seconds(seconds, time),
           format_megabytes(peak_kib * 1024, peak),
           private_kib > 0 ? format_megabytes(private_kib * 1024, private_peak) : "-");
    fflush(stdout);
}

/* --- Loads --- */

static void report_loads(const bench_settings *settings, const char *name)
{
    if (!settings_wants(settings, name)) {
        return;
    }
    for (unsigned i = 0; i < lineup_all.count; i++) {
        const bench_side *side = lineup_all.sides[i];
        load_result load =
            load_run(side, workload_named(name), settings->folder, settings->extent, true);
        print_memory(i == 0 ? name : "", side->title, load.seconds, load.peak_kib,
                     load.private_kib);
    }
}

/* --- Scans --- */

static void limit_private_memory(uint64_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    require(setrlimit(RLIMIT_DATA, &limit) == 0, "private memory cannot be limited");
}

typedef struct scan_limits {
    uint64_t private_bytes; /* 0: as many as there are */
    bool cold;              /* nothing of the files is in memory */
    bool pressed;           /* and nothing stays there for long */
} scan_limits;

#define PRESSED "pressed"

/* scan SIDE FOLDER LIMIT [pressed]: reads every value, and prints seconds, KiB, private KiB and
 * rows. */
static int scan_main(char **argv)
{
    const bench_side *side = side_titled(argv[2]);
    checksum found = {.thorough = true};
    memory_pressure pressure;
    uint64_t private_bytes = strtoull(argv[4], NULL, 10);
    if (private_bytes != 0) {
        limit_private_memory(private_bytes);
    }
    void *session = side->open(&(side_opening){.folder = argv[3], .durability = DURABLE});
    if (argv[5] != NULL) {
        pressure_start(&pressure, argv[3], true);
    }
    double start = now();
    side->run(session, &(job){.work = &workload_check, .operations = 1}, &found);
    double seconds = now() - start;
    if (argv[5] != NULL) {
        pressure_stop(&pressure);
    }
    printf("%.9f %.0f %.0f %" PRIu64 "\n", seconds, child_peak_kib(), child_status_kib("RssAnon"),
           found.rows);
    side->close(session);
    return 0;
}

static void scan(const bench_settings *settings, const bench_side *side, const char *name,
                 const scan_limits *limits)
{
    char folder[PATH_SIZE], bytes[NUMBER_SIZE];
    double numbers[CHILD_NUMBERS];
    memory_pressure pressure;
    side_folder(side, settings->folder, folder);
    snprintf(bytes, sizeof bytes, "%" PRIu64, limits->private_bytes);
    const char *arguments[] = {"scan", side->title, folder, bytes, limits->pressed ? PRESSED : NULL,
                               NULL};
    if (limits->cold) {
        folder_settle(folder);
        folder_forget(folder);
    }
    if (limits->pressed) {
        pressure_start(&pressure, folder, false);
    }
    require(child_run(arguments, numbers) == 4, "a scan has not told its time");
    if (limits->pressed) {
        pressure_stop(&pressure);
    }
    require(numbers[3] == (double)extent_count(settings->extent), "a scan has missed rows");
    print_memory(name, side->title, numbers[0], numbers[1], numbers[2]);
}

static void scan_both(const bench_settings *settings, const char *name, const scan_limits *limits)
{
    for (unsigned i = 0; i < ARRAY_SIZE(compared); i++) {
        scan(settings, compared[i], i == 0 ? name : "", limits);
    }
}

static void report_scans(const bench_settings *settings)
{
    static const char name[] = "scan of all values";
    char size[FORMAT_SIZE], folder[PATH_SIZE], limited[80];
    uint64_t bytes = (uint64_t)(settings_number("LIMIT_MB", LIMIT_MB) * MB);
    if (!settings_wants(settings, name)) {
        return;
    }
    for (unsigned i = 0; i < ARRAY_SIZE(compared); i++) {
        load_run(compared[i], workload_named("load in key order, 1 durable commit"),
                 settings->folder, settings->extent, false);
        side_folder(compared[i], settings->folder, folder);
        printf("    %-17s%s of files\n", compared[i]->title,
               format_megabytes((double)folder_size(folder), size));
    }
    snprintf(limited, sizeof limited, "scan of all values, at most %s private",
             format_megabytes((double)bytes, size));
    scan_both(settings, limited, &(scan_limits){.private_bytes = bytes});
    scan_both(settings, "scan of all values, from the disk", &(scan_limits){.cold = true});
    scan_both(settings, "the same, pages taken back every 20 ms",
              &(scan_limits){.cold = true, .pressed = true});
}

/* --- One large transaction --- */

static const char *const declarations[] = {
    "CREATE TABLE Small(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, Age INTEGER,"
    " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE Small USING ptable(Age Int32, store='%q/small.ptable')",
};

static const workload small_entities = {
    .name = "small entities",
    .access = ACCESS_APPEND,
    .keys = KEYS_IN_ORDER,
    .sql = "INSERT INTO Small VALUES(?1, ?2, ?3)",
    .parameters = "PRa",
    .together = true,
    .writes = true,
    .loads = true,
};

/* transaction SIDE FOLDER ENTITIES: prints seconds, KiB, private KiB and bytes of files. */
static int transaction_main(char **argv)
{
    const bench_side *side = side_titled(argv[2]);
    checksum written = {0};
    memory_watch watch = {0};
    job task = {.work = &small_entities, .extent = {1, ROWS}};
    char folder[PATH_SIZE];
    require(realpath(argv[3], folder) != NULL, "a folder of the benchmark is gone");
    task.operations = strtoull(argv[4], NULL, 10);
    sql_session *session = side->open(&(side_opening){.folder = folder, .durability = DURABLE});
    sql_execute(session, declarations[side != &side_ordinary], folder);
    watch_start(&watch);
    double start = now();
    side->run(session, &task, &written);
    double seconds = now() - start;
    double private_kib = watch_stop(&watch);
    require(written.rows == task.operations, "the transaction has not written all rows");
    sql_close(session);
    printf("%.9f %.0f %.0f %" PRIu64 "\n", seconds, child_peak_kib(), private_kib,
           folder_size(folder));
    return 0;
}

static void report_transaction(const bench_settings *settings)
{
    char name[80], count[FORMAT_SIZE], size[FORMAT_SIZE], folder[PATH_SIZE], entities[NUMBER_SIZE];
    double numbers[CHILD_NUMBERS];
    uint64_t n = (uint64_t)settings_number("N", TRANSACTION_SIZE);
    snprintf(name, sizeof name, "transaction of %s small entities", format_count(n, count));
    snprintf(entities, sizeof entities, "%" PRIu64, n);
    for (unsigned i = 0; settings_wants(settings, name) && i < ARRAY_SIZE(compared); i++) {
        side_folder(compared[i], settings->folder, folder);
        folder_remove(folder);
        folder_make(folder);
        const char *arguments[] = {"transaction", compared[i]->title, folder, entities, NULL};
        require(child_run(arguments, numbers) == 4, "a transaction has not told its time");
        print_memory(i == 0 ? name : "", compared[i]->title, numbers[0], numbers[1], numbers[2]);
        printf("    %s of files\n", format_megabytes(numbers[3], size));
    }
}

static int child_main(int argc, char **argv)
{
    if (load_is_asked(argc, argv)) {
        return load_main(argv);
    }
    return strcmp(argv[1], "scan") == 0 ? scan_main(argv) : transaction_main(argv);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return child_main(argc, argv);
    }
    bench_settings settings;
    settings_read(&settings);
    machine_print(&settings);
    printf("\n%-44s%-17s%10s%14s%14s\n", "MEMORY", "", "time", "resident", "private");
    report_loads(&settings, "load in key order, 1 durable commit");
    report_loads(&settings, "load in random order, 1 durable commit");
    report_scans(&settings);
    report_transaction(&settings);
    return 0;
}
