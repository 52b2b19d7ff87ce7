/*
 * Moves entities from the table Current to the table Archive, as messages in a queue tell it: an
 * eventually consistent transaction, in steps, which can be interrupted anywhere and resumed.
 *
 *     archive_worker STORE enqueue PARTITIONKEY ROWKEY     asks for an entity to be moved
 *     archive_worker STORE work [SECONDS]                  works until the queue is empty
 *     archive_worker STORE step [SECONDS]                  the same, waiting for Enter at each step
 *
 * The steps, each committed separately, as if tables and queue were in different places:
 *
 *     1 enqueue    the message is in the queue
 *     2 get        the message is hidden for SECONDS (30)
 *     3 read       the entity is read from Current
 *     4 archive    it is in Archive: inserted, or in place of the copy that an earlier try made
 *     5 delete     it is gone from Current, unless someone has changed it since: then start again
 *     6 done       the message is gone
 *
 * A worker that dies leaves its message hidden; after SECONDS another one gets it. It may find the
 * entity in both tables, or only in Archive, and repeats steps that may have been done already: the
 * result is always the same. If tables and queue are in one store, all steps could be one
 * transaction instead: BEGIN before step 2 and COMMIT after step 6.
 */
#include <ptable.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATIENCE_MS = 60000, PAUSE_MS = 20 };

typedef struct worker {
    sqlite3 *db;
    const char *seconds;
    bool stepwise;
} worker;

/* A message of the queue, and the keys of the entity to move. */
typedef struct archive_task {
    char *message_id;
    char *receipt;
    char *partition_key;
    char *row_key;
} archive_task;

typedef struct entity {
    char *properties; /* as JSON, with their types */
    char *etag;
} entity;

static void fail(sqlite3 *db)
{
    fprintf(stderr, "archive_worker: %s\n", sqlite3_errmsg(db));
    exit(1);
}

/* A statement with texts bound to its parameters. */
static sqlite3_stmt *prepare(sqlite3 *db, const char *sql, const char *const *texts, int count)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(db);
    }
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC);
    }
    return statement;
}

static void finalize(sqlite3 *db, sqlite3_stmt *statement)
{
    if (sqlite3_finalize(statement) != SQLITE_OK) {
        fail(db);
    }
}

static void run(sqlite3 *db, const char *sql, const char *const *texts, int count)
{
    sqlite3_stmt *statement = prepare(db, sql, texts, count);
    sqlite3_step(statement);
    finalize(db, statement);
}

/* True if the query has a row. */
static bool is_there(sqlite3 *db, const char *sql, const char *const *texts, int count)
{
    sqlite3_stmt *statement = prepare(db, sql, texts, count);
    bool found = sqlite3_step(statement) == SQLITE_ROW;
    finalize(db, statement);
    return found;
}

static sqlite3 *open_store(const char *store)
{
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_busy_timeout(db, PATIENCE_MS);
    char *sql = sqlite3_mprintf("CREATE VIRTUAL TABLE Current USING ptable(store=%Q);"
                                "CREATE VIRTUAL TABLE Archive USING ptable(store=%Q);"
                                "CREATE VIRTUAL TABLE Job USING pt_queue(store=%Q)",
                                store, store, store);
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_free(sql);
    return db;
}

/* Prints the step that was done. With `step` it then waits, so that you can look at the tables. */
static void report(const worker *self, int step, const char *name, const archive_task *task)
{
    printf("%d %s %s %s\n", step, name, task->partition_key, task->row_key);
    fflush(stdout);
    if (self->stepwise && getchar() == EOF) {
        exit(0);
    }
}

static char *copy_of(sqlite3_stmt *row, int column)
{
    char *copy = sqlite3_mprintf("%s", sqlite3_column_text(row, column));
    if (copy == NULL) {
        fail(sqlite3_db_handle(row));
    }
    return copy;
}

static void forget(archive_task *task)
{
    sqlite3_free(task->message_id);
    sqlite3_free(task->receipt);
    sqlite3_free(task->partition_key);
    sqlite3_free(task->row_key);
    *task = (archive_task){0};
}

/* False if no message is visible. */
static bool get(const worker *self, archive_task *task)
{
    sqlite3_stmt *message =
        prepare(self->db,
                "SELECT MessageId, PopReceipt, Body ->> 'PartitionKey', Body ->> 'RowKey'"
                " FROM pt_queue_get('Job', 1, CAST(?1 AS REAL))",
                &self->seconds, 1);
    bool found = sqlite3_step(message) == SQLITE_ROW;
    if (found) {
        task->message_id = copy_of(message, 0);
        task->receipt = copy_of(message, 1);
        task->partition_key = copy_of(message, 2);
        task->row_key = copy_of(message, 3);
    }
    finalize(self->db, message);
    return found;
}

