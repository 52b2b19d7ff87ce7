/*
 * Performs corpora of operations on ptables and compares outcomes with what they expect: the
 * recorded one, or those named as arguments, then with counts of what was done.
 */
#include "conformance/corpus.h"
#include "conformance/perform.h"

enum { CORPORA_MAX = 64, DIFFERENCES_MAX = 10, SHOWN = 600 };

static sqlite3 *counts; /* of operations, by kind and outcome */

/* --- Comparison --- */

/* The SQLite codes that the service's codes come with; others may come with any. */
static const struct {
    const char *code;
    int rc;
} sqlite_codes[] = {
    {"EntityAlreadyExists", SQLITE_CONSTRAINT_PRIMARYKEY},
    {"TableAlreadyExists", SQLITE_CONSTRAINT_PRIMARYKEY},
    {"UpdateConditionNotSatisfied", SQLITE_CONSTRAINT_VTAB},
    {"CommandsInBatchActOnDifferentPartitions", SQLITE_CONSTRAINT_VTAB},
    {"InvalidDuplicateRow", SQLITE_CONSTRAINT_VTAB},
    {"TableNotFound", SQLITE_ERROR},
    {"PropertyValueTooLarge", SQLITE_CONSTRAINT_VTAB},
    {"EntityTooLarge", SQLITE_CONSTRAINT_VTAB},
    {"InvalidValueType", SQLITE_MISMATCH},
};

static bool has_sqlite_code(const outcome *found)
{
    for (size_t i = 0; i < sizeof sqlite_codes / sizeof sqlite_codes[0]; i++) {
        if (strcmp(found->code, sqlite_codes[i].code) == 0) {
            return found->rc == sqlite_codes[i].rc;
        }
    }
    return true;
}

static bool is_expected(replay *r, const char *operation, const outcome *found)
{
    char *code = member(r->notes, operation, "$.expect.code");
    int64_t index = member_number(r->notes, operation, "$.expect.index", NO_INDEX);
    bool same = strcmp(code != NULL ? code : "", found->code) == 0 && has_sqlite_code(found) &&
                (code != NULL || found->rc == SQLITE_OK) &&
                (index == NO_INDEX || index == found->index);
    free(code);
    return same && (found->code[0] != 0 || pt_slice_compare(pt_buffer_slice(&r->expected),
                                                            pt_buffer_slice(&r->found)) == 0);
}

/* The line of `text` in which it first differs from the other. */
static void tell_line(const char *what, const pt_buffer *text, const pt_buffer *other)
{
    size_t start = 0;
    for (size_t i = 0; i < text->size && i < other->size && text->data[i] == other->data[i]; i++) {
        start = text->data[i] == '\n' ? i + 1 : start;
    }
    int size = 0;
    while (start + (size_t)size < text->size && text->data[start + (size_t)size] != '\n') {
        size++;
    }
    print_error("  %s: %.*s\n", what, size < SHOWN ? size : SHOWN,
                (const char *)text->data + start);
}

static void tell_difference(replay *r, const corpus *lines, const outcome *found)
{
    char *expected = member(r->notes, corpus_operation(lines), "$.expect");
    print_error("%s:%d: %.*s\n", lines->path, lines->number, SHOWN, lines->line);
    print_error("  expected: %.*s\n", SHOWN, expected);
    print_error("  found: %s; SQLite code %d, operation %d; %s\n", found->code, found->rc,
                found->index, found->message);
    if (found->code[0] == 0) {
        tell_line("expected line", &r->expected, &r->found);
        tell_line("found line", &r->found, &r->expected);
    }
    free(expected);
}

/* --- Counts --- */

static void count_operation(const char *operation)
{
    free(text_with(
        counts,
        "INSERT INTO counts SELECT ?1 ->> '$.op', ?1 ->> '$.expect.status' || ' ' ||"
        " coalesce(?1 ->> '$.expect.code', ''), coalesce(?1 ->> '$.difference', ''), 1 WHERE true"
        " ON CONFLICT DO UPDATE SET n = n + 1",
        1, &operation));
}

static int open_counts(void **state)
{
    (void)state;
    counts = open_database("", ":memory:");
    run(counts, "CREATE TABLE counts(op, outcome, difference, n, UNIQUE(op, outcome, difference))");
    return 0;
}

