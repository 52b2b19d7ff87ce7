/*
 * Out of memory, anywhere: scripts run while one allocation of SQLite's allocator fails, or all
 * from one on. A second connection, the model, takes the steps that succeed, and always has memory.
 * After a step that fails for want of memory the tables hold what the model says they did before or
 * after the step or transaction; all other steps do what they do on the model.
 *
 * Usually some allocations of each script are tried; SEED chooses others. PT_LONG or N set: all,
 * each failing alone and with all that follow. PT_SCRIPT: only scripts of that name (with * and ?).
 */
#include "out_of_memory_scripts.h"

#include <limits.h>

static char folder[32] = "/tmp/ptable-memory-XXXXXX";
static char template_folders[HOSTS][FOLDER_SIZE];

typedef struct memory_trial {
    const memory_script *script;
    host_kind host;
    int number;         /* of the allocation that fails */
    bool persistent;    /* and of those behind it */
    const char *failed; /* the first step that had no memory */
    script_side subject;
    script_side model;
    sqlite3_int64 memory; /* in use before */
    int descriptors;      /* open before */
} memory_trial;

static void complain(const memory_trial *trial, const char *step, const char *what)
{
    failing_malloc_disarm();
    print_error("script %s, host %d, allocation %d%s", trial->script->name, (int)trial->host,
                trial->number, trial->persistent ? " and all behind it" : "");
    print_error(" in \"%s\"; step \"%s\": %s\n", trial->failed != NULL ? trial->failed : "", step,
                what);
    fail();
}

static int descriptor_count(void)
{
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    int count = 0;
    while (readdir(entries) != NULL) {
        count++;
    }
    closedir(entries);
    return count;
}

/* --- Before a trial --- */

static void execute_all(sqlite3 *db, const char *const *statements)
{
    for (; *statements != NULL; statements++) {
        int rc = sqlite3_exec(db, *statements, NULL, NULL, NULL);
        if (rc != SQLITE_OK) {
            print_error("%s: %s\n", *statements, sqlite3_errmsg(db));
            fail();
        }
    }
}

static void set_side_up(const memory_trial *trial, script_side *side, const char *name)
{
    *side = (struct script_side){.host = trial->host};
    snprintf(side->folder, sizeof side->folder, "%s/%s", folder, name);
    visit_files(side->folder, remove_file, NULL);
    if (trial->host != HOST_MEMORY) {
        visit_files(template_folders[trial->host], copy_file, side->folder);
    }
}

static void fill_memory(sqlite3 *db, host_kind host)
{
    if (host == HOST_MEMORY) {
        execute_all(db, store_in_memory);
        execute_all(db, first_rows);
    }
}

/* Opening may be what fails. */
static void open_subject(memory_trial *trial)
{
    bool opens = (trial->script->hosts & OPENS) != 0;
    int countdown = opens ? failing_malloc_countdown : pause_failing();
    int rc = open_side(&trial->subject);
    if (is_memory_failure(rc)) {
        failing_malloc_countdown = -1;
        rc = open_side(&trial->subject);
    }
    assert_int_equal(rc, SQLITE_OK);
    countdown = opens ? pause_failing() : countdown;
    fill_memory(trial->subject.db, trial->host);
    resume_failing(countdown);
}

static void begin_trial(memory_trial *trial)
{
    trial->descriptors = descriptor_count();
    trial->memory = sqlite3_memory_used();
    set_side_up(trial, &trial->subject, "subject");
    set_side_up(trial, &trial->model, "model");
    assert_int_equal(open_side(&trial->model), SQLITE_OK);
    fill_memory(trial->model.db, trial->host);
    failing_malloc_arm(trial->number, trial->persistent);
    open_subject(trial);
}

/* --- Steps --- */

static const char *statement_of(const char *step)
{
    return step[0] == '!' ? step + 1 : step;
}

static step_outcome run_on_model(memory_trial *trial, const char *step)
{
    int countdown = pause_failing();
    step_outcome expected = run_step(&trial->model, statement_of(step));
    resume_failing(countdown);
    bool fails = step[0] == '!';
    bool apart = failing_malloc_hit; /* what has failed before may change what this step can do */
    if (is_memory_failure(expected.rc) || (!apart && fails != (expected.rc != SQLITE_OK))) {
        complain(trial, step, sqlite3_errmsg(trial->model.db));
    }
    return expected;
}

static void follow_on_model(memory_trial *trial, const char *step)
{
    step_outcome expected = run_on_model(trial, step);
    free(expected.rows);
}

/* Where two texts begin to differ. */
static void print_difference(const char *seen, const char *expected)
{
    size_t line = 0;
    for (size_t i = 0; seen[i] == expected[i] && seen[i] != 0; i++) {
        line = seen[i] == '\n' ? i + 1 : line;
    }
    print_error("%.400s\n    not\n%.400s\n", seen + line, expected + line);
}

