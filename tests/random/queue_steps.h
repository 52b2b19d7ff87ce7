/*
 * What a random test of queues does, one step after the other: a connection, a kind of statement
 * and a number from which all about it is chosen, so that steps can be carried out again.
 */
#ifndef TESTS_RANDOM_QUEUE_STEPS_H
#define TESTS_RANDOM_QUEUE_STEPS_H

#include "random/queue_getting.h"
#include "random/queue_reading.h"
#include "random/queue_updating.h"

/* --- Transactions --- */

static inline void run_control(queue_world *world, world_connection *connection, char *sql)
{
    expectation done = expected(SQLITE_DONE, NULL);
    check(world, connection, sql, &done);
}

static inline void begin(queue_world *world, world_connection *connection, uint64_t *random)
{
    bool immediate = !world->host->one_main && random_below(random, 4) == 0;
    connection->in_transaction = true;
    connection->begun_by_savepoint = false;
    run_control(world, connection, sqlite3_mprintf("BEGIN%s", immediate ? " IMMEDIATE" : ""));
}

static inline void open_savepoint(queue_world *world, world_connection *connection, char name)
{
    model_savepoint *savepoint = &connection->savepoints[connection->savepoint_count++];
    connection->begun_by_savepoint = connection->begun_by_savepoint || !connection->in_transaction;
    connection->in_transaction = true;
    savepoint->name = name;
    savepoint->writing = connection->writing;
    savepoint->state = connection->view;
    run_control(world, connection, sqlite3_mprintf("SAVEPOINT %c", name));
}

static inline void release(queue_world *world, world_connection *connection, int number)
{
    char name = connection->savepoints[number].name;
    connection->savepoint_count = number;
    if (number == 0 && connection->begun_by_savepoint) {
        model_end(world, connection, true);
    }
    run_control(world, connection, sqlite3_mprintf("RELEASE %c", name));
}

static inline void roll_back_to(queue_world *world, world_connection *connection, int number)
{
    const model_savepoint *savepoint = &connection->savepoints[number];
    connection->savepoint_count = number + 1;
    if (connection->writing) {
        connection->view = savepoint->writing ? savepoint->state : world->committed;
    }
    run_control(world, connection, sqlite3_mprintf("ROLLBACK TO %c", savepoint->name));
}

static inline void end(queue_world *world, world_connection *connection, bool keep)
{
    model_end(world, connection, keep);
    run_control(world, connection, sqlite3_mprintf("%s", keep ? "COMMIT" : "ROLLBACK"));
}

/* Of savepoints with one name the innermost is meant. */
static inline int innermost(const world_connection *connection, int number)
{
    int i = connection->savepoint_count - 1;
    while (connection->savepoints[i].name != connection->savepoints[number].name) {
        i--;
    }
    return i;
}

static inline void control(queue_world *world, world_connection *connection, uint64_t *random)
{
    unsigned choice = random_below(random, 12);
    if (choice < 4 && connection->savepoint_count < SAVEPOINTS_MAX) {
        open_savepoint(world, connection, (char)('x' + random_below(random, 3)));
    } else if (choice < 8 && connection->savepoint_count > 0) {
        int number = (int)random_below(random, (unsigned)connection->savepoint_count);
        number = innermost(connection, number);
        if (random_below(random, 2) == 0) {
            release(world, connection, number);
        } else {
            roll_back_to(world, connection, number);
        }
    } else if (!connection->in_transaction) {
        begin(world, connection, random);
    } else {
        end(world, connection, choice % 3 != 0);
    }
}

/* An entity of another table and a message, both or neither. */
static inline void send_with_entity(queue_world *world, world_connection *connection,
                                    uint64_t *random)
{
    if (connection->savepoint_count == SAVEPOINTS_MAX) {
        return;
    }
    int number = connection->savepoint_count;
    open_savepoint(world, connection, 'o');
    write_outbox(world, connection, random);
    insert_rows(world, connection, random);
    if (connection->savepoint_count <= number) {
        return; /* OR ROLLBACK has ended all of it */
    }
    if (random_below(random, 2) == 0) {
        roll_back_to(world, connection, number);
    }
    release(world, connection, number);
}

/* --- Tables --- */

/* A queue is dropped from the store. The catalogue is read before it is written. */
static inline void drop_queue(queue_world *world, world_connection *connection, model_place place)
{
    if (!model_read(world, connection)->queues[place].exists) {
        return;
    }
    write_run run = {.world = world, .connection = connection, .place = place};
    if (begin_write(&run)) {
        memset(&state_of(&run)->queues[place], 0, sizeof(model_queue));
        state_of(&run)->wrote = true;
        run.wanted = expected_changes(1);
        end_write(&run, KEEP);
    }
    const char *store = world->host->private_store ? "" : "Store = '" SHARED_STORE "' AND ";
    check(world, connection,
          sqlite3_mprintf("DELETE FROM pt_tables WHERE %sTableName = '%s'", store,
                          place == JOBS ? "jobs" : "jobs-poison"),
          &run.wanted);
}

static inline void drop_any_queue(queue_world *world, world_connection *connection,
                                  uint64_t *random)
{
    drop_queue(world, connection, random_below(random, 4) == 0 ? JOBS : POISON);
}

/* True if the connection can write now, and with it the main database that others share. */
static inline bool is_free_to_write(const queue_world *world, const world_connection *connection)
{
    bool free = world->writer == NULL || world->writer == connection;
    for (int i = 0; i < world->host->connections && world->host->one_main; i++) {
        free =
            free && !world->connections[i].in_transaction && world->connections[i].reader == NULL;
    }
    return free &&
           (!connection->has_view || connection->version == world->version || connection->writing);
}

