/*
 * Keeps a copy of a table in step with it: in another store, from another process.
 *
 *     follow_table SOURCE TABLE COPY            once: whatever has changed
 *     follow_table SOURCE TABLE COPY SECONDS    again and again, with a pause between,
 *                                               until SIGINT or SIGTERM
 *
 * SOURCE and COPY are files of stores; the copy has the same name. The table must keep its changes
 * (UPDATE pt_tables SET Changes = 'on'); the program switches that on if it may.
 *
 * The last Timestamp that was seen is an entity of the copy's store, and is written in the same
 * transaction as what has changed. So the program can be killed at any time, and the next one goes
 * on from there. If the changes since then are not all known, because deletions were forgotten or
 * the table is another one, it copies the table anew, in one transaction, too.
 * follow_to_service.c follows into the Table service.
 */
#include <limits.h>
#include <ptable.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PATIENCE_MS = 60000, NANOSECONDS = 1000000000 };

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static void fail(sqlite3 *db)
{
    fprintf(stderr, "follow_table: %s\n", sqlite3_errmsg(db));
    exit(1);
}

/* Runs a text that sqlite3_mprintf has made. */
static void run(sqlite3 *db, char *sql)
{
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_free(sql);
}

/* Answers a question that sqlite3_mprintf has made. */
static bool is_true(sqlite3 *db, char *question)
{
    sqlite3_stmt *row = NULL;
    if (question == NULL || sqlite3_prepare_v2(db, question, -1, &row, NULL) != SQLITE_OK) {
        fail(db);
    }
    bool answer = sqlite3_step(row) == SQLITE_ROW && sqlite3_column_int(row, 0) != 0;
    if (sqlite3_finalize(row) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_free(question);
    return answer;
}

static sqlite3 *open_tables(const char *source, const char *table, const char *copy)
{
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_busy_timeout(db, PATIENCE_MS);
    run(db, sqlite3_mprintf("CREATE VIRTUAL TABLE Source USING ptable(store=%Q, table=%Q);"
                            "CREATE VIRTUAL TABLE Copy USING ptable(store=%Q, table=%Q);"
                            "CREATE VIRTUAL TABLE Followed USING ptable(Since String, store=%Q);"
                            "UPDATE pt_tables SET Changes = 'on' WHERE Store = %Q AND TableName = "
                            "%Q AND Changes = 'off'",
                            source, table, copy, table, copy, source, table));
    return db;
}

/*
 * One transaction. The source is only read: its snapshot lasts until COMMIT, so that the two
 * questions about changes have the same answer.
 */
static void follow(sqlite3 *db, const char *source, const char *table)
{
    run(db, sqlite3_mprintf("BEGIN"));
    if (!is_true(db, sqlite3_mprintf("SELECT count(*) FROM Followed f, pt_tables t WHERE "
                                     "f.PartitionKey = %Q AND f.RowKey = '' AND t.Store = %Q AND "
                                     "t.TableName = %Q AND f.Since >= t.Horizon",
                                     table, source, table))) {
        run(db, sqlite3_mprintf("DELETE FROM Copy; DELETE FROM Followed WHERE PartitionKey = %Q",
                                table));
    }
    run(db,
        sqlite3_mprintf(
            "CREATE TEMP TABLE since AS SELECT (SELECT Since FROM Followed WHERE PartitionKey "
            "= %Q AND RowKey = '') AS since;"
            "INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT "
            "PartitionKey, RowKey, Properties, WriteMode FROM since, pt_changes('Source', since);"
            "INSERT OR REPLACE INTO Followed(PartitionKey, RowKey, Since) SELECT %Q, '', "
            "max(Timestamp) FROM since, pt_changes('Source', since) HAVING count(*) > 0;"
            "DROP TABLE since; COMMIT",
            table, table));
}

/* False if the text is no number of seconds. */
static bool read_pause(const char *text, struct timespec *pause)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end != 0 || !(seconds >= 0 && seconds <= INT_MAX)) {
        return false;
    }
    pause->tv_sec = (time_t)seconds;
    pause->tv_nsec = (long)((seconds - (double)pause->tv_sec) * NANOSECONDS);
    return true;
}

int main(int argc, char **argv)
{
    struct timespec pause = {0};
    if ((argc != 4 && argc != 5) || (argc == 5 && !read_pause(argv[4], &pause))) {
        fprintf(stderr, "usage: follow_table SOURCE TABLE COPY [SECONDS]\n");
        return 2;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    sqlite3 *db = open_tables(argv[1], argv[2], argv[3]);
    follow(db, argv[1], argv[2]);
    while (argc == 5 && !stopped) {
        nanosleep(&pause, NULL); /* a signal ends it */
        follow(db, argv[1], argv[2]);
    }
    sqlite3_close(db);
    return 0;
}
