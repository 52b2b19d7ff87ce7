/*
 * Performs operations of a corpus as SQL: on ptables with limits='azure' and batch='azure', or on
 * tables of a Table service, the account `hr`.
 *
 * For each table there are two virtual tables: one without columns, and one named "... columns"
 * whose columns are what $select may ask for.
 */
#ifndef TESTS_CONFORMANCE_PERFORM_H
#define TESTS_CONFORMANCE_PERFORM_H

#include "conformance/entities.h"

enum { CODE_SIZE = 80, NO_INDEX = -1 };

/* What came of an operation. */
typedef struct outcome {
    int rc;               /* SQLite's extended code */
    char code[CODE_SIZE]; /* the service's, from the end of the message; "" if there is none */
    char message[400];
    int index; /* of the operation that failed in a batch, or NO_INDEX */
} outcome;

typedef struct replay {
    const char *service; /* its dialect; NULL: the tables are ptables */
    sqlite3 *db;         /* with the tables */
    sqlite3 *notes;      /* reads JSON; its table `etags` has what each entity's ETags were */
    pt_buffer expected;  /* entities, as text */
    pt_buffer found;
    int number; /* of the operation: chooses among forms of SQL that mean the same */
} replay;

#define COLUMNS "s, s2, i, l, d, b, t, g, x, m, _u, \"größe\", never"
#define LONG_COLUMN_SIZE 255
#define OTHER_ETAG "W/\"datetime'2001-01-01T00%3A00%3A00.0000000Z'\""

/* --- Outcomes --- */

static inline void set_code(outcome *result, const char *code, size_t size)
{
    snprintf(result->code, sizeof result->code, "%.*s", (int)size, code);
}

/* Takes the code and message of the connection's last statement. */
static inline void set_outcome(outcome *result, sqlite3 *db, int rc)
{
    *result = (outcome){.rc = rc, .index = NO_INDEX};
    if (rc != SQLITE_OK) {
        const char *message = sqlite3_errmsg(db);
        snprintf(result->message, sizeof result->message, "%s", message);
        const char *open = strrchr(message, '(');
        const char *close = open != NULL ? strchr(open, ')') : NULL;
        if (close != NULL && close[1] == 0) {
            set_code(result, open + 1, (size_t)(close - open - 1));
        }
    }
}

static inline void set_missing(outcome *result)
{
    set_code(result, "ResourceNotFound", strlen("ResourceNotFound"));
}

/* At COMMIT the service says which operation it refuses, and the message names it. */
static inline void set_index(outcome *result)
{
    const char *named = strstr(result->message, "operation ");
    if (result->rc != SQLITE_OK && named != NULL && strstr(named, "(from 0)") != NULL) {
        result->index = atoi(named + strlen("operation "));
    }
}

/* Runs a statement to its end. */
static inline void run_statement(outcome *result, sqlite3 *db, sqlite3_stmt *statement)
{
    int rc;
    do {
        rc = sqlite3_step(statement);
    } while (rc == SQLITE_ROW);
    set_outcome(result, db, rc == SQLITE_DONE ? SQLITE_OK : sqlite3_extended_errcode(db));
    sqlite3_finalize(statement);
}

/* Prepares SQL that has one %w, the table; NULL with the outcome if that fails. */
static inline sqlite3_stmt *prepare_on(outcome *result, sqlite3 *db, const char *format,
                                       const char *table)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf(format, table);
    assert_non_null(sql);
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    set_outcome(result, db, rc == SQLITE_OK ? SQLITE_OK : sqlite3_extended_errcode(db));
    sqlite3_free(sql);
    return statement;
}

/* Those of ?1, ?2, ... that the statement has. */
static inline void bind_texts(sqlite3_stmt *statement, int count, const char *const *texts)
{
    for (int i = 0; i < count && i < sqlite3_bind_parameter_count(statement); i++) {
        assert_int_equal(sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_TRANSIENT),
                         SQLITE_OK);
    }
}

/* --- ETags --- */

/* The ETag that the entity had `age` successful writes ago, or one that it never had. */
static inline char *etag_before(replay *r, const char *table, const char *part, const char *age)
{
    const char *texts[] = {table, part, age};
    char *etag = text_with(r->notes,
                           "SELECT etag FROM etags WHERE tab = lower(?1) AND pk = ?2 ->> '$.pk'"
                           " AND rk = ?2 ->> '$.rk' ORDER BY rowid DESC LIMIT 1 OFFSET ?3 + 0",
                           3, texts);
    return etag != NULL ? etag : strdup(OTHER_ETAG);
}

