/*
 * What a random test does, one step after the other. Steps can be carried out again without the
 * generator that made them, which is how a failure is cut down to the steps that matter.
 */
#ifndef TESTS_RANDOM_STEP_H
#define TESTS_RANDOM_STEP_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOUND_MAX = 16 };

/* SQL text with the literals that its parameters ?1, ?2, ... get. */
typedef struct sql_statement {
    char *sql; /* NULL: none */
    char *bound[BOUND_MAX];
    int bound_count;
    bool again; /* run it once more as it was prepared, with its parameters in other places */
} sql_statement;

typedef enum step_kind {
    STEP_ORDERED,      /* a query with a total order: the same rows in the same order */
    STEP_UNORDERED,    /* the same rows in any order */
    STEP_CHANGE,       /* a statement that writes: the same changes() */
    STEP_CHANGE_ROWS,  /* the same without changes(), which on virtual tables counts updates of rows
                          that the statement itself has replaced before */
    STEP_INDEX,        /* makes an index, which both refuse if it is there, or drops one */
    STEP_CONTROL,      /* BEGIN, COMMIT, SAVEPOINT ..., making, dropping, partitions */
    STEP_OPERATION,    /* INSERT with a WriteMode; the twin performs the rows of a query */
    STEP_CURSOR_OPEN,  /* begins to read the ptable and leaves the statement open */
    STEP_CURSOR_READ,  /* a few rows more */
    STEP_CURSOR_CLOSE, /* before its end */
    STEP_KEEP,         /* a query, whose statement is kept on both sides */
    STEP_KEPT,         /* runs it again */
    STEP_REOPEN,       /* closes the database file, with all that is open, and opens it again */
    STEP_REDECLARE,    /* drops the ptables and declares them again */
} step_kind;

typedef struct test_step {
    step_kind kind;
    sql_statement statement;
    sql_statement twin; /* the same for the ordinary tables */
    int cursor;         /* or the number of a kept statement */
    int rows;           /* to read from the cursor */
} test_step;

/* Tests cannot go on without memory. */
static inline void *need(void *memory)
{
    if (memory == NULL) {
        puts("Bail out! out of memory");
        exit(1);
    }
    return memory;
}

static inline void statement_free(sql_statement *statement)
{
    sqlite3_free(statement->sql);
    for (int i = 0; i < statement->bound_count; i++) {
        sqlite3_free(statement->bound[i]);
    }
}

static inline void step_free(test_step *step)
{
    statement_free(&step->statement);
    statement_free(&step->twin);
    memset(step, 0, sizeof *step);
}

static inline void statement_print(const sql_statement *statement)
{
    for (int i = 0; i < statement->bound_count; i++) {
        printf("# .parameter set ?%d \"%s\"\n", i + 1, statement->bound[i]);
    }
    printf("# %s;%s\n", statement->sql, statement->again ? " -- and again, ?1 = ?2, ..." : "");
}

/* Prints a step as comments of the Test Anything Protocol, in the manner of the SQLite shell. */
static inline void step_print(const test_step *step)
{
    switch (step->kind) {
    case STEP_CURSOR_READ:
        printf("# -- cursor %d: %d rows more\n", step->cursor, step->rows);
        return;
    case STEP_CURSOR_CLOSE:
        printf("# -- cursor %d: close\n", step->cursor);
        return;
    case STEP_KEEP:
        printf("# -- statement %d is kept:\n", step->cursor);
        break;
    case STEP_KEPT:
        printf("# -- statement %d again\n", step->cursor);
        return;
    case STEP_REOPEN:
        puts("# -- close and open the database");
        return;
    case STEP_REDECLARE:
        puts("# -- drop and declare the ptables");
        return;
    case STEP_CURSOR_OPEN:
        printf("# -- cursor %d opens:\n", step->cursor);
        break;
    default:
        break;
    }
    statement_print(&step->statement);
    if (step->twin.sql != NULL && strcmp(step->statement.sql, step->twin.sql) != 0) {
        puts("# -- that is, in ordinary tables:");
        statement_print(&step->twin);
    }
}

#endif