static void compare(memory_trial *trial, const char *step, const step_outcome *got)
{
    step_outcome expected = run_on_model(trial, step);
    if (got->rc != expected.rc) {
        int countdown = pause_failing();
        print_error("%d (%s), not %d (%s)\n", got->rc, sqlite3_errmsg(trial->subject.db),
                    expected.rc, sqlite3_errmsg(trial->model.db));
        resume_failing(countdown);
        complain(trial, step, "another result code");
    }
    if (strcmp(got->rows, expected.rows) != 0) {
        print_difference(got->rows, expected.rows);
        complain(trial, step, "other rows");
    }
    free(expected.rows);
}

static void compare_states(memory_trial *trial, sqlite3 *db, const char *step, const char *what)
{
    char *seen = state_of(db);
    char *expected = state_of(trial->model.db);
    if (strcmp(seen, expected) != 0) {
        print_difference(seen, expected);
        complain(trial, step, what);
    }
    free(seen);
    free(expected);
}

static bool is_release(const char *step)
{
    const char *rest;
    return is_step(step, "RELEASE", &rest);
}

static bool ends_transaction(const char *step)
{
    const char *rest;
    return is_step(step, "COMMIT", &rest) || is_release(step);
}

static bool states_are_equal(const memory_trial *trial)
{
    char *seen = state_of(trial->subject.db);
    char *expected = state_of(trial->model.db);
    bool equal = strcmp(seen, expected) == 0;
    free(seen);
    free(expected);
    return equal;
}

/*
 * After a step that failed for want of memory, with memory back: lets the model do what the step
 * may have done, and compares. SQLite takes back the statement or the whole transaction; it also
 * reports a failure after everything was done; and when RELEASE cannot commit, it takes the
 * transaction back and leaves an empty one open.
 */
static void settle(memory_trial *trial, const char *step, bool was_open)
{
    bool open = is_open(&trial->subject);
    bool equal = states_are_equal(trial);
    if (!was_open && open) {
        follow_on_model(trial, step);
    } else if (was_open && !open) {
        follow_on_model(trial, ends_transaction(step) && equal ? step : "ROLLBACK");
    } else if (was_open && !equal && is_release(step)) {
        follow_on_model(trial, "ROLLBACK");
        follow_on_model(trial, "BEGIN");
    } else if (!was_open && !equal) {
        follow_on_model(trial, step);
    }
    compare_states(trial, trial->subject.db, step, "neither the old nor the new state");
}

/* The rest of the script while no memory comes back: every statement fails, nothing changes. */
static void run_without_memory(memory_trial *trial, const char *const *steps)
{
    for (; *steps != NULL; steps++) {
        const char *statement = statement_of(*steps);
        if (statement[0] != '.') {
            step_outcome got = run_step(&trial->subject, statement);
            if (!is_memory_failure(got.rc)) {
                complain(trial, *steps, "does not fail without memory");
            }
            free(got.rows);
        }
    }
}

/* Odd trials close the connection without memory, others go on with it once there is some. */
static void bring_memory_back(memory_trial *trial)
{
    if (trial->persistent && trial->number % 2 == 1 && trial->host != HOST_MEMORY) {
        close_side(&trial->subject);
        failing_malloc_disarm();
        assert_int_equal(open_side(&trial->subject), SQLITE_OK);
    }
    failing_malloc_disarm();
}

static void run_steps(memory_trial *trial)
{
    for (const char *const *step = trial->script->steps; *step != NULL; step++) {
        bool was_open = is_open(&trial->subject);
        step_outcome got = run_step(&trial->subject, statement_of(*step));
        if (!is_memory_failure(got.rc)) {
            compare(trial, *step, &got);
            free(got.rows);
            continue;
        }
        free(got.rows);
        assert_true(failing_malloc_hit);
        trial->failed = *step;
        bool over = trial->persistent;
        if (over) {
            run_without_memory(trial, step + 1);
            bring_memory_back(trial);
        }
        settle(trial, *step, was_open);
        if (over) {
            return;
        }
    }
}

/* --- After a trial --- */

static void write_something(memory_trial *trial, sqlite3 *db, const char *who)
{
    for (const char *const *step = probe; *step != NULL; step++) {
        if (sqlite3_exec(db, *step, NULL, NULL, NULL) != SQLITE_OK) {
            print_error("%s cannot write: %s\n", who, sqlite3_errmsg(db));
            complain(trial, *step, "fails at the end");
        }
    }
}

