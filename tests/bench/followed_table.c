#include "bench/followed_table.h"

#define KEYS_NOT_NULL "PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL"

/* Notes the last change of each key. */
#define TRIGGER(name, event, row, deleted)                                                         \
    "CREATE TRIGGER IF NOT EXISTS " name " AFTER " event " ON C BEGIN INSERT OR REPLACE INTO "     \
    "Changed(PartitionKey, RowKey, Deleted) VALUES(" row ".PartitionKey, " row ".RowKey, " deleted \
    "); END;"

static void declare_with_triggers(sql_session *session)
{
    sql_execute(session,
                "CREATE TABLE IF NOT EXISTS C(" KEYS_NOT_NULL ", %s,"
                " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID;"
                "CREATE TABLE IF NOT EXISTS Changed(Number INTEGER PRIMARY KEY "
                "AUTOINCREMENT, " KEYS_NOT_NULL ", Deleted INTEGER, UNIQUE(PartitionKey, RowKey))",
                session->json ? "Properties TEXT" : "Age INTEGER, Email TEXT, Note TEXT");
    sql_execute(session, TRIGGER("Inserted", "INSERT", "new", "0"));
    sql_execute(session, TRIGGER("Updated", "UPDATE", "new", "0"));
    sql_execute(session, TRIGGER("Gone", "DELETE", "old", "1"));
}

void followed_table_declare(sql_session *session, const char *store, const char *sync)
{
    if (!session->ptable) {
        declare_with_triggers(session);
        return;
    }
    sql_execute(session,
                "CREATE VIRTUAL TABLE IF NOT EXISTS C USING ptable(Age Int32, Email String,"
                " Note String, changes=on, store='%q/store.ptable', sync='%s')",
                store, sync);
}
