/*
 * One trial: a script in which a call fails, held against the same script without a fault. A unit
 * that fails must leave the state from before it, and succeed when it is run again once the fault
 * is healed; one that says it is done must be there completely.
 */
#ifndef TESTS_PROCESS_IO_IO_TRIAL_H
#define TESTS_PROCESS_IO_IO_TRIAL_H

#include <dirent.h>
#include <limits.h>

#include "fixtures/anatomy.h"
#include "fixtures/log_chain.h"
#include "fixtures/open_files.h"
#include "process/io/io_judge.h"
#include "process/io/io_looker.h"

enum { IO_STEPS_MAX = 20, IO_POINT_SIZE = 50 };

/* A script on a host as it goes without a fault. */
typedef struct io_model {
    const io_script *script;
    io_host host;
    const char *template_folder;
    int steps;
    int unit_of[IO_STEPS_MAX];
    char *rows[IO_STEPS_MAX];
    char *states[IO_STEPS_MAX + 1]; /* before the first unit, and after each */
    int units;
    uint8_t *kinds; /* of all calls */
    int calls;
} io_model;

typedef struct io_trial {
    const io_model *model;
    io_connection subject;
    const char *failed; /* the first step that failed */
    bool doubtful;      /* what became of the unit that failed */
    bool gone;          /* nothing more can be said of this trial */
    sqlite3_int64 memory;
    int descriptors;
} io_trial;

static io_trial io_this_trial;
static jmp_buf io_trial_end; /* after a complaint */
static int io_complaints;
static char *io_last_message; /* of a step that failed */
static bool io_undo_failed;   /* SQLite's log says so */

static inline void io_log(void *context, int code, const char *message)
{
    (void)context;
    (void)code;
    io_undo_failed = io_undo_failed || strstr(message, "cannot be undone") != NULL;
}

static inline void io_name_point(char point[IO_POINT_SIZE], io_host host, const io_fault *fault,
                                 io_duration duration, int number)
{
    snprintf(point, IO_POINT_SIZE, "%d/%s/%d/%d", (int)host, fault->name, (int)duration, number);
}

/* Ends the trial. */
static inline void io_complain(const io_trial *trial, const char *step, const char *what)
{
    io_heal();
    io_pause();
    print_error("script %s, host %d: %s %s, call %d (%s on folder%s), on step \"%s\"\n",
                trial->model->script->name, (int)trial->model->host, io_now.fault->name,
                io_duration_names[io_now.duration], io_now.number,
                io_now.name != NULL ? io_now.name : "none", io_now.path, step);
    print_error("first failure in \"%s\"; \"%s\"\n%s\n", trial->failed != NULL ? trial->failed : "",
                io_last_message != NULL ? io_last_message : "", what);
    char point[IO_POINT_SIZE];
    io_name_point(point, trial->model->host, io_now.fault, io_now.duration, io_now.number);
    print_error("again: PT_SCRIPT='%s' POINT='%s'\n", trial->model->script->name, point);
    io_complaints++;
    longjmp(io_trial_end, 1);
}

/* --- Files --- */

typedef void (*io_visit)(const char *folder, const char *name, const void *context);

static inline void io_visit_files(const char *folder, io_visit visit, const void *context)
{
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_name[0] != '.') {
            visit(folder, entry->d_name, context);
        }
    }
    closedir(entries);
}

static inline void io_remove(const char *folder, const char *name, const void *context)
{
    (void)context;
    char path[IO_PATH_SIZE + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

/* All but the lock files, which are made anew. */
static inline void io_copy(const char *folder, const char *name, const void *context)
{
    char path[IO_PATH_SIZE + NAME_MAX + 2];
    char copy[IO_PATH_SIZE + NAME_MAX + 2];
    if (strstr(name, "-lock") != NULL) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(copy, sizeof copy, "%s/%s", (const char *)context, name);
    copy_closed_file(path, copy);
}

/* A temporary file stays behind only if taking its name away failed. */
static inline void io_refuse_leftover(const char *folder, const char *name, const void *context)
{
    (void)folder;
    static const char *const known[] = {
        "main.db",           "main.db-ptable", "main.db-ptable-lock", "other.ptable",
        "other.ptable-lock", "new.ptable",     "new.ptable-lock"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i]) == 0) {
            return;
        }
    }
    if ((io_now.fault->kinds & (ON(NAME) | ON(LOOK))) == 0 || io_now.hits == 0) {
        io_complain(context, name, "is left behind");
    }
}

