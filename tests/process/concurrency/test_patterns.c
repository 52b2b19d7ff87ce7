/*
 * Design patterns under concurrency: what the scripts of examples say of one process holds when
 * several do the same at once, and whoever reads meanwhile never sees half of it.
 */
#include "process/concurrency/crew.h"

enum {
    LISTED = 40,     /* employees that each member adds to the lists of last names */
    HIRED = 150,     /* employees that each member of a department hires */
    NAMES = 100,     /* that all members want */
    EMAILS = 150,    /* with which all members register */
    ADDITIONS = 200, /* that each member makes to each counter */
    MOVES = 100,     /* of a partition by each member */
    MOVED = 40,      /* entities in it */
};

#define STORE ", store='shared.ptable', sync='off')"

/* Opens a main database that declares the tables, as the members will. */
static sqlite3 *open_first(const char *folder, const char *tables)
{
    sqlite3 *db = open_database(folder, "first.db");
    run(db, "PRAGMA busy_timeout = %d; %s", CREW_PATIENCE_MS, tables);
    return db;
}

/* --- Index entities: a list of ids for each last name, kept by the ETags of what was read --- */

/* A member's copy of what it has read is in Seen. */
#define EMPLOYEES                                                                                  \
    "CREATE VIRTUAL TABLE IF NOT EXISTS Employee USING ptable(LastName String,"                    \
    " EmployeeIDs String, EmployeeCount Int64, batch='azure'" STORE ";"                            \
    "CREATE TEMP TABLE Seen(RowKey TEXT PRIMARY KEY, LastName, EmployeeIDs, EmployeeCount, Tag);"

static int see(member *self, const char *row_key)
{
    return perform(self,
                   "INSERT INTO Seen SELECT RowKey, LastName, EmployeeIDs, EmployeeCount, ETag"
                   " FROM Employee WHERE PartitionKey = 'Sales' AND RowKey = %Q",
                   row_key);
}

static void see_names(member *self)
{
    see(self, "name_Jones");
    see(self, "name_Smith");
}

/* The id goes into a list, which is made if there was none: 409 and 412 tell that there is another
   now. Formats: name, id, name. */
#define ADD_TO_LIST                                                                                \
    "INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, EmployeeIDs, WriteMode, IfMatch)"      \
    " SELECT 'Sales', 'name_%s', coalesce(EmployeeIDs || ',', '') || '%06d',"                      \
    " iif(Tag IS NULL, 'insert', 'merge'), Tag"                                                    \
    " FROM (SELECT 1) LEFT JOIN Seen ON RowKey = 'name_%s';"

/* The id leaves a list, and an empty one goes. Formats: id, name. */
#define REMOVE_FROM_LIST                                                                           \
    "INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, EmployeeIDs, WriteMode, IfMatch)"      \
    " SELECT 'Sales', RowKey, nullif(rest, ''), iif(rest = '', 'delete', 'merge'), Tag FROM"       \
    " (SELECT RowKey, Tag, trim(replace(',' || EmployeeIDs || ',', ',%06d,', ','), ',') AS rest"   \
    " FROM Seen WHERE RowKey = 'name_%s');"

static void add_employee(member *self, int id)
{
    int code;
    do {
        perform(self, "DELETE FROM Seen");
        see_names(self);
        code = perform(self,
                       "BEGIN; INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, LastName)"
                       " VALUES('Sales', 'empid_%06d', 'Jones');" ADD_TO_LIST "COMMIT",
                       id, "Jones", id, "Jones");
    } while (code != SQLITE_OK && in_order(self));
    self->sum.done += code == SQLITE_OK;
}

/* Jones becomes Smith, or Smith Jones, if the employee is there. */
static void rename_employee(member *self, int id)
{
    int code = SQLITE_OK;
    do {
        char row_key[20];
        snprintf(row_key, sizeof row_key, "empid_%06d", id);
        perform(self, "DELETE FROM Seen");
        see(self, row_key);
        see_names(self);
        int64_t is_jones = first_number(
            self->db, "SELECT LastName = 'Jones' FROM Seen WHERE RowKey GLOB 'empid_*'", -1);
        if (is_jones < 0) {
            return;
        }
        const char *from = is_jones ? "Jones" : "Smith";
        const char *to = is_jones ? "Smith" : "Jones";
        code = perform(self,
                       "BEGIN; INSERT OR ROLLBACK INTO Employee"
                       "(PartitionKey, RowKey, LastName, WriteMode, IfMatch)"
                       " SELECT 'Sales', RowKey, %Q, 'merge', Tag FROM Seen"
                       " WHERE RowKey = %Q;" REMOVE_FROM_LIST ADD_TO_LIST "COMMIT",
                       to, row_key, id, from, to, id, to);
    } while (code != SQLITE_OK && in_order(self));
}

