/*
 * pt_queue_get wherever it can stand in a statement.
 */
#ifndef TESTS_RANDOM_QUEUE_GETTING_H
#define TESTS_RANDOM_QUEUE_GETTING_H

#include "random/queue_writing.h"

/* --- What is around it --- */

/* What stands around the call, which is $; @ is the queue's name. */
typedef struct get_form {
    const char *sql;
    enum {
        SHOWS_ALL,
        SHOWS_SORTED, /* as they are in the queue now */
        SHOWS_FIRST,
        SHOWS_NONE,
        SHOWS_TWICE,      /* all, then all again */
        SHOWS_EACH_TWICE, /* the first, the first, the second, the second */
        COUNTS,
        COUNTS_TWICE,
        GETS_TWICE,       /* and shows all of both */
        FAILS_AFTERWARDS, /* if there was a message; in a SELECT, so that the message stays handed
                             out */
        STORES,           /* in an ordinary table */
        STORES_ONE,
        FAILS_TO_STORE,     /* if there was a message */
        FAILS_TO_STORE_ONE, /* the same in a statement of one row */
        STORES_IN_OUTBOX,   /* all under one key */
        INSERTS,            /* into the queue of jobs */
        DELETES,
    } does;
} get_form;

#define OVERFLOWS "abs(-9223372036854775807 - "

static const get_form get_forms[] = {
    {"SELECT * FROM $", SHOWS_ALL},
    {"SELECT * FROM $", SHOWS_ALL},
    {"SELECT * FROM $ ORDER BY TimeNextVisible, MessageId", SHOWS_SORTED},
    {"SELECT * FROM (SELECT * FROM $ WHERE DequeueCount > 0) LIMIT 100", SHOWS_ALL},
    {"SELECT * FROM $ LIMIT 1", SHOWS_FIRST},
    {"SELECT * FROM $ WHERE DequeueCount > 1000", SHOWS_NONE},
    {"SELECT g.* FROM (VALUES (1), (2)) v CROSS JOIN $ g", SHOWS_TWICE},
    {"SELECT g.* FROM $ g CROSS JOIN (VALUES (1), (2)) v", SHOWS_EACH_TWICE},
    {"WITH g AS MATERIALIZED (SELECT * FROM $) SELECT * FROM g UNION ALL SELECT * FROM g",
     SHOWS_TWICE},
    {"SELECT count(*) FROM $", COUNTS},
    {"SELECT (SELECT count(*) FROM $)", COUNTS},
    {"SELECT sum((SELECT count(*) FROM $ g WHERE g.DequeueCount > v.column1)) "
     "FROM (VALUES (0), (1000), (0)) v",
     COUNTS_TWICE},
    {"SELECT * FROM $ UNION ALL SELECT * FROM $", GETS_TWICE},
    {"SELECT g.*, " OVERFLOWS "(g.DequeueCount > 0)) FROM $ g", FAILS_AFTERWARDS},
    {"INSERT INTO got SELECT Body FROM $", STORES},
    {"INSERT INTO got SELECT Body FROM $ WHERE MessageId IS NOT NULL ORDER BY Body", STORES},
    {"INSERT INTO got VALUES ((SELECT Body FROM $))", STORES_ONE},
    {"INSERT INTO got SELECT " OVERFLOWS "(DequeueCount > 0)) FROM $", FAILS_TO_STORE},
    {"INSERT INTO got VALUES (" OVERFLOWS "(SELECT count(*) > 0 FROM $)))", FAILS_TO_STORE_ONE},
    {"INSERT INTO outbox(PartitionKey, RowKey) SELECT '', '0' FROM $", STORES_IN_OUTBOX},
    {"INSERT INTO jobs(Body) SELECT Body FROM $", INSERTS},
    {"DELETE FROM @ WHERE (MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM $)",
     DELETES},
};

typedef struct get_run {
    write_run write;
    const get_form *form;
    const number_choice *count;
    const number_choice *hold;
    model_rows rows;
} get_run;

