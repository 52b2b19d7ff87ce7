#include "query/plan.h"

#include <stddef.h>

#include "base/sqlite.h"

/* SQLite honours requests only for constraints and arguments below these numbers. */
enum { OMIT_CONSTRAINTS = 16, OMIT_ARGUMENTS = 16, IN_CONSTRAINTS = 32 };

static const struct term {
    pt_plan_column column;
    pt_plan_op op;
    bool in;
    const char *text;
} plan_terms[PT_TERM_COUNT] = {
    [PT_TERM_PK_EQ] = {PT_PLAN_PK, PT_OP_EQ, false, "PartitionKey=?"},
    [PT_TERM_PK_IN] = {PT_PLAN_PK, PT_OP_EQ, true, "PartitionKey IN (?)"},
    [PT_TERM_PK_GT] = {PT_PLAN_PK, PT_OP_GT, false, "PartitionKey>?"},
    [PT_TERM_PK_GE] = {PT_PLAN_PK, PT_OP_GE, false, "PartitionKey>=?"},
    [PT_TERM_PK_LT] = {PT_PLAN_PK, PT_OP_LT, false, "PartitionKey<?"},
    [PT_TERM_PK_LE] = {PT_PLAN_PK, PT_OP_LE, false, "PartitionKey<=?"},
    [PT_TERM_PK_STARTS_WITH] = {PT_PLAN_PK, PT_OP_STARTS_WITH, false,
                                "pt_starts_with(PartitionKey,?)"},
    [PT_TERM_RK_EQ] = {PT_PLAN_RK, PT_OP_EQ, false, "RowKey=?"},
    [PT_TERM_RK_IN] = {PT_PLAN_RK, PT_OP_EQ, true, "RowKey IN (?)"},
    [PT_TERM_RK_GT] = {PT_PLAN_RK, PT_OP_GT, false, "RowKey>?"},
    [PT_TERM_RK_GE] = {PT_PLAN_RK, PT_OP_GE, false, "RowKey>=?"},
    [PT_TERM_RK_LT] = {PT_PLAN_RK, PT_OP_LT, false, "RowKey<?"},
    [PT_TERM_RK_LE] = {PT_PLAN_RK, PT_OP_LE, false, "RowKey<=?"},
    [PT_TERM_RK_STARTS_WITH] = {PT_PLAN_RK, PT_OP_STARTS_WITH, false, "pt_starts_with(RowKey,?)"},
    [PT_TERM_EK_EQ] = {PT_PLAN_EK, PT_OP_EQ, false, "EntityKey=?"},
    [PT_TERM_EK_IN] = {PT_PLAN_EK, PT_OP_EQ, true, "EntityKey IN (?)"},
    [PT_TERM_EK_GT] = {PT_PLAN_EK, PT_OP_GT, false, "EntityKey>?"},
    [PT_TERM_EK_GE] = {PT_PLAN_EK, PT_OP_GE, false, "EntityKey>=?"},
    [PT_TERM_EK_LT] = {PT_PLAN_EK, PT_OP_LT, false, "EntityKey<?"},
    [PT_TERM_EK_LE] = {PT_PLAN_EK, PT_OP_LE, false, "EntityKey<=?"},
    [PT_TERM_ROW_ID_EQ] = {PT_PLAN_ROW_ID, PT_OP_EQ, false, "_rowid_=?"},
    [PT_TERM_ROW_ID_IN] = {PT_PLAN_ROW_ID, PT_OP_EQ, true, "_rowid_ IN (?)"},
    [PT_TERM_FILTER] = {PT_PLAN_FILTER, PT_OP_MATCH, false, "Filter"},
};

static bool has_term(unsigned bits, int term)
{
    return (bits & PT_PLAN_TERM(term)) != 0;
}

/* True if any of the terms from `first` to `last` is in the plan. */
static bool has_any_term(unsigned bits, int first, int last)
{
    return (bits & (PT_PLAN_TERM(last + 1) - PT_PLAN_TERM(first))) != 0;
}

