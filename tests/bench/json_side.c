/*
 * The usual way to have no schema: an ordinary table with the properties as JSON.
 */
#include "bench/dated_table.h"
#include "bench/followed_table.h"
#include "bench/indexed_table.h"

static void *open_json(const side_opening *opening)
{
    sql_session *session = sql_open_ordinary(opening, "json.db");
    session->json = true;
    sql_execute(session, "CREATE TABLE IF NOT EXISTS E(PartitionKey TEXT NOT NULL,"
                         " RowKey TEXT NOT NULL, Properties TEXT,"
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

const bench_side side_json = {
    .name = "json",
    .host = "wal",
    .title = "JSON ->>",
    .target = TARGETS,
    .load_runs = 1, /* the slowest by far, and nothing hangs on it */
    .open = open_json,
    .close = sql_close,
    .run = sql_run,
};
