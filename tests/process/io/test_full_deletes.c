/*
 * Deleting on a full disk, and in a full map: a store is filled up at random until nothing more can
 * be inserted and the disk has no page left. Then every DELETE succeeds, and in the end there is
 * room again.
 */
#include "faults/small_disk.h"

#include "fixtures/folder.h"
#include "fixtures/store.h"
#include <lmdb.h>

enum { TRIALS = 5, FILLS = 2 };

static uint64_t seed;

/* From 0 to below `limit`. */
static unsigned any_below(unsigned limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % limit;
}

typedef struct trial {
    const char *folder;
    sqlite3 *db;
    const char *advice; /* of failed writes */
    int64_t rows;       /* inserted so far, by which they are numbered */
    int full;           /* how often the disk was */
    bool indexed;       /* table a has indexes */
    int compacted;      /* how often that had to make room */
} trial;

static void connect(trial *self)
{
    self->db = open_database(self->folder, ":memory:");
    run(self->db,
        "CREATE VIRTUAL TABLE a USING ptable(S String%s, store='%s" SMALL_DISK_STORE "', sync=off);"
        "CREATE VIRTUAL TABLE b USING ptable(S String, store='%s" SMALL_DISK_STORE "', sync=off);"
        "CREATE VIRTUAL TABLE q USING pt_queue(store='%s" SMALL_DISK_STORE "', sync=off)",
        self->indexed ? ", index(S), index(PartitionKey, S), unique(S, RowKey)" : "", self->folder,
        self->folder, self->folder);
}

/* --- Filling --- */

static const char *any_table(void)
{
    return any_below(3) == 0 ? "b" : "a";
}

/* Of one kind: short rows in order or not, long ones, large values, long keys, messages, changes.
 */
static int write_some(trial *self, int rows)
{
    int64_t first = self->rows;
    self->rows += rows;
    const char *table = any_table();
#define NUMBERS "WITH RECURSIVE n(k) AS (SELECT %lld UNION ALL SELECT k + 1 FROM n LIMIT %d) "
    switch (any_below(7)) {
    case 0:
        return code_of(self->db,
                       NUMBERS "INSERT INTO %s SELECT 'o', printf('%%09d', k), 'x' FROM n", first,
                       rows, table);
    case 1:
        return code_of(self->db,
                       NUMBERS "INSERT INTO %s SELECT k %% 10, printf('%%05d', k * 7919 %% 100000) "
                               "|| k, printf('%%.%dc', 'y') FROM n",
                       first, rows, table, 1 + any_below(900));
    case 2:
        return code_of(self->db, NUMBERS "INSERT INTO %s SELECT 'l', k, hex(zeroblob(%d)) FROM n",
                       first, rows / 20 + 1, table, 1500 + any_below(20000));
    case 3:
        return code_of(self->db,
                       NUMBERS "INSERT INTO %s SELECT 'k', printf('%%.%dc', 'k') || k, 'z' FROM n",
                       first, rows / 5 + 1, table, 500 + any_below(2400));
    case 4:
        return code_of(self->db, NUMBERS "INSERT INTO q(Body) SELECT printf('%%.300c', 'm') FROM n",
                       first, rows);
    case 5:
        return code_of(self->db, "UPDATE %s SET S = S || 'w' WHERE RowKey LIKE '%%%u'", table,
                       any_below(10));
    default:
        return code_of(self->db, "DELETE FROM %s WHERE RowKey LIKE '%%%u%u'", table, any_below(10),
                       any_below(10));
    }
}

static void fill_up(trial *self)
{
    int failures = 0;
    while (failures < 12) {
        int rows = failures < 4 ? 1 + (int)any_below(400) : 1;
        int code = write_some(self, rows);
        if (code == SQLITE_OK) {
            continue;
        }
        if (code != SQLITE_FULL) {
            fail_msg("filling: %d %s", code, sqlite3_errmsg(self->db));
        }
        says(self->db, self->advice);
        failures++;
    }
    self->full++;
}

static void fill(trial *self)
{
    fill_up(self);
    assert_true(!the_disk.is_there || the_disk.free_pages == 0);
}

/* --- Deleting --- */

static void must_delete(const trial *self, const char *sql)
{
    if (sqlite3_exec(self->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(self->db));
    }
}

