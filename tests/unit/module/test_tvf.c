/*
 * The frame for table-valued functions, around a function that is easy to see through:
 * letters(first [, last]) has a row for each letter, whose key is the letter, and fails at 'z'.
 */
#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "faults/failing_malloc.h"
#include "lmdb/engine.h"
#include "module/tvf.h"
#include "query/ranges.h"

enum { KEY, NUMBER, ARGUMENTS };

typedef struct letters {
    pt_tvf_cursor base;
    char first;
    char last;
    char now;
    int step;
    pt_ranges ranges;
    void *memory; /* which must be freed */
} letters;

static int open_letters; /* begun and not ended */
static unsigned last_plan;
static int last_arguments;

static letters *letters_of(pt_tvf_cursor *cursor)
{
    return (letters *)cursor;
}

static char letter(const pt_tvf_cursor *cursor, int argument, char otherwise)
{
    const unsigned char *text = cursor->arguments[argument] != NULL
                                    ? sqlite3_value_text(cursor->arguments[argument])
                                    : NULL;
    return text != NULL ? (char)text[0] : otherwise;
}

static int begin(pt_tvf_cursor *cursor, const pt_tvf_keys *keys, pt_error *error)
{
    letters *self = letters_of(cursor);
    assert_null(self->memory);
    self->memory = sqlite3_malloc64(10);
    if (self->memory == NULL) {
        return pt_error_nomem(error);
    }
    open_letters++;
    last_plan = keys->plan;
    last_arguments = keys->argc;
    self->first = letter(cursor, 0, 'a');
    self->last = letter(cursor, 1, 'e');
    self->step = (keys->plan & PT_PLAN_DESCENDING) != 0 ? -1 : 1;
    self->now = self->step > 0 ? (char)(self->first - 1) : (char)(self->last + 1);
    return pt_ranges_set(&self->ranges, keys->plan, keys->argc, keys->argv, error);
}

static bool is_asked_for(const letters *self)
{
    pt_slice key = pt_slice_of(&self->now, 1);
    return !self->ranges.nothing && pt_interval_contains(&self->ranges.partition.interval, key) &&
           pt_condition_holds(&self->ranges.partition, key);
}

static int next(pt_tvf_cursor *cursor, pt_error *error)
{
    letters *self = letters_of(cursor);
    do {
        self->now = (char)(self->now + self->step);
        cursor->eof = self->now > self->last || self->now < self->first;
    } while (!cursor->eof && !is_asked_for(self));
    return self->now == 'z' ? pt_error_set(error, SQLITE_MISMATCH, "z is too far") : SQLITE_OK;
}

static void column(pt_tvf_cursor *cursor, sqlite3_context *context, int index)
{
    const letters *self = letters_of(cursor);
    if (index == KEY) {
        sqlite3_result_text(context, &self->now, 1, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_int(context, self->now - 'a');
    }
}

static void end(pt_tvf_cursor *cursor)
{
    letters *self = letters_of(cursor);
    open_letters -= self->memory != NULL;
    pt_ranges_free(&self->ranges);
    sqlite3_free(self->memory);
    self->memory = NULL;
}

static const pt_tvf letters_function = {
    .name = "letters",
    .declaration = "CREATE TABLE x(Key TEXT, Number INT, a HIDDEN, b HIDDEN)",
    .usage = "letters('a') or letters('a', 'z')",
    .first_argument = ARGUMENTS,
    .least_arguments = 1,
    .most_arguments = 2,
    .key_column = KEY,
    .opens_stores = true,
    .cursor_size = sizeof(letters),
    .begin = begin,
    .next = next,
    .column = column,
    .end = end,
};

static sqlite3 *db;
static pt_connection *connection;

static int setup(void **state)
{
    (void)state;
    open_letters = 0;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        return -1;
    }
    sqlite3_extended_result_codes(db, 1);
    connection = pt_connection_new(db, &pt_lmdb_engine);
    return pt_tvf_register(db, connection, &letters_function);
}

static int teardown(void **state)
{
    (void)state;
    pt_connection_release(connection);
    return sqlite3_close(db) == SQLITE_OK && open_letters == 0 ? 0 : -1;
}

/* The rows' first columns, a blank after each; or the error. */
static int query(const char *sql, char text[200])
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    text[0] = 0;
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        size_t size = strlen(text);
        const unsigned char *value = sqlite3_column_text(statement, 0);
        snprintf(text + size, 200 - size, "%s ", value != NULL ? (const char *)value : "NULL");
        rc = SQLITE_OK;
    }
    rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    if (rc != SQLITE_OK) {
        snprintf(text, 200, "%s", sqlite3_errmsg(db));
    }
    sqlite3_finalize(statement);
    return rc;
}

static void assert_rows(const char *sql, const char *expected)
{
    char text[200];
    assert_int_equal(query(sql, text), SQLITE_OK);
    assert_string_equal(text, expected);
    assert_int_equal(open_letters, 0);
}

static void assert_refused(const char *sql, int code, const char *expected)
{
    char text[200];
    assert_int_equal(query(sql, text), code);
    assert_string_equal(text, expected);
}

