/*
 * Reads a table with two threads: each has its own connection and reads half of the partitions.
 *
 *     parallel_scan STORE fill COUNT     writes COUNT readings of 1,000 sensors
 *     parallel_scan STORE sum            their sum, and the time with one thread and with two
 *
 * PartitionKeys are two digits made from the sensor's name by pt_hash_bucket: '00' to '15'. So the
 * halves are known in advance, and are as even as the hash: one thread reads the keys below '08',
 * the other the rest. Both are key ranges, and readers of a store do not wait for each other. Each
 * thread reads its own snapshot: a write between the two is seen by one and not by the other.
 *
 * ptable is linked in; build with
 *
 *     cc parallel_scan.c -o parallel_scan $(pkg-config --cflags --libs ptable) -lpthread
 */
#include <ptable.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 2 };

/* The partitions from `first` up to, not including, `end`, and the results of reading them. */
typedef struct part {
    const char *store;
    const char *first;
    const char *end;
    sqlite3_int64 count;
    sqlite3_int64 sum;
} part;

static void fail(sqlite3 *db)
{
    fprintf(stderr, "parallel_scan: %s\n", sqlite3_errmsg(db));
    exit(1);
}

/* Each connection has its own main database, in memory; they share only the store. */
static sqlite3 *open_store(const char *store)
{
    sqlite3 *db = NULL;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        fail(db);
    }
    char *sql =
        sqlite3_mprintf("CREATE VIRTUAL TABLE Reading USING ptable(Value Int32, store=%Q)", store);
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_free(sql);
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(db);
    }
    return statement;
}

/* One transaction; a reading's RowKey is the sensor and a number. */
static void fill(const char *store, const char *count)
{
    sqlite3 *db = open_store(store);
    sqlite3_stmt *insert =
        prepare(db, "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL"
                    "   SELECT n + 1 FROM numbers WHERE n < CAST(?1 AS INTEGER)),"
                    " readings(n, sensor) AS (SELECT n, 'sensor' || (n % 1000) FROM numbers)"
                    " INSERT INTO Reading SELECT pt_pad(pt_hash_bucket(sensor, 16), 2),"
                    "   sensor || '_' || pt_pad(n, 9), n % 100 FROM readings");
    sqlite3_bind_text(insert, 1, count, -1, SQLITE_STATIC);
    sqlite3_step(insert);
    if (sqlite3_finalize(insert) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_close(db);
}

/* --- Reading --- */

static void *read_part(void *argument)
{
    part *self = argument;
    sqlite3 *db = open_store(self->store);
    sqlite3_stmt *read = prepare(db, "SELECT count(*), coalesce(sum(Value), 0) FROM Reading"
                                     " WHERE PartitionKey >= ?1 AND PartitionKey < ?2");
    sqlite3_bind_text(read, 1, self->first, -1, SQLITE_STATIC);
    sqlite3_bind_text(read, 2, self->end, -1, SQLITE_STATIC);
    if (sqlite3_step(read) == SQLITE_ROW) {
        self->count = sqlite3_column_int64(read, 0);
        self->sum = sqlite3_column_int64(read, 1);
    }
    if (sqlite3_finalize(read) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_close(db);
    return NULL;
}

/* Reads the parts, each in its own thread. */
static void read_parts(part *parts, int count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++) {
        if (pthread_create(&threads[i], NULL, read_part, &parts[i]) != 0) {
            fprintf(stderr, "parallel_scan: a thread cannot be started\n");
            exit(1);
        }
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report(part *parts, int count)
{
    double start = seconds();
    read_parts(parts, count);
    double taken = seconds() - start;
    sqlite3_int64 sum = 0;
    printf("%d thread%s:", count, count == 1 ? "" : "s");
    for (int i = 0; i < count; i++) {
        printf("%s %lld", i == 0 ? "" : " +", (long long)parts[i].count);
        sum += parts[i].sum;
    }
    printf(" readings, sum %lld, %.1f ms\n", (long long)sum, 1000 * taken);
}

static void sum(const char *store)
{
    part whole[] = {{.store = store, .first = "00", .end = "16"}};
    part halves[THREADS] = {{.store = store, .first = "00", .end = "08"},
                            {.store = store, .first = "08", .end = "16"}};
    part warming[] = {whole[0]};
    read_parts(warming, 1);
    report(whole, 1);
    report(halves, THREADS);
}

int main(int argc, char **argv)
{
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    if (argc == 4 && strcmp(argv[2], "fill") == 0) {
        fill(argv[1], argv[3]);
    } else if (argc == 3 && strcmp(argv[2], "sum") == 0) {
        sum(argv[1]);
    } else {
        fprintf(stderr, "usage: parallel_scan STORE fill COUNT | sum\n");
        return 2;
    }
    return 0;
}
