/*
 * A process that works on a store and its main database, recorded for test_power_loss.c: the
 * scenarios, what there is after each transaction, and when its parts come to lie on the disk.
 */
#ifndef TESTS_PROCESS_CRASH_RECORDING_H
#define TESTS_PROCESS_CRASH_RECORDING_H

#include "faults/saboteur.h"
#include "fixtures/log_chain.h"
#include "fixtures/workload.h"
#include <sys/wait.h>

#include "process/crash/power.h"

enum {
    TRANSACTIONS = 12,
    FULL_EVERY = 4,
    FAILS_EVERY = 3,
    EARLIER = 100, /* the first transaction after a power failure has this number */
    NEVER = -1,
};

#define STORE "main.db-ptable"

typedef struct scenario {
    const char *name;
    const char *work;
    const char *journal_mode;
    const char *synchronous; /* of the main database */
    const char *sync;        /* of the store */
    bool mixed;              /* the main database changes too */
    bool some_full;          /* every FULL_EVERY-th transaction also writes to a table with full */
    bool creates;            /* the first transaction declares the tables */
    bool undoes;             /* some transactions fail after the store's commit (needs WAL) */
    bool again;              /* on what an earlier power failure has left */
    int log; /* small commits go to the log, which is applied after so many; 0: none does */
} scenario;

