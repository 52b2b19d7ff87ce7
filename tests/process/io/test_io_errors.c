/*
 * Every system call on the files of a store, and of the main database beside it, fails: once, for a
 * while, or until the connection is closed; with each error that it may have, cut short, or done
 * and yet reported as failed.
 *
 * Usually some hundred of these points are tried; SEED chooses others, N is about how many, as many
 * of each script; "all": every one. PT_SCRIPT: only scripts of that name (with * and ?). POINT:
 * only that one, as a complaint names it. PT_MESSAGES: print what the statements say. PTABLE_LOG
 * (base/ways.h) is for the scripts that are not about the log.
 */
#include "process/io/io_trial.h"

enum { POINTS = 130, LONG_POINTS = 220, MANY_CALLS = 3000, ONE_OF = 61 };

static char *folder;
static char template_folders[HOSTS][IO_PATH_SIZE];
static int64_t seed;
static int64_t points_there;
static int runs;           /* of scripts on hosts */
static const char *chosen; /* the only point that is tried, or NULL */

/* --- The script without a fault --- */

/* The state of all tables, of which the script knows nothing. */
static char *look(io_trial *trial)
{
    bool before = io_pause();
    char *state = io_state_of(trial->subject.db);
    io_resume(before);
    return state;
}

static void record_step(io_model *model, io_trial *trial, int index)
{
    io_outcome got = io_run_step(&trial->subject, model->script->steps[index]);
    if (got.rc != SQLITE_OK) {
        print_error("%s: %s\n", model->script->steps[index], got.message);
        fail();
    }
    free(model->rows[index]);
    model->rows[index] = strdup(got.rows);
    io_free_outcome(&got);
}

/* Looking opens stores, so the calls are counted in a run in which nobody looks. */
static void record_steps(io_model *model, bool with_states)
{
    io_trial trial = {.model = model};
    io_begin_trial(&trial);
    io_arm(NULL, ONCE, 0);
    io_heal();
    io_open_subject(&trial);
    model->units = 0;
    for (model->steps = 0; model->script->steps[model->steps] != NULL; model->steps++) {
        if (!io_in_transaction(&trial.subject)) {
            model->states[model->units++] = with_states ? look(&trial) : NULL;
        }
        model->unit_of[model->steps] = model->units - 1;
        record_step(model, &trial, model->steps);
    }
    model->states[model->units] = with_states ? look(&trial) : NULL;
    io_close(&trial.subject);
    io_pause();
}

static void record(io_model *model)
{
    static uint8_t kinds[IO_CALLS_MAX];
    io_record = kinds;
    io_recorded = 0;
    record_steps(model, false);
    io_record = NULL;
    assert_in_range(io_recorded, 1, IO_CALLS_MAX - 1);
    model->calls = io_recorded;
    model->kinds = malloc((size_t)io_recorded);
    assert_non_null(model->kinds);
    memcpy(model->kinds, kinds, (size_t)io_recorded);
    record_steps(model, true);
}

static void free_model(io_model *model)
{
    for (int i = 0; i < IO_STEPS_MAX; i++) {
        free(model->rows[i]);
        free(model->states[i]);
    }
    free(model->states[IO_STEPS_MAX]);
    free(model->kinds);
}

/* --- Points --- */

static int calls_for(const io_model *model, const io_fault *fault)
{
    int count = 0;
    for (int i = 0; i < model->calls; i++) {
        count += (fault->kinds & 1u << model->kinds[i]) != 0;
    }
    return count;
}

/* A file is made with thousands of commits that are all alike. */
static bool is_like_others(int number, int count)
{
    return count > MANY_CALLS && number > MANY_CALLS / 8 && number < count - MANY_CALLS / 8 &&
           number % ONE_OF != 0;
}

static bool is_chosen_point(const io_model *model, const io_fault *fault, io_duration duration,
                            int number)
{
    char point[IO_POINT_SIZE];
    io_name_point(point, model->host, fault, duration, number);
    return strcmp(point, chosen) == 0;
}

