/*
 * Random arguments of statements on queues, and what they mean to the model.
 */
#ifndef TESTS_RANDOM_QUEUE_CHOICES_H
#define TESTS_RANDOM_QUEUE_CHOICES_H

#include "random/queue_judge.h"
#include "random/random.h"

#define CHOOSE(random, list) (&(list)[random_below(random, sizeof(list) / sizeof(list)[0])])

/* --- Numbers --- */

/* A literal of SQL: what it means, or how it is refused. */
typedef struct number_choice {
    const char *literal;
    int64_t value;
    int rc; /* SQLITE_OK */
    const char *says;
} number_choice;

static const number_choice delays[] = {
    {"NULL", 0, SQLITE_OK, NULL},           {"0", 0, SQLITE_OK, NULL},
    {"NULL", 0, SQLITE_OK, NULL},           {"0.0", 0, SQLITE_OK, NULL},
    {"1e-7", SHORT_TIME, SQLITE_OK, NULL},  {"3600", LONG_TIME, SQLITE_OK, NULL},
    {"'3600'", LONG_TIME, SQLITE_OK, NULL}, {"1e300", END_OF_TIME, SQLITE_OK, NULL},
};

static const number_choice lives[] = {
    {"NULL", END_OF_TIME, SQLITE_OK, NULL}, {"NULL", END_OF_TIME, SQLITE_OK, NULL},
    {"-1", END_OF_TIME, SQLITE_OK, NULL},   {"1e-7", SHORT_TIME, SQLITE_OK, NULL},
    {"3600", LONG_TIME, SQLITE_OK, NULL},   {"9223372036854775807", END_OF_TIME, SQLITE_OK, NULL},
};

static const number_choice holds[] = {
    {"1e-7", SHORT_TIME, SQLITE_OK, NULL},       {"1e-7", SHORT_TIME, SQLITE_OK, NULL},
    {"0.0000001", SHORT_TIME, SQLITE_OK, NULL},  {"3600", LONG_TIME, SQLITE_OK, NULL},
    {"30.0", NOT_SO_LONG_TIME, SQLITE_OK, NULL}, {"1e12", END_OF_TIME, SQLITE_OK, NULL},
};

static const number_choice timeouts[] = {
    {"0", 0, SQLITE_OK, NULL},
    {"'0'", 0, SQLITE_OK, NULL},
    {"1e-7", SHORT_TIME, SQLITE_OK, NULL},
    {"3600", LONG_TIME, SQLITE_OK, NULL},
    {"1e300", END_OF_TIME, SQLITE_OK, NULL},
};

