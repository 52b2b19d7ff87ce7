/*
 * SQL as it comes, on a connection with a ptable, a queue and an ordinary table: no error may speak
 * of damage, lost memory or misuse, and afterwards every ptable is in order, each entity is found
 * by its key as the scan shows it, backwards as forwards, and the catalogue has counted right. The
 * input is the text.
 *
 * What reaches files is refused, and what takes too long is interrupted. Making a store takes long,
 * so the connection is used again and only emptied.
 */
#include <sqlite3.h>
#include <time.h>

#include "fuzz/fuzz.h"
#include "ptable.h"

enum { USES = 500, PROGRESS_STEP = 1000, PROGRESS_MAX = 200, VALUE_MAX = 100000 };

static sqlite3 *db;
static int uses;
static int progress;

/* --- The connection --- */

/* What may not be done: files are not for the input, and settings last. */
static int authorize(void *context, int action, const char *first, const char *second,
                     const char *third, const char *fourth)
{
    (void)context;
    (void)first;
    (void)third;
    (void)fourth;
    bool refused = action == SQLITE_ATTACH || action == SQLITE_DETACH || action == SQLITE_PRAGMA ||
                   (action == SQLITE_FUNCTION && second != NULL &&
                    sqlite3_stricmp(second, "load_extension") == 0);
    return refused ? SQLITE_DENY : SQLITE_OK;
}

static int on_progress(void *context)
{
    (void)context;
    return ++progress > PROGRESS_MAX;
}

static void must_run(const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        printf("# %s: %s\n", sql, message);
        must_hold(false, "a statement works");
    }
}

static void set_limits(void)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_MAX);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 20);
    sqlite3_limit(db, SQLITE_LIMIT_VDBE_OP, 100000);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 10);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50);
    sqlite3_progress_handler(db, PROGRESS_STEP, on_progress, NULL);
}

static void close_connection(void)
{
    if (db != NULL) {
        must_hold(sqlite3_close(db) == SQLITE_OK, "nothing is left open");
        must_hold(sqlite3_memory_used() == 0, "no memory is left");
    }
    db = NULL;
}

static void open_connection(void)
{
    if (uses++ % USES == 0) {
        close_connection();
        must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
        must_hold(sqlite3_ptable_init(db, NULL, NULL) == SQLITE_OK, "the extension is there");
        set_limits();
    }
    must_run("CREATE VIRTUAL TABLE t USING ptable(S String, I Int32, D Double, B Boolean, "
             "X Binary, V);"
             "CREATE VIRTUAL TABLE u USING ptable(table=t);"
             "CREATE VIRTUAL TABLE q USING pt_queue;"
             "CREATE TABLE n(k TEXT PRIMARY KEY, i INTEGER);"
             "INSERT INTO n VALUES ('a', 1), ('b', 2), ('', 3);"
             "INSERT INTO t(PartitionKey, RowKey, S, I, D, B, X, V) VALUES"
             " ('a', 'a', 's', 1, 0.5, 1, x'61', 'v'), ('a', 'b', NULL, 2, NULL, 0, NULL, 2),"
             " ('b', '', '', -1, 1e300, NULL, x'', 2.5), ('', 'a', 'é', NULL, 0, 1, NULL, x'00');"
             "INSERT INTO q(Body) VALUES ('first'), (x'00ff');");
    sqlite3_set_authorizer(db, authorize, NULL);
    progress = 0;
}

/* --- What the input does --- */

