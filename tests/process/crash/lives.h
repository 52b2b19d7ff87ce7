/*
 * Processes that work on a store one after the other, of which any may be killed at a system call,
 * recorded as one: what one has written and not flushed when it dies, the next ones read, and it
 * may still be lost with the power.
 */
#ifndef TESTS_PROCESS_CRASH_LIVES_H
#define TESTS_PROCESS_CRASH_LIVES_H

#include "faults/mortal.h"
#include "faults/saboteur.h"
#include "fixtures/child.h"
#include "fixtures/log_mode.h"
#include "fixtures/workload.h"

#include "process/crash/power.h"

enum {
    LIVES = 3,         /* at most */
    LIFE = 5,          /* transactions of a life */
    FAILING = 2,       /* the one of them that fails if there is a saboteur */
    COMPACTING = 3,    /* the one of them before which the store is compacted */
    LIFE_NUMBERS = 20, /* the transactions of the second life have numbers from here on */
    FULL_EVERY = 2,
    DECLARES_EVERY = 4,
    BEFORE = 3, /* transactions before all lives */
    VERSIONS = 40,
    EVENTS_ROOM = 100000,
    BYTES_ROOM = 1 << 28,
    LIFE_TEXT = 300,
    NEVER = -1,
};

#define STORE "main.db-ptable"

typedef struct scenario {
    const char *name;
    const char *work;
    const char *journal_mode;
    const char *sync;
    bool brief;     /* in make test, too */
    bool some_full; /* every FULL_EVERY-th transaction also writes to a table with full */
    bool declares;  /* every DECLARES_EVERY-th one makes a table, too, so it is not logged */
    bool compacts;  /* each life also compacts the store */
    bool mixed;     /* the main database changes too */
    bool undoes;    /* in each life a transaction fails after the store's commit */
    int log;        /* small commits go to the log, which is applied after so many; 0: none does */
    int lives;
    unsigned early; /* bits: these have opened the store before the first one begins */
    bool watched;   /* another process has it open all the time */
} scenario;

/* The calls among which the one is chosen that a process dies of. */
typedef enum life_call {
    CALLS_ANY,
    CALLS_SYNCHRONOUS, /* writes that are on the disk when they return: LMDB's root pages */
    CALLS_OF_LOG,      /* to the file of the log */
    CALLS_NAMES,
    LIFE_CALLS,
} life_call;

/* What the store holds after a transaction, or would. The numbers are of events. */
typedef struct version {
    uint64_t digest;
    int64_t begun;  /* from here on it may be there */
    int64_t done;   /* from here on it has been acknowledged, or seen; or NEVER */
    int64_t gone;   /* from here on it must not be there: it was undone, or seen to be missing */
    bool is_missed; /* it was seen to be missing, but may come back until the next commit */
    bool is_full;
} version;

/* All that is known, in memory that the processes share. */
typedef struct lives_recording {
    const scenario *of;
    disk_log log;
    version versions[VERSIONS];
    int version_count;
    int64_t first_death; /* event; NEVER: nobody has died */
    int deaths;
    int taken_over; /* transactions of the dead that others have found */

    /* Of one life, by a rehearsal in a copy of the folder. */
    int64_t calls[LIFE_CALLS];
    uint64_t expected[LIFE + 1];
    uint64_t whole; /* when the transaction that fails does not */
    char text[LIFE_TEXT];
} lives_recording;

static lives_recording *lives;

/* --- A process that is killed --- */

typedef struct life {
    int number;
    bool rehearses;
    bool sabotages;
    life_call kind; /* and the number among the calls of this kind that it dies of; 0: of none */
    int64_t last;
    mortal_death way;
} life;

static life alive;
static bool counts_calls;
static bool takes_over;

/* For tests of the test: all die in a write of a root page, which is in memory only then; and those
 * who take over do not flush the store. */
static bool all_die_at_root;
static bool flushes_are_dropped;

static inline bool is_of_kind(const system_call *call, life_call kind)
{
    switch (kind) {
    case CALLS_SYNCHRONOUS:
        return call->kind == CALL_WRITE && (syscall(SYS_fcntl, call->fd, F_GETFL) & O_DSYNC) != 0;
    case CALLS_OF_LOG:
        return call->fd >= 0 && mortal_is_of_log(call);
    case CALLS_NAMES:
        return call->kind == CALL_NAME;
    default:
        return true;
    }
}

/* A write, or a part of it, is in memory, but it has not returned: nothing says that it is on the
 * disk, even with O_DSYNC. */