/* True if a term names the one entity that the plan can find. */
static bool has_one_entity(unsigned bits)
{
    return has_term(bits, PT_TERM_EK_EQ) || has_term(bits, PT_TERM_ROW_ID_EQ);
}

/* --- Terms --- */

/* True for the columns that are compared byte by byte, in whatever encoding the database has. */
static bool is_exact(pt_plan_column column)
{
    return column == PT_PLAN_EK || column == PT_PLAN_ROW_ID;
}

/* A pattern of GLOB becomes a term of its literal beginning. */
static pt_plan_op op_of_term(pt_plan_op op)
{
    return op == PT_OP_GLOB ? PT_OP_STARTS_WITH : op;
}

/* The bit that says that a term's argument is a pattern. */
static unsigned pattern_bit(int term)
{
    return term == PT_TERM_PK_STARTS_WITH ? PT_PLAN_PK_PATTERN : PT_PLAN_RK_PATTERN;
}

/* The term that expresses a constraint, or PT_TERM_COUNT. */
static int term_for(const pt_plan_query *query, int index)
{
    const pt_plan_constraint *constraint = &query->constraints[index];
    if (constraint->column == PT_PLAN_FILTER) {
        bool used = constraint->usable && constraint->op == PT_OP_MATCH;
        return used ? PT_TERM_FILTER : PT_TERM_COUNT;
    }
    pt_plan_op op = op_of_term(constraint->op);
    bool other_order = query->other_text_order && !is_exact(constraint->column);
    /* No row id looks like a number, so a number just finds nothing. */
    bool as_number =
        constraint->number && op != PT_OP_STARTS_WITH && constraint->column != PT_PLAN_ROW_ID;
    if (!constraint->usable || !constraint->binary || as_number ||
        (other_order && op != PT_OP_EQ)) {
        return PT_TERM_COUNT;
    }
    bool in = constraint->in && index < IN_CONSTRAINTS;
    int term = 0;
    while (term < PT_TERM_COUNT && (plan_terms[term].column != constraint->column ||
                                    plan_terms[term].op != op || plan_terms[term].in != in)) {
        term++;
    }
    return term;
}

/*
 * True if SQLite need not check the constraint again. In a UTF-16 database it must, since different
 * texts may become equal when converted to UTF-8.
 */
static bool may_omit(const pt_plan_query *query, int index, int argument)
{
    pt_plan_column column = query->constraints[index].column;
    bool decided = column == PT_PLAN_FILTER || is_exact(column) || !query->other_text_order;
    bool whole = query->constraints[index].op != PT_OP_GLOB;
    return decided && whole && index < OMIT_CONSTRAINTS && argument <= OMIT_ARGUMENTS;
}

/* Beside an OR, SQLite passes the argument of a table-valued function twice, once as part of the
 * OR. So several terms written with = count as one. */
pt_plan_filter pt_plan_check_filter(const pt_plan_query *query)
{
    int filters = 0;
    bool equals = false;
    for (int i = 0; i < query->constraint_count; i++) {
        const pt_plan_constraint *constraint = &query->constraints[i];
        if (constraint->column != PT_PLAN_FILTER || constraint->op != PT_OP_MATCH) {
            continue;
        }
        if (!constraint->usable && constraint->equals) {
            return PT_PLAN_FILTER_LATER;
        }
        if (!constraint->usable) {
            continue; /* SQLite calls match() for each row */
        }
        if (constraint->in) {
            return PT_PLAN_FILTER_IN;
        }
        filters += constraint->equals && equals ? 0 : 1;
        equals = equals || constraint->equals;
    }
    return filters > 1 ? PT_PLAN_FILTER_TWICE : PT_PLAN_FILTER_FITS;
}

/* Sets uses[i] for the constraint that a term has been chosen for. Returns the bits that come with
 * it. */
static unsigned use_constraint(const pt_plan_query *query, int i, int term, int argument,
                               pt_plan_use *uses)
{
    uses[i] = (pt_plan_use){
        .argument = argument, .omit = may_omit(query, i, argument), .in = plan_terms[term].in};
    if (query->constraints[i].op == PT_OP_GLOB) {
        return pattern_bit(term);
    }
    return uses[i].omit || term >= PT_TERM_EK_EQ ? 0 : PT_PLAN_CHECKED;
}

