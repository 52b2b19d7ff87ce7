/*
 * What a user would have instead: an ordinary table with the primary key of a ptable and typed
 * columns, in a file in WAL mode.
 */
#include "bench/dated_table.h"
#include "bench/followed_table.h"
#include "bench/indexed_table.h"

static void *open_ordinary(const side_opening *opening)
{
    sql_session *session = sql_open_ordinary(opening, "ordinary.db");
    sql_execute(session, "CREATE TABLE IF NOT EXISTS E(PartitionKey TEXT NOT NULL,"
                         " RowKey TEXT NOT NULL, FirstName TEXT, LastName TEXT, Email TEXT,"
                         " Note TEXT, Age INTEGER, Salary REAL,"
                         " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID");
    if (opening->dated) {
        dated_table_declare(session, NULL, NULL);
    }
    if (opening->followed) {
        followed_table_declare(session, NULL, NULL);
    }
    indexed_table_declare(session, opening->indexes, NULL, NULL);
    sql_analyze(session, opening->analyzed);
    return session;
}

const bench_side side_ordinary = {
    .name = "ordinary",
    .host = "wal",
    .title = "ordinary",
    .target = TARGETS,
    .load_runs = LOAD_RUNS_MAX,
    .open = open_ordinary,
    .close = sql_close,
    .run = sql_run,
};
