/*
 * A process is killed at each system call that changes a file, one run after the other: before the
 * call, in the middle of it, and right after it. What it leaves is what had been committed by then,
 * to the store and to the main database, exactly: the only calls between which the two may differ
 * are those after the store's commit and before the main database's. The one that opens them next
 * may be killed at each of its calls as well.
 *
 * N: how many points are tried of each scenario (0: all; of the thousands
 * of calls that fill a new store, some); SEED; ONLY: the name of one scenario.
 */
#include <sys/mman.h>
#include <sys/wait.h>

#include "faults/call_facts.h"
#include "faults/killing.h"
#include "faults/mortal.h"
#include "faults/saboteur.h"
#include "fixtures/anatomy.h"
#include "fixtures/files.h"
#include "fixtures/log_chain.h"
#include "fixtures/workload.h"

enum {
    DEFAULT_POINTS = 3,
    SESSION = 3, /* of the session that is killed */
    FAILING = 2, /* the transaction of these that fails if there is a saboteur */
    COMMITS_MAX = 64,
    FILES_MAX = 10,
    WITNESSES = 2,
    ERASED_MAX = 4096, /* bytes that are written over a record to take it back, at most */
    META_PAGES = 2 * 4096,
    WAL_FRAME = 24,
    CALLS_MAX = 20000,
    TAIL = 150, /* calls at the end of a long run; of those before one in DULL is tried */
    DULL = 200,
    LONG_POINTS = 4,
    RECOVERED = 20, /* one in so many is killed while it recovers, too */
    LONG_RECOVERED = 6,
};

#define STORE "main.db-ptable"

/* In which company the process is that is killed. */
typedef enum origin {
    ALONE,       /* the store was closed */
    LEFT,        /* the one before was killed, and has left its log */
    ACCOMPANIED, /* another one has the store open, which looks afterwards */
    BEREAVED,    /* the same, but it commits something and is killed, too */
} origin;

typedef struct scenario {
    const char *name;
    const char *work;
    const char *journal_mode;
    const char *sync;
    int first; /* transactions before those that are killed */
    bool mixed;
    bool creates; /* the first transaction makes the store and declares the tables */
    bool undoes;  /* one of the transactions fails after the store's commit */
    int log;      /* small commits go to the log, which is applied after so many; 0: none does */
    origin from;
} scenario;

