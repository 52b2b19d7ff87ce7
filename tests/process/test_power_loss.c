/*
 * The power fails: of what a process has written, the disk holds what it has promised to hold, and
 * any part of the rest. However that comes out, each transaction is there wholly or not at all, as
 * far as its `sync` promises, and work goes on.
 *
 * N: how many images are looked at; SEED; ONLY: the name of one scenario.
 */
#include <sys/wait.h>

#include "anatomy.h"
#include "power.h"
#include "saboteur.h"
#include "workload.h"

enum {
    DEFAULT_IMAGES = 700,
    TRANSACTIONS = 12,
    FULL_EVERY = 4,
    FAILS_EVERY = 3,
    EARLIER = 100,
    NEVER = -1,
    TEXT_SIZE = 400
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
} scenario;

static const scenario scenarios[] = {
    {"rows", "rows", "delete", "full", "full", false, false, false, false, false},
    {"shrink", "shrink", "delete", "full", "full", false, false, false, false, false},
    {"large", "large", "wal", "full", "full", false, false, false, false, false},
    {"drop", "drop", "delete", "full", "full", false, false, false, false, false},
    {"queue", "queue", "wal", "full", "full", false, false, false, false, false},
    {"delete", "rows", "delete", "full", "full", true, false, false, false, false},
    {"delete-extra", "queue", "delete", "extra", "full", true, false, false, false, false},
    {"truncate", "rows", "truncate", "full", "full", true, false, false, false, false},
    {"persist", "rows", "persist", "full", "full", true, false, false, false, false},
    {"wal", "large", "wal", "full", "full", true, false, false, false, false},
    {"wal-normal", "rows", "wal", "normal", "full", true, false, false, false, false},
    {"normal", "rows", "delete", "full", "normal", false, false, false, false, false},
    {"normal-mixed", "drop", "wal", "full", "normal", true, false, false, false, false},
    {"normal-full", "shrink", "wal", "full", "normal", false, true, false, false, false},
    {"off-full", "drop", "delete", "full", "off", false, true, false, false, false},
    {"off-full-mixed", "rows", "wal", "full", "off", true, true, false, false, false},
    {"create", "rows", "delete", "full", "full", true, false, true, false, false},
    {"create-wal", "drop", "wal", "full", "full", true, false, true, false, false},
    {"undo", "large", "wal", "full", "full", true, false, false, true, false},
    {"undo-rows", "rows", "wal", "full", "full", false, false, false, true, false},
    {"again", "large", "delete", "full", "full", true, false, false, false, true},
    {"again-wal", "rows", "wal", "full", "full", true, false, false, false, true},
    {"again-drop", "drop", "wal", "full", "full", false, false, false, false, true},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* --- The process that writes --- */

enum { MARK_BEGUN, MARK_DONE };

/* All that is known of a run. */
typedef struct recording {
    const scenario *of;
    disk_log log;
    content states[TRANSACTIONS + 1];  /* after each transaction */
    content failing[TRANSACTIONS + 1]; /* while it fails */
    int64_t begun[TRANSACTIONS + 1];   /* the events */
    int64_t done[TRANSACTIONS + 1];
    int64_t in_store[TRANSACTIONS + 1]; /* the store's part begins to be on the disk */
    int64_t in_main[TRANSACTIONS + 1];  /* the main database's part is certain to be there;
                                           NEVER: not within the log */
} recording;

static bool is_full(const scenario *of, int number)
{
    return strcmp(of->sync, "full") == 0 || (of->some_full && number % FULL_EVERY == 0);
}

static int declare(sqlite3 *db, const scenario *of)
{
    int code = workload_declare(db, workload_of(of->work), of->sync);
    return code != SQLITE_OK || !of->some_full
               ? code
               : code_of(db, "CREATE VIRTUAL TABLE f USING ptable(V Int64, sync='full')");
}

static bool fails_here(const scenario *of, int number)
{
    return of->undoes && number % FAILS_EVERY == 0;
}

static int transact(sqlite3 *db, const scenario *of, int number)
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
        saboteur_code = fails_here(of, number) ? SQLITE_ERROR : SQLITE_OK;
        code = code_of(db, "INSERT INTO temp.s VALUES(1)");
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

static sqlite3 *open_main(const char *folder, const scenario *of)
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
static bool commits_main(const recording *all, const disk_event *event)
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
static int64_t made_durable(const disk_log *log, int64_t from)
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

/* Where the parts of a transaction come to lie on the disk. */
static void note_parts(recording *all, int number)
{
    int64_t main_part = NEVER;
    int store = -1;
    for (int i = 0; i < all->log.name_count; i++) {
        store = strcmp(all->log.names[i], STORE) == 0 ? all->log.at[i] : store;
    }
    all->in_store[number] = all->done[number];
    for (int64_t i = all->begun[number]; i < all->done[number]; i++) {
        const disk_event *event = &all->log.events[i];
        if (event->kind == DISK_WRITE && event->durable && event->file == store) {
            all->in_store[number] = i;
        }
        main_part = commits_main(all, event) ? i : main_part;
    }
    all->in_main[number] = main_part;
}

static void settle_parts(recording *all)
{
    for (int number = 1; number <= TRANSACTIONS; number++) {
        all->in_main[number] = all->in_main[number] == NEVER
                                   ? all->begun[number]
                                   : made_durable(&all->log, all->in_main[number]);
    }
}

/* What others see of a transaction that fails, after the store's commit. */
static sqlite3 *witness;
static content witnessed;

static void look_on(void)
{
    if (saboteur_code != SQLITE_OK) {
        witnessed = content_of(witness, true);
    }
}

/* `before`: the number of those that an earlier process has made. */
static void record_transaction(recording *all, sqlite3 *db, int number, int before)
{
    bool fails = fails_here(all->of, number);
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
    if (fails) {
        all->failing[number] = witnessed;
        assert_true(witnessed.store != all->states[number].store);
        assert_true(all->states[number].store == all->states[number - 1].store);
    }
}

/* What is in the folder is on the disk. */
static void record_session(recording *all, const char *folder, int before)
{
    disk_record(&all->log, folder);
    sqlite3 *db = open_main(folder, all->of);
    witness = all->of->undoes ? open_database(folder, "main.db") : NULL;
    saboteur_watch = all->of->undoes ? look_on : NULL;
    all->states[0] = content_of(db, true);
    for (int number = 1; number <= TRANSACTIONS; number++) {
        record_transaction(all, db, number, before);
    }
    disk_stop();
    saboteur_watch = NULL;
    saboteur_code = SQLITE_OK;
    close_database(db);
    sqlite3_close(witness);
    settle_parts(all);
}

/* Leaves in the folder what a power failure leaves of the session. */
static void lose_power(const recording *all, const char *folder, uint64_t seed)
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

static void record(recording *all, const scenario *of, const char *folder, bool drops_syncs,
                   uint64_t seed)
{
    *all = (recording){.of = of, .log = {.drops_syncs = drops_syncs}};
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

/* --- What may be there --- */

/* At a moment: which states of the store are good. */
typedef struct promise {
    int first;
    int last;
} promise;

static promise promise_at(const recording *all, int64_t event)
{
    promise promised = {0};
    for (int number = 1; number <= TRANSACTIONS; number++) {
        if (all->done[number] <= event && is_full(all->of, number)) {
            promised.first = number;
        }
        promised.last = all->begun[number] <= event ? number : promised.last;
    }
    return promised;
}

/* Between the two parts of a transaction. */
static bool is_between(const recording *all, int number, int64_t event)
{
    return all->in_store[number] <= event &&
           (all->in_main[number] == NEVER || all->in_main[number] >= event);
}

/* Whether the main database may be in one state while the store is in another. */
static bool may_differ(const recording *all, int64_t event, int in_store, int in_main)
{
    bool follows = is_full(all->of, 1); /* else the store may fall behind as it likes */
    for (int number = in_main + 1; number <= in_store; number++) {
        if (!is_between(all, number, event)) {
            return false;
        }
    }
    return in_main <= in_store || !follows;
}

static bool any_between(const recording *all, int64_t event)
{
    for (int number = 1; all->of->mixed && number <= TRANSACTIONS; number++) {
        if (is_full(all->of, 1) && is_between(all, number, event)) {
            return true;
        }
    }
    return false;
}

/* Nothing is promised of what lies on commits with sync=off. */
static bool is_promised(const recording *all, int64_t event)
{
    promise promised = promise_at(all, event);
    return strcmp(all->of->sync, "off") != 0 || promised.last == 0 ||
           (promised.last == promised.first && all->done[promised.first] <= event);
}

/* --- Looking at images --- */

/* Shared with the process that looks. */
typedef struct findings {
    int64_t next; /* image to look at */
    int64_t images;
    int64_t between; /* of these, at moments between the two parts of a transaction */
    int64_t apart;   /* of these, with the store ahead of the main database */
    int64_t lost;    /* acknowledged transactions that sync=normal has lost, most in one image */
    int64_t failures;
    int64_t deaths;
    char text[TEXT_SIZE]; /* of the first failure */
} findings;

static bool found_wrong(findings *found, const char *what, const char *more)
{
    snprintf(found->text, sizeof found->text, "%s: %s", what, more);
    return false;
}

/* The state of the store, with the main database in a state that goes with it, or -1. */
static int state_of(const recording *all, int64_t event, const content *there, bool *apart)
{
    promise promised = promise_at(all, event);
    int fails = promised.last;
    if (fails_here(all->of, fails) && all->done[fails] > event &&
        all->failing[fails].store == there->store && all->states[fails].main == there->main) {
        *apart = true;
        return fails;
    }
    for (int in_store = promised.last; in_store >= promised.first; in_store--) {
        for (int in_main = promised.last;
             all->states[in_store].store == there->store && in_main >= 0; in_main--) {
            if (all->states[in_main].main == there->main &&
                may_differ(all, event, in_store, in_main)) {
                *apart = all->of->mixed && in_main != in_store;
                return in_store;
            }
        }
    }
    return -1;
}

/* In words: which states the two databases are in. */
static void describe(const recording *all, int64_t event, const content *there, findings *found)
{
    promise promised = promise_at(all, event);
    int in_store = -1;
    int in_main = -1;
    for (int i = 0; i <= TRANSACTIONS; i++) {
        in_store = all->states[i].store == there->store ? i : in_store;
        in_main = all->states[i].main == there->main ? i : in_main;
    }
    snprintf(found->text, sizeof found->text,
             "store as after transaction %d, main database as after %d (-1: after none); promised: "
             "%d to %d",
             in_store, in_main, promised.first, promised.last);
}

/* After a making that was cut off, the tables can be made. */
static bool makes_tables(sqlite3 *db, const recording *all, findings *found)
{
    if (transact(db, all->of, 1) != SQLITE_OK) {
        return found_wrong(found, "making it again", sqlite3_errmsg(db));
    }
    return true;
}

static bool goes_on(sqlite3 *db, findings *found)
{
    int code = code_of(db, "BEGIN; INSERT INTO t(PartitionKey, RowKey) VALUES('probe', 'a');"
                           "INSERT INTO o(number) VALUES(1000); COMMIT;"
                           "DELETE FROM t WHERE PartitionKey = 'probe'");
    if (code != SQLITE_OK) {
        return found_wrong(found, "the next transaction", sqlite3_errmsg(db));
    }
    return true;
}

static bool check_database(sqlite3 *db, const recording *all, int64_t event, findings *found)
{
    if (!main_is_sound(db)) {
        return found_wrong(found, "integrity_check", sqlite3_errmsg(db));
    }
    content there = content_of(db, true);
    if (there.code != SQLITE_OK) {
        return found_wrong(found, "reading", there.text);
    }
    bool may_be_unmade = all->in_main[1] == NEVER || all->in_main[1] >= event;
    if (all->of->creates && may_be_unmade && there.main == all->states[0].main) {
        return makes_tables(db, all, found) && goes_on(db, found);
    }
    bool apart = false;
    int state = state_of(all, event, &there, &apart);
    if (state < 0) {
        describe(all, event, &there, found);
        return false;
    }
    int acknowledged = 0;
    for (int number = 1; number <= TRANSACTIONS; number++) {
        acknowledged = all->done[number] <= event ? number : acknowledged;
    }
    found->lost = acknowledged - state > found->lost ? acknowledged - state : found->lost;
    found->between += any_between(all, event);
    found->apart += apart;
    return goes_on(db, found);
}

/* What the engine itself finds in the file of the store. */
static bool check_store(sqlite3 *db, const char *folder, findings *found)
{
    char path[PATH_SIZE];
    sqlite3_stmt *check = NULL;
    path_in(folder, STORE, path);
    bool sound = true;
    if (sqlite3_prepare_v2(db, "SELECT pt_check(?)", -1, &check, NULL) == SQLITE_OK) {
        sqlite3_bind_text(check, 1, path, -1, SQLITE_STATIC);
        const char *answer =
            sqlite3_step(check) == SQLITE_ROW ? (const char *)sqlite3_column_text(check, 0) : NULL;
        sound = answer != NULL && strcmp(answer, "ok") == 0;
        if (!sound) {
            found_wrong(found, "pt_check", answer != NULL ? answer : sqlite3_errmsg(db));
        }
    }
    sqlite3_finalize(check);
    return sound;
}

static bool check_image(const recording *all, int64_t event, const char *folder, findings *found)
{
    char path[PATH_SIZE];
    path_in(folder, "main.db", path);
    sqlite3 *db = try_open(path);
    if (db == NULL) {
        return found_wrong(found, "opening", path);
    }
    bool good = check_database(db, all, event, found) && check_store(db, folder, found);
    if (sqlite3_close(db) != SQLITE_OK) {
        good = found_wrong(found, "closing", sqlite3_errmsg(db));
    }
    return good;
}

/* --- Moments --- */

/* While a new store is filled, under a name that nobody knows, one moment is like another. */
static bool is_dull(const recording *all, size_t event)
{
    int file = all->log.events[event].file;
    for (int i = 0; file >= 0 && i < all->log.name_count; i++) {
        if (strstr(all->log.names[i], "-new-") != NULL && all->log.at[i] < 0) {
            return event + 20 < all->log.count && all->log.events[event + 20].file == file;
        }
    }
    return false;
}

/* An event after which the power fails, and the numbers that decide about the image. */
typedef struct moment {
    int64_t event;
    uint64_t random;
} moment;

static int compare_moments(const void *left, const void *right)
{
    const moment *one = left;
    const moment *other = right;
    return one->event != other->event     ? (one->event < other->event ? -1 : 1)
           : one->random != other->random ? (one->random < other->random ? -1 : 1)
                                          : 0;
}

static moment *choose_moments(const recording *all, int64_t count, uint64_t seed)
{
    moment *moments = need(calloc((size_t)count, sizeof *moments));
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    power_random(&random, 2);
    for (int64_t i = 0; i < count; i++) {
        int64_t event;
        bool dull;
        do {
            event = power_random(&random, (uint32_t)all->log.count);
            dull = is_dull(all, (size_t)event) && power_random(&random, 1000) != 0;
        } while (dull || !is_promised(all, event));
        moments[i] = (moment){.event = event, .random = random};
    }
    qsort(moments, (size_t)count, sizeof *moments, compare_moments);
    return moments;
}

/* --- The process that looks --- */

static void look(const recording *all, const moment *moments, int64_t count, const char *folder,
                 findings *found)
{
    power_disk disk;
    power_begin(&disk, &all->log);
    while (found->next < count) {
        const moment *at = &moments[found->next++];
        power_advance(&disk, (size_t)at->event);
        found->images++;
        empty_folder(folder);
        power_image image = power_choose(&disk, at->random);
        char before[TEXT_SIZE];
        snprintf(before, sizeof before, "%s", found->text);
        bool good = power_make(&disk, image, folder) && check_image(all, at->event, folder, found);
        if (!good && found->failures++ == 0) {
            size_t used = strlen(found->text);
            snprintf(found->text + used, sizeof found->text - used,
                     " (image %lld, event %lld of %zu, choice %d)", (long long)found->next - 1,
                     (long long)at->event, all->log.count, (int)image.choice);
        } else if (found->failures > 0) {
            snprintf(found->text, sizeof found->text, "%s", before);
        }
        if (!good) {
            break; /* what is still open would be in the way */
        }
    }
    power_end(&disk);
}

static findings look_at_images(const recording *all, int64_t count, uint64_t seed,
                               const char *folder)
{
    findings *found =
        mmap(NULL, sizeof *found, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(found, MAP_FAILED);
    moment *moments = choose_moments(all, count, seed);
    fflush(stdout);
    while (found->next < count) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            die_of_signals();
            look(all, moments, count, folder, found);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            found->deaths++;
            if (found->failures++ == 0) {
                snprintf(found->text, sizeof found->text, "died of signal %d (image %lld)",
                         WIFSIGNALED(status) ? WTERMSIG(status) : 0, (long long)found->next - 1);
            }
        }
    }
    free(moments);
    findings result = *found;
    munmap(found, sizeof *found);
    return result;
}

/* --- The tests --- */

static findings try_scenario(const scenario *of, bool drops_syncs, int64_t count, uint64_t seed)
{
    static recording all;
    void *writes = make_quick_folder();
    void *looks = make_quick_folder();
    record(&all, of, writes, drops_syncs, seed);
    findings found = look_at_images(&all, count, seed, looks);
    disk_free(&all.log);
    remove_folder(&writes);
    remove_folder(&looks);
    return found;
}

static void power_fails(void **state)
{
    (void)state;
    int64_t count = setting("N", DEFAULT_IMAGES) / SCENARIOS;
    uint64_t seed = (uint64_t)setting("SEED", 1);
    const char *only = getenv("ONLY");
    findings sum = {0};
    for (int i = 0; i < SCENARIOS; i++) {
        if (only != NULL && strcmp(only, scenarios[i].name) != 0) {
            continue;
        }
        findings found = try_scenario(&scenarios[i], false, count, seed + (uint64_t)i * 1000);
        printf("# %s: %lld images, %lld between the two commits, %lld of them apart, %lld "
               "acknowledged ones lost at most, %lld wrong\n",
               scenarios[i].name, (long long)found.images, (long long)found.between,
               (long long)found.apart, (long long)found.lost, (long long)found.failures);
        if (found.failures != 0) {
            printf("# %s: %s\n", scenarios[i].name, found.text);
        }
        sum.images += found.images;
        sum.failures += found.failures;
        sum.deaths += found.deaths;
    }
    printf("# seed %llu: %lld images of what a power failure leaves, %lld wrong\n",
           (unsigned long long)seed, (long long)sum.images, (long long)sum.failures);
    assert_int_equal(sum.failures, 0);
}

/* A disk that only says that it has synced: this must be noticed. */
static void a_disk_that_lies_is_found_out(void **state)
{
    (void)state;
    findings found = try_scenario(&scenarios[0], true, 60, (uint64_t)setting("SEED", 1));
    printf("# without syncs: %lld of %lld images wrong, %lld processes died of them\n",
           (long long)found.failures, (long long)found.images, (long long)found.deaths);
    assert_true(found.failures > found.images / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_fails),
        cmocka_unit_test(a_disk_that_lies_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
