/*
 * Several processes and indexes: one makes and drops them while others read and write, plans meet
 * indexes that another process has dropped, and values that are unique stay so.
 */
#include "fixtures/pair.h"
#include "process/concurrency/crew.h"

enum {
    CLAIMED = 150,  /* names that all members claim */
    TAKEN = 60,     /* that each takes from whoever has them */
    ENTITIES = 240, /* of the table whose indexes come and go */
    BUILDS = 25,
    SHIFTS = 60,
    READS = 60,
};

#define STORE ", store='shared.ptable', sync='off')"
#define IN_STORE "Store = 'shared.ptable' AND TableName = 't'"

/* --- Two processes, one step after the other --- */

static int set_up(void **state)
{
    return begin_pair(state, "CREATE VIRTUAL TABLE t USING ptable(Name String, V Int32" STORE,
                      "INSERT INTO t VALUES('p', 'a', 'x', 3), ('p', 'b', 'y', 2),"
                      " ('q', 'c', 'z', 1), ('q', 'd', NULL, 2)");
}

static int tear_down(void **state)
{
    const pair *both = *state;
    assert_number(both->db, 1, "SELECT pt_check('shared.ptable') = 'ok'");
    return end_pair(state);
}

#define pair_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define MAKE_INDEX(columns, unique)                                                                \
    "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES ('shared.ptable', 't', "   \
    "'" columns "', " unique ")"
#define DROP_INDEX(columns)                                                                        \
    "DELETE FROM pt_indexes WHERE " IN_STORE " AND IndexName = '" columns "'"

static sqlite3_stmt *prepare_in(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    return statement;
}

/* The statement's texts in a row: "a,b,". */
static void expect_rows(sqlite3_stmt *statement, const char *expected)
{
    char rows[100] = "";
    int code;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t size = strlen(rows);
        snprintf(rows + size, sizeof rows - size, "%s,", sqlite3_column_text(statement, 0));
    }
    assert_int_equal(code, SQLITE_DONE);
    assert_string_equal(rows, expected);
    sqlite3_reset(statement);
}

static void plans_outlive_their_index(void **state)
{
    pair *both = *state;
    run(both->db, MAKE_INDEX("V,Name", "0"));
    sqlite3_stmt *ordered =
        prepare_in(both->db, "SELECT RowKey FROM t WHERE V > 1 ORDER BY V DESC, Name DESC");
    sqlite3_stmt *found = prepare_in(both->db, "SELECT RowKey FROM t WHERE V = 2 ORDER BY RowKey");
    expect_rows(ordered, "a,b,d,");
    peer_run(&both->other, DROP_INDEX("V,Name"));
    expect_rows(ordered, "a,b,d,");
    expect_rows(found, "b,d,");
    peer_run(&both->other, "UPDATE t SET V = 9 WHERE RowKey = 'd'");
    expect_rows(ordered, "d,a,b,");
    peer_run(&both->other, MAKE_INDEX("V,Name", "0"));
    expect_rows(ordered, "d,a,b,");
    peer_run(&both->other, "UPDATE t SET V = 2 WHERE RowKey = 'd'");
    expect_rows(ordered, "a,b,d,");
    expect_rows(found, "b,d,");
    peer_run(&both->other, DROP_INDEX("V,Name") "; " MAKE_INDEX(
                               "V", "0") "; "
                                         "UPDATE t SET V = 5 WHERE RowKey = 'c'");
    expect_rows(ordered, "c,a,b,d,");
    sqlite3_finalize(ordered);
    sqlite3_finalize(found);
}

/* The table is dropped and made, with another id, as are its indexes. */
static void plans_outlive_their_table(void **state)
{
    pair *both = *state;
    run(both->db, MAKE_INDEX("V", "0"));
    sqlite3_stmt *found = prepare_in(both->db, "SELECT RowKey FROM t WHERE V = 2");
    expect_rows(found, "b,d,");
    peer_run(&both->other, "DELETE FROM pt_tables WHERE " IN_STORE);
    assert_int_equal(sqlite3_step(found), SQLITE_ERROR);
    says(both->db, "(TableNotFound)");
    sqlite3_reset(found);
    peer_run(&both->other, "INSERT INTO pt_tables(Store, TableName) VALUES ('shared.ptable', 't')");
    expect_rows(found, "");
    peer_run(&both->other, MAKE_INDEX("Name", "0") "; " MAKE_INDEX(
                               "V", "0") "; "
                                         "INSERT INTO t VALUES('p', 'n', 'x', 2)");
    expect_rows(found, "n,");
    sqlite3_finalize(found);
}

