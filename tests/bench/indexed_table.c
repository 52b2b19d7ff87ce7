#include "bench/indexed_table.h"

static void declare_ordinary(sql_session *session, unsigned indexes)
{
    const char *email = session->json ? "Properties ->> 'Email'" : "Email";
    const char *team = session->json ? "Properties ->> 'Team'" : "Team";
    const char *age = session->json ? "Properties ->> 'Age'" : "Age";
    sql_execute(session,
                "CREATE TABLE IF NOT EXISTS I(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL, %s,"
                " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;"
                "CREATE UNIQUE INDEX IF NOT EXISTS OfEmail ON I(%s)",
                session->json ? "Properties TEXT" : "Email TEXT, Team TEXT, Age INTEGER, Note TEXT",
                email);
    if (indexes > 1) {
        sql_execute(session,
                    "CREATE INDEX IF NOT EXISTS OfTeam ON I(%s);"
                    "CREATE INDEX IF NOT EXISTS OfAge ON I(%s)",
                    team, age);
    }
}

void indexed_table_declare(sql_session *session, unsigned indexes, const char *store,
                           const char *sync)
{
    if (indexes == 0) {
        return;
    }
    if (!session->ptable) {
        declare_ordinary(session, indexes);
        return;
    }
    sql_execute(session,
                "CREATE VIRTUAL TABLE IF NOT EXISTS I USING ptable(Email String, Team String,"
                " Age Int32, Note String, unique(Email)%s, store='%q/store.ptable', sync='%s')",
                indexes > 1 ? ", index(Team), index(Age)" : "", store, sync);
}
