#include "bench/freelist.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench/commits.h"
#include "bench/format.h"
#include "bench/other_table.h"
#include "bench/raw_side.h"
#include "bench/sql_side.h"

enum {
    MILLIONS = 10,
    SLICE = 1000000, /* entities of a transaction that loads */
    ROWS = 1000,
    FEW_COMMITS = 20, /* ahead of a deletion: each gives LMDB an id for a short record */
    COMMITS = 100,
    YOUNGEST = 18,
};

#define LOAD "load in key order, 1 durable commit"

typedef struct trial {
    const bench_side *side;
    void *session;
    void *reader; /* a second session, or the first one of LMDB; NULL: nobody reads */
    char folder[PATH_SIZE];
    char text[40];
    commit_run commits;
} trial;

/* --- Loading --- */

static void load_slices(trial *self, uint64_t entities)
{
    static workload into_other; /* sessions keep statements by their workload */
    into_other = other_table_workload(LOAD);
    job task = {.work = &into_other, .extent = {(uint32_t)(entities / ROWS), ROWS}};
    for (task.first = 0; task.first < entities; task.first += task.operations) {
        checksum written = {0};
        uint64_t left = entities - task.first;
        task.operations = left < SLICE ? left : SLICE;
        self->side->run(self->session, &task, &written);
        require(written.rows == task.operations, "a load has not written all rows");
    }
}

static void *open_session(const trial *self)
{
    void *session =
        self->side->open(&(side_opening){.folder = self->folder, .durability = DURABLE});
    other_table_declare(self->side, session, self->folder);
    return session;
}

static void set_up(trial *self, const char *folder, uint64_t entities)
{
    static workload small;
    char path[PATH_SIZE];
    side_folder(self->side, folder, path);
    folder_remove(path);
    folder_make(path);
    require(realpath(path, self->folder) != NULL, "a folder of the benchmark is gone");
    self->session = open_session(self);
    other_table_select(self->side, self->session, true);
    load_slices(self, entities);
    folder_settle(self->folder);
    small = other_table_workload(COMMIT_WORK);
    self->commits =
        (commit_run){self->side, self->session, &small, {(uint32_t)(entities / ROWS), ROWS}, 0};
}

/* --- A reader --- */

static void begin_reader(trial *self)
{
    if (self->side == &side_lmdb) {
        raw_session *raw = self->session;
        raw_require(mdb_txn_renew(raw->reading));
        self->reader = raw;
        return;
    }
    self->reader = open_session(self);
    sql_execute(self->reader, "BEGIN");
    free(sql_text(self->reader, "SELECT count(*) FROM (SELECT 1 FROM Other LIMIT 1)"));
}

static void end_reader(trial *self)
{
    if (self->side == &side_lmdb) {
        mdb_txn_reset(((raw_session *)self->session)->reading);
    } else {
        sql_execute(self->reader, "COMMIT");
        self->side->close(self->reader);
    }
    self->reader = NULL;
}

/* --- What is done, and the commits behind it --- */

static void do_nothing(trial *self)
{
    (void)self;
}

static uint64_t delete_rows(trial *self, int age)
{
    if (self->side == &side_lmdb) {
        return raw_delete_aged(self->session, age);
    }
    sql_execute(self->session, "DELETE FROM Other WHERE Age = %d", age);
    return (uint64_t)sqlite3_changes64(((sql_session *)self->session)->db);
}

/* The sides have the same rows, so each finds as many as the first one did. */
static void delete_aged(trial *self, int age)
{
    static uint64_t found[YOUNGEST + 2];
    uint64_t deleted = delete_rows(self, age);
    found[age] = self->side == &side_ordinary ? deleted : found[age];
    require(deleted == found[age], "the sides have not deleted the same rows");
}

static void delete_youngest(trial *self)
{
    delete_aged(self, YOUNGEST);
}

/* One commit behind the deletion, so that the reader holds what came after it. */
static void delete_next(trial *self)
{
    delete_aged(self, YOUNGEST + 1);
    commit_often(&self->commits, 1);
    begin_reader(self);
}

static void drop(trial *self)
{
    other_table_drop(self->side, self->session);
    other_table_select(self->side, self->session, false);
    self->commits.work = workload_named(COMMIT_WORK);
}

