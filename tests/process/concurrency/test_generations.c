/*
 * One table is dropped and made again all the time while threads of two processes write, read and
 * page through it and ask the catalogue. Each row carries the table's generation: whoever looks
 * sees one generation, wholly, or an error that says what happened.
 *
 * MS: how long it goes on, in milliseconds.
 */
#include <pthread.h>
#include <time.h>

#include "fixtures/anatomy.h"
#include "fixtures/child.h"
#include "transaction/large_value.h"

enum {
    DEFAULT_MS = 600,
    PATIENCE_MS = 60000,
    ROWS = 12,
    MS_PER_SECOND = 1000,
    NS_PER_MS = 1000000
};

#define STORE "shared.ptable"

typedef struct actor {
    pthread_t thread;
    const char *folder;
    int (*act)(sqlite3 *db, int turn);
    int64_t until_ms;
    int done;
    int refused; /* by an error that is to be expected */
    int code;    /* of the first unexpected error; SQLITE_MISMATCH for a wrong result */
    char message[300];
} actor;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NS_PER_MS;
}

/* --- What is done to the table --- */

/* Large, and known from the generation and a number. */
#define TEXT(g, n) "replace(hex(zeroblob(2000)), '00', printf('%%05d-%%05d', " g ", " n "))"

#define DROP "DELETE FROM pt_tables WHERE Store = (SELECT path FROM store) AND TableName = 'g';"
/* An actor that begins late declares the table, and so makes it when it is missing. */
#define MAKE "INSERT OR IGNORE INTO pt_tables(Store, TableName) SELECT path, 'g' FROM store;"
#define FILL                                                                                       \
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < %d)"                 \
    "INSERT INTO g SELECT 'p' || (k %% 3), iif(k %% 2, k, hex(zeroblob(300)) || k), %d, k," TEXT(  \
        "%d", "k") " FROM n;"

/* In one transaction, or so that everybody sees it missing and empty. */
static int renew(sqlite3 *db, int turn)
{
    return turn % 2 == 0
               ? code_of(db, "BEGIN; " DROP MAKE FILL "COMMIT", ROWS, turn, turn)
               : code_of(db, DROP "SELECT count(*) FROM pt_stores;" MAKE FILL, ROWS, turn, turn);
}

static int add(sqlite3 *db, int turn)
{
    return code_of(db,
                   "INSERT OR REPLACE INTO g SELECT 'p' || %d, 'added', G, %d, " TEXT(
                       "G", "%d") " FROM g LIMIT 1",
                   turn % 3, turn, turn);
}

static int change(sqlite3 *db, int turn)
{
    return code_of(db, "UPDATE g SET N = N + 1, S = " TEXT("G", "N + 1") " WHERE RowKey = %d",
                   turn % ROWS);
}

static int change_in_transaction(sqlite3 *db, int turn)
{
    return code_of(db,
                   "BEGIN; SELECT sum(N) FROM g;"
                   "UPDATE g SET N = %d, S = " TEXT(
                       "G", "%d") "; SAVEPOINT s;"
                                  "DELETE FROM g WHERE RowKey LIKE '0%%'; ROLLBACK TO s; COMMIT",
                   turn, turn);
}

/* SQLITE_MISMATCH: the query, which counts what is wrong, finds something. */
static int finds_nothing(sqlite3 *db, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_stmt *statement = NULL;
    int64_t wrong = 0;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        wrong += sqlite3_column_int64(statement, 0);
    }
    int end = sqlite3_finalize(statement);
    sqlite3_free(sql);
    code = code == SQLITE_OK ? end : code;
    return code == SQLITE_OK && wrong != 0 ? SQLITE_MISMATCH : code;
}

#define WRONG_IN "SELECT count(DISTINCT G) > 1 OR sum(S <> " TEXT("G", "N") ") FROM "

static int read_all_rows(sqlite3 *db, int turn)
{
    (void)turn;
    return finds_nothing(db, WRONG_IN "g");
}

static int filter(sqlite3 *db, int turn)
{
    return finds_nothing(db, WRONG_IN "g('PartitionKey eq ''p%d'' or N gt 3')", turn % 3);
}

static int page(sqlite3 *db, int turn)
{
    return finds_nothing(db,
                         WRONG_IN "(SELECT * FROM g WHERE EntityKey > pt_entity_key('p%d', '')"
                                  " ORDER BY EntityKey LIMIT 5)",
                         turn % 3);
}

