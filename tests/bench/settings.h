/*
 * What the user can set, by environment variables (make hands on what stands on its command line):
 *
 *     SCALE=10            rows of a partition, in thousands (1; also 0.01)
 *     PARTITIONS=10       partitions, in thousands (1)
 *     BENCH='point*'      only the rows with such names
 *     DIR=/mnt/disk       where databases and stores are made (build/bench); the file system counts
 *     PRAGMAS='...'       SQL for every ordinary table's connection, as 'PRAGMA cache_size=-400000'
 */
#ifndef TESTS_BENCH_SETTINGS_H
#define TESTS_BENCH_SETTINGS_H

#include "bench/support.h"

/* How many entities, in partitions of one size. */
typedef struct table_extent {
    uint32_t partitions;
    uint32_t rows;
} table_extent;

enum { PARTITIONS_MAX = 900000, ROWS_MAX = 10000000 };

typedef struct bench_settings {
    table_extent extent;
    const char *pattern; /* NULL: all rows */
    const char *pragmas; /* "" if there are none */
    char folder[PATH_SIZE];
} bench_settings;

static inline uint64_t extent_count(table_extent extent)
{
    return (uint64_t)extent.partitions * extent.rows;
}

/* A tenth of the entities, for tables beside the one that has all. */
static inline table_extent extent_tenth(table_extent extent)
{
    const uint32_t tenth = extent.partitions / 10;
    return (table_extent){tenth > 0 ? tenth : 1, extent.rows};
}

/* Reads the variables and makes a folder of its own inside DIR, which exit() removes. */
void settings_read(bench_settings *settings);

const char *settings_pragmas(void);

/* A positive number from the environment. */
double settings_number(const char *name, double otherwise);

/* True if a row of this name is asked for. */
bool settings_wants(const bench_settings *settings, const char *name);

#endif