/* Chooses the first constraint for each term, a pattern only if there is no other, and numbers the
 * arguments. Returns the terms' bits, PT_PLAN_CHECKED and the bits of patterns. */
static unsigned choose_plan_terms(const pt_plan_query *query, pt_plan_use *uses)
{
    int chosen[PT_TERM_COUNT];
    unsigned bits = 0;
    for (int i = 0; i < query->constraint_count; i++) {
        uses[i] = (pt_plan_use){0};
        int term = term_for(query, i);
        bool better = term < PT_TERM_COUNT && (!has_term(bits, term) ||
                                               (query->constraints[chosen[term]].op == PT_OP_GLOB &&
                                                query->constraints[i].op != PT_OP_GLOB));
        if (better) {
            bits |= PT_PLAN_TERM(term);
            chosen[term] = i;
        }
    }
    int argument = 0;
    for (int term = 0; term < PT_TERM_COUNT; term++) {
        if (has_term(bits, term)) {
            bits |= use_constraint(query, chosen[term], term, ++argument, uses);
        }
    }
    return bits;
}

/* --- Order --- */

/* What an ORDER BY has ordered by its first columns. */
typedef struct ordering {
    bool partition; /* rows are ordered by PartitionKey, or have only one */
    bool row;       /* the same of RowKey inside a partition */
    bool directed;  /* a column has set the direction */
    bool descending;
} ordering;

static bool take_direction(ordering *state, bool descending)
{
    bool agrees = !state->directed || state->descending == descending;
    state->directed = true;
    state->descending = descending;
    return agrees;
}

/* True if key order is still the order asked for with this column added. */
static bool keeps_order(ordering *state, const pt_plan_order *order)
{
    if (state->partition && state->row) {
        return true;
    }
    switch (order->column) {
    case PT_PLAN_PK:
        if (state->partition) {
            return true;
        }
        state->partition = true;
        return take_direction(state, order->descending);
    case PT_PLAN_RK:
        if (state->row) {
            return true;
        }
        state->row = true;
        return state->partition && take_direction(state, order->descending);
    case PT_PLAN_EK:
        state->partition = true;
        state->row = true;
        return take_direction(state, order->descending);
    case PT_PLAN_ROW_ID:
    case PT_PLAN_FILTER:
    case PT_PLAN_OTHER:
        break;
    }
    return false;
}

static bool keeps_whole_order(const pt_plan_query *query, ordering *state)
{
    for (int i = 0; i < query->order_count; i++) {
        if (!keeps_order(state, &query->order[i])) {
            return false;
        }
    }
    return true;
}

static void consume_order(const pt_plan_query *query, pt_plan *plan)
{
    bool by_entity_key = query->order_count > 0 && query->order[0].column == PT_PLAN_EK;
    if (query->other_text_order && !by_entity_key) {
        return;
    }
    bool one_row = has_one_entity(plan->bits);
    ordering order = {.partition = one_row || has_term(plan->bits, PT_TERM_PK_EQ),
                      .row = one_row || has_term(plan->bits, PT_TERM_RK_EQ)};
    if (!keeps_whole_order(query, &order)) {
        return;
    }
    plan->order_consumed = query->order_count > 0;
    plan->bits |= order.descending ? PT_PLAN_DESCENDING : 0;
}

/*
 * True if the first row of a partition can stand for all its rows: either every row in the ranges
 * passes, or what SQLite still checks depends on PartitionKey alone.
 */