/* --- Steps and units --- */

static inline void io_note_failure(io_trial *trial, const char *step, const io_outcome *got)
{
    bool first = trial->failed == NULL;
    free(io_last_message);
    io_last_message = strdup(got->message != NULL ? got->message : "");
    if (!io_hit()) {
        io_complain(trial, step, "fails though no call has failed");
    }
    trial->doubtful = trial->doubtful || io_is_doubtful(io_last_message);
    if (first) {
        trial->failed = step;
    }
    const char *wrong = io_what_is_wrong(got->rc, io_last_message, first);
    if (wrong != NULL) {
        char text[100];
        snprintf(text, sizeof text, "%s (%d)", wrong, got->rc);
        io_complain(trial, step, text);
    }
    if (getenv("PT_MESSAGES") != NULL) {
        print_error("%d %s on %s: %s\n", got->rc, io_now.fault->name, io_now.name, io_last_message);
    }
}

/* A connection that could not be opened is opened without a fault. */
static inline void io_open_at_last(io_trial *trial)
{
    char *message = NULL;
    io_heal();
    if (trial->subject.db == NULL && io_open(&trial->subject, &message) != SQLITE_OK) {
        io_last_message = message;
        io_complain(trial, "opening", "fails without a fault");
    }
}

static inline bool io_take_step(io_trial *trial, int index)
{
    const char *step = trial->model->script->steps[index];
    io_outcome got = io_run_step(&trial->subject, step);
    bool failed = got.rc != SQLITE_OK;
    if (failed) {
        io_note_failure(trial, step, &got);
        io_open_at_last(trial);
    } else if (strcmp(got.rows, trial->model->rows[index]) != 0 &&
               !(trial->failed != NULL && strcmp(step, ".rest") == 0)) {
        print_error("%.300s\n    not\n%.300s\n", got.rows, trial->model->rows[index]);
        io_complain(trial, step, "other rows");
    }
    io_free_outcome(&got);
    return !failed;
}

/* From a step of a unit to the unit's end; the step that failed, or -1. */
static inline int io_run_unit(io_trial *trial, int unit, int from)
{
    const io_model *model = trial->model;
    for (int i = from; i < model->steps; i++) {
        if (model->unit_of[i] == unit && !io_take_step(trial, i)) {
            return i;
        }
    }
    return -1;
}

static inline void io_roll_back(io_trial *trial)
{
    io_end_held(&trial->subject);
    if (io_in_transaction(&trial->subject)) {
        io_outcome got = io_run_step(&trial->subject, "ROLLBACK");
        if (got.rc != SQLITE_OK) {
            io_note_failure(trial, "ROLLBACK", &got);
        }
        io_free_outcome(&got);
    }
}

/* --- States --- */

static inline void io_print_difference(const char *seen, const char *expected)
{
    size_t line = 0;
    for (size_t i = 0; seen[i] == expected[i] && seen[i] != 0; i++) {
        line = seen[i] == '\n' ? i + 1 : line;
    }
    print_error("%.400s\n    not\n%.400s\n", seen + line, expected + line);
}

static inline void io_expect_state(io_trial *trial, char *seen, int unit, const char *what)
{
    const char *expected = trial->model->states[unit];
    if (strcmp(seen, expected) != 0) {
        io_print_difference(seen, expected);
        io_complain(trial, what, "another state");
    }
    free(seen);
}

static inline void io_look_elsewhere(io_trial *trial, int unit)
{
    if (trial->model->host != HOST_MEMORY) {
        io_expect_state(trial, io_ask_looker(trial->model->host), unit, "in another process");
    }
}

/* --- After a failure --- */

/* A connection's temporary tables are lost with it, which is not what is tried. */
static inline void io_close_subject(io_trial *trial)
{
    bool before = io_pause();
    sqlite3_stmt *tables = NULL;
    sqlite3_prepare_v2(trial->subject.db, "SELECT 1 FROM temp.sqlite_schema", -1, &tables, NULL);
    trial->gone = sqlite3_step(tables) == SQLITE_ROW || trial->model->host == HOST_MEMORY;
    sqlite3_finalize(tables);
    io_resume(before);
    io_close(&trial->subject);
}

