/*
 * make bench-growth: what becomes slower as a store grows, and what deleting does to the commits
 * that come after it. BENCH=growth or BENCH=deleting does one of them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "format.h"
#include "load.h"
#include "machine.h"
#include "raw_side.h"
#include "sql_side.h"

#define LOAD "load in key order, 1 durable commit"
#define COMMIT "autocommit insert, durable"

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
    {COMMIT, "durable commit of 1 insert", false},
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
        uint64_t each = growing[i].each_row ? result.rows / RUNS : result.operations;
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

enum { COMMITS = 1000, LARGE = 1000000, SMALL = 1000, OTHER_TABLE = 2, LARGE_PARTITION = 950000 };

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
    uint32_t commits;
} deleting;

static const char *const other_declaration[] = {
    "CREATE TABLE Other(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, FirstName TEXT,"
    " LastName TEXT, Email TEXT, Note TEXT, Age INTEGER, Salary REAL,"
    " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE Other USING ptable(FirstName String, LastName String, Email String,"
    " Note String, Age Int32, Salary Double, store='%q/store.ptable')",
};

static void declare_other(deleting *self, const char *folder)
{
    if (self->side == &side_lmdb) {
        ((raw_session *)self->session)->table = OTHER_TABLE;
    } else {
        sql_execute(self->session, other_declaration[self->side != &side_ordinary], folder);
    }
}

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
    into_partition = into_other = *workload_named(LOAD);
    into_partition.access = into_other.access = ACCESS_INSERT;
    into_other.sql = "INSERT INTO Other VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    load_part(self, &into_partition, (table_extent){1, self->large}, LARGE_PARTITION);
    declare_other(self, folder);
    load_part(self, &into_other, (table_extent){(self->large + SMALL - 1) / SMALL, SMALL}, 0);
    if (self->side == &side_lmdb) {
        ((raw_session *)self->session)->table = RAW_TABLE;
    }
}

/* All keys with the prefix, in one transaction. */
static void delete_from_lmdb(raw_session *session, const uint8_t *prefix, size_t size)
{
    MDB_txn *txn;
    raw_require(mdb_txn_begin(session->env, NULL, 0, &txn));
    raw_delete_prefix(session, txn, prefix, size);
    raw_require(mdb_txn_commit(txn));
}

static void delete_table(deleting *self)
{
    uint8_t prefix[RAW_KEY_SIZE];
    sample nobody = {0};
    if (self->side == &side_lmdb) {
        raw_write_partition(prefix, OTHER_TABLE, nobody.partition_key);
        delete_from_lmdb(self->session, prefix, RAW_TABLE_SIZE);
    } else if (self->side == &side_ordinary) {
        sql_execute(self->session, "DROP TABLE Other");
    } else {
        sql_execute(self->session, "DELETE FROM pt_tables WHERE Store = (SELECT Store FROM"
                                   " pt_stores) AND TableName = 'Other'");
    }
}

static void delete_partition(deleting *self, uint32_t partition)
{
    sample entity;
    uint8_t prefix[RAW_KEY_SIZE];
    data_set_keys(&entity, partition, "row", 0);
    if (self->side == &side_lmdb) {
        size_t size = raw_write_partition(prefix, RAW_TABLE, entity.partition_key);
        delete_from_lmdb(self->session, prefix, size);
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
        delete_table(self);
    }
}

/* The times of small durable commits. */
static summary commit_often(deleting *self, table_extent extent)
{
    static double seconds[COMMITS];
    job task = {.work = workload_named(COMMIT), .extent = extent, .operations = 1};
    for (uint32_t i = 0; i < COMMITS; i++) {
        checksum written = {0};
        task.run = self->commits++;
        double start = now();
        self->side->run(self->session, &task, &written);
        seconds[i] = now() - start;
    }
    return summarize(seconds, COMMITS);
}

static void report_part(deleting *self, table_extent extent, doomed part)
{
    static const char *const names[DOOMED_COUNT] = {"(nothing yet)", "a partition of 1,000",
                                                    "a large partition", "a large table"};
    char time[FORMAT_SIZE], median[FORMAT_SIZE], most[FORMAT_SIZE];
    double start = now();
    delete_part(self, part);
    double deleted = now() - start;
    summary commits = commit_often(self, extent);
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
    self.session = side->open(&(side_opening){folder, DURABLE, false});
    load_doomed(&self, absolute);
    for (doomed part = 0; part < DOOMED_COUNT; part++) {
        report_part(&self, extent, part);
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
           " one transaction; the others\nas one SQL statement. Every commit is durable.\n",
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
    return 0;
}
