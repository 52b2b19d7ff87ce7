/*
 * From WHERE terms to a plan. Pure: no SQLite object, no store.
 *
 * A plan is a set of terms, at most one of each kind: its bits are idxNum, its arguments come to
 * xFilter in the order of the bits, and its rows are exactly those for which all of them hold
 * (query/ranges.h), so SQLite need not check them again. What cannot be used is left to SQLite to
 * check.
 */
#ifndef PT_QUERY_PLAN_H
#define PT_QUERY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Term kinds, in the order of their arguments. */
enum {
    PT_TERM_PK_EQ,
    PT_TERM_PK_IN,
    PT_TERM_PK_GT,
    PT_TERM_PK_GE,
    PT_TERM_PK_LT,
    PT_TERM_PK_LE,
    PT_TERM_PK_PREFIX,
    PT_TERM_RK_EQ,
    PT_TERM_RK_IN,
    PT_TERM_RK_GT,
    PT_TERM_RK_GE,
    PT_TERM_RK_LT,
    PT_TERM_RK_LE,
    PT_TERM_RK_PREFIX,
    PT_TERM_EK_EQ,
    PT_TERM_EK_IN,
    PT_TERM_EK_GT,
    PT_TERM_EK_GE,
    PT_TERM_EK_LT,
    PT_TERM_EK_LE,
    PT_TERM_FILTER,
    PT_TERM_COUNT
};

#define PT_PLAN_TERM(term) (1u << (term))
#define PT_PLAN_TERMS (PT_PLAN_TERM(PT_TERM_COUNT) - 1)
#define PT_PLAN_DESCENDING (1u << 24) /* deliver in descending key order */
#define PT_PLAN_KEYS_ONLY (1u << 25)  /* only PartitionKey, RowKey and EntityKey will be read */
#define PT_PLAN_DISTINCT (1u << 26)   /* one row for each partition will do */

typedef enum pt_plan_column {
    PT_PLAN_OTHER,
    PT_PLAN_PK,
    PT_PLAN_RK,
    PT_PLAN_EK,
    PT_PLAN_FILTER,
} pt_plan_column;

/* How a term compares. Everything that cannot become a key range is PT_OP_OTHER. */
typedef enum pt_plan_op {
    PT_OP_OTHER,
    PT_OP_EQ,
    PT_OP_GT,
    PT_OP_GE,
    PT_OP_LT,
    PT_OP_LE,
    PT_OP_PREFIX,
    PT_OP_MATCH, /* on Filter also what is written with = */
    PT_OP_LIMIT,
    PT_OP_OFFSET, /* LIMIT and OFFSET have no column and are left to SQLite */
} pt_plan_op;

typedef struct pt_plan_constraint {
    pt_plan_column column;
    pt_plan_op op;
    bool usable;
    bool binary; /* compared with the BINARY collation */
    bool in;     /* an EQ whose values can all be had in one call */
    bool number; /* the right-hand side is a number that stands in the statement */
    bool equals; /* a MATCH written with =, which SQLite can check against the column */
} pt_plan_constraint;

typedef struct pt_plan_order {
    pt_plan_column column;
    bool descending;
} pt_plan_order;

typedef struct pt_plan_query {
    const pt_plan_constraint *constraints;
    int constraint_count;
    const pt_plan_order *order;
    int order_count;
    bool distinct;         /* duplicates over the order columns may be left out */
    bool keys_only;        /* no column but PartitionKey, RowKey, EntityKey is used */
    bool partition_only;   /* no column but PartitionKey is used */
    bool other_text_order; /* the database orders text otherwise than UTF-8: of texts only = and IN
                              count */
} pt_plan_query;

/* What is to be done with one constraint. */
typedef struct pt_plan_use {
    int argument; /* 1-based, 0: not used */
    bool omit;    /* SQLite need not check it again */
    bool in;      /* all values of the IN in one call */
} pt_plan_use;

typedef struct pt_plan {
    unsigned bits; /* idxNum */
    bool order_consumed;
    bool unique; /* at most one row */
    double cost;
    int64_t rows;
} pt_plan;

typedef enum pt_plan_filter {
    PT_PLAN_FILTER_FITS,  /* there is none, or it can be used */
    PT_PLAN_FILTER_LATER, /* the value it is to equal is not known yet: there is no plan in this
                             order of tables */
    PT_PLAN_FILTER_TWICE,
    PT_PLAN_FILTER_IN, /* one of several filters is asked for */
} pt_plan_filter;

/* Whether there is a plan. What a Filter is to equal cannot be left to SQLite to check. */
pt_plan_filter pt_plan_check_filter(const pt_plan_query *query);

/* `uses` has constraint_count elements. The Filter must fit. */
void pt_plan_make(const pt_plan_query *query, pt_plan *plan, pt_plan_use *uses);

/* Whether no PartitionKey and no EntityKey term bounds what the plan reads. A Filter may still do
 * so; only its text tells. */
bool pt_plan_is_table_scan(unsigned bits);

/*
 * The plan in the service's words, e.g. "range query: PartitionKey=? AND RowKey>=? AND RowKey<?",
 * from sqlite3_malloc; NULL when out of memory.
 */
char *pt_plan_sentence(unsigned bits);

#endif
