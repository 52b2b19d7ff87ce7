/*
 * Processes that are killed at random moments while they write everything at once (mixed.h).
 *
 * ROUNDS: how many processes are killed; SEED.
 */
#include "faults/killing.h"
#include "fixtures/mixed.h"

enum { DEFAULT_ROUNDS = 16, MEASURED = 12, SLICES_MAX = 5000 };

#define STORE "main.db-ptable"

/* load path first-batch: batch after batch, each acknowledged by its number. */
static int load(char **arguments)
{
    sqlite3 *db = try_open(arguments[0]);
    if (db == NULL || code_of(db, MIXED_TABLES) != SQLITE_OK) {
        return 1;
    }
    for (int64_t batch = strtoll(arguments[1], NULL, 10);; batch++) {
        if (mixed_batch(db, batch) != SQLITE_OK) {
            fprintf(stderr, "%s\n", sqlite3_errmsg(db));
            return 1;
        }
        write_all(STDOUT_FILENO, &batch, sizeof batch);
    }
}

static int64_t duration_of_batches(const char *folder)
{
    sqlite3 *db = open_database(folder, "measure.db");
    run(db, MIXED_TABLES);
    int64_t begin = now_ns();
    for (int64_t batch = MIXED_FIRST; batch < MIXED_FIRST + MEASURED; batch++) {
        assert_int_equal(mixed_batch(db, batch), SQLITE_OK);
    }
    int64_t duration = now_ns() - begin;
    close_database(db);
    return duration;
}

static int64_t load_and_kill(const char *folder, int64_t last, int64_t longest_ns)
{
    char path[PATH_SIZE];
    char first[24];
    path_in(folder, "main.db", path);
    snprintf(first, sizeof first, "%lld", (long long)last + 1);
    const char *const arguments[] = {path, first, NULL};
    child loader = start_child("load", arguments);
    return kill_at_random(&loader, last, longest_ns);
}

/* Returns the last batch. The ordinary table, which commits after the store, may miss it. */
static int64_t check(const char *folder, int64_t acknowledged)
{
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA busy_timeout = 0");
    int64_t last = mixed_last(db);
    assert_in_range(last, acknowledged, acknowledged + 1);
    assert_in_range(number(db, "SELECT coalesce(max(batch), %d) FROM o", MIXED_FIRST - 1),
                    acknowledged, last);
    run(db, "INSERT OR IGNORE INTO o VALUES(%lld)", last);
    mixed_check_rows(db, last);
    int64_t chunks = mixed_chunks(db);
    close_database(db);
    assert_int_equal(anatomy_of(folder, STORE)->chunks, chunks);
    return last;
}

/* Commits until nothing is left of dropped tables. */
static void collect_garbage(const char *folder)
{
    int slices = 0;
    while (anatomy_of(folder, STORE)->dropped.count > 0 && slices++ < SLICES_MAX) {
        sqlite3 *db = open_database(folder, "main.db");
        for (int i = 0; i < 20; i++) {
            run(db, "INSERT INTO t(PartitionKey, RowKey) VALUES('probe', 'a');"
                    "DELETE FROM t WHERE PartitionKey = 'probe'");
        }
        close_database(db);
    }
    assert_int_equal(anatomy_of(folder, STORE)->dropped.count, 0);
}

static void kill_at_random_moments(const char *folder, const char *journal_mode)
{
    int64_t rounds = setting("ROUNDS", DEFAULT_ROUNDS) / 2;
    seed = (uint32_t)setting("SEED", 1);
    int64_t longest = duration_of_batches(folder) * 3;
    int64_t last = MIXED_FIRST - 1;
    sqlite3 *db = open_database(folder, "main.db");
    run(db, "PRAGMA journal_mode = %s; " MIXED_TABLES, journal_mode);
    close_database(db);
    for (int64_t round = 0; round < rounds; round++) {
        last = check(folder, load_and_kill(folder, last, longest));
    }
    printf("# %s, seed %u: %lld processes killed, %lld batches\n", journal_mode,
           (unsigned)setting("SEED", 1), (long long)rounds, (long long)(last - MIXED_FIRST + 1));
    collect_garbage(folder);
    check(folder, last);
}

static void killed_at_random_moments_with_a_journal(void **state)
{
    kill_at_random_moments(*state, "delete");
}

static void killed_at_random_moments_in_wal_mode(void **state)
{
    kill_at_random_moments(*state, "wal");
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return load(argv + 2);
    }
    const struct CMUnitTest tests[] = {
        folder_test(killed_at_random_moments_with_a_journal),
        folder_test(killed_at_random_moments_in_wal_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
