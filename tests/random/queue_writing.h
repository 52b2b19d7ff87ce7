/*
 * INSERT, UPDATE and DELETE, and what the model makes of them.
 */
#ifndef TESTS_RANDOM_QUEUE_WRITING_H
#define TESTS_RANDOM_QUEUE_WRITING_H

#include "random/queue_choices.h"

/* --- How a statement that writes begins and ends --- */

typedef enum write_ending {
    KEEP,
    TAKE_BACK,     /* the statement */
    TAKE_ALL_BACK, /* the whole transaction */
} write_ending;

/* A statement that writes, on its way. */
typedef struct write_run {
    queue_world *world;
    world_connection *connection;
    model_place place;
    model_state before;
    expectation wanted;
} write_run;

static inline model_state *state_of(const write_run *run)
{
    return &run->connection->view;
}

static inline void end_write(write_run *run, write_ending ending)
{
    if (ending == TAKE_ALL_BACK) {
        model_end(run->world, run->connection, false);
        return;
    }
    if (ending == TAKE_BACK) {
        run->connection->view = run->before;
    }
    model_end_statement(run->world, run->connection, ending == KEEP);
}

/* True if the statement may write. */
static inline bool lock_store(write_run *run)
{
    int rc = model_write(run->world, run->connection);
    if (rc != SQLITE_DONE) {
        run->wanted = expected(rc, NULL);
        run->connection->refused = true;
        return false;
    }
    run->before = run->connection->view;
    return true;
}

static inline void miss_queue(write_run *run)
{
    run->wanted = expected(SQLITE_ERROR, "NotFound)");
    end_write(run, TAKE_BACK);
}

/* True if the statement reaches its rows. */
static inline bool begin_write(write_run *run)
{
    bool locked = lock_store(run);
    if (locked && !run->before.queues[run->place].exists) {
        miss_queue(run);
        return false;
    }
    return locked;
}

/* --- What a constraint that is broken does --- */

typedef struct conflict_clause {
    const char *sql;
    enum { ABORTS, FAILS, IGNORES, ROLLS_BACK } means;
} conflict_clause;

static const conflict_clause clauses[] = {
    {"", ABORTS},
    {"", ABORTS},
    {"", ABORTS},
    {"OR ABORT ", ABORTS},
    {"OR FAIL ", FAILS},
    {"OR IGNORE ", IGNORES},
    {"OR REPLACE ", ABORTS},
    {"OR ROLLBACK ", ROLLS_BACK},
};

/* A row is refused. Whether the statement goes on to the next. */
static inline bool refuse_row(write_run *run, const conflict_clause *clause, int rc,
                              const char *says)
{
    bool by_constraint = (rc & 0xff) == SQLITE_CONSTRAINT;
    if (by_constraint && clause->means == IGNORES) {
        return true;
    }
    run->wanted = expected(rc, says);
    write_ending ending = TAKE_BACK;
    if (by_constraint) {
        ending = clause->means == FAILS ? KEEP : ending;
        ending = clause->means == ROLLS_BACK ? TAKE_ALL_BACK : ending;
    }
    end_write(run, ending);
    return false;
}

/* --- INSERT --- */

enum { INSERTED_MAX = 4 };

typedef struct inserted_row {
    const char *literals[3];
    int body;
    int64_t delay;
    int64_t life;
    int rc; /* SQLITE_OK, or how it is refused */
    const char *says;
} inserted_row;

static inline inserted_row choose_row(uint64_t *random, bool wrong)
{
    const number_choice *delay = CHOOSE(random, delays);
    const number_choice *life = CHOOSE(random, lives);
    inserted_row row = {.body = choose_body(random)};
    row.literals[0] = body_literals[row.body];
    const number_choice *fault = NULL;
    if (wrong) {
        switch (random_below(random, 3)) {
        case 0:
            fault = CHOOSE(random, wrong_bodies);
            row.literals[0] = fault->literal;
            break;
        case 1:
            fault = delay = CHOOSE(random, wrong_timeouts);
            break;
        default:
            fault = life = CHOOSE(random, wrong_lives);
        }
        row.rc = fault->rc;
        row.says = fault->says;
    }
    row.literals[1] = delay->literal;
    row.literals[2] = life->literal;
    row.delay = delay->value;
    row.life = life->value;
    return row;
}