/* Adds employees of its own and renames anybody's. */
static void keep_lists(member *self)
{
    for (int i = 0; i < LISTED && in_order(self); i++) {
        add_employee(self, self->number * LISTED + i);
        rename_employee(self, i * 7 % LISTED + (self->number + i) % 3 * LISTED);
        rename_employee(self, i);
    }
}

static void lists_agree_with_the_employees(void **state)
{
    crew all = {0};
    sqlite3 *db = open_first(*state, EMPLOYEES);
    run(db,
        "CREATE TEMP VIEW Told AS SELECT LastName AS name, substr(RowKey, 7) AS id FROM Employee"
        " WHERE PartitionKey = 'Sales' AND RowKey GLOB 'empid_*';"
        "CREATE TEMP VIEW Listed AS SELECT substr(RowKey, 6) AS name, value AS id FROM Employee,"
        " json_each('[\"' || replace(EmployeeIDs, ',', '\",\"') || '\"]')"
        " WHERE PartitionKey = 'Sales' AND RowKey GLOB 'name_*'");
    hire_many(&all, 3, *state, "lists");
    begin_work(&all);
    watch(&all, db, "SELECT 1000 * count(*) + (SELECT count(*) FROM Told) FROM Listed",
          "SELECT 1001 * count(*) FROM (SELECT * FROM Told INTERSECT SELECT * FROM Listed)");
    end_work(&all);
    assert_int_equal(all.sum.done, 3 * LISTED);
    assert_number(db, 3 * LISTED, "SELECT count(DISTINCT id) FROM Listed");
    close_database(db);
}

/* --- A department that knows the number of its employees --- */

/* One transaction for the employee and the number. By members with even numbers with the ETag of
   the department that was read, by others without. */
static void change_staff(member *self, int id, bool comes)
{
    int code;
    const char *way = comes ? "insert" : "delete";
    do {
        if (self->number % 2 == 0) {
            perform(self, "DELETE FROM Seen");
            see(self, "DEPARTMENT_SALES");
            code = perform(self,
                           "BEGIN; INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey,"
                           " WriteMode) VALUES('Sales', 'EMPLOYEE_%06d', %Q);"
                           "INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey, EmployeeCount,"
                           " WriteMode, IfMatch) SELECT 'Sales', RowKey, EmployeeCount + %d,"
                           " 'merge', Tag FROM Seen; COMMIT",
                           id, way, comes ? 1 : -1);
        } else {
            code = perform(self,
                           "BEGIN; INSERT OR ROLLBACK INTO Employee(PartitionKey, RowKey,"
                           " WriteMode) VALUES('Sales', 'EMPLOYEE_%06d', %Q);"
                           "UPDATE OR ROLLBACK Employee SET EmployeeCount = EmployeeCount + %d"
                           " WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES'; COMMIT",
                           id, way, comes ? 1 : -1);
        }
    } while (code != SQLITE_OK && in_order(self));
    self->sum.done += code == SQLITE_OK;
}

/* Of three that come one goes. */
static void keep_staff(member *self)
{
    for (int i = 0; i < HIRED && in_order(self); i++) {
        change_staff(self, self->number * HIRED + i, true);
        if (i % 3 == 2) {
            change_staff(self, self->number * HIRED + i - 1, false);
        }
    }
}

static void the_department_knows_its_number(void **state)
{
    crew all = {0};
    sqlite3 *db = open_first(*state, EMPLOYEES);
    run(db, "INSERT INTO Employee(PartitionKey, RowKey, EmployeeCount)"
            " VALUES('Sales', 'DEPARTMENT_SALES', 0)");
    hire_many(&all, 2, *state, "staff");
    begin_work(&all);
    watch(&all, db,
          "SELECT EmployeeCount FROM Employee"
          " WHERE PartitionKey = 'Sales' AND RowKey = 'DEPARTMENT_SALES'",
          "SELECT count(*) FROM Employee"
          " WHERE PartitionKey = 'Sales' AND pt_starts_with(RowKey, 'EMPLOYEE_')");
    end_work(&all);
    assert_int_equal(all.sum.done, 2 * (HIRED + HIRED / 3));
    assert_int_equal(all.sum.exists + all.sum.missing, 0);
    assert_number(db, 2 * (HIRED - HIRED / 3),
                  "SELECT EmployeeCount FROM Employee"
                  " WHERE RowKey = 'DEPARTMENT_SALES'");
    close_database(db);
}

