/*
 * The power fails: of what a process has written, the disk holds what it has promised to hold, and
 * any part of the rest. However that comes out, each transaction is there wholly or not at all, as
 * far as its `sync` promises, and work goes on.
 *
 * N: how many images are looked at; SEED; ONLY: the name of one scenario.
 */
#include <sys/wait.h>

#include "process/crash/recording.h"

enum { DEFAULT_IMAGES = 250, LONG_IMAGES = 500, TEXT_SIZE = 400 };

/* --- What may be there --- */

/* Also a transaction that has failed, in LMDB's tree: its undo is a full commit. */
static bool is_flushed(const scenario *of, int number)
{
    return is_full(of, number) || (of->log == 0 && failure_of(of, number) != FAILS_NOT);
}

/* At a moment: which states of the store are good. */
typedef struct promise {
    int first;
    int last;
} promise;

static promise promise_at(const recording *all, int64_t event)
{
    promise promised = {0};
    for (int number = 1; number <= TRANSACTIONS; number++) {
        if (all->done[number] <= event && is_flushed(all->of, number)) {
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

/* True if the main database may be in one state and the store in another. */
static bool may_differ(const recording *all, int64_t event, int in_store, int in_main)
{
    bool follows = is_full(all->of, 1); /* else the store may lack any number of commits */
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

/* All that was written to the store's file is on the disk. */
static bool tree_is_flushed(const recording *all, int64_t event)
{
    int store = file_of(all, STORE);
    bool flushed = true;
    for (int64_t i = 0; i <= event; i++) {
        const disk_event *at = &all->log.events[i];
        bool writes = (at->kind == DISK_WRITE && !at->durable) || at->kind == DISK_RESIZE;
        if (at->file == store && (writes || (at->kind == DISK_SYNC && i < event))) {
            flushed = !writes;
        }
    }
    return flushed;
}

/* Nothing is promised of what lies on commits with sync=off, except in a log. */
static bool is_promised(const recording *all, int64_t event)
{
    promise promised = promise_at(all, event);
    return strcmp(all->of->sync, "off") != 0 || promised.last == 0 ||
           (promised.last == promised.first && all->done[promised.first] <= event) ||
           (all->of->log != 0 && tree_is_flushed(all, event));
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
static int state_of(const recording *all, int64_t event, const database_content *there, bool *apart)
{
    promise promised = promise_at(all, event);
    int fails = promised.last;
    if (failure_of(all->of, fails) != FAILS_NOT && all->done[fails] > event &&
        all->failing[fails].store == there->store && all->states[fails - 1].main == there->main) {
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
static void describe(const recording *all, int64_t event, const database_content *there,
                     findings *found)
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
    database_content there = content_of(db, true);
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

/* Closed cleanly, a store is one file, whatever the power failure has left of its log. */
static bool is_one_file(const char *folder, findings *found)
{
    char path[PATH_SIZE];
    path_in(folder, STORE "-log", path);
    return access(path, F_OK) != 0 || found_wrong(found, "closing", "the log is still there");
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
    return good && is_one_file(folder, found);
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
            break; /* a connection is still open, and would be in the way */
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
        pid_t pid = fork_process();
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

static findings try_scenario(const scenario *of, const char *dropped, int64_t count, uint64_t seed)
{
    static recording all;
    void *writes = new_folder();
    void *looks = new_folder();
    record(&all, of, writes, dropped, seed);
    findings found = look_at_images(&all, count, seed, looks);
    disk_free(&all.log);
    remove_folder(&writes);
    remove_folder(&looks);
    return found;
}

static void power_fails(void **state)
{
    (void)state;
    int64_t count = setting("N", extent(DEFAULT_IMAGES, LONG_IMAGES)) / SCENARIOS;
    uint64_t seed = (uint64_t)setting("SEED", 1);
    const char *only = getenv("ONLY");
    findings sum = {0};
    for (int i = 0; i < SCENARIOS; i++) {
        if (only != NULL && strcmp(only, scenarios[i].name) != 0) {
            continue;
        }
        findings found = try_scenario(&scenarios[i], NULL, count, seed + (uint64_t)i * 1000);
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
    assert_true(sum.images > 0); /* else ONLY is not the name of a scenario */
    assert_int_equal(sum.failures, 0);
}

static const scenario *scenario_of(const char *name)
{
    const scenario *of = scenarios;
    while (strcmp(of->name, name) != 0) {
        of++;
    }
    return of;
}

static void lie(const char *name, const char *dropped)
{
    uint64_t seed = (uint64_t)setting("SEED", 1);
    findings found = try_scenario(scenario_of(name), dropped, 60, seed);
    printf("# %s, without syncs of *%s: %lld of %lld images wrong, %lld processes died of them\n",
           name, dropped, (long long)found.failures, (long long)found.images,
           (long long)found.deaths);
    assert_true(found.failures > found.images / 4);
}

/* A disk that only says that it has synced: this must be noticed. */
static void a_disk_that_lies_is_found_out(void **state)
{
    (void)state;
    lie("rows", "");
    lie("log", "-log");
    lie("log-limit", STORE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_fails),
        cmocka_unit_test(a_disk_that_lies_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