static bool reaches_files(const char *sql)
{
    static const char *const words[] = {"store", "vacuum", "backup", "compact"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char pattern[16];
        sqlite3_snprintf(sizeof pattern, pattern, "%%%s%%", words[i]);
        if (sqlite3_strlike(pattern, sql, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* SQLite itself calls a foreign key to a virtual table a damage of the database. */
static void check_code(int rc, const char *message)
{
    int primary = rc & 0xff;
    bool own = strstr(message, "ptable") != NULL;
    bool wrong = primary == SQLITE_INTERNAL || primary == SQLITE_MISUSE ||
                 primary == SQLITE_NOMEM || primary == SQLITE_IOERR || rc == SQLITE_CORRUPT_VTAB ||
                 (primary == SQLITE_CORRUPT && own);
    if (wrong) {
        printf("# %d: %s\n", rc, message);
    }
    must_hold(!wrong, "no SQL damages anything");
}

/* Steps through a statement and looks at every value. */
static int run_statement(sqlite3_stmt *statement)
{
    int rc;
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const unsigned char *text = sqlite3_column_text(statement, i);
            must_hold(text != NULL || sqlite3_column_type(statement, i) == SQLITE_NULL,
                      "a value has a text");
        }
    }
    return rc;
}

static void run_script(const char *sql)
{
    while (*sql != 0 && progress <= PROGRESS_MAX) {
        sqlite3_stmt *statement = NULL;
        const char *rest = sql;
        int rc = sqlite3_prepare_v2(db, sql, -1, &statement, &rest);
        if (rc == SQLITE_OK && statement != NULL) {
            rc = run_statement(statement);
        }
        if (rc != SQLITE_OK && rc != SQLITE_DONE) {
            check_code(sqlite3_extended_errcode(db), sqlite3_errmsg(db));
        }
        sqlite3_finalize(statement);
        if (rest == sql) {
            return;
        }
        sql = rest;
    }
}

/* --- What is left --- */

/* A number that a query gives, or -1 where it fails. */
static sqlite3_int64 ask(const char *format, const char *name)
{
    char *sql = sqlite3_mprintf(format, name, name, name);
    sqlite3_stmt *statement = NULL;
    sqlite3_int64 number = -1;
    int rc = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        number = sqlite3_column_int64(statement, 0);
    } else {
        check_code(sqlite3_extended_errcode(db), sqlite3_errmsg(db));
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return number;
}

static void check_ptable(const char *name)
{
    sqlite3_int64 all = ask("SELECT count(*) FROM \"%w\"", name);
    if (all < 0) {
        return; /* its data are gone, or it refuses to be scanned */
    }
    must_hold(ask("SELECT count(*) FROM \"%w\" a WHERE json_valid(Properties) AND EntityKey = "
                  "pt_entity_key(PartitionKey, RowKey) AND EXISTS (SELECT 1 FROM \"%w\" b WHERE "
                  "b.PartitionKey = a.PartitionKey AND b.RowKey = a.RowKey AND b.ETag = a.ETag AND "
                  "b.Properties = a.Properties)",
                  name) == all,
              "every entity is found by its key");
    must_hold(
        ask("SELECT count(*) FROM (SELECT EntityKey k, lag(EntityKey) OVER () p FROM "
            "(SELECT EntityKey FROM \"%w\" ORDER BY EntityKey DESC)) WHERE p IS NULL OR k < p",
            name) == all,
        "backwards is the order turned round");
    must_hold(ask("SELECT coalesce(sum(Entities), 0) FROM pt_partitions(%Q)", name) == all,
              "partitions have all entities");
}

static void check_ptables(void)
{
    char *names[16];
    int count = 0;
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND sql "
                                "LIKE 'CREATE VIRTUAL TABLE%USING ptable%' LIMIT 16",
                                -1, &statement, NULL);
    while (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        names[count++] = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    for (int i = 0; i < count; i++) {
        check_ptable(names[i]);
        sqlite3_free(names[i]);
    }
}

static void check_counts(void)
{
    must_hold(ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'pt\\_%%' ESCAPE '\\'",
                  NULL) != 0 ||
                  ask("SELECT count(*) FROM pt_tables WHERE Entities < 0 OR Bytes < 0", NULL) == 0,
              "no count is negative");
    sqlite3_int64 counted = ask("SELECT Entities FROM pt_tables WHERE TableName = 't'", NULL);
    sqlite3_int64 there = ask("SELECT count(*) FROM u", NULL);
    bool same_table = ask("SELECT sql = 'CREATE VIRTUAL TABLE u USING ptable(table=t)' FROM "
                          "sqlite_schema WHERE name = 'u'",
                          NULL) == 1;
    bool shadowed = ask("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'pt%%'", NULL) != 0;
    must_hold(!same_table || shadowed || counted == there, "the catalogue counts right");
}

/* The names of what there is of a type; from sqlite3_malloc. */
static char *drop_statement(const char *schema)
{
    char *sql = sqlite3_mprintf("SELECT 'DROP ' || type || ' \"' || replace(name, '\"', '\"\"') "
                                "|| '\"' FROM %s WHERE name NOT LIKE 'sqlite\\_%%' ESCAPE '\\' AND "
                                "type IN ('table', 'view', 'trigger') LIMIT 1",
                                schema);
    sqlite3_stmt *statement = NULL;
    char *drop = NULL;
    must_hold(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK, "a schema is there");
    if (sqlite3_step(statement) == SQLITE_ROW) {
        drop = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return drop;
}

static void drop_all(const char *schema)
{
    for (char *drop = drop_statement(schema); drop != NULL; drop = drop_statement(schema)) {
        must_run(drop);
        sqlite3_free(drop);
    }
}

static void end_script(void)
{
    sqlite3_set_authorizer(db, NULL, NULL);
    progress = -1000000;
    if (!sqlite3_get_autocommit(db)) {
        check_ptables();
        check_counts();
        must_run("ROLLBACK");
    }
    check_ptables();
    check_counts();
    drop_all("sqlite_temp_schema");
    drop_all("sqlite_schema");
    must_run("DELETE FROM pt_tables");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *sql = malloc(size + 1);
    memcpy(sql, data, size);
    sql[size] = 0;
    if (!reaches_files(sql)) {
        open_connection();
        run_script(sql);
        end_script();
    }
    free(sql);
    return 0;
}