static inline void model_insert_rows(write_run *run, const conflict_clause *clause,
                                     const inserted_row *rows, int count)
{
    int inserted = 0;
    if (!begin_write(run)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        if (rows[i].rc == SQLITE_OK) {
            model_insert(&run->world->counters, state_of(run), run->place, rows[i].body,
                         rows[i].delay, rows[i].life);
            inserted++;
        } else if (!refuse_row(run, clause, rows[i].rc, rows[i].says)) {
            return;
        }
    }
    run->wanted = expected_changes(inserted);
    end_write(run, KEEP);
}

static inline char *insert_statement(const char *table, const conflict_clause *clause,
                                     const inserted_row *rows, int count, bool by_select)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendf(sql, "INSERT %sINTO %s(Body, VisibilityTimeout, TimeToLive) %s",
                        clause->sql, table, by_select ? "SELECT * FROM (" : "");
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendf(sql, "%s(%s, %s, %s)", i == 0 ? "VALUES " : ", ", rows[i].literals[0],
                            rows[i].literals[1], rows[i].literals[2]);
    }
    sqlite3_str_appendall(sql, by_select ? ") WHERE 1" : "");
    return sqlite3_str_finish(sql);
}

static inline void insert_rows(queue_world *world, world_connection *connection, uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    const conflict_clause *clause = CHOOSE(random, clauses);
    inserted_row rows[INSERTED_MAX];
    int count = 1 + (int)random_below(random, INSERTED_MAX);
    int wrong = random_below(random, 6) == 0 ? (int)random_below(random, (unsigned)count) : -1;
    for (int i = 0; i < count; i++) {
        rows[i] = choose_row(random, i == wrong);
    }
    model_insert_rows(&run, clause, rows, count);
    const char *table = choose_table(random, run.place);
    check(world, connection,
          insert_statement(table, clause, rows, count, random_below(random, 4) == 0), &run.wanted);
}

static inline void model_copy(write_run *run, model_place from)
{
    model_rows rows;
    model_counters *counters = &run->world->counters;
    model_peek(counters, state_of(run), from, &rows);
    int count = rows.count < 3 ? rows.count : 3;
    bool to_nowhere = count > 0 && !run->before.queues[run->place].exists;
    if (!run->before.queues[from].exists || to_nowhere) {
        miss_queue(run);
        return;
    }
    for (int i = 0; i < count; i++) {
        model_insert(counters, state_of(run), run->place, rows.messages[i].body, 0, END_OF_TIME);
    }
    run->wanted = expected_changes(count);
    end_write(run, KEEP);
}

/* Copies the first messages of a queue to the end of one. */
static inline void copy_messages(queue_world *world, world_connection *connection, uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    model_place from = choose_place(random);
    const char *from_table = choose_table(random, from);
    if (lock_store(&run)) {
        model_copy(&run, from);
    }
    check(world, connection,
          sqlite3_mprintf("INSERT INTO %s(Body) SELECT Body FROM %s ORDER BY TimeNextVisible, "
                          "MessageId LIMIT 3",
                          choose_table(random, run.place), from_table),
          &run.wanted);
}

/* Fails at a row of a query, or of an ordinary table whose trigger fills the queue. */
static inline void insert_half(queue_world *world, world_connection *connection, uint64_t *random)
{
    static const struct {
        const char *sql;
        int rc;
        const char *says;
    } forms[] = {
        {"INSERT INTO jobs(Body) SELECT CASE column1 WHEN 3 THEN 3 ELSE 'a' END FROM (VALUES (1), "
         "(2), (3), (4))",
         SQLITE_MISMATCH, "CAST(... AS TEXT)"},
        {"INSERT INTO jobs(Body) SELECT CASE column1 WHEN 3 THEN abs(-9223372036854775807 - "
         "(column1 > 0)) ELSE 'a' END FROM (VALUES (1), (2), (3), (4))",
         SQLITE_ERROR, "integer overflow"},
        {"INSERT INTO work VALUES ('a'), ('b'), (13), ('c')", SQLITE_CONSTRAINT_CHECK, ""},
        {"INSERT INTO work VALUES ('a'), (NULL), ('b')", SQLITE_CONSTRAINT_NOTNULL, "Body is NULL"},
    };
    write_run run = {.world = world, .connection = connection, .place = JOBS};
    unsigned form = random_below(random, sizeof forms / sizeof forms[0]);
    if (begin_write(&run)) {
        model_tick(&world->counters);
        run.wanted = expected(forms[form].rc, forms[form].says);
        end_write(&run, TAKE_BACK);
    }
    check(world, connection, sqlite3_mprintf("%s", forms[form].sql), &run.wanted);
}