static const scenario scenarios[] = {
    {"rows", "rows", "delete", "full", 5, false, false, false, 0, ALONE},
    {"large", "large", "wal", "full", 5, false, false, false, 0, ALONE},
    {"drop", "drop", "wal", "normal", 5, false, false, false, 0, ALONE},
    {"queue", "queue", "delete", "off", 5, false, false, false, 0, ALONE},
    {"indexed", "indexed", "wal", "full", 5, false, false, false, 0, ALONE},
    {"followed", "followed", "wal", "full", 5, false, false, false, 0, ALONE},
    {"shrink", "shrink", "wal", "full", 1, false, false, false, 0, ALONE},
    {"delete", "rows", "delete", "full", 5, true, false, false, 0, ALONE},
    {"truncate", "drop", "truncate", "full", 5, true, false, false, 0, ALONE},
    {"persist", "large", "persist", "full", 5, true, false, false, 0, ALONE},
    {"wal", "rows", "wal", "full", 5, true, false, false, 0, ALONE},
    {"wal-queue", "queue", "wal", "normal", 5, true, false, false, 0, ALONE},
    {"undo", "rows", "delete", "full", 5, true, false, true, 0, ALONE},
    {"undo-wal", "large", "wal", "full", 5, true, false, true, 0, ALONE},
    {"undo-indexed", "indexed", "delete", "full", 5, true, false, true, 0, ALONE},
    {"undo-followed", "followed", "delete", "full", 5, true, false, true, 0, ALONE},
    {"create", "rows", "delete", "full", 5, true, true, false, 0, ALONE},
    {"create-wal", "drop", "wal", "full", 5, true, true, false, 0, ALONE},
    {"create-followed", "followed", "delete", "full", 5, true, true, false, 0, ALONE},
    {"create-indexed", "indexed", "delete", "full", 5, true, true, false, 0, ALONE},
    {"log", "rows", "delete", "full", 5, false, false, false, 1000, ALONE},
    {"log-normal", "rows", "wal", "normal", 5, false, false, false, 1000, ALONE},
    {"log-off", "queue", "wal", "off", 5, false, false, false, 1000, ALONE},
    {"log-large", "large", "wal", "full", 5, true, false, false, 1000, ALONE},
    {"log-drop", "drop", "wal", "full", 5, true, false, false, 1000, ALONE},
    {"log-mixed", "rows", "delete", "full", 5, true, false, false, 1000, ALONE},
    {"log-mixed-wal", "queue", "wal", "full", 5, true, false, false, 1000, ALONE},
    {"log-limit", "rows", "wal", "full", 5, true, false, false, 2, ALONE},
    {"log-undo", "rows", "wal", "full", 5, true, false, true, 1000, ALONE},
    {"log-undo-normal", "queue", "delete", "normal", 5, false, false, true, 2, ALONE},
    {"log-create", "rows", "delete", "full", 5, true, true, false, 1, ALONE},
    {"log-indexed", "indexed", "wal", "full", 5, true, false, false, 1000, ALONE},
    {"log-unique", "unique", "wal", "full", 5, true, false, false, 3, ALONE},
    {"log-beside-unique", "unique", "delete", "normal", 5, true, false, true, 3, ACCOMPANIED},
    {"log-left", "rows", "wal", "full", 5, true, false, false, 1000, LEFT},
    {"log-left-limit", "queue", "wal", "normal", 5, true, false, false, 3, LEFT},
    {"log-left-undo", "rows", "wal", "full", 5, true, false, true, 1000, LEFT},
    {"log-left-unique", "unique", "wal", "off", 5, true, false, true, 1000, LEFT},
    {"log-beside", "rows", "wal", "full", 5, false, false, false, 1000, ACCOMPANIED},
    {"log-beside-mixed", "rows", "delete", "full", 5, true, false, false, 1000, ACCOMPANIED},
    {"log-beside-limit", "queue", "wal", "normal", 5, false, false, false, 2, ACCOMPANIED},
    {"log-beside-undo", "rows", "wal", "full", 5, true, false, true, 1000, ACCOMPANIED},
    {"log-bereaved", "rows", "delete", "full", 5, false, false, false, 1000, BEREAVED},
    {"log-bereaved-large", "large", "delete", "full", 5, false, false, false, 1000, BEREAVED},
    {"log-bereaved-limit", "unique", "delete", "full", 5, true, false, false, 3, BEREAVED},
    {"log-bereaved-drop", "drop", "delete", "normal", 5, true, false, false, 3, BEREAVED},
    {"log-bereaved-undo", "rows", "delete", "full", 5, true, false, true, 1000, BEREAVED},
    {"log-beside-large", "large", "wal", "off", 5, false, false, false, 3, ACCOMPANIED},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* --- What the processes share --- */

/* What one of two databases holds after each of its commits. */
typedef struct history {
    uint64_t digests[COMMITS_MAX];
    int numbers[COMMITS_MAX]; /* of the transaction that it was the last one of */
    bool known[COMMITS_MAX];
} history;

typedef struct shared {
    /* Set by the process that is killed. */
    int64_t calls;
    bool writes[CALLS_MAX]; /* the call writes, or flushes */
    int store_commits;
    int main_commits;
    bool logged;        /* the transaction has put a record into the log */
    bool frame_commits; /* the last frame of the write-ahead log is to be the last of a commit */
    bool survived;
    int witnesses;    /* rows that the other process has committed */
    int acknowledged; /* the last transaction whose COMMIT has returned */

    /* Set by a process that is not killed. */
    history store;
    history main;
    uint64_t failing; /* the store's content when a transaction fails */

    /* Set by the process that looks at the files. */
    bool good;
    char text[400];
} shared;

static shared *ours;
static const scenario *playing;

/* --- Calls that commit --- */

/* The write-ahead log gets frames, each a header and a page: the header says whether it is the last
 * one of a commit. */
static bool ends_frames(const system_call *call)
{
    const uint8_t *bytes = call->parts[0].iov_base;
    size_t size = call->parts[0].iov_len;
    if (size == WAL_FRAME) {
        ours->frame_commits = pt_get_be32(bytes + sizeof(uint32_t)) != 0;
        return false;
    }
    bool ends = ours->frame_commits;
    ours->frame_commits = false;
    return ends;
}

static bool commits_main(const system_call *call, const char *path)
{
    const char *mode = playing->journal_mode;
    bool journal = ends_with(path, "main.db-journal");
    return strcmp(mode, "delete") == 0     ? journal && call->kind == CALL_NAME
           : strcmp(mode, "truncate") == 0 ? journal && call->kind == CALL_SIZE && call->offset == 0
           : strcmp(mode, "persist") == 0
               ? journal && call->kind == CALL_WRITE && call->offset == 0 && is_nothing(call)
               : ends_with(path, "main.db-wal") && call->kind == CALL_WRITE && ends_frames(call);
}

/*
 * A commit of the store ends with the write of a root page, or of a record of the log; one that
 * takes it back, with nothing in its place. A transaction that has written a record, and then a
 * root page, has only applied the log.
 */
static bool commits_store(const system_call *call, const char *path)
{
    if (call->kind != CALL_WRITE) {
        return false;
    }
    if (ends_with(path, STORE "-log")) {
        if (call->offset < CHAIN_LOG_HEADER) {
            return false;
        }
        bool record = !is_nothing(call);
        bool erases = !record && ours->logged && system_call_size(call) <= ERASED_MAX;
        ours->logged = ours->logged || record;
        return record || erases;
    }
    return ends_with(path, STORE) && call->offset >= 0 && call->offset < META_PAGES &&
           !ours->logged;
}

static void note_commits(const system_call *call)
{
    if (mortal_calls < CALLS_MAX) {
        ours->writes[mortal_calls] = call->kind == CALL_WRITE || call->kind == CALL_SYNC;
    }
    const char *path = path_of(call);
    if (path != NULL && commits_store(call, path)) {
        ours->store_commits++;
    } else if (path != NULL) {
        ours->main_commits += commits_main(call, path);
    }
}

/* --- The process that is killed --- */

static sqlite3 *open_main(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "main.db", path);
    sqlite3 *db = try_open(path);
    if (db == NULL ||
        code_of(db, "PRAGMA busy_timeout = 0; PRAGMA journal_mode = %s; PRAGMA synchronous = full",
                playing->journal_mode) != SQLITE_OK ||
        sqlite3_create_module(db, "saboteur", &saboteur_module, NULL) != SQLITE_OK) {
        _exit(3);
    }
    return db;
}