static void delete_some(trial *self)
{
    static const char *const statements[] = {
        "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)",
        "DELETE FROM b WHERE EntityKey IN (SELECT EntityKey FROM b ORDER BY S LIMIT 1)",
        "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a ORDER BY S, RowKey DESC LIMIT "
        "40)",
        "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a WHERE RowKey LIKE '%3' LIMIT "
        "60)",
        "DELETE FROM b WHERE PartitionKey IN ('o', 'k')",
        "DELETE FROM a WHERE PartitionKey = '7'",
        "DELETE FROM pt_partitions WHERE argument1 = 'a' AND PartitionKey = '7'",
        "DELETE FROM pt_partitions WHERE argument1 = 'a' AND PartitionKey > '7'",
        "DELETE FROM a WHERE PartitionKey >= '4' AND PartitionKey < 'l'",
        "DELETE FROM q WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM q LIMIT "
        "30)",
        "BEGIN; DELETE FROM b WHERE EntityKey IN (SELECT EntityKey FROM b LIMIT 20);"
        "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 20); COMMIT",
        "DELETE FROM b",
    };
    must_delete(self, statements[any_below(sizeof statements / sizeof statements[0])]);
}

static void delete_all(trial *self)
{
    static const char *const ways[] = {
        "DELETE FROM a; DELETE FROM b; DELETE FROM q WHERE (MessageId, PopReceipt) IN "
        "(SELECT MessageId, PopReceipt FROM q)",
        "BEGIN; DELETE FROM a; DELETE FROM b; COMMIT",
    };
    if (any_below(3) != 0) {
        must_delete(self, ways[any_below(2)]);
        return;
    }
    char *sql =
        sqlite3_mprintf("DELETE FROM pt_tables WHERE TableName IN ('a', 'b', 'q') AND Store = "
                        "'%s" SMALL_DISK_STORE "'",
                        self->folder);
    must_delete(self, sql);
    sqlite3_free(sql);
    close_database(self->db);
    connect(self);
}

static void check_store(const trial *self)
{
    assert_number(self->db, 1, "SELECT pt_check('%s" SMALL_DISK_STORE "') = 'ok'", self->folder);
}

/* Removes the store, so that another one can be made in the same folder. */
static void end_trial(const trial *self)
{
    char path[PATH_SIZE];
    check_store(self);
    close_database(self->db);
    path_in(self->folder, &SMALL_DISK_STORE[1], path);
    assert_int_equal(unlink(path), 0);
}

/* There is room again. Of a tiny map there may be only after the store was compacted. */
static void insert_after_all(trial *self, int row)
{
    const char *insert = "INSERT INTO a VALUES('p', %d, printf('%%.9000c', 'v'))";
    if (self->indexed && code_of(self->db, insert, row) == SQLITE_FULL) {
        says(self->db, self->advice);
        run(self->db, "SELECT pt_compact('%s" SMALL_DISK_STORE "')", self->folder);
        self->compacted++;
    }
    run(self->db, "INSERT OR REPLACE INTO a VALUES('p', %d, printf('%%.9000c', 'v'))", row);
}

static void one_trial(trial *self)
{
    connect(self);
    for (int i = 0; i < FILLS; i++) {
        fill(self);
        if (any_below(2) == 0) {
            close_database(self->db);
            connect(self);
        }
        for (unsigned deletes = any_below(15); deletes != 0; deletes--) {
            delete_some(self);
            if (any_below(3) == 0) {
                write_some(self, 1);
            }
        }
        delete_all(self);
        insert_after_all(self, i);
    }
    end_trial(self);
}

static int number_of_trials(void)
{
    const char *number = getenv("N");
    return number != NULL ? atoi(number) : TRIALS;
}

static void every_delete_succeeds_on_a_full_disk(void **state)
{
    for (int i = 0; i < number_of_trials(); i++) {
        seed = (uint64_t)i;
        trial self = {.folder = *state, .advice = "make room on the disk"};
        small_disk_begin(150 + any_below(1500));
        one_trial(&self);
        small_disk_end();
        assert_int_equal(self.full, FILLS);
    }
}

static void every_delete_succeeds_in_a_full_map(void **state)
{
    for (int i = 0; i < number_of_trials(); i++) {
        char size[20];
        seed = (uint64_t)i;
        trial self = {.folder = *state, .advice = "delete entities, then run pt_compact"};
        snprintf(size, sizeof size, "%uK", 4 * (150 + any_below(1500)));
        setenv("PTABLE_MAP_SIZE", size, 1);
        one_trial(&self);
        unsetenv("PTABLE_MAP_SIZE");
        assert_int_equal(self.full, FILLS);
    }
}