static inline void remember_etag(replay *r, const char *table, const char *part)
{
    outcome read;
    sqlite3_stmt *row = prepare_on(&read, r->db,
                                   "SELECT ETag FROM \"%w\" WHERE PartitionKey = ?1 ->> '$.pk'"
                                   " AND RowKey = ?1 ->> '$.rk'",
                                   table);
    bind_texts(row, 1, &part);
    if (sqlite3_step(row) == SQLITE_ROW) {
        const char *texts[] = {table, part, (const char *)sqlite3_column_text(row, 0)};
        free(text_with(r->notes,
                       "INSERT INTO etags VALUES(lower(?1), ?2 ->> '$.pk', ?2 ->> '$.rk', ?3)", 3,
                       texts));
    }
    assert_int_equal(sqlite3_finalize(row), SQLITE_OK);
}

/* What IfMatch is for an operation, from malloc; NULL for none. */
static inline char *condition_of(replay *r, const char *table, const char *part)
{
    char *given = member(r->notes, part, "$.ifMatch");
    bool current = given != NULL && strcmp(given, "current") == 0;
    if (!current && (given == NULL || strcmp(given, "stale") != 0)) {
        return given;
    }
    free(given);
    return etag_before(r, table, part, current ? "0" : "1");
}

/* --- Writes --- */

/* The forms of SQL that an operation has; NULL: plain INSERT. */
typedef struct write_form {
    const char *operation;
    const char *verb;
    const char *mode;
} write_form;

static const write_form write_forms[] = {
    {"insert", "INSERT", NULL},
    {"insert", "INSERT", "insert"},
    {"upsertReplace", "INSERT OR REPLACE", NULL},
    {"upsertReplace", "INSERT", "replace"},
    {"upsertMerge", "INSERT", "merge"},
    {"replace", "INSERT", "replace"},
    {"merge", "INSERT", "Merge"},
    {"delete", "INSERT", "delete"},
};

static inline const write_form *form_of(const char *operation, int number)
{
    enum { FORMS = sizeof write_forms / sizeof write_forms[0] };
    int first = 0;
    while (strcmp(write_forms[first].operation, operation) != 0) {
        first++;
        assert_true(first < FORMS);
    }
    bool two = first + 1 < FORMS && strcmp(write_forms[first + 1].operation, operation) == 0;
    return &write_forms[first + (two ? number % 2 : 0)];
}

/* `part` is the operation, or one of a batch. */
static inline void perform_write(replay *r, const char *table, const char *part, outcome *result)
{
    char *operation = member(r->notes, part, "$.op");
    const write_form *form = form_of(operation, r->number);
    char *condition = condition_of(r, table, part);
    const char *texts[] = {part, form->mode, condition};
    char *format = sqlite3_mprintf("%s INTO \"%%w\"(PartitionKey, RowKey, Properties, WriteMode,"
                                   " IfMatch) VALUES(?1 ->> '$.pk', ?1 ->> '$.rk',"
                                   " ?1 -> '$.properties', ?2, ?3)",
                                   form->verb);
    assert_non_null(format);
    sqlite3_stmt *statement = prepare_on(result, r->db, format, table);
    if (result->rc == SQLITE_OK) {
        bind_texts(statement, 3, texts);
        run_statement(result, r->db, statement);
    }
    sqlite3_free(format);
    free(condition);
    free(operation);
}

static inline void perform_single_write(replay *r, const char *table, const char *operation,
                                        outcome *result)
{
    perform_write(r, table, operation, result);
    if (result->rc == SQLITE_OK) {
        remember_etag(r, table, operation);
    }
}

#define PARTS_SQL "SELECT value FROM json_each(?1, '$.operations')"

static inline void remember_batch(replay *r, const char *table, const char *operation)
{
    sqlite3_stmt *part = prepare_with(r->notes, PARTS_SQL, 1, &operation);
    while (sqlite3_step(part) == SQLITE_ROW) {
        remember_etag(r, table, (const char *)sqlite3_column_text(part, 0));
    }
    assert_int_equal(sqlite3_finalize(part), SQLITE_OK);
}