static bool is_distinct(const pt_plan_query *query, const pt_plan_use *uses, const pt_plan *plan)
{
    if (!query->distinct || !query->partition_only || !plan->order_consumed ||
        has_term(plan->bits, PT_TERM_FILTER)) {
        return false;
    }
    for (int i = 0; i < query->order_count; i++) {
        if (query->order[i].column != PT_PLAN_PK) {
            return false;
        }
    }
    for (int i = 0; i < query->constraint_count; i++) {
        const pt_plan_constraint *constraint = &query->constraints[i];
        bool hint = constraint->op == PT_OP_LIMIT || constraint->op == PT_OP_OFFSET;
        bool same_for_all = uses[i].argument != 0 && constraint->column == PT_PLAN_PK;
        if (!hint && !same_for_all && !uses[i].omit) {
            return false;
        }
    }
    return true;
}

/* --- Cost --- */

/* Costs are estimated for a table of this size. A step to the next row costs 1. */
static const double PARTITIONS = 50000;
static const double PARTITION_ROWS = 200;
static const double IN_VALUES = 10;
static const double BOUND_SHARE = 0.25;  /* of the keys meet an inequality */
static const double PREFIX_SHARE = 0.05; /* of the keys have the prefix */
static const double PATTERN_SHARE = 0.5; /* the same of a pattern, which may have no prefix */
static const double FILTER_SHARE = 0.02; /* of the rows pass a Filter */
static const double SEEK_COST = 5;
static const double LEFT_FILTER_FACTOR =
    1e6; /* any order of tables in which its value is known is better */

static double at_least_one(double number)
{
    return number < 1 ? 1 : number;
}

/* How many of `all` values of a column meet its terms, the first of which is `first`. */
static double values_left(unsigned bits, int first, double all)
{
    double values = all;
    if (has_term(bits, first + PT_TERM_PK_EQ)) {
        values = 1;
    } else if (has_term(bits, first + PT_TERM_PK_IN)) {
        values = IN_VALUES;
    }
    if (has_any_term(bits, first + PT_TERM_PK_GT, first + PT_TERM_PK_GE)) {
        values *= BOUND_SHARE;
    }
    if (has_any_term(bits, first + PT_TERM_PK_LT, first + PT_TERM_PK_LE)) {
        values *= BOUND_SHARE;
    }
    if (first != PT_TERM_EK_EQ && has_term(bits, first + PT_TERM_PK_STARTS_WITH)) {
        bool pattern = (bits & pattern_bit(first + PT_TERM_PK_STARTS_WITH)) != 0;
        values *= pattern ? PATTERN_SHARE : PREFIX_SHARE;
    }
    return values;
}

/* How many of `all` entities meet the terms on EntityKey and on the row id. */
static double entities_left(unsigned bits, double all)
{
    double entities = values_left(bits, PT_TERM_EK_EQ, all);
    double row_ids = all;
    if (has_term(bits, PT_TERM_ROW_ID_EQ)) {
        row_ids = 1;
    } else if (has_term(bits, PT_TERM_ROW_ID_IN)) {
        row_ids = IN_VALUES;
    }
    return row_ids < entities ? row_ids : entities;
}

static void estimate_cost(pt_plan *plan)
{
    unsigned bits = plan->bits;
    double table_rows = PARTITIONS * PARTITION_ROWS;
    double partitions =
        values_left(bits, PT_TERM_PK_EQ, PARTITIONS) * entities_left(bits, table_rows) / table_rows;
    double rows = at_least_one(partitions * values_left(bits, PT_TERM_RK_EQ, PARTITION_ROWS));
    bool partition_points = has_any_term(bits, PT_TERM_PK_EQ, PT_TERM_PK_IN);
    bool row_points = has_any_term(bits, PT_TERM_RK_EQ, PT_TERM_RK_IN);
    bool entity_points = has_any_term(bits, PT_TERM_EK_EQ, PT_TERM_EK_IN) ||
                         has_any_term(bits, PT_TERM_ROW_ID_EQ, PT_TERM_ROW_ID_IN);
    bool row_terms = has_any_term(bits, PT_TERM_RK_EQ, PT_TERM_RK_STARTS_WITH);
    double seeks = 1;
    if (row_points || entity_points) {
        seeks = rows;
    } else if (row_terms || partition_points) {
        seeks = at_least_one(partitions);
    }
    if (row_terms && !partition_points && !entity_points) {
        seeks += at_least_one(partitions); /* to find each partition */
    }
    plan->cost = rows + seeks * SEEK_COST;
    if (has_term(bits, PT_TERM_FILTER)) {
        /* We expect it to bound the keys. SQLite cannot check a Filter itself, so several of them
         * joined by OR must look cheaper than a scan of all rows. */
        double expected = table_rows * FILTER_SHARE + SEEK_COST;
        plan->cost = plan->cost < expected ? plan->cost : expected;
        rows = at_least_one(rows * FILTER_SHARE);
    }
    plan->rows = (int64_t)rows;
}

