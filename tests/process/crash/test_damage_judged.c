/*
 * Damage in an entity that a condition judges: the statement fails, although the condition would
 * have passed over the entity. A statement that does not reach the entity goes on.
 */
#include "fixtures/scene.h"

#include "fixtures/files.h"

#define SECRET "the name that is damaged"

static int set_up(void **state)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32, store='s.ptable')");
    run(db, "INSERT INTO t VALUES ('p', '1', 'first', 1), ('p', '2', '" SECRET "', 2), "
            "('p', '3', 'last', 3), ('q', '1', 'first', 1)");
    close_database(db);

    char path[PATH_SIZE];
    file_content content = {0};
    path_in(all->folder, "s.ptable", path);
    file_load(&content, path);
    for (size_t at = 0; at + strlen(SECRET) <= content.size; at++) {
        if (memcmp(content.bytes + at, SECRET, strlen(SECRET)) == 0) {
            content.bytes[at] ^= 1;
        }
    }
    assert_true(file_write(path, &content));
    free(content.bytes);
    all->db = open_database(all->folder, "main.db");
    return 0;
}

static void damage_is_not_passed_over(void **state)
{
    scene *all = *state;
    fails(all->db, SQLITE_CORRUPT_VTAB, "SELECT RowKey FROM t WHERE Age = 3");
    says(all->db, "PartitionKey 'p', RowKey '2'");
    fails(all->db, SQLITE_CORRUPT_VTAB, "SELECT RowKey FROM t WHERE Name = 'last'");
    fails(all->db, SQLITE_CORRUPT_VTAB,
          "SELECT RowKey FROM t WHERE PartitionKey = 'p' AND RowKey = '2' AND Age > 2");
    fails(all->db, SQLITE_CORRUPT_VTAB, "UPDATE t SET Age = 4 WHERE Name IN ('first', 'last')");
    assert_number(all->db, 1, "SELECT Age FROM t WHERE PartitionKey = 'q' AND Age < 2");
    assert_number(all->db, 2, "SELECT count(*) FROM t WHERE RowKey IN ('1', '3') AND Age = 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {scene_test(damage_is_not_passed_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
