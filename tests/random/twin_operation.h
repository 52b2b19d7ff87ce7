/*
 * Performs operations of the Table service on an ordinary table, as INSERT with WriteMode and
 * IfMatch does on a ptable: the model of what that has to do.
 */
#ifndef TESTS_RANDOM_TWIN_OPERATION_H
#define TESTS_RANDOM_TWIN_OPERATION_H

#include "random/run.h"

/* The columns of the query whose rows are the operations. */
enum {
    OPERATION_OR,
    OPERATION_TABLE,
    OPERATION_KEYS,
    OPERATION_PROPERTIES = 4,
    OPERATION_MODE = 10,
    OPERATION_IF_MATCH,
    OPERATION_COLUMNS
};

typedef struct twin_operation {
    sqlite3_value *columns[OPERATION_COLUMNS];
    int types[OPERATION_COLUMNS]; /* before anybody asked for their texts */
} twin_operation;

static const char *const operation_modes[] = {"insert", "replace", "merge", "delete", NULL};

static inline const char *operation_text(const twin_operation *operation, int column)
{
    return (const char *)sqlite3_value_text(operation->columns[column]);
}

static inline bool is_given(const twin_operation *operation, int column)
{
    return operation->types[column] != SQLITE_NULL;
}

static inline int refuse(sql_effect *effect, int rc, const char *service_code)
{
    effect->rc = rc;
    effect->message = need(sqlite3_mprintf("(%s)", service_code));
    return rc;
}

/* Runs SQL with %1$s as the operation's table. */
static inline int run_for(sqlite3 *db, const twin_operation *operation, const char *format,
                          sql_effect *effect)
{
    sql_statement statement = {0};
    const char *table = operation_text(operation, OPERATION_TABLE);
    statement.sql = need(sqlite3_mprintf(format, table, table));
    sql_effect part = run(db, &statement);
    sqlite3_free(statement.sql);
    if (part.rc != SQLITE_DONE) {
        effect->rc = part.rc;
        effect->message = part.message;
        part.message = NULL;
    }
    int rc = part.rc == SQLITE_DONE ? SQLITE_OK : part.rc;
    effect_free(&part);
    return rc;
}

/* The mode in lower case; NULL: there is none of that name. */
static inline const char *mode_of(const twin_operation *operation)
{
    if (!is_given(operation, OPERATION_MODE)) {
        return strcmp(operation_text(operation, OPERATION_OR), "OR REPLACE") == 0 ? "replace"
                                                                                  : "insert";
    }
    for (const char *const *mode = operation_modes; *mode != NULL; mode++) {
        if (operation->types[OPERATION_MODE] == SQLITE_TEXT &&
            sqlite3_stricmp(*mode, operation_text(operation, OPERATION_MODE)) == 0) {
            return *mode;
        }
    }
    return NULL;
}

static inline bool is_tag(const twin_operation *operation)
{
    const char *text = operation_text(operation, OPERATION_IF_MATCH);
    size_t size = strlen(text);
    return operation->types[OPERATION_IF_MATCH] == SQLITE_TEXT &&
           (strcmp(text, "*") == 0 ||
            (strncmp(text, "W/\"", 3) == 0 && strchr(text + 3, '"') == text + size - 1));
}

/* True if mode, condition and properties go together. */
static inline bool makes_sense(const twin_operation *operation, const char *mode)
{
    if (mode == NULL) {
        return false;
    }
    if (is_given(operation, OPERATION_IF_MATCH) &&
        (!is_given(operation, OPERATION_MODE) || strcmp(mode, "insert") == 0 ||
         !is_tag(operation))) {
        return false;
    }
    for (int i = OPERATION_PROPERTIES; i < OPERATION_MODE; i++) {
        if (is_given(operation, i) && strcmp(mode, "delete") == 0) {
            return false;
        }
    }
    return true;
}