/* --- Unique names: a row for the user and one that reserves the name --- */

#define USERS                                                                                      \
    "CREATE VIRTUAL TABLE IF NOT EXISTS User USING ptable(NameKey String, IndexedEntityId String," \
    " batch='azure'" STORE ";"

static int register_name(member *self, int id, const char *name)
{
    return perform(self,
                   "BEGIN; INSERT OR ROLLBACK INTO User VALUES('users', 'id-%d', %Q, NULL);"
                   "INSERT OR ROLLBACK INTO User VALUES('users', 'name-%q', NULL, '%d'); COMMIT",
                   id, name, name, id);
}

/* One statement changes the user and the key of the name's row. */
static int rename_user(member *self, int id, const char *name)
{
    return perform(self,
                   "UPDATE User SET"
                   " RowKey = iif(RowKey = 'id-%d', RowKey, 'name-%q'),"
                   " NameKey = iif(RowKey = 'id-%d', %Q, NULL)"
                   " WHERE PartitionKey = 'users' AND RowKey IN ('id-%d', (SELECT"
                   " 'name-' || NameKey FROM User WHERE PartitionKey = 'users'"
                   " AND RowKey = 'id-%d'))",
                   id, name, id, name, id, id);
}

/* All members want the same names, for new users and then for a user of their own. */
static void want_names(member *self)
{
    char name[20];
    for (int i = 0; i < NAMES && in_order(self); i++) {
        snprintf(name, sizeof name, "new%d", i);
        self->sum.done += register_name(self, self->number * NAMES + i, name) == SQLITE_OK;
    }
    snprintf(name, sizeof name, "old%d", self->number);
    register_name(self, 1000 + self->number, name);
    for (int i = 0; i < NAMES && in_order(self); i++) {
        snprintf(name, sizeof name, "prize%d", i);
        rename_user(self, 1000 + self->number, name);
    }
}

static void each_name_has_one_user(void **state)
{
    crew all = {0};
    sqlite3 *db = open_first(*state, USERS);
    hire_many(&all, 4, *state, "names");
    begin_work(&all);
    watch(&all, db, "SELECT count(*) FROM User",
          "SELECT 2 * count(*) FROM User AS id JOIN User AS name ON name.PartitionKey = 'users'"
          " AND name.RowKey = 'name-' || id.NameKey"
          " AND name.IndexedEntityId = substr(id.RowKey, 4)"
          " WHERE id.PartitionKey = 'users' AND id.RowKey GLOB 'id-*'");
    end_work(&all);
    assert_int_equal(all.sum.done, NAMES);
    assert_true(all.sum.exists >= 3 * NAMES);
    assert_int_equal(all.sum.missing + all.sum.changed, 0);
    assert_number(db, 2 * (NAMES + 4), "SELECT count(*) FROM User");
    close_database(db);
}

/* --- Log-ins in a partition of their own, with a cleaner that deletes users who have none --- */

#define ACCOUNTS                                                                                   \
    "CREATE VIRTUAL TABLE IF NOT EXISTS Account USING ptable(Email String, Created DateTime" STORE \
    ";"                                                                                            \
    "CREATE VIRTUAL TABLE IF NOT EXISTS Login USING ptable(EntityId String" STORE ";"

#define LAST_YEAR "2025-12-31"
#define NEW_YEAR "2026-01-01"
#define TODAY "2026-11-21"
#define TOMORROW "2026-11-22"

/* Users without a log-in that are older than the limit. Format: the limit. */
#define CLEAN                                                                                      \
    "DELETE FROM Account WHERE RowKey = 'details' AND Created < pt_datetime(%Q) AND NOT EXISTS"    \
    " (SELECT 1 FROM Login WHERE Login.PartitionKey = lower(Account.Email)"                        \
    " AND Login.RowKey = 'password' AND Login.EntityId = Account.PartitionKey)"

