/*
 * An appender: a connection that appends numbers to lists and reads them, in transactions of all
 * kinds, and keeps a history of it (history.h). A list is a text, "12,15,", that an entity holds;
 * the lists lie in several partitions of three tables, which are in two stores. Each entity also
 * tells its place, by which an index finds it.
 *
 * After some transactions an appender goes on to the next generation of lists, so that none becomes
 * long; all do at about the same time.
 */
#ifndef TESTS_PROCESS_CONCURRENCY_APPENDER_H
#define TESTS_PROCESS_CONCURRENCY_APPENDER_H

#include <sched.h>
#include <time.h>

#include "fixtures/database.h"
#include "process/concurrency/history.h"

enum {
    SLOTS = 8,              /* lists of a generation */
    GENERATION_LENGTH = 40, /* transactions of each appender */
    LIST_MAX = 4000,
    LIST_TEXT = 40000,
    SQL_SIZE = LIST_TEXT + 500,
    KEY_TEXT = 24,
    SAVEPOINTS_MAX = 2,
    COMMIT_TRIES = 5,
    APPENDER_PATIENCE_MS = 30000,
};

typedef struct slot {
    const char *table;
    int partition;
    int row;
} slot;

static const slot slots[SLOTS] = {
    {"t", 0, 0}, {"t", 0, 1}, {"t", 1, 0}, {"u", 0, 0},
    {"u", 1, 1}, {"w", 0, 0}, {"w", 0, 1}, {"w", 1, 0},
};

static const char *const list_tables[] = {"t", "u", "w"};

/* Table w lies in the other store. */
static inline bool is_in_first_store(int key)
{
    return slots[key % SLOTS].table[0] != 'w';
}

static inline bool is_in_second_store(int key)
{
    return !is_in_first_store(key);
}

typedef struct appender {
    sqlite3 *db;
    int number; /* 0, 1, ... */
    int among;  /* how many there are */
    int first_generation;
    void (*before_commit)(struct appender *); /* or NULL */
    uint64_t random;
    int appends;     /* numbers that it has used */
    bool explicitly; /* inside BEGIN */
    int own_appends; /* of the transaction, not taken back */
    history h;
    int busy;
    int stale;  /* SQLITE_BUSY_SNAPSHOT */
    int denied; /* wished to be rolled back, or a condition did not hold */
    int bad_code;
    char message[300];
    char sql[SQL_SIZE];
    char list[LIST_TEXT]; /* read last */
    char etag[80];
    bool exists;
} appender;

static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline unsigned throw_dice(appender *self, unsigned sides)
{
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (unsigned)(self->random >> 33) % sides;
}

/* --- SQL --- */

/* Notes a failure that nothing excuses. */
static inline int judge(appender *self, int code)
{
    self->stale += code == SQLITE_BUSY_SNAPSHOT;
    self->busy += (code & 0xff) == SQLITE_BUSY && code != SQLITE_BUSY_SNAPSHOT;
    if (code != SQLITE_OK && (code & 0xff) != SQLITE_BUSY && self->bad_code == 0) {
        self->bad_code = code;
        snprintf(self->message, sizeof self->message, "%.150s: %.120s", sqlite3_errmsg(self->db),
                 self->sql);
    }
    return code;
}

static inline int tell(appender *self, int (*row)(void *, int, char **, char **))
{
    if (throw_dice(self, 4) == 0) {
        sched_yield();
    }
    return sqlite3_exec(self->db, self->sql, row, self, NULL);
}

static inline void word(appender *self, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sqlite3_vsnprintf(SQL_SIZE, self->sql, format, arguments);
    va_end(arguments);
}

static inline int simply(appender *self, const char *sql)
{
    word(self, "%s", sql);
    return judge(self, tell(self, NULL));
}

static inline int generation_of(const appender *self)
{
    return self->first_generation + self->h.transaction_count / GENERATION_LENGTH;
}

/* "PartitionKey = ... AND RowKey = ..." of a key. */
static inline const char *place_of(int key, char text[80])
{
    const slot *at = &slots[key % SLOTS];
    snprintf(text, 80, "PartitionKey = '%05d-%d' AND RowKey = '%d'", key / SLOTS, at->partition,
             at->row);
    return text;
}

/* The text of a key's place: a literal. */
static inline const char *mark_of(int key, char text[80])
{
    const slot *at = &slots[key % SLOTS];
    snprintf(text, 80, "'%d at %d, %d'", key / SLOTS, at->partition, at->row);
    return text;
}