static inline void hand_out(get_run *get)
{
    write_run *write = &get->write;
    model_get(&write->world->counters, state_of(write), write->place,
              most_of(write->connection, write->place), (int)get->count->value, get->hold->value,
              &get->rows);
}

static inline void want_rows(get_run *get, int first_times, int each_times)
{
    expectation *wanted = &get->write.wanted;
    *wanted = expected(SQLITE_DONE, NULL);
    wanted->shows = MESSAGES;
    for (int time = 0; time < first_times; time++) {
        for (int i = 0; i < get->rows.count * each_times; i++) {
            wanted->rows.messages[wanted->rows.count++] = get->rows.messages[i / each_times];
        }
    }
}

/* The same call at another place. In autocommit it is a transaction of its own. */
static inline void hand_out_again(get_run *get)
{
    end_write(&get->write, KEEP);
    if (begin_write(&get->write)) {
        hand_out(get);
    }
}

static inline void store_in_outbox(get_run *get)
{
    write_run *write = &get->write;
    int count = get->rows.count;
    bool *there = &state_of(write)->outbox[0];
    bool fails = count > 1 || (count == 1 && *there);
    *there = *there || count == 1;
    write->wanted = fails ? expected(SQLITE_CONSTRAINT_PRIMARYKEY, "(EntityAlreadyExists)")
                          : expected_changes(count);
    end_write(write, fails ? TAKE_BACK : KEEP);
}

static inline void insert_again(get_run *get)
{
    write_run *write = &get->write;
    bool there = state_of(write)->queues[JOBS].exists || get->rows.count == 0;
    for (int i = 0; i < get->rows.count && there; i++) {
        model_insert(&write->world->counters, state_of(write), JOBS, get->rows.messages[i].body, 0,
                     END_OF_TIME);
    }
    write->wanted = there ? expected_changes(get->rows.count) : expected(SQLITE_ERROR, "NotFound)");
    end_write(write, there ? KEEP : TAKE_BACK);
}

static inline void delete_again(get_run *get)
{
    write_run *write = &get->write;
    for (int i = 0; i < get->rows.count; i++) {
        model_take(state_of(write), write->place, get->rows.messages[i].identity);
    }
    write->wanted = expected_changes(get->rows.count);
    end_write(write, KEEP);
}

/* If there is a message, the statement fails behind the hand-out, which then is taken back or not.
 */
static inline void fail_afterwards(get_run *get, bool taken_back, expectation otherwise)
{
    bool fails = get->rows.count > 0;
    get->write.wanted = fails ? expected(SQLITE_ERROR, "integer overflow") : otherwise;
    end_write(&get->write, fails && taken_back ? TAKE_BACK : KEEP);
}

static inline void show_messages(get_run *get)
{
    switch (get->form->does) {
    case SHOWS_SORTED:
        sort_rows_as(&get->rows, model_comes_before);
        want_rows(get, 1, 1);
        break;
    case SHOWS_FIRST:
        get->rows.count = get->rows.count > 1 ? 1 : get->rows.count;
        want_rows(get, 1, 1);
        break;
    case SHOWS_NONE:
        want_rows(get, 0, 0);
        break;
    case SHOWS_TWICE:
        want_rows(get, 2, 1);
        break;
    case SHOWS_EACH_TWICE:
        want_rows(get, 1, 2);
        break;
    case GETS_TWICE:
        hand_out_again(get);
        want_rows(get, 1, 1);
        break;
    default:
        want_rows(get, 1, 1);
    }
    end_write(&get->write, KEEP);
}