/* A map of less than 1 MB is hardly more than deletes need: the file may have grown so far that all
 * that is deleted leaves too little. Then pt_compact makes room, as the message says. */
static void a_tiny_map_is_compacted(void **state)
{
    int compacted = 0;
    for (unsigned i = 2; i < 5; i++) {
        char size[20];
        seed = i;
        trial self = {
            .folder = *state, .advice = "delete entities, then run pt_compact", .indexed = true};
        snprintf(size, sizeof size, "%uK", 4 * (150 + any_below(170)));
        setenv("PTABLE_MAP_SIZE", size, 1);
        one_trial(&self);
        unsetenv("PTABLE_MAP_SIZE");
        compacted += self.compacted;
    }
    assert_int_not_equal(compacted, 0);
}

/* What lies together in the table may be anywhere in an index, and each page of the index that is
 * written is copied: then a range is deleted in steps. The whole table is also one in each index.
 */
static void ranges_that_indexes_scatter_are_deleted_in_steps(void **state)
{
#define IN_RANGE "FROM a WHERE PartitionKey = '1'"
    for (unsigned pages = 700; pages <= 2100; pages += 700) {
        int code = SQLITE_OK;
        trial self = {.folder = *state, .advice = "make room on the disk", .indexed = true};
        small_disk_begin(pages);
        connect(&self);
        while (code == SQLITE_OK) {
            code = code_of(self.db, "INSERT INTO a WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL "
                                    "SELECT k + 1 FROM n LIMIT 50) SELECT k %% 3, "
                                    "hex(randomblob(20)), hex(randomblob(40)) FROM n");
        }
        assert_int_equal(code, SQLITE_FULL);
        code = code_of(self.db, "DELETE " IN_RANGE);
        assert_int_equal(code, pages > 2000 ? SQLITE_FULL : code);
        while (number(self.db, "SELECT count(*) " IN_RANGE) != 0) {
            must_delete(&self, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey " IN_RANGE
                               " LIMIT 10)");
        }
        must_delete(&self, "DELETE FROM a");
        run(self.db, "INSERT INTO a VALUES('last', '1', printf('%%.20000c', 'v'))");
        end_trial(&self);
        small_disk_end();
    }
}

#define INSERT_PAGES(count)                                                                        \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n LIMIT " #count ") "            \
    "INSERT INTO a SELECT 'p', k, printf('%%.3500c', 'v') FROM n"

/* Blocks that it had asked for behind the last page would be missing elsewhere, and nobody would
 * see where they are. */
static void what_does_not_fit_takes_no_room(void **state)
{
    enum { PAGES = 3000, RESERVE_MAX = 180 };
    small_disk_begin(PAGES);
    trial self = {.folder = *state, .advice = "make room on the disk"};
    connect(&self);
    run(self.db, "INSERT INTO a VALUES('first', '1', 'x')");
    fails(self.db, SQLITE_FULL, INSERT_PAGES(4000));
    says(self.db, self.advice);
    assert_true(the_disk.free_pages >= PAGES - RESERVE_MAX);
    run(self.db, INSERT_PAGES(2500));
    must_delete(&self, "DELETE FROM a; DELETE FROM b");
    check_store(&self);
    close_database(self.db);
    small_disk_end();
}

static void a_disk_need_not_tell_its_room(void **state)
{
    for (int i = 0; i < 2; i++) {
        small_disk_begin(3000);
        trial self = {.folder = *state, .advice = "make room on the disk"};
        connect(&self);
        the_disk.answer = i == 0 ? TELLS_ZEROS : TELLS_NOTHING;
        run(self.db, INSERT_PAGES(2500));
        fails(self.db, SQLITE_FULL, "UPDATE a SET S = S || S");
        must_delete(&self, "DELETE FROM a; DELETE FROM b");
        end_trial(&self);
        small_disk_end();
    }
}

/* --- Beside a reader --- */

enum { ROWS_BESIDE = 8 };

