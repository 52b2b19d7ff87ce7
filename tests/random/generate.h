/*
 * Chooses the next step at random, so that it makes sense where the databases stand.
 */
#ifndef TESTS_RANDOM_GENERATE_H
#define TESTS_RANDOM_GENERATE_H

#include "random/catalog.h"
#include "random/filters.h"
#include "random/operations.h"
#include "random/statements.h"
#include "random/twins.h"
#include "random/uniqueness.h"
#include "random/values.h"

enum { SAVEPOINTS = 5 };

typedef struct step_generator {
    uint64_t random;
    bool utf16;
    bool long_keys;              /* most keys are */
    bool unique;                 /* the host's */
    char savepoints[SAVEPOINTS]; /* their names, the outermost first */
    int savepoint_count;
} step_generator;

/* Of rules with one name the first is meant. */
static const sql_rule *const rules_for_queries[] = {
    long_key_rules, catalog_rules,   filter_rules, operation_rules,  query_rules,
    change_rules,   condition_rules, value_rules,  uniqueness_rules, NULL};
static const sql_rule *const rules_for_changes[] = {
    long_key_rules,  change_rules, uniqueness_rules, catalog_rules, filter_rules,
    operation_rules, query_rules,  condition_rules,  value_rules,   NULL};

/* The text of a Filter and its twin's have other parameters; LIMIT takes only numbers, and
 * pt_entity_key only keys. */
static inline bool may_run_again(const sql_statement *statement, const sql_statement *twin)
{
    return statement->bound_count > 0 && strcmp(statement->sql, twin->sql) == 0 &&
           strstr(statement->sql, "LIMIT ") == NULL &&
           strstr(statement->sql, "pt_entity_key") == NULL;
}

static inline test_step step_of_rule(step_generator *generator, step_kind kind, const char *rule)
{
    bool reads = kind == STEP_ORDERED || kind == STEP_UNORDERED || kind == STEP_CURSOR_OPEN ||
                 kind == STEP_KEEP;
    sql_grammar grammar = {.tables = reads ? rules_for_queries : rules_for_changes};
    grammar.tables += generator->long_keys ? 0 : 1;
    uint64_t same = generator->random;
    test_step step = {.kind = kind};
    step.statement = grammar_write(&grammar, &generator->random, rule);
    grammar.side = SIDE_ORDINARY;
    step.twin = grammar_write(&grammar, &same, rule);
    step.statement.again = reads && may_run_again(&step.statement, &step.twin);
    step.twin.again = step.statement.again;
    return step;
}

static inline test_step step_of_text(step_kind kind, const char *format, char name)
{
    return (test_step){.kind = kind,
                       .statement = {.sql = need(sqlite3_mprintf(format, name))},
                       .twin = {.sql = need(sqlite3_mprintf(format, name))}};
}

/* --- Transactions --- */

/* Gives savepoints that are not there any more up. */
static inline void follow_transaction(step_generator *generator, const twin_pair *twins)
{
    if (sqlite3_get_autocommit(twins->ordinary)) {
        generator->savepoint_count = 0;
    }
}

static inline test_step savepoint(step_generator *generator)
{
    char name = (char)('x' + random_below(&generator->random, 3));
    generator->savepoints[generator->savepoint_count++] = name;
    return step_of_text(STEP_CONTROL, "SAVEPOINT %c", name);
}

/* Of savepoints with one name the innermost is meant. */
static inline int innermost(const step_generator *generator, char name)
{
    int i = generator->savepoint_count - 1;
    while (generator->savepoints[i] != name) {
        i--;
    }
    return i;
}

static inline test_step leave_savepoint(step_generator *generator)
{
    unsigned count = (unsigned)generator->savepoint_count;
    char name = generator->savepoints[random_below(&generator->random, count)];
    int place = innermost(generator, name);
    if (random_below(&generator->random, 2) == 0) {
        generator->savepoint_count = place;
        return step_of_text(STEP_CONTROL, "RELEASE %c", name);
    }
    generator->savepoint_count = place + 1;
    return step_of_text(STEP_CONTROL, "ROLLBACK TO %c", name);
}

static inline test_step control(step_generator *generator, const twin_pair *twins)
{
    bool outside = sqlite3_get_autocommit(twins->ordinary);
    unsigned choice = random_below(&generator->random, 10);
    if (choice < 3 && generator->savepoint_count < SAVEPOINTS) {
        return savepoint(generator);
    }
    if (choice < 7 && generator->savepoint_count > 0) {
        return leave_savepoint(generator);
    }
    if (outside) {
        return step_of_rule(generator, STEP_CONTROL, "begin");
    }
    return step_of_rule(generator, STEP_CONTROL, choice % 3 == 0 ? "rollback" : "commit");
}

/* --- Cursors --- */

static inline test_step cursor_step(step_generator *generator, const twin_pair *twins)
{
    int cursor = (int)random_below(&generator->random, CURSORS);
    if (twins->cursors[cursor] == NULL) {
        static const char *const rules[] = {"ordered", "unordered", "filtered_ordered",
                                            "filtered_unordered"};
        test_step opened =
            step_of_rule(generator, STEP_CURSOR_OPEN, rules[random_below(&generator->random, 4)]);
        opened.cursor = cursor;
        opened.rows = 1;
        return opened;
    }
    bool close = random_below(&generator->random, 6) == 0;
    return (test_step){.kind = close ? STEP_CURSOR_CLOSE : STEP_CURSOR_READ,
                       .cursor = cursor,
                       .rows = 1 + (int)random_below(&generator->random, 5)};
}

