/*
 * Conditions on columns, such as Age > 30, on their way from the planner to whoever judges them:
 * rows of a ptable (table/conditions.c), or the Table service (service/conditions.c). xBestIndex
 * makes a list of terms and asks for their values as arguments of xFilter. There each term becomes
 * a comparison (query/comparison.h). SQLite checks the conditions of all rows again.
 *
 * A Boolean is shown as 0 or 1, so Active = 'true' would find nothing, without a word. A text
 * beside a Boolean column is refused.
 */
#ifndef PT_TABLE_TERMS_H
#define PT_TABLE_TERMS_H

#include "query/comparison.h"
#include "table/config.h"

/* The column of a term on a column of times behind the declared ones. */
enum { PT_TERM_TIME_COLUMN = 0xFFFF };

typedef struct pt_term {
    int column;   /* index of the declared column, or PT_TERM_TIME_COLUMN */
    bool indexed; /* an index uses it */
    bool plain; /* the other side is a literal or a parameter, which makes SQLite convert nothing */
    pt_judging judging;          /* the rest is for table/conditions.c */
    const pt_property *property; /* in the shape of the last row; unused with PT_JUDGE_NONE */
    pt_comparison comparison;
} pt_term;

/* All zeros before its first use. */
typedef struct pt_terms {
    pt_term *terms; /* that are judged */
    unsigned count;
    bool never;       /* one of them is never true */
    const char *rest; /* what follows the list that they were set from */
    pt_arena arena;
} pt_terms;

/* Which constraints become terms. */
typedef struct pt_term_rules {
    const pt_config *config;
    int time_column;  /* index of a column of times that is taken, too; -1: none */
    uint64_t indexed; /* constraints that an index uses, as bits: of the first ones */
    /* Tells if a comparison is taken, else it is only checked; NULL: all are. */
    bool (*takes)(const void *context, int column, pt_plan_op op);
    const void *context;
} pt_term_rules;

/* What pt_terms_plan makes. Set the first three members before it. */
typedef struct pt_term_list {
    int arguments;      /* of xFilter, so far */
    const char *plan;   /* the sentence that tells of the rest of the plan */
    const char *begin;  /* begins the part about conditions: "; judged in the scan: " */
    pt_buffer sentence; /* for people: both, and "Age>? AND Name=?"; empty without terms */
    pt_buffer terms;    /* for pt_terms_set, one for each argument; empty if there are none */
    bool judges;        /* a term is judged, not only checked */
} pt_term_list;

enum { PT_INDEXED_TERMS_MAX = 64 }; /* only of the first constraints */

/* The operator with which a usable constraint on a declared column, or the column of times, can use
 * an index; PT_OP_OTHER:
 * it cannot. *list = true for an IN. */
pt_plan_op pt_terms_index_op(const pt_term_rules *rules, sqlite3_index_info *info, int i,
                             bool *list);

/* How a condition that is judged looks after the column's name: "=?". */
const char *pt_terms_shown(sqlite3_index_info *info, int i);

/*
 * Asks for the values of conditions as arguments of xFilter, after those that the list counts, and
 * appends the terms to it. Lowers the number of rows that SQLite expects. If memory runs out, a
 * buffer of the list tells so.
 */
void pt_terms_plan(const pt_term_rules *rules, sqlite3_index_info *info, pt_term_list *list);

/* What the values are compared with. */
typedef struct pt_term_table {
    const pt_config *config;
    bool other_encoding; /* the database's text is not UTF-8 */
} pt_term_table;

/* The comparisons of a column that an index uses, at most `most`. Returns their number. */
unsigned pt_terms_on_column(const pt_terms *terms, int column, const pt_comparison **comparisons,
                            unsigned most);

/*
 * Takes the arguments from `first` on off *argc. `list` has the bytes of pt_term_list.terms. Does
 * not change the values. SQLITE_MISMATCH: a text that is not a number is compared with a Boolean
 * column; SQLITE_NOMEM. If the values of an IN cannot be read, the code of SQLite's function.
 */
int pt_terms_set(pt_terms *terms, const pt_term_table *table, const char *list, int first,
                 int *argc, sqlite3_value **argv, pt_error *error);

void pt_terms_free(pt_terms *terms);

#endif
