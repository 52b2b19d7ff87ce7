/*
 * Carries a step out on both databases and says whether they can be told apart by it.
 */
#ifndef TESTS_RANDOM_PERFORM_H
#define TESTS_RANDOM_PERFORM_H

#include "random/twin_operation.h"
#include "random/twins.h"

typedef enum outcome {
    SAME,
    SAME_FAILURE, /* both refused it for a reason other than the table, such as SQL without a
                     meaning */
    DIFFERENT,
} step_outcome;

/* --- Comparing --- */

/* What kind of answer a result code is. A wrong type is told by other codes on ordinary tables. */
static inline int code_class(int code)
{
    switch (code) {
    case SQLITE_CONSTRAINT_DATATYPE:
    case SQLITE_MISMATCH:
        return SQLITE_MISMATCH;
    default:
        return code;
    }
}

/*
 * A ptable does not know whether a number asks for the key that is its text or for all keys that
 * equal it, and refuses. It refuses a text beside a Boolean, too. Then nothing has changed, so the
 * twin need not run.
 */
static inline bool is_refused_comparison(const sql_effect *effect)
{
    return effect->rc == SQLITE_MISMATCH &&
           (strstr(effect->message, " is compared with a number, ") != NULL ||
            strstr(effect->message, " is a Boolean and is compared with the text ") != NULL);
}

/* The ptable's table was dropped: it says so, if it was used at all. */
static inline bool is_missing_table(const sql_effect *ordinary)
{
    return ordinary->rc == SQLITE_ERROR && strncmp(ordinary->message, "no such table", 13) == 0;
}

static inline bool says_table_not_found(const char *message)
{
    return strstr(message, "(TableNotFound)") != NULL;
}

static inline bool same_without_table(step_kind kind, const sql_effect *ptable,
                                      const sql_effect *ordinary)
{
    if (ptable->in_transaction != ordinary->in_transaction) {
        return false;
    }
    if (ptable->rc == SQLITE_DONE) {
        return kind <= STEP_UNORDERED || ptable->changes == 0;
    }
    return ptable->rc == SQLITE_ERROR && says_table_not_found(ptable->message);
}

