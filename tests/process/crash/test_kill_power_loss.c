/*
 * A process is killed at a system call, others go on with what it has left, which is partly in
 * memory only, and are killed, too, or not; then the power fails. Each transaction that was
 * acknowledged with sync=full is there, whoever made it, with all that it follows; those that were
 * undone, or that others have seen to be missing, are not.
 *
 * N: how many images are looked at (0: a few, of some scenarios); SEED; ONLY: the name of one
 * scenario.
 */
#include "process/crash/lives.h"

enum { BRIEF_IMAGES = 6, OF_A_RECORDING = 6, IMAGES_OF_FAULT = 200, TEXT_SIZE = 500 };

static const scenario scenarios[] = {
    {.name = "left",
     .brief = true,
     .work = "rows",
     .journal_mode = "wal",
     .sync = "full",
     .declares = true,
     .log = 1000,
     .lives = 2},
    {.name = "beside",
     .brief = true,
     .work = "rows",
     .journal_mode = "wal",
     .sync = "full",
     .declares = true,
     .log = 1000,
     .lives = 2,
     .early = 2},
    {.name = "watched",
     .work = "unique",
     .journal_mode = "wal",
     .sync = "full",
     .declares = true,
     .undoes = true,
     .log = 1000,
     .lives = 3,
     .watched = true},
    {.name = "beside-limit",
     .work = "unique",
     .journal_mode = "wal",
     .sync = "full",
     .mixed = true,
     .log = 3,
     .lives = 3,
     .early = 4},
    {.name = "left-limit",
     .work = "queue",
     .journal_mode = "wal",
     .sync = "full",
     .mixed = true,
     .log = 3,
     .lives = 3},
    {.name = "left-undo",
     .brief = true,
     .work = "rows",
     .journal_mode = "wal",
     .sync = "full",
     .declares = true,
     .undoes = true,
     .log = 1000,
     .lives = 3},
    {.name = "beside-undo",
     .work = "queue",
     .journal_mode = "wal",
     .sync = "full",
     .mixed = true,
     .undoes = true,
     .log = 3,
     .lives = 3,
     .early = 6},
    {.name = "large",
     .work = "large",
     .journal_mode = "wal",
     .sync = "full",
     .log = 3,
     .lives = 2,
     .early = 2},
    {.name = "drop",
     .work = "drop",
     .journal_mode = "wal",
     .sync = "full",
     .log = 1000,
     .lives = 2,
     .watched = true},
    {.name = "compact",
     .work = "rows",
     .journal_mode = "wal",
     .sync = "full",
     .compacts = true,
     .log = 1000,
     .lives = 3},
    {.name = "normal",
     .brief = true,
     .work = "rows",
     .journal_mode = "wal",
     .sync = "normal",
     .some_full = true,
     .declares = true,
     .log = 1000,
     .lives = 3},
    {.name = "normal-beside",
     .work = "unique",
     .journal_mode = "wal",
     .sync = "normal",
     .some_full = true,
     .undoes = true,
     .log = 3,
     .lives = 3,
     .early = 2},
    {.name = "off",
     .work = "queue",
     .journal_mode = "wal",
     .sync = "off",
     .some_full = true,
     .declares = true,
     .log = 1000,
     .lives = 2},
    {.name = "off-beside",
     .work = "rows",
     .journal_mode = "wal",
     .sync = "off",
     .some_full = true,
     .log = 3,
     .lives = 3,
     .early = 6},
    {.name = "tree",
     .work = "indexed",
     .journal_mode = "wal",
     .sync = "full",
     .mixed = true,
     .lives = 2,
     .early = 2},
    {.name = "tree-normal",
     .work = "rows",
     .journal_mode = "wal",
     .sync = "normal",
     .some_full = true,
     .lives = 3},
    {.name = "tree-normal-undo",
     .work = "indexed",
     .journal_mode = "wal",
     .sync = "normal",
     .undoes = true,
     .lives = 2,
     .early = 2},
};

enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

