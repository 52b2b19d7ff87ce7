/*
 * Interrupting: sqlite3_interrupt from another thread, and a progress handler, end each kind of
 * long statement soon, leave nothing half-done and the connection usable.
 *
 * The progress handler is called at every instruction of SQLite, those of the small statement among
 * them that our loops ask with (interruption.h). So its calls number the moments at which a
 * statement can be told to stop, and a statement that is interrupted at one must not come to many
 * more: that is "soon", without a clock.
 *
 * N: moments of each statement, ENTITIES: in each of the tables.
 */
#include <pthread.h>

#include "faults/system_calls.h"
#include "fixtures/folder.h"

enum {
    DEFAULT_MOMENTS = 1,
    DEFAULT_ENTITIES = 100000,
    FEW_ENTITIES = 20000, /* of some questions */
    MESSAGES = 30000,
    ENTITIES_BETWEEN_QUESTIONS = 8192, /* interruption.h */
    INSTRUCTIONS_OF_A_QUESTION = 1000, /* at least */
    LAST_INSTRUCTIONS = 150 /* that may follow the moment: SQLite looks only when it jumps */
};

typedef struct statement {
    const char *sql;
    int64_t silent; /* entries that it passes while SQLite hears nothing of it */
    bool writes;
} statement;

typedef struct interrupting {
    sqlite3 *db;
    int64_t entities;
    int64_t calls; /* of the progress handler */
    int64_t last;  /* the call that ends the statement; 0: no call */
    bool by_thread;
    int64_t moments; /* of all statements */
    int64_t most_late;
} interrupting;

static void *interrupt(void *db)
{
    sqlite3_interrupt(db);
    return NULL;
}

/* What a thread does at any moment, it does here at this one. */
static int progress(void *context)
{
    interrupting *self = context;
    self->calls++;
    if (self->calls != self->last) {
        return 0;
    }
    pthread_t thread;
    if (self->by_thread && pthread_create(&thread, NULL, interrupt, self->db) == 0) {
        pthread_join(thread, NULL);
    }
    return !self->by_thread;
}

/* --- A statement --- */

static int perform(interrupting *self, const char *sql, int64_t last, bool by_thread)
{
    self->calls = 0;
    self->last = last;
    self->by_thread = by_thread;
    sqlite3_progress_handler(self->db, 1, progress, self);
    int code = code_of(self->db, "%s", sql);
    sqlite3_progress_handler(self->db, 0, NULL, NULL);
    return code;
}

/* Statements of ours that are left would keep the application from closing its connection. */
static void assert_no_statement_is_left(sqlite3 *db)
{
    assert_null(sqlite3_next_stmt(db, NULL));
}

static void interrupt_at(interrupting *self, const statement *one, int64_t last, bool by_thread)
{
    bool in_transaction = sqlite3_get_autocommit(self->db) == 0;
    int code = perform(self, one->sql, last, by_thread);
    int64_t late = self->calls - last;
    if (code != SQLITE_INTERRUPT || late > LAST_INSTRUCTIONS) {
        print_error("%s\nat instruction %lld: %d (%s), %lld instructions later\n", one->sql,
                    (long long)last, code, sqlite3_errmsg(self->db), (long long)late);
        fail();
    }
    says(self->db, "interrupted");
    assert_int_equal(sqlite3_get_autocommit(self->db) == 0, in_transaction && !one->writes);
    assert_no_statement_is_left(self->db);
    self->most_late = late > self->most_late ? late : self->most_late;
    self->moments++;
}

/* How many moments a statement has, none of which ends it. What it writes is taken back. */
static int64_t moments_of(interrupting *self, const statement *one)
{
    if (one->writes) {
        run(self->db, "SAVEPOINT whole");
    }
    if (perform(self, one->sql, 0, false) != SQLITE_OK) {
        print_error("%s: %s\n", one->sql, sqlite3_errmsg(self->db));
        fail();
    }
    int64_t calls = self->calls;
    if (one->writes) {
        run(self->db, "ROLLBACK TO whole; RELEASE whole");
    }
    assert_no_statement_is_left(self->db);
    return calls;
}