/* Puts the row into `given`, which checks and converts its values. */
static inline int take_values(sqlite3 *db, const twin_operation *operation, sql_effect *effect)
{
    sqlite3_stmt *insert = NULL;
    must(db, "DELETE FROM given");
    must_be_ok(
        sqlite3_prepare_v2(db, "INSERT INTO given VALUES (?,?,?,?,?,?,?,?)", -1, &insert, NULL),
        "given");
    for (int i = OPERATION_KEYS; i < OPERATION_MODE; i++) {
        sqlite3_bind_value(insert, i - OPERATION_KEYS + 1, operation->columns[i]);
    }
    if (sqlite3_step(insert) != SQLITE_DONE) {
        take_error(db, effect);
    }
    return sqlite3_finalize(insert);
}

#define ITS_KEYS "(PartitionKey, RowKey) = (SELECT PartitionKey, RowKey FROM given)"

/* Finds the row that is there. */
static inline int find_row(sqlite3 *db, const twin_operation *operation, bool *found, char **tag,
                           sql_effect *effect)
{
    char *sql = need(sqlite3_mprintf("SELECT ETag FROM %s WHERE " ITS_KEYS,
                                     operation_text(operation, OPERATION_TABLE)));
    sqlite3_stmt *query = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &query, NULL);
    if (rc != SQLITE_OK) {
        take_error(db, effect);
    } else if (sqlite3_step(query) == SQLITE_ROW) {
        *found = true;
        *tag = need(sqlite3_mprintf("%s", sqlite3_column_text(query, 0)));
    }
    sqlite3_finalize(query);
    sqlite3_free(sql);
    return rc;
}

static inline int check_row(const twin_operation *operation, const char *mode, bool found,
                            const char *tag, sql_effect *effect)
{
    const char *condition = operation_text(operation, OPERATION_IF_MATCH);
    if (strcmp(mode, "insert") == 0 && found) {
        return refuse(effect, SQLITE_CONSTRAINT_PRIMARYKEY, "EntityAlreadyExists");
    }
    if (condition != NULL && !found) {
        return refuse(effect, SQLITE_CONSTRAINT_CHECK, "ResourceNotFound");
    }
    if (condition != NULL && strcmp(condition, "*") != 0 && strcmp(condition, tag) != 0) {
        return refuse(effect, SQLITE_CONSTRAINT_VTAB, "UpdateConditionNotSatisfied");
    }
    return SQLITE_OK;
}

#define INTO_TABLE "INTO %s(PartitionKey, RowKey, S, I, D, B, X, V) SELECT * FROM given"
#define MERGED                                                                                     \
    "%s AS a SET S = coalesce(g.S, a.S), I = coalesce(g.I, a.I), D = coalesce(g.D, a.D), "         \
    "B = coalesce(g.B, a.B), X = coalesce(g.X, a.X), V = coalesce(g.V, a.V) FROM given g "         \
    "WHERE a.PartitionKey = g.PartitionKey AND a.RowKey = g.RowKey"

/* With OR REPLACE the rows that are in conflict go; else the row stays as it was. */
static inline int write_row(sqlite3 *db, const twin_operation *operation, const char *mode,
                            bool found, sql_effect *effect)
{
    bool replaces = strcmp(operation_text(operation, OPERATION_OR), "OR REPLACE") == 0;
    const char *sql = replaces ? "DELETE FROM %s WHERE " ITS_KEYS "; INSERT OR REPLACE " INTO_TABLE
                               : "DELETE FROM %s WHERE " ITS_KEYS "; INSERT " INTO_TABLE;
    if (strcmp(mode, "delete") == 0) {
        sql = "DELETE FROM %s WHERE " ITS_KEYS;
    } else if (strcmp(mode, "merge") == 0 && found) {
        sql = replaces ? "UPDATE OR REPLACE " MERGED : "UPDATE " MERGED;
    }
    must(db, "SAVEPOINT operation");
    int rc = run_for(db, operation, sql, effect);
    must(db, rc == SQLITE_OK ? "RELEASE operation" : "ROLLBACK TO operation; RELEASE operation");
    return rc;
}