/* True if SQLite has to call match() for each row. */
static bool leaves_filter(const pt_plan_query *query)
{
    for (int i = 0; i < query->constraint_count; i++) {
        const pt_plan_constraint *constraint = &query->constraints[i];
        if (constraint->column == PT_PLAN_FILTER && constraint->op == PT_OP_MATCH &&
            !constraint->usable) {
            return true;
        }
    }
    return false;
}

void pt_plan_make(const pt_plan_query *query, pt_plan *plan, pt_plan_use *uses)
{
    *plan = (pt_plan){.bits = choose_plan_terms(query, uses)};
    plan->unique = (has_term(plan->bits, PT_TERM_PK_EQ) && has_term(plan->bits, PT_TERM_RK_EQ)) ||
                   has_one_entity(plan->bits);
    estimate_cost(plan);
    plan->leaves_filter = leaves_filter(query);
    plan->cost *= plan->leaves_filter ? LEFT_FILTER_FACTOR : 1;
    consume_order(query, plan);
    if (query->keys_only) {
        plan->bits |= PT_PLAN_KEYS_ONLY;
    }
    if (is_distinct(query, uses, plan)) {
        plan->bits |= PT_PLAN_DISTINCT;
    }
}

bool pt_plan_is_table_scan(unsigned bits)
{
    return !has_any_term(bits, PT_TERM_PK_EQ, PT_TERM_PK_STARTS_WITH) &&
           !has_any_term(bits, PT_TERM_EK_EQ, PT_TERM_ROW_ID_IN);
}

bool pt_plan_finds_points(unsigned bits)
{
    return has_one_entity(bits) || has_term(bits, PT_TERM_EK_IN) ||
           has_term(bits, PT_TERM_ROW_ID_IN) ||
           (has_any_term(bits, PT_TERM_PK_EQ, PT_TERM_PK_IN) &&
            has_any_term(bits, PT_TERM_RK_EQ, PT_TERM_RK_IN));
}

bool pt_plan_relies_on_pattern(unsigned bits)
{
    const unsigned others = PT_PLAN_TERM(PT_TERM_PK_STARTS_WITH) - PT_PLAN_TERM(PT_TERM_PK_EQ);
    return (bits & PT_PLAN_PK_PATTERN) != 0 && (bits & others) == 0 &&
           !has_any_term(bits, PT_TERM_EK_EQ, PT_TERM_ROW_ID_IN);
}

/* --- Sentence --- */

/* The service's name for a query with these terms. */
static const char *kind_of_query(unsigned bits)
{
    bool row = has_any_term(bits, PT_TERM_RK_EQ, PT_TERM_RK_STARTS_WITH);
    bool part = row || has_any_term(bits, PT_TERM_EK_GT, PT_TERM_EK_LE);
    if ((bits & PT_PLAN_DISTINCT) != 0) {
        return "distinct partitions";
    }
    if (has_one_entity(bits) || (has_term(bits, PT_TERM_PK_EQ) && has_term(bits, PT_TERM_RK_EQ))) {
        return "point query";
    }
    if (pt_plan_finds_points(bits)) {
        return "point queries";
    }
    if (has_term(bits, PT_TERM_PK_EQ)) {
        return part ? "range query" : "partition scan";
    }
    if (has_term(bits, PT_TERM_PK_IN)) {
        return part ? "range queries" : "partition scans";
    }
    if (has_any_term(bits, PT_TERM_PK_GT, PT_TERM_PK_STARTS_WITH)) {
        return "partition range scan";
    }
    if (has_any_term(bits, PT_TERM_EK_GT, PT_TERM_EK_LE)) {
        return "key range";
    }
    if (row) {
        return "RowKey range over all partitions";
    }
    return has_term(bits, PT_TERM_FILTER) ? "key range from Filter" : "table scan";
}