static bool fails_here(int number)
{
    return playing->undoes && number == playing->first + FAILING;
}

static int transact(sqlite3 *db, int number)
{
    const workload *work = workload_of(playing->work);
    if (playing->creates && number == playing->first + 1) {
        int code = code_of(db, "BEGIN");
        code = code == SQLITE_OK ? workload_declare(db, work, playing->sync) : code;
        return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
    }
    int code = workload_begin(db, work, number, playing->mixed);
    if (code == SQLITE_OK && playing->undoes) {
        code = code_of(db, "INSERT INTO temp.s VALUES(1)");
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

static void remember(history *all, int commits, uint64_t digest, int number)
{
    if (commits < COMMITS_MAX) {
        all->digests[commits] = digest;
        all->numbers[commits] = number;
        all->known[commits] = true;
    }
}

static void remember_state(sqlite3 *db, int number)
{
    database_content there = content_of(db, false);
    if (there.code != SQLITE_OK) {
        _exit(4);
    }
    ours->logged = false;
    ours->acknowledged = number;
    remember(&ours->store, ours->store_commits, there.store, number);
    remember(&ours->main, ours->main_commits, there.main, number);
}

/* Dies at the call `last` of a session; `sabotage`: the transaction that is to fail does. */
static void play(const char *folder, int64_t last, mortal_death way, bool sabotage)
{
    sqlite3 *db = open_main(folder);
    if (playing->undoes && code_of(db, "CREATE VIRTUAL TABLE temp.s USING saboteur") != SQLITE_OK) {
        _exit(5);
    }
    remember_state(db, playing->first);
    mortal_way = way;
    mortal_note = note_commits;
    mortal_begin(last);
    int number = playing->first;
    for (int i = playing->first + 1; i <= playing->first + SESSION; i++) {
        bool fails = sabotage && fails_here(i);
        saboteur_code = fails ? SQLITE_ERROR : SQLITE_OK;
        int code = transact(db, i);
        if ((code != SQLITE_OK) != fails) {
            snprintf(ours->text, sizeof ours->text, "%d: %s", i, sqlite3_errmsg(db));
            _exit(6);
        }
        if (fails) {
            remember(&ours->store, ours->store_commits - 1, ours->failing, i);
        }
        number = fails ? number : i;
        remember_state(db, number);
        if (!sabotage && fails_here(i)) {
            ours->failing = content_of(db, false).store;
        }
    }
    sqlite3_close(db);
    ours->calls = mortal_calls;
    mortal_begin(0);
    ours->survived = true;
}

/* --- The process that looks --- */

static bool wrong(const char *what, const char *more)
{
    snprintf(ours->text, sizeof ours->text, "%s: %s", what, more);
    return false;
}

static bool goes_on(sqlite3 *db)
{
    return code_of(db, "BEGIN; INSERT INTO t(PartitionKey, RowKey) VALUES('probe', 'a');"
                       "INSERT INTO o(number) VALUES(1000); COMMIT;"
                       "DELETE FROM t WHERE PartitionKey = 'probe'") == SQLITE_OK ||
           wrong("the next transaction", sqlite3_errmsg(db));
}

/* Of a write-ahead log: frames of the last commit may be in no index yet, and a process that has
 * the log open does not look for them. */
static int main_commits_seen(const database_content *there)
{
    int main = ours->main_commits;
    bool unnoticed = playing->from >= ACCOMPANIED && strcmp(playing->journal_mode, "wal") == 0 &&
                     main > 0 && ours->main.numbers[main - 1] >= ours->acknowledged &&
                     there->main == ours->main.digests[main - 1];
    return unnoticed ? main - 1 : main;
}

static bool is_as_committed(const database_content *there)
{
    int store = ours->store_commits;
    int main = main_commits_seen(there);
    bool same = there->store == ours->store.digests[store] &&
                there->main == ours->main.digests[main] &&
                ours->main.numbers[main] <= ours->store.numbers[store];
    if (!same) {
        snprintf(ours->text, sizeof ours->text,
                 "after %d commits of the store and %d of the main database (transactions %d and "
                 "%d): the store is %s, the main database is %s",
                 store, main, ours->store.numbers[store], ours->main.numbers[main],
                 there->store == ours->store.digests[store] ? "right" : "wrong",
                 there->main == ours->main.digests[main] ? "right" : "wrong");
    }
    return same;
}

/* Entities, what the log holds of them, and their index entries. */
static bool is_sound(sqlite3 *db)
{
    return playing->log == 0 || first_number(db, "SELECT pt_check() = 'ok'", 0) == 1 ||
           wrong("pt_check", sqlite3_errmsg(db));
}

static bool check(sqlite3 *db, bool goes)
{
    database_content there = content_of(db, false);
    if (there.code != SQLITE_OK) {
        return wrong("reading", there.text);
    }
    if (!main_is_sound(db)) {
        return wrong("integrity_check", sqlite3_errmsg(db));
    }
    bool unmade = playing->creates && there.main == ours->main.digests[0];
    if (unmade && ours->main_commits == 0) {
        return !goes || ((transact(db, playing->first + 1) == SQLITE_OK ||
                          wrong("making the tables", sqlite3_errmsg(db))) &&
                         goes_on(db));
    }
    if (!indexes_are_sound(db)) {
        return wrong("pt_check", "the store is not sound");
    }
    return is_as_committed(&there) && is_sound(db) && (!goes || goes_on(db));
}

/*
 * While a process has the store open, the record of a dead one is not seen until the next writer
 * comes.
 */
static bool is_as_published(const database_content *there)
{
    int commits = ours->store_commits;
    bool behind = commits > 0 && ours->store.numbers[commits - 1] >= ours->acknowledged &&
                  there->store == ours->store.digests[commits - 1];
    return there->code == SQLITE_OK && (behind || there->store == ours->store.digests[commits] ||
                                        wrong("before the next writer", "the store is wrong"));
}

static void leave_witnesses(sqlite3 *db)
{
    while (ours->witnesses < WITNESSES &&
           code_of(db, "INSERT INTO t(PartitionKey, RowKey) VALUES('witness', '%d')",
                   ours->witnesses) == SQLITE_OK) {
        ours->witnesses++;
    }
    raise(ours->witnesses == WITNESSES ? SIGKILL : SIGABRT);
}

/* They are there; afterwards they are not. */
static bool finds_witnesses(sqlite3 *db)
{
    int64_t found = first_number(db, "SELECT count(*) FROM t WHERE PartitionKey = 'witness'", -1);
    return (found == ours->witnesses || wrong("what the other process has committed", "is lost")) &&
           (ours->witnesses == 0 ||
            code_of(db, "DELETE FROM t WHERE PartitionKey = 'witness'") == SQLITE_OK ||
            wrong("deleting", sqlite3_errmsg(db)));
}

/* Has the store open while another process works and dies. */
static void accompany(const char *folder, const int to[2], const int from[2])
{
    char sign = 0;
    sqlite3 *db = open_main(folder);
    bool read_once = content_of(db, false).code == SQLITE_OK;
    if (!read_once || write(from[1], &sign, 1) != 1 || read(to[0], &sign, 1) != 1) {
        _exit(7);
    }
    database_content there = content_of(db, false);
    ours->witnesses = 0;
    if (playing->from == BEREAVED && !ours->survived) {
        leave_witnesses(db);
    }
    ours->good =
        ours->survived || (is_as_published(&there) &&
                           (code_of(db, "BEGIN; DELETE FROM t WHERE 0; COMMIT") == SQLITE_OK ||
                            wrong("the lock", sqlite3_errmsg(db))) &&
                           check(db, true));
    if (sqlite3_close(db) != SQLITE_OK) {
        ours->good = wrong("closing", "it was not done with");
    }
}

static void look(const char *folder)
{
    sqlite3 *db = open_main(folder);
    ours->good = (playing->from != BEREAVED || finds_witnesses(db)) && check(db, true);
    if (sqlite3_close(db) != SQLITE_OK) {
        ours->good = wrong("closing", "it was not done with");
    }
}

/* Opens and reads what a killed process has left, beside another one that has it open. */
static void visit(const char *folder)
{
    sqlite3 *db = open_main(folder);
    database_content there = content_of(db, false);
    if (there.code != SQLITE_OK || sqlite3_close(db) != SQLITE_OK) {
        snprintf(ours->text, sizeof ours->text, "a visitor: %s", there.text);
        _exit(8);
    }
}

/* Opens what a killed process has left, and dies at a call. */
static void recover(const char *folder, int64_t last)
{
    mortal_way = DIES_BEFORE;
    mortal_begin(last);
    sqlite3 *db = open_main(folder);
    ours->good = check(db, false);
    sqlite3_close(db);
    ours->survived = true;
}

/* --- The test --- */

static const char *store_in(const char *folder)
{
    static char path[PATH_SIZE];
    path_in(folder, STORE, path);
    return path;
}

typedef struct template
{
    file_content files[FILES_MAX];
    char names[FILES_MAX][FILE_NAME_SIZE];
    int count;
}
template;

static void take_template(template *all, const char *folder)
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    *all = (template){0};
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_SIZE + FILE_NAME_SIZE];
        if (entry->d_type == DT_REG && all->count < FILES_MAX) {
            snprintf(all->names[all->count], FILE_NAME_SIZE, "%.63s", entry->d_name);
            snprintf(path, sizeof path, "%s/%.63s", folder, entry->d_name);
            file_load(&all->files[all->count++], path);
        }
    }
    closedir(entries);
}