static void assert_asks_often(const statement *one, int64_t calls)
{
    int64_t questions = one->silent / ENTITIES_BETWEEN_QUESTIONS;
    if (calls < questions * INSTRUCTIONS_OF_A_QUESTION) {
        print_error("%s\nhas %lld moments to end it in %lld entries\n", one->sql, (long long)calls,
                    (long long)one->silent);
        fail();
    }
}

static void interrupt_often(interrupting *self, const statement *one, int64_t calls,
                            void (*before)(sqlite3 *db), void (*after)(sqlite3 *db))
{
    int64_t moments = setting("N", DEFAULT_MOMENTS);
    int64_t most = calls - LAST_INSTRUCTIONS; /* a statement that is nearly done may finish */
    for (int64_t i = 1; i <= moments; i++) {
        for (int by_thread = 0; by_thread <= 1; by_thread++) {
            before(self->db);
            interrupt_at(self, one, most * i / (moments + 1) + 1, by_thread);
            after(self->db);
        }
    }
}

static void nothing(sqlite3 *db)
{
    (void)db;
}

static void is_as_before(sqlite3 *db)
{
    assert_number(db, 1, "SELECT V FROM t WHERE PartitionKey = 'p' AND RowKey = '0000001'");
}

/* --- The data --- */

#define NUMBERS "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %lld)"

/* t: one partition; s: as many partitions as entities. */
static void fill(interrupting *self)
{
    run(self->db,
        "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off');"
        "CREATE VIRTUAL TABLE s USING ptable(V Int32, sync='off');" NUMBERS
        "INSERT INTO t SELECT 'p', printf('%%07d', k), k FROM n;" NUMBERS
        "INSERT INTO s SELECT printf('%%07d', k), 'r', k FROM n",
        (sqlite3_int64)self->entities, (sqlite3_int64)self->entities);
}

static interrupting begin(const char *folder)
{
    interrupting self = {.db = open_database(folder, "main.db"),
                         .entities = setting("ENTITIES", DEFAULT_ENTITIES)};
    return self;
}

static void end(interrupting *self, const char *what)
{
    print_message("# %s: %lld interruptions, the latest was noticed %lld instructions later\n",
                  what, (long long)self->moments, (long long)self->most_late);
    close_database(self->db);
}

/* --- Reading --- */

/* What SQLite itself does before is to collect the keys. */
static void searches_for_many_partitions_can_be_interrupted(void **state)
{
    const statement search = {
        "SELECT * FROM pt_partitions('s') WHERE PartitionKey IN (WITH RECURSIVE n(k) AS (SELECT 1 "
        "UNION ALL SELECT k + 1 FROM n WHERE k < 20000) SELECT 'none' || k FROM n)",
        20000, false};
    interrupting self = begin(*state);
    self.entities = FEW_ENTITIES;
    fill(&self);
    int64_t calls = moments_of(&self, &search);
    interrupt_at(&self, &search, calls - INSTRUCTIONS_OF_A_QUESTION, true);
    end(&self, "searches");
}

static void long_reads_can_be_interrupted(void **state)
{
    interrupting self = begin(*state);
    const int64_t all = self.entities;
    const statement reads[] = {
        {"SELECT * FROM t('V eq -1')", all, false},
        {"SELECT * FROM t('V eq -1') ORDER BY PartitionKey DESC, RowKey DESC", all, false},
        {"SELECT * FROM s('V eq -1')", all, false},
        {"SELECT * FROM t WHERE PartitionKey = 'p' AND Filter MATCH 'V eq -1'", all, false},
        {"SELECT * FROM t WHERE V = -1", all, false},
        {"SELECT * FROM s WHERE V < 0 ORDER BY PartitionKey DESC", all, false},
        {"SELECT * FROM s WHERE RowKey = 'none'", all, false},
        {"SELECT * FROM s WHERE RowKey IN ('a', 'z') ORDER BY PartitionKey DESC", all, false},
        {"SELECT * FROM pt_properties('t')", all, false},
        {"SELECT * FROM pt_partitions('t')", all, false},
        {"SELECT pt_check()", all * 2, false},
        {"SELECT count(*) FROM t", 0, false},
        {"SELECT sum(V) FROM s", 0, false},
        {"SELECT count(*) FROM pt_partitions('s')", 0, false},
    };
    fill(&self);
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        int64_t calls = moments_of(&self, &reads[i]);
        assert_asks_often(&reads[i], calls);
        interrupt_often(&self, &reads[i], calls, nothing, is_as_before);
    }
    end(&self, "reads");
}