/* Somebody else sees what the model holds, and can write at once. */
static void look_from_elsewhere(memory_trial *trial)
{
    if (trial->host == HOST_MEMORY) {
        return;
    }
    sqlite3 *db;
    assert_int_equal(connect_to(&trial->subject, &db), SQLITE_OK);
    compare_states(trial, db, "the end", "another connection sees something else");
    write_something(trial, db, "another connection");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void refuse_leftover(const char *where, const char *name, const void *context)
{
    (void)where;
    if (strstr(name, "-new-") != NULL) {
        complain(context, name, "is left behind");
    }
}

static void end_transaction(memory_trial *trial)
{
    if (is_open(&trial->subject) != is_open(&trial->model)) {
        complain(trial, "the end", "one has a transaction open, the other has not");
    }
    if (is_open(&trial->subject)) {
        const char *end = trial->number % 2 == 0 ? "COMMIT" : "ROLLBACK";
        step_outcome got = run_step(&trial->subject, end);
        compare(trial, end, &got);
        free(got.rows);
    }
}

static void end_trial(memory_trial *trial)
{
    failing_malloc_disarm();
    calm_down(&trial->subject);
    calm_down(&trial->model);
    end_transaction(trial);
    compare_states(trial, trial->subject.db, "the end", "another state");
    look_from_elsewhere(trial);
    write_something(trial, trial->subject.db, "the connection");
    visit_files(trial->subject.folder, refuse_leftover, trial);
    close_side(&trial->subject);
    close_side(&trial->model);
    if (sqlite3_memory_used() != trial->memory) {
        complain(trial, "the end", "memory is not given back");
    }
    if (descriptor_count() != trial->descriptors) {
        complain(trial, "the end", "a descriptor stays open");
    }
}

/* Whether an allocation failed; the allocations made until then are in *made. */
static bool run_trial(const memory_script *script, host_kind host, int number, bool persistent,
                      int *made)
{
    memory_trial trial = {
        .script = script, .host = host, .number = number, .persistent = persistent};
    begin_trial(&trial);
    run_steps(&trial);
    *made = number - failing_malloc_countdown;
    bool hit = failing_malloc_hit;
    end_trial(&trial);
    return hit;
}

static void run_all_trials(const memory_script *script, host_kind host)
{
    int made;
    for (int number = 0; run_trial(script, host, number, false, &made); number++) {
        run_trial(script, host, number, true, &made);
    }
}

static void run_some_trials(const memory_script *script, host_kind host)
{
    int made;
    assert_false(run_trial(script, host, INT_MAX, false, &made));
    const char *seed = getenv("SEED");
    int step = made / script->share + 1;
    int first = (seed != NULL ? atoi(seed) : 1) % step;
    bool persistent = false;
    for (int number = first, ignored; number < made; number += step) {
        run_trial(script, host, number, persistent, &ignored);
        persistent = !persistent;
    }
}

static void test_script(void **state)
{
    const memory_script *script = *state;
    failing_malloc_disarm(); /* a test that failed may have left it armed */
    bool all = getenv("PT_LONG") != NULL || getenv("N") != NULL;
    for (host_kind host = 0; host < HOSTS; host++) {
        if ((script->hosts & (1u << host)) != 0) {
            (all ? run_all_trials : run_some_trials)(script, host);
        }
    }
}

/* --- The group --- */

static void make_template(host_kind host)
{
    script_side side = {.host = host};
    snprintf(side.folder, sizeof side.folder, "%s/template-%d", folder, (int)host);
    strcpy(template_folders[host], side.folder);
    assert_int_equal(mkdir(side.folder, 0700), 0);
    if (host != HOST_MEMORY) {
        assert_int_equal(open_side(&side), SQLITE_OK);
        execute_all(side.db, host == HOST_WAL ? wal_mode : journal_mode);
        execute_all(side.db, store_in_file);
        execute_all(side.db, first_rows);
        close_side(&side);
    }
}

static int make_folders(void **state)
{
    (void)state;
    static const char *const names[] = {"subject", "model"};
    char path[PATH_SIZE];
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation can fail */
    failing_malloc_install();
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (host_kind host = 0; host < HOSTS; host++) {
        make_template(host);
    }
    return 0;
}

static void remove_folder(const char *where, const char *name, const void *context)
{
    (void)context;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", where, name);
    visit_files(path, remove_file, NULL);
    assert_int_equal(rmdir(path), 0);
}

static int remove_folders(void **state)
{
    (void)state;
    visit_files(folder, remove_folder, NULL);
    return rmdir(folder);
}

int main(void)
{
    struct CMUnitTest tests[SCRIPTS];
    for (size_t i = 0; i < SCRIPTS; i++) {
        tests[i] = (struct CMUnitTest){.name = scripts[i].name,
                                       .test_func = test_script,
                                       .initial_state = (void *)(uintptr_t)&scripts[i]};
    }
    cmocka_set_test_filter(getenv("PT_SCRIPT"));
    return cmocka_run_group_tests(tests, make_folders, remove_folders);
}
