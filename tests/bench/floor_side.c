/*
 * The floor: a virtual table that stores nothing and makes up rows, always the same, in the number
 * that each query should find. SQLite's own work on a virtual table is all that is left, so nothing
 * behind that interface can be faster. Texts have the mean lengths of the real ones, and are given
 * in the way that costs SQLite least. Of a row that is inserted each value is taken, in the way
 * that costs least, and forgotten.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/sql_side.h"

typedef struct floor_cursor {
    sqlite3_vtab_cursor base;
    uint64_t row;
    uint64_t count;
    bool distinct;
    char key[KEY_SIZE + 1]; /* PartitionKey */
} floor_cursor;

/* A statement at a time has the table's one cursor. */
typedef struct floor_table {
    sqlite3_vtab base;
    const table_extent *extent;
    floor_cursor cursor;
} floor_table;

typedef struct floor_session {
    sql_session *sql;
    table_extent extent; /* of the task that runs */
} floor_session;

/* --- Plans --- */

enum { COLUMN_PARTITION, COLUMN_ROW };

/* Bits of idxNum; the arguments come in this order. */
enum {
    PLAN_PARTITION = 1,
    PLAN_ROW = 2,
    PLAN_LOW = 4,
    PLAN_HIGH = 8,
    PLAN_DISTINCT = 16, /* one row of each partition */
    PLAN_ARGUMENTS = 4,
};

static int plan_bit(int column, int op)
{
    if (column == COLUMN_PARTITION && op == SQLITE_INDEX_CONSTRAINT_EQ) {
        return PLAN_PARTITION;
    }
    if (column != COLUMN_ROW) {
        return 0;
    }
    return op == SQLITE_INDEX_CONSTRAINT_EQ   ? PLAN_ROW
           : op == SQLITE_INDEX_CONSTRAINT_GE ? PLAN_LOW
           : op == SQLITE_INDEX_CONSTRAINT_LT ? PLAN_HIGH
                                              : 0;
}

static void take_constraint(sqlite3_index_info *info, int bit)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        if (constraint->usable && plan_bit(constraint->iColumn, constraint->op) == bit) {
            info->aConstraintUsage[i].argvIndex = __builtin_popcount((unsigned)info->idxNum) + 1;
            info->aConstraintUsage[i].omit = 1;
            info->idxNum |= bit;
            return;
        }
    }
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
    (void)table;
    info->idxNum = 0;
    for (int i = 0; i < PLAN_ARGUMENTS; i++) {
        take_constraint(info, 1 << i);
    }
    if (sqlite3_vtab_distinct(info) >= 2) {
        info->idxNum |= PLAN_DISTINCT;
    }
    bool point = (info->idxNum & PLAN_PARTITION) != 0 && (info->idxNum & PLAN_ROW) != 0;
    info->orderByConsumed = 1;
    info->estimatedRows = point ? 1 : 1000;
    info->estimatedCost = point ? 1 : 1000;
    info->idxFlags = point ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return SQLITE_OK;
}

/* --- Rows --- */

/* The number in a RowKey, "row" and digits. */
static uint64_t row_number(sqlite3_value *key)
{
    uint64_t number = 0;
    const char *digit = sqlite3_value_blob(key);
    for (int i = 3; i < KEY_SIZE; i++) {
        number = 10 * number + (uint64_t)(digit[i] - '0');
    }
    return number;
}

static uint64_t rows_of_partition(uint64_t rows, int plan, sqlite3_value **bounds)
{
    if ((plan & PLAN_ROW) != 0 || (plan & PLAN_DISTINCT) != 0) {
        return 1;
    }
    uint64_t low = (plan & PLAN_LOW) != 0 ? row_number(*bounds++) : 0;
    uint64_t high = (plan & PLAN_HIGH) != 0 ? row_number(*bounds) : rows;
    high = high < rows ? high : rows;
    return high > low ? high - low : 0;
}

static int filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                  sqlite3_value **arguments)
{
    (void)text;
    (void)count;
    floor_cursor *cursor = (floor_cursor *)base;
    const table_extent *extent = ((floor_table *)base->pVtab)->extent;
    bool one = (plan & PLAN_PARTITION) != 0;
    cursor->row = 0;
    cursor->distinct = (plan & PLAN_DISTINCT) != 0;
    memcpy(cursor->key, "part000000", sizeof cursor->key);
    cursor->count = (one ? 1 : extent->partitions) *
                    rows_of_partition(extent->rows, plan, arguments + (one ? 1 : 0));
    return SQLITE_OK;
}

