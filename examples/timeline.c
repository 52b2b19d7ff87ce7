/*
 * A timeline in C: writes posts, and shows the posts of a user in pages, the newest first.
 *
 *     timeline STORE post USER TEXT ...      one post for each text
 *     timeline STORE page USER [TOKEN]       ten posts, and the token of the next page
 *
 * Posts are numbered without gaps: the user's profile has their number, and a post and the new
 * number are written in one transaction, on condition that the profile is still as it was read. If
 * another process was faster, start again. timeline.py and timeline.pl are the same program in
 * other languages; all three can use one store at the same time.
 *
 * ptable is linked in; build with
 *
 *     cc timeline.c -o timeline $(pkg-config --cflags --libs ptable)
 */
#include <ptable.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 10, PATIENCE_MS = 60000 };

/* A profile as it was read; a user without posts has none. */
typedef struct profile {
    int posts;
    char etag[64]; /* empty: there is no profile */
} profile;

static void fail(sqlite3 *db)
{
    fprintf(stderr, "timeline: %s\n", sqlite3_errmsg(db));
    exit(1);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) {
        fail(db);
    }
    return statement;
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

/* Each process has its own main database, in memory; they share only the store. */
static sqlite3 *open_store(const char *store)
{
    sqlite3 *db = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    if (sqlite3_open(":memory:", &db) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_busy_timeout(db, PATIENCE_MS);
    char *sql = sqlite3_mprintf(
        "CREATE VIRTUAL TABLE Post USING ptable(Number Int32, Text String, store=%Q);"
        "CREATE VIRTUAL TABLE Profile USING ptable(Posts Int32, store=%Q)",
        store, store);
    if (sql == NULL || sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) {
        fail(db);
    }
    sqlite3_free(sql);
    return db;
}

static void read_profile(sqlite3 *db, const char *user, profile *result)
{
    sqlite3_stmt *read = prepare(
        db, "SELECT Posts, ETag FROM Profile WHERE PartitionKey = ?1 AND RowKey = 'profile'");
    sqlite3_bind_text(read, 1, user, -1, SQLITE_STATIC);
    *result = (profile){0};
    if (sqlite3_step(read) == SQLITE_ROW) {
        result->posts = sqlite3_column_int(read, 0);
        snprintf(result->etag, sizeof result->etag, "%s", text_of(read, 1));
    }
    if (sqlite3_finalize(read) != SQLITE_OK) {
        fail(db);
    }
}

static int write_post(sqlite3 *db, const char *user, const char *text, const profile *seen)
{
    sqlite3_stmt *post =
        prepare(db, "INSERT OR ROLLBACK INTO Post(PartitionKey, RowKey, Number, Text)"
                    " VALUES(?1, pt_inverted_ticks() || '_' || pt_pad(?2, 6), ?2, ?3)");
    sqlite3_bind_text(post, 1, user, -1, SQLITE_STATIC);
    sqlite3_bind_int(post, 2, seen->posts + 1);
    sqlite3_bind_text(post, 3, text, -1, SQLITE_STATIC);
    sqlite3_step(post);
    return sqlite3_finalize(post);
}

/* With IfMatch it fails if the profile has changed; without, if there is a profile by now. */
static int write_profile(sqlite3 *db, const char *user, const profile *seen)
{
    sqlite3_stmt *count = prepare(
        db, "INSERT OR ROLLBACK INTO Profile(PartitionKey, RowKey, Posts, WriteMode, IfMatch)"
            " VALUES(?1, 'profile', ?2, iif(?3 IS NULL, 'insert', 'merge'), ?3)");
    sqlite3_bind_text(count, 1, user, -1, SQLITE_STATIC);
    sqlite3_bind_int(count, 2, seen->posts + 1);
    if (seen->etag[0] != 0) {
        sqlite3_bind_text(count, 3, seen->etag, -1, SQLITE_STATIC);
    }
    sqlite3_step(count);
    return sqlite3_finalize(count);
}

/* On failure returns false, with the transaction rolled back; db has the message. */
static bool try_to_post(sqlite3 *db, const char *user, const char *text, const profile *seen)
{
    return sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK &&
           write_post(db, user, text, seen) == SQLITE_OK &&
           write_profile(db, user, seen) == SQLITE_OK &&
           sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
}

/* True if someone else has posted since the profile was read. The message ends with the Table
 * service's code. */
static bool came_too_late(sqlite3 *db)
{
    const char *text = sqlite3_errmsg(db);
    return strstr(text, "(UpdateConditionNotSatisfied)") != NULL ||
           strstr(text, "(EntityAlreadyExists)") != NULL;
}

static void post(sqlite3 *db, const char *user, const char *text)
{
    profile seen;
    do {
        read_profile(db, user, &seen);
        if (try_to_post(db, user, text, &seen)) {
            printf("%d\n", seen.posts + 1);
            return;
        }
    } while (came_too_late(db));
    fail(db);
}

/* Prints the posts after the token, the RowKey of the last post; "" begins with the newest. */
static void print_page(sqlite3 *db, const char *user, const char *token)
{
    int rows = 0;
    sqlite3_stmt *page = prepare(db, "SELECT Number, Text, RowKey FROM Post WHERE PartitionKey = ?1"
                                     " AND RowKey > ?2 ORDER BY RowKey LIMIT ?3");
    sqlite3_bind_text(page, 1, user, -1, SQLITE_STATIC);
    sqlite3_bind_text(page, 2, token, -1, SQLITE_STATIC);
    sqlite3_bind_int(page, 3, PAGE);
    while (sqlite3_step(page) == SQLITE_ROW) {
        printf("%d %s\n", sqlite3_column_int(page, 0), text_of(page, 1));
        if (++rows == PAGE) {
            printf("next: %s\n", text_of(page, 2));
        }
    }
    if (sqlite3_finalize(page) != SQLITE_OK) {
        fail(db);
    }
}

int main(int argc, char **argv)
{
    const char *command = argc > 3 ? argv[2] : "";
    if (strcmp(command, "post") == 0 && argc > 4) {
        sqlite3 *db = open_store(argv[1]);
        for (int i = 4; i < argc; i++) {
            post(db, argv[3], argv[i]);
        }
        sqlite3_close(db);
    } else if (strcmp(command, "page") == 0 && argc <= 5) {
        sqlite3 *db = open_store(argv[1]);
        print_page(db, argv[3], argc == 5 ? argv[4] : "");
        sqlite3_close(db);
    } else {
        fprintf(stderr, "usage: timeline STORE post USER TEXT ... | page USER [TOKEN]\n");
        return 2;
    }
    return 0;
}