/* An entity group transaction is a transaction that is rolled back at the first failure. */
static inline void perform_batch(replay *r, const char *table, const char *operation,
                                 outcome *result)
{
    sqlite3_stmt *part = prepare_with(r->notes, PARTS_SQL, 1, &operation);
    int index = 0;
    run(r->db, "BEGIN");
    *result = (outcome){.index = NO_INDEX};
    while (result->rc == SQLITE_OK && sqlite3_step(part) == SQLITE_ROW) {
        perform_write(r, table, (const char *)sqlite3_column_text(part, 0), result);
        result->index = result->rc == SQLITE_OK ? NO_INDEX : index;
        index++;
    }
    sqlite3_finalize(part);
    if (result->rc != SQLITE_OK) {
        run(r->db, "ROLLBACK");
        return;
    }
    set_outcome(result, r->db, code_of(r->db, "COMMIT"));
    set_index(result);
    if (result->rc == SQLITE_OK) {
        remember_batch(r, table, operation);
    }
}

/* --- Reads --- */

/* What is asked for; texts from malloc. */
typedef struct question {
    bool is_get;
    char *filter;  /* or NULL */
    char *columns; /* that $select asks for, each after a comma, by name; NULL: all properties */
    int64_t top;   /* entities of a page; 0: all in one */
} question;

/* The emulator has some filters wrong, and gets others that mean there what is meant. */
static inline char *read_filter(replay *r, const char *operation)
{
    bool emulated = r->service != NULL && strcmp(r->service, "azurite") == 0;
    char *sent = emulated ? member(r->notes, operation, "$.sent") : NULL;
    return sent != NULL ? sent : member(r->notes, operation, "$.filter");
}

static inline question read_question(replay *r, const char *operation)
{
    char *kind = member(r->notes, operation, "$.op");
    question asked = {
        .is_get = strcmp(kind, "get") == 0,
        .filter = read_filter(r, operation),
        .columns = text_with(r->notes,
                             "SELECT group_concat(', t.\"' || value || '\"', '') FROM"
                             " (SELECT value FROM json_each(?1, '$.select')"
                             " ORDER BY value COLLATE BINARY)",
                             1, &operation),
        .top = member_number(r->notes, operation, "$.top", 0),
    };
    free(kind);
    return asked;
}

/* A condition with ?1 the operation, ?2 the filter, if it is no argument of the table. */
static inline const char *condition_sql(const question *asked, bool as_function)
{
    if (asked->is_get) {
        return "PartitionKey = ?1 ->> '$.pk' AND RowKey = ?1 ->> '$.rk'";
    }
    return asked->filter != NULL && !as_function ? "Filter MATCH ?2" : "1";
}

/* SELECT with ?1 the operation, ?2 the filter, ?3 the entity before the page. */
static inline sqlite3_stmt *prepare_read(replay *r, const char *table, const question *asked,
                                         outcome *result)
{
    bool as_function = asked->filter != NULL && r->number % 2 == 0;
    bool paged = asked->top != 0;
    char *sql =
        sqlite3_mprintf("SELECT PartitionKey, RowKey, EntityKey%s FROM \"%w%s\"%s AS t WHERE %s%s",
                        asked->columns != NULL ? asked->columns : ", Properties", table,
                        asked->columns != NULL ? " columns" : "", as_function ? "(?2)" : "",
                        condition_sql(asked, as_function),
                        paged ? " AND EntityKey > ?3 ORDER BY EntityKey LIMIT ?1 ->> '$.top'"
                              : " ORDER BY PartitionKey, RowKey");
    assert_non_null(sql);
    sqlite3_stmt *statement = prepare_on(result, r->db, "%s", sql);
    sqlite3_free(sql);
    return statement;
}

/* Reads rows up to the end; answers how many. Keeps the last one's EntityKey. */
static inline int read_rows(replay *r, sqlite3_stmt *row, const question *asked, pt_buffer *last)
{
    int count = 0;
    while (sqlite3_step(row) == SQLITE_ROW) {
        if (asked->columns != NULL) {
            append_column_row(&r->found, row);
        } else {
            append_bag_row(&r->found, r->notes, row);
        }
        pt_buffer_clear(last);
        pt_buffer_append(last, sqlite3_column_blob(row, ENTITY_KEY_COLUMN),
                         (size_t)sqlite3_column_bytes(row, ENTITY_KEY_COLUMN));
        count++;
    }
    return count;
}