static inline void die_of(const system_call *call)
{
    if (call->kind == CALL_WRITE && alive.way != DIES_BEFORE) {
        struct iovec part = call->parts[0];
        system_call made = *call;
        bool whole = alive.way == DIES_AFTER;
        size_t unit = mortal_is_of_log(call) ? 1 : MORTAL_SECTOR;
        part.iov_len = part.iov_len / 2 / unit * unit;
        made.parts = whole ? call->parts : &part;
        made.part_count = whole ? call->part_count : 1;
        if (!alive.rehearses) {
            size_t before = lives->log.count;
            disk_note_on(&lives->log, &made);
            for (size_t i = before; i < lives->log.count; i++) {
                lives->log.events[i].durable = false;
            }
        }
        mortal_write(call, whole);
    }
    raise(SIGKILL);
}

static inline system_call_verdict life_judge(const system_call *call)
{
    for (int kind = 0; counts_calls && mortal_changes(call) && kind < LIFE_CALLS; kind++) {
        if (is_of_kind(call, (life_call)kind)) {
            lives->calls[kind]++;
            if (kind == (int)alive.kind && lives->calls[kind] == alive.last) {
                die_of(call);
            }
        }
    }
    bool dropped = flushes_are_dropped && takes_over && call->kind == CALL_SYNC &&
                   ends_with(path_of(call), STORE);
    return alive.rehearses || dropped ? (system_call_verdict){0} : disk_judge(call);
}

/* --- Its life --- */

static inline void fail_life(const char *what, sqlite3 *db)
{
    snprintf(lives->text, LIFE_TEXT, "%s: %s", what, sqlite3_errmsg(db));
    _exit(6);
}

static inline sqlite3 *open_main(const char *folder, const scenario *of)
{
    char path[PATH_SIZE];
    path_in(folder, "main.db", path);
    sqlite3 *db = try_open(path);
    if (db == NULL ||
        code_of(db, "PRAGMA journal_mode = %s; PRAGMA synchronous = full", of->journal_mode) !=
            SQLITE_OK ||
        sqlite3_create_module(db, "saboteur", &saboteur_module, NULL) != SQLITE_OK ||
        (of->undoes && code_of(db, "CREATE VIRTUAL TABLE temp.s USING saboteur") != SQLITE_OK)) {
        snprintf(lives->text, LIFE_TEXT, "opening: %s", db != NULL ? sqlite3_errmsg(db) : path);
        _exit(3);
    }
    return db;
}

static inline bool is_full(const scenario *of, int number)
{
    return strcmp(of->sync, "full") == 0 || (of->some_full && number % FULL_EVERY == 0);
}