#define POINT (PT_PLAN_TERM(PT_TERM_PK_EQ) | PT_PLAN_TERM(PT_TERM_RK_EQ))
#define PARTITION PT_PLAN_TERM(PT_TERM_PK_EQ)

/* Of frequent plans. */
static const struct constant_sentence {
    unsigned bits;
    const char *text;
} constant_sentences[] = {
    {POINT, "point query: PartitionKey=? AND RowKey=?"},
    {POINT | PT_PLAN_KEYS_ONLY, "point query: PartitionKey=? AND RowKey=?, keys only"},
    {PARTITION, "partition scan: PartitionKey=?"},
    {PARTITION | PT_PLAN_KEYS_ONLY, "partition scan: PartitionKey=?, keys only"},
    {PARTITION | PT_PLAN_DESCENDING, "partition scan: PartitionKey=?, descending"},
    {0, "table scan"},
    {PT_PLAN_KEYS_ONLY, "table scan, keys only"},
    {PARTITION | PT_PLAN_TERM(PT_TERM_RK_GT), "range query: PartitionKey=? AND RowKey>?"},
    {PARTITION | PT_PLAN_TERM(PT_TERM_RK_GE), "range query: PartitionKey=? AND RowKey>=?"},
    {PARTITION | PT_PLAN_TERM(PT_TERM_RK_GE) | PT_PLAN_TERM(PT_TERM_RK_LT),
     "range query: PartitionKey=? AND RowKey>=? AND RowKey<?"},
    {PARTITION | PT_PLAN_TERM(PT_TERM_RK_GE) | PT_PLAN_TERM(PT_TERM_RK_LE),
     "range query: PartitionKey=? AND RowKey>=? AND RowKey<=?"},
    {PT_PLAN_TERM(PT_TERM_EK_EQ), "point query: EntityKey=?"},
};

const char *pt_plan_constant_sentence(unsigned bits)
{
    unsigned shown =
        bits & (PT_PLAN_TERMS | PT_PLAN_KEYS_ONLY | PT_PLAN_DESCENDING | PT_PLAN_DISTINCT);
    for (size_t i = 0; i < sizeof constant_sentences / sizeof constant_sentences[0]; i++) {
        if (constant_sentences[i].bits == shown) {
            return constant_sentences[i].text;
        }
    }
    return NULL;
}

static const char *term_text(unsigned bits, int term)
{
    if (term == PT_TERM_PK_STARTS_WITH && (bits & PT_PLAN_PK_PATTERN) != 0) {
        return "PartitionKey GLOB ?";
    }
    if (term == PT_TERM_RK_STARTS_WITH && (bits & PT_PLAN_RK_PATTERN) != 0) {
        return "RowKey GLOB ?";
    }
    return plan_terms[term].text;
}

char *pt_plan_sentence(unsigned bits)
{
    sqlite3_str *sentence = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sentence, kind_of_query(bits));
    const char *separator = ": ";
    for (int term = 0; term < PT_TERM_FILTER; term++) {
        if (has_term(bits, term)) {
            sqlite3_str_appendf(sentence, "%s%s", separator, term_text(bits, term));
            separator = " AND ";
        }
    }
    if (has_term(bits, PT_TERM_FILTER) && has_any_term(bits, PT_TERM_PK_EQ, PT_TERM_ROW_ID_IN)) {
        sqlite3_str_appendall(sentence, ", Filter");
    }
    if ((bits & PT_PLAN_KEYS_ONLY) != 0) {
        sqlite3_str_appendall(sentence, ", keys only");
    }
    if ((bits & PT_PLAN_DESCENDING) != 0) {
        sqlite3_str_appendall(sentence, ", descending");
    }
    return sqlite3_str_finish(sentence);
}