static int store_user(member *self, const char *id, int email, const char *created)
{
    return perform(self,
                   "INSERT INTO Account VALUES(%Q, 'details', 'User%d@contoso.com',"
                   " pt_datetime(%Q))",
                   id, email, created);
}

static int store_login(member *self, const char *id, int email)
{
    return perform(self, "INSERT INTO Login VALUES('user%d@contoso.com', 'password', %Q)", email,
                   id);
}

/* A registration that has taken longer than the limit: the user may have been cleaned away, so the
   log-in comes in one transaction with a look at the user, which makes it young again. */
static int store_late_login(member *self, const char *id, int email)
{
    return perform(self,
                   "BEGIN; INSERT OR ROLLBACK INTO Account(PartitionKey, RowKey, Created,"
                   " WriteMode, IfMatch) VALUES(%Q, 'details', pt_datetime(%Q), 'merge', '*');"
                   "INSERT OR ROLLBACK INTO Login VALUES('user%d@contoso.com', 'password', %Q);"
                   "COMMIT",
                   id, TODAY, email, id);
}

/* Each e-mail address is tried in time, late, and by somebody who gives up before the log-in. */
static void register_users(member *self)
{
    for (int i = 0; i < EMAILS && in_order(self); i++) {
        char id[20];
        int way = (self->number + i) % 3;
        int missing = self->sum.missing;
        snprintf(id, sizeof id, "%d-%d", self->number, i);
        store_user(self, id, i, way == 0 ? TODAY : LAST_YEAR);
        if (way == 0) {
            self->sum.done += store_login(self, id, i) == SQLITE_OK;
        } else if (way == 1) {
            self->sum.done += store_late_login(self, id, i) == SQLITE_OK;
        }
        if (self->sum.missing > missing) {
            store_user(self, id, i, TODAY);
            self->sum.done += store_login(self, id, i) == SQLITE_OK;
        }
    }
}

static void clean_up(member *self)
{
    bool last;
    do {
        last = asked_to_stop();
        if (perform(self, CLEAN, NEW_YEAR) == SQLITE_OK) {
            self->sum.done += sqlite3_changes(self->db);
        }
    } while (!last && in_order(self));
}

static void users_and_logins_go_together(void **state)
{
    crew all = {0};
    crew cleaners = {.first = CREW_MAX};
    sqlite3 *db = open_first(*state, ACCOUNTS);
    hire_many(&all, 3, *state, "registration");
    hire(&cleaners, *state, "cleaner");
    begin_work(&cleaners);
    begin_work(&all);
    watch(&all, db, "SELECT count(*) FROM Login",
          "SELECT count(*) FROM Login JOIN Account"
          " ON Account.PartitionKey = Login.EntityId AND Account.RowKey = 'details'");
    end_work(&all);
    end_work(&cleaners);
    assert_int_equal(all.sum.done, EMAILS);
    assert_number(db, EMAILS, "SELECT count(*) FROM Login");
    assert_true(cleaners.sum.done >= EMAILS); /* the rest gave up, or came too late */
    assert_number(db, 0,
                  "SELECT count(*) FROM Account WHERE Created < pt_datetime(%Q)"
                  " AND PartitionKey NOT IN (SELECT EntityId FROM Login)",
                  NEW_YEAR);
    run(db, CLEAN, TOMORROW);
    assert_number(db, EMAILS, "SELECT count(*) FROM Account");
    close_database(db);
}

/* --- Counters --- */

#define COUNTERS "CREATE VIRTUAL TABLE IF NOT EXISTS Counter USING ptable(N Int64" STORE ";"

/* In place, from nothing, in a shard, and as a number that is taken. */
static void count_views(member *self)
{
    for (int i = 0; i < ADDITIONS && in_order(self); i++) {
        perform(self, "UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'home' AND RowKey = 'a'");
        perform(self, "INSERT INTO Counter(PartitionKey, RowKey, N, WriteMode)"
                      " SELECT 'about', 'a', 1 + coalesce((SELECT N FROM Counter"
                      " WHERE PartitionKey = 'about' AND RowKey = 'a'), 0), 'merge'");
        perform(self, "UPDATE Counter SET N = N + 1 WHERE PartitionKey = 'votes' AND RowKey = '%d'",
                self->number % 2);
        perform(self, "BEGIN; UPDATE Counter SET N = N + 1"
                      " WHERE PartitionKey = 'invoice' AND RowKey = 'a';"
                      "INSERT OR ROLLBACK INTO Counter(PartitionKey, RowKey)"
                      " SELECT 'number', N FROM Counter"
                      " WHERE PartitionKey = 'invoice' AND RowKey = 'a'; COMMIT");
    }
}

