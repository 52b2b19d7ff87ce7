/*
 * The marks of a session, announced to it as SQLite announces savepoints to virtual tables.
 */
#include "fixtures/session_fixture.h"

static test_host host;
static pt_session *session;

static int setup(void **state)
{
    (void)state;
    host = (test_host){0};
    session = new_session(open_faulty(NULL), &host);
    return session != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    pt_session_free(session);
    return 0;
}

static void mark_level(int level)
{
    assert_int_equal(pt_session_savepoint(session, level), SQLITE_OK);
}

static void rolling_back_keeps_the_level_open(void **state)
{
    (void)state;
    begin(session);
    write_text(session, "a", "1");
    mark_level(0);
    for (int round = 0; round < 3; round++) {
        write_text(session, "a", "2");
        write_text(session, "b", "2");
        pt_session_rollback_to(session, 0);
        assert_finds(session, "a", "1");
        assert_finds(session, "b", NULL);
    }
    pt_session_release(session, 0);
    assert_finds(session, "a", "1");
}

static void every_table_of_the_store_announces_the_same_levels(void **state)
{
    (void)state;
    begin(session);
    mark_level(0);
    mark_level(0);
    write_text(session, "a", "1");
    mark_level(1);
    mark_level(1);
    write_text(session, "b", "1");
    pt_session_rollback_to(session, 1);
    pt_session_rollback_to(session, 1);
    assert_finds(session, "a", "1");
    assert_finds(session, "b", NULL);
    pt_session_release(session, 1);
    pt_session_release(session, 1);
    write_text(session, "c", "1");
    mark_level(1);
    pt_session_rollback_to(session, 1);
    assert_finds(session, "c", "1");
    pt_session_rollback_to(session, 0);
    assert_finds(session, "a", NULL);
    assert_finds(session, "c", NULL);
}

/* A transaction that began with SAVEPOINT has that one as level -1, which is never announced. */
static void level_minus_one_is_the_whole_transaction(void **state)
{
    (void)state;
    begin(session);
    write_text(session, "a", "1");
    mark_level(0);
    write_text(session, "b", "1");
    pt_session_release(session, 0);
    pt_session_rollback_to(session, -1);
    assert_finds(session, "a", NULL);
    assert_finds(session, "b", NULL);
    assert_false(pt_session_has_pending(session));
    write_text(session, "c", "1");
    assert_true(pt_session_has_pending(session));
}

static void a_level_from_before_the_session_joined_is_its_beginning(void **state)
{
    (void)state;
    begin(session);
    mark_level(3);
    write_text(session, "a", "1");
    pt_session_release(session, 3);
    pt_session_rollback_to(session, 1);
    assert_finds(session, "a", NULL);
}

static void a_level_announced_again_ends_those_inside_it(void **state)
{
    (void)state;
    begin(session);
    mark_level(0);
    mark_level(1);
    write_text(session, "a", "1");
    mark_level(0);
    mark_level(1);
    write_text(session, "b", "1");
    pt_session_rollback_to(session, 1);
    assert_finds(session, "a", "1");
    assert_finds(session, "b", NULL);
}

static void a_released_level_keeps_no_old_versions(void **state)
{
    (void)state;
    test_key key = key_of(SESSION_TABLE, "a");
    begin(session);
    const uint8_t *first = pt_session_put(session, key_slice(&key), PT_INSERT, 1);
    mark_level(0);
    pt_session_release(session, 0);
    assert_ptr_equal(pt_session_put(session, key_slice(&key), PT_INSERT, 1), first);
}

/* The companion announces levels to sessions that do not write yet. */
static void levels_are_known_from_before_the_first_write(void **state)
{
    (void)state;
    mark_level(0);
    begin(session);
    write_text(session, "a", "1");
    mark_level(1);
    write_text(session, "b", "1");
    pt_session_rollback_to(session, 1);
    assert_finds(session, "a", "1");
    pt_session_rollback_to(session, 0);
    assert_finds(session, "a", NULL);
}

