/*
 * A ptable with declared columns, in a store on disk, from either kind of main database.
 */
#include <stdlib.h>

#include "bench/dated_table.h"
#include "bench/followed_table.h"
#include "bench/indexed_table.h"

static const char *const sync_options[] = {
    [DURABLE] = "full", [LOSES_LAST] = "normal", [NO_PROMISE] = "off", [ORDINARY_SAFER] = "off"};

static void declare(sql_session *session, const side_opening *opening)
{
    char folder[PATH_SIZE];
    require(realpath(opening->folder, folder) != NULL, "a folder of the benchmark is gone");
    session->ptable = true;
    sql_execute(session,
                "CREATE VIRTUAL TABLE IF NOT EXISTS E USING ptable(FirstName String,"
                " LastName String, Email String, Note String, Age Int32, Salary Double,"
                " store='%q/store.ptable', sync='%s')",
                folder, sync_options[opening->durability]);
    if (opening->dated) {
        dated_table_declare(session, folder, sync_options[opening->durability]);
    }
    if (opening->followed) {
        followed_table_declare(session, folder, sync_options[opening->durability]);
    }
    indexed_table_declare(session, opening->indexes, folder, sync_options[opening->durability]);
    /* Opens the store, which stays open from then on. */
    free(sql_text(session, "SELECT count(*) FROM (SELECT 1 FROM E LIMIT 1)"));
}

static void *open_in_memory(const side_opening *opening)
{
    sql_session *session = sql_open(opening, ":memory:");
    declare(session, opening);
    return session;
}

/* A declaration has one mode of durability, so each has a database. */
static void *open_in_wal(const side_opening *opening)
{
    char name[40];
    sqlite3_snprintf(sizeof name, name, "main-%s.db", sync_options[opening->durability]);
    sql_session *session = sql_open_ordinary(opening, name);
    declare(session, opening);
    return session;
}

const bench_side side_ptable_memory = {
    .name = "ptable",
    .host = "memory",
    .title = "ptable :memory:",
    .target = TARGET_MEMORY,
    .load_runs = LOAD_RUNS_MAX,
    .open = open_in_memory,
    .close = sql_close,
    .run = sql_run,
};

const bench_side side_ptable_wal = {
    .name = "ptable",
    .host = "wal",
    .title = "ptable WAL",
    .target = TARGET_WAL,
    .load_runs = LOAD_RUNS_MAX,
    .open = open_in_wal,
    .close = sql_close,
    .run = sql_run,
};