/* --- Transactions --- */

static inline void begin_noted(appender *self)
{
    self->own_appends = 0;
    begin_transaction(&self->h, self->number, clock_ns());
}

static inline void end_noted(appender *self, bool committed)
{
    end_transaction(&self->h, clock_ns(), committed);
}

/* Outside of BEGIN every statement is a transaction. */
static inline void begin_statement(appender *self)
{
    if (!self->explicitly) {
        begin_noted(self);
    }
}

static inline void end_statement(appender *self, bool committed)
{
    if (!self->explicitly) {
        end_noted(self, committed);
    }
}

/* --- Reads --- */

static inline int note_list(appender *self, int key, const char *text)
{
    int list[LIST_MAX];
    int length = 0;
    for (const char *at = text; *at != 0 && length < LIST_MAX; length++) {
        char *end;
        list[length] = (int)strtol(at, &end, 10);
        at = *end == ',' ? end + 1 : "";
    }
    note_read(&self->h, key, list, length);
    return length;
}

/* A row: V, ETag. */
static inline int keep_row(void *context, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    appender *self = context;
    self->exists = true;
    snprintf(self->list, sizeof self->list, "%s", values[0]);
    snprintf(self->etag, sizeof self->etag, "%s", values[1]);
    return 0;
}

static inline int read_list(appender *self, int key)
{
    char place[80];
    self->exists = false;
    self->list[0] = 0;
    self->etag[0] = 0;
    begin_statement(self);
    if (throw_dice(self, 2) == 0) {
        word(self, "SELECT V, ETag FROM %s WHERE Place = %s", slots[key % SLOTS].table,
             mark_of(key, place));
    } else {
        word(self, "SELECT V, ETag FROM %s WHERE %s", slots[key % SLOTS].table,
             place_of(key, place));
    }
    int code = judge(self, tell(self, keep_row));
    if (code == SQLITE_OK) {
        note_list(self, key, self->list);
    }
    end_statement(self, code == SQLITE_OK);
    return code;
}

/* Several lists by one statement. */
typedef struct reading {
    appender *self;
    const char *table;
    unsigned met; /* bits of slots */
} reading;

/* A row: PartitionKey, RowKey, V. */
static inline int note_row(void *context, int columns, char **values, char **names)
{
    (void)columns;
    (void)names;
    reading *all = context;
    int generation = atoi(values[0]);
    int partition = atoi(strchr(values[0], '-') + 1);
    for (int i = 0; i < SLOTS; i++) {
        if (strcmp(slots[i].table, all->table) == 0 && slots[i].partition == partition &&
            slots[i].row == atoi(values[1])) {
            all->met |= 1u << i;
            note_list(all->self, generation * SLOTS + i, values[2]);
        }
    }
    return 0;
}

/* Partition -1: all of the generation. Lists that are not there yet are empty. */
static inline int read_lists(appender *self, const char *table, int partition)
{
    reading all = {.self = self, .table = table};
    int generation = generation_of(self);
    begin_statement(self);
    if (partition < 0) {
        word(self,
             "SELECT PartitionKey, RowKey, V FROM %s WHERE PartitionKey >= '%05d-' AND "
             "PartitionKey < '%05d.'%s",
             table, generation, generation,
             throw_dice(self, 2) == 0 ? " ORDER BY PartitionKey DESC, RowKey DESC" : "");
    } else {
        word(self, "SELECT PartitionKey, RowKey, V FROM %s WHERE PartitionKey = '%05d-%d'", table,
             generation, partition);
    }
    if (throw_dice(self, 4) == 0) {
        sched_yield();
    }
    int code = judge(self, sqlite3_exec(self->db, self->sql, note_row, &all, NULL));
    for (int i = 0; code == SQLITE_OK && i < SLOTS; i++) {
        bool asked = strcmp(slots[i].table, table) == 0 &&
                     (partition < 0 || slots[i].partition == partition);
        if (asked && (all.met & 1u << i) == 0) {
            note_read(&self->h, generation * SLOTS + i, NULL, 0);
        }
    }
    end_statement(self, code == SQLITE_OK);
    return code;
}

/* --- Appends --- */

static inline int next_number(const appender *self)
{
    return self->appends * self->among + self->number;
}

