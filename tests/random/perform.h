/*
 * Carries a step out on both databases and says whether they can be told apart by it.
 */
#ifndef PERFORM_H
#define PERFORM_H

#include "twins.h"

typedef enum outcome {
    SAME,
    SAME_FAILURE, /* both refused what no table refuses, such as SQL that makes no sense */
    DIFFERENT,
} step_outcome;

/* What a statement did. */
typedef struct sql_effect {
    int rc;
    char *message;
    char **rows;
    int row_count;
    int row_capacity;
    sqlite3_int64 changes;
    bool in_transaction;
} sql_effect;

static inline void effect_free(sql_effect *effect)
{
    for (int i = 0; i < effect->row_count; i++) {
        sqlite3_free(effect->rows[i]);
    }
    sqlite3_free(effect->rows);
    sqlite3_free(effect->message);
}

/* --- Running --- */

static inline void bind_literal(sqlite3_stmt *statement, int number, const char *literal)
{
    char *sql = need(sqlite3_mprintf("SELECT %s", literal));
    sqlite3_stmt *evaluation = NULL;
    sqlite3 *db = sqlite3_db_handle(statement);
    must_be_ok(sqlite3_prepare_v2(db, sql, -1, &evaluation, NULL), sql);
    if (sqlite3_step(evaluation) == SQLITE_ROW) {
        sqlite3_bind_value(statement, number, sqlite3_column_value(evaluation, 0));
    }
    sqlite3_finalize(evaluation);
    sqlite3_free(sql);
}

static inline int prepare(sqlite3 *db, const sql_statement *statement, sqlite3_stmt **prepared)
{
    int rc = sqlite3_prepare_v2(db, statement->sql, -1, prepared, NULL);
    for (int i = 0; rc == SQLITE_OK && i < statement->bound_count; i++) {
        bind_literal(*prepared, i + 1, statement->bound[i]);
    }
    return rc;
}

static inline void write_bytes(sqlite3_str *text, const void *bytes, int size)
{
    for (int i = 0; i < size; i++) {
        sqlite3_str_appendf(text, "%02x", ((const unsigned char *)bytes)[i]);
    }
}

/* Type and value of a column, exactly. */
static inline void write_value(sqlite3_str *text, sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        sqlite3_str_appendf(text, "%lld", sqlite3_column_int64(statement, column));
        break;
    case SQLITE_FLOAT:
        sqlite3_str_appendf(text, "%!.17g", sqlite3_column_double(statement, column));
        break;
    case SQLITE_TEXT: {
        const char *value = (const char *)sqlite3_column_text(statement, column);
        int size = sqlite3_column_bytes(statement, column);
        sqlite3_str_appendf(text, "%Q", value);
        if (strlen(value) != (size_t)size) {
            write_bytes(text, value, size);
        }
        break;
    }
    case SQLITE_BLOB: {
        const void *value = sqlite3_column_blob(statement, column);
        sqlite3_str_appendall(text, "x'");
        write_bytes(text, value, sqlite3_column_bytes(statement, column));
        sqlite3_str_appendall(text, "'");
        break;
    }
    default:
        sqlite3_str_appendall(text, "NULL");
    }
}

static inline char *row_text(sqlite3_stmt *statement)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        sqlite3_str_appendall(text, i == 0 ? "" : ", ");
        write_value(text, statement, i);
    }
    return need(sqlite3_str_finish(text));
}

static inline void add_row(sql_effect *effect, char *row)
{
    if (effect->row_count == effect->row_capacity) {
        effect->row_capacity = effect->row_capacity * 2 + 16;
        effect->rows = need(
            sqlite3_realloc64(effect->rows, (sqlite3_uint64)effect->row_capacity * sizeof(char *)));
    }
    effect->rows[effect->row_count++] = row;
}

static inline sql_effect run(sqlite3 *db, const sql_statement *statement)
{
    sql_effect effect = {0};
    sqlite3_stmt *prepared = NULL;
    effect.rc = prepare(db, statement, &prepared);
    if (effect.rc == SQLITE_OK) {
        while ((effect.rc = sqlite3_step(prepared)) == SQLITE_ROW) {
            add_row(&effect, row_text(prepared));
        }
    }
    effect.changes = sqlite3_changes64(db);
    if (effect.rc != SQLITE_DONE) {
        effect.message = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        effect.rc = sqlite3_extended_errcode(db);
    }
    sqlite3_finalize(prepared);
    effect.in_transaction = !sqlite3_get_autocommit(db);
    return effect;
}

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
 * A ptable does not know whether a number asks for the key that reads as it or for all keys that
 * equal it. Where these differ and ORDER BY RowKey was promised, it refuses to answer.
 */
static inline bool is_refused_number(const sql_effect *effect)
{
    return effect->rc == SQLITE_MISMATCH && strstr(effect->message, "that several keys read as");
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
    if (is_refused_number(a) && kind <= STEP_UNORDERED) {
        return SAME;
    }
    if (code_class(a->rc) != code_class(b->rc) || a->in_transaction != b->in_transaction) {
        return DIFFERENT;
    }
    if (a->rc != SQLITE_DONE) {
        int primary = a->rc & 0xff;
        bool by_data = primary == SQLITE_CONSTRAINT || primary == SQLITE_MISMATCH;
        return by_data ? SAME : SAME_FAILURE;
    }
    if (kind == STEP_UNORDERED) {
        sort_rows(a);
        sort_rows(b);
    }
    bool same = same_rows(a, b) && (kind != STEP_CHANGE || a->changes == b->changes);
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

static inline step_outcome run_both(twin_pair *twins, const test_step *step, bool print)
{
    sql_effect a = run(twins->ptable, &step->statement);
    sql_effect b = run(twins->ordinary, &step->statement);
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
                   (rc & 0xff) == SQLITE_MISMATCH;
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
    int rc = prepare(twins->ptable, &step->statement, &twins->cursors[step->cursor]);
    if (rc == SQLITE_OK) {
        return read_cursor(twins, step, print);
    }
    if (print) {
        printf("# cursor %d: %s\n", step->cursor, sqlite3_errmsg(twins->ptable));
    }
    return DIFFERENT;
}

/* --- Steps --- */

/* Entities outlive their declarations. */
static inline void redeclare_ptables(twin_pair *twins)
{
    must(twins->ptable, DROP_PTABLES);
    declare_ptables(twins);
    must(twins->ptable, "COMMIT");
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
