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
    case SQLITE_CONSTRAINT_UNIQUE: /* if several are broken, another one may be told */
        return SQLITE_CONSTRAINT_PRIMARYKEY;
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

/* An index that is there is refused with a code of constraints, as a row of pt_indexes. */
static inline bool same_presence(const sql_effect *ptable, const sql_effect *ordinary)
{
    return ptable->rc == SQLITE_CONSTRAINT_PRIMARYKEY && ordinary->rc == SQLITE_ERROR &&
           strstr(ptable->message, "already has an index on") != NULL &&
           strstr(ordinary->message, "already exists") != NULL &&
           ptable->in_transaction == ordinary->in_transaction;
}

static inline step_outcome compare(step_kind kind, sql_effect *a, sql_effect *b)
{
    if (kind == STEP_INDEX && same_presence(a, b)) {
        return SAME;
    }
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

/* --- Kept statements --- */

static inline step_outcome run_kept(twin_pair *twins, int number, bool print)
{
    sqlite3 *databases[] = {twins->ptable, twins->ordinary};
    sql_effect effects[2] = {{.rc = SQLITE_DONE}, {.rc = SQLITE_DONE}};
    if (twins->kept[number][0] == NULL) {
        return SAME;
    }
    for (int i = 0; i < 2; i++) {
        effects[i].rc = run_prepared(twins->kept[number][i], &effects[i]);
        if (effects[i].rc != SQLITE_DONE) {
            take_error(databases[i], &effects[i]);
        }
        sqlite3_reset(twins->kept[number][i]);
        effects[i].in_transaction = !sqlite3_get_autocommit(databases[i]);
    }
    step_outcome outcome = is_refused_comparison(&effects[0])
                               ? SAME
                               : compare(STEP_UNORDERED, &effects[0], &effects[1]);
    if (print && outcome != SAME) {
        printf("# %s\n", sqlite3_sql(twins->kept[number][0]));
        print_effect("ptable", &effects[0]);
        print_effect("ordinary table", &effects[1]);
    }
    effect_free(&effects[0]);
    effect_free(&effects[1]);
    return outcome;
}

static inline step_outcome keep(twin_pair *twins, const test_step *step, bool print)
{
    sqlite3_stmt **kept = twins->kept[step->cursor];
    const char *ptable = step->statement.sql;
    const char *ordinary = step->twin.sql;
    close_kept(twins, step->cursor);
    if (prepare(twins->ptable, &step->statement, &ptable, &kept[0]) != SQLITE_OK ||
        prepare(twins->ordinary, &step->twin, &ordinary, &kept[1]) != SQLITE_OK) {
        close_kept(twins, step->cursor);
        return SAME_FAILURE;
    }
    return run_kept(twins, step->cursor, print);
}

/* --- Indexes --- */

/* Entries and entities are compared, one by one, once the transaction is over. */
static inline step_outcome check_indexes(twin_pair *twins, bool print)
{
    static const sql_statement check = {
        .sql = (char *)(uintptr_t) "SELECT pt_check(); SELECT pt_check('" OTHER_STORE "')"};
    sql_effect effect = run(twins->ptable, &check);
    bool sound = effect.rc == SQLITE_DONE && effect.row_count == 2 &&
                 strcmp(effect.rows[0], "'ok'") == 0 && strcmp(effect.rows[1], "'ok'") == 0;
    if (!sound && print) {
        print_effect("pt_check", &effect);
    }
    effect_free(&effect);
    return sound ? SAME : DIFFERENT;
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

static inline step_outcome perform_step(twin_pair *twins, const test_step *step, bool print)
{
    switch (step->kind) {
    case STEP_CURSOR_OPEN:
        return open_cursor(twins, step, print);
    case STEP_CURSOR_READ:
        return read_cursor(twins, step, print);
    case STEP_CURSOR_CLOSE:
        close_cursor(twins, step->cursor);
        return SAME;
    case STEP_KEEP:
        return keep(twins, step, print);
    case STEP_KEPT:
        return run_kept(twins, step->cursor, print);
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

static inline step_outcome perform(twin_pair *twins, const test_step *step, bool print)
{
    step_outcome outcome = perform_step(twins, step, print);
    bool may_change = step->kind >= STEP_CHANGE && step->kind <= STEP_OPERATION;
    bool checks = twins->host->unique && may_change && sqlite3_get_autocommit(twins->ptable) != 0;
    return outcome == SAME && checks ? check_indexes(twins, print) : outcome;
}

#endif