/* What is deleted while a snapshot shows it makes no room; yet a few deletes must be possible. */
static void a_reader_does_not_stop_deletes_for_good(void **state)
{
    small_disk_begin(500);
    trial self = {.folder = *state, .advice = "make room on the disk"};
    seed = 1;
    connect(&self);
    run(self.db, "INSERT INTO a VALUES('first', '1', 'x')");
    sqlite3 *reader = open_database(*state, ":memory:");
    run(reader, "CREATE VIRTUAL TABLE a USING ptable(S String, store='%s" SMALL_DISK_STORE "')",
        self.folder);
    run(reader, "BEGIN");
    assert_number(reader, 1, "SELECT count(*) FROM a");
    fill(&self);
    for (int i = 0; i < ROWS_BESIDE; i++) {
        must_delete(&self, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)");
    }
    while (code_of(self.db, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)") ==
           SQLITE_OK) {
        assert_number(reader, 1, "SELECT count(*) FROM a");
    }
    says(self.db, "end old readers");
    run(reader, "COMMIT");
    close_database(reader);
    must_delete(&self, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)");
    must_delete(&self, "DELETE FROM a; DELETE FROM b");
    run(self.db, "INSERT INTO a VALUES('last', '1', printf('%%.20000c', 'v'))");
    check_store(&self);
    close_database(self.db);
    small_disk_end();
}

/* With as many deletes as there are: nobody renews the store between them but another process. */
static void a_process_that_ends_at_once_stops_nobody(void **state)
{
    small_disk_begin(400);
    trial self = {.folder = *state, .advice = "make room on the disk"};
    seed = 2;
    connect(&self);
    fill(&self);
    int64_t rows = 0;
    do {
        must_delete(&self, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)");
        close_database(self.db);
        connect(&self);
        rows++;
    } while (rows < 50);
    must_delete(&self, "DELETE FROM a; DELETE FROM b");
    run(self.db, "INSERT INTO a VALUES('last', '1', 'v')");
    close_database(self.db);
    small_disk_end();
}

/* --- Where there is no reserve --- */

/* Then the disk is full only when LMDB finds it full, and is well again once there is room. */
static void a_file_system_may_reserve_nothing(void **state)
{
    static const int problems[] = {EOPNOTSUPP, ENOSYS, EIO, EDQUOT, EINTR};
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        trial self = {.folder = *state, .advice = "make room on the disk"};
        seed = i;
        small_disk_begin(300);
        connect(&self);
        the_disk.problem = problems[i];
        fill_up(&self);
        the_disk.problem = 0;
        the_disk.free_pages += 1000;
        run(self.db, "INSERT INTO a VALUES('last', '1', printf('%%.20000c', 'v'))");
        must_delete(&self, "DELETE FROM a; DELETE FROM b");
        end_trial(&self);
        small_disk_end();
    }
}

static int pages_ahead; /* of the last page is what LMDB says */

#pragma GCC visibility push(default)

int mdb_env_info(MDB_env *env, MDB_envinfo *info)
{
    int (*real)(MDB_env *, MDB_envinfo *);
    void *found = dlsym(RTLD_NEXT, "mdb_env_info");
    memcpy(&real, &found, sizeof found);
    int code = real(env, info);
    info->me_last_pgno += (size_t)pages_ahead;
    return code;
}

#pragma GCC visibility pop

/* If the number of pages that a transaction takes cannot be read from LMDB, it is estimated. */
static void an_unknown_lmdb_may_be_less_exact(void **state)
{
    trial self = {.folder = *state, .advice = "make room on the disk"};
    seed = 3;
    pages_ahead = 1;
    small_disk_begin(600);
    connect(&self);
    fill(&self);
    for (int i = 0; i < 20; i++) {
        must_delete(&self, "DELETE FROM a WHERE EntityKey IN (SELECT EntityKey FROM a LIMIT 1)");
    }
    must_delete(&self, "DELETE FROM a; DELETE FROM b");
    run(self.db, "INSERT INTO a VALUES('last', '1', 'v')");
    close_database(self.db);
    small_disk_end();
    pages_ahead = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(every_delete_succeeds_on_a_full_disk),
        folder_test(every_delete_succeeds_in_a_full_map),
        folder_test(a_tiny_map_is_compacted),
        folder_test(ranges_that_indexes_scatter_are_deleted_in_steps),
        folder_test(what_does_not_fit_takes_no_room),
        folder_test(a_disk_need_not_tell_its_room),
        folder_test(a_reader_does_not_stop_deletes_for_good),
        folder_test(a_process_that_ends_at_once_stops_nobody),
        folder_test(a_file_system_may_reserve_nothing),
        folder_test(an_unknown_lmdb_may_be_less_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