/* --- Kept statements --- */

static inline test_step kept_step(step_generator *generator)
{
    int number = (int)random_below(&generator->random, KEPT_STATEMENTS);
    if (random_below(&generator->random, 4) != 0) {
        return (test_step){.kind = STEP_KEPT, .cursor = number};
    }
    test_step step = step_of_rule(generator, STEP_KEEP, "index_unordered");
    step.cursor = number;
    step.statement.again = false;
    step.twin.again = false;
    return step;
}

/* --- Any step --- */

typedef struct step_choice {
    unsigned weight; /* 0: there are no more */
    step_kind kind;
    const char *rule;
} step_choice;

static const step_choice unique_choices[] = {
    {90, STEP_ORDERED, "ordered"},
    {90, STEP_UNORDERED, "unordered"},
    {120, STEP_UNORDERED, "index_unordered"},
    {80, STEP_ORDERED, "index_ordered"},
    {100, STEP_KEPT, NULL},
    {110, STEP_CHANGE, "insert"},
    {90, STEP_CHANGE, "insert_other"},
    {110, STEP_CHANGE, "update_one"},
    {50, STEP_CHANGE, "move_one"},
    {25, STEP_CHANGE, "delete"},
    {1, STEP_CHANGE, "clear"},
    {25, STEP_UNORDERED, "everything"},
    {110, STEP_CONTROL, NULL},
    {20, STEP_CURSOR_OPEN, NULL},
    {3, STEP_REOPEN, NULL},
    {90, STEP_OPERATION, "operation"},
    {10, STEP_CHANGE, "see"},
    {10, STEP_UNORDERED, "tagged_query"},
    {25, STEP_INDEX, "make_index"},
    {15, STEP_INDEX, "drop_index"},
    {15, STEP_UNORDERED, "list_indexes"},
    {2, STEP_CONTROL, "make_again"},
    {8, STEP_CONTROL, "delete_partitions"},
    {10, STEP_UNORDERED, "counts"},
    {0, STEP_CONTROL, NULL},
};

static const step_choice choices[] = {
    {270, STEP_ORDERED, "ordered"},
    {240, STEP_UNORDERED, "unordered"},
    {140, STEP_CHANGE, "insert"},
    {70, STEP_CHANGE, "update"},
    {30, STEP_CHANGE, "move_one"},
    {15, STEP_CHANGE_ROWS, "move_many"},
    {25, STEP_CHANGE, "delete"},
    {1, STEP_CHANGE, "clear"},
    {25, STEP_UNORDERED, "everything"},
    {110, STEP_CONTROL, NULL},
    {70, STEP_CURSOR_OPEN, NULL},
    {3, STEP_REOPEN, NULL},
    {1, STEP_REDECLARE, NULL},
    {60, STEP_ORDERED, "filtered_ordered"},
    {90, STEP_UNORDERED, "filtered_unordered"},
    {15, STEP_CHANGE, "filtered_change"},
    {90, STEP_OPERATION, "operation"},
    {20, STEP_CHANGE, "see"},
    {10, STEP_CHANGE, "tagged_change"},
    {10, STEP_UNORDERED, "tagged_query"},
    {1, STEP_CONTROL, "drop_table"},
    {3, STEP_CONTROL, "remake_table"},
    {20, STEP_CONTROL, "make_table"},
    {10, STEP_CONTROL, "delete_partitions"},
    {20, STEP_UNORDERED, "counts"},
    {0, STEP_CONTROL, NULL},
};

static inline const step_choice *choose(step_generator *generator)
{
    const step_choice *choice = generator->unique ? unique_choices : choices;
    unsigned sum = 0;
    for (const step_choice *i = choice; i->weight != 0; i++) {
        sum += i->weight;
    }
    unsigned at = random_below(&generator->random, sum);
    while (at >= choice->weight) {
        at -= choice->weight;
        choice++;
    }
    return choice;
}

/* True if the choice makes sense now. */
static inline bool fits(const step_generator *generator, const twin_pair *twins,
                        const step_choice *choice)
{
    switch (choice->kind) {
    case STEP_CHANGE_ROWS:
        /* Texts in UTF-16 have another order, in which the twin visits its rows. */
        return !generator->utf16;
    case STEP_REOPEN:
        return twins->host->file != NULL;
    case STEP_REDECLARE:
        return sqlite3_get_autocommit(twins->ordinary) != 0;
    default:
        return true;
    }
}

static inline test_step next_step(step_generator *generator, const twin_pair *twins)
{
    follow_transaction(generator, twins);
    const step_choice *choice = choose(generator);
    while (!fits(generator, twins, choice)) {
        choice = choose(generator);
    }
    if (choice->kind == STEP_CONTROL && choice->rule == NULL) {
        return control(generator, twins);
    }
    if (choice->kind == STEP_CURSOR_OPEN) {
        return cursor_step(generator, twins);
    }
    if (choice->kind == STEP_KEPT) {
        return kept_step(generator);
    }
    return choice->rule == NULL ? (test_step){.kind = choice->kind}
                                : step_of_rule(generator, choice->kind, choice->rule);
}

#endif
