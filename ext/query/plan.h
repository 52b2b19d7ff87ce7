/*
 * From the terms of a WHERE clause to a plan. Pure: uses no SQLite object and no store.
 *
 * A plan is a set of terms, at most one of each kind. Its bits are idxNum. xFilter gets the terms'
 * arguments in the order of the bits. The rows read are exactly those for which all terms hold
 * (query/ranges.h), so SQLite need not check these terms again. It checks the terms that the plan
 * cannot use.
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
    PT_TERM_PK_STARTS_WITH,
    PT_TERM_RK_EQ,
    PT_TERM_RK_IN,
    PT_TERM_RK_GT,
    PT_TERM_RK_GE,
    PT_TERM_RK_LT,
    PT_TERM_RK_LE,
    PT_TERM_RK_STARTS_WITH,
    PT_TERM_EK_EQ,
    PT_TERM_EK_IN,
    PT_TERM_EK_GT,
    PT_TERM_EK_GE,
    PT_TERM_EK_LT,
    PT_TERM_EK_LE,
    PT_TERM_ROW_ID_EQ,
    PT_TERM_ROW_ID_IN,
    PT_TERM_FILTER,
    PT_TERM_COUNT
};

#define PT_PLAN_TERM(term) (1u << (term))
#define PT_PLAN_TERMS (PT_PLAN_TERM(PT_TERM_COUNT) - 1)
#define PT_PLAN_INDEX (1u << 23)      /* reads an index: table/index_search.h */
#define PT_PLAN_DESCENDING (1u << 24) /* deliver in descending key order */
#define PT_PLAN_KEYS_ONLY (1u << 25)  /* only columns made from the key will be read */
#define PT_PLAN_DISTINCT (1u << 26)   /* one row of each partition is enough; see table/cursor.c */
#define PT_PLAN_CHECKED (1u << 27)    /* SQLite checks a term on PartitionKey or RowKey again */
#define PT_PLAN_CONDITIONS (1u << 28) /* arguments for conditions follow: table/conditions.h */
/* The argument of PT_TERM_..._STARTS_WITH is a pattern of GLOB, whose literal beginning counts.
 * SQLite checks the pattern. */
#define PT_PLAN_PK_PATTERN (1u << 29)
#define PT_PLAN_RK_PATTERN (1u << 30)

/* With one of these terms every range is a single key. */
#define PT_PLAN_POINTS                                                                             \
    (PT_PLAN_TERM(PT_TERM_RK_EQ) | PT_PLAN_TERM(PT_TERM_RK_IN) | PT_PLAN_TERM(PT_TERM_EK_EQ) |     \
     PT_PLAN_TERM(PT_TERM_EK_IN) | PT_PLAN_TERM(PT_TERM_ROW_ID_EQ) |                               \
     PT_PLAN_TERM(PT_TERM_ROW_ID_IN))

typedef enum pt_plan_column {
    PT_PLAN_OTHER,
    PT_PLAN_PK,
    PT_PLAN_RK,
    PT_PLAN_EK,
    PT_PLAN_ROW_ID, /* the key as a text (entity/key.h) */
    PT_PLAN_FILTER,
} pt_plan_column;

/* How a term compares. PT_OP_OTHER: in a way that no key range expresses. */
typedef enum pt_plan_op {
    PT_OP_OTHER,
    PT_OP_EQ,
    PT_OP_GT,
    PT_OP_GE,
    PT_OP_LT,
    PT_OP_LE,
    PT_OP_STARTS_WITH,
    PT_OP_MATCH, /* on Filter, = is a MATCH too */
    PT_OP_LIMIT,
    PT_OP_OFFSET, /* LIMIT and OFFSET have no column; SQLite applies them */
    PT_OP_GLOB,
} pt_plan_op;

typedef struct pt_plan_constraint {
    pt_plan_column column;
    pt_plan_op op;
    bool usable;
    bool binary; /* compared with the BINARY collation */
    bool in;     /* an EQ that is an IN: xFilter can get all values in one call */
    bool number; /* the right-hand side is a numeric literal */
    bool equals; /* a MATCH written with = */
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
    bool distinct;         /* of rows with equal order columns one is enough */
    bool keys_only;        /* only PartitionKey, RowKey, EntityKey and row ids are used */
    bool partition_only;   /* only PartitionKey is used, and perhaps EntityKey */
    bool other_text_order; /* text is not ordered as in UTF-8: only = and IN become text terms */
} pt_plan_query;

/* How the plan uses one constraint. */
typedef struct pt_plan_use {
    int argument; /* its number in xFilter, from 1; 0: not used */
    bool omit;    /* SQLite need not check it again */
    bool in;      /* pass all values of the IN in one call */
} pt_plan_use;

typedef struct pt_plan {
    unsigned bits; /* idxNum */
    bool order_consumed;
    bool unique;        /* at most one row */
    bool leaves_filter; /* SQLite has to call match() for each row */
    double cost;
    int64_t rows;
} pt_plan;

typedef enum pt_plan_filter {
    PT_PLAN_FILTER_FITS,  /* no Filter, or one that can be used */
    PT_PLAN_FILTER_LATER, /* its value is not known yet: no plan with the tables in this order */
    PT_PLAN_FILTER_TWICE, /* two Filters at once */
    PT_PLAN_FILTER_IN,    /* Filter IN (...) */
} pt_plan_filter;

/* Tells if there is a plan. Call it first: SQLite cannot check Filter = ... if the plan does not
 * use it. */
pt_plan_filter pt_plan_check_filter(const pt_plan_query *query);

/* `uses` has constraint_count elements. pt_plan_check_filter has returned PT_PLAN_FILTER_FITS. */
void pt_plan_make(const pt_plan_query *query, pt_plan *plan, pt_plan_use *uses);

/* True if no term on PartitionKey, EntityKey or a row id bounds what the plan reads. The text of a
 * Filter may still bound it. */
bool pt_plan_is_table_scan(unsigned bits);

/* True if the plan reads single entities, each by both its keys. */
bool pt_plan_finds_points(unsigned bits);

/* True if a pattern, but no other term on PartitionKey, EntityKey or a row id bounds what the plan
 * reads. A pattern that begins with a wildcard does not. */
bool pt_plan_relies_on_pattern(unsigned bits);

/*
 * Describes the plan in the service's words, e.g. "range query: PartitionKey=? AND RowKey>=? AND
 * RowKey<?", from sqlite3_malloc; NULL when out of memory.
 */
char *pt_plan_sentence(unsigned bits);

/* The same text for frequent plans, which lasts; NULL for others. */
const char *pt_plan_constant_sentence(unsigned bits);

#endif
