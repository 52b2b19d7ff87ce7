/*
 * make bench-concurrency: readers beside writers, and many durable writers. Sides as users have
 * them: an ordinary table in one file; a ptable declared in one file in WAL mode, which all open;
 * and ptables declared in a :memory: database of each connection, which share the store alone.
 *
 *     SECONDS=2    how long each crew works (1)
 */
#include <stdio.h>

#include "bench/format.h"
#include "bench/load.h"
#include "bench/machine.h"
#include "bench/workers.h"

enum { REPEATS = 3 };

static const bench_side *const compared[] = {&side_ordinary, &side_ptable_wal, &side_ptable_memory};
static const side_lineup three = {compared, ARRAY_SIZE(compared)};

#define DURABLY "autocommit insert, durable"
#define MAY_LOSE_LAST "autocommit insert, may lose the last"

static const struct {
    const char *title;
    unsigned readers;
    unsigned writers;
    bool processes;
    const char *writes; /* a row of make bench */
    double target;      /* times as many inserts as into an ordinary table; 0: none */
} crews[] = {
    {"1 reader", 1, 0, false, DURABLY, 0},
    {"1 reader, 1 writer", 1, 1, false, DURABLY, 0},
    {"1 reader, 2 writers", 1, 2, false, DURABLY, 0},
    {"1 writing thread", 0, 1, false, DURABLY, 1},
    {"2 writing threads", 0, 2, false, DURABLY, 0},
    {"4 writing threads", 0, 4, false, DURABLY, 0},
    {"8 writing threads", 0, 8, false, DURABLY, 1},
    {"16 writing threads", 0, 16, false, DURABLY, 1},
    {"16 that may lose the last", 0, 16, false, MAY_LOSE_LAST, 1},
    {"2 writing processes", 0, 2, true, DURABLY, 0},
    {"4 writing processes", 0, 4, true, DURABLY, 0},
};

typedef struct crew_numbers {
    double reads[SIDES_MAX][REPEATS];
    double writes[SIDES_MAX][REPEATS];
    double longest[SIDES_MAX];
} crew_numbers;

static void let_work(const bench_settings *settings, unsigned number, double seconds,
                     crew_numbers *numbers)
{
    for (unsigned repeat = 0; repeat < REPEATS; repeat++) {
        for (unsigned i = 0; i < three.count; i++) {
            char folder[PATH_SIZE];
            side_folder(three.sides[i], settings->folder, folder);
            crew_result result =
                crew_work(&(crew_plan){.side = three.sides[i],
                                       .folder = folder,
                                       .extent = settings->extent,
                                       .readers = crews[number].readers,
                                       .writers = crews[number].writers,
                                       .processes = crews[number].processes,
                                       .writes = workload_named(crews[number].writes),
                                       .number = number * REPEATS + repeat},
                          seconds);
            numbers->reads[i][repeat] = result.reads;
            numbers->writes[i][repeat] = result.writes;
            if (result.longest > numbers->longest[i]) {
                numbers->longest[i] = result.longest;
            }
        }
    }
}

/* A ratio below the target has a mark. */
static void print_rates(const char *title, double rates[SIDES_MAX][REPEATS], double target)
{
    char rate[FORMAT_SIZE], ratio[FORMAT_SIZE];
    double ordinary = 0;
    printf("%-34s", title);
    for (unsigned i = 0; i < three.count; i++) {
        double median = summarize(rates[i], REPEATS).median;
        ordinary = i == 0 ? median : ordinary;
        double times = ordinary > 0 ? median / ordinary : 0;
        printf("%12s %5s%c", format_count((uint64_t)median, rate), format_ratio(times, ratio),
               times < target ? '!' : ' ');
    }
    printf("\n");
}

static void print_longest(const double longest[SIDES_MAX])
{
    char time[FORMAT_SIZE];
    printf("%-34s", "    longest insert");
    for (unsigned i = 0; i < three.count; i++) {
        printf("%12s %6s", format_seconds(longest[i], time), "");
    }
    printf("\n");
}

static void report_crew(const bench_settings *settings, unsigned number, double seconds)
{
    static crew_numbers numbers;
    char title[80];
    numbers = (crew_numbers){0};
    let_work(settings, number, seconds, &numbers);
    if (crews[number].readers > 0) {
        snprintf(title, sizeof title, "%s: queries", crews[number].title);
        print_rates(title, numbers.reads, 0);
    }
    if (crews[number].writers > 0) {
        snprintf(title, sizeof title, "%s: inserts", crews[number].title);
        print_rates(title, numbers.writes, crews[number].target);
        print_longest(numbers.longest);
    }
    fflush(stdout);
}

static void print_head(double seconds)
{
    printf("\n%-34s%12s %6s%12s %6s%12s %6s\n", "EACH SECOND", "ordinary,", "", "ptable,", "",
           "ptable,", "");
    printf("%-34s%12s %6s%12s %6s%12s %6s\n", "(and times as many as ordinary)", "one file", "",
           "one WAL file", "", "one store", "");
    printf("(%g seconds each, medians of %d; busy_timeout 60 s; autocommit inserts, durable if not "
           "said\notherwise; ! is below the target: as many as into an ordinary table)\n",
           seconds, REPEATS);
}

int main(int argc, char **argv)
{
    bench_settings settings;
    if (load_is_asked(argc, argv)) {
        return load_main(argv);
    }
    settings_read(&settings);
    double seconds = settings_number("SECONDS", 1);
    machine_print(&settings);
    for (unsigned i = 0; i < three.count; i++) {
        load_run(three.sides[i], workload_named("load in key order, 1 durable commit"),
                 settings.folder, settings.extent, false);
    }
    print_head(seconds);
    for (unsigned i = 0; i < ARRAY_SIZE(crews); i++) {
        if (settings_wants(&settings, crews[i].title)) {
            report_crew(&settings, i, seconds);
        }
    }
    return 0;
}