/* Closed while the fault lasts, and opened again when it is healed. */
static inline void io_close_meanwhile(io_trial *trial)
{
    io_undo_failed = false;
    io_close_subject(trial);
    io_heal();
    if (!trial->gone) {
        io_open_at_last(trial);
    }
}

/* A store that was closed in doubt is ahead of the main database, as after a crash. */
static inline bool io_may_be_ahead(io_trial *trial)
{
    if (io_now.duration != UNTIL_CLOSED || !io_undo_failed) {
        return false;
    }
    io_left_ahead++;
    trial->gone = true;
    return true;
}

/* What could not be opened for writing was opened for reading only. */
static inline void io_open_anew(io_trial *trial)
{
    bool read_only = io_hit() && io_now.kind == CALL_OPEN &&
                     (io_now.side == SIDE_MAIN || io_now.fault->error == EACCES);
    if (read_only && trial->model->host != HOST_MEMORY) {
        io_close_subject(trial);
        io_open_at_last(trial);
    }
}

/*
 * SQLite commits, and says that it failed, when then it cannot give its own lock back, or when its
 * journal is gone though unlinking it failed; what takes part in the transaction is told that it
 * failed.
 */
static inline bool io_may_be_split(io_trial *trial)
{
    trial->gone = trial->gone || io_now.may_split;
    io_split += io_now.may_split;
    return io_now.may_split;
}

/* True if the unit that failed is there nevertheless. It must be there as a whole, or not at all.
 */
static inline bool io_is_there(io_trial *trial, int unit)
{
    const io_model *model = trial->model;
    char *seen = io_state_of(trial->subject.db);
    bool before = strcmp(seen, model->states[unit]) == 0;
    bool after = strcmp(seen, model->states[unit + 1]) == 0;
    if (!before && !after && !io_may_be_ahead(trial) && !io_may_be_split(trial)) {
        io_print_difference(seen, model->states[unit]);
        io_complain(trial, trial->failed, "neither the old nor the new state");
    }
    if (!before && after && !trial->doubtful && !io_may_be_ahead(trial) &&
        !io_may_be_split(trial)) {
        io_complain(trial, trial->failed, "was said to have failed, and is there");
    }
    free(seen);
    return after && !before;
}

static inline void io_run_again(io_trial *trial, int unit, int from)
{
    if (io_run_unit(trial, unit, from) < 0) {
        return;
    }
    /* A backup that could not be completed could not be removed either. */
    trial->gone = strstr(io_last_message, "a file of that name exists") != NULL;
    if (!trial->gone) {
        io_complain(trial, trial->failed, "fails again without a fault");
    }
}

/* The unit again while the fault lasts. Whether it was done. */
static inline bool io_try_meanwhile(io_trial *trial, int unit)
{
    int first = 0;
    while (trial->model->unit_of[first] != unit) {
        first++;
    }
    io_roll_back(trial);
    return !io_in_transaction(&trial->subject) && !trial->doubtful &&
           io_run_unit(trial, unit, first) < 0;
}

/* A step of the unit has failed. Afterwards all of the unit is there. */
static inline void io_settle(io_trial *trial, int unit, int step)
{
    bool done = false;
    if (io_lasts() && io_now.duration == UNTIL_CLOSED) {
        io_close_meanwhile(trial);
    } else if (io_lasts()) {
        done = io_try_meanwhile(trial, unit);
    }
    io_heal();
    if (trial->gone) {
        return;
    }
    bool releases = strncmp(trial->model->script->steps[step], "RELEASE", 7) == 0;
    if (!done && !releases && io_in_transaction(&trial->subject) && io_now.duration == ONCE &&
        io_now.number % 2 == 0 && io_now.side == SIDE_STORE && io_now.kind != CALL_OPEN) {
        io_run_again(trial, unit, step); /* the transaction goes on */
        done = true;
    }
    if (done) {
        io_expect_state(trial, io_state_of(trial->subject.db), unit + 1, "what was done");
    } else {
        io_roll_back(trial);
        io_open_anew(trial);
        if (!io_is_there(trial, unit) && !trial->gone) {
            io_run_again(trial, unit, 0);
        }
    }
}