/* Runs the statement that is worded, which appends to the key if it changes a row. `seen`: it also
 * holds only if the list is still what was read last. */
static inline int try_to_append(appender *self, int key, bool seen, bool *done)
{
    begin_statement(self);
    int code = tell(self, NULL);
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY && !self->explicitly) {
        self->denied++; /* somebody else made the list meanwhile */
        end_statement(self, false);
        return SQLITE_OK;
    }
    code = judge(self, code);
    *done = code == SQLITE_OK && sqlite3_changes(self->db) == 1;
    if (*done) {
        if (seen) {
            note_list(self, key, self->list);
        }
        note_append(&self->h, key, next_number(self));
        self->own_appends++;
        self->appends++;
    }
    end_statement(self, *done);
    return code;
}

/* The list was not there a moment ago. */
static inline int begin_list(appender *self, int key, bool *done)
{
    char mark[80];
    self->list[0] = 0;
    word(self, "INSERT INTO %s(PartitionKey, RowKey, V, Place) VALUES('%05d-%d', '%d', '%d,', %s)",
         slots[key % SLOTS].table, key / SLOTS, slots[key % SLOTS].partition,
         slots[key % SLOTS].row, next_number(self), mark_of(key, mark));
    return try_to_append(self, key, true, done);
}

/* Adds to what there is, whatever it is, by an UPDATE or by an INSERT that merges. */
static inline int append_in_place(appender *self, int key)
{
    char place[80];
    bool done = false;
    const char *table = slots[key % SLOTS].table;
    if (throw_dice(self, 3) > 0) {
        bool by_index = throw_dice(self, 2) == 0;
        word(self, "UPDATE %s SET V = V || '%d,' WHERE %s%s", table, next_number(self),
             by_index ? "Place = " : "", by_index ? mark_of(key, place) : place_of(key, place));
    } else {
        word(self,
             "INSERT INTO %s(PartitionKey, RowKey, V, WriteMode, IfMatch) SELECT PartitionKey, "
             "RowKey, V || '%d,', 'merge', ETag FROM %s WHERE %s",
             table, next_number(self), table, place_of(key, place));
    }
    int code = try_to_append(self, key, false, &done);
    return code == SQLITE_OK && !done ? begin_list(self, key, &done) : code;
}

/* Reads, and writes what was read with one number more. Outside of BEGIN somebody else may come
 * between, so there it goes by the ETag. */
static inline int append_to_what_was_read(appender *self, int key)
{
    char place[80];
    bool done = false;
    const char *table = slots[key % SLOTS].table;
    int code = read_list(self, key);
    if (code != SQLITE_OK) {
        return code;
    }
    if (!self->exists) {
        return begin_list(self, key, &done);
    }
    if (!self->explicitly) {
        word(self, "UPDATE %s SET V = '%s%d,' WHERE %s AND ETag = %Q", table, self->list,
             next_number(self), place_of(key, place), self->etag);
        code = try_to_append(self, key, true, &done);
        self->denied += code == SQLITE_OK && !done;
        return code;
    }
    if (throw_dice(self, 2) == 0) {
        word(self, "UPDATE %s SET V = '%s%d,' WHERE %s", table, self->list, next_number(self),
             place_of(key, place));
    } else {
        word(self,
             "INSERT OR REPLACE INTO %s(PartitionKey, RowKey, V, Place) VALUES('%05d-%d', '%d', "
             "'%s%d,', %s)",
             table, key / SLOTS, slots[key % SLOTS].partition, slots[key % SLOTS].row, self->list,
             next_number(self), mark_of(key, place));
    }
    return try_to_append(self, key, false, &done);
}

/* --- Work --- */

static inline int do_something(appender *self)
{
    int key = generation_of(self) * SLOTS + (int)throw_dice(self, SLOTS);
    switch (throw_dice(self, 6)) {
    case 0:
        return read_list(self, key);
    case 1:
        return read_lists(self, slots[key % SLOTS].table, slots[key % SLOTS].partition);
    case 2:
        return read_lists(self, list_tables[throw_dice(self, 3)], -1);
    case 3:
        return append_to_what_was_read(self, key);
    default:
        return append_in_place(self, key);
    }
}

static int do_several(appender *self, int depth);