static inline void use_messages(get_run *get)
{
    write_run *write = &get->write;
    int count = get->rows.count;
    switch (get->form->does) {
    case COUNTS:
    case COUNTS_TWICE:
        write->wanted = expected_number(get->form->does == COUNTS ? count : 2 * count);
        end_write(write, KEEP);
        break;
    case FAILS_AFTERWARDS:
        fail_afterwards(get, false, expected(SQLITE_DONE, NULL));
        break;
    case STORES:
    case STORES_ONE:
        write->wanted = expected_changes(get->form->does == STORES ? count : 1);
        end_write(write, KEEP);
        break;
    case FAILS_TO_STORE:
        fail_afterwards(get, true, expected_changes(0));
        break;
    case FAILS_TO_STORE_ONE:
        fail_afterwards(get, !write->connection->in_transaction, expected_changes(1));
        break;
    case STORES_IN_OUTBOX:
        store_in_outbox(get);
        break;
    case INSERTS:
        insert_again(get);
        break;
    case DELETES:
        delete_again(get);
        break;
    default:
        show_messages(get);
    }
}

/* The name that the function knows the queue by. */
static inline const char *name_to_get(model_place place, uint64_t *random)
{
    static const char *const jobs[] = {"jobs", "jobs", "JOBS", "jobs_again"};
    return place == JOBS ? *CHOOSE(random, jobs) : "jobs-poison";
}

static inline char *call_of(const get_run *get, uint64_t *random, bool by_default)
{
    const char *name = name_to_get(get->write.place, random);
    return need(by_default ? sqlite3_mprintf("pt_queue_get('%s')", name)
                           : sqlite3_mprintf("pt_queue_get('%s', %s, %s)", name,
                                             get->count->literal, get->hold->literal));
}

static inline char *fill_form(const char *form, const char *call, const char *queue)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    for (; *form != 0; form++) {
        if (*form == '$' || *form == '@') {
            sqlite3_str_appendall(sql, *form == '$' ? call : queue);
        } else {
            sqlite3_str_append(sql, form, 1);
        }
    }
    return sqlite3_str_finish(sql);
}

/* What was put aside is looked at, and gone. */
static inline void empty_got(const get_run *get)
{
    expectation wanted = expected(SQLITE_DONE, NULL);
    bool stored = get->form->does == STORES && get->write.wanted.rc == SQLITE_DONE;
    if (stored) {
        wanted = expected_number(get->rows.count);
        check(get->write.world, get->write.connection, sqlite3_mprintf("SELECT count(*) FROM got"),
              &wanted);
        wanted = expected_changes(get->rows.count);
    }
    check(get->write.world, get->write.connection, sqlite3_mprintf("DELETE FROM got"), &wanted);
}

static inline bool stores(const get_form *form)
{
    return form->does >= STORES && form->does <= FAILS_TO_STORE_ONE;
}

static inline void get_messages(queue_world *world, world_connection *connection, uint64_t *random)
{
    static const number_choice default_count = {"1", 1, SQLITE_OK, NULL};
    static const number_choice default_hold = {"30", NOT_SO_LONG_TIME, SQLITE_OK, NULL};
    bool by_default = random_below(random, 10) == 0;
    get_run get = {
        .write = {.world = world, .connection = connection, .place = choose_place(random)},
        .form = CHOOSE(random, get_forms),
        .count = by_default ? &default_count : CHOOSE(random, counts),
        .hold = by_default ? &default_hold : CHOOSE(random, holds)};
    if (begin_write(&get.write)) {
        hand_out(&get);
        use_messages(&get);
    }
    char *call = call_of(&get, random, by_default);
    check(world, connection, fill_form(get.form->sql, call, choose_table(random, get.write.place)),
          &get.write.wanted);
    sqlite3_free(call);
    if (stores(get.form)) {
        empty_got(&get);
    }
}

/* By a view, which stands for one call. */
static inline void get_by_view(queue_world *world, world_connection *connection, uint64_t *random)
{
    (void)random;
    static const number_choice one = {"1", 1, SQLITE_OK, NULL};
    static const number_choice long_hold = {"3600", LONG_TIME, SQLITE_OK, NULL};
    static const get_form form = {"SELECT * FROM next_one", SHOWS_ALL};
    get_run get = {.write = {.world = world, .connection = connection, .place = JOBS},
                   .form = &form,
                   .count = &one,
                   .hold = &long_hold};
    if (begin_write(&get.write)) {
        hand_out(&get);
        use_messages(&get);
    }
    check(world, connection, sqlite3_mprintf("%s", form.sql), &get.write.wanted);
}

