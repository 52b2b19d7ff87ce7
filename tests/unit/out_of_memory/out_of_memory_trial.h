/*
 * One trial: a script runs while an allocation fails, or all from one on. A second connection, the
 * model, takes the steps that succeed, and always has memory. After a step that fails for want of
 * memory the tables hold what the model says they did before or after the step or transaction; all
 * other steps do what they do on the model.
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_TRIAL_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_TRIAL_H

#include "unit/out_of_memory/out_of_memory_points.h"

static char folder[32];
static char template_folders[HOSTS][SIDE_FOLDER_SIZE];
static char log_asked_for[32]; /* "PTABLE_LOG=...", for scripts that are not about the log; or "" */

/* What is in use. */
typedef struct memory_balance {
    sqlite3_int64 sqlite; /* bytes */
    long blocks;          /* of others */
    long mappings;
    int descriptors;
} memory_balance;

typedef struct memory_trial {
    const memory_point *point;
    const char *failed; /* the first step that had no memory */
    script_side subject;
    script_side model;
    memory_balance before;
} memory_trial;

static void complain(const memory_trial *trial, const char *step, const char *what)
{
    failing_malloc_disarm();
    const memory_point *point = trial->point;
    print_error("script %s, host %d, allocation %d%s%s", point->script->name, (int)point->host,
                point->number, point->elsewhere ? ", not SQLite's" : "",
                point->persistent ? ", and all behind it" : "");
    print_error(" in \"%s\"; step \"%s\": %s\n", trial->failed != NULL ? trial->failed : "", step,
                what);
    fail();
}