static const number_choice wrong_timeouts[] = {
    {"-1", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"-1e-7", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"'soon'", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
    {"x'30'", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
};

static const number_choice wrong_lives[] = {
    {"0", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"-2", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"''", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
};

static const number_choice counts[] = {
    {"1", 1, SQLITE_OK, NULL}, {"1", 1, SQLITE_OK, NULL},   {"2", 2, SQLITE_OK, NULL},
    {"3", 3, SQLITE_OK, NULL}, {"'2'", 2, SQLITE_OK, NULL}, {"20", 20, SQLITE_OK, NULL},
};

static const number_choice wrong_counts[] = {
    {"0", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"-3", 0, SQLITE_CONSTRAINT_VTAB, "(OutOfRangeQueryParameterValue)"},
    {"'many'", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
    {"1.5", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
    {"NULL", 0, SQLITE_MISMATCH, "(InvalidQueryParameterValue)"},
};

/* --- Bodies --- */

static inline int choose_body(uint64_t *random)
{
    bool is_long = random_below(random, 25) == 0;
    return is_long ? BODIES - 1 - (int)random_below(random, LONG_BODIES)
                   : (int)random_below(random, BODIES - LONG_BODIES);
}

static const number_choice wrong_bodies[] = {
    {"NULL", 0, SQLITE_CONSTRAINT_NOTNULL, "Body is NULL"},
    {"7", 0, SQLITE_MISMATCH, "CAST(... AS TEXT)"},
    {"-0.5", 0, SQLITE_MISMATCH, "CAST(... AS TEXT)"},
};

/* --- Places --- */

static inline model_place choose_place(uint64_t *random)
{
    return random_below(random, 6) == 0 ? POISON : JOBS;
}

/* A virtual table of a place. */
static inline const char *choose_table(uint64_t *random, model_place place)
{
    bool second = place == JOBS && random_below(random, 4) == 0;
    return second ? "jobs_again" : queue_names[place];
}

/* How often a message of a place is handed out at most. */
static inline int most_of(const world_connection *connection, model_place place)
{
    return place == JOBS ? connection->max_dequeue_count : 0;
}

/* --- What says that a message is held --- */

/* Literals of SQL. */
typedef struct held_pair {
    const char *id;
    const char *receipt;
} held_pair;

static inline const char *receipt_literal(queue_world *world, int receipt)
{
    const char *known = known_receipt_of(world, receipt)->receipt;
    return known != NULL ? known : "'not known'";
}

static inline const char *id_literal(queue_world *world, int identity)
{
    const char *known = known_message_of(world, identity)->id;
    return known != NULL ? known : "'nobody'";
}

static inline held_pair pair_of(queue_world *world, const model_message *message)
{
    return (held_pair){id_literal(world, message->identity),
                       receipt_literal(world, message->receipt)};
}

/* One that was issued at some time. */
static inline held_pair choose_issued_pair(queue_world *world, uint64_t *random)
{
    int receipt = (int)random_below(random, (unsigned)world->counters.receipts);
    return (held_pair){id_literal(world, world->counters.receipt_owners[receipt]),
                       receipt_literal(world, receipt)};
}

static inline held_pair choose_pair(queue_world *world, const model_state *state, model_place place,
                                    uint64_t *random)
{
    static const held_pair made_up[] = {
        {"'x'", "'y'"},
        {"''", "''"},
        {"NULL", "NULL"},
        {"x'00'", "'0'"},
        {"'01937b5e-0000-7000-8000-000000000000'",
         "'0639000000000000000-00000000-0000-4000-8000-000000000000'"},
    };
    model_rows rows;
    model_peek(&world->counters, state, place, &rows);
    unsigned choice = random_below(random, 20);
    if (!state->queues[place].exists) {
        return made_up[0]; /* for NULL nobody looks whether there is a queue */
    }
    if (choice < 15 && rows.count > 0) {
        return pair_of(world, &rows.messages[random_below(random, (unsigned)rows.count)]);
    }
    if (choice == 19 || world->counters.receipts == 0) {
        return *CHOOSE(random, made_up);
    }
    held_pair pair = choose_issued_pair(world, random);
    if (choice == 18) {
        pair.receipt = choose_issued_pair(world, random).receipt;
    } else if (choice == 17) {
        pair.id = choose_issued_pair(world, random).id;
    }
    return pair;
}

/* The number of a pair's message in the rows; NOT_HELD; NO_PAIR: something is NULL, so that WHERE
 * fits no message. */
enum { NOT_HELD = -1, NO_PAIR = -2 };

static inline int find_held(queue_world *world, const model_rows *rows, const held_pair *pair)
{
    if (strcmp(pair->id, "NULL") == 0 || strcmp(pair->receipt, "NULL") == 0) {
        return NO_PAIR;
    }
    for (int i = 0; i < rows->count; i++) {
        const model_message *message = &rows->messages[i];
        const char *id = known_message_of(world, message->identity)->id;
        const char *receipt = known_receipt_of(world, message->receipt)->receipt;
        bool seen =
            id != NULL && receipt != NULL; /* the test cannot name a message that it has not seen */
        if (seen && strcmp(pair->id, id) == 0 && strcmp(pair->receipt, receipt) == 0) {
            return i;
        }
    }
    return NOT_HELD;
}

/* --- Which messages a statement means --- */

enum { PAIRS_MAX = 3 };

/* What a WHERE finds. */
typedef struct finding {
    char *where;     /* SQL; from sqlite3_malloc */
    bool by_receipt; /* so that the messages found may be changed */
    bool refused;    /* one of the receipts is not the current one */
    model_rows rows; /* in the order in which they are found */
} finding;

/* What is found twice counts once. */
static inline void add_found(finding *found, const model_message *message)
{
    model_rows *rows = &found->rows;
    for (int i = 0; i < rows->count; i++) {
        if (rows->messages[i].identity == message->identity) {
            return;
        }
    }
    rows->messages[rows->count++] = *message;
}

static inline void sort_rows_as(model_rows *rows,
                                bool (*comes_before)(const model_message *, const model_message *))
{
    for (int i = 1; i < rows->count; i++) {
        model_message message = rows->messages[i];
        int at = i;
        while (at > 0 && comes_before(&message, &rows->messages[at - 1])) {
            rows->messages[at] = rows->messages[at - 1];
            at--;
        }
        rows->messages[at] = message;
    }
}

static inline bool is_older(const model_message *a, const model_message *b)
{
    return a->identity < b->identity;
}

static inline void sort_rows_by_identity(model_rows *rows)
{
    sort_rows_as(rows, is_older);
}

static inline void find_pairs(queue_world *world, const model_rows *all, const held_pair *pairs,
                              int count, finding *found)
{
    found->by_receipt = true;
    for (int i = 0; i < count; i++) {
        int number = find_held(world, all, &pairs[i]);
        found->refused = found->refused || number == NOT_HELD;
        if (number >= 0) {
            add_found(found, &all->messages[number]);
        }
    }
}

static inline char *where_pair(uint64_t *random, const held_pair *pair)
{
    static const char *const forms[] = {
        "MessageId = %s AND PopReceipt = %s",
        "MessageId = %s AND PopReceipt = %s",
        "(MessageId, PopReceipt) = (%s, %s)",
        "MessageId IS %s AND PopReceipt = %s AND DequeueCount >= 0",
        "(MessageId, PopReceipt) IN (SELECT %s, %s)",
    };
    const char *form = *CHOOSE(random, forms);
    return sqlite3_mprintf(form, pair->id, pair->receipt);
}

static inline char *where_any_pair(const held_pair *pairs, int count)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendf(text, "%sMessageId = %s AND PopReceipt = %s", i == 0 ? "" : " OR ",
                            pairs[i].id, pairs[i].receipt);
    }
    return sqlite3_str_finish(text);
}

static inline char *where_in_pairs(const held_pair *pairs, int count)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text,
                          "(MessageId, PopReceipt) IN (SELECT column1, column2 FROM (VALUES ");
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendf(text, "%s(%s, %s)", i == 0 ? "" : ", ", pairs[i].id, pairs[i].receipt);
    }
    sqlite3_str_appendall(text, "))");
    return sqlite3_str_finish(text);
}