static void arguments_are_given_in_order(void **state)
{
    (void)state;
    assert_rows("SELECT Key FROM letters('c')", "c d e ");
    assert_rows("SELECT Key FROM letters('c', 'd')", "c d ");
    assert_rows("SELECT Number FROM letters WHERE b = 'b' AND a = 'a'", "0 1 ");
    assert_rows("SELECT rowid FROM letters('c')", "1 2 3 ");
    assert_rows("SELECT a || coalesce(b, '-') FROM letters('c', 'd')", "cd cd ");
    assert_rows("SELECT coalesce(b, '-') FROM letters('e')", "- ");
    assert_rows("SELECT Key FROM letters('e', 'a')", "");
    assert_rows("SELECT Key FROM letters(NULL)", "");
    assert_rows("SELECT Key FROM letters('a', NULL)", "");
}

static void missing_arguments_are_asked_for(void **state)
{
    (void)state;
    static const char text[] = "ptable: letters: an argument is missing; write letters('a') "
                               "or letters('a', 'z')";
    assert_refused("SELECT * FROM letters", SQLITE_ERROR, text);
    assert_refused("SELECT * FROM letters WHERE b = 'a'", SQLITE_ERROR, text);
    assert_refused("SELECT * FROM letters WHERE a > 'a'", SQLITE_ERROR, text);
}

static void a_join_gives_arguments(void **state)
{
    (void)state;
    assert_rows("SELECT y.Key FROM letters('a', 'b') x, letters(x.Key, 'c') y", "a b c b c ");
    assert_rows("SELECT y.Key FROM letters(x.Key, 'c') y, letters('a', 'b') x", "a b c b c ");
    assert_rows("SELECT (SELECT group_concat(Key, '') FROM letters(x.Key)) FROM letters('c') x",
                "cde de e ");
}

static void failures_end_the_statement(void **state)
{
    (void)state;
    assert_refused("SELECT Key FROM letters('y', 'z')", SQLITE_MISMATCH,
                   "ptable: letters: z is too far");
    assert_refused("SELECT Key FROM letters('z', 'z')", SQLITE_MISMATCH,
                   "ptable: letters: z is too far");
    assert_int_equal(open_letters, 0);
    assert_rows("SELECT Key FROM letters('e')", "e ");
}

static unsigned plan_of(const char *condition)
{
    char sql[200];
    char text[200];
    snprintf(sql, sizeof sql, "SELECT Key FROM letters('a', 'e') %s", condition);
    assert_int_equal(query(sql, text), SQLITE_OK);
    return last_plan;
}

static void conditions_on_the_key_are_planned(void **state)
{
    (void)state;
    assert_int_equal(plan_of(""), 0);
    assert_int_equal(plan_of("WHERE Key = 'b'"), PT_PLAN_TERM(PT_TERM_PK_EQ));
    assert_int_equal(last_arguments, 1);
    assert_int_equal(plan_of("WHERE Key IN ('b', 'd')"), PT_PLAN_TERM(PT_TERM_PK_IN));
    assert_int_equal(plan_of("WHERE Key > 'b' AND Key <= 'd'"),
                     PT_PLAN_TERM(PT_TERM_PK_GT) | PT_PLAN_TERM(PT_TERM_PK_LE));
    assert_int_equal(last_arguments, 2);
    assert_int_equal(plan_of("WHERE Key >= 'b' AND Number < 3"), PT_PLAN_TERM(PT_TERM_PK_GE));
    assert_int_equal(plan_of("WHERE Key = 'b' COLLATE NOCASE"), 0);
    assert_int_equal(plan_of("WHERE Key LIKE 'b'"), 0);
    assert_int_equal(plan_of("ORDER BY Key DESC"), PT_PLAN_DESCENDING);
    assert_int_equal(plan_of("ORDER BY Number DESC"), 0);
    assert_rows("SELECT Key FROM letters('a') ORDER BY Key DESC LIMIT 2", "e d ");
    assert_rows("SELECT Key FROM letters('a') WHERE Key > 'b' AND Number <> 3", "c e ");
    assert_rows("SELECT Key FROM letters('a') WHERE Key = 'b' OR Number = 3", "b d ");
}

static void it_is_read_only_and_of_no_use_to_strangers(void **state)
{
    (void)state;
    char text[200];
    assert_refused("INSERT INTO letters VALUES ('a', 1)", SQLITE_ERROR,
                   "table letters may not be modified");
    assert_refused("CREATE VIRTUAL TABLE more USING letters", SQLITE_ERROR,
                   "no such module: letters");
    assert_int_equal(query("CREATE VIEW v AS SELECT * FROM letters('a')", text), SQLITE_OK);
    assert_refused("SELECT * FROM v", SQLITE_ERROR, "unsafe use of virtual table \"letters\"");
}

static void out_of_memory_fails_and_leaks_nothing(void **state)
{
    (void)state;
    static const char sql[] =
        "SELECT Key FROM letters('a', 'd') WHERE Key >= 'a' ORDER BY Key DESC";
    char text[200];
    assert_rows(sql, "d c b a ");
    for (int n = 0;; n++) {
        failing_malloc_arm(n, false);
        int rc = query(sql, text);
        bool hit = failing_malloc_disarm();
        assert_true(rc == SQLITE_OK || (hit && rc == SQLITE_NOMEM));
        assert_int_equal(open_letters, 0);
        assert_true(rc != SQLITE_OK || strcmp(text, "d c b a ") == 0);
        if (!hit) {
            assert_true(n > 5);
            break;
        }
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        TEST(arguments_are_given_in_order),
        TEST(missing_arguments_are_asked_for),
        TEST(a_join_gives_arguments),
        TEST(failures_end_the_statement),
        TEST(conditions_on_the_key_are_planned),
        TEST(it_is_read_only_and_of_no_use_to_strangers),
        TEST(out_of_memory_fails_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