static memory_balance balance_now(void)
{
    return (memory_balance){.descriptors = descriptor_count(),
                            .sqlite = sqlite3_memory_used(),
                            .blocks = library_blocks,
                            .mappings = library_mappings};
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
    *side = (struct script_side){.host = trial->point->host};
    snprintf(side->folder, sizeof side->folder, "%s/%s", folder, name);
    visit_files(side->folder, remove_file, NULL);
    if (trial->point->host != HOST_MEMORY) {
        visit_files(template_folders[trial->point->host], copy_file, side->folder);
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
    bool opens = (trial->point->script->hosts & OPENS) != 0;
    int countdown = opens ? failing_malloc_countdown : pause_failing();
    int rc = open_side(&trial->subject);
    if (is_memory_failure(rc)) {
        failing_malloc_countdown = -1;
        rc = open_side(&trial->subject);
    }
    assert_int_equal(rc, SQLITE_OK);
    countdown = opens ? pause_failing() : countdown;
    fill_memory(trial->subject.db, trial->point->host);
    resume_failing(countdown);
}

/* putenv(), as setenv() would allocate. */
static void use_log_of(const memory_script *script)
{
    static char log_always[] = "PTABLE_LOG=always";
    static char log_random[] = "PTABLE_LOG=random";
    if ((script->hosts & LOGS) != 0) {
        putenv((script->hosts & APPLIES) != 0 ? log_random : log_always);
    } else if (log_asked_for[0] != 0) {
        putenv(log_asked_for);
    } else {
        unsetenv("PTABLE_LOG");
    }
}

static void begin_trial(memory_trial *trial)
{
    use_log_of(trial->point->script);
    trial->before = balance_now();
    set_side_up(trial, &trial->subject, "subject");
    set_side_up(trial, &trial->model, "model");
    assert_int_equal(open_side(&trial->model), SQLITE_OK);
    fill_memory(trial->model.db, trial->point->host);
    library_map_refused = false;
    failing_malloc_elsewhere = trial->point->elsewhere;
    failing_malloc_arm(trial->point->number, trial->point->persistent);
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
    bool apart = failing_malloc_hit; /* an earlier failure may change the result of this step */
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
    int countdown = pause_failing();
    char *seen = state_of(db);
    char *expected = state_of(trial->model.db);
    if (strcmp(seen, expected) != 0) {
        print_difference(seen, expected);
        complain(trial, step, what);
    }
    free(seen);
    free(expected);
    resume_failing(countdown);
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

/* True if the main database is locked for writing. */
static bool is_writing(const script_side *side)
{
    return sqlite3_txn_state(side->db, "main") == SQLITE_TXN_WRITE;
}

static bool states_are_equal(const memory_trial *trial)
{
    int countdown = pause_failing();
    char *seen = state_of(trial->subject.db);
    char *expected = state_of(trial->model.db);
    bool equal = strcmp(seen, expected) == 0;
    free(seen);
    free(expected);
    resume_failing(countdown);
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
    if (was_open && open && is_writing(&trial->subject) && !is_writing(&trial->model)) {
        follow_on_model(trial,
                        "DELETE FROM Plain WHERE 0"); /* which another's reading may hinder */
    }
    bool equal = states_are_equal(trial);
    if (!was_open && !open && !equal && trial->model.held != NULL) {
        /* A write that failed has read anew what others have committed, beside the open statement.
         */
        follow_on_model(trial, "DELETE FROM W WHERE 0");
        equal = states_are_equal(trial);
    }
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

/* The rest of the script without SQLite's memory: every statement fails, nothing changes. */
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
    bool closes = trial->point->persistent && trial->point->number % 2 == 1 &&
                  trial->point->host != HOST_MEMORY;
    if (closes) {
        close_side(&trial->subject);
    }
    failing_malloc_disarm();
    if (closes) {
        assert_int_equal(open_side(&trial->subject), SQLITE_OK);
        end_held(&trial->model); /* closing has ended the subject's */
    }
}

/* The model has no statement open either when one could not be begun or read to its end. */
static void let_go(memory_trial *trial, const char *step)
{
    const char *rest;
    if (is_step(step, ".hold", &rest) || is_step(step, ".rest", &rest)) {
        int countdown = pause_failing();
        end_held(&trial->model);
        resume_failing(countdown);
    }
}

/*
 * A statement that is busy, and then cannot be taken back for want of memory: SQLite takes the
 * whole transaction back, and says only that it was busy.
 */
static void follow_lost_transaction(memory_trial *trial, const step_outcome *got, bool was_open)
{
    if (got->rc == SQLITE_BUSY && failing_malloc_hit && was_open && !is_open(&trial->subject) &&
        is_open(&trial->model)) {
        follow_on_model(trial, "ROLLBACK");
    }
}

/* True if the rest of the script is to be run. */
static bool take_failure(memory_trial *trial, const char *const *step, bool was_open)
{
    bool over = trial->point->persistent && !trial->point->elsewhere;
    assert_true(failing_malloc_hit);
    if (trial->failed == NULL) {
        trial->failed = *step;
    }
    if (over) {
        run_without_memory(trial, step + 1);
        bring_memory_back(trial);
    }
    let_go(trial, *step);
    settle(trial, *step, was_open);
    return !over;
}

static void run_steps(memory_trial *trial)
{
    bool goes_on = true;
    for (const char *const *step = trial->point->script->steps; *step != NULL && goes_on; step++) {
        recorded_step++;
        bool was_open = is_open(&trial->subject);
        step_outcome got = run_step(&trial->subject, statement_of(*step));
        if (is_memory_failure(got.rc)) {
            goes_on = take_failure(trial, step, was_open);
        } else {
            compare(trial, *step, &got);
            follow_lost_transaction(trial, &got, was_open);
        }
        free(got.rows);
    }
    if (goes_on && trial->point->elsewhere) {
        bool was_open = is_open(&trial->subject);
        bring_memory_back(trial);
        settle(trial, "closing the connection", was_open);
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
    if (trial->point->host == HOST_MEMORY) {
        return;
    }
    sqlite3 *db = NULL;
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
        const char *end = trial->point->number % 2 == 0 ? "COMMIT" : "ROLLBACK";
        step_outcome got = run_step(&trial->subject, end);
        compare(trial, end, &got);
        free(got.rows);
    }
}

static void check_balance(const memory_trial *trial)
{
    memory_balance now = balance_now();
    if (now.descriptors != trial->before.descriptors) {
        complain(trial, "the end", "a descriptor stays open");
    }
    if (now.sqlite != trial->before.sqlite) {
        complain(trial, "the end", "memory is not given back");
    }
    if (now.blocks != trial->before.blocks) {
        print_error("%ld blocks\n", now.blocks - trial->before.blocks);
        complain(trial, "the end", "memory that is not SQLite's is not given back");
    }
    if (now.mappings != trial->before.mappings && library_memory_can_fail()) {
        complain(trial, "the end", "a mapping is left behind");
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
    check_balance(trial);
}

static memory_trial current_trial;

/* True if a step failed for want of memory. */
static bool run_trial(const memory_point *point)
{
    current_trial = (memory_trial){.point = point};
    begin_trial(&current_trial);
    run_steps(&current_trial);
    end_trial(&current_trial);
    return current_trial.failed != NULL;
}

/* A trial that a failed test did not end: its stores would be in the way of the next one's, which
 * have the same names. */
static void abandon_trial(void)
{
    script_side *sides[] = {&current_trial.subject, &current_trial.model};
    failing_malloc_disarm();
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        end_held(sides[i]);
        sqlite3_close(sides[i]->reader);
        sqlite3_close(sides[i]->db);
        *sides[i] = (script_side){.host = HOST_MEMORY};
    }
}

#endif