/* A statement that has begun, and a transaction, read what was there then. */
static void readers_keep_what_they_began_with(void **state)
{
    pair *both = *state;
    run(both->db, MAKE_INDEX("V", "0"));
    sqlite3_stmt *found = prepare_in(both->db, "SELECT RowKey FROM t WHERE V >= 1 ORDER BY V");
    assert_int_equal(sqlite3_step(found), SQLITE_ROW);
    peer_run(&both->other, DROP_INDEX("V") "; DELETE FROM t; " MAKE_INDEX("V", "1"));
    expect_rows(found, "b,d,a,");
    run(both->db, "BEGIN");
    expect_rows(found, "");
    peer_run(&both->other, "INSERT INTO t VALUES('p', 'n', 'x', 2)");
    expect_rows(found, "");
    peer_run(&both->other, DROP_INDEX("V"));
    expect_rows(found, "");
    assert_number(both->db, 1, "SELECT count(*) FROM pt_indexes WHERE " IN_STORE);
    run(both->db, "COMMIT");
    expect_rows(found, "n,");
    sqlite3_finalize(found);
}

static void a_builder_is_a_writer(void **state)
{
    pair *both = *state;
    run(both->db, "BEGIN; INSERT INTO t VALUES('p', 'e', 'x', 7)");
    peer_fails(&both->other, SQLITE_BUSY, MAKE_INDEX("Name", "1"));
    run(both->db, "ROLLBACK; BEGIN; " MAKE_INDEX("Name", "1"));
    peer_fails(&both->other, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'e', 'x', 7)");
    peer_run(&both->other, "SELECT RowKey FROM t WHERE Name = 'x'");
    run(both->db, "COMMIT");
    peer_fails(&both->other, SQLITE_CONSTRAINT_UNIQUE, "INSERT INTO t VALUES('p', 'e', 'x', 7)");
    peer_says(&both->other, "already has Name 'x', which is unique");
}

static void what_another_has_committed_is_unique(void **state)
{
    pair *both = *state;
    run(both->db, MAKE_INDEX("Name", "1"));
    peer_run(&both->other, "BEGIN; INSERT INTO t VALUES('p', 'e', 'new', 7)");
    fails(both->db, SQLITE_BUSY, "INSERT INTO t VALUES('p', 'f', 'new', 7)");
    peer_run(&both->other, "COMMIT");
    fails(both->db, SQLITE_CONSTRAINT_UNIQUE, "INSERT INTO t VALUES('p', 'f', 'new', 7)");
    run(both->db, "BEGIN; SELECT * FROM t");
    peer_run(&both->other, "DELETE FROM t WHERE Name = 'new'; "
                           "INSERT INTO t VALUES('p', 'g', 'newer', 7)");
    fails(both->db, SQLITE_BUSY_SNAPSHOT, "INSERT INTO t VALUES('p', 'f', 'newer', 7)");
    run(both->db, "ROLLBACK");
    run(both->db, "INSERT INTO t VALUES('p', 'f', 'new', 7)");
    peer_fails(&both->other, SQLITE_CONSTRAINT_UNIQUE, "UPDATE t SET Name = 'new' WHERE V = 1");
}

static void a_declared_index_must_be_there_to_write(void **state)
{
    pair *both = *state;
    run(both->db, "CREATE VIRTUAL TABLE d USING ptable(Name String, index(Name), table=t" STORE);
    run(both->db, "INSERT INTO d VALUES('p', 'h', 'h')");
    peer_run(&both->other, "INSERT INTO t VALUES('p', 'i', 'h', 1)");
    assert_number(both->db, 2, "SELECT count(*) FROM d WHERE Name = 'h'");
    peer_run(&both->other, DROP_INDEX("Name"));
    fails(both->db, SQLITE_ERROR, "INSERT INTO d VALUES('p', 'j', 'h')");
    says(both->db, "INSERT INTO pt_indexes(");
    assert_number(both->db, 2, "SELECT count(*) FROM d WHERE Name = 'h'");
    peer_run(&both->other, "INSERT INTO t VALUES('p', 'k', 'h', 1); " MAKE_INDEX("Name", "0"));
    run(both->db, "UPDATE d SET Name = 'h' WHERE RowKey = 'h'");
    assert_number(both->db, 3, "SELECT count(*) FROM d WHERE Name = 'h'");
}

