#include "bench/report.h"

#include <inttypes.h>
#include <string.h>

#include "bench/format.h"

enum { NAME_WIDTH = 43, CELL_WIDTH = 16 };

static bool is_measured(const measurement *result, unsigned side)
{
    return result->times[side].median > 0;
}

double report_ratio(const measurement *result, unsigned side)
{
    return result->times[0].median / result->times[side].median;
}

static double target_of(const bench_side *side, const workload *work)
{
    return side->target < TARGETS ? work->targets[side->target] : 0;
}

/* --- The table --- */

void report_head(const side_lineup *lineup, const char *title)
{
    printf("\n%-*s%9s%9s", NAME_WIDTH, title, "times", "rows");
    for (unsigned i = 0; i < lineup->count; i++) {
        printf("%*s", CELL_WIDTH, lineup->sides[i]->title);
    }
    printf("   target\n");
}

/* A ratio below its target has a mark. */
static void print_cell(double seconds, double ratio, double target)
{
    char time[FORMAT_SIZE], text[FORMAT_SIZE];
    printf("%9s %5s%c", format_seconds(seconds, time), format_ratio(ratio, text),
           ratio < target ? '!' : ' ');
}

static void print_targets(const workload *work)
{
    char memory[FORMAT_SIZE], wal[FORMAT_SIZE];
    if (work->targets[TARGET_MEMORY] != 0) {
        printf("   %s / %s", format_ratio(work->targets[TARGET_MEMORY], memory),
               format_ratio(work->targets[TARGET_WAL], wal));
    }
}

/* Of single operations, the median or the longest. */
static double single_of(const measurement *result, unsigned side, bool longest)
{
    return longest ? result->singles[side].most : result->singles[side].median;
}

static void print_singles(const side_lineup *lineup, const measurement *result, bool longest)
{
    printf("%-*s%18s", NAME_WIDTH, longest ? "  the longest one" : "  median of single ones", "");
    for (unsigned i = 0; i < lineup->count && is_measured(result, i); i++) {
        double seconds = single_of(result, i, longest);
        print_cell(seconds, single_of(result, 0, longest) / seconds,
                   longest ? 0 : target_of(lineup->sides[i], result->work));
    }
    printf("\n");
}

void report_row(const side_lineup *lineup, const measurement *result)
{
    char operations[FORMAT_SIZE], rows[FORMAT_SIZE];
    uint64_t all = result->operations * result->runs;
    printf("%-*s%9s%9s", NAME_WIDTH, result->work->name,
           format_count(result->operations, operations),
           format_count((result->rows + all / 2) / all, rows));
    for (unsigned i = 0; i < lineup->count; i++) {
        if (is_measured(result, i)) {
            print_cell(result->times[i].median / (double)result->operations,
                       report_ratio(result, i), target_of(lineup->sides[i], result->work));
        } else {
            printf("%*s", CELL_WIDTH, "");
        }
    }
    print_targets(result->work);
    printf("\n");
    if (result->work->singles) {
        print_singles(lineup, result, false);
        print_singles(lineup, result, true);
    }
    fflush(stdout);
}

void report_bytes(const side_lineup *lineup, const char *name, const double *bytes, double target)
{
    char text[FORMAT_SIZE];
    printf("%-*s%18s", NAME_WIDTH, name, "");
    for (unsigned i = 0; i < lineup->count; i++) {
        bool missed = target != 0 && lineup->sides[i]->target < TARGETS && bytes[i] > target;
        printf("%*s%c", CELL_WIDTH - 1, format_megabytes(bytes[i], text), missed ? '!' : ' ');
    }
    printf(target != 0 ? "   %s\n" : "\n", format_megabytes(target, text));
    fflush(stdout);
}

/* --- CSV --- */

FILE *report_csv_open(const char *path)
{
    FILE *csv = fopen(path, "w");
    if (csv == NULL) {
        fail("%s cannot be written", path);
    }
    fputs("name,host,side,operations,median,least,most,ratio,target\n", csv);
    return csv;
}

/* Times are of one operation. */
static void print_csv_singles(FILE *csv, const side_lineup *lineup, const measurement *result,
                              bool longest)
{
    for (unsigned i = 0; i < lineup->count && is_measured(result, i); i++) {
        const bench_side *side = lineup->sides[i];
        double seconds = single_of(result, i, longest);
        fprintf(csv, "\"%s, %s\",%s,%s,1,%.9f,%.9f,%.9f,%.4f,\n", result->work->name,
                longest ? "the longest" : "median of single ones", side->host, side->name, seconds,
                result->singles[i].least, result->singles[i].most,
                single_of(result, 0, longest) / seconds);
    }
}

/* Names have no quotes. */
void report_csv_row(FILE *csv, const side_lineup *lineup, const measurement *result)
{
    for (unsigned i = 0; i < lineup->count && is_measured(result, i); i++) {
        const bench_side *side = lineup->sides[i];
        summary times = result->times[i];
        double target = target_of(side, result->work);
        fprintf(csv, "\"%s\",%s,%s,%" PRIu64 ",%.9f,%.9f,%.9f,%.4f,", result->work->name,
                side->host, side->name, result->operations, times.median, times.least, times.most,
                report_ratio(result, i));
        if (target != 0) {
            fprintf(csv, "%g", target);
        }
        fputc('\n', csv);
    }
    if (result->work->singles) {
        print_csv_singles(csv, lineup, result, false);
        print_csv_singles(csv, lineup, result, true);
    }
}