static inline void insert_by_trigger(queue_world *world, world_connection *connection,
                                     uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = JOBS};
    int a = choose_body(random);
    int b = choose_body(random);
    if (begin_write(&run)) {
        model_insert(&world->counters, state_of(&run), JOBS, a, 0, END_OF_TIME);
        model_insert(&world->counters, state_of(&run), JOBS, b, 0, END_OF_TIME);
        run.wanted = expected_changes(2);
        end_write(&run, KEEP);
    }
    check(world, connection,
          sqlite3_mprintf("INSERT INTO work VALUES (%s), (%s)", body_literals[a], body_literals[b]),
          &run.wanted);
    expectation deleted = expected(SQLITE_DONE, NULL);
    check(world, connection, sqlite3_mprintf("DELETE FROM work"), &deleted);
}

/* --- DELETE --- */

static inline void delete_messages(queue_world *world, world_connection *connection,
                                   uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    finding found;
    bool begins = begin_write(&run);
    choose_messages(world, state_of(&run), run.place, random, &found);
    if (begins && found.refused) {
        run.wanted = expected(SQLITE_CONSTRAINT_VTAB, "(PopReceiptMismatch)");
        end_write(&run, TAKE_BACK);
    } else if (begins && !found.by_receipt && found.rows.count > 0) {
        run.wanted = expected(SQLITE_CONSTRAINT_VTAB, "(MissingRequiredQueryParameter)");
        end_write(&run, TAKE_BACK);
    } else if (begins) {
        for (int i = 0; i < found.rows.count; i++) {
            model_take(state_of(&run), run.place, found.rows.messages[i].identity);
        }
        run.wanted = expected_changes(found.rows.count);
        end_write(&run, KEEP);
    }
    check(world, connection,
          sqlite3_mprintf("DELETE FROM %s WHERE %z", choose_table(random, run.place), found.where),
          &run.wanted);
}

/* --- UPDATE --- */

typedef struct change {
    char sets[160];
    int64_t timeout;
    int body;
    int rc; /* SQLITE_OK, or how every row is refused */
    const char *says;
} change;

static inline change choose_wrong_change(uint64_t *random)
{
    static const number_choice wrong_sets[] = {
        {"DequeueCount = 99", 0, SQLITE_CONSTRAINT_VTAB, "DequeueCount cannot be changed"},
        {"TimeToLive = 5", 0, SQLITE_CONSTRAINT_VTAB, "TimeToLive cannot be changed"},
        {"PopReceipt = 'x', Body = 'y'", 0, SQLITE_CONSTRAINT_VTAB, "PopReceipt cannot be changed"},
        {"VisibilityTimeout = NULL", 0, SQLITE_MISMATCH, "VisibilityTimeout is NULL"},
    };
    change made = {.timeout = SAME_TIME, .body = SAME_BODY};
    const number_choice *fault;
    const char *column = "";
    switch (random_below(random, 3)) {
    case 0:
        fault = CHOOSE(random, wrong_sets);
        break;
    case 1:
        fault = CHOOSE(random, wrong_timeouts);
        column = "Body = 'z', VisibilityTimeout = ";
        break;
    default:
        fault = CHOOSE(random, wrong_bodies);
        column = "VisibilityTimeout = 0, Body = ";
    }
    snprintf(made.sets, sizeof made.sets, "%s%s", column, fault->literal);
    made.rc = fault->rc;
    made.says = fault->says;
    return made;
}

static inline change choose_right_change(uint64_t *random)
{
    change made = {.timeout = SAME_TIME, .body = SAME_BODY};
    const number_choice *timeout = CHOOSE(random, timeouts);
    int body = choose_body(random);
    unsigned form = random_below(random, 4);
    if (form == 0) {
        snprintf(made.sets, sizeof made.sets, "MessageId = MessageId");
        return made;
    }
    made.timeout = form != 1 ? timeout->value : SAME_TIME;
    made.body = form != 2 ? body : SAME_BODY;
    snprintf(made.sets, sizeof made.sets, "%s%s%s%s%s", form != 1 ? "VisibilityTimeout = " : "",
             form != 1 ? timeout->literal : "", form == 3 ? ", " : "", form != 2 ? "Body = " : "",
             form != 2 ? body_literals[body] : "");
    return made;
}