static inline int compare_rows(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void sort_rows(sql_effect *effect)
{
    if (effect->row_count > 1) {
        qsort(effect->rows, (size_t)effect->row_count, sizeof(char *), compare_rows);
    }
}

static inline bool same_rows(const sql_effect *a, const sql_effect *b)
{
    if (a->row_count != b->row_count) {
        return false;
    }
    for (int i = 0; i < a->row_count; i++) {
        if (strcmp(a->rows[i], b->rows[i]) != 0) {
            return false;
        }
    }
    return true;
}

static inline step_outcome compare(step_kind kind, sql_effect *a, sql_effect *b)
{
    if (is_missing_table(b)) {
        return same_without_table(kind, a, b) ? SAME : DIFFERENT;
    }
    if (code_class(a->rc) != code_class(b->rc) || a->in_transaction != b->in_transaction) {
        return DIFFERENT;
    }
    if (a->rc != SQLITE_DONE) {
        int primary = a->rc & 0xff;
        bool by_data = primary == SQLITE_CONSTRAINT || primary == SQLITE_MISMATCH;
        if (kind == STEP_OPERATION && !same_service_code(a->message, b->message)) {
            return DIFFERENT;
        }
        return by_data ? SAME : SAME_FAILURE;
    }
    if (kind == STEP_UNORDERED) {
        sort_rows(a);
        sort_rows(b);
    }
    bool counts = kind == STEP_CHANGE || kind == STEP_OPERATION;
    bool same = same_rows(a, b) && (!counts || a->changes == b->changes);
    return same ? SAME : DIFFERENT;
}

static inline void print_effect(const char *name, const sql_effect *effect)
{
    printf("# %s: %s%s%s; changes() %lld; %s a transaction; %d rows\n", name,
           sqlite3_errstr(effect->rc), effect->message != NULL ? ": " : "",
           effect->message != NULL ? effect->message : "", effect->changes,
           effect->in_transaction ? "in" : "outside", effect->row_count);
    for (int i = 0; i < effect->row_count; i++) {
        printf("#     %s\n", effect->rows[i]);
    }
}

/*
 * True if a statement writes one table and names another that is gone. What it then does depends on
 * whether it reads the missing one before it writes or not at all, which the twin cannot know.
 */
static inline bool mixes_missing_table(twin_pair *twins, const test_step *step)
{
    static const struct {
        const char *name;
        const char *under;
    } tables[] = {{"t1", "t1"}, {"again", "t1"}, {"t2", "t2"}, {"t3", "t3"}};
    bool writes =
        step->kind == STEP_CHANGE || step->kind == STEP_CHANGE_ROWS || step->kind == STEP_OPERATION;
    int named = 0;
    int missing = 0;
    for (size_t i = 0; writes && i < sizeof tables / sizeof tables[0]; i++) {
        if (strstr(step->statement.sql, tables[i].name) != NULL) {
            named++;
            missing += sqlite3_table_column_metadata(twins->ordinary, NULL, tables[i].under, NULL,
                                                     NULL, NULL, NULL, NULL, NULL) != SQLITE_OK;
        }
    }
    return missing != 0 && named > 1;
}

static inline step_outcome run_both(twin_pair *twins, const test_step *step, bool print)
{
    if (mixes_missing_table(twins, step)) {
        return SAME;
    }
    sql_effect a = run(twins->ptable, &step->statement);
    if (is_refused_comparison(&a)) {
        bool as_before = a.in_transaction == (sqlite3_get_autocommit(twins->ordinary) == 0);
        effect_free(&a);
        return as_before ? SAME : DIFFERENT;
    }
    sql_effect b = step->kind == STEP_OPERATION ? perform_operation(twins->ordinary, &step->twin)
                                                : run(twins->ordinary, &step->twin);
    step_outcome outcome = compare(step->kind, &a, &b);
    if (print && outcome != SAME) {
        print_effect("ptable", &a);
        print_effect("ordinary table", &b);
    }
    effect_free(&a);
    effect_free(&b);
    return outcome;
}

/* --- Cursors that stay open while others write --- */

/* All that is asked of them: that they end, or say that what they read was rolled back. */
static inline step_outcome read_cursor(twin_pair *twins, const test_step *step, bool print)
{
    sqlite3_stmt *cursor = twins->cursors[step->cursor];
    int rc = SQLITE_ROW;
    for (int i = 0; cursor != NULL && i < step->rows && rc == SQLITE_ROW; i++) {
        rc = sqlite3_step(cursor);
        if (rc == SQLITE_ROW) {
            sqlite3_free(row_text(cursor));
        }
    }
    bool allowed = rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_ABORT_ROLLBACK ||
                   (rc & 0xff) == SQLITE_MISMATCH ||
                   (rc == SQLITE_ERROR && says_table_not_found(sqlite3_errmsg(twins->ptable)));
    if (!allowed && print) {
        printf("# cursor %d: %s: %s\n", step->cursor, sqlite3_errstr(rc),
               sqlite3_errmsg(twins->ptable));
    }
    if (rc != SQLITE_ROW) {
        sqlite3_finalize(cursor);
        twins->cursors[step->cursor] = NULL;
    }
    return allowed ? SAME : DIFFERENT;
}

static inline void close_cursor(twin_pair *twins, int cursor)
{
    sqlite3_finalize(twins->cursors[cursor]);
    twins->cursors[cursor] = NULL;
}

static inline step_outcome open_cursor(twin_pair *twins, const test_step *step, bool print)
{
    close_cursor(twins, step->cursor);
    const char *sql = step->statement.sql;
    int rc = prepare(twins->ptable, &step->statement, &sql, &twins->cursors[step->cursor]);
    if (rc == SQLITE_OK) {
        return read_cursor(twins, step, print);
    }
    if (print) {
        printf("# cursor %d: %s\n", step->cursor, sqlite3_errmsg(twins->ptable));
    }
    return DIFFERENT;
}

/* --- Steps --- */

/* Entities outlive their declarations; dropped tables are made again. */
static inline void redeclare_ptables(twin_pair *twins)
{
    must(twins->ptable, DROP_PTABLES);
    must(twins->ptable, DECLARE_PTABLES);
    must(twins->ptable, "COMMIT");
    must(twins->ordinary, MAKE_ORDINARY);
}

static inline step_outcome perform(twin_pair *twins, const test_step *step, bool print)
{
    switch (step->kind) {
    case STEP_CURSOR_OPEN:
        return open_cursor(twins, step, print);
    case STEP_CURSOR_READ:
        return read_cursor(twins, step, print);
    case STEP_CURSOR_CLOSE:
        close_cursor(twins, step->cursor);
        return SAME;
    case STEP_REOPEN:
        close_ptable(twins);
        open_ptable(twins);
        return SAME;
    case STEP_REDECLARE:
        close_cursors(twins);
        redeclare_ptables(twins);
        return SAME;
    default:
        return run_both(twins, step, print);
    }
}

#endif