/* The transaction goes on, with what it has written. */
static void reads_beside_pending_writes_can_be_interrupted(void **state)
{
    interrupting self = begin(*state);
    const int64_t all = self.entities;
    const statement reads[] = {
        {"SELECT count(*) FROM t", all, false},
        {"SELECT * FROM t ORDER BY PartitionKey DESC, RowKey DESC LIMIT 1", all, false},
        {"SELECT Entities FROM pt_tables WHERE TableName = 't'", all, false},
    };
    fill(&self);
    run(self.db, "BEGIN; DELETE FROM t");
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        perform(&self, reads[i].sql, 0, false);
        assert_asks_often(&reads[i], self.calls);
        interrupt_often(&self, &reads[i], self.calls, nothing, nothing);
    }
    assert_number(self.db, 0, "SELECT count(*) FROM t");
    run(self.db, "ROLLBACK");
    assert_number(self.db, all, "SELECT count(*) FROM t");
    end(&self, "reads beside pending writes");
}

/* As applications ask for a time-out: by far more instructions than one. */
static int stop(void *context)
{
    return ++*(int *)context > 0;
}

/* Each at its first question: the search, and pt_check. */
static void expect_handler_to_stop(sqlite3 *db, const char *search)
{
    enum { INSTRUCTIONS = 1000 };
    int calls = 0;
    sqlite3_progress_handler(db, INSTRUCTIONS, stop, &calls);
    fails(db, SQLITE_INTERRUPT, "%s", search);
    assert_int_equal(calls, 1);
    fails(db, SQLITE_INTERRUPT, "SELECT pt_check()");
    assert_int_equal(calls, 2);
    sqlite3_progress_handler(db, 0, NULL, NULL);
}

static void a_progress_handler_ends_a_search_that_finds_nothing(void **state)
{
    interrupting self = begin(*state);
    self.entities = FEW_ENTITIES;
    fill(&self);
    expect_handler_to_stop(self.db, "SELECT * FROM t('V eq -1')");
    close_database(self.db);
}

/* Nothing but what these searches themselves need. */
static int allow_searches(void *context, int action, const char *first, const char *second,
                          const char *schema, const char *trigger)
{
    (void)context;
    (void)schema;
    (void)trigger;
    bool of_table = action == SQLITE_READ && (strcmp(first, "t") == 0);
    bool of_check = action == SQLITE_FUNCTION && strcmp(second, "pt_check") == 0;
    return action == SQLITE_SELECT || of_table || of_check ? SQLITE_OK : SQLITE_DENY;
}

/* Those that SQLite recommends for SQL that is not trusted, and less. */
static void set_low_limits(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100000);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1000);
    sqlite3_limit(db, SQLITE_LIMIT_COLUMN, 10);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 5);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 1);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 1000);
    sqlite3_limit(db, SQLITE_LIMIT_FUNCTION_ARG, 1);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_VARIABLE_NUMBER, 1);
}

static void little_need_be_allowed_to_interrupt(void **state)
{
    interrupting self = begin(*state);
    self.entities = FEW_ENTITIES;
    fill(&self);
    sqlite3_set_authorizer(self.db, allow_searches, NULL);
    set_low_limits(self.db);
    expect_handler_to_stop(self.db, "SELECT V FROM t('V eq -1')");
    sqlite3_set_authorizer(self.db, NULL, NULL);
    close_database(self.db);
}

/* --- Writing --- */

static void is_unchanged(sqlite3 *db)
{
    assert_number(db, setting("ENTITIES", DEFAULT_ENTITIES),
                  "SELECT sum(V = CAST(RowKey AS INT)) FROM t");
}

static void begin_transaction(sqlite3 *db)
{
    run(db, "BEGIN; INSERT INTO t VALUES('q', 'new', 0)");
}