/* Within a transaction all who count agree. */
static int ask(sqlite3 *db, int turn)
{
    static const char *const others[] = {
        "(SELECT sum(Entities) FROM pt_partitions('g'))",
        "(SELECT Entities FROM pt_tables WHERE Store = (SELECT path FROM store)"
        " AND TableName = 'G')",
        "(SELECT sum(Entities) FROM pt_properties('g') WHERE Name = 'G')",
        "(SELECT count(*) FROM g WHERE PartitionKey IN (SELECT PartitionKey FROM"
        " pt_partitions('g')))",
    };
    int code = code_of(db, "BEGIN");
    if (code == SQLITE_OK) {
        code = finds_nothing(db, "SELECT (SELECT count(*) FROM g) <> coalesce(%s, 0)",
                             others[turn % 4]);
    }
    return code == SQLITE_OK ? code_of(db, "COMMIT") : code;
}

/* --- Who does it --- */

static bool is_expected(sqlite3 *db, int code)
{
    return (code & 0xff) == SQLITE_BUSY ||
           (code == SQLITE_ERROR && strstr(sqlite3_errmsg(db), "(TableNotFound)") != NULL);
}

static void act_once(actor *self, sqlite3 *db, int turn)
{
    int code = self->act(db, turn);
    bool expected = is_expected(db, code);
    self->done += code == SQLITE_OK;
    self->refused += expected;
    if (code != SQLITE_OK && !expected) {
        self->code = code;
        snprintf(self->message, sizeof self->message, "%s", sqlite3_errmsg(db));
    }
    if (sqlite3_get_autocommit(db) == 0) {
        code_of(db, "ROLLBACK");
    }
    if (expected) {
        nanosleep(&(struct timespec){.tv_nsec = NS_PER_MS}, NULL);
    }
}

static sqlite3 *open_actor(const char *folder)
{
    sqlite3 *db = try_open(":memory:");
    if (db != NULL) {
        code_of(db,
                "PRAGMA busy_timeout = %d; CREATE TABLE store AS SELECT '%s/" STORE "' AS path;"
                "CREATE VIRTUAL TABLE g USING"
                " ptable(G Int32, N Int32, S String, store='%s/" STORE "', sync='off')",
                PATIENCE_MS, folder, folder);
    }
    return db;
}

static void *run_actor(void *argument)
{
    actor *self = argument;
    sqlite3 *db = open_actor(self->folder);
    for (int turn = 0; db != NULL && self->code == SQLITE_OK && now_ms() < self->until_ms; turn++) {
        act_once(self, db, turn);
    }
    self->code = sqlite3_close(db) == SQLITE_OK ? self->code : SQLITE_BUSY;
    return NULL;
}

typedef int (*deed)(sqlite3 *db, int turn);

static const deed all_deeds[] = {renew,         add,    change, change_in_transaction,
                                 read_all_rows, filter, page,   ask};

enum { DEEDS = sizeof all_deeds / sizeof all_deeds[0] };

/* Runs a thread for each deed from the first on. A failure is told on the standard error. */
static bool run_deeds(const char *folder, int first)
{
    actor actors[DEEDS];
    bool good = true;
    int done = 0;
    int refused = 0;
    int64_t until = now_ms() + setting("MS", DEFAULT_MS);
    for (int i = first; i < DEEDS; i++) {
        actors[i] = (actor){.folder = folder, .act = all_deeds[i], .until_ms = until};
        good = pthread_create(&actors[i].thread, NULL, run_actor, &actors[i]) == 0 && good;
    }
    for (int i = first; i < DEEDS; i++) {
        pthread_join(actors[i].thread, NULL);
        if (actors[i].code != SQLITE_OK) {
            fprintf(stderr, "deed %d, done %d times: %d %s\n", i, actors[i].done, actors[i].code,
                    actors[i].message);
            good = false;
        }
        done += actors[i].done;
        refused += actors[i].refused;
    }
    if (first == 0) {
        printf("# %d done, %d refused\n", done, refused);
    }
    return good;
}

static void generations_are_never_mixed(void **state)
{
    const char *folder = *state;
    const char *const arguments[] = {folder, NULL};
    sqlite3 *db = open_actor(folder);
    assert_non_null(db);
    child other = start_child("deeds", arguments);
    assert_true(run_deeds(folder, 0));
    stop_child(&other);
    assert_int_equal(read_all_rows(db, 0), SQLITE_OK);
    int64_t chunks = number(db, "SELECT coalesce(sum((length(S) + %d) / %d), 0) FROM g",
                            PT_CHUNK_SIZE - 1, PT_CHUNK_SIZE);
    close_database(db);
    assert_int_equal(anatomy_of(folder, STORE)->chunks, chunks);
}

int main(int argc, char **argv)
{
    if (argc > 2) {
        return run_deeds(argv[2], 1) ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        folder_test(generations_are_never_mixed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