static inline int do_in_savepoint(appender *self, int depth)
{
    int kept = self->own_appends;
    word(self, "SAVEPOINT s%d", depth);
    int code = judge(self, tell(self, NULL));
    if (code == SQLITE_OK) {
        code = do_several(self, depth + 1);
    }
    if (code == SQLITE_OK && throw_dice(self, 2) == 0) {
        word(self, "ROLLBACK TO s%d", depth);
        code = judge(self, tell(self, NULL));
        note_keep(&self->h, kept);
        self->own_appends = kept;
    }
    if (code != SQLITE_OK) {
        return code;
    }
    word(self, "RELEASE s%d", depth);
    return judge(self, tell(self, NULL));
}

/* A statement that was busy has done nothing, and the transaction may go on without it. */
static int do_several(appender *self, int depth)
{
    int count = 1 + (int)throw_dice(self, depth == 0 ? 4 : 2);
    int code = SQLITE_OK;
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        bool nested = depth < SAVEPOINTS_MAX && throw_dice(self, 5) == 0;
        code = nested ? do_in_savepoint(self, depth) : do_something(self);
        if (code == SQLITE_BUSY && throw_dice(self, 2) == 0) {
            code = SQLITE_OK;
        }
    }
    return code;
}

/* A COMMIT that is busy leaves the transaction open. */
static inline bool commit(appender *self)
{
    int code = SQLITE_BUSY;
    if (self->before_commit != NULL) {
        self->before_commit(self);
    }
    for (int i = 0; i < COMMIT_TRIES && code == SQLITE_BUSY; i++) {
        code = simply(self, "COMMIT");
    }
    return code == SQLITE_OK;
}

static inline int begin(appender *self)
{
    static const char *const locks[] = {"DELETE FROM t WHERE 0", "DELETE FROM w WHERE 0"};
    int code = simply(self, throw_dice(self, 3) == 0 ? "BEGIN IMMEDIATE" : "BEGIN");
    bool locks_at_once = code == SQLITE_OK && throw_dice(self, 2) == 0;
    return locks_at_once ? simply(self, locks[throw_dice(self, 2)]) : code;
}

static inline void transact(appender *self)
{
    self->explicitly = throw_dice(self, 4) != 0;
    if (!self->explicitly) {
        do_something(self);
        return;
    }
    begin_noted(self);
    int code = begin(self);
    if (code == SQLITE_OK) {
        code = do_several(self, 0);
    }
    bool wished = throw_dice(self, 10) != 0;
    bool committed = code == SQLITE_OK && wished && commit(self);
    self->denied += code == SQLITE_OK && !wished;
    if (!sqlite3_get_autocommit(self->db)) {
        simply(self, "ROLLBACK");
    }
    end_noted(self, committed);
}

/* --- Beginning --- */

/* The tables, which connections that share a main database share too. */
static inline int declare_lists(sqlite3 *db, const char *folder)
{
    return code_of(db,
                   "CREATE VIRTUAL TABLE IF NOT EXISTS t USING ptable(V String, Place String, "
                   "unique(Place), store='%s/one.ptable', sync='off');"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS u USING ptable(V String, Place String, "
                   "index(Place, V), store='%s/one.ptable', sync='off');"
                   "CREATE VIRTUAL TABLE IF NOT EXISTS w USING ptable(V String, Place String, "
                   "index(Place), unique(V), store='%s/two.ptable', sync='off')",
                   folder, folder, folder);
}

/* Half of them have main databases of their own; the others share one in WAL or one with a
 * rollback journal. */
static inline sqlite3 *open_host(const char *folder, int number)
{
    char name[20];
    char path[PATH_SIZE];
    snprintf(name, sizeof name, "own-%d.db", number);
    const char *const hosts[] = {":memory:", "wal.db", name, "journal.db"};
    path_in(folder, hosts[number % 4], path);
    sqlite3 *db = try_open(path);
    if (db != NULL) {
        sqlite3_busy_timeout(db, APPENDER_PATIENCE_MS);
    }
    return db;
}

static inline void run_appender(appender *self, const char *folder, int transactions)
{
    self->db = open_host(folder, self->number);
    if (self->db == NULL) {
        self->bad_code = SQLITE_CANTOPEN;
        return;
    }
    self->bad_code = declare_lists(self->db, folder);
    while (self->bad_code == SQLITE_OK && self->h.transaction_count < transactions) {
        transact(self);
    }
    if (sqlite3_close(self->db) != SQLITE_OK && self->bad_code == SQLITE_OK) {
        self->bad_code = SQLITE_MISUSE;
    }
}

#endif