/* As SQLite has it for its own tables: the whole transaction is rolled back. */
static void an_interrupted_write_changes_nothing(void **state)
{
    interrupting self = begin(*state);
    const int64_t all = self.entities;
    const statement writes[] = {
        {"UPDATE t SET V = V + 1 WHERE Filter MATCH 'V eq -1'", all, true},
        {"DELETE FROM s WHERE RowKey = 'none'", all, true},
        {"UPDATE t SET V = V + 1", 0, true},
        {"INSERT INTO t SELECT 'copy', RowKey, V FROM t", 0, true},
    };
    fill(&self);
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        int64_t calls = moments_of(&self, &writes[i]);
        assert_asks_often(&writes[i], calls);
        interrupt_often(&self, &writes[i], calls, i % 2 == 0 ? nothing : begin_transaction,
                        is_unchanged);
    }
    sqlite3 *other = open_database(*state, "main.db");
    run(other, "UPDATE t SET V = 0 WHERE PartitionKey = 'p' AND RowKey = '0000001'");
    close_database(other);
    end(&self, "writes");
}

/* --- Queues --- */

static void expects_all_messages(sqlite3 *db)
{
    assert_number(db, MESSAGES, "SELECT count(*) FROM q WHERE DequeueCount = 1");
    assert_number(db, 0, "SELECT count(*) FROM pt_tables WHERE TableName = 'q-poison'");
}

static void setting_poison_messages_aside_can_be_interrupted(void **state)
{
    const statement get = {"SELECT * FROM pt_queue_get('q')", MESSAGES, true};
    interrupting self = begin(*state);
    run(self.db, "CREATE VIRTUAL TABLE q USING pt_queue(sync='off', max_dequeue_count=1)");
    int64_t otherwise = moments_of(&self, &get); /* what there is in it besides messages */
    run(self.db,
        NUMBERS
        "INSERT INTO q(Body) SELECT CAST(k AS TEXT) FROM n; SELECT count(*) FROM pt_queue_get('q', "
        "%d, 0.0000001)",
        (sqlite3_int64)MESSAGES, MESSAGES);
    expects_all_messages(self.db);
    int64_t calls = moments_of(&self, &get);
    assert_asks_often(&get, calls - otherwise);
    /* The SAVEPOINT in which they were counted has added some. */
    interrupt_often(&self, &get, calls / 3 * 2, nothing, expects_all_messages);
    end(&self, "a queue");
}

static void expired_messages_do_not_keep_a_reader(void **state)
{
    const statement read = {"SELECT * FROM q", MESSAGES, false};
    interrupting self = begin(*state);
    run(self.db,
        "CREATE VIRTUAL TABLE q USING pt_queue(sync='off');" NUMBERS
        "INSERT INTO q(Body, TimeToLive) SELECT CAST(k AS TEXT), 0.0000001 FROM n",
        (sqlite3_int64)MESSAGES);
    int64_t calls = moments_of(&self, &read);
    assert_asks_often(&read, calls);
    interrupt_often(&self, &read, calls, nothing, nothing);
    end(&self, "expired messages");
}

/* --- Looking after stores --- */

static const char *store_folder;

static void has_no_backup(sqlite3 *db)
{
    is_as_before(db);
    assert_int_equal(files_like(store_folder, "backup*"), 0);
    assert_int_equal(unfinished_files(store_folder), 0);
}