/* The virtual table goes and comes back; its messages stay, or a queue that was dropped is made. */
static inline void declare_again(queue_world *world, world_connection *connection, uint64_t *random)
{
    if (!is_free_to_write(world, connection)) {
        return;
    }
    model_place place = random_below(random, 2) == 0 ? JOBS : POISON;
    unsigned most = random_below(random, 4);
    if (place == JOBS && !world->host->one_main && !connection->in_transaction) {
        connection->max_dequeue_count = (int)most;
    }
    run_control(world, connection, sqlite3_mprintf("DROP TABLE %s", queue_names[place]));
    if (place == JOBS) {
        run_control(world, connection, sqlite3_mprintf("DROP TABLE jobs_again"));
    }
    model_write(world, connection);
    connection->view.wrote = connection->view.wrote || !connection->view.queues[place].exists;
    connection->view.queues[place].exists = true;
    model_end_statement(world, connection, true);
    run_control(world, connection, declaration_of(world, connection, place));
    if (place == JOBS) {
        run_control(world, connection, second_declaration(world, connection));
    }
}

/* Whoever holds the queue's tables in a database in memory declares them again. */
static inline void open_again(queue_world *world, world_connection *connection, uint64_t *random)
{
    (void)random;
    const model_queue *queues = world->committed.queues;
    if (world->host->private_store || !is_free_to_write(world, connection) ||
        !queues[JOBS].exists || !queues[POISON].exists) {
        return;
    }
    if (world->prints_statements) {
        printf("# %d> -- close and open\n", connection->number);
    }
    model_end(world, connection, false);
    must_be_ok(sqlite3_close(connection->db), "closing a connection");
    open_connection(world, connection);
    declare_tables(world, connection);
}

/* --- Any step --- */

typedef void (*step_function)(queue_world *, world_connection *, uint64_t *);

typedef struct queue_step {
    step_function run;
    int connection;
    uint64_t random;
} queue_step;

static const struct queue_choice {
    unsigned weight;
    step_function run;
} queue_choices[] = {
    {140, insert_rows},    {30, copy_messages},    {20, insert_half},     {20, insert_by_trigger},
    {200, get_messages},   {15, get_by_view},      {25, get_into_table},  {25, get_wrongly},
    {90, update_messages}, {20, update_from},      {90, delete_messages}, {90, update_by_function},
    {40, peek_all},        {60, peek_range},       {60, peek_some},       {30, count_entities},
    {40, write_outbox},    {40, send_with_entity}, {220, control},        {6, drop_any_queue},
    {15, declare_again},   {5, open_again},        {40, use_reader},
};

static inline step_function choose_step(uint64_t *random)
{
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof queue_choices / sizeof queue_choices[0]; i++) {
        sum += queue_choices[i].weight;
    }
    unsigned at = random_below(random, sum);
    const struct queue_choice *choice = queue_choices;
    while (at >= choice->weight) {
        at -= choice->weight;
        choice++;
    }
    return choice->run;
}

/* Who writes goes on more often than others try to. */
static inline queue_step next_queue_step(const queue_world *world, uint64_t *random)
{
    int connection = (int)random_below(random, (unsigned)world->host->connections);
    if (world->writer != NULL && random_below(random, 2) == 0) {
        connection = world->writer->number;
    }
    return (queue_step){
        .run = choose_step(random), .connection = connection, .random = random_next(random)};
}

/* More messages than a test needs are taken away. */
enum { MESSAGES_ENOUGH = 50 };

static inline bool empty_full_queue(queue_world *world, world_connection *connection,
                                    model_place place)
{
    const model_state *state = connection->has_view ? &connection->view : &world->committed;
    if (state->queues[place].count < MESSAGES_ENOUGH) {
        return false;
    }
    write_run run = {.world = world, .connection = connection, .place = place};
    if (begin_write(&run)) {
        model_rows all;
        model_peek(&world->counters, state_of(&run), place, &all);
        for (int i = 0; i < all.count; i++) {
            model_take(state_of(&run), place, all.messages[i].identity);
        }
        run.wanted = expected_changes(all.count);
        end_write(&run, KEEP);
    }
    check(world, connection,
          sqlite3_mprintf("DELETE FROM %s WHERE (MessageId, PopReceipt) IN (SELECT MessageId, "
                          "PopReceipt FROM %s)",
                          queue_names[place], queue_names[place]),
          &run.wanted);
    return true;
}

/*
 * Where all have one main database, a transaction whose statement could not write to the store may
 * keep the others from writing to the main database.
 */
static inline void give_way(queue_world *world, world_connection *connection)
{
    if (connection->refused && connection->in_transaction && world->host->one_main) {
        end(world, connection, false);
    }
    connection->refused = false;
}

/* Tables are dropped only where no statement is being read. */
static inline bool drops_tables(step_function function)
{
    return function == get_into_table || function == declare_again || function == open_again;
}

static inline void perform_queue_step(queue_world *world, const queue_step *step)
{
    world_connection *connection = &world->connections[step->connection];
    uint64_t random = step->random;
    bool can_run = connection->reader == NULL || !drops_tables(step->run);
    if (!empty_full_queue(world, connection, JOBS) &&
        !empty_full_queue(world, connection, POISON) && can_run) {
        step->run(world, connection, &random);
    }
    give_way(world, connection);
    check_everything(world, connection);
}

#endif