/* --- What may be there --- */

static bool may_be_there(const version *of, int64_t event)
{
    return of->begun <= event && (of->gone == NEVER || of->gone > event);
}

static int first_promised(int64_t event)
{
    int first = 0;
    for (int i = 0; i < lives->version_count; i++) {
        const version *of = &lives->versions[i];
        first = of->is_full && of->done != NEVER && of->done <= event ? i : first;
    }
    return first;
}

/* Nothing is promised of what lies on commits with sync=off. */
static bool is_promised(int64_t event)
{
    int newest = 0;
    for (int i = 0; i < lives->version_count; i++) {
        newest = may_be_there(&lives->versions[i], event) ? i : newest;
    }
    return strcmp(lives->of->sync, "off") != 0 || newest == first_promised(event);
}

/* --- Looking at images --- */

/* Shared with the process that looks. */
typedef struct findings {
    int64_t images;
    int64_t recordings;
    int64_t deaths;
    int64_t taken_over;
    int64_t failures;
    bool good; /* the last image */
    char text[TEXT_SIZE];
} findings;

static findings *found;

static bool found_wrong(const char *what, const char *more)
{
    snprintf(found->text, sizeof found->text, "%s: %s", what, more);
    return false;
}

static bool check_content(sqlite3 *db, int64_t event)
{
    database_content there = content_of(db, false);
    int first = first_promised(event);
    int is = NEVER;
    if (there.code != SQLITE_OK) {
        return found_wrong("reading", there.text);
    }
    for (int i = 0; i < lives->version_count; i++) {
        const version *of = &lives->versions[i];
        bool same = of->digest == there.store;
        if (same && i >= first && may_be_there(of, event)) {
            return true;
        }
        is = same ? i : is;
    }
    snprintf(found->text, sizeof found->text,
             "the store is as after transaction %d (-1: after none); promised is %d, of %d", is,
             first, lives->version_count - 1);
    return false;
}

/* The trees, the log, and the entries of indexes. */
static bool check_store(sqlite3 *db)
{
    sqlite3_stmt *check = NULL;
    int code = sqlite3_prepare_v2(db, "SELECT pt_check()", -1, &check, NULL);
    const char *answer = code == SQLITE_OK && sqlite3_step(check) == SQLITE_ROW
                             ? (const char *)sqlite3_column_text(check, 0)
                             : NULL;
    bool good = (answer != NULL && strcmp(answer, "ok") == 0) ||
                found_wrong("pt_check", answer != NULL ? answer : sqlite3_errmsg(db));
    sqlite3_finalize(check);
    return good;
}

static bool goes_on(sqlite3 *db)
{
    return code_of(db, "BEGIN; INSERT INTO t(PartitionKey, RowKey) VALUES('probe', 'a'); COMMIT;"
                       "DELETE FROM t WHERE PartitionKey = 'probe'") == SQLITE_OK ||
           found_wrong("the next transaction", sqlite3_errmsg(db));
}

static bool check_image(int64_t event, const char *folder)
{
    char path[PATH_SIZE];
    path_in(folder, "main.db", path);
    sqlite3 *db = try_open(path);
    if (db == NULL) {
        return found_wrong("opening", path);
    }
    bool good = (main_is_sound(db) || found_wrong("integrity_check", sqlite3_errmsg(db))) &&
                check_content(db, event) && check_store(db) && goes_on(db);
    return sqlite3_close(db) == SQLITE_OK ? good : found_wrong("closing", "it was not done with");
}

/* Most of them after the first death. */
static int64_t choose_moment(uint64_t *random)
{
    int64_t event;
    int64_t from = lives->first_death;
    do {
        uint32_t first = from != NEVER && power_random(random, 8) != 0 ? (uint32_t)from : 0;
        event = first + power_random(random, (uint32_t)lives->log.count - first);
    } while (!is_promised(event));
    return event;
}

