/*
 * Keeps a table of Azure's Table service in step with a local one.
 *
 *     follow_to_service SOURCE TABLE            once: whatever has changed
 *     follow_to_service SOURCE TABLE SECONDS    again and again, with a pause between,
 *                                               until SIGINT or SIGTERM
 *
 * SOURCE is the file of a store. The table at the service has the same name; the environment
 * variable PTABLE_ACCOUNT_CLOUD is the connection string of its account. Both tables of the
 * service, this one and Followed, are made if they are missing. The program switches on that the
 * local table keeps its changes.
 *
 * The last Timestamp that was seen is an entity of Followed. The service has no transaction over
 * several partitions, so that entity is written last: when the program was killed, or has failed,
 * the next one writes what had changed once more. That is harmless, as entities are replaced, and
 * deleting one that is not there is no error. Only let a request that is still on its way arrive
 * before you start it again: the service ends each after 30 seconds.
 *
 * If the changes since then are not all known, because deletions were forgotten or the local table
 * is another one, Followed loses its entity first. Then the table at the service is emptied and
 * copied anew.
 */
#include <limits.h>
#include <ptable.h>
#include <ptable_service.h>
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
    fprintf(stderr, "follow_to_service: %s\n", sqlite3_errmsg(db));
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

/* Seen has one row: the Timestamp that Followed has, so that the service is asked for it once only.
 */
static sqlite3 *open_tables(const char *source, const char *table)
{
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    sqlite3_auto_extension((void (*)(void))sqlite3_ptableservice_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_busy_timeout(db, PATIENCE_MS);
    run(db,
        sqlite3_mprintf(
            "SELECT pt_service_account('cloud');"
            "CREATE VIRTUAL TABLE Source USING ptable(store=%Q, table=%Q);"
            "CREATE VIRTUAL TABLE Copy USING pt_service(account=cloud, table=%Q, batch=split, "
            "max_requests=1000000);"
            "CREATE VIRTUAL TABLE Followed USING pt_service(Since String, account=cloud);"
            "INSERT INTO pt_service_tables(Account, TableName) SELECT 'cloud', column1 FROM "
            "(VALUES (%Q), ('Followed')) WHERE lower(column1) NOT IN (SELECT lower(TableName) FROM "
            "pt_service_tables WHERE Account = 'cloud');"
            "UPDATE pt_tables SET Changes = 'on' WHERE Store = %Q AND TableName = %Q AND "
            "Changes = 'off';"
            "CREATE TEMP TABLE Seen AS SELECT max(Since) AS since, NULL AS latest FROM Followed "
            "WHERE PartitionKey = %Q AND RowKey = ''",
            source, table, table, table, source, table, table));
    return db;
}

/* In the order of keys, so that up to 100 changes of a partition go in one request. What is written
 * between the first statement and the second one is copied now, and again the next time. */
static void follow(sqlite3 *db, const char *source, const char *table)
{
    if (!is_true(db, sqlite3_mprintf("SELECT count(*) FROM Seen, pt_tables WHERE Store = %Q AND "
                                     "TableName = %Q AND since >= Horizon",
                                     source, table))) {
        run(db, sqlite3_mprintf("DELETE FROM Followed WHERE PartitionKey = %Q AND RowKey = '';"
                                "DELETE FROM Copy;"
                                "UPDATE Seen SET since = NULL",
                                table));
    }
    run(db,
        sqlite3_mprintf("UPDATE Seen SET latest = (SELECT max(Timestamp) FROM "
                        "pt_changes('Source', since));"
                        "UPDATE Seen SET latest = (SELECT Horizon FROM pt_tables WHERE Store = %Q "
                        "AND TableName = %Q) WHERE since IS NULL AND latest IS NULL",
                        source, table));
    if (is_true(db, sqlite3_mprintf("SELECT latest IS NOT NULL FROM Seen"))) {
        run(db,
            sqlite3_mprintf("INSERT INTO Copy(PartitionKey, RowKey, Properties, WriteMode) SELECT "
                            "PartitionKey, RowKey, Properties, WriteMode FROM Seen, "
                            "pt_changes('Source', since) ORDER BY PartitionKey, RowKey;"
                            "INSERT OR REPLACE INTO Followed(PartitionKey, RowKey, Since) SELECT "
                            "%Q, '', latest FROM Seen;"
                            "UPDATE Seen SET since = latest",
                            table));
    }
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
    if ((argc != 3 && argc != 4) || (argc == 4 && !read_pause(argv[3], &pause))) {
        fprintf(stderr, "usage: follow_to_service SOURCE TABLE [SECONDS]\n");
        return 2;
    }
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    sqlite3 *db = open_tables(argv[1], argv[2]);
    follow(db, argv[1], argv[2]);
    while (argc == 4 && !stopped) {
        nanosleep(&pause, NULL); /* a signal ends it */
        follow(db, argv[1], argv[2]);
    }
    sqlite3_close(db);
    return 0;
}