/* CREATE TABLE .. AS. */
static inline void get_into_table(queue_world *world, world_connection *connection,
                                  uint64_t *random)
{
    get_run get = {
        .write = {.world = world, .connection = connection, .place = choose_place(random)},
        .form = get_forms,
        .count = CHOOSE(random, counts),
        .hold = CHOOSE(random, holds)};
    expectation done = expected(SQLITE_DONE, NULL);
    bool made = begin_write(&get.write);
    if (made) {
        hand_out(&get);
        use_messages(&get);
    }
    char *call = call_of(&get, random, false);
    check(world, connection, sqlite3_mprintf("CREATE TEMP TABLE made AS SELECT * FROM %z", call),
          made ? &done : &get.write.wanted);
    if (made) {
        check(world, connection, sqlite3_mprintf("SELECT * FROM made"), &get.write.wanted);
        check(world, connection, sqlite3_mprintf("DROP TABLE made"), &done);
    }
}

static inline void get_wrongly(queue_world *world, world_connection *connection, uint64_t *random)
{
    write_run run = {.world = world, .connection = connection, .place = choose_place(random)};
    bool count = random_below(random, 2) == 0;
    const number_choice *fault = CHOOSE(random, wrong_timeouts);
    if (count) {
        fault = CHOOSE(random, wrong_counts);
    }
    if (begin_write(&run)) {
        run.wanted = expected(fault->rc, fault->says);
        end_write(&run, TAKE_BACK);
    }
    check(world, connection,
          sqlite3_mprintf("SELECT * FROM pt_queue_get('%s', %s, %s)",
                          name_to_get(run.place, random), count ? fault->literal : "1",
                          count ? "30" : fault->literal),
          &run.wanted);
}

/* --- Reading what was handed out while other statements run --- */

/* One more row, or the end. */
static inline void read_on(queue_world *world, world_connection *connection, const char *what)
{
    show_statement(world, connection, what);
    sql_effect effect = {.rc = sqlite3_step(connection->reader)};
    expectation wanted = expected(SQLITE_DONE, NULL);
    if (connection->read < connection->reads.count) {
        wanted.rc = SQLITE_ROW;
        wanted.rows.messages[wanted.rows.count++] = connection->reads.messages[connection->read++];
    }
    if (effect.rc == SQLITE_ROW) {
        add_cells(&effect, connection->reader);
    } else if (effect.rc != SQLITE_DONE) {
        take_error(connection->db, &effect);
    }
    bool same = effect.rc == wanted.rc && are_messages(world, &effect, &wanted.rows);
    judge(world, what, &effect, &wanted, same);
    if (effect.rc != SQLITE_ROW) {
        sqlite3_finalize(connection->reader);
        connection->reader = NULL;
    }
    effect_free(&effect);
}

static inline void open_reader(queue_world *world, world_connection *connection, uint64_t *random)
{
    get_run get = {
        .write = {.world = world, .connection = connection, .place = choose_place(random)},
        .form = get_forms,
        .count = CHOOSE(random, counts),
        .hold = CHOOSE(random, holds)};
    char *call = call_of(&get, random, false);
    char *sql = need(sqlite3_mprintf("SELECT * FROM %z", call));
    if (begin_write(&get.write)) {
        hand_out(&get);
        use_messages(&get);
        connection->reads = get.rows;
        connection->read = 0;
        must_be_ok(sqlite3_prepare_v2(connection->db, sql, -1, &connection->reader, NULL), sql);
        read_on(world, connection, sql);
        sqlite3_free(sql);
    } else {
        check(world, connection, sql, &get.write.wanted);
    }
}

static inline void use_reader(queue_world *world, world_connection *connection, uint64_t *random)
{
    if (connection->reader == NULL) {
        open_reader(world, connection, random);
    } else {
        read_on(world, connection, "-- read on");
    }
}

#endif