static inline change choose_change(uint64_t *random)
{
    return random_below(random, 8) == 0 ? choose_wrong_change(random) : choose_right_change(random);
}

/* Rows that a WHERE without receipts finds, or values that no row takes. */
static inline void refuse_update(write_run *run, const finding *found, const change *made,
                                 const conflict_clause *clause)
{
    bool goes_on = found->by_receipt ? refuse_row(run, clause, made->rc, made->says)
                                     : refuse_row(run, clause, SQLITE_CONSTRAINT_VTAB,
                                                  "(MissingRequiredQueryParameter)");
    if (goes_on) {
        run->wanted = expected_changes(0);
        end_write(run, KEEP);
    }
}

static inline void model_update_rows(write_run *run, const finding *found, const change *made,
                                     const conflict_clause *clause)
{
    if (found->refused) {
        run->wanted = expected(SQLITE_CONSTRAINT_VTAB, "(PopReceiptMismatch)");
        end_write(run, TAKE_BACK);
        return;
    }
    if (found->rows.count > 0 && (!found->by_receipt || made->rc != SQLITE_OK)) {
        refuse_update(run, found, made, clause);
        return;
    }
    for (int i = 0; i < found->rows.count; i++) {
        model_change(&run->world->counters, state_of(run), run->place,
                     found->rows.messages[i].identity, made->timeout, made->body);
    }
    run->wanted = expected_changes(found->rows.count);
    end_write(run, KEEP);
}

static inline void update_messages(queue_world *world, world_connection *connection,
                                   uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    const conflict_clause *clause = CHOOSE(random, clauses);
    change made = choose_change(random);
    finding found;
    bool begins = begin_write(&run);
    choose_messages(world, state_of(&run), run.place, random, &found);
    if (begins) {
        model_update_rows(&run, &found, &made, clause);
    }
    check(world, connection,
          sqlite3_mprintf("UPDATE %s%s SET %s WHERE %z", clause->sql,
                          choose_table(random, run.place), made.sets, found.where),
          &run.wanted);
}

/* For UPDATE .. FROM SQLite 3.40 reads all columns and gives them back. */
static inline void update_from(queue_world *world, world_connection *connection, uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    change made = choose_right_change(random);
    bool begins = begin_write(&run);
    held_pair pair = choose_pair(world, state_of(&run), run.place, random);
    if (begins) {
        model_rows all;
        finding found = {.where = NULL};
        model_peek(&world->counters, state_of(&run), run.place, &all);
        find_pairs(world, &all, &pair, 1, &found);
        model_update_rows(&run, &found, &made, &clauses[0]);
    }
    check(world, connection,
          sqlite3_mprintf("UPDATE %s SET %s FROM (VALUES (%s, %s)) held WHERE MessageId = "
                          "held.column1 AND PopReceipt = held.column2",
                          choose_table(random, run.place), made.sets, pair.id, pair.receipt),
          &run.wanted);
}

/* --- Another table of the store --- */

static inline void write_outbox(queue_world *world, world_connection *connection, uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = JOBS};
    unsigned key = random_below(random, OUTBOX_KEYS);
    bool inserts = random_below(random, 2) == 0;
    if (lock_store(&run)) {
        bool *there = &state_of(&run)->outbox[key];
        bool fails = inserts && *there;
        run.wanted = fails ? expected(SQLITE_CONSTRAINT_PRIMARYKEY, "(EntityAlreadyExists)")
                           : expected_changes(inserts || *there ? 1 : 0);
        state_of(&run)->wrote = state_of(&run)->wrote || inserts != *there;
        *there = inserts;
        end_write(&run, fails ? TAKE_BACK : KEEP);
    }
    const char *sql = inserts ? "INSERT INTO outbox(PartitionKey, RowKey) VALUES ('', '%u')"
                              : "DELETE FROM outbox WHERE PartitionKey = '' AND RowKey = '%u'";
    check(world, connection, sqlite3_mprintf(sql, key), &run.wanted);
}

#endif
