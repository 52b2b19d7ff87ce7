/*
 * What is read back from a log, in a process that finds it, and what must never be: commits that
 * were lost once stay lost, and giving up a log loses none that can be read.
 */
#include <sys/stat.h>

#include "fixtures/log_chain.h"
#include "fixtures/scene.h"

enum { MANY = 1000000 };

#define STORE "shared.ptable"
#define TABLES                                                                                     \
    "CREATE VIRTUAL TABLE IF NOT EXISTS f USING ptable(V Int32, store='" STORE "');"               \
    "CREATE VIRTUAL TABLE IF NOT EXISTS n USING ptable(V Int32, sync='normal', store='" STORE "')"

static int set_up(void **state)
{
    use_log(MANY);
    return new_scene(state) != NULL ? 0 : -1;
}

static const char *beside(const scene *all, const char *suffix)
{
    static char paths[4][PATH_SIZE];
    static int next;
    char name[PATH_SIZE];
    next = (next + 1) % 4;
    snprintf(name, sizeof name, STORE "%s", suffix);
    path_in(all->folder, name, paths[next]);
    return paths[next];
}

/* The power has failed before this record was on the disk. */
static void lose_record(const scene *all, const log_chain *with)
{
    static file_content log;
    log.size = 0;
    file_load(&log, beside(all, "-log"));
    memset(log.bytes + CHAIN_LOG_HEADER + with->last, 0, with->end - with->last);
    assert_true(file_write(beside(all, "-log"), &log));
}

/*
 * Of two commits that were not flushed, the disk has the second one only. Both are lost. A deletion
 * assigns no timestamp. So the first one, made again, is the same record, byte by byte, and the
 * second one would follow it.
 */
static void what_a_power_failure_took_does_not_come_back(void **state)
{
    const scene *all = *state;
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, TABLES);
    peer_run(&other, "INSERT INTO n VALUES('p', 'old', 1); INSERT INTO f VALUES('p', 'f', 1)");
    peer_run(&other, "DELETE FROM n WHERE PartitionKey = 'p' AND RowKey = 'old'");
    log_chain with = log_chain_check(beside(all, ""));
    peer_run(&other, "INSERT INTO n VALUES('p', 'new', 2)");
    kill_peer(&other);
    lose_record(all, &with);

    other = start_peer(all->folder, "main.db");
    assert_peer_number(&other, 1, "SELECT count(*) FROM n WHERE RowKey = 'old'");
    assert_peer_number(&other, 0, "SELECT count(*) FROM n WHERE RowKey = 'new'");
    peer_run(&other, "DELETE FROM n WHERE PartitionKey = 'p' AND RowKey = 'old'");
    assert_peer_number(&other, 0, "SELECT count(*) FROM n");
    kill_peer(&other);

    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, 0, "SELECT count(*) FROM n");
    close_database(db);
}

/* --- Giving up a log --- */

static void leave_rows(const scene *all)
{
    peer other = start_peer(all->folder, "main.db");
    peer_run(&other, TABLES);
    peer_run(&other, "INSERT INTO f VALUES('p', 'a', 1); INSERT INTO f VALUES('p', 'b', 1)");
    kill_peer(&other);
}

static void expect_rows(const scene *all, int rows)
{
    sqlite3 *db = open_database(all->folder, "main.db");
    assert_number(db, rows, "SELECT count(*) FROM f");
    close_database(db);
}

/* The word is worth nothing by then. */
static void a_log_without_a_word_is_not_lost(void **state)
{
    const scene *all = *state;
    leave_rows(all);
    unlink(beside(all, "-word"));
    assert_int_equal(mkdir(beside(all, "-word"), 0700), 0);
    sqlite3 *db = open_database(all->folder, "other.db");
    run(db, "SELECT pt_forget_log('%s')", beside(all, ""));
    close_database(db);
    assert_int_equal(rmdir(beside(all, "-word")), 0);
    expect_rows(all, 2);
}

int main(int argc, char **argv)
{
    if (is_peer(argc, argv)) {
        return be_peer(argv);
    }
    const struct CMUnitTest tests[] = {
        scene_test(what_a_power_failure_took_does_not_come_back),
        scene_test(a_log_without_a_word_is_not_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