static void levels_end_with_their_transaction(void **state)
{
    (void)state;
    void (*const ends[])(pt_session *) = {pt_session_commit, pt_session_rollback};
    for (int i = 0; i < 2; i++) {
        for (int written = 0; written < 2; written++) {
            if (written) {
                begin(session);
                write_text(session, "z", "1");
            }
            mark_level(0);
            if (ends[i] == pt_session_commit) {
                sync_now(session);
            }
            ends[i](session);
            begin(session);
            write_text(session, "a", "1");
            mark_level(0);
            write_text(session, "b", "1");
            pt_session_rollback_to(session, 0);
            assert_finds(session, "a", "1");
            assert_finds(session, "b", NULL);
            pt_session_rollback(session);
        }
    }
}

static void rolling_back_tells_that_the_catalogue_may_have_changed(void **state)
{
    (void)state;
    begin(session);
    mark_level(0);
    uint64_t changes = pt_session_catalog_changes(session);
    pt_session_note_catalog_change(session);
    assert_true(pt_session_catalog_changes(session) != changes);
    changes = pt_session_catalog_changes(session);
    pt_session_rollback_to(session, 0);
    assert_true(pt_session_catalog_changes(session) != changes);
    changes = pt_session_catalog_changes(session);
    pt_session_rollback(session);
    assert_true(pt_session_catalog_changes(session) != changes);
}

static void a_row_of_several_operations_is_all_or_nothing(void **state)
{
    (void)state;
    begin(session);
    write_text(session, "old", "1");
    for (int marked = 0; marked < 2; marked++) {
        size_t row = pt_session_begin_row(session);
        write_text(session, "new", "1");
        write_text(session, "old", "2");
        remove_text(session, "old");
        pt_session_discard_row(session, row);
        assert_finds(session, "old", "1");
        assert_finds(session, "new", NULL);
        mark_level(0);
    }
    pt_session_begin_row(session);
    write_text(session, "new", "1");
    remove_text(session, "old");
    pt_session_end_row(session);
    assert_finds(session, "new", "1");
    assert_finds(session, "old", NULL);
    write_text(session, "new", "2");
    pt_session_rollback_to(session, 0);
    assert_finds(session, "old", "1");
    assert_finds(session, "new", NULL);
}

static void rows_lie_inside_rows(void **state)
{
    (void)state;
    begin(session);
    write_text(session, "old", "1");
    write_text(session, "older", "1");
    size_t outer = pt_session_begin_row(session);
    write_text(session, "new", "1");
    size_t inner = pt_session_begin_row(session);
    write_text(session, "new", "2");
    write_text(session, "old", "2");
    pt_session_discard_row(session, inner);
    assert_finds(session, "new", "1");
    assert_finds(session, "old", "1");
    pt_session_begin_row(session);
    write_text(session, "old", "3");
    pt_session_end_row(session);
    write_text(session, "older", "3");
    remove_text(session, "old");
    pt_session_discard_row(session, outer);
    assert_finds(session, "new", NULL);
    assert_finds(session, "old", "1");
    assert_finds(session, "older", "1");
    size_t length = pt_memtable_length(pt_session_memtable(session));
    write_text(session, "old", "4");
    assert_int_equal(pt_memtable_length(pt_session_memtable(session)), length);
}

/* --- SQLite's announcements, against whole copies of the state --- */

enum { KEYS = 8, DEPTH = 6, TABLES = 4, STEPS = 300 };

/* A virtual table in SQLite's list: `announced` is its sqlite3_vtab's iSavepoint. */
typedef struct participant {
    bool joined;
    int announced;
} participant;

typedef struct simulation {
    participant tables[TABLES];
    int depth; /* open savepoints */
    int values[KEYS];
    int saved[DEPTH][KEYS];
} simulation;

static void join(simulation *sim, participant *table)
{
    if (table->joined) {
        return;
    }
    begin(session);
    *table = (participant){.joined = true};
    if (sim->depth > 0) {
        mark_level(sim->depth - 1);
        table->announced = sim->depth;
    }
}

static void open_savepoint(simulation *sim)
{
    memcpy(sim->saved[sim->depth], sim->values, sizeof sim->values);
    for (int i = 0; i < TABLES; i++) {
        if (sim->tables[i].joined) {
            mark_level(sim->depth);
            sim->tables[i].announced = sim->depth + 1;
        }
    }
    sim->depth++;
}