static void look(int64_t event, uint64_t random, const char *folder)
{
    power_disk disk;
    power_begin(&disk, &lives->log);
    power_advance(&disk, (size_t)event);
    empty_folder(folder);
    power_image image = power_choose(&disk, random);
    found->good = power_make(&disk, image, folder) && check_image(event, folder);
    if (!found->good) {
        size_t used = strlen(found->text);
        snprintf(found->text + used, sizeof found->text - used,
                 " (event %lld of %zu, choice %d, first death before %lld)", (long long)event,
                 lives->log.count, (int)image.choice, (long long)lives->first_death);
    }
    power_end(&disk);
}

static void look_in_process(int64_t event, uint64_t random, const char *folder, findings *sum)
{
    int status;
    fflush(stdout);
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        die_of_signals();
        look(event, random, folder);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        found->good = found_wrong("the process that looks", "died");
    }
    sum->images++;
    if (!found->good && sum->failures++ == 0) {
        snprintf(sum->text, sizeof sum->text, "%s", found->text);
    }
}

/* Until an image is wrong, if `faulty`. */
static findings try_scenario(const scenario *of, int64_t images, uint64_t seed, bool faulty)
{
    findings sum = {0};
    void *writes = new_folder();
    void *copies = new_folder();
    void *looks = new_folder();
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    if (found == NULL) {
        found = share_memory(sizeof *found);
    }
    while (sum.images < images && !(faulty && sum.failures > 0)) {
        power_random(&random, 2);
        record_lives(of, writes, copies, random);
        sum.recordings++;
        sum.deaths += lives->deaths;
        sum.taken_over += lives->taken_over;
        for (int i = 0; i < OF_A_RECORDING && sum.images < images; i++) {
            int64_t event = choose_moment(&random);
            look_in_process(event, random, looks, &sum);
        }
        disk_free(&lives->log);
    }
    remove_folder(&writes);
    remove_folder(&copies);
    remove_folder(&looks);
    return sum;
}

static void power_fails_after_deaths(void **state)
{
    (void)state;
    int64_t wanted = setting("N", 0);
    int64_t count = wanted > 0 ? wanted / SCENARIOS : BRIEF_IMAGES;
    uint64_t seed = (uint64_t)setting("SEED", 1);
    const char *only = getenv("ONLY");
    int64_t images = 0;
    int64_t failures = 0;
    for (int i = 0; i < SCENARIOS; i++) {
        if (only != NULL ? strcmp(only, scenarios[i].name) != 0
                         : wanted <= 0 && !scenarios[i].brief) {
            continue;
        }
        findings of = try_scenario(&scenarios[i], count, seed + (uint64_t)i * 1000, false);
        printf("# %s: %lld recordings, %lld processes killed, %lld of their last transactions "
               "found by others, %lld images, %lld wrong\n",
               scenarios[i].name, (long long)of.recordings, (long long)of.deaths,
               (long long)of.taken_over, (long long)of.images, (long long)of.failures);
        if (of.failures != 0) {
            printf("# %s: %s\n", scenarios[i].name, of.text);
        }
        images += of.images;
        failures += of.failures;
    }
    printf("# seed %llu: %lld images, %lld wrong\n", (unsigned long long)seed, (long long)images,
           (long long)failures);
    assert_int_equal(failures, 0);
}

/* A version of LMDB's tree that the dead have left in memory, and that is not flushed by those who
 * go on from it: this must be noticed. */
static void a_flush_that_is_left_out_is_found_out(void **state)
{
    (void)state;
    all_die_at_root = true;
    flushes_are_dropped = true;
    for (int i = 0; i < 2; i++) {
        findings of = try_scenario(&scenarios[i], IMAGES_OF_FAULT, 1, true);
        printf("# %s, without a flush after a death: wrong after %lld images: %s\n",
               scenarios[i].name, (long long)of.images, of.text);
        assert_true(of.failures > 0);
    }
    all_die_at_root = false;
    flushes_are_dropped = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(power_fails_after_deaths),
        cmocka_unit_test(a_flush_that_is_left_out_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