static void backup_and_compact_can_be_interrupted(void **state)
{
    enum { COPIES_INTERRUPTED = 4 };
    const statement backup = {"SELECT pt_backup(NULL, 'backup')", 0, false};
    const statement compact = {"SELECT pt_compact()", 0, false};
    char path[PATH_SIZE];
    interrupting self = begin(*state);
    const statement check = {"SELECT pt_check()", 2 * self.entities, false};
    store_folder = *state;
    fill(&self);
    int64_t checking = moments_of(&self, &check);
    int64_t calls = moments_of(&self, &backup);
    path_in(*state, "backup", path);
    assert_true(calls > checking);
    assert_int_equal(unlink(path), 0);
    interrupt_often(&self, &backup, calls, nothing, has_no_backup);
    for (int64_t at = checking + 1; at < calls - LAST_INSTRUCTIONS;
         at += (calls - checking) / COPIES_INTERRUPTED) {
        interrupt_at(&self, &backup, at, true); /* while it copies */
        has_no_backup(self.db);
    }
    int64_t size = size_of(*state, "main.db-ptable");
    interrupt_often(&self, &compact, calls, nothing, has_no_backup);
    for (int64_t at = checking + 1; at < calls - LAST_INSTRUCTIONS;
         at += (calls - checking) / COPIES_INTERRUPTED) {
        interrupt_at(&self, &compact, at, true);
        has_no_backup(self.db);
    }
    assert_int_equal(size_of(*state, "main.db-ptable"), size);
    run(self.db, "%s", compact.sql);
    is_unchanged(self.db);
    end(&self, "backups and compactions");
}

static struct {
    sqlite3 *db;
    int64_t writes; /* system calls */
    int64_t last;   /* the call that comes with the interruption; 0: no call */
} copying;

static system_call_verdict interrupt_at_write(const system_call *call)
{
    copying.writes += call->kind == CALL_WRITE;
    if (call->kind == CALL_WRITE && copying.writes == copying.last) {
        sqlite3_interrupt(copying.db);
    }
    return (system_call_verdict){0};
}

static int64_t writes_after(const char *sql, int64_t last, int expected)
{
    copying.writes = 0;
    copying.last = last;
    system_call_judge = interrupt_at_write;
    int code = code_of(copying.db, "%s", sql);
    system_call_judge = NULL;
    if (code != expected) {
        print_error("%s\nat write %lld: %d\n", sql, (long long)last, code);
        fail();
    }
    return copying.writes - last;
}

/* While it copies, SQLite hears of it rarely; and a copy that is whole has no name yet. */
static void copying_stops_at_the_next_slice(void **state)
{
    interrupting self = begin(*state);
    char path[PATH_SIZE];
    path_in(*state, "backup", path);
    store_folder = *state;
    copying.db = self.db;
    self.entities = DEFAULT_ENTITIES; /* enough for several slices */
    run(self.db, "CREATE VIRTUAL TABLE t USING ptable(V Int32, sync='off')");
    int64_t first = writes_after("SELECT pt_backup(NULL, 'backup')", 0, SQLITE_OK);
    assert_int_equal(unlink(path), 0);
    run(self.db, "DROP TABLE t");
    fill(&self);
    int64_t writes = writes_after("SELECT pt_backup(NULL, 'backup')", 0, SQLITE_OK) - first;
    assert_int_equal(unlink(path), 0);
    const char *const copies[] = {"SELECT pt_backup(NULL, 'backup')", "SELECT pt_compact()"};
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        int64_t more = writes_after(copies[i], first + writes / 8, SQLITE_INTERRUPT);
        has_no_backup(self.db);
        print_message("# interrupted at write %lld of %lld, a copy made %lld more\n",
                      (long long)writes / 8, (long long)writes, (long long)more);
        assert_in_range(more, 0, writes * 5 / 8);
        writes_after(copies[i], first + writes - 1, SQLITE_INTERRUPT);
        has_no_backup(self.db);
    }
    assert_number(self.db, DEFAULT_ENTITIES, "SELECT count(*) FROM t");
    close_database(self.db);
}

/* How many instructions a question has: SQLite's versions differ. */
static int64_t length_of_a_question(interrupting *self)
{
    const statement search = {"SELECT * FROM t('V eq -1')", self->entities, false};
    return moments_of(self, &search) / (search.silent / ENTITIES_BETWEEN_QUESTIONS);
}