/* False if the entity is no longer in Current. */
static bool read_current(const worker *self, const archive_task *task, entity *found)
{
    sqlite3_stmt *row = prepare(self->db,
                                "SELECT Properties, ETag FROM Current"
                                " WHERE PartitionKey = ?1 AND RowKey = ?2",
                                (const char *[]){task->partition_key, task->row_key}, 2);
    bool is_found = sqlite3_step(row) == SQLITE_ROW;
    if (is_found) {
        found->properties = copy_of(row, 0);
        found->etag = copy_of(row, 1);
    }
    finalize(self->db, row);
    return is_found;
}

static void put_into_archive(const worker *self, const archive_task *task, const entity *found)
{
    run(self->db,
        "INSERT OR REPLACE INTO Archive(PartitionKey, RowKey, Properties) VALUES(?1, ?2, ?3)",
        (const char *[]){task->partition_key, task->row_key, found->properties}, 3);
}

/* False if someone has changed it since it was read: the copy in Archive is out of date. */
static bool delete_from_current(const worker *self, const archive_task *task, const entity *found)
{
    const char *texts[] = {task->partition_key, task->row_key, found->etag};
    run(self->db, "DELETE FROM Current WHERE PartitionKey = ?1 AND RowKey = ?2 AND ETag = ?3",
        texts, 3);
    return !is_there(self->db, "SELECT 1 FROM Current WHERE PartitionKey = ?1 AND RowKey = ?2",
                     texts, 2);
}

/* A worker that took too long has lost the message, and leaves it to its new holder. */
static void finish(const worker *self, const archive_task *task)
{
    sqlite3_stmt *done =
        prepare(self->db, "DELETE FROM Job WHERE MessageId = ?1 AND PopReceipt = ?2",
                (const char *[]){task->message_id, task->receipt}, 2);
    sqlite3_step(done);
    if (sqlite3_finalize(done) != SQLITE_OK &&
        strstr(sqlite3_errmsg(self->db), "(PopReceiptMismatch)") == NULL) {
        fail(self->db);
    }
}

/* If false, the message stays and will be handed out again. */
static bool move(const worker *self, const archive_task *task, const entity *found)
{
    put_into_archive(self, task, found);
    report(self, 4, "archive", task);
    bool deleted = delete_from_current(self, task, found);
    report(self, 5, deleted ? "delete" : "again", task);
    return deleted;
}

static void perform(const worker *self, const archive_task *task)
{
    entity found = {0};
    bool is_found = read_current(self, task, &found);
    report(self, 3, is_found ? "read" : "gone", task);
    if (!is_found || move(self, task, &found)) {
        finish(self, task);
        report(self, 6, "done", task);
    }
    sqlite3_free(found.properties);
    sqlite3_free(found.etag);
}

/* Hidden messages belong to other workers, or to workers that have died. */
static bool is_empty(const worker *self)
{
    return !is_there(self->db, "SELECT 1 FROM Job LIMIT 1", NULL, 0);
}

static void work(const worker *self)
{
    archive_task task = {0};
    while (!is_empty(self)) {
        if (get(self, &task)) {
            report(self, 2, "get", &task);
            perform(self, &task);
            forget(&task);
        } else {
            sqlite3_sleep(PAUSE_MS);
        }
    }
}

static void enqueue(const worker *self, char *partition_key, char *row_key)
{
    run(self->db, "INSERT INTO Job(Body) VALUES(json_object('PartitionKey', ?1, 'RowKey', ?2))",
        (const char *[]){partition_key, row_key}, 2);
    report(self, 1, "enqueue", &(archive_task){.partition_key = partition_key, .row_key = row_key});
}

int main(int argc, char **argv)
{
    const char *command = argc > 2 ? argv[2] : "";
    bool stepwise = strcmp(command, "step") == 0;
    if (strcmp(command, "enqueue") == 0 && argc == 5) {
        worker self = {.db = open_store(argv[1])};
        enqueue(&self, argv[3], argv[4]);
        sqlite3_close(self.db);
    } else if ((stepwise || strcmp(command, "work") == 0) && argc <= 4) {
        worker self = {open_store(argv[1]), argc == 4 ? argv[3] : "30", stepwise};
        work(&self);
        sqlite3_close(self.db);
    } else {
        fprintf(stderr, "usage: archive_worker STORE enqueue PARTITIONKEY ROWKEY |"
                        " work [SECONDS] | step [SECONDS]\n");
        return 2;
    }
    return 0;
}
