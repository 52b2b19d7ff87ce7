/*
 * Comparisons of a property with SQL values, judged before SQLite sees the row.
 *
 * SQLite converts both sides of a comparison by their affinities before it compares them. A column
 * has the affinity of its type; the other side may be a column or a CAST, whose affinity a virtual
 * table cannot see. So a comparison is decided here only if every affinity of the other side
 * decides it alike. Everything else counts as true: the row is passed on, and SQLite decides.
 *
 *     beside a column of numbers      texts that read as numbers become numbers, on both sides
 *     beside a column without type    the same, or nothing is converted
 *     beside a column of texts        the same, or numbers become texts, on both sides
 *
 * Values of different storage classes, such as a number and a text, are only told to be unequal,
 * and not even that if both may be numbers. Their order is left to SQLite, which also writes such
 * terms itself, for GLOB.
 *
 * Texts are compared as the column's own collation does: BINARY, PT_DATETIME for a DateTime, NOCASE
 * for a Guid.
 */
#ifndef PT_QUERY_COMPARISON_H
#define PT_QUERY_COMPARISON_H

#include "base/arena.h"
#include "base/sqlite.h"
#include "entity/record.h"
#include "query/plan.h"

typedef struct pt_comparison {
    pt_type column;    /* the type that is declared */
    pt_plan_op op;     /* PT_OP_EQ, also for IN and IS, an inequality or PT_OP_STARTS_WITH */
    bool finds_null;   /* IS NULL */
    bool only_equal;   /* the database orders texts otherwise: only = is judged on them */
    bool any;          /* there are values other than NULL */
    bool has_number;   /* a value is a number */
    bool number_texts; /* a value is a text that SQLite may take for a number */
    bool exact;        /* texts are compared as they are, whatever they look like */
    bool keeps_all;    /* values, however many there are */
    bool too_many;     /* values; then only entities without the property are judged */
    pt_value *values;  /* that the property is compared with; sorted by pt_comparison_end */
    unsigned count;
    unsigned capacity;
    int64_t low, high; /* integers and times from low to high pass, if there is one value */
} pt_comparison;

/* xFilter reads all values of an IN each time that a join runs it. */
enum { PT_COMPARED_VALUES_MAX = 256 };

/* Begins without values. An inequality then gets one value at most. */
void pt_comparison_begin(pt_comparison *comparison, pt_type column, pt_plan_op op, bool only_equal);

/* The other side is a text without affinity: it does not make SQLite convert texts, unless the
 * column's own type does. */
void pt_comparison_compare_exactly(pt_comparison *comparison);

/* Adds a value of the other side, which is copied. NULL equals nothing. Reading the value may
 * change it. SQLITE_OK or SQLITE_NOMEM. */
int pt_comparison_add(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena);

/* The same for an argument of xFilter, which is not changed: SQLite compares with it again. */
int pt_comparison_add_argument(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena);

/* The prefix of pt_starts_with, instead of values: as a text, whatever it is. It only bounds what
 * is read of an index: all values but NULL may pass. SQLITE_OK or SQLITE_NOMEM. */
int pt_comparison_add_prefix(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena);

/* IS NOT NULL: instead of values. */
static inline void pt_comparison_find_all(pt_comparison *comparison)
{
    comparison->any = true;
    comparison->too_many = true;
}

/* Call it after the last value. */
void pt_comparison_end(pt_comparison *comparison);

/* True if the comparison is true of no value at all. */
bool pt_comparison_is_never(const pt_comparison *comparison);

/* Of a comparison that judges texts: true if none can be told to be unequal or out of order. SQLite
 * may convert all of them. */
bool pt_comparison_decides_no_text(const pt_comparison *comparison);

/* How properties of one type are judged. */
typedef enum pt_judging {
    PT_JUDGE_NONE, /* all may pass */
    PT_JUDGE_ALL,  /* none passes */
    PT_JUDGE_INT32,
    PT_JUDGE_INT64,
    PT_JUDGE_RANGE, /* by low and high: a Boolean or a DateTime */
    PT_JUDGE_TEXT,  /* a String, with one value */
    PT_JUDGE_VALUE,
} pt_judging;

/* Tells how to judge properties of a type; PT_NONE: the entity lacks the property. */
pt_judging pt_comparison_judging(const pt_comparison *comparison, pt_type type);

/* pt_comparison_judge for all but the most frequent ways. */
int pt_comparison_judge_value(const pt_comparison *comparison, pt_judging judging,
                              pt_record *record, const pt_property *property, bool *may_pass);

/*
 * Sets *may_pass to false if the comparison with a property of the record's shape is certainly not
 * true. `judging` is that of the property's type, neither PT_JUDGE_NONE nor PT_JUDGE_ALL.
 * SQLITE_OK, or SQLITE_CORRUPT_VTAB (without a text) if the property is damaged.
 */
static inline int pt_comparison_judge(const pt_comparison *comparison, pt_judging judging,
                                      pt_record *record, const pt_property *property,
                                      bool *may_pass)
{
    int64_t integer;
    if (judging == PT_JUDGE_INT32) {
        integer = pt_record_int32(record, property);
    } else if (judging == PT_JUDGE_INT64) {
        integer = pt_record_int64(record, property);
    } else {
        return pt_comparison_judge_value(comparison, judging, record, property, may_pass);
    }
    *may_pass = integer >= comparison->low && integer <= comparison->high;
    return SQLITE_OK;
}

#endif