/* The next one in order: DISTINCT wants different ones. */
static void advance_key(char key[KEY_SIZE + 1])
{
    int digit = KEY_SIZE - 1;
    while (key[digit] == '9') {
        key[digit--] = '0';
    }
    key[digit]++;
}

static int next(sqlite3_vtab_cursor *base)
{
    floor_cursor *cursor = (floor_cursor *)base;
    cursor->row++;
    if (cursor->distinct) {
        advance_key(cursor->key);
    }
    return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    const floor_cursor *cursor = (floor_cursor *)base;
    return cursor->row == cursor->count;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    enum { COLUMN_AGE = 6, COLUMN_SALARY = 7 };
    static const char *const texts[] = {NULL,
                                        "row0000000",
                                        "Mehmet",
                                        "Gardner",
                                        "user00000000@contoso.com",
                                        "works from the branch office, Mondays"};
    if (number == COLUMN_AGE) {
        sqlite3_result_int(context, 42);
    } else if (number == COLUMN_SALARY) {
        sqlite3_result_double(context, 4200.5);
    } else {
        const char *text = number == COLUMN_PARTITION ? ((floor_cursor *)base)->key : texts[number];
        sqlite3_result_text(context, text, -1, SQLITE_STATIC);
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *number)
{
    *number = (sqlite3_int64)((floor_cursor *)base)->row;
    return SQLITE_OK;
}

/* --- Inserting --- */

static void take(sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        sqlite3_value_int64(value);
        break;
    case SQLITE_FLOAT:
        sqlite3_value_double(value);
        break;
    case SQLITE_TEXT:
        sqlite3_value_blob(value); /* the text as it is: without a NUL */
        sqlite3_value_bytes(value);
        break;
    }
}

static int update(sqlite3_vtab *table, int count, sqlite3_value **arguments, sqlite3_int64 *number)
{
    enum { FIRST_COLUMN = 2 };
    (void)table;
    require(count > FIRST_COLUMN && sqlite3_value_type(arguments[0]) == SQLITE_NULL,
            "the floor takes INSERT only");
    for (int i = FIRST_COLUMN; i < count; i++) {
        take(arguments[i]);
    }
    *number = 0;
    return SQLITE_OK;
}

/* --- The module --- */

static int connect(sqlite3 *db, void *extent, int count, const char *const *arguments,
                   sqlite3_vtab **table, char **problem)
{
    (void)count;
    (void)arguments;
    (void)problem;
    floor_table *made = calloc(1, sizeof *made);
    require(made != NULL, "out of memory");
    made->extent = extent;
    *table = &made->base;
    return sqlite3_declare_vtab(db, "CREATE TABLE x(PartitionKey TEXT NOT NULL, RowKey TEXT NOT"
                                    " NULL, FirstName TEXT, LastName TEXT, Email TEXT, Note TEXT,"
                                    " Age INTEGER, Salary REAL)");
}

static int disconnect(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    *cursor = &((floor_table *)table)->cursor.base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    (void)cursor;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xDestroy = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = is_at_end,
    .xColumn = column,
    .xRowid = row_id,
    .xUpdate = update,
};

/* --- The side --- */

static void *open_floor(const side_opening *opening)
{
    floor_session *session = calloc(1, sizeof *session);
    require(session != NULL, "out of memory");
    session->sql = sql_open(opening, ":memory:");
    require(sqlite3_create_module(session->sql->db, "floor", &module, &session->extent) ==
                SQLITE_OK,
            "a module cannot be made");
    sql_execute(session->sql, "CREATE VIRTUAL TABLE E USING floor");
    return session;
}

static void close_floor(void *session)
{
    sql_close(((floor_session *)session)->sql);
    free(session);
}

static void run_floor(void *session, const job *task, checksum *digest)
{
    floor_session *self = session;
    self->extent = task->extent;
    sql_run(self->sql, task, digest);
}

const bench_side side_floor = {
    .name = "floor",
    .host = "memory",
    .title = "floor",
    .target = TARGETS,
    .load_runs = LOAD_RUNS_MAX,
    .made_up = true,
    .open = open_floor,
    .close = close_floor,
    .run = run_floor,
};
