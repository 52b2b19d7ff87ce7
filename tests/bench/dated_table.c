#include "bench/dated_table.h"

enum { ENTITIES_A_ROW = 10 };

void dated_table_declare(sql_session *session, const char *store, const char *sync)
{
    if (session->ptable) {
        sql_execute(session,
                    "CREATE VIRTUAL TABLE IF NOT EXISTS D USING ptable(Email String, Born DateTime,"
                    " store='%q/store.ptable', sync='%s')",
                    store, sync);
    } else {
        sql_execute(session,
                    "CREATE TABLE IF NOT EXISTS D(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL,"
                    " %s, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID",
                    session->json ? "Properties TEXT" : "Email TEXT, Born TEXT");
    }
}

/* The times are minutes. */
static void fill(sql_session *session, table_extent extent)
{
    const char *values =
        session->json ? "json_object('Email', Email, 'Born', Born)" : "Email, Born";
    const char *columns = session->json ? "Properties" : "Email, Born";
    sql_execute(
        session,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %lld),"
        " d(PartitionKey, RowKey, Email, Born) AS (SELECT printf('part%%06d', i / %u),"
        " printf('row%%07d', i %% %u), printf('user%%08d@contoso.com', i),"
        " strftime('%%Y-%%m-%%dT%%H:%%M:%%S.0000000Z', 1700000000 + i * 7919 %% 1000 * 60,"
        " 'unixepoch') FROM n)"
        " INSERT INTO D(PartitionKey, RowKey, %s) SELECT PartitionKey, RowKey, %s FROM d",
        (long long)(extent_count(extent) / ENTITIES_A_ROW), extent.rows, extent.rows, columns,
        values);
}

static void fill_on(const bench_side *side, const char *folder, table_extent extent)
{
    char path[PATH_SIZE];
    side_folder(side, folder, path);
    folder_make(path);
    sql_session *session =
        side->open(&(side_opening){.folder = path, .durability = DURABLE, .dated = true});
    fill(session, extent);
    sql_close(session);
}

void dated_table_fill(const side_lineup *lineup, const char *folder, table_extent extent)
{
    for (unsigned i = 0; i < lineup->count; i++) {
        fill_on(lineup->sides[i], folder, extent);
    }
}
