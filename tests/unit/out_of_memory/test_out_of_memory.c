/*
 * Out of memory, anywhere: scripts run while one allocation fails, or all from one on
 * (out_of_memory_trial.h). First each script runs once with memory, and its allocations are noted,
 * those of SQLite's allocator and, apart, those of LMDB, of the C library and of ptable itself.
 *
 *     N          how many points are tried, evenly spread over all: an allocation of a script that
 *                fails alone, or with all that follow; "all": every one. Usually SHORT.
 *     SEED       chooses others. With the same N, SEED=0, 1, 2 ... together try all.
 *     STACKS     how many allocations count of those that were made in the same step by the same
 *                calls, evenly spread; "all": each. Usually 1, with N=all "all".
 *     CALLS      how many calls, from the inside, make a place; each place then counts once in all
 *                scripts and steps together, and not in each step of its own. Usually all.
 *     PT_FROM    whose memory: sqlite, libraries. Usually both.
 *     PT_SCRIPT  only scripts of that name (with * and ?).
 *     PTABLE_LOG base/ways.h; for scripts that are not about the log.
 */
#include <fnmatch.h>
#include <limits.h>

#include "fixtures/new_folder.h"
#include "unit/out_of_memory/out_of_memory_trial.h"

enum { SHORT = 80 };

static struct {
    memory_point *items;
    int count;
    int every; /* tries one point of so many; odd, so that both points of an allocation come up */
    int first;
} points;

static struct {
    int allocations[2]; /* SQLite's, others */
    int places[2];
    int tried[2];
    int persistent;
    int failed; /* trials in which a step failed for want of memory */
    int survived;
} figures;

/* --- Choosing what is tried --- */

static int number_from_environment(const char *name, int usual)
{
    const char *text = getenv(name);
    if (text == NULL || *text == 0) {
        return usual;
    }
    return strcmp(text, "all") == 0 ? INT_MAX : atoi(text);
}

/* True if the environment variable, a pattern, is not set or matches the name. */
static bool is_asked_for(const char *variable, const char *name)
{
    const char *pattern = getenv(variable);
    return pattern == NULL || fnmatch(pattern, name, 0) == 0;
}

static int points_wanted(void)
{
    return number_from_environment("N", getenv("PT_LONG") != NULL ? INT_MAX : SHORT);
}

static void append_point(const memory_point *point)
{
    if ((points.count & (points.count - 1)) == 0) {
        size_t room = points.count == 0 ? 1 : 2 * (size_t)points.count;
        points.items = realloc(points.items, room * sizeof *points.items);
        assert_non_null(points.items);
    }
    points.items[points.count++] = *point;
}

static void append_points(const memory_script *script, host_kind host, bool elsewhere, int most)
{
    allocation_list *list = &recorded[elsewhere];
    int places;
    figures.allocations[elsewhere] += list->count;
    thin_out(list, most, &places);
    figures.places[elsewhere] += places;
    memory_point point = {.script = script, .host = host, .elsewhere = elsewhere};
    for (int i = 0; i < list->count; i++) {
        if (calls_of_place > 0 && !is_new_place(list->items[i].place)) {
            continue;
        }
        point.number = list->items[i].number;
        point.persistent = false;
        append_point(&point);
        point.persistent = true;
        append_point(&point);
    }
}

static void find_points(const memory_script *script, host_kind host, int most)
{
    const memory_point none = {.script = script, .host = host, .number = INT_MAX};
    begin_recording();
    assert_false(run_trial(&none));
    end_recording();
    if (is_asked_for("PT_FROM", "sqlite")) {
        append_points(script, host, false, most);
    }
    if (library_memory_can_fail() && is_asked_for("PT_FROM", "libraries")) {
        append_points(script, host, true, most);
    }
}

static void choose_points(void)
{
    int wanted = points_wanted();
    points.every = wanted > 0 ? points.count / wanted | 1 : 1;
    points.first = number_from_environment("SEED", 1) % points.every;
}

/* --- Trying --- */