/* With OR messages are found in the order of the pairs, with IN in that of their identities. */
static inline void find_by_receipts(queue_world *world, const model_state *state, model_place place,
                                    uint64_t *random, const model_rows *all, finding *found)
{
    held_pair pairs[PAIRS_MAX];
    int count = 1 + (random_below(random, 3) == 0 ? (int)random_below(random, PAIRS_MAX) : 0);
    for (int i = 0; i < count; i++) {
        pairs[i] = choose_pair(world, state, place, random);
    }
    find_pairs(world, all, pairs, count, found);
    if (count == 1) {
        found->where = where_pair(random, &pairs[0]);
    } else if (random_below(random, 3) == 0) {
        found->where = where_any_pair(pairs, count);
    } else {
        found->where = where_in_pairs(pairs, count);
        sort_rows_by_identity(&found->rows);
    }
}

/* The messages that are visible, by a subquery. */
static inline void find_visible(const queue_world *world, const char *queue, const model_rows *all,
                                finding *found)
{
    found->by_receipt = true;
    for (int i = 0; i < all->count; i++) {
        if (all->messages[i].next_visible <= world->counters.clock) {
            add_found(found, &all->messages[i]);
        }
    }
    sort_rows_by_identity(&found->rows);
    found->where = sqlite3_mprintf("(MessageId, PopReceipt) IN (SELECT MessageId, PopReceipt FROM "
                                   "%s WHERE TimeNextVisible <= pt_datetime())",
                                   queue);
}

/* Without a receipt, or in a way that does not lead to it. */
static inline void find_otherwise(queue_world *world, const model_state *state, model_place place,
                                  uint64_t *random, const model_rows *all, finding *found)
{
    held_pair pair = choose_pair(world, state, place, random);
    unsigned form = random_below(random, 4);
    for (int i = 0; i < all->count; i++) {
        held_pair of_row = pair_of(world, &all->messages[i]);
        bool same_id = strcmp(of_row.id, pair.id) == 0;
        bool same_receipt = strcmp(of_row.receipt, pair.receipt) == 0;
        bool counted = all->messages[i].dequeue_count > 1;
        if (form == 0 ? same_id
                      : (form == 1 ? same_receipt
                                   : (form == 2 ? (same_id && same_receipt) || counted : true))) {
            found->rows.messages[found->rows.count++] = all->messages[i];
        }
    }
    static const char *const forms[] = {
        "MessageId = %s%.0s",
        "%.0sPopReceipt = %s",
        "(MessageId = %s AND PopReceipt = %s) OR DequeueCount > 1",
        "1%.0s%.0s",
    };
    found->where = sqlite3_mprintf(forms[form], pair.id, pair.receipt);
}

static inline void choose_messages(queue_world *world, const model_state *state, model_place place,
                                   uint64_t *random, finding *found)
{
    model_rows all;
    model_peek(&world->counters, state, place, &all);
    memset(found, 0, sizeof *found);
    unsigned choice = random_below(random, 12);
    if (choice == 0) {
        find_otherwise(world, state, place, random, &all, found);
    } else if (choice == 1) {
        find_visible(world, choose_table(random, place), &all, found);
    } else {
        find_by_receipts(world, state, place, random, &all, found);
    }
    need(found->where);
}

#endif