static inline int transact(sqlite3 *db, const scenario *of, int number)
{
    int code = workload_begin(db, workload_of(of->work), number, of->mixed);
    if (code == SQLITE_OK && of->some_full && number % FULL_EVERY == 0) {
        code = code_of(db, "INSERT OR REPLACE INTO f VALUES('f', 'f', %d)", number);
    }
    if (code == SQLITE_OK && of->declares && number % DECLARES_EVERY == 0) {
        code = code_of(db, "INSERT INTO pt_tables(TableName) VALUES('x%d')", number);
    }
    if (code == SQLITE_OK && of->undoes) {
        code = code_of(db, "INSERT INTO temp.s VALUES(1)");
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

static inline uint64_t content_now(sqlite3 *db)
{
    database_content there = content_of(db, false);
    if (there.code != SQLITE_OK) {
        snprintf(lives->text, LIFE_TEXT, "reading: %s", there.text);
        _exit(4);
    }
    return there.store;
}

static inline void mark(int number)
{
    disk_mark(&lives->log, number, number);
}

static inline version *begin_version(uint64_t digest, bool full)
{
    assert_in_range(lives->version_count, 0, VERSIONS - 1);
    version *begun = &lives->versions[lives->version_count++];
    *begun = (version){.digest = digest,
                       .begun = (int64_t)lives->log.count,
                       .done = NEVER,
                       .gone = NEVER,
                       .is_full = full};
    mark(0);
    return begun;
}

/* Without a log, others may show what the dead have left before it is flushed. */
static inline bool has_log(sqlite3 *db)
{
    char path[PATH_SIZE + FILE_NAME_SIZE];
    snprintf(path, sizeof path, "%s-ptable-log", sqlite3_db_filename(db, "main"));
    return access(path, F_OK) == 0;
}

/* The transaction in which a process has died is there, or it is not and never comes back. (Without
 * a log: once there is another commit. The process may have died in the flush of its undo.) */
static inline void note_what_is_left(uint64_t digest, bool is_flushed)
{
    version *left = &lives->versions[lives->version_count - 1];
    int64_t now = (int64_t)lives->log.count;
    mark(1);
    if (left->done != NEVER || left->gone != NEVER) {
        left = NULL;
    } else if (left->digest == digest) {
        left->done = now;
        left->is_full &= is_flushed;
        lives->taken_over++;
        return;
    } else {
        left->gone = is_flushed ? now : NEVER;
        left->is_missed = !is_flushed;
    }
    for (int i = lives->version_count - 1; i >= 0; i--) {
        if (lives->versions[i].gone == NEVER && !lives->versions[i].is_missed) {
            left = &lives->versions[i];
            break;
        }
    }
    if (left == NULL || left->digest != digest) {
        snprintf(lives->text, LIFE_TEXT, "what the dead have left is not what they have committed");
        _exit(5);
    }
}

/* The first writer after a death makes visible what the dead have left, or finds that it is not
 * whole. */
static inline void take_over(sqlite3 *db)
{
    takes_over = true;
    int code = code_of(db, "BEGIN; DELETE FROM t WHERE 0; COMMIT");
    takes_over = false;
    if (code != SQLITE_OK) {
        fail_life("taking over", db);
    }
    uint64_t digest = content_now(db);
    if (alive.rehearses) {
        lives->expected[0] = digest;
    } else if (digest != lives->expected[0]) {
        snprintf(lives->text, LIFE_TEXT, "who takes over sees other things than in a copy");
        _exit(7);
    } else {
        note_what_is_left(digest, has_log(db));
    }
}

static inline void note_commit(int64_t now)
{
    for (int i = 0; i < lives->version_count; i++) {
        if (lives->versions[i].is_missed) {
            lives->versions[i].is_missed = false;
            lives->versions[i].gone = now;
        }
    }
}

static inline void work_once(sqlite3 *db, int i)
{
    int number = (alive.number + 1) * LIFE_NUMBERS + i;
    bool may_fail = lives->of->undoes && i == FAILING;
    bool fails = may_fail && alive.sabotages;
    version *made = NULL;
    if (lives->of->compacts && i == COMPACTING && code_of(db, "SELECT pt_compact()") != SQLITE_OK) {
        fail_life("compacting", db);
    }
    if (!alive.rehearses) {
        made = begin_version(fails ? lives->whole : lives->expected[i], is_full(lives->of, number));
    }
    saboteur_code = fails ? SQLITE_ERROR : SQLITE_OK;
    if ((transact(db, lives->of, number) != SQLITE_OK) != fails) {
        fail_life("a transaction", db);
    }
    int64_t now = (int64_t)lives->log.count;
    uint64_t digest;
    if (made != NULL) {
        mark(2);
    }
    digest = content_now(db);
    if (alive.rehearses) {
        lives->expected[i] = digest;
        lives->whole = may_fail && !fails ? digest : lives->whole;
    } else if (digest != lives->expected[i]) {
        snprintf(lives->text, LIFE_TEXT, "transaction %d: the store is as expected no more",
                 number);
        _exit(9);
    } else if (fails) {
        made->gone = now;
    } else {
        made->done = now;
        note_commit(now);
    }
}

/* `ready` and `go`: descriptors for a process that opens the store and then waits for its turn. */
static inline void live(const char *folder, bool early, int ready, int go)
{
    char sign = 0;
    sqlite3 *db = NULL;
    die_of_signals();
    system_call_judge = life_judge;
    counts_calls = false;
    if (early) {
        db = open_main(folder, lives->of);
        content_now(db);
    }
    if (ready >= 0 &&
        (write(ready, &sign, 1) != 1 || read(go, &alive, sizeof alive) != (ssize_t)sizeof alive)) {
        _exit(10);
    }
    memset(lives->calls, 0, sizeof lives->calls);
    counts_calls = true;
    if (db == NULL) {
        takes_over = true;
        db = open_main(folder, lives->of);
    }
    if (alive.number < LIVES) {
        take_over(db);
        for (int i = 1; i <= LIFE; i++) {
            work_once(db, i);
        }
    }
    if (sqlite3_close(db) != SQLITE_OK) {
        _exit(11);
    }
    _exit(0);
}

/* --- Those who start them --- */

typedef struct living {
    pid_t pid;
    int ready;
    int go;
} living;

static inline living start_life(const char *folder, bool early)
{
    int to[2];
    int from[2];
    char sign;
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(to[1]);
        live(folder, early, from[1], to[0]);
    }
    close(to[0]);
    close(from[1]);
    living started = {.pid = pid, .ready = from[0], .go = to[1]};
    if (read(started.ready, &sign, 1) != 1) {
        fail_msg("%s: a process cannot open the store: %s", lives->of->name, lives->text);
    }
    return started;
}

/* True if it was killed. */
static inline bool end_life(living *started, const life *as)
{
    int status;
    assert_int_equal(write(started->go, as, sizeof *as), sizeof *as);
    assert_int_equal(waitpid(started->pid, &status, 0), started->pid);
    close(started->ready);
    close(started->go);
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && as->last > 0;
    if (!killed && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
        fail_msg("%s, life %d%s, call %lld of kind %d, way %d: ended with status %d: %s",
                 lives->of->name, as->number, as->rehearses ? " rehearsed" : "",
                 (long long)as->last, (int)as->kind, (int)as->way, status, lives->text);
    }
    return killed;
}

/* Learns in copies of the folder what this life makes. */
static inline void rehearse(const char *folder, const char *copy, int number, bool early)
{
    for (int sabotages = lives->of->undoes ? 0 : 1; sabotages < 2; sabotages++) {
        life as = {.number = number, .rehearses = true, .sabotages = sabotages != 0};
        copy_folder(folder, copy);
        alive.rehearses = true;
        living process = start_life(copy, early);
        end_life(&process, &as);
    }
    alive.rehearses = false;
}

static inline void choose_death(life *as, uint64_t *random)
{
    as->kind = (life_call)power_random(random, LIFE_CALLS);
    as->kind = lives->calls[as->kind] > 0 ? as->kind : CALLS_ANY;
    as->last = 1 + power_random(random, (uint32_t)lives->calls[as->kind] + 1);
    as->way = (mortal_death)power_random(random, DEATHS);
    as->way = power_random(random, 2) == 0 ? DIES_AFTER : as->way;
    if (all_die_at_root) {
        as->kind = CALLS_SYNCHRONOUS;
        as->last = 1 + power_random(random, (uint32_t)lives->calls[as->kind]);
        as->way = DIES_AFTER;
    }
}

static inline void live_on(const char *folder, const char *copy, uint64_t random)
{
    const scenario *of = lives->of;
    living processes[LIVES + 1] = {0};
    for (int i = 0; i < of->lives; i++) {
        if ((of->early >> i & 1) != 0) {
            processes[i] = start_life(folder, true);
        }
    }
    if (of->watched) {
        processes[LIVES] = start_life(folder, true);
    }
    for (int i = 0; i < of->lives; i++) {
        life as = {.number = i, .sabotages = true};
        bool early = (of->early >> i & 1) != 0;
        rehearse(folder, copy, i, early);
        choose_death(&as, &random);
        if (!early) {
            processes[i] = start_life(folder, false);
        }
        if (end_life(&processes[i], &as)) {
            lives->first_death =
                lives->first_death == NEVER ? (int64_t)lives->log.count : lives->first_death;
            lives->deaths++;
            mark(3);
        }
    }
    if (of->watched) {
        end_life(&processes[LIVES], &(life){.number = LIVES});
    }
}

static inline void *share_memory(size_t size)
{
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

static inline void record_lives(const scenario *of, const char *folder, const char *copy,
                                uint64_t random)
{
    static disk_event *events;
    static uint8_t *bytes;
    if (lives == NULL) {
        lives = share_memory(sizeof *lives);
        events = share_memory(EVENTS_ROOM * sizeof *events);
        bytes = share_memory(BYTES_ROOM);
    }
    *lives = (lives_recording){.of = of, .first_death = NEVER};
    alive = (life){0};
    if (of->log != 0) {
        use_log(of->log);
    } else {
        use_no_log();
    }
    empty_folder(folder);
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s", of->journal_mode);
    assert_int_equal(workload_declare(db, workload_of(of->work), of->sync), SQLITE_OK);
    if (of->some_full) {
        run(db, "CREATE VIRTUAL TABLE f USING ptable(V Int64, sync='full')");
    }
    for (int number = 1; number <= BEFORE; number++) {
        assert_int_equal(workload_transact(db, workload_of(of->work), number, of->mixed),
                         SQLITE_OK);
    }
    uint64_t first = content_of(db, false).store;
    close_database(db);
    disk_record(&lives->log, folder);
    disk_share(&lives->log, events, EVENTS_ROOM, bytes, BYTES_ROOM);
    begin_version(first, true)->done = 0;
    live_on(folder, copy, random);
    disk_stop();
}

#endif