static void put_template(const template *all, const char *folder)
{
    empty_folder(folder);
    for (int i = 0; i < all->count; i++) {
        char path[PATH_SIZE + FILE_NAME_SIZE];
        snprintf(path, sizeof path, "%s/%s", folder, all->names[i]);
        assert_true(file_write(path, &all->files[i]));
    }
}

static void free_template(template *all)
{
    for (int i = 0; i < all->count; i++) {
        free(all->files[i].bytes);
    }
}

static void work_before(const char *folder)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s", playing->journal_mode);
    const workload *work = workload_of(playing->work);
    if (playing->creates) {
        run(db, "CREATE TABLE before(a)");
    } else {
        assert_int_equal(workload_declare(db, work, playing->sync), SQLITE_OK);
        for (int number = 1; number <= playing->first; number++) {
            assert_int_equal(workload_transact(db, work, number, playing->mixed), SQLITE_OK);
        }
    }
    if (playing->from == LEFT) {
        raise(SIGKILL);
    }
    close_database(db);
}

/* What the transactions before leave. */
static void prepare(template *all, const char *folder)
{
    if (playing->log != 0) {
        use_log(playing->log);
    } else {
        use_no_log();
    }
    if (playing->from != LEFT) {
        work_before(folder);
    } else {
        fflush(stdout);
        pid_t pid = fork_process();
        assert_true(pid >= 0);
        if (pid == 0) {
            work_before(folder);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_true(log_chain_of(store_in(folder)).commits > 0);
    }
    take_template(all, folder);
}

typedef enum role { PLAY, PLAY_WHOLLY, LOOK, VISIT, RECOVER } role;

/* True if the process has ended by itself; otherwise only SIGKILL can have ended it. */
static bool run_process(role as, const char *folder, int64_t last, mortal_death way)
{
    fflush(stdout);
    ours->survived = false;
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        die_of_signals();
        switch (as) {
        case LOOK:
            look(folder);
            break;
        case VISIT:
            visit(folder);
            break;
        case RECOVER:
            recover(folder, last);
            break;
        default:
            play(folder, last, way, as == PLAY);
        }
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && last > 0;
    if (!killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        fail_msg("%s, call %lld: ended with status %d: %s", playing->name, (long long)last, status,
                 ours->text);
    }
    return !killed;
}

/* The same for one that plays in the company of another, which then looks. */
static bool run_accompanied(role as, const char *folder, int64_t last, mortal_death way)
{
    int to[2];
    int from[2];
    char sign = 0;
    if (playing->from != ACCOMPANIED && playing->from != BEREAVED) {
        return run_process(as, folder, last, way);
    }
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        die_of_signals();
        accompany(folder, to, from);
        _exit(0);
    }
    assert_int_equal(read(from[0], &sign, 1), 1);
    bool survived = run_process(as, folder, last, way);
    int status;
    if (playing->from == BEREAVED && !survived) {
        run_process(VISIT, folder, 0, DIES_BEFORE);
        ours->survived = false;
    }
    assert_int_equal(write(to[1], &sign, 1), 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
    bool dies = playing->from == BEREAVED && !survived;
    if (dies ? !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL
             : !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fail_msg("%s, call %lld: the other process ended with status %d", playing->name,
                 (long long)last, status);
    }
    return survived;
}

static void start_counting(void)
{
    ours->logged = false;
    ours->store_commits = 0;
    ours->main_commits = 0;
    ours->frame_commits = false;
}

/* Between two commits that are known nothing changes. */
static void fill(history *all)
{
    for (int i = 1; i < COMMITS_MAX; i++) {
        if (!all->known[i]) {
            all->digests[i] = all->digests[i - 1];
            all->numbers[i] = all->numbers[i - 1];
        }
    }
}

/* Returns how many calls there are. */
static int64_t learn(const template *all, const char *folder)
{
    memset(ours, 0, sizeof *ours);
    for (role as = playing->undoes ? PLAY_WHOLLY : PLAY;; as = PLAY) {
        put_template(all, folder);
        memset(&ours->store, 0, sizeof ours->store);
        memset(&ours->main, 0, sizeof ours->main);
        start_counting();
        assert_true(run_accompanied(as, folder, 0, DIES_BEFORE));
        if (as == PLAY) {
            break;
        }
    }
    assert_in_range(ours->store_commits, 1, COMMITS_MAX - 1);
    assert_in_range(ours->main_commits, 0, COMMITS_MAX - 1);
    fill(&ours->store);
    fill(&ours->main);
    return ours->calls;
}

typedef struct figures {
    int64_t calls;
    int64_t points;
    int64_t between;    /* of them, between the commits of the two */
    int64_t recoveries; /* that were killed */
} figures;

static void check_now(const char *folder, int64_t call, mortal_death way)
{
    if (playing->from != ACCOMPANIED) {
        run_process(LOOK, folder, 0, DIES_BEFORE);
    }
    if (!ours->good) {
        fail_msg("%s, call %lld, way %d: %s", playing->name, (long long)call, (int)way, ours->text);
    }
}

static void kill_recoveries(const char *folder, figures *sum)
{
    int64_t last = 1;
    while (!run_process(RECOVER, folder, last, DIES_BEFORE)) {
        last++;
    }
    sum->recoveries += last - 1;
    if (!ours->good) {
        fail_msg("%s, recovering: %s", playing->name, ours->text);
    }
}

/* A call and how much of it is made. */
typedef struct point {
    int64_t call;
    mortal_death way;
} point;

/* Nobody has the store open. */
static void check_anatomy(const char *folder, const point *at)
{
    char path[PATH_SIZE];
    path_in(folder, STORE, path);
    if (access(path, F_OK) == 0) {
        log_chain closed = log_chain_of(path);
        if (closed.has_file || closed.log_id != 0) {
            fail_msg("%s, call %lld, way %d: closed, the store %s a log, and its file is %s",
                     playing->name, (long long)at->call, (int)at->way,
                     closed.log_id != 0 ? "names" : "does not name",
                     closed.has_file ? "there" : "not there");
        }
        anatomy_of(folder, STORE);
    }
}

static void try_point(const template *all, const char *folder, const point *at, bool recovers,
                      figures *sum)
{
    put_template(all, folder);
    start_counting();
    assert_false(run_accompanied(PLAY, folder, at->call, at->way));
    int in_main = ours->main.numbers[ours->main_commits];
    int in_store = ours->store.numbers[ours->store_commits];
    sum->points++;
    sum->between += playing->mixed && in_main < in_store ? 1 : 0;
    if (recovers && playing->from != ACCOMPANIED && playing->from != BEREAVED) {
        kill_recoveries(folder, sum);
    }
    check_now(folder, at->call, at->way);
    check_anatomy(folder, at);
}

/* Every way to die, of calls that are not like many others. Returns how many points there are. */
static int64_t find_points(int64_t calls, point *points)
{
    int64_t count = 0;
    for (int64_t call = 1; call <= calls; call++) {
        bool dull = call + TAIL < calls && random_below(DULL) != 0;
        for (int way = DIES_BEFORE; way < DEATHS && !dull; way++) {
            if (way == DIES_BEFORE || (call < CALLS_MAX && ours->writes[call])) {
                points[count++] = (point){.call = call, .way = (mortal_death)way};
            }
        }
    }
    return count;
}

/* `limit`: how many points are tried, or 0 for all. */
static figures try_points(const template *all, const char *folder, int64_t calls, int64_t limit)
{
    figures sum = {.calls = calls};
    point *points = need(calloc((size_t)calls * DEATHS, sizeof *points));
    int64_t count = find_points(calls, points);
    bool is_long = setting("N", 0) != 0 || setting("LONG", 0) != 0;
    uint32_t recovered = is_long ? LONG_RECOVERED : RECOVERED;
    for (int64_t i = 0; i < count; i++) {
        if (limit <= 0 || random_below((uint32_t)count) < limit) {
            try_point(all, folder, &points[i], random_below(recovered) == 0, &sum);
        }
    }
    free(points);
    return sum;
}

static void print_figures(const char *name, const figures *of)
{
    printf("# %s: %lld calls, killed at %lld points, %lld of them between the two commits, and "
           "%lld times while recovering\n",
           name, (long long)of->calls, (long long)of->points, (long long)of->between,
           (long long)of->recoveries);
}

static void play_scenario(figures *sum, int64_t limit)
{
    template all;
    void *folder = new_folder();
    prepare(&all, folder);
    int64_t calls = learn(&all, folder);
    figures of_this = try_points(&all, folder, calls, limit);
    print_figures(playing->name, &of_this);
    sum->calls += of_this.calls;
    sum->points += of_this.points;
    sum->between += of_this.between;
    sum->recoveries += of_this.recoveries;
    free_template(&all);
    remove_folder(&folder);
}

static void killed_at_each_call(void **state)
{
    (void)state;
    int64_t limit = setting("N", extent(DEFAULT_POINTS, LONG_POINTS));
    const char *only = getenv("ONLY");
    figures sum = {0};
    seed = (uint32_t)setting("SEED", 1);
    printf("# seed %u\n", seed);
    ours = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ours, MAP_FAILED);
    for (int i = 0; i < SCENARIOS; i++) {
        playing = &scenarios[i];
        if (only == NULL || strcmp(only, playing->name) == 0) {
            play_scenario(&sum, limit);
        }
    }
    munmap(ours, sizeof *ours);
    print_figures("all", &sum);
    assert_true(sum.points > 0); /* else ONLY is not the name of a scenario */
}

/* The same with one commit less than there were. */
static void a_wrong_state_is_found_out(void **state)
{
    (void)state;
    template all;
    void *folder = new_folder();
    ours = mmap(NULL, sizeof *ours, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(ours, MAP_FAILED);
    playing = &scenarios[0];
    prepare(&all, folder);
    learn(&all, folder);
    ours->store_commits--;
    run_process(LOOK, folder, 0, DIES_BEFORE);
    assert_false(ours->good);
    ours->store_commits++;
    run_process(LOOK, folder, 0, DIES_BEFORE);
    assert_true(ours->good);
    munmap(ours, sizeof *ours);
    free_template(&all);
    remove_folder(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_each_call),
        cmocka_unit_test(a_wrong_state_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