static const scenario scenarios[] = {
    {"rows", "rows", "delete", "full", "full", false, false, false, false, false, 0},
    {"shrink", "shrink", "delete", "full", "full", false, false, false, false, false, 0},
    {"large", "large", "wal", "full", "full", false, false, false, false, false, 0},
    {"drop", "drop", "delete", "full", "full", false, false, false, false, false, 0},
    {"queue", "queue", "wal", "full", "full", false, false, false, false, false, 0},
    {"indexed", "indexed", "delete", "full", "full", false, false, false, false, false, 0},
    {"followed", "followed", "delete", "full", "full", false, false, false, false, false, 0},
    {"delete", "rows", "delete", "full", "full", true, false, false, false, false, 0},
    {"delete-extra", "queue", "delete", "extra", "full", true, false, false, false, false, 0},
    {"truncate", "rows", "truncate", "full", "full", true, false, false, false, false, 0},
    {"persist", "rows", "persist", "full", "full", true, false, false, false, false, 0},
    {"wal", "large", "wal", "full", "full", true, false, false, false, false, 0},
    {"wal-normal", "rows", "wal", "normal", "full", true, false, false, false, false, 0},
    {"normal", "rows", "delete", "full", "normal", false, false, false, false, false, 0},
    {"normal-mixed", "drop", "wal", "full", "normal", true, false, false, false, false, 0},
    {"normal-full", "shrink", "wal", "full", "normal", false, true, false, false, false, 0},
    {"off-full", "drop", "delete", "full", "off", false, true, false, false, false, 0},
    {"off-full-mixed", "rows", "wal", "full", "off", true, true, false, false, false, 0},
    {"normal-indexed", "indexed", "wal", "full", "normal", false, false, false, false, false, 0},
    {"normal-followed", "followed", "wal", "full", "normal", false, false, false, false, false, 0},
    {"create", "rows", "delete", "full", "full", true, false, true, false, false, 0},
    {"create-wal", "drop", "wal", "full", "full", true, false, true, false, false, 0},
    {"undo", "large", "wal", "full", "full", true, false, false, true, false, 0},
    {"undo-rows", "rows", "wal", "full", "full", false, false, false, true, false, 0},
    {"undo-followed", "followed", "wal", "full", "full", true, false, false, true, false, 0},
    {"undo-indexed", "indexed", "wal", "full", "full", true, false, false, true, false, 0},
    {"undo-normal", "rows", "wal", "full", "normal", false, false, false, true, false, 0},
    {"undo-normal-large", "large", "wal", "full", "normal", false, true, false, true, false, 0},
    {"undo-normal-followed", "followed", "wal", "full", "normal", false, false, false, true, false,
     0},
    {"undo-normal-indexed", "indexed", "wal", "full", "normal", false, false, false, true, false,
     0},
    {"undo-off", "rows", "wal", "full", "off", false, true, false, true, false, 0},
    {"undo-off-followed", "followed", "wal", "full", "off", false, true, false, true, false, 0},
    {"again", "large", "delete", "full", "full", true, false, false, false, true, 0},
    {"again-wal", "rows", "wal", "full", "full", true, false, false, false, true, 0},
    {"again-drop", "drop", "wal", "full", "full", false, false, false, false, true, 0},
    {"log", "rows", "delete", "full", "full", false, false, false, false, false, 1000},
    {"log-limit", "rows", "wal", "full", "full", true, false, false, false, false, 3},
    {"log-queue", "queue", "wal", "full", "full", true, false, false, false, false, 1000},
    {"log-unique", "unique", "delete", "full", "full", true, false, false, false, false, 2},
    {"log-large", "large", "wal", "full", "full", false, false, false, false, false, 1000},
    {"log-drop", "drop", "wal", "full", "full", true, false, false, false, false, 1000},
    {"log-normal", "rows", "delete", "full", "normal", false, false, false, false, false, 1000},
    {"log-normal-limit", "queue", "wal", "full", "normal", false, false, false, false, false, 3},
    {"log-normal-full", "unique", "wal", "full", "normal", false, true, false, false, false, 1000},
    {"log-normal-large", "large", "wal", "full", "normal", false, true, false, false, false, 3},
    {"log-off-full", "rows", "delete", "full", "off", false, true, false, false, false, 1000},
    {"log-off-full-limit", "queue", "wal", "full", "off", true, true, false, false, false, 3},
    {"log-off-full-drop", "drop", "wal", "full", "off", false, true, false, false, false, 1000},
    {"log-create", "rows", "delete", "full", "full", true, false, true, false, false, 1000},
    {"log-undo", "rows", "wal", "full", "full", true, false, false, true, false, 1000},
    {"log-undo-limit", "unique", "wal", "full", "full", false, false, false, true, false, 2},
    {"log-undo-normal", "rows", "wal", "full", "normal", false, false, false, true, false, 1000},
    {"log-undo-normal-limit", "queue", "wal", "full", "normal", false, true, false, true, false, 3},
    {"log-undo-off", "rows", "wal", "full", "off", false, true, false, true, false, 1000},
    {"log-again", "rows", "wal", "full", "full", true, false, false, false, true, 1000},
    {"log-again-unique", "unique", "wal", "full", "full", false, false, false, false, true, 4},
    {"log-again-normal", "queue", "delete", "full", "normal", false, true, false, false, true, 4},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* --- The process that writes --- */

enum { MARK_BEGUN, MARK_DONE };

/* All that is known of a run. */
typedef struct recording {
    const scenario *of;
    disk_log log;
    database_content states[TRANSACTIONS + 1];  /* after each transaction */
    database_content failing[TRANSACTIONS + 1]; /* while it fails */
    int64_t begun[TRANSACTIONS + 1];            /* the events */
    int64_t done[TRANSACTIONS + 1];
    int64_t in_store[TRANSACTIONS + 1]; /* the store's part begins to be on the disk */
    int64_t in_main[TRANSACTIONS + 1];  /* the main database's part is certain to be there;
                                           NEVER: not within the log */
} recording;

static inline bool is_full(const scenario *of, int number)
{
    return strcmp(of->sync, "full") == 0 || (of->some_full && number % FULL_EVERY == 0);
}

static inline int declare(sqlite3 *db, const scenario *of)
{
    int code = workload_declare(db, workload_of(of->work), of->sync);
    return code != SQLITE_OK || !of->some_full
               ? code
               : code_of(db, "CREATE VIRTUAL TABLE f USING ptable(V Int64, sync='full')");
}

/* How a COMMIT fails: because another virtual table cannot, or a commit hook refuses it. Or it is
 * only busy, and is repeated after more writes. */
typedef enum failure { FAILS_NOT, FAILS_IN_SYNC, FAILS_IN_HOOK, FAILS_ONCE } failure;

static inline failure failure_of(const scenario *of, int number)
{
    static const failure failures[] = {FAILS_IN_SYNC, FAILS_ONCE, FAILS_IN_HOOK};
    bool fails = of->undoes && number != 0 && number % FAILS_EVERY == 0;
    return fails ? failures[(number / FAILS_EVERY - 1) % 3] : FAILS_NOT;
}

/* What others see of a transaction that fails, after the store's commit; and what the next one to
 * open the store would see if all processes died then: that is another thing if it is in the log.
 */
static sqlite3 *witness;
static const char *witnessed_folder;
static database_content witnessed;
static database_content *left_behind; /* shared memory */

static inline void read_copy(const char *folder)
{
    void *copy = NULL;
    char path[PATH_SIZE];
    int status;
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        disk_stop();
        if (make_folder(&copy) != 0) {
            _exit(1);
        }
        copy_folder(folder, copy);
        path_in(copy, "main.db", path);
        sqlite3 *db = try_open(path);
        left_behind->code = SQLITE_CANTOPEN;
        if (db != NULL) {
            *left_behind = content_of(db, true);
        }
        sqlite3_close(db);
        remove_folder(&copy);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static inline void look_on(void)
{
    witnessed = content_of(witness, true);
    read_copy(witnessed_folder);
}

static inline void look_on_if_sync_fails(void)
{
    if (saboteur_code != SQLITE_OK) {
        look_on();
    }
}

static inline int refuse_commit(void *refuses)
{
    if (*(bool *)refuses) {
        look_on();
    }
    return *(bool *)refuses;
}

static inline int commit_and_fail(sqlite3 *db, failure how, int number)
{
    bool refuses = how == FAILS_IN_HOOK;
    int code = code_of(db, "INSERT INTO temp.s VALUES(1)");
    saboteur_code = how == FAILS_IN_SYNC ? SQLITE_ERROR
                    : how == FAILS_ONCE  ? SQLITE_BUSY
                                         : SQLITE_OK;
    sqlite3_commit_hook(db, refuse_commit, &refuses);
    code = code == SQLITE_OK ? code_of(db, "COMMIT") : code;
    sqlite3_commit_hook(db, NULL, NULL);
    saboteur_code = SQLITE_OK;
    if (code != SQLITE_BUSY || how != FAILS_ONCE) {
        return code;
    }
    return code_of(db,
                   "INSERT INTO t(PartitionKey, RowKey, V) SELECT 'later', %d, V FROM t LIMIT 1; "
                   "COMMIT",
                   number);
}

static inline int transact(sqlite3 *db, const scenario *of, int number)
{
    if (of->creates && number == 1) {
        int code = code_of(db, "BEGIN");
        code = code == SQLITE_OK ? declare(db, of) : code;
        return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
    }
    int code = workload_begin(db, workload_of(of->work), number, of->mixed);
    if (code == SQLITE_OK && of->some_full && number % FULL_EVERY == 0) {
        code = code_of(db, "INSERT OR REPLACE INTO f VALUES('f', 'f', %d)", number);
    }
    if (code == SQLITE_OK && of->undoes) {
        return commit_and_fail(db, failure_of(of, number), number);
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

static inline sqlite3 *open_main(const char *folder, const scenario *of)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s; PRAGMA synchronous = %s", of->journal_mode, of->synchronous);
    if (of->undoes) {
        sqlite3_create_module(db, "saboteur", &saboteur_module, NULL);
        run(db, "CREATE VIRTUAL TABLE temp.s USING saboteur");
    }
    return db;
}

/* The main database's part of a transaction is ended by this event. */
static inline bool commits_main(const recording *all, const disk_event *event)
{
    const char *mode = all->of->journal_mode;
    const char *name = event->name >= 0 ? all->log.names[event->name] : "";
    int journal = -1;
    for (int i = 0; i < all->log.name_count; i++) {
        bool is_journal = strcmp(all->log.names[i], "main.db-journal") == 0 ||
                          strcmp(all->log.names[i], "main.db-wal") == 0;
        journal = is_journal ? all->log.at[i] : journal;
    }
    if (strcmp(mode, "delete") == 0) {
        return event->kind == DISK_UNLINK && strcmp(name, "main.db-journal") == 0;
    }
    if (event->file != journal) {
        return false;
    }
    return strcmp(mode, "truncate") == 0 ? event->kind == DISK_RESIZE && event->size == 0
           : strcmp(mode, "persist") == 0
               ? event->kind == DISK_WRITE && event->offset == 0 && event->size == 28
               : event->kind == DISK_WRITE;
}

/* The first event from `from` on that makes an event durable. */
static inline int64_t made_durable(const disk_log *log, int64_t from)
{
    const disk_event *event = &log->events[from];
    disk_kind sync = power_is_of_folder(event) ? DISK_SYNC_FOLDER : DISK_SYNC;
    for (size_t i = (size_t)from; i < log->count; i++) {
        if (log->events[i].kind == sync &&
            (sync == DISK_SYNC_FOLDER || log->events[i].file == event->file)) {
            return (int64_t)i;
        }
    }
    return NEVER;
}

/* A record of the log, not the zeros that make room for records. */
static inline bool is_record(const disk_event *event, int log)
{
    return event->kind == DISK_WRITE && event->file == log && event->offset >= CHAIN_LOG_HEADER &&
           event->size > 0 &&
           (event->bytes[0] != 0 || memcmp(event->bytes, event->bytes + 1, event->size - 1) != 0);
}

/* The file that has this name now; -1: none. */
static inline int file_of(const recording *all, const char *name)
{
    int file = -1;
    for (int i = 0; i < all->log.name_count; i++) {
        file = strcmp(all->log.names[i], name) == 0 ? all->log.at[i] : file;
    }
    return file;
}

/* Where the parts of a transaction come to lie on the disk. */
static inline void note_parts(recording *all, int number)
{
    int64_t main_part = NEVER;
    int store = file_of(all, STORE);
    int log = file_of(all, STORE "-log");
    all->in_store[number] = all->done[number];
    bool logged = false;
    for (int64_t i = all->begun[number]; i < all->done[number]; i++) {
        const disk_event *event = &all->log.events[i];
        if (event->kind == DISK_WRITE && event->durable && event->file == store && !logged) {
            all->in_store[number] = i;
        } else if (log >= 0 && is_record(event, log) && !logged) {
            all->in_store[number] = i;
            logged = true; /* and what follows only applies the log */
        }
        main_part = commits_main(all, event) ? i : main_part;
    }
    all->in_main[number] = main_part;
}

static inline void settle_parts(recording *all)
{
    for (int number = 1; number <= TRANSACTIONS; number++) {
        all->in_main[number] = all->in_main[number] == NEVER
                                   ? all->begun[number]
                                   : made_durable(&all->log, all->in_main[number]);
    }
}

/* A transaction that is undone leaves the entities that were there before it. In a table that keeps
 * its changes, and if the commit was not in a log, those are put again with new Timestamps, and
 * what the transaction inserted has become deletions: see transaction/taken_back.h. */
static inline bool is_undone(const recording *all, sqlite3 *db, int number, uint64_t entities)
{
    bool same = all->states[number].store == all->states[number - 1].store;
    bool keeps_changes = strcmp(all->of->work, "followed") == 0;
    return entities_of(db) == entities && same != keeps_changes;
}

/* `before`: the number of those that an earlier process has made. */
static inline void record_transaction(recording *all, sqlite3 *db, int number, int before)
{
    failure how = failure_of(all->of, number);
    bool fails = how == FAILS_IN_SYNC || how == FAILS_IN_HOOK;
    uint64_t entities = entities_of(db);
    all->begun[number] = (int64_t)all->log.count;
    disk_mark(&all->log, MARK_BEGUN, number);
    int code = transact(db, all->of, before + number);
    if ((code != SQLITE_OK) != fails) {
        fail_msg("%s: transaction %d: %s", all->of->name, number, sqlite3_errmsg(db));
    }
    all->done[number] = (int64_t)all->log.count;
    disk_mark(&all->log, MARK_DONE, number);
    note_parts(all, number);
    all->states[number] = content_of(db, true);
    assert_int_equal(all->states[number].code, SQLITE_OK);
    if (how != FAILS_NOT) {
        bool in_log = all->of->log != 0 && number > 1;
        all->failing[number] = *left_behind;
        assert_int_equal(left_behind->code, SQLITE_OK);
        assert_true(left_behind->store != all->states[number].store);
        assert_true(witnessed.store ==
                    (in_log ? all->states[number - 1].store : left_behind->store));
    }
    assert_true(!fails || is_undone(all, db, number, entities));
}

/* What is in the folder is on the disk. */
static inline void record_session(recording *all, const char *folder, int before)
{
    disk_record(&all->log, folder);
    sqlite3 *db = open_main(folder, all->of);
    witness = all->of->undoes ? open_database(folder, "main.db") : NULL;
    saboteur_watch = all->of->undoes ? look_on_if_sync_fails : NULL;
    witnessed_folder = folder;
    if (left_behind == NULL) {
        left_behind = mmap(NULL, sizeof *left_behind, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        assert_ptr_not_equal(left_behind, MAP_FAILED);
    }
    all->states[0] = content_of(db, true);
    for (int number = 1; number <= TRANSACTIONS; number++) {
        record_transaction(all, db, number, before);
    }
    saboteur_watch = NULL;
    if (all->of->log == 0) {
        disk_stop();
    }
    sqlite3_close(witness); /* the last one to close applies the log and removes it */
    close_database(db);
    disk_stop();
    settle_parts(all);
}

/* Leaves in the folder what a power failure leaves of the session. */
static inline void lose_power(const recording *all, const char *folder, uint64_t seed)
{
    power_disk disk;
    uint64_t random = seed;
    power_random(&random, 2);
    power_begin(&disk, &all->log);
    power_advance(&disk, power_random(&random, (uint32_t)all->log.count));
    empty_folder(folder);
    assert_true(power_make(&disk, power_choose(&disk, random), folder));
    power_end(&disk);
}

/* `dropped`: the disk drops the syncs of files whose names end so; NULL: of none. */
static inline void record(recording *all, const scenario *of, const char *folder,
                          const char *dropped, uint64_t seed)
{
    *all = (recording){.of = of, .log = {.drops_syncs = dropped != NULL, .dropped = dropped}};
    if (of->log != 0) {
        use_log(of->log);
    } else {
        use_no_log();
    }
    sqlite3 *db = open_main(folder, of);
    if (of->creates) {
        run(db, "CREATE TABLE before(a)");
    } else {
        assert_int_equal(declare(db, of), SQLITE_OK);
    }
    close_database(db);
    record_session(all, folder, 0);
    if (of->again) {
        lose_power(all, folder, seed);
        disk_free(&all->log);
        *all = (recording){.of = of};
        record_session(all, folder, EARLIER);
    }
}

#endif
