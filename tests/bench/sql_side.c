#include "bench/sql_side.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ptable.h"

enum { SQL_SIZE = 600 };

static _Noreturn void fail_with(sql_session *session, const char *sql)
{
    fail("%s\n    %s", sqlite3_errmsg(session->db), sql);
}

/* --- Opening --- */

sql_session *sql_open(const side_opening *opening, const char *name)
{
    char path[PATH_SIZE] = ":memory:";
    if (strcmp(name, path) != 0) {
        path_join(path, opening->folder, name);
    }
    sql_session *session = calloc(1, sizeof *session);
    require(session != NULL, "out of memory");
    if (sqlite3_open(path, &session->db) != SQLITE_OK ||
        sqlite3_ptable_init(session->db, NULL, NULL) != SQLITE_OK) {
        fail_with(session, path);
    }
    sqlite3_busy_timeout(session->db, BUSY_MS);
    return session;
}

sql_session *sql_open_ordinary(const side_opening *opening, const char *name)
{
    static const char *const modes[] = {[DURABLE] = "FULL",
                                        [LOSES_LAST] = "NORMAL",
                                        [NO_PROMISE] = "OFF",
                                        [ORDINARY_SAFER] = "NORMAL"};
    sql_session *session = sql_open(opening, name);
    sql_execute(session, "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s; %s",
                modes[opening->durability], settings_pragmas());
    return session;
}

void sql_close(void *session)
{
    sql_session *self = session;
    sqlite3_finalize(self->statement);
    require(sqlite3_close(self->db) == SQLITE_OK, "a connection cannot be closed");
    free(self);
}

void sql_execute(sql_session *session, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    require(sql != NULL, "out of memory");
    if (sqlite3_exec(session->db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail_with(session, sql);
    }
    sqlite3_free(sql);
}

static sqlite3_stmt *prepare(sql_session *session, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(session->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail_with(session, sql);
    }
    return statement;
}

char *sql_text(sql_session *session, const char *sql)
{
    sqlite3_stmt *statement = prepare(session, sql);
    if (sqlite3_step(statement) != SQLITE_ROW) {
        fail_with(session, sql);
    }
    char *text = strdup((const char *)sqlite3_column_text(statement, 0));
    require(text != NULL, "out of memory");
    sqlite3_finalize(statement);
    return text;
}

void sql_analyze(sql_session *session, bool analyzed)
{
    sql_execute(session, "%s",
                analyzed ? "ANALYZE"
                         : "DROP TABLE IF EXISTS sqlite_stat1;"
                           "DROP TABLE IF EXISTS sqlite_stat4");
}

/* --- A workload's SQL --- */

/* {Name} is a column, or a member of Properties. */
static void expand(const char *text, bool json, char sql[SQL_SIZE])
{
    size_t size = 0;
    for (; *text != 0; text++) {
        const char *put = *text == '{'   ? (json ? "Properties ->> '" : "")
                          : *text == '}' ? (json ? "'" : "")
                                         : NULL;
        size_t put_size = put != NULL ? strlen(put) : 1;
        require(size + put_size < SQL_SIZE, "the SQL of a row is too long");
        memcpy(sql + size, put != NULL ? put : text, put_size);
        size += put_size;
    }
    sql[size] = 0;
}

static const char *sql_for(const sql_session *session, const workload *work)
{
    const char *own = session->json ? work->json_sql : session->ptable ? work->ptable_sql : NULL;
    return own != NULL ? own : work->sql;
}

static sqlite3_stmt *prepare_work(sql_session *session, const workload *work)
{
    char sql[SQL_SIZE];
    expand(sql_for(session, work), session->json, sql);
    return prepare(session, sql);
}

static void use_workload(sql_session *session, const workload *work)
{
    if (session->work != work) {
        sqlite3_finalize(session->statement);
        session->statement = prepare_work(session, work);
        session->work = work;
    }
}

/* --- Running --- */

static void bind(sqlite3_stmt *statement, const char *parameters, const sample *entity)
{
    for (int i = 0; parameters[i] != 0; i++) {
        if (parameters[i] == 'a') {
            sqlite3_bind_int(statement, i + 1, entity->age);
        } else if (parameters[i] == 's') {
            sqlite3_bind_double(statement, i + 1, entity->salary);
        } else {
            chars text = data_text(entity, parameters[i]);
            sqlite3_bind_text(statement, i + 1, text.bytes, (int)text.size, SQLITE_STATIC);
        }
    }
}

static void digest_row(sqlite3_stmt *row, const char *columns, checksum *digest)
{
    for (int i = 0; columns[i] != 0; i++) {
        if (columns[i] == 'a' || columns[i] == 'c') {
            digest_integer(digest, columns[i], sqlite3_column_int64(row, i));
        } else if (columns[i] == 's') {
            digest_real(digest, columns[i], sqlite3_column_double(row, i));
        } else {
            const unsigned char *text = sqlite3_column_text(row, i);
            digest_text(digest, columns[i], (const char *)text,
                        (uint32_t)sqlite3_column_bytes(row, i));
        }
    }
    digest->rows++;
}

static void run_reading(sql_session *session, const workload *work, checksum *digest)
{
    int rc;
    while ((rc = sqlite3_step(session->statement)) == SQLITE_ROW) {
        digest_row(session->statement, work->columns, digest);
    }
    if (rc != SQLITE_DONE) {
        fail_with(session, work->name);
    }
    sqlite3_reset(session->statement);
}

/* A partition is one row of pt_partitions. */
static void run_writing(sql_session *session, const job *task, checksum *digest)
{
    const workload *work = task->work;
    if (sqlite3_step(session->statement) != SQLITE_DONE) {
        fail_with(session, work->name);
    }
    sqlite3_reset(session->statement);
    uint64_t changes = (uint64_t)sqlite3_changes64(session->db);
    bool partitions = session->ptable && work->ptable_sql != NULL;
    digest->rows += partitions ? changes * task->extent.rows : changes;
}

static void run_one(sql_session *session, const job *task, uint64_t index, checksum *digest)
{
    sample entity;
    task_entity(task, index, &entity);
    bind(session->statement, task->work->parameters, &entity);
    if (task->work->writes) {
        run_writing(session, task, digest);
    } else {
        run_reading(session, task->work, digest);
    }
}

static void run_preparing(sql_session *session, const job *task, uint64_t index, checksum *digest)
{
    session->work = NULL;
    use_workload(session, task->work);
    run_one(session, task, index, digest);
}

void sql_run(void *session, const job *task, checksum *digest)
{
    sql_session *self = session;
    use_workload(self, task->work);
    if (task->work->together) {
        sql_execute(self, "BEGIN");
    }
    for (uint64_t i = 0; i < task->operations; i++) {
        double start = task->singles != NULL ? now() : 0;
        if (task->work->preparing) {
            run_preparing(self, task, i, digest);
        } else {
            run_one(self, task, i, digest);
        }
        task_note_single(task, i, start);
    }
    if (task->work->together) {
        sql_execute(self, "COMMIT");
    }
}
