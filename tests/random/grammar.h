/*
 * Writes random SQL from rules. A rule has a name and forms; a form is text with
 *
 *     {rule}      a random form of that rule
 *     {rule x}    the same, speaking of the table that has the alias x
 *     {?rule}     a parameter, to which the rule's text will be bound
 *     @Column     the column of the table spoken of
 *     p¦o         p in the database with ptables, o in the one with ordinary tables. Placeholders
 *                 must be the same on both sides, in the same order, for a placeholder's choices
 *                 are made for each side from the same random numbers
 *
 * A form that is to come often is listed often. The first form of a rule must not lead back to the
 * rule: it is the one that is taken once the nesting is deep.
 */
#ifndef TESTS_RANDOM_GRAMMAR_H
#define TESTS_RANDOM_GRAMMAR_H

#include <stdbool.h>

#include "random/random.h"
#include "random/step.h"

typedef struct sql_rule {
    const char *name;
    const char *const *forms; /* the last one is NULL */
} sql_rule;

#define FORMS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SIDES_SEPARATOR "¦"

/* One of the two databases. */
typedef enum sql_side { SIDE_PTABLE, SIDE_ORDINARY } sql_side;

typedef struct sql_grammar {
    const sql_rule *const *tables; /* each ends with a rule without a name; the last one is NULL */
    sql_side side;
} sql_grammar;

enum { GRAMMAR_DEPTH = 12, GRAMMAR_NAME = 32 };

typedef struct sql_expansion {
    const sql_grammar *grammar;
    uint64_t *random;
    sqlite3_str *sql;
    sql_statement *statement; /* collects parameters */
    int depth;
} sql_expansion;

static inline void expand_rule(sql_expansion *expansion, const char *name, const char *alias);

static inline const sql_rule *find_rule(const sql_grammar *grammar, const char *name)
{
    for (const sql_rule *const *table = grammar->tables; *table != NULL; table++) {
        for (const sql_rule *rule = *table; rule->name != NULL; rule++) {
            if (strcmp(rule->name, name) == 0) {
                return rule;
            }
        }
    }
    printf("Bail out! the grammar has no rule %s\n", name);
    exit(1);
}

static inline void expand_parameter(sql_expansion *outer, const char *name)
{
    sql_statement *statement = outer->statement;
    if (statement->bound_count == BOUND_MAX) {
        expand_rule(outer, name, "");
        return;
    }
    int number = statement->bound_count++;
    sql_expansion inner = *outer;
    inner.sql = sqlite3_str_new(NULL);
    expand_rule(&inner, name, "");
    statement->bound[number] = need(sqlite3_str_finish(inner.sql));
    sqlite3_str_appendf(outer->sql, "?%d", number + 1);
}

/* Expands the placeholder whose text begins behind the brace; returns the text behind it. */
static inline const char *expand_placeholder(sql_expansion *expansion, const char *text,
                                             const char *alias)
{
    size_t size = strcspn(text, "}");
    char name[GRAMMAR_NAME];
    snprintf(name, sizeof name, "%.*s", (int)size, text);
    char *blank = strchr(name, ' ');
    if (blank != NULL) {
        *blank = 0;
        alias = blank + 1;
    }
    if (name[0] == '?') {
        expand_parameter(expansion, name + 1);
    } else {
        expand_rule(expansion, name, alias);
    }
    return text + size + 1;
}

/* The part of a form that is for a side. */
static inline const char *form_of_side(const char *form, sql_side side, const char **end)
{
    const char *separator = strstr(form, SIDES_SEPARATOR);
    *end = form + strlen(form);
    if (separator == NULL) {
        return form;
    }
    if (side == SIDE_PTABLE) {
        *end = separator;
        return form;
    }
    return separator + strlen(SIDES_SEPARATOR);
}

static inline void expand_form(sql_expansion *expansion, const char *whole, const char *alias)
{
    const char *end;
    const char *form = form_of_side(whole, expansion->grammar->side, &end);
    while (form < end) {
        size_t left = (size_t)(end - form);
        size_t plain = strcspn(form, "{@");
        plain = plain < left ? plain : left;
        sqlite3_str_append(expansion->sql, form, (int)plain);
        form += plain;
        if (form == end) {
            return;
        }
        if (*form == '@') {
            sqlite3_str_appendf(expansion->sql, "%s.", alias);
            form++;
        } else {
            form = expand_placeholder(expansion, form + 1, alias);
        }
    }
}

static inline void expand_rule(sql_expansion *expansion, const char *name, const char *alias)
{
    const char *const *forms = find_rule(expansion->grammar, name)->forms;
    unsigned count = 0;
    while (forms[count] != NULL) {
        count++;
    }
    bool deep = expansion->depth >= GRAMMAR_DEPTH;
    expansion->depth++;
    expand_form(expansion, forms[deep ? 0 : random_below(expansion->random, count)], alias);
    expansion->depth--;
}

/* A random statement by a rule, for one side. */
static inline sql_statement grammar_write(const sql_grammar *grammar, uint64_t *random,
                                          const char *rule)
{
    sql_statement statement = {0};
    sql_expansion expansion = {.grammar = grammar,
                               .random = random,
                               .sql = sqlite3_str_new(NULL),
                               .statement = &statement};
    expand_rule(&expansion, rule, "");
    statement.sql = need(sqlite3_str_finish(expansion.sql));
    return statement;
}

#endif