static void no_addition_is_lost(void **state)
{
    crew all = {0};
    sqlite3 *db = open_first(*state, COUNTERS);
    run(db, "INSERT INTO Counter VALUES('home', 'a', 0), ('votes', '0', 0), ('votes', '1', 0),"
            " ('invoice', 'a', 0)");
    hire_many(&all, 3, *state, "counter");
    begin_work(&all);
    watch(&all, db, "SELECT N FROM Counter WHERE PartitionKey = 'invoice'",
          "SELECT count(*) FROM Counter WHERE PartitionKey = 'number'");
    end_work(&all);
    assert_int_equal(all.sum.exists, 0);
    assert_number(db, 3 * ADDITIONS, "SELECT N FROM Counter WHERE PartitionKey = 'home'");
    assert_number(db, 3 * ADDITIONS, "SELECT N FROM Counter WHERE PartitionKey = 'about'");
    assert_number(db, 3 * ADDITIONS, "SELECT sum(N) FROM Counter WHERE PartitionKey = 'votes'");
    assert_number(db, 3 * ADDITIONS, "SELECT count(*) FROM Counter WHERE PartitionKey = 'number'");
    close_database(db);
}

/* --- A partition that moves --- */

#define STAFF "CREATE VIRTUAL TABLE IF NOT EXISTS Staff USING ptable(V Int64" STORE ";"

/* There and back, by a change of keys and by copy and delete. */
static void move_partition(member *self)
{
    for (int i = 0; i < MOVES && in_order(self); i++) {
        const char *from = i % 2 == 0 ? "Sales" : "Retail";
        const char *to = i % 2 == 0 ? "Retail" : "Sales";
        if (i % 4 < 2) {
            perform(self, "UPDATE Staff SET PartitionKey = %Q WHERE PartitionKey = %Q", to, from);
        } else {
            perform(self,
                    "BEGIN; INSERT OR ROLLBACK INTO Staff(PartitionKey, RowKey, Properties)"
                    " SELECT %Q, RowKey, Properties FROM Staff WHERE PartitionKey = %Q;"
                    "DELETE FROM Staff WHERE PartitionKey = %Q; COMMIT",
                    to, from, from);
        }
    }
}

static void a_partition_moves_at_one_moment(void **state)
{
    crew all = {0};
    sqlite3 *db = open_first(*state, STAFF);
    run(db,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
        " INSERT INTO Staff SELECT 'Sales', i, i FROM n",
        MOVED);
    hire_many(&all, 2, *state, "mover");
    begin_work(&all);
    char rest[100];
    snprintf(rest, sizeof rest, "SELECT %d - count(*) FROM Staff WHERE PartitionKey = 'Retail'",
             MOVED);
    watch(&all, db, "SELECT count(*) FROM Staff WHERE PartitionKey = 'Sales'", rest);
    end_work(&all);
    assert_number(db, 1, "SELECT count(DISTINCT PartitionKey) FROM Staff");
    assert_number(db, MOVED * (MOVED + 1) / 2, "SELECT sum(V) FROM Staff");
    close_database(db);
}

static const job jobs[] = {
    {"lists", EMPLOYEES, keep_lists}, {"staff", EMPLOYEES, keep_staff},
    {"names", USERS, want_names},     {"registration", ACCOUNTS, register_users},
    {"cleaner", ACCOUNTS, clean_up},  {"counter", COUNTERS, count_views},
    {"mover", STAFF, move_partition},
};

int main(int argc, char **argv)
{
    if (is_member(argc, argv)) {
        return be_member(argv, jobs, sizeof jobs / sizeof jobs[0]);
    }
    const struct CMUnitTest tests[] = {
        folder_test(lists_agree_with_the_employees),
        folder_test(the_department_knows_its_number),
        folder_test(each_name_has_one_user),
        folder_test(users_and_logins_go_together),
        folder_test(no_addition_is_lost),
        folder_test(a_partition_moves_at_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