/* Commits until nothing is left of the dropped table. */
static void collect(trial *self)
{
    bool left = true;
    uint32_t before = self->commits.commits;
    while (left) {
        commit_often(&self->commits, COMMITS);
        char *dropped = sql_text(self->session, "SELECT Dropped FROM pt_stores");
        left = dropped[0] != '0';
        free(dropped);
    }
    snprintf(self->text, sizeof self->text, "%u commits later", self->commits.commits - before);
}

typedef struct trial_step {
    const char *name;
    void (*act)(trial *self);
    unsigned commits;
    bool of_ptable; /* only there something is left to do */
} trial_step;

static const trial_step steps[] = {
    {"(nothing yet)", do_nothing, FEW_COMMITS, false},
    {"one row of 50", delete_youngest, FEW_COMMITS, false},
    {"again, then a reader", delete_next, COMMITS, false},
    {"(the reader gone)", do_nothing, COMMITS, false},
    {"the table", drop, COMMITS, false},
    {"", collect, COMMITS, true},
};

/* Of this process: unlike the time that a commit takes, it hardly depends on the disk. */
static double processor_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void report_step(trial *self, const trial_step *step)
{
    char time[FORMAT_SIZE], median[FORMAT_SIZE], most[FORMAT_SIZE], work[FORMAT_SIZE];
    char grown[FORMAT_SIZE];
    double start = now();
    step->act(self);
    double acted = now();
    uint64_t size = folder_size(self->folder);
    double before = processor_seconds();
    summary times = commit_often(&self->commits, step->commits);
    double worked = (processor_seconds() - before) / step->commits;
    double more = (double)folder_size(self->folder) - (double)size;
    printf("%-17s%-22s%10s%12s%12s%12s%14s\n", step == steps ? self->side->title : "",
           step->name[0] != 0 ? step->name : self->text,
           step->act == do_nothing ? "-" : format_seconds(acted - start, time),
           format_seconds(times.median, median), format_seconds(times.most, most),
           format_seconds(worked, work), format_megabytes(more, grown));
    fflush(stdout);
    if (self->reader != NULL) {
        end_reader(self);
    }
}

static void try_side(const bench_side *side, const char *folder, uint64_t entities)
{
    char size[FORMAT_SIZE];
    trial self = {.side = side};
    set_up(&self, folder, entities);
    double bytes = (double)folder_size(self.folder);
    for (unsigned i = 0; i < ARRAY_SIZE(steps); i++) {
        if (!steps[i].of_ptable || side == &side_ptable_memory) {
            report_step(&self, &steps[i]);
        }
    }
    printf("    %s of files when loaded", format_megabytes(bytes, size));
    printf(", %s at the end\n", format_megabytes((double)folder_size(self.folder), size));
    side->close(self.session);
    folder_remove(self.folder);
}

void freelist_measure(const side_lineup *lineup, const char *folder)
{
    char count[FORMAT_SIZE];
    uint64_t entities = (uint64_t)(settings_number("FREELIST", MILLIONS) * SLICE);
    entities -= entities % ROWS;
    require(entities >= ROWS && entities / ROWS <= PARTITIONS_MAX,
            "FREELIST is at least 0.001 and at most 900");
    printf("\n%-17s%-22s%10s%12s%12s%12s%14s\n", "A LONG FREELIST", "deleted", "it takes",
           "commit,", "commit,", "commit,", "file grows");
    printf("%-17s%-22s%10s%12s%12s%12s%14s\n", "", "", "", "median", "longest", "processor",
           "meanwhile");
    for (unsigned i = 0; i < lineup->count; i++) {
        try_side(lineup->sides[i], folder, entities);
    }
    printf(
        "\nIn a table of %s entities, loaded in transactions of 1,000,000: what is deleted, in one"
        " statement or\none transaction of LMDB, and the small durable commits behind it: %d ahead"
        " of the first deletion and behind it,\nas each mends LMDB's list a little, and %d"
        " behind the others. The reader is open during those commits and sees the\nsecond"
        " deletion. A ptable that is dropped is given back in slices by the commits that"
        " follow.\n",
        format_count(entities, count), FEW_COMMITS, COMMITS);
}
