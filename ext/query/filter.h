/*
 * A Filter: a condition on an entity in the language of the Table service's $filter. Its syntax
 * tree and its parser.
 *
 *     filter      empty (all entities), or:
 *     expression  conjunction { "or" conjunction }
 *     conjunction negation { "and" negation }
 *     negation    "not" negation | "(" expression ")" | comparison | property | "true" | "false"
 *     comparison  property operator constant | constant operator property
 *     operator    "eq" | "ne" | "gt" | "ge" | "lt" | "le"
 *     constant    'it''s' | 3 | 3L | 3.0 | 3e0 | 3D | true | false | datetime'2026-11-21T08:43:22Z'
 *                 | guid'...' | X'0a1b' | binary'0a1b'
 *
 * A property alone is true if its value is the Boolean true.
 *
 * Logic has two values. A comparison with a property that the entity lacks is false, with ne too. A
 * constant is widened to the property's type (Int32 to Int64 and Double, Int64 to Double), but the
 * property never to the constant's. An Int64 without an equal Double becomes the nearest one. Where
 * the types still differ, the property is less than the constant.
 */
#ifndef PT_QUERY_FILTER_H
#define PT_QUERY_FILTER_H

#include "base/arena.h"
#include "base/error.h"
#include "base/sqlite.h"
#include "entity/column.h"

typedef enum pt_filter_kind {
    PT_FILTER_CONSTANT,
    PT_FILTER_COMPARISON,
    PT_FILTER_AND,
    PT_FILTER_OR,
} pt_filter_kind;

typedef enum pt_filter_op {
    PT_FILTER_EQ,
    PT_FILTER_NE,
    PT_FILTER_GT,
    PT_FILTER_GE,
    PT_FILTER_LT,
    PT_FILTER_LE,
} pt_filter_op;

/* The left side of a comparison. All but PT_FILTER_PROPERTY exist in every entity and have a fixed
 * type. */
typedef enum pt_filter_subject {
    PT_FILTER_PROPERTY,
    PT_FILTER_PARTITION_KEY,
    PT_FILTER_ROW_KEY,
    PT_FILTER_TIMESTAMP,
} pt_filter_subject;

/* How the left side compares with the constant. */
typedef enum pt_filter_order {
    PT_FILTER_LESS,
    PT_FILTER_EQUAL,
    PT_FILTER_GREATER,
    PT_FILTER_UNORDERED, /* NaN */
} pt_filter_order;

typedef struct pt_filter_node {
    pt_filter_kind kind;
    bool negated; /* "not" applies to the whole node */
    bool value;   /* CONSTANT */

    /* COMPARISON. The constant is on the right; if it was on the left, the operator is mirrored. */
    pt_filter_subject subject;
    pt_filter_op op;
    int property;      /* PT_FILTER_PROPERTY: index in the filter's properties */
    pt_value constant; /* a STRING has a NUL after its size, and perhaps some inside */

    struct pt_filter_node *first; /* AND, OR: two operands or more */
    struct pt_filter_node *next;  /* the next operand of the same node */
} pt_filter_node;

/* Zero it before its first use. It may then be parsed again and again. */
typedef struct pt_filter {
    pt_filter_node *root;
    pt_column *properties; /* one for each comparison with a property; type PT_NONE */
    int property_count;
    bool reads_record; /* evaluation needs more than the keys */
    pt_arena arena;
} pt_filter;

static inline bool pt_filter_op_holds(pt_filter_op op, pt_filter_order order)
{
    switch (op) {
    case PT_FILTER_EQ:
        return order == PT_FILTER_EQUAL;
    case PT_FILTER_NE:
        return order != PT_FILTER_EQUAL;
    case PT_FILTER_GT:
        return order == PT_FILTER_GREATER;
    case PT_FILTER_GE:
        return order == PT_FILTER_GREATER || order == PT_FILTER_EQUAL;
    case PT_FILTER_LT:
        return order == PT_FILTER_LESS;
    default:
        return order == PT_FILTER_LESS || order == PT_FILTER_EQUAL;
    }
}

/* How deep parentheses may be nested. */
enum { PT_FILTER_DEPTH_MAX = 100 };

/*
 * Parses a text into `filter`, replacing what it was. The text need not outlive the call.
 * SQLITE_NOMEM, or SQLITE_ERROR with a text that begins with "Filter" and says where the problem is
 * and what to do: (InvalidInput) if the text is not a filter, (NotImplemented) for OData that the
 * service lacks: functions, arithmetic, comparisons of two properties or two constants. After a
 * failure the filter may only be parsed again or freed.
 */
int pt_filter_parse(pt_filter *filter, pt_slice text, pt_error *error);

void pt_filter_free(pt_filter *filter);

/*
 * The text of Filter MATCH's argument, valid as long as the argument is. NULL is a filter that no
 * entity passes. SQLITE_MISMATCH if it is a number or a BLOB; SQLITE_NOMEM.
 */
int pt_filter_text(sqlite3_value *argument, pt_slice *text, pt_error *error);

#endif