/* Every `step`-th point of the model, from the `first` on; counts points that there are. */
static int64_t run_points(const io_model *model, int64_t first, int64_t step)
{
    int64_t point = 0;
    for (int i = 0; i < IO_FAULTS; i++) {
        const io_fault *fault = &io_faults[i];
        int count = calls_for(model, fault);
        for (io_duration duration = 0; duration < (fault->recurs ? DURATIONS : ONCE + 1);
             duration++) {
            for (int number = 0; number < count; number++) {
                if (is_like_others(number, count)) {
                    continue;
                }
                if (step != 0 && (chosen != NULL ? is_chosen_point(model, fault, duration, number)
                                                 : point % step == first)) {
                    io_run_trial(model, fault, duration, number);
                }
                point++;
            }
        }
    }
    return point;
}

static bool wants_all(void)
{
    const char *wanted = getenv("N");
    return wanted != NULL && strcmp(wanted, "all") == 0;
}

static void run_model(const io_script *script, io_host host)
{
    io_model model = {.script = script, .host = host, .template_folder = template_folders[host]};
    record(&model);
    int64_t all = run_points(&model, 0, 0);
    points_there += all;
    int64_t share = setting("N", extent(POINTS, LONG_POINTS)) / runs + 1;
    int64_t step = wants_all() ? 1 : all / share + 1;
    run_points(&model, seed % step, step);
    free_model(&model);
}

/* The short form takes one host for each script, another with another SEED. */
static bool is_chosen(const io_script *script, io_host host)
{
    if ((script->hosts & 1u << host) == 0 || setting("N", 0) != 0 || wants_all() ||
        chosen != NULL) {
        return (script->hosts & 1u << host) != 0;
    }
    int64_t turn = (seed + (script - io_scripts)) % __builtin_popcount(script->hosts);
    return __builtin_popcount(script->hosts & ((1u << host) - 1)) == turn;
}

static void test_script(void **state)
{
    const io_script *script = *state;
    io_complaints = 0;
    for (io_host host = 0; host < HOSTS; host++) {
        if (is_chosen(script, host)) {
            run_model(script, host);
        }
    }
    assert_int_equal(io_complaints, 0);
}

/* --- The group --- */

static void make_template(io_host host)
{
    snprintf(template_folders[host], IO_PATH_SIZE, "%s/template-%d", folder, (int)host);
    assert_int_equal(mkdir(template_folders[host], 0700), 0);
    sqlite3 *db;
    assert_int_equal(io_connect(template_folders[host], host, &db), SQLITE_OK);
    io_make_tables(db, host);
    close_database(db);
}

static int set_up(void **state)
{
    (void)state;
    folder = new_folder();
    assert_non_null(folder);
    snprintf(io_folder, sizeof io_folder, "%s/subject", folder);
    assert_int_equal(mkdir(io_folder, 0700), 0);
    setenv("SQLITE_TMPDIR", io_folder, 1);
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOG, io_log, NULL);
    seed = setting("SEED", 1);
    chosen = getenv("POINT");
    if (getenv("PTABLE_LOG") != NULL) {
        snprintf(io_log_asked_for, sizeof io_log_asked_for, "%s", getenv("PTABLE_LOG"));
    }
    for (io_host host = 0; host < HOSTS; host++) {
        make_template(host);
        for (int i = 0; i < IO_SCRIPTS; i++) {
            runs += is_chosen(&io_scripts[i], host);
        }
    }
    io_looker = start_child("looker", (const char *const[]){NULL});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stop_child(&io_looker);
    io_print_figures();
    printf("# of %lld points that there are; SEED=%lld\n", (long long)points_there,
           (long long)seed);
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
    if (io_is_looker(argc, argv)) {
        return io_be_looker();
    }
    struct CMUnitTest tests[IO_SCRIPTS];
    for (int i = 0; i < IO_SCRIPTS; i++) {
        tests[i] = (struct CMUnitTest){.name = io_scripts[i].name,
                                       .test_func = test_script,
                                       .teardown_func = io_give_up_trial,
                                       .initial_state = (void *)(uintptr_t)&io_scripts[i]};
    }
    cmocka_set_test_filter(getenv("PT_SCRIPT"));
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
