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
#include "fixtures/workload.h"

enum {
    DEFAULT_POINTS = 9,
    SESSION = 3, /* of the session that is killed */
    FAILING = 2, /* the transaction of these that fails if there is a saboteur */
    COMMITS_MAX = 64,
    FILES_MAX = 8,
    META_PAGES = 2 * 4096,
    WAL_FRAME = 24,
    CALLS_MAX = 20000,
    TAIL = 150, /* calls at the end of a long run; of those before one in DULL is tried */
    DULL = 200,
    RECOVERED = 6, /* one in so many is killed while it recovers, too */
};

#define STORE "main.db-ptable"

typedef struct scenario {
    const char *name;
    const char *work;
    const char *journal_mode;
    const char *sync;
    int first; /* transactions before those that are killed */
    bool mixed;
    bool creates; /* the first transaction makes the store and declares the tables */
    bool undoes;  /* one of the transactions fails after the store's commit */
} scenario;

static const scenario scenarios[] = {
    {"rows", "rows", "delete", "full", 5, false, false, false},
    {"large", "large", "wal", "full", 5, false, false, false},
    {"drop", "drop", "wal", "normal", 5, false, false, false},
    {"queue", "queue", "delete", "off", 5, false, false, false},
    {"indexed", "indexed", "wal", "full", 5, false, false, false},
    {"followed", "followed", "wal", "full", 5, false, false, false},
    {"shrink", "shrink", "wal", "full", 1, false, false, false},
    {"delete", "rows", "delete", "full", 5, true, false, false},
    {"truncate", "drop", "truncate", "full", 5, true, false, false},
    {"persist", "large", "persist", "full", 5, true, false, false},
    {"wal", "rows", "wal", "full", 5, true, false, false},
    {"wal-queue", "queue", "wal", "normal", 5, true, false, false},
    {"undo", "rows", "delete", "full", 5, true, false, true},
    {"undo-wal", "large", "wal", "full", 5, true, false, true},
    {"undo-indexed", "indexed", "delete", "full", 5, true, false, true},
    {"undo-followed", "followed", "delete", "full", 5, true, false, true},
    {"create", "rows", "delete", "full", 5, true, true, false},
    {"create-wal", "drop", "wal", "full", 5, true, true, false},
    {"create-followed", "followed", "delete", "full", 5, true, true, false},
    {"create-indexed", "indexed", "delete", "full", 5, true, true, false},
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
    bool writes[CALLS_MAX]; /* the call writes */
    int store_commits;
    int main_commits;
    bool frame_commits; /* the last frame of the write-ahead log is to be the last of a commit */
    bool survived;

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

/* A commit of the store ends with the write of a root page. */
static void note_commits(const system_call *call)
{
    if (mortal_calls < CALLS_MAX) {
        ours->writes[mortal_calls] = call->kind == CALL_WRITE;
    }
    const char *path = path_of(call);
    if (path != NULL && call->kind == CALL_WRITE && ends_with(path, STORE)) {
        ours->store_commits += call->offset >= 0 && call->offset < META_PAGES;
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

static bool is_as_committed(const database_content *there)
{
    int store = ours->store_commits;
    int main = ours->main_commits;
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
    return is_as_committed(&there) && (!goes || goes_on(db));
}

static void look(const char *folder)
{
    sqlite3 *db = open_main(folder);
    ours->good = check(db, true);
    if (sqlite3_close(db) != SQLITE_OK) {
        ours->good = wrong("closing", "it was not done with");
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

/* What the transactions before leave. */
static void prepare(template *all, const char *folder)
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
    close_database(db);
    take_template(all, folder);
}

typedef enum role { PLAY, PLAY_WHOLLY, LOOK, RECOVER } role;

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

static void start_counting(void)
{
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
        assert_true(run_process(as, folder, 0, DIES_BEFORE));
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
    run_process(LOOK, folder, 0, DIES_BEFORE);
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

/* Nobody has the store open. */
static void check_anatomy(const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, STORE, path);
    if (access(path, F_OK) == 0) {
        anatomy_of(folder, STORE);
    }
}

/* A call and how much of it is made. */
typedef struct point {
    int64_t call;
    mortal_death way;
} point;

static void try_point(const template *all, const char *folder, const point *at, bool recovers,
                      figures *sum)
{
    put_template(all, folder);
    start_counting();
    assert_false(run_process(PLAY, folder, at->call, at->way));
    int in_main = ours->main.numbers[ours->main_commits];
    int in_store = ours->store.numbers[ours->store_commits];
    sum->points++;
    sum->between += playing->mixed && in_main < in_store ? 1 : 0;
    if (recovers) {
        kill_recoveries(folder, sum);
    }
    check_now(folder, at->call, at->way);
    check_anatomy(folder);
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
    for (int64_t i = 0; i < count; i++) {
        if (limit <= 0 || random_below((uint32_t)count) < limit) {
            try_point(all, folder, &points[i], random_below(RECOVERED) == 0, &sum);
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
    void *folder = make_quick_folder();
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
    int64_t limit = setting("N", DEFAULT_POINTS);
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
    void *folder = make_quick_folder();
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
