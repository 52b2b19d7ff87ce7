/*
 * Damage in an entity that a condition judges: the statement fails if it reads what is damaged,
 * although the condition would have passed over the entity. A statement that does not reach the
 * entity goes on, and so does one that reads only its numbers, if a text is damaged.
 */
#include "fixtures/scene.h"

#include "fixtures/files.h"

#define SECRET "the name that is damaged"

/* An age whose bytes are in no other place of the file. */
#define SECRET_AGE "1094861636"
#define SECRET_AGE_BYTES "DCBA"

static int set_up_with(void **state, const char *damaged)
{
    scene *all = new_scene(state);
    if (all == NULL) {
        return -1;
    }
    sqlite3 *db = open_database(all->folder, "main.db");
    run(db, "CREATE VIRTUAL TABLE t USING ptable(Name String, Age Int32, store='s.ptable')");
    run(db,
        "INSERT INTO t VALUES ('p', '1', 'first', 1), ('p', '2', '" SECRET "', " SECRET_AGE "), "
        "('p', '3', 'last', 3), ('q', '1', 'first', 1)");
    close_database(db);

    char path[PATH_SIZE];
    file_content content = {0};
    path_in(all->folder, "s.ptable", path);
    file_load(&content, path);
    for (size_t at = 0; at + strlen(damaged) <= content.size; at++) {
        if (memcmp(content.bytes + at, damaged, strlen(damaged)) == 0) {
            content.bytes[at] ^= 1;
        }
    }
    assert_true(file_write(path, &content));
    free(content.bytes);
    all->db = open_database(all->folder, "main.db");
    return 0;
}

static int damage_text(void **state)
{
    return set_up_with(state, SECRET);
}

static int damage_number(void **state)
{
    return set_up_with(state, SECRET_AGE_BYTES);
}

static void a_damaged_text_is_not_passed_over(void **state)
{
    scene *all = *state;
    fails(all->db, SQLITE_CORRUPT_VTAB, "SELECT RowKey FROM t WHERE Name = 'last'");
    says(all->db, "PartitionKey 'p', RowKey '2'");
    fails(all->db, SQLITE_CORRUPT_VTAB,
          "SELECT RowKey FROM t WHERE PartitionKey = 'p' AND RowKey = '2' AND Name > 'a'");
    fails(all->db, SQLITE_CORRUPT_VTAB, "SELECT Name FROM t WHERE Age > 3");
    fails(all->db, SQLITE_CORRUPT_VTAB, "UPDATE t SET Age = 4 WHERE Name IN ('first', 'last')");
    assert_number(all->db, 1, "SELECT Age FROM t WHERE PartitionKey = 'q' AND Name = 'first'");
    assert_number(all->db, 2,
                  "SELECT count(*) FROM t WHERE RowKey IN ('1', '3') AND Name = 'first'");
}

static void numbers_beside_a_damaged_text_are_judged(void **state)
{
    scene *all = *state;
    assert_number(all->db, 3, "SELECT RowKey FROM t WHERE Age = 3");
    assert_number(all->db, 2, "SELECT RowKey FROM t WHERE Age = " SECRET_AGE);
    assert_number(all->db, 1, "SELECT count(Timestamp) FROM t WHERE Age > 3");
    run(all->db, "UPDATE t SET Age = 4 WHERE Age > 3");
    assert_number(all->db, 4, "SELECT Age FROM t WHERE PartitionKey = 'p' AND RowKey = '2'");
    fails(all->db, SQLITE_CORRUPT_VTAB, "SELECT Name FROM t WHERE Age = 4");
    says(all->db, "PartitionKey 'p', RowKey '2'");
    fails(all->db, SQLITE_CORRUPT_VTAB, "UPDATE t SET Name = 'shown' WHERE Name = 'x' OR Age = 4");
}

static void a_damaged_number_is_not_passed_over(void **state)
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_damaged_text_is_not_passed_over, damage_text, end_scene),
        cmocka_unit_test_setup_teardown(numbers_beside_a_damaged_text_are_judged, damage_text,
                                        end_scene),
        cmocka_unit_test_setup_teardown(a_damaged_number_is_not_passed_over, damage_number,
                                        end_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