/* What dropped tables left is collected in slices; a private store has no file to make smaller. */
static void collecting_can_be_interrupted(void **state)
{
    enum { INTERRUPTIONS = 3 };
    const statement check = {"SELECT pt_check()", 0, false};
    const statement compact = {"SELECT pt_compact()", 0, false};
    interrupting self = {.db = open_database(*state, ":memory:"),
                         .entities = setting("ENTITIES", DEFAULT_ENTITIES)};
    fill(&self);
    run(self.db, "DELETE FROM pt_tables WHERE TableName = 's'");
    int64_t bytes = number(self.db, "SELECT UsedBytes FROM pt_stores");
    int64_t question = length_of_a_question(&self);
    for (int i = 0; i < INTERRUPTIONS; i++) {
        int64_t checking = moments_of(&self, &check);
        interrupt_at(&self, &compact, checking + question + question / 2, true);
        assert_number(self.db, 1, "SELECT Dropped FROM pt_stores");
        is_unchanged(self.db);
    }
    assert_true(number(self.db, "SELECT UsedBytes FROM pt_stores") < bytes);
    run(self.db, "%s", compact.sql);
    assert_number(self.db, 0, "SELECT Dropped FROM pt_stores");
    is_unchanged(self.db);
    end(&self, "collecting");
}

/* A file that is no store any more is read through all the same. */
static void checking_a_damaged_file_can_be_interrupted(void **state)
{
    const statement check = {"SELECT pt_check('main.db-ptable')", 0, false};
    char path[PATH_SIZE];
    interrupting self = begin(*state);
    fill(&self);
    close_database(self.db);
    path_in(*state, "main.db-ptable", path);
    assert_int_equal(truncate(path, size_of(*state, "main.db-ptable") - 4096), 0);
    self.db = open_database(*state, "main.db");
    fails(self.db, SQLITE_CANTOPEN, "SELECT * FROM t");
    assert_number(self.db, 1, "SELECT pt_check('main.db-ptable') <> 'ok'");
    int64_t calls = moments_of(&self, &check);
    assert_true(calls >= self.entities / ENTITIES_BETWEEN_QUESTIONS * INSTRUCTIONS_OF_A_QUESTION);
    interrupt_often(&self, &check, calls, nothing, nothing);
    end(&self, "a damaged file");
}

/* interrupt_this(): NULL, and the statement is interrupted. */
static void interrupt_this(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_interrupt(sqlite3_context_db_handle(context));
}

/* Not that there was an entity, which OR IGNORE passed over before. */
static void an_interrupted_statement_says_so(void **state)
{
    static const char *const statements[] = {
        "INSERT OR IGNORE INTO t SELECT 'p', 'a', 1 UNION ALL SELECT 'p', 'b', interrupt_this()",
        "INSERT OR IGNORE INTO pt_tables(TableName) SELECT 't' UNION ALL SELECT interrupt_this()",
        "INSERT OR IGNORE INTO q(Body) SELECT NULL UNION ALL SELECT interrupt_this()",
    };
    sqlite3 *db = open_database(*state, "main.db");
    sqlite3_create_function(db, "interrupt_this", 0, SQLITE_UTF8, NULL, interrupt_this, NULL, NULL);
    run(db, "CREATE VIRTUAL TABLE t USING ptable(V); CREATE VIRTUAL TABLE q USING pt_queue();"
            "INSERT INTO t VALUES ('p', 'a', 0)");
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        fails(db, SQLITE_INTERRUPT, "%s", statements[i]);
        assert_string_equal(sqlite3_errmsg(db), "interrupted");
    }
    fails(db, SQLITE_CONSTRAINT_PRIMARYKEY, "INSERT INTO t VALUES ('p', 'a', 1)");
    says(db, "exists");
    close_database(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(long_reads_can_be_interrupted),
        folder_test(searches_for_many_partitions_can_be_interrupted),
        folder_test(reads_beside_pending_writes_can_be_interrupted),
        folder_test(a_progress_handler_ends_a_search_that_finds_nothing),
        folder_test(little_need_be_allowed_to_interrupt),
        folder_test(an_interrupted_write_changes_nothing),
        folder_test(setting_poison_messages_aside_can_be_interrupted),
        folder_test(expired_messages_do_not_keep_a_reader),
        folder_test(backup_and_compact_can_be_interrupted),
        folder_test(copying_stops_at_the_next_slice),
        folder_test(collecting_can_be_interrupted),
        folder_test(checking_a_damaged_file_can_be_interrupted),
        folder_test(an_interrupted_statement_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
