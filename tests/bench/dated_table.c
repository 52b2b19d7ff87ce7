#include "bench/dated_table.h"

static void declare(sql_session *session, const char *table, const char *store, const char *sync,
                    const char *options)
{
    if (session->ptable) {
        sql_execute(session,
                    "CREATE VIRTUAL TABLE IF NOT EXISTS %s USING ptable(Email String, Born "
                    "DateTime%s, store='%q/store.ptable', sync='%s')",
                    table, options, store, sync);
    } else {
        sql_execute(session,
                    "CREATE TABLE IF NOT EXISTS %s(PartitionKey TEXT NOT NULL, RowKey TEXT NOT "
                    "NULL, %s, PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID",
                    table, session->json ? "Properties TEXT" : "Email TEXT, Born TEXT");
    }
}

void dated_table_declare(sql_session *session, const char *store, const char *sync)
{
    declare(session, "D", store, sync, "");
    declare(session, "X", store, sync, ", expires=Born");
}

#define MINUTES                                                                                    \
    "strftime('%Y-%m-%dT%H:%M:%S.0000000Z', 1700000000 + i * 7919 % 1000 * 60, 'unixepoch')"
#define OVER_OR_NOT "iif(i * 7919 % 1000 < 500, '1999', '2999') || '-01-01T00:00:00.0000000Z'"

static void fill(sql_session *session, const char *table, const char *time, table_extent extent)
{
    const char *values =
        session->json ? "json_object('Email', Email, 'Born', Born)" : "Email, Born";
    const char *columns = session->json ? "Properties" : "Email, Born";
    sql_execute(
        session,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %lld),"
        " d(PartitionKey, RowKey, Email, Born) AS (SELECT printf('part%%06d', i / %u),"
        " printf('row%%07d', i %% %u), printf('user%%08d@contoso.com', i), %s FROM n)"
        " INSERT INTO %s(PartitionKey, RowKey, %s) SELECT PartitionKey, RowKey, %s FROM d",
        (long long)extent_count(extent), extent.rows, extent.rows, time, table, columns, values);
}

static void fill_on(const bench_side *side, const char *folder, table_extent extent)
{
    char path[PATH_SIZE];
    side_folder(side, folder, path);
    folder_make(path);
    sql_session *session =
        side->open(&(side_opening){.folder = path, .durability = DURABLE, .dated = true});
    fill(session, "D", MINUTES, extent_tenth(extent));
    fill(session, "X", OVER_OR_NOT, extent_tenth(extent));
    sql_close(session);
}

void dated_table_fill(const side_lineup *lineup, const char *folder, table_extent extent)
{
    for (unsigned i = 0; i < lineup->count; i++) {
        fill_on(lineup->sides[i], folder, extent);
    }
}
