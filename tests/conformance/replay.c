/*
 * Performs corpora of operations and compares outcomes with what they expect.
 *
 *     replay                              the recorded corpus on ptables
 *     replay corpus ...                   others, with counts of what was done
 *     replay --service dialect corpus ... on the Table service of PTABLE_ACCOUNT_HR, which has no
 *                                         tables yet; PT_SERVICE_LIBRARY is the library for it
 */
#include "conformance/corpus.h"
#include "conformance/perform.h"

enum { CORPORA_MAX = 64, DIFFERENCES_MAX = 10, SHOWN = 600 };

static const char *service; /* its dialect; NULL: none */
static sqlite3 *counts;     /* of operations, by kind and outcome */

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

/* --- What differs on a Table service --- */

static bool is_code(const outcome *found, const char *code)
{
    return strcmp(found->code, code) == 0 && found->rc != SQLITE_OK;
}

/* The message shows the first characters of long keys. */
static bool names_keys(replay *r, const char *part, const outcome *found)
{
    char *row = member(r->notes, part, "$.rk");
    char *named = row != NULL ? sqlite3_mprintf("RowKey '%.30q", row) : NULL;
    bool has = named != NULL && strstr(found->message, named) != NULL;
    sqlite3_free(named);
    free(row);
    return has;
}

/* The service says at COMMIT which operation it refuses. */
static bool is_told_by_keys(replay *r, const char *operation, const char *code,
                            const outcome *found)
{
    char *path = sqlite3_mprintf(
        "$.operations[%d]", (int)member_number(r->notes, operation, "$.expect.index", NO_INDEX));
    char *part = member(r->notes, operation, path);
    bool has = part != NULL && found->index == NO_INDEX && is_code(found, code) &&
               (strcmp(code, "TableNotFound") == 0 || names_keys(r, part, found));
    free(part);
    sqlite3_free(path);
    return has && has_sqlite_code(found);
}

/* Rules are checked as operations are written, before the service finds that the table or the
 * entity of an earlier operation is missing, or something else wrong with it. */
static bool is_rule(replay *r, const char *operation, const char *code, const outcome *found)
{
    static const char *const rules[] = {
        "OutOfRangeInput",     "InvalidInput",        "PropertyValueTooLarge",
        "EntityTooLarge",      "PropertyNameTooLong", "PropertyNameInvalid",
        "TooManyProperties",   "InvalidValueType",    "RequestBodyTooLarge",
        "InvalidDuplicateRow", "NotImplemented",      "CommandsInBatchActOnDifferentPartitions"};
    bool rule = false;
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        rule = rule || is_code(found, rules[i]);
    }
    int64_t index = member_number(r->notes, operation, "$.expect.index", NO_INDEX);
    bool is_later = index != NO_INDEX && index < found->index;
    return rule && (is_later || strcmp(code, "TableNotFound") == 0);
}

/* A ptable, and the emulator, find no entity of such a key. */
static bool is_long_key(replay *r, const char *operation, const char *code, const outcome *found)
{
    (void)r;
    (void)operation;
    return strcmp(code, "ResourceNotFound") == 0 && is_code(found, "PropertyValueTooLarge");
}

/* The emulator evaluates some of the filters that the service refuses, and has other codes. */
static bool is_emulated_filter(replay *r, const char *operation, const char *code,
                               const outcome *found)
{
    char *difference = member(r->notes, operation, "$.difference");
    bool is_refused = difference != NULL && strcmp(difference, "filter-refusals") == 0;
    (void)code;
    (void)found;
    free(difference);
    return is_refused && strcmp(r->service, "azurite") == 0;
}

static const struct {
    const char *name;
    bool (*explains)(replay *, const char *, const char *, const outcome *);
} remote_differences[] = {
    {"told by keys at COMMIT, not by index", is_told_by_keys},
    {"a rule, before what the service finds", is_rule},
    {"a key too long, before the missing entity", is_long_key},
    {"a Filter that the emulator judges otherwise", is_emulated_filter},
};

/* Why an outcome on a Table service is not that of a ptable; NULL if nothing explains it. */
static const char *explanation(replay *r, const char *operation, const outcome *found)
{
    const char *name = NULL;
    char *code = member(r->notes, operation, "$.expect.code");
    size_t count = sizeof remote_differences / sizeof remote_differences[0];
    for (size_t i = 0; r->service != NULL && code != NULL && name == NULL && i < count; i++) {
        if (remote_differences[i].explains(r, operation, code, found)) {
            name = remote_differences[i].name;
        }
    }
    free(code);
    return name;
}

/* --- Telling --- */

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

/* `reason` is why the outcome is not the one of the corpus, or NULL. */
static void count_operation(const char *operation, const char *reason)
{
    const char *texts[] = {operation, reason};
    free(text_with(
        counts,
        "INSERT INTO counts SELECT ?1 ->> '$.op', ?1 ->> '$.expect.status' || ' ' ||"
        " coalesce(?1 ->> '$.expect.code', ''), coalesce(?2, ?1 ->> '$.difference', ''), 1"
        " WHERE true ON CONFLICT DO UPDATE SET n = n + 1",
        2, texts));
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

static void open_service(sqlite3 *db)
{
    char *message = NULL;
    const char *library = getenv("PT_SERVICE_LIBRARY");
    assert_non_null(library);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL);
    if (sqlite3_load_extension(db, library, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    run(db, "SELECT pt_service_account('hr')");
}

static replay start_replay(const char *folder, const char *path)
{
    replay r = {.service = service,
                .db = open_database(folder, "replay.db"),
                .notes = open_database("", ":memory:")};
    if (service != NULL) {
        open_service(r.db);
    }
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
    bool same = is_expected(r, corpus_operation(lines), &found);
    const char *reason = same ? NULL : explanation(r, corpus_operation(lines), &found);
    count_operation(corpus_operation(lines), reason);
    if (!same && reason == NULL) {
        tell_difference(r, lines, &found);
    }
    return same || reason != NULL;
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
    if (service != NULL) {
        run(r.db, "DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName IN (SELECT "
                  "TableName FROM pt_service_tables WHERE Account = 'hr')");
    }
    end_replay(&r);
    assert_int_equal(remove_folder(&folder), 0);
    assert_int_equal(differences, 0);
}

int main(int argc, char **argv)
{
    static char recorded[] = "tests/conformance/corpus.jsonl";
    struct CMUnitTest tests[CORPORA_MAX];
    char *alone[] = {recorded};
    if (argc > 2 && strcmp(argv[1], "--service") == 0) {
        service = argv[2];
        argc -= 2;
        argv += 2;
    }
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