/* --- Many at once --- */

#define CLAIMS                                                                                     \
    "CREATE VIRTUAL TABLE IF NOT EXISTS c USING ptable(Name String, Who Int32, unique(Name), "     \
    "index(Who, Name)" STORE

/* Everybody wants all names. */
static void claim_names(member *self)
{
    for (int i = 0; i < CLAIMED && in_order(self); i++) {
        int name = (i * 7 + self->number * 31) % CLAIMED;
        int code = code_of(self->db, "INSERT INTO c VALUES('m%d', '%d', 'name %d', %d)",
                           self->number, i, name, self->number);
        if (code == SQLITE_CONSTRAINT_UNIQUE) {
            self->sum.exists++;
        } else if (code != SQLITE_OK) {
            note_failure(self, code);
        } else {
            self->sum.done++;
        }
    }
}

static void take_names(member *self)
{
    for (int i = 0; i < TAKEN && in_order(self); i++) {
        perform(self, "UPDATE OR REPLACE c SET Name = 'name %d' WHERE Who = %d AND RowKey = '%d'",
                (i * 11 + self->number) % CLAIMED, self->number, i);
        self->sum.done++;
    }
}

#define SHIFTED "CREATE VIRTUAL TABLE IF NOT EXISTS b USING ptable(V Int32, Name String" STORE

static void build_indexes(member *self)
{
    for (int i = 0; i < BUILDS && in_order(self); i++) {
        const char *columns = i % 3 == 0 ? "V,Name" : i % 3 == 1 ? "V" : "Name,V";
        perform(self,
                "INSERT INTO pt_indexes(Store, TableName, Columns, IsUnique) VALUES "
                "('shared.ptable', 'b', '%s', %d)",
                columns, i % 3 != 1);
        perform(self, "DELETE FROM pt_indexes WHERE Store = 'shared.ptable' AND IndexName = '%s'",
                columns);
        self->sum.done++;
    }
}

/* In each statement the values change places. */
static void shift_values(member *self)
{
    for (int i = 0; i < SHIFTS && in_order(self); i++) {
        perform(self, "BEGIN; UPDATE b SET V = (V + 1) %% 20 WHERE V >= 0 AND V < %d; COMMIT",
                i % 20 + 1);
        self->sum.done++;
    }
}

/* Goes by a statement that was prepared at first, whatever becomes of the indexes. */
static void read_in_order(member *self)
{
    sqlite3_stmt *rows = NULL;
    int code = sqlite3_prepare_v2(self->db, "SELECT V FROM b WHERE V >= 0 ORDER BY V, Name", -1,
                                  &rows, NULL);
    for (int i = 0; i < READS && code == SQLITE_OK; i++) {
        int count = 0;
        int last = 0;
        while ((code = sqlite3_step(rows)) == SQLITE_ROW && sqlite3_column_int(rows, 0) >= last) {
            last = sqlite3_column_int(rows, 0);
            count++;
        }
        bool right = code == SQLITE_DONE && count == ENTITIES;
        code = right ? sqlite3_reset(rows) : code == SQLITE_DONE ? SQLITE_MISMATCH : code;
        self->sum.done += right;
    }
    sqlite3_finalize(rows);
    if (code != SQLITE_OK) {
        note_failure(self, code);
    }
}

static const job jobs[] = {
    {"claim", CLAIMS, claim_names},    {"take", CLAIMS, take_names},
    {"build", SHIFTED, build_indexes}, {"shift", SHIFTED, shift_values},
    {"read", SHIFTED, read_in_order},
};

enum { JOBS = sizeof jobs / sizeof jobs[0] };

static sqlite3 *open_first(const char *folder, const char *tables)
{
    sqlite3 *db = open_database(folder, "first.db");
    run(db, "PRAGMA busy_timeout = %d; %s", CREW_PATIENCE_MS, tables);
    return db;
}