/* SQLITE_OK, or a code with the effect's message. */
static inline int perform_row(sqlite3 *db, const twin_operation *operation, sql_effect *effect)
{
    bool found = false;
    char *tag = NULL;
    const char *mode = mode_of(operation);
    int rc = run_for(db, operation, "SELECT 1 FROM %s LIMIT 0", effect); /* it may be gone */
    if (rc == SQLITE_OK && !makes_sense(operation, mode)) {
        rc = refuse(effect, SQLITE_CONSTRAINT_VTAB, "InvalidInput");
    }
    if (rc == SQLITE_OK) {
        rc = take_values(db, operation, effect);
    }
    if (rc == SQLITE_OK) {
        rc = find_row(db, operation, &found, &tag, effect);
    }
    if (rc == SQLITE_OK) {
        rc = check_row(operation, mode, found, tag, effect);
    }
    if (rc == SQLITE_OK) {
        rc = write_row(db, operation, mode, found, effect);
    }
    sqlite3_free(tag);
    return rc;
}

/* What SQLite does with the whole statement when a row fails. */
static inline void fail_operations(sqlite3 *db, const char * or, int rc)
{
    bool constraint = (rc & 0xff) == SQLITE_CONSTRAINT && rc != SQLITE_CONSTRAINT_DATATYPE;
    if (constraint && strcmp(or, "OR ROLLBACK") == 0) {
        must(db, "ROLLBACK");
        return;
    }
    if (!constraint || strcmp(or, "OR FAIL") != 0) {
        must(db, "ROLLBACK TO operations");
    }
    must(db, "RELEASE operations");
}

static inline void perform_rows(sqlite3 *db, const twin_operation *operations, int count,
                                sql_effect *effect)
{
    effect->rc = SQLITE_DONE;
    must(db, "SAVEPOINT operations");
    for (int i = 0; i < count; i++) {
        const char * or = operation_text(&operations[i], OPERATION_OR);
        int rc = perform_row(db, &operations[i], effect);
        bool ignored = (rc & 0xff) == SQLITE_CONSTRAINT && rc != SQLITE_CONSTRAINT_DATATYPE &&
                       strcmp(or, "OR IGNORE") == 0;
        if (ignored) {
            sqlite3_free(effect->message);
            effect->message = NULL;
            effect->rc = SQLITE_DONE;
        } else if (rc != SQLITE_OK) {
            fail_operations(db, or, rc);
            return;
        } else {
            effect->changes++;
        }
    }
    must(db, "RELEASE operations");
}

enum { OPERATIONS_MAX = 32 };

/* Performs the rows of a query, all of which are read first. */
static inline sql_effect perform_operation(sqlite3 *db, const sql_statement *rows)
{
    sql_effect effect = {0};
    twin_operation operations[OPERATIONS_MAX];
    int count = 0;
    sqlite3_stmt *query = NULL;
    const char *sql = rows->sql;
    int rc = prepare(db, rows, &sql, &query);
    while (rc == SQLITE_OK && count < OPERATIONS_MAX && sqlite3_step(query) == SQLITE_ROW) {
        for (int i = 0; i < OPERATION_COLUMNS; i++) {
            operations[count].types[i] = sqlite3_column_type(query, i);
            operations[count].columns[i] = need(sqlite3_value_dup(sqlite3_column_value(query, i)));
        }
        count++;
    }
    if (rc != SQLITE_OK) {
        take_error(db, &effect);
    }
    sqlite3_finalize(query);
    if (rc == SQLITE_OK) {
        perform_rows(db, operations, count, &effect);
    }
    for (int i = 0; i < count * OPERATION_COLUMNS; i++) {
        sqlite3_value_free(operations[i / OPERATION_COLUMNS].columns[i % OPERATION_COLUMNS]);
    }
    effect.in_transaction = !sqlite3_get_autocommit(db);
    return effect;
}

/* True if a ptable's message says the same as the model's; without one any message will do. */
static inline bool same_service_code(const char *ptable, const char *model)
{
    return model[0] != '(' || strstr(ptable, model) != NULL;
}

#endif
