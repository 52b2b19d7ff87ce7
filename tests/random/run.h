/*
 * Runs a statement on one database and keeps what it did.
 */
#ifndef TESTS_RANDOM_RUN_H
#define TESTS_RANDOM_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "random/twins.h"

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

/* The first parameter gets the literal `first`, the others those that follow, round about. */
static inline void bind_parameters(sqlite3_stmt *prepared, const sql_statement *statement,
                                   int first)
{
    int count = statement->bound_count;
    for (int i = 0; i < count; i++) {
        bind_literal(prepared, i + 1, statement->bound[(first + i) % count]);
    }
}

/* *rest is the text to prepare a statement of, and then the text behind that. */
static inline int prepare(sqlite3 *db, const sql_statement *statement, const char **rest,
                          sqlite3_stmt **prepared)
{
    int rc = sqlite3_prepare_v2(db, *rest, -1, prepared, rest);
    if (rc == SQLITE_OK) {
        bind_parameters(*prepared, statement, 0);
    }
    return rc;
}

static inline void write_bytes(sqlite3_str *text, const void *bytes, int size)
{
    for (int i = 0; i < size; i++) {
        sqlite3_str_appendf(text, "%02x", ((const unsigned char *)bytes)[i]);
    }
}

enum { SHOWN_BYTES = 400 };

/* A long value by its size, beginning and hash (FNV-1a), which tell it from any that comes up. */
static inline void write_digest(sqlite3_str *text, const char *type, const unsigned char *value,
                                int size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < size; i++) {
        hash = (hash ^ value[i]) * UINT64_C(0x100000001b3);
    }
    sqlite3_str_appendf(text, "<%s of %d bytes, %llx: ", type, size, (unsigned long long)hash);
    write_bytes(text, value, 16);
    sqlite3_str_appendall(text, "...>");
}

static inline void write_text(sqlite3_str *text, const unsigned char *value, int size)
{
    if (size > SHOWN_BYTES) {
        write_digest(text, "text", value, size);
        return;
    }
    sqlite3_str_appendf(text, "%Q", value);
    if (strlen((const char *)value) != (size_t)size) {
        write_bytes(text, value, size);
    }
}

static inline void write_blob(sqlite3_str *text, const unsigned char *value, int size)
{
    if (size > SHOWN_BYTES) {
        write_digest(text, "blob", value, size);
        return;
    }
    sqlite3_str_appendall(text, "x'");
    write_bytes(text, value, size);
    sqlite3_str_appendall(text, "'");
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
        const unsigned char *value = sqlite3_column_text(statement, column);
        write_text(text, value, sqlite3_column_bytes(statement, column));
        break;
    }
    case SQLITE_BLOB: {
        const unsigned char *value = sqlite3_column_blob(statement, column);
        write_blob(text, value, sqlite3_column_bytes(statement, column));
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

static inline int run_prepared(sqlite3_stmt *prepared, sql_effect *effect)
{
    int rc;
    while ((rc = sqlite3_step(prepared)) == SQLITE_ROW) {
        add_row(effect, row_text(prepared));
    }
    return rc;
}

static inline void take_error(sqlite3 *db, sql_effect *effect)
{
    effect->message = need(sqlite3_mprintf("%s", sqlite3_errmsg(db)));
    effect->rc = sqlite3_extended_errcode(db);
}

static inline int run_again(sqlite3_stmt *prepared, const sql_statement *statement,
                            sql_effect *effect)
{
    sqlite3_reset(prepared);
    bind_parameters(prepared, statement, 1);
    return run_prepared(prepared, effect);
}

/* Runs a statement, or several without parameters, up to the first that fails. */
static inline sql_effect run(sqlite3 *db, const sql_statement *statement)
{
    sql_effect effect = {.rc = SQLITE_DONE};
    const char *rest = statement->sql;
    while (effect.rc == SQLITE_DONE && *rest != 0) {
        sqlite3_stmt *prepared = NULL;
        effect.rc = prepare(db, statement, &rest, &prepared);
        if (effect.rc == SQLITE_OK) {
            effect.rc = run_prepared(prepared, &effect);
        }
        if (effect.rc == SQLITE_DONE && statement->again) {
            effect.rc = run_again(prepared, statement, &effect);
        }
        if (effect.rc != SQLITE_DONE) {
            take_error(db, &effect);
        }
        sqlite3_finalize(prepared);
    }
    effect.changes = sqlite3_changes64(db);
    effect.in_transaction = !sqlite3_get_autocommit(db);
    return effect;
}

#endif
