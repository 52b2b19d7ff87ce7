#include "bench/logged_sides.h"

#include <stdlib.h>
#include <unistd.h>

#include "bench/sql_side.h"

enum {
    COMMITS_FOR_LOG = 20, /* in quick succession; more than a few begin one */
    COMMITS_IN_LOG = 990, /* a log of 1,000 is written to the store's file */
};

/* Replaces entities by themselves, so that all sides keep the same. */
static const workload replacing = {
    .name = "commits to a log",
    .keys = KEYS_SHUFFLED,
    .sql = "INSERT OR REPLACE INTO E VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    .parameters = "PRflenas",
    .writes = true,
    .loads = true,
};

/*
 * The file of every side is compacted, so that all read pages in the same order. Then another table
 * is written: in one transaction, or in small ones that begin a log, and at last in one that is too
 * large for a log, so that it leaves it empty.
 */
static sql_session *open_compacted(const side_opening *opening, bool with_log)
{
    char folder[PATH_SIZE];
    side_opening unsynced = *opening;
    unsynced.durability = NO_PROMISE;
    sql_session *session = side_ptable_memory.open(&unsynced);
    require(realpath(opening->folder, folder) != NULL, "a folder of the benchmark is gone");
    sql_execute(session, "SELECT pt_compact('%q/store.ptable')", folder);
    sql_execute(
        session,
        "CREATE VIRTUAL TABLE IF NOT EXISTS L USING ptable(Note String, store='%q/store.ptable',"
        " sync='off')",
        folder);
    sql_execute(session, with_log ? "" : "BEGIN");
    for (unsigned i = 0; i < COMMITS_FOR_LOG; i++) {
        sql_execute(session, "INSERT OR REPLACE INTO L VALUES('p', 'r', 'small')");
    }
    sql_execute(session, "INSERT OR REPLACE INTO L VALUES('p', 'r', printf('%%.*c', 100000, 'x'))");
    sql_execute(session, with_log ? "" : "COMMIT");
    return session;
}

static void fill_log(sql_session *session, table_extent extent)
{
    checksum written = {0};
    sql_run(session, &(job){.work = &replacing, .extent = extent, .operations = COMMITS_IN_LOG},
            &written);
    require(written.rows == COMMITS_IN_LOG, "a side beside a log has not written all rows");
}

static void require_log(const side_opening *opening, bool expected)
{
    char path[PATH_SIZE];
    path_join(path, opening->folder, "store.ptable-log");
    require((access(path, F_OK) == 0) == expected,
            expected ? "a ptable has begun no log" : "a ptable has begun a log");
}

static void *open_without_log(const side_opening *opening)
{
    sql_session *session = open_compacted(opening, false);
    require_log(opening, false);
    return session;
}

static void *open_with_empty_log(const side_opening *opening)
{
    sql_session *session = open_compacted(opening, true);
    require_log(opening, true);
    return session;
}

static void *open_with_full_log(const side_opening *opening)
{
    sql_session *session = open_compacted(opening, true);
    fill_log(session, opening->extent);
    require_log(opening, true);
    return session;
}

static const bench_side without_log = {
    .name = "ptable",
    .host = "nolog",
    .title = "no log",
    .target = TARGETS,
    .open = open_without_log,
    .close = sql_close,
    .run = sql_run,
};

static const bench_side with_empty_log = {
    .name = "ptable",
    .host = "empty",
    .title = "empty log",
    .target = TARGET_EMPTY_LOG,
    .open = open_with_empty_log,
    .close = sql_close,
    .run = sql_run,
};

static const bench_side with_full_log = {
    .name = "ptable",
    .host = "full",
    .title = "1,000 in it",
    .target = TARGET_FULL_LOG,
    .open = open_with_full_log,
    .close = sql_close,
    .run = sql_run,
};

static const bench_side *const logged[] = {&without_log, &with_empty_log, &with_full_log,
                                           &side_ordinary};

const side_lineup lineup_logged = {logged, ARRAY_SIZE(logged)};

void logged_sides_fill(const char *folder, table_extent extent)
{
    const workload *load = workload_named("load in key order, 1 durable commit");
    for (unsigned i = 0; i < lineup_logged.count; i++) {
        char path[PATH_SIZE];
        checksum written = {0};
        const bench_side *side = logged[i] == &side_ordinary ? logged[i] : &side_ptable_memory;
        side_folder(logged[i], folder, path);
        folder_make(path);
        void *session = side->open(&(side_opening){.folder = path, .durability = DURABLE});
        job task = {.work = load, .extent = extent, .operations = extent_count(extent)};
        side->run(session, &task, &written);
        side->close(session);
    }
}