/* --- A trial --- */

static char io_log_asked_for[16]; /* PTABLE_LOG, for the scripts that have no log of their own */

static inline void use_log_of(const io_script *script)
{
    if (script->log != 0) {
        use_log(script->log);
    } else {
        setenv("PTABLE_LOG", io_log_asked_for[0] != 0 ? io_log_asked_for : "never", 1);
    }
}

static inline void io_begin_trial(io_trial *trial)
{
    io_pause();
    io_visit_files(io_folder, io_remove, NULL);
    use_log_of(trial->model->script);
    trial->subject = (io_connection){.host = trial->model->host};
    trial->descriptors = descriptor_count();
    trial->memory = sqlite3_memory_used();
    if (trial->model->host == HOST_MEMORY) {
        char *message;
        assert_int_equal(io_open(&trial->subject, &message), SQLITE_OK);
        io_make_tables(trial->subject.db, HOST_MEMORY);
    } else {
        io_visit_files(trial->model->template_folder, io_copy, io_folder);
    }
}

static inline void io_open_subject(io_trial *trial)
{
    if (trial->subject.db != NULL) {
        return;
    }
    io_outcome got = {0};
    got.rc = io_open(&trial->subject, &got.message);
    if (got.rc != SQLITE_OK) {
        io_note_failure(trial, "opening", &got);
        io_open_at_last(trial);
    }
    io_free_outcome(&got);
}

/* Returns the units that are done. */
static inline int io_run_units(io_trial *trial)
{
    bool settled = false;
    int unit = 0;
    while (unit < trial->model->units && !trial->gone) {
        int step = io_run_unit(trial, unit, 0);
        if (step >= 0) {
            io_settle(trial, unit, step);
        }
        unit++;
        if (io_hit() && !settled && !io_lasts() && !trial->gone) {
            settled = true;
            io_heal();
            io_expect_state(trial, io_state_of(trial->subject.db), unit, "afterwards");
            io_look_elsewhere(trial, unit);
            if (io_now.number % 4 != 0) {
                break;
            }
        }
    }
    return unit;
}

/* The file of a store that was not in the script may be missing. */
static inline void io_look_into_stores(const io_trial *trial)
{
    if (trial->model->host != HOST_MEMORY) {
        anatomy_of(io_folder, "main.db-ptable");
    }
}

static inline void io_end_trial(io_trial *trial, int units)
{
    io_heal();
    io_roll_back(trial);
    if (!trial->gone) {
        io_open_anew(trial);
        run(trial->subject.db, "%s", io_probe);
        io_expect_state(trial, io_state_of(trial->subject.db), units, "in the end");
    }
    io_close(&trial->subject);
    io_pause();
    if (!trial->gone) {
        io_look_elsewhere(trial, units);
        io_look_into_stores(trial);
        io_visit_files(io_folder, io_refuse_leftover, trial);
    }
    if (sqlite3_memory_used() != trial->memory) {
        io_complain(trial, "the end", "memory is not given back");
    }
    if (descriptor_count() != trial->descriptors) {
        io_complain(trial, "the end", "a descriptor stays open");
    }
}

/* After a complaint: the next trial finds nothing open. */
static inline int io_give_up_trial(void **state)
{
    (void)state;
    io_heal();
    io_pause();
    io_close(&io_this_trial.subject);
    return 0;
}

static inline void io_run_trial(const io_model *model, const io_fault *fault, io_duration duration,
                                int number)
{
    if (setjmp(io_trial_end) != 0) {
        io_give_up_trial(NULL);
        return;
    }
    io_trial *trial = &io_this_trial;
    *trial = (io_trial){.model = model};
    free(io_last_message);
    io_last_message = NULL;
    io_begin_trial(trial);
    io_arm(fault, duration, number);
    io_open_subject(trial);
    int units = io_run_units(trial);
    if (io_hit()) {
        io_count_point(trial->failed != NULL);
    } else {
        io_not_reached++;
    }
    io_end_trial(trial, units);
}

#endif