/* Answers how many entities there are. */
static inline int64_t read_pages(replay *r, sqlite3_stmt *row, const question *asked)
{
    pt_buffer last = {0};
    int64_t total = 0;
    int count;
    do {
        sqlite3_reset(row);
        const void *key = last.size != 0 ? last.data : (const void *)"";
        sqlite3_bind_blob64(row, 3, key, last.size, SQLITE_TRANSIENT);
        count = read_rows(r, row, asked, &last);
        assert_true(asked->top == 0 || count <= asked->top);
        total += count;
    } while (asked->top != 0 && count != 0);
    pt_buffer_free(&last);
    return total;
}

/* A get that finds nothing is the service's ResourceNotFound. */
static inline void perform_read(replay *r, const char *table, const char *operation,
                                outcome *result)
{
    question asked = read_question(r, operation);
    append_expected(&r->expected, r->notes, operation, asked.columns == NULL);
    sqlite3_stmt *row = prepare_read(r, table, &asked, result);
    if (result->rc == SQLITE_OK) {
        const char *texts[] = {operation, asked.filter};
        bind_texts(row, 2, texts);
        int64_t count = read_pages(r, row, &asked);
        int rc = sqlite3_reset(row);
        set_outcome(result, r->db, rc == SQLITE_OK ? SQLITE_OK : sqlite3_extended_errcode(r->db));
        if (result->rc == SQLITE_OK && asked.is_get && count == 0) {
            set_missing(result);
        }
        sqlite3_finalize(row);
    }
    free(asked.filter);
    free(asked.columns);
}

/* --- Tables --- */

/* A bad name is refused where a ptable with limits='azure' is declared. */
static inline const char *create_sql(const replay *r, const char *operation)
{
    if (r->service != NULL) {
        return "INSERT INTO pt_service_tables(Account, TableName) VALUES('hr', '%w')";
    }
    return member_number(r->notes, operation, "$.expect.status", 0) == 400
               ? "CREATE VIRTUAL TABLE badly_named USING ptable(table='%w', limits='azure')"
               : "INSERT INTO pt_tables(TableName) VALUES('%w')";
}

static inline void perform_create_table(replay *r, const char *table, const char *operation,
                                        outcome *result)
{
    sqlite3_stmt *statement = prepare_on(result, r->db, create_sql(r, operation), table);
    if (result->rc == SQLITE_OK) {
        run_statement(result, r->db, statement);
    }
}

static inline void perform_delete_table(replay *r, const char *table, outcome *result)
{
    sqlite3_stmt *statement =
        prepare_on(result, r->db,
                   r->service != NULL
                       ? "DELETE FROM pt_service_tables WHERE Account = 'hr' AND TableName = '%w'"
                       : "DELETE FROM pt_tables WHERE TableName = '%w'",
                   table);
    if (result->rc == SQLITE_OK) {
        run_statement(result, r->db, statement);
        if (result->rc == SQLITE_OK && sqlite3_changes(r->db) == 0) {
            set_missing(result);
        }
    }
}

/* Declares the table, which is not there yet, and does not create it. */
static inline void declare_table(replay *r, const char *table)
{
    const char *module = r->service != NULL ? "pt_service" : "ptable";
    const char *options =
        r->service != NULL ? "account=hr" : "limits='azure', batch='azure', sync='off'";
    char long_column[LONG_COLUMN_SIZE + 1];
    memset(long_column, 'N', LONG_COLUMN_SIZE);
    long_column[LONG_COLUMN_SIZE] = 0;
    run(r->db, "CREATE VIRTUAL TABLE \"%w\" USING %s(%s)", table, module, options);
    run(r->db, "CREATE VIRTUAL TABLE \"%w columns\" USING %s(%s, %s, table='%w', %s)", table,
        module, COLUMNS, long_column, table, options);
    if (r->service == NULL) {
        run(r->db, "DELETE FROM pt_tables WHERE TableName = '%q'", table);
    }
}

static inline void perform(replay *r, const char *operation, outcome *result)
{
    char *kind = member(r->notes, operation, "$.op");
    char *table = member(r->notes, operation, "$.table");
    if (strcmp(kind, "createTable") == 0) {
        perform_create_table(r, table, operation, result);
    } else if (strcmp(kind, "deleteTable") == 0) {
        perform_delete_table(r, table, result);
    } else if (strcmp(kind, "get") == 0 || strcmp(kind, "query") == 0) {
        perform_read(r, table, operation, result);
    } else if (strcmp(kind, "batch") == 0) {
        perform_batch(r, table, operation, result);
    } else {
        perform_single_write(r, table, operation, result);
    }
    free(table);
    free(kind);
}

#endif