static void try_point(const memory_point *point)
{
    figures.tried[point->elsewhere]++;
    figures.persistent += point->persistent;
    if (run_trial(point)) {
        figures.failed++;
    } else {
        figures.survived++;
    }
}

static void test_script(void **state)
{
    abandon_trial();
    for (int i = points.first; i < points.count; i += points.every) {
        if (points.items[i].script == *state) {
            try_point(&points.items[i]);
        }
    }
}

/* What the trials rest on: every kind of allocation is counted, can fail, and is given back. */
static void test_libraries_run_out_of_memory(void **state)
{
    (void)state;
    if (!library_memory_can_fail()) {
        skip();
    }
    memory_balance before = balance_now();
    failing_malloc_elsewhere = true;
    failing_malloc_arm(INT_MAX, false);
    void *volatile block = calloc(1, 1); /* volatile: an optimizer knows malloc() and free() */
    block = realloc(block, 100);
    void *volatile aligned = aligned_alloc(64, 64);
    void *volatile map = mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(INT_MAX - failing_malloc_countdown, 4);
    failing_malloc_arm(0, true);
    assert_null(malloc(1));
    assert_null(calloc(1, 1));
    assert_null(reallocarray(NULL, 10, 100));
    assert_true(mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    assert_null(realpath("/", NULL));
    failing_malloc_disarm();
    assert_int_equal(library_blocks, before.blocks + 2);
    assert_int_equal(library_mappings, before.mappings + 1);
    free(block);
    free(aligned);
    munmap(map, 1);
    assert_int_equal(library_blocks, before.blocks);
    assert_int_equal(library_mappings, before.mappings);
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

static void find_all_points(void)
{
    calls_of_place = number_from_environment("CALLS", 0);
    int most = number_from_environment("STACKS", points_wanted() == INT_MAX ? INT_MAX : 1);
    for (size_t i = 0; i < SCRIPTS; i++) {
        for (host_kind host = 0; host < HOSTS && is_asked_for("PT_SCRIPT", scripts[i].name);
             host++) {
            if ((scripts[i].hosts & (1u << host)) != 0) {
                find_points(&scripts[i], host, most);
            }
        }
    }
    choose_points();
}

static void note_environment(void)
{
    const char *asked_for = getenv("PTABLE_LOG");
    if (asked_for != NULL) {
        snprintf(log_asked_for, sizeof log_asked_for, "PTABLE_LOG=%s", asked_for);
    }
}

static int make_folders(void **state)
{
    (void)state;
    note_environment();
    static const char *const names[] = {"subject", "model"};
    char path[PATH_SIZE];
    char *made = new_folder();
    assert_non_null(made);
    snprintf(folder, sizeof folder, "%s", made);
    free(made);
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0); /* every allocation can fail */
    failing_malloc_install();
    this_place(); /* the first time loads a library */
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    for (host_kind host = 0; host < HOSTS; host++) {
        make_template(host);
    }
    find_all_points();
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
    printf(
        "# allocations: %d of SQLite in %d places, %d of others in %d places; %d points, one in %d "
        "tried\n",
        figures.allocations[0], figures.places[0], figures.allocations[1], figures.places[1],
        points.count, points.every);
    printf(
        "# tried: %d of SQLite, %d of others; %d of them to the end; %d made a step fail, %d did "
        "not\n",
        figures.tried[0], figures.tried[1], figures.persistent, figures.failed, figures.survived);
    free(points.items);
    forget_recorded();
    visit_files(folder, remove_folder, NULL);
    return rmdir(folder);
}

int main(void)
{
    struct CMUnitTest tests[1 + SCRIPTS] = {cmocka_unit_test(test_libraries_run_out_of_memory)};
    size_t count = 1;
    for (size_t i = 0; i < SCRIPTS; i++) {
        if (is_asked_for("PT_SCRIPT", scripts[i].name)) {
            tests[count++] = (struct CMUnitTest){.name = scripts[i].name,
                                                 .test_func = test_script,
                                                 .initial_state = (void *)(uintptr_t)&scripts[i]};
        }
    }
    return _cmocka_run_group_tests("scripts", tests, count, make_folders, remove_folders);
}