static void tell(const simulation *sim, int level, void (*method)(pt_session *, int))
{
    for (int i = 0; i < TABLES; i++) {
        if (sim->tables[i].joined && sim->tables[i].announced > level) {
            method(session, level);
        }
    }
}

static void release_savepoint(simulation *sim, int level)
{
    tell(sim, level, pt_session_release);
    sim->depth = level;
}

static void roll_back_savepoint(simulation *sim, int level)
{
    tell(sim, level, pt_session_rollback_to);
    sim->depth = level + 1;
    if (level < 0) {
        memset(sim->values, 0, sizeof sim->values);
    } else {
        memcpy(sim->values, sim->saved[level], sizeof sim->values);
    }
}

static void write_value(simulation *sim, uint64_t *seed)
{
    int at = (int)(next_random(seed) % KEYS);
    char key[] = {(char)('a' + at), 0};
    int value = (int)(next_random(seed) % 10);
    char record[] = {(char)('0' + value), 0};
    join(sim, &sim->tables[next_random(seed) % TABLES]);
    if (value == 0) {
        remove_text(session, key);
    } else {
        write_text(session, key, record);
    }
    sim->values[at] = value;
}

static void take_step(simulation *sim, uint64_t *seed)
{
    switch (next_random(seed) % 8) {
    case 0:
    case 1:
        if (sim->depth < DEPTH) {
            open_savepoint(sim);
        }
        break;
    case 2:
        if (sim->depth > 0) {
            release_savepoint(sim, (int)next_random(seed) % sim->depth);
        }
        break;
    case 3:
        roll_back_savepoint(sim, (int)next_random(seed) % (sim->depth + 1) - 1);
        break;
    default:
        write_value(sim, seed);
        break;
    }
}

static void assert_values(const simulation *sim)
{
    if (!pt_session_is_writing(session)) {
        return;
    }
    for (int i = 0; i < KEYS; i++) {
        char key[] = {(char)('a' + i), 0};
        char record[] = {(char)('0' + sim->values[i]), 0};
        assert_finds(session, key, sim->values[i] != 0 ? record : NULL);
    }
}

static void follows_what_sqlite_announces(void **state)
{
    (void)state;
    for (uint64_t run = 1; run <= 60; run++) {
        uint64_t seed = run;
        simulation sim = {0};
        for (int step = 0; step < STEPS; step++) {
            take_step(&sim, &seed);
            assert_values(&sim);
        }
        pt_session_rollback(session);
    }
}

/* SQLite goes back to a level whose opening failed. */
static void a_level_that_finds_no_memory_can_be_rolled_back_to(void **state)
{
    (void)state;
    enum { MARKS = 16 }; /* that there is room for at first; one more is always reserved */
    begin(session);
    int level = 0;
    for (; level < MARKS - 1; level++) {
        mark_level(level);
        char key[] = {(char)('a' + level), 0};
        write_text(session, key, "1");
    }
    failing_malloc_arm(0, false);
    assert_int_equal(pt_session_savepoint(session, level), SQLITE_NOMEM);
    assert_true(failing_malloc_disarm());
    pt_session_rollback_to(session, level);
    assert_finds(session, "o", "1");
    pt_session_rollback_to(session, level - 1);
    assert_finds(session, "o", NULL);
    assert_finds(session, "n", "1");
    mark_level(level);
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(rolling_back_keeps_the_level_open),
        TEST(every_table_of_the_store_announces_the_same_levels),
        TEST(level_minus_one_is_the_whole_transaction),
        TEST(a_level_from_before_the_session_joined_is_its_beginning),
        TEST(a_level_announced_again_ends_those_inside_it),
        TEST(a_released_level_keeps_no_old_versions),
        TEST(levels_are_known_from_before_the_first_write),
        TEST(levels_end_with_their_transaction),
        TEST(rolling_back_tells_that_the_catalogue_may_have_changed),
        TEST(a_row_of_several_operations_is_all_or_nothing),
        TEST(rows_lie_inside_rows),
        TEST(follows_what_sqlite_announces),
        TEST(a_level_that_finds_no_memory_can_be_rolled_back_to),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