static void print_lines(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *line = prepare_with(db, sql, 0, NULL);
    while (sqlite3_step(line) == SQLITE_ROW) {
        printf("# %s\n", sqlite3_column_text(line, 0));
    }
    assert_int_equal(sqlite3_finalize(line), SQLITE_OK);
}

static void print_counts(void)
{
    print_lines(counts,
                "SELECT op || ': ' || sum(n) || ' = ' || group_concat(n || ' x ' || outcome,"
                " ', ') FROM (SELECT op, trim(outcome) AS outcome, sum(n) AS n FROM counts"
                " GROUP BY 1, 2 ORDER BY 1, 2) GROUP BY op");
    print_lines(counts, "SELECT 'listed differences: ' || group_concat(n || ' x ' || name, ', ')"
                        " FROM (SELECT difference AS name, sum(n) AS n FROM counts"
                        " WHERE difference <> '' GROUP BY 1)");
    print_lines(counts, "SELECT sum(n) || ' operations' FROM counts");
}

/* --- Replaying --- */

static void declare_tables(replay *r, const char *path)
{
    corpus lines;
    corpus_open(&lines, path);
    while (corpus_next(&lines)) {
        const char *operation = corpus_operation(&lines);
        const char *name_sql = "INSERT INTO tables SELECT ?1 ->> '$.table'"
                               " WHERE ?1 ->> '$.op' NOT LIKE '%Table' ON CONFLICT DO NOTHING";
        free(text_with(r->notes, name_sql, 1, &operation));
    }
    corpus_close(&lines);
    sqlite3_stmt *table = prepare_with(r->notes, "SELECT name FROM tables", 0, NULL);
    while (sqlite3_step(table) == SQLITE_ROW) {
        declare_table(r, (const char *)sqlite3_column_text(table, 0));
    }
    assert_int_equal(sqlite3_finalize(table), SQLITE_OK);
}

static replay start_replay(const char *folder, const char *path)
{
    replay r = {.db = open_database(folder, "replay.db"), .notes = open_database("", ":memory:")};
    run(r.notes, "CREATE TABLE etags(tab, pk, rk, etag); CREATE INDEX keys ON etags(tab, pk, rk);"
                 "CREATE TABLE tables(name UNIQUE)");
    declare_tables(&r, path);
    return r;
}

static void end_replay(replay *r)
{
    pt_buffer_free(&r->expected);
    pt_buffer_free(&r->found);
    close_database(r->notes);
    close_database(r->db);
}

static bool perform_line(replay *r, const corpus *lines)
{
    outcome found;
    pt_buffer_clear(&r->expected);
    pt_buffer_clear(&r->found);
    r->number = lines->number;
    perform(r, corpus_operation(lines), &found);
    assert_false(r->expected.failed || r->found.failed);
    count_operation(corpus_operation(lines));
    bool same = is_expected(r, corpus_operation(lines), &found);
    if (!same) {
        tell_difference(r, lines, &found);
    }
    return same;
}

static void outcomes_are_the_services(void **state)
{
    const char *path = *state;
    void *folder;
    assert_int_equal(make_folder(&folder), 0);
    replay r = start_replay(folder, path);
    corpus lines;
    corpus_open(&lines, path);
    int differences = 0;
    while (differences < DIFFERENCES_MAX && corpus_next(&lines)) {
        differences += perform_line(&r, &lines) ? 0 : 1;
    }
    assert_true(lines.number > 0);
    corpus_close(&lines);
    end_replay(&r);
    assert_int_equal(remove_folder(&folder), 0);
    assert_int_equal(differences, 0);
}

int main(int argc, char **argv)
{
    static char recorded[] = "tests/conformance/corpus.jsonl";
    struct CMUnitTest tests[CORPORA_MAX];
    char *alone[] = {recorded};
    char **paths = argc > 1 ? argv + 1 : alone;
    int count = argc > 1 ? argc - 1 : 1;
    assert_true(count <= CORPORA_MAX);
    for (int i = 0; i < count; i++) {
        tests[i] = (struct CMUnitTest){
            .name = paths[i], .test_func = outcomes_are_the_services, .initial_state = paths[i]};
    }
    int failed = _cmocka_run_group_tests("conformance", tests, (size_t)count, open_counts, NULL);
    if (argc > 1) {
        print_counts();
    }
    sqlite3_close(counts);
    return failed;
}
