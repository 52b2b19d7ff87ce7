/*
 * Statements on ptables and on ordinary tables: the grammar, the twins and their comparison are
 * those of tests/random/test_differential.c, and the input makes the choices. Its first byte says
 * in which encoding the databases are.
 *
 * Making stores takes long, so the databases are used again and only emptied.
 */
#include "fuzz/chosen.h"

#include "random/generate.h"
#include "random/perform.h"

enum { STEPS_MAX = 24 };

static const twin_host hosts[] = {
    {"in memory", NULL, "UTF-8", "memory", false},
    {"in memory, UTF-16", NULL, "UTF-16le", "memory", false},
};

enum { HOSTS = sizeof hosts / sizeof hosts[0] };

static char folder[] = "/tmp/ptable-twins-XXXXXX";
static twin_pair pairs[HOSTS];

static void leave_folder(void)
{
    for (int i = 0; i < HOSTS; i++) {
        sqlite3_close(pairs[i].ptable);
    }
    remove_files(folder);
    rmdir(folder);
}

static void enter_folder(void)
{
    if (pairs[0].ptable != NULL) {
        return;
    }
    must_hold(mkdtemp(folder) != NULL && chdir(folder) == 0, "there is a folder");
    for (int i = 0; i < HOSTS; i++) {
        pairs[i] = (twin_pair){.host = &hosts[i], .folder = folder};
        open_ptable(&pairs[i]);
    }
    atexit(leave_folder);
}

static void begin_twins(twin_pair *twins)
{
    must(twins->ptable, DECLARE_PTABLES);
    must(twins->ptable, DECLARE_SHARED);
    open_ordinary(twins);
}

/* Tables that the input has dropped cannot be emptied. */
static void end_twins(twin_pair *twins)
{
    static const char *const deletions[] = {"DELETE FROM t1", "DELETE FROM t2", "DELETE FROM t3"};
    close_cursors(twins);
    if (!sqlite3_get_autocommit(twins->ptable)) {
        must(twins->ptable, "ROLLBACK");
    }
    for (int i = 0; i < 3; i++) {
        sqlite3_exec(twins->ptable, deletions[i], NULL, NULL, NULL);
    }
    must(twins->ptable, DROP_PTABLES);
    must(twins->ptable, "COMMIT; DROP TABLE n; DROP TABLE seen");
    must_be_ok(sqlite3_close(twins->ordinary), "closing the twin");
}

static void take_step(twin_pair *twins, step_generator *generator, bool last)
{
    test_step step =
        last ? step_of_rule(generator, STEP_UNORDERED, "everything") : next_step(generator, twins);
    if (perform(twins, &step, true) == DIFFERENT) {
        step_print(&step);
        must_hold(false, "ptables and ordinary tables do the same");
    }
    step_free(&step);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enter_folder();
    chosen = pt_slice_of(data, size);
    unsigned kind = size != 0 ? data[0] : 0;
    twin_pair *twins = &pairs[kind % HOSTS];
    step_generator generator = {
        .random = 1, .utf16 = kind % HOSTS != 0, .long_keys = kind / HOSTS % 4 == 0};
    begin_twins(twins);
    for (int i = 0; i < STEPS_MAX && generator.random < size; i++) {
        take_step(twins, &generator, false);
    }
    take_step(twins, &generator, true);
    end_twins(twins);
    return 0;
}