static void names_are_claimed_once(void **state)
{
    crew all = {.count = 0};
    crew takers = {.count = 0};
    sqlite3 *db = open_first(*state, CLAIMS);
    hire_many(&all, 3, *state, "claim");
    begin_work(&all);
    watch(&all, db, "SELECT count(*) FROM c WHERE Name >= ''",
          "SELECT count(DISTINCT Name) FROM c");
    end_work(&all);
    assert_int_equal(all.sum.done, CLAIMED);
    assert_int_equal(all.sum.exists, 2 * CLAIMED);
    assert_number(db, CLAIMED, "SELECT count(*) FROM c");
    hire_many(&takers, 3, *state, "take");
    begin_work(&takers);
    watch(&takers, db, "SELECT count(*) FROM c WHERE Name >= ''",
          "SELECT count(DISTINCT Name) FROM c");
    end_work(&takers);
    assert_number(db, 0,
                  "SELECT count(*) FROM c AS a JOIN c AS b ON a.Name = b.Name AND "
                  "a.EntityKey <> b.EntityKey");
    assert_number(db, 1, "SELECT pt_check('shared.ptable') = 'ok'");
    close_database(db);
}

static void indexes_come_and_go_while_others_work(void **state)
{
    crew all = {.count = 0};
    sqlite3 *db = open_first(*state, SHIFTED);
    run(db,
        "INSERT INTO b WITH RECURSIVE n(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM n WHERE k "
        "< %d) SELECT 'p' || k %% 3, k, k %% 20, 'name ' || k FROM n",
        ENTITIES - 1);
    hire(&all, *state, "build");
    hire(&all, *state, "shift");
    hire_many(&all, 2, *state, "read");
    begin_work(&all);
    watch(&all, db, "SELECT count(*) FROM b WHERE V >= 0", "SELECT count(*) FROM b");
    end_work(&all);
    assert_int_equal(all.sum.done, BUILDS + SHIFTS + 2 * READS);
    assert_number(db, 1, "SELECT pt_check('shared.ptable') = 'ok'");
    close_database(db);
}

/* Expiry that another process switches on and off, also under a transaction and older plans. */
static void others_see_what_has_expired(void **state)
{
    pair *both = *state;
    run(both->db, "INSERT INTO t(PartitionKey, RowKey, Properties) VALUES ('r', 'e', "
                  "json_object('Name', 'y', 'Due', '2020-01-01T00:00:00Z', 'Due@odata.type', "
                  "'Edm.DateTime'))");
    sqlite3_stmt *all = prepare_in(both->db, "SELECT RowKey FROM t WHERE V IS NULL");
    sqlite3_stmt *keys = prepare_in(both->db, "SELECT RowKey FROM t ORDER BY PartitionKey, RowKey");
    expect_rows(all, "e,");
    run(both->db, "BEGIN");
    expect_rows(keys, "a,b,c,d,e,");
    peer_run(&both->other, "UPDATE pt_tables SET Expires = 'Due' WHERE " IN_STORE);
    expect_rows(keys, "a,b,c,d,e,");
    run(both->db, "COMMIT");
    expect_rows(keys, "a,b,c,d,");
    expect_rows(all, "");
    fails(both->db, SQLITE_ERROR, DROP_INDEX("Due"));
    peer_run(&both->other, "UPDATE pt_tables SET Expires = NULL WHERE " IN_STORE);
    expect_rows(keys, "a,b,c,d,e,");
    peer_run(&both->other, "UPDATE pt_tables SET Expires = 'Due' WHERE " IN_STORE);
    run(both->db, "INSERT INTO t(PartitionKey, RowKey, V) VALUES ('r', 'e', 5)");
    peer_run(&both->other, "UPDATE pt_tables SET Expires = NULL WHERE " IN_STORE);
    expect_rows(keys, "a,b,c,d,e,");
    assert_number(both->db, 5, "SELECT V FROM t WHERE RowKey = 'e' AND Name IS NULL");
    sqlite3_finalize(all);
    sqlite3_finalize(keys);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    if (is_member(argc, argv)) {
        return be_member(argv, jobs, JOBS);
    }
    const struct CMUnitTest tests[] = {
        pair_test(plans_outlive_their_index),
        pair_test(plans_outlive_their_table),
        pair_test(readers_keep_what_they_began_with),
        pair_test(a_builder_is_a_writer),
        pair_test(what_another_has_committed_is_unique),
        pair_test(a_declared_index_must_be_there_to_write),
        pair_test(others_see_what_has_expired),
        cmocka_unit_test_setup_teardown(names_are_claimed_once, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(indexes_come_and_go_while_others_work, make_folder,
                                        remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
