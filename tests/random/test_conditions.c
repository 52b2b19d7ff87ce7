/*
 * Random statements on the properties and keys of a ptable, and the same ones carried out in other
 * ways: both must find the same rows and leave the same entities. The first may judge conditions in
 * the scan, walk leaf pages, count by pages, and open records as the ones before. The second never
 * does (conditions.h, condition_tables.h). N is the number of statements, SEED the first number of
 * their sequence.
 */
#include "random/condition_tables.h"
#include "random/conditions.h"
#include "random/hosts.h"
#include "random/perform.h"

enum { DEFAULT_STATEMENTS = 1800, DEFAULT_SEED = 1, ROUND = 300, BETWEEN_WRITES = 20 };

static const struct host {
    const char *encoding;
    entity_kind kind;
    const char *name;
} hosts[] = {
    {"UTF-8", ENTITIES_MIXED, "UTF-8, entities of all shapes"},
    {"UTF-16le", ENTITIES_TYPED, "UTF-16le"},
    {"UTF-8", ENTITIES_ALIKE, "UTF-8, entities of one shape"},
};

enum { HOSTS = sizeof hosts / sizeof hosts[0] };

static const sql_rule *const rules[] = {unmixed_rules, condition_shape_rules, condition_value_rules,
                                        NULL};

/* --- Statements --- */

/* The rules for the first word of a statement's kind, and how its effect is compared. */
static const struct kind {
    unsigned weight;
    const char *rule;
    bool changes; /* it writes: compares changes(), too */
    bool vague;   /* the entities that it leaves are not compared */
} kinds[] = {
    {84, "select", false, false},
    {11, "change", true, false},
    {2, "vague_change", true, true},
    {3, "partitions_gone", false, false},
};

static const struct kind *choose_kind(uint64_t *random)
{
    unsigned at = random_below(random, 100);
    const struct kind *kind = kinds;
    while (at >= kind->weight) {
        at -= kind->weight;
        kind++;
    }
    return kind;
}

/* Runs a statement, and takes back what it changed. Adds the entities of a table, if it is named,
 * to the effect. */
static sql_effect run_and_undo(sqlite3 *db, const sql_statement *statement, const char *table)
{
    must(db, "SAVEPOINT undo");
    sql_effect effect = run(db, statement);
    if (table != NULL && effect.rc == SQLITE_DONE) {
        append_entities(db, table, &effect);
    }
    must(db, "ROLLBACK TO undo; RELEASE undo");
    return effect;
}

static sql_effect run_one_side(sqlite3 *db, const struct kind *kind, const sql_statement *statement,
                               const char *table)
{
    bool reads = strcmp(kind->rule, "select") == 0;
    sql_effect effect =
        reads ? run(db, statement) : run_and_undo(db, statement, kind->vague ? NULL : table);
    sort_rows(&effect);
    return effect;
}

static bool is_refused_boolean(const sql_effect *effect)
{
    return effect->rc == SQLITE_MISMATCH &&
           strstr(effect->message, " is a Boolean and is compared with the text ") != NULL;
}

/* A statement that writes may fail, in the same way on both sides. */
static bool is_same_effect(const sql_effect *seen, const sql_effect *hidden,
                           const struct kind *kind)
{
    if (seen->rc != SQLITE_DONE) {
        return kind->changes && seen->rc == hidden->rc;
    }
    return hidden->rc == SQLITE_DONE && same_rows(seen, hidden) &&
           (!kind->changes || seen->changes == hidden->changes);
}

static bool try_statement(sqlite3 *db, uint64_t *random, bool mixed)
{
    const struct kind *kind = choose_kind(random);
    sql_grammar grammar = {.tables = rules + (mixed ? 1 : 0)};
    uint64_t same = *random;
    sql_statement seen = grammar_write(&grammar, random, kind->rule);
    grammar.side = SIDE_ORDINARY;
    sql_statement hidden = grammar_write(&grammar, &same, kind->rule);
    seen.again = seen.bound_count > 0 && strcmp(kind->rule, "select") == 0;
    hidden.again = seen.again;
    sql_effect a = run_one_side(db, kind, &seen, "m");
    sql_effect b = run_one_side(db, kind, &hidden, "plain");
    bool passed = is_refused_boolean(&a) || is_refused_boolean(&b) || is_same_effect(&a, &b, kind);
    if (!passed) {
        puts("# a difference:");
        statement_print(&seen);
        print_effect("by all ways", &a);
        statement_print(&hidden);
        print_effect("by the other ways", &b);
    }
    effect_free(&a);
    effect_free(&b);
    statement_free(&seen);
    statement_free(&hidden);
    return passed;
}

static bool run_host(int number, const char *folder, uint64_t seed, uint64_t statements)
{
    const struct host *host = &hosts[number];
    uint64_t random = seed * HOSTS + (uint64_t)number;
    sqlite3 *db = open_database(":memory:", host->encoding, "memory");
    must(db, DECLARE_CONDITION_TABLES);
    bool passed = true;
    bool writes = false;
    for (uint64_t i = 0; i < statements && passed; i++) {
        if (i % ROUND == 0) {
            end_transaction(db);
            fill(db, &random, host->kind);
            writes = random_below(&random, 2) == 0;
        } else if (writes && i % BETWEEN_WRITES == 0) {
            write_some(db, &random, host->kind);
        }
        passed = try_statement(db, &random, host->kind != ENTITIES_TYPED);
    }
    end_transaction(db);
    must_be_ok(sqlite3_close(db), "closing");
    remove_files(folder);
    printf("%sok %d - statements in two ways, %s\n", passed ? "" : "not ", number + 1, host->name);
    fflush(stdout);
    return passed;
}

int main(void)
{
    return run_hosts(HOSTS, DEFAULT_STATEMENTS, DEFAULT_SEED, run_host);
}
