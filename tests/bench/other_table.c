#include "bench/other_table.h"

#include "bench/raw_side.h"
#include "bench/sql_side.h"

enum { OTHER_TABLE = 2 };

static const char *const declarations[] = {
    "CREATE TABLE IF NOT EXISTS Other(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL,"
    " FirstName TEXT, LastName TEXT, Email TEXT, Note TEXT, Age INTEGER, Salary REAL,"
    " PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE IF NOT EXISTS Other USING ptable(FirstName String, LastName String,"
    " Email String, Note String, Age Int32, Salary Double, store='%q/store.ptable')",
};

void other_table_declare(const bench_side *side, void *session, const char *folder)
{
    if (side != &side_lmdb) {
        sql_execute(session, declarations[side != &side_ordinary], folder);
    }
}

workload other_table_workload(const char *name)
{
    workload work = *workload_named(name);
    work.access = ACCESS_INSERT;
    work.sql = "INSERT INTO Other VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    return work;
}

void other_table_select(const bench_side *side, void *session, bool other)
{
    if (side == &side_lmdb) {
        ((raw_session *)session)->table = other ? OTHER_TABLE : RAW_TABLE;
    }
}

void raw_delete_together(void *session, const uint8_t *prefix, size_t size)
{
    MDB_txn *txn;
    raw_session *self = session;
    raw_require(mdb_txn_begin(self->env, NULL, 0, &txn));
    raw_delete_prefix(self, txn, prefix, size);
    raw_require(mdb_txn_commit(txn));
}

void other_table_drop(const bench_side *side, void *session)
{
    uint8_t prefix[RAW_KEY_SIZE];
    sample nobody = {0};
    if (side == &side_lmdb) {
        raw_write_partition(prefix, OTHER_TABLE, nobody.partition_key);
        raw_delete_together(session, prefix, RAW_TABLE_SIZE);
    } else if (side == &side_ordinary) {
        sql_execute(session, "DROP TABLE Other");
    } else {
        sql_execute(session, "DELETE FROM pt_tables WHERE Store = (SELECT Store FROM pt_stores)"
                             " AND TableName = 'Other'");
    }
}
