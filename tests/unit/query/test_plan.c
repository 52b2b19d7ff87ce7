/*
 * Queries are written in short. WHERE: terms of a column (p PartitionKey, r RowKey, e EntityKey,
 * i row id, f Filter, x another), an operator (= in > >= < <= ^ for a prefix, m for MATCH, # for
 * anything else) and marks (' literal text, ! unusable, ~ not BINARY); "limit", "offset". ORDER BY:
 * columns, with - if descending. Flags: d distinct, k keys only, p PartitionKey only, u another
 * text order.
 *
 * Uses are written per constraint: the argument's number, o for omit, i for all of an IN.
 */
#include "fixtures/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "query/plan.h"

enum { CONSTRAINTS_MAX = 48, ORDER_MAX = 6 };

typedef struct query {
    pt_plan_query query;
    pt_plan_constraint constraints[CONSTRAINTS_MAX];
    pt_plan_order order[ORDER_MAX];
} query;

static pt_plan_column column_of(char letter)
{
    switch (letter) {
    case 'p':
        return PT_PLAN_PK;
    case 'r':
        return PT_PLAN_RK;
    case 'e':
        return PT_PLAN_EK;
    case 'i':
        return PT_PLAN_ROW_ID;
    case 'f':
        return PT_PLAN_FILTER;
    default:
        return PT_PLAN_OTHER;
    }
}

static void read_operator(const char *text, pt_plan_constraint *constraint)
{
    static const struct {
        const char *text;
        pt_plan_op op;
    } operators[] = {{">=", PT_OP_GE},         {"<=", PT_OP_LE},   {">", PT_OP_GT},
                     {"<", PT_OP_LT},          {"=", PT_OP_EQ},    {"in", PT_OP_EQ},
                     {"^", PT_OP_STARTS_WITH}, {"m", PT_OP_MATCH}, {"#", PT_OP_OTHER},
                     {"*", PT_OP_GLOB}};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strncmp(text, operators[i].text, strlen(operators[i].text)) == 0) {
            constraint->op = operators[i].op;
            constraint->in = text[0] == 'i';
            return;
        }
    }
    fail_msg("no operator: %s", text);
}

static void read_constraint(const char *word, pt_plan_constraint *constraint)
{
    *constraint = (pt_plan_constraint){.usable = strchr(word, '!') == NULL,
                                       .binary = strchr(word, '~') == NULL,
                                       .number = strchr(word, '5') != NULL,
                                       .equals = strncmp(word, "fm=", 3) == 0};
    if (strcmp(word, "limit") == 0 || strcmp(word, "offset") == 0) {
        constraint->op = word[0] == 'l' ? PT_OP_LIMIT : PT_OP_OFFSET;
        return;
    }
    constraint->column = column_of(word[0]);
    read_operator(word + 1, constraint);
}

static void read_query(const char *where, const char *order, const char *flags, query *read)
{
    *read = (query){0};
    char text[400];
    sqlite3_snprintf(sizeof text, text, "%s", where);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        read_constraint(word, &read->constraints[read->query.constraint_count++]);
    }
    sqlite3_snprintf(sizeof text, text, "%s", order);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        read->order[read->query.order_count++] =
            (pt_plan_order){.column = column_of(word[0]), .descending = word[1] == '-'};
    }
    read->query.constraints = read->constraints;
    read->query.order = read->order;
    read->query.distinct = strchr(flags, 'd') != NULL;
    read->query.keys_only = strchr(flags, 'k') != NULL;
    read->query.partition_only = strchr(flags, 'p') != NULL;
    read->query.other_text_order = strchr(flags, 'u') != NULL;
}

static pt_plan plan_of(const char *where, const char *order, const char *flags)
{
    query read;
    pt_plan plan;
    pt_plan_use uses[CONSTRAINTS_MAX];
    read_query(where, order, flags, &read);
    pt_plan_make(&read.query, &plan, uses);
    return plan;
}

static void assert_uses(const char *where, const char *flags, const char *expected)
{
    query read;
    pt_plan plan;
    pt_plan_use uses[CONSTRAINTS_MAX];
    memset(uses, 0x5A, sizeof uses);
    read_query(where, "", flags, &read);
    pt_plan_make(&read.query, &plan, uses);
    char text[400] = "";
    for (int i = 0; i < read.query.constraint_count; i++) {
        size_t size = strlen(text);
        snprintf(text + size, sizeof text - size, "%s%d%s%s", i == 0 ? "" : " ", uses[i].argument,
                 uses[i].argument != 0 && !uses[i].omit ? "c" : "", uses[i].in ? "i" : "");
    }
    assert_string_equal(text, expected);
}

static void assert_sentence(const char *where, const char *order, const char *flags,
                            const char *expected)
{
    char *sentence = pt_plan_sentence(plan_of(where, order, flags).bits);
    assert_string_equal(sentence, expected);
    sqlite3_free(sentence);
}

/* --- Terms --- */

static void arguments_come_in_the_order_of_the_terms(void **state)
{
    (void)state;
    assert_uses("", "", "");
    assert_uses("x=", "", "0");
    assert_uses("p=", "", "1");
    assert_uses("r= p=", "", "2 1");
    assert_uses("r<= r>= p=", "", "3 2 1");
    assert_uses("r>= r<= p=", "", "2 3 1");
    assert_uses("e< x> p^ e> r^", "", "4 0 1 3 2");
    assert_uses("pin p=", "", "2i 1");
    assert_uses("e= ein e> e>= e< e<= r= rin r> r>= r< r<= r^ p= pin p> p>= p< p<= p^", "",
                "15 16i 17c 18c 19c 20c 8 9i 10 11 12 13 14 1 2i 3 4c 5c 6c 7c");
}

static void what_cannot_be_a_range_is_left_to_sqlite(void **state)
{
    (void)state;
    assert_uses("p#", "", "0");
    assert_uses("p=! r=~ e#", "", "0 0 0");
    assert_uses("p=~ p=", "", "0 1");
    assert_uses("e^", "", "0");
    assert_uses("limit p= offset", "", "0 1 0");
    assert_uses("p> p> p>", "", "1 0 0");
    assert_uses("p>! p>~ p>", "", "0 0 1");
    assert_uses("p= p= r= r=", "", "1 0 2 0");
    /* SQLite checks patterns; one yields to pt_starts_with. */
    assert_uses("p* r*", "", "1c 2c");
    assert_uses("p* p* r= p>", "", "2c 0 3 1");
    assert_uses("r* r^ p=", "", "0 2 1");
    assert_uses("r^ r* p=", "", "2 0 1");
    assert_uses("r*5 p*~ e* i* x*", "", "1c 0 0 0 0");
    assert_uses("r* p*!", "u", "0 0");
    assert_uses("p> pin r^ r= e< e=", "u", "0 1ci 0 2c 4 3");
}

static void a_filter_is_the_last_argument_and_not_checked_again(void **state)
{
    (void)state;
    assert_uses("fm", "", "1");
    assert_uses("fm p= r>= e<=", "", "4 1 2 3");
    assert_uses("fm~ p>", "u", "1 0");
    assert_uses("fm p=", "u", "2 1c");
    assert_uses("f# f> p=", "", "0 0 1");
    assert_uses("fm e= ein e> e>= e< e<= r= rin r> r>= r< r<= r^ p= pin p> p>=", "",
                "18c 12 13i 14 15 16 17c 5 6i 7 8 9 10 11 1 2i 3c 4c");
    assert_uses("x= x= x= x= x= x= x= x= x= x= x= x= x= x= x= x= fm", "",
                "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1c");
}

static pt_plan_filter filter_of(const char *where)
{
    query read;
    read_query(where, "", "", &read);
    return pt_plan_check_filter(&read.query);
}

static void a_filter_must_be_known_and_stand_alone(void **state)
{
    (void)state;
    assert_int_equal(filter_of("p= r= limit"), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("p= fm r="), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("fm f# f>! p=!"), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("p= fm=!"), PT_PLAN_FILTER_LATER);
    assert_int_equal(filter_of("p= fm!"), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("fm fm!"), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("fm p= fm"), PT_PLAN_FILTER_TWICE);
    assert_int_equal(filter_of("fm= p= fm="), PT_PLAN_FILTER_FITS);
    assert_int_equal(filter_of("fm= p= fm"), PT_PLAN_FILTER_TWICE);
    query in;
    read_query("p= fm", "", "", &in);
    in.constraints[1].in = true;
    assert_int_equal(pt_plan_check_filter(&in.query), PT_PLAN_FILTER_IN);
}

static void what_is_used_is_not_checked_again(void **state)
{
    (void)state;
    assert_uses("p= r>= r<", "", "1 2 3");
    assert_uses("p^ r=", "", "1 2");
    assert_uses("pin e=", "", "1i 2");
    assert_uses("e> p>", "", "2 1");
    assert_uses("p= r= e>", "u", "1c 2c 3"); /* texts that were different may be equal in UTF-8 */
    assert_uses("pin", "u", "1ci");
}

static void numbers_in_the_statement_are_left_to_sqlite(void **state)
{
    (void)state;
    assert_uses("p=5 r=5", "", "0 0");
    assert_uses("p>5 p= r<=5 e=5", "", "0 1 0 0");
    assert_uses("p^5 r^5", "", "1 2");
}

static void sqlite_limits_what_can_be_asked(void **state)
{
    (void)state;
    assert_uses("x= x= x= x= x= x= x= x= x= x= x= x= x= x= x= p= r=", "",
                "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 2c");
    char where[400] = "";
    char expected[400] = "";
    for (int i = 0; i < 31; i++) {
        strcat(where, "x= ");
        strcat(expected, "0 ");
    }
    strcat(where, "pin rin");
    strcat(expected, "1ci 2c");
    assert_uses(where, "", expected);
}

static void one_row_is_promised_for_whole_keys_only(void **state)
{
    (void)state;
    assert_true(plan_of("p= r=", "", "").unique);
    assert_true(plan_of("e=", "", "").unique);
    assert_true(plan_of("p= r= r> pin", "", "").unique);
    assert_false(plan_of("", "", "").unique);
    assert_false(plan_of("p=", "", "").unique);
    assert_false(plan_of("r=", "", "").unique);
    assert_false(plan_of("pin r=", "", "").unique);
    assert_false(plan_of("p= rin", "", "").unique);
    assert_false(plan_of("ein", "", "").unique);
    assert_false(plan_of("p= r=!", "", "").unique);
}

/* --- Order --- */

enum { NO = 0, ASCENDING = 1, DESCENDING = 2 };

static void key_order_is_used_where_it_is_right(void **state)
{
    (void)state;
    static const struct {
        const char *where, *order, *flags;
        int expected;
    } cases[] = {
        {"", "", "", NO},
        {"", "p", "", ASCENDING},
        {"", "p-", "", DESCENDING},
        {"", "p r", "", ASCENDING},
        {"", "p- r-", "", DESCENDING},
        {"", "p r-", "", NO},
        {"", "p- r", "", NO},
        {"", "r", "", NO},
        {"", "r p", "", NO},
        {"", "e", "", ASCENDING},
        {"", "e-", "", DESCENDING},
        {"", "p e", "", ASCENDING},
        {"", "p e-", "", NO},
        {"", "p r e-", "", ASCENDING},
        {"", "p- r- e x", "", DESCENDING},
        {"", "e- x p r", "", DESCENDING},
        {"", "p p- r", "", ASCENDING},
        {"", "x", "", NO},
        {"", "p x", "", NO},
        {"", "p x r", "", NO},
        {"", "p r", "u", NO},
        {"p=", "r", "u", NO},
        {"e=", "x", "u", NO},
        {"pin", "p r", "", ASCENDING},
        {"pin rin", "p- r-", "", DESCENDING},
        {"pin", "r", "", NO},
        {"p>", "p r", "", ASCENDING},
        {"p>", "r", "", NO},
        {"p=", "p", "", ASCENDING},
        {"p=", "p- r-", "", DESCENDING},
        {"p=", "r", "", ASCENDING},
        {"p=", "r-", "", DESCENDING},
        {"p=", "r p", "", ASCENDING},
        {"p=", "p r-", "", DESCENDING},
        {"p=", "p- r", "", ASCENDING},
        {"p=", "e-", "", DESCENDING},
        {"p=", "p- e", "", ASCENDING},
        {"p=", "r x", "", ASCENDING},
        {"p=", "x", "", NO},
        {"p=!", "r", "", NO},
        {"p=~", "r", "", NO},
        {"p= pin", "r", "", ASCENDING},
        {"r=", "p x", "", ASCENDING},
        {"r=", "r p", "", ASCENDING},
        {"r=", "r- p-", "", DESCENDING},
        {"r=", "p- r", "", DESCENDING},
        {"r=", "x", "", NO},
        {"rin", "r p", "", NO},
        {"p= r=", "x", "", ASCENDING},
        {"p= r=", "r- p", "", ASCENDING},
        {"e=", "x- r", "", ASCENDING},
        {"ein", "e-", "", DESCENDING},
        {"ein", "x", "", NO},
        {"limit offset", "p", "", ASCENDING},
        {"fm", "p r", "", ASCENDING},
        {"fm", "p- r-", "", DESCENDING},
        {"fm", "r", "", NO},
        {"fm p=", "r-", "", DESCENDING},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pt_plan plan = plan_of(cases[i].where, cases[i].order, cases[i].flags);
        int direction = (plan.bits & PT_PLAN_DESCENDING) != 0 ? DESCENDING : ASCENDING;
        int got = plan.order_consumed ? direction : NO;
        if (got != cases[i].expected) {
            fail_msg("WHERE %s ORDER BY %s: %d, not %d", cases[i].where, cases[i].order, got,
                     cases[i].expected);
        }
        assert_true(plan.order_consumed || (plan.bits & PT_PLAN_DESCENDING) == 0);
    }
}

static void partitions_are_skipped_for_distinct_only_where_one_row_tells(void **state)
{
    (void)state;
    static const struct {
        const char *where, *order, *flags;
        bool expected;
    } cases[] = {
        {"", "p", "dp", true},          {"", "p-", "dp", true},
        {"", "p p-", "dp", true},       {"", "p", "p", false},
        {"", "p", "d", false},          {"", "", "dp", false},
        {"", "p r", "dp", false},       {"", "p x", "dp", false},
        {"", "p", "dpu", false},        {"p>", "p", "dp", true},
        {"p> p^ pin", "p", "dp", true}, {"p> r>", "p", "dp", true},
        {"p> r=", "p", "dp", true},     {"r>", "p", "dp", true},
        {"rin", "p", "dp", true},       {"r> r>", "p", "dp", false},
        {"p#", "p", "dp", false},       {"p=!", "p", "dp", false},
        {"p>~", "p", "dp", false},      {"x=", "p", "dp", false},
        {"e>", "p", "dp", true},        {"p> limit offset", "p", "dp", true},
        {"p=", "p", "dp", true},        {"fm", "p", "dp", false},
        {"p> fm", "p", "dp", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pt_plan plan = plan_of(cases[i].where, cases[i].order, cases[i].flags);
        bool got = (plan.bits & PT_PLAN_DISTINCT) != 0;
        if (got != cases[i].expected) {
            fail_msg("WHERE %s ORDER BY %s (%s): %d", cases[i].where, cases[i].order,
                     cases[i].flags, got);
        }
    }
}

/* --- Cost --- */

static double cost_of(const char *where)
{
    return plan_of(where, "", "").cost;
}

static void cost_tells_good_plans_from_bad(void **state)
{
    (void)state;
    static const char *const from_best_to_worst[] = {
        "p= r=", "p= r>= r<", "p= r>=", "p= r*", "p=", "pin", "r=", "p>", "p*", ""};
    for (size_t i = 1; i < sizeof from_best_to_worst / sizeof *from_best_to_worst; i++) {
        assert_true(cost_of(from_best_to_worst[i - 1]) < cost_of(from_best_to_worst[i]));
    }
    assert_true(cost_of("e=") == cost_of("p= r="));
    assert_true(cost_of("r>=") * 2 < cost_of(""));
    assert_true(cost_of("p=") * 100 < cost_of("r>="));
    assert_true(cost_of("p= r=") * 1000 < cost_of(""));
    assert_true(cost_of("pin r=") > cost_of("p= r="));
    assert_true(cost_of("pin rin") > cost_of("pin r="));
    assert_true(cost_of("limit") == cost_of(""));
    assert_true(cost_of("fm") * 40 < cost_of(""));
    assert_true(cost_of("fm") > cost_of("p="));
    assert_true(cost_of("p= r= fm!") > cost_of("fm"));
    assert_true(cost_of("fm p=") == cost_of("p="));
    assert_int_equal(plan_of("fm", "", "").rows, 200000);
    assert_int_equal(plan_of("fm p=", "", "").rows, 4);
    assert_int_equal(plan_of("fm p= r=", "", "").rows, 1);
    assert_int_equal(plan_of("", "", "").rows, 10000000);
    assert_int_equal(plan_of("p=", "", "").rows, 200);
    assert_int_equal(plan_of("p= r=", "", "").rows, 1);
    assert_int_equal(plan_of("e=", "", "").rows, 1);
    assert_int_equal(plan_of("i=", "", "").rows, 1);
    assert_int_equal(plan_of("iin", "", "").rows, 10);
    assert_true(cost_of("i=") == cost_of("e="));
    assert_true(cost_of("iin") == cost_of("ein"));
    assert_true(cost_of("i>") == cost_of(""));
}

/* The first terms make the constraints of a query, by the bits of `terms`. */
static pt_plan plan_of_terms(unsigned terms)
{
    static const char *const words[PT_TERM_COUNT] = {
        "p=",  "pin", "p>", "p>=", "p<", "p<=", "p^", "r=",  "rin", "r>",  "r>=", "r<",
        "r<=", "r^",  "e=", "ein", "e>", "e>=", "e<", "e<=", "i=",  "iin", "fm"};
    pt_plan_constraint constraints[PT_TERM_COUNT];
    pt_plan_use uses[PT_TERM_COUNT];
    pt_plan_query made = {.constraints = constraints};
    for (int term = 0; term < PT_TERM_COUNT; term++) {
        if ((terms & PT_PLAN_TERM(term)) != 0) {
            read_constraint(words[term], &constraints[made.constraint_count++]);
        }
    }
    pt_plan plan;
    pt_plan_make(&made, &plan, uses);
    return plan;
}

static void another_term_never_costs_more(void **state)
{
    (void)state;
    /* Terms that count alike stand for each other: >= for >, <= for <. */
    static const int counted[] = {
        PT_TERM_PK_EQ,          PT_TERM_PK_IN, PT_TERM_PK_GT, PT_TERM_PK_LE, PT_TERM_RK_EQ,
        PT_TERM_PK_STARTS_WITH, PT_TERM_RK_IN, PT_TERM_RK_GE, PT_TERM_RK_LT, PT_TERM_RK_STARTS_WITH,
        PT_TERM_EK_EQ,          PT_TERM_EK_IN, PT_TERM_EK_GT, PT_TERM_EK_LE, PT_TERM_ROW_ID_EQ,
        PT_TERM_ROW_ID_IN,      PT_TERM_FILTER};
    enum { COUNTED = sizeof counted / sizeof *counted };
    static double costs[1u << COUNTED];
    for (unsigned set = 0; set < 1u << COUNTED; set++) {
        unsigned terms = 0;
        for (unsigned i = 0; i < COUNTED; i++) {
            terms |= (set >> i & 1) != 0 ? PT_PLAN_TERM(counted[i]) : 0;
        }
        pt_plan plan = plan_of_terms(terms);
        assert_int_equal(plan.bits & PT_PLAN_TERMS, terms);
        assert_true(plan.rows >= 1 && plan.cost >= 1);
        costs[set] = plan.cost;
        for (unsigned i = 0; i < COUNTED; i++) {
            assert_true((set >> i & 1) == 0 || costs[set] <= costs[set & ~(1u << i)]);
        }
    }
}

/* --- Words --- */

static void plans_are_told_in_the_services_words(void **state)
{
    (void)state;
    assert_sentence("p= r=", "", "", "point query: PartitionKey=? AND RowKey=?");
    assert_sentence("e=", "", "", "point query: EntityKey=?");
    assert_sentence("pin r=", "", "", "point queries: PartitionKey IN (?) AND RowKey=?");
    assert_sentence("rin p=", "", "", "point queries: PartitionKey=? AND RowKey IN (?)");
    assert_sentence("ein", "", "", "point queries: EntityKey IN (?)");
    assert_sentence("i=", "", "", "point query: _rowid_=?");
    assert_sentence("iin", "", "k", "point queries: _rowid_ IN (?), keys only");
    assert_sentence("p= i= fm", "", "", "point query: PartitionKey=? AND _rowid_=?, Filter");
    assert_sentence("p= r>= r<", "", "", "range query: PartitionKey=? AND RowKey>=? AND RowKey<?");
    assert_sentence("p= r^", "", "", "range query: PartitionKey=? AND pt_starts_with(RowKey,?)");
    assert_sentence("p= r*", "", "", "range query: PartitionKey=? AND RowKey GLOB ?");
    assert_sentence("p* r*", "", "", "partition range scan: PartitionKey GLOB ? AND RowKey GLOB ?");
    assert_sentence("p* r^", "", "",
                    "partition range scan: PartitionKey GLOB ? AND pt_starts_with(RowKey,?)");
    assert_sentence("p= e>", "", "", "range query: PartitionKey=? AND EntityKey>?");
    assert_sentence("pin r> r<=", "", "",
                    "range queries: PartitionKey IN (?) AND RowKey>? AND RowKey<=?");
    assert_sentence("p=", "r-", "", "partition scan: PartitionKey=?, descending");
    assert_sentence("pin", "", "", "partition scans: PartitionKey IN (?)");
    assert_sentence("p>=", "", "", "partition range scan: PartitionKey>=?");
    assert_sentence("p^ r=", "", "",
                    "partition range scan: pt_starts_with(PartitionKey,?) AND RowKey=?");
    assert_sentence("p> p< p<=", "", "",
                    "partition range scan: PartitionKey>? AND PartitionKey<? AND PartitionKey<=?");
    assert_sentence("r>=", "", "", "RowKey range over all partitions: RowKey>=?");
    assert_sentence("e>", "e", "k", "key range: EntityKey>?, keys only");
    assert_sentence("e>= e< e<=", "", "",
                    "key range: EntityKey>=? AND EntityKey<? AND EntityKey<=?");
    assert_sentence("", "p", "dpk", "distinct partitions, keys only");
    assert_sentence("p>=", "p-", "dpk",
                    "distinct partitions: PartitionKey>=?, keys only, descending");
    assert_sentence("fm", "", "", "key range from Filter");
    assert_sentence("fm x=", "p-", "", "key range from Filter, descending");
    assert_sentence("fm p= r=", "", "", "point query: PartitionKey=? AND RowKey=?, Filter");
    assert_sentence("fm p=", "r-", "", "partition scan: PartitionKey=?, Filter, descending");
    assert_sentence("fm r>", "", "", "RowKey range over all partitions: RowKey>?, Filter");
    assert_sentence("fm e<=", "", "", "key range: EntityKey<=?, Filter");
    assert_sentence("", "", "", "table scan");
    assert_sentence("x=", "p-", "", "table scan, descending");
}

static void a_scan_is_what_no_partition_and_no_entity_bounds(void **state)
{
    (void)state;
    assert_true(pt_plan_is_table_scan(plan_of("", "", "k").bits));
    assert_true(pt_plan_is_table_scan(plan_of("x=", "p-", "").bits));
    assert_true(pt_plan_is_table_scan(plan_of("r= r> rin r^", "", "").bits));
    static const char *const bounded[] = {"p=", "pin", "p>", "p>=", "p<", "p<=", "p^",
                                          "e=", "ein", "e>", "e>=", "e<", "e<="};
    for (size_t i = 0; i < sizeof bounded / sizeof *bounded; i++) {
        assert_false(pt_plan_is_table_scan(plan_of(bounded[i], "", "").bits));
        assert_false(pt_plan_relies_on_pattern(plan_of(bounded[i], "", "").bits));
    }
    assert_true(pt_plan_relies_on_pattern(plan_of("p*", "", "").bits));
    assert_true(pt_plan_relies_on_pattern(plan_of("p* r= x=", "", "").bits));
    static const char *const also_bounded[] = {"p* p=", "p* pin", "p* p<", "p* p^",
                                               "p* e>", "i= p*",  "r*",    ""};
    for (size_t i = 0; i < sizeof also_bounded / sizeof *also_bounded; i++) {
        assert_false(pt_plan_relies_on_pattern(plan_of(also_bounded[i], "", "").bits));
    }
}

/* PT_PLAN_CHECKED would refuse a bound REAL that counts as an integer. */
static void a_pattern_does_not_make_other_terms_checked(void **state)
{
    (void)state;
    assert_int_equal(plan_of("p= r*", "", "").bits & (PT_PLAN_CHECKED | PT_PLAN_RK_PATTERN),
                     PT_PLAN_RK_PATTERN);
    assert_int_equal(plan_of("p= r>", "", "").bits & (PT_PLAN_CHECKED | PT_PLAN_RK_PATTERN), 0);
    assert_int_equal(plan_of("p* r^", "", "").bits & (PT_PLAN_PK_PATTERN | PT_PLAN_RK_PATTERN),
                     PT_PLAN_PK_PATTERN);
    assert_int_equal(plan_of("p*", "p", "dp").bits & PT_PLAN_DISTINCT, PT_PLAN_DISTINCT);
    assert_int_equal(plan_of("r*", "p", "dp").bits & PT_PLAN_DISTINCT, 0);
}

/* All plans of up to three terms. */
static void constant_sentences_are_those_that_would_be_written(void **state)
{
    (void)state;
    static const unsigned flags[] = {PT_PLAN_DESCENDING, PT_PLAN_KEYS_ONLY, PT_PLAN_DISTINCT};
    int constant = 0;
    for (unsigned first = 0; first <= PT_TERM_COUNT; first++) {
        for (unsigned second = 0; second <= first; second++) {
            for (unsigned third = 0; third <= second; third++) {
                for (unsigned f = 0; f < 8; f++) {
                    unsigned bits =
                        PT_PLAN_TERM(first) | PT_PLAN_TERM(second) | PT_PLAN_TERM(third);
                    bits &= PT_PLAN_TERMS;
                    for (unsigned i = 0; i < 3; i++) {
                        bits |= (f >> i & 1) != 0 ? flags[i] : 0;
                    }
                    const char *known = pt_plan_constant_sentence(bits | PT_PLAN_CHECKED);
                    if (known != NULL) {
                        char *written = pt_plan_sentence(bits);
                        assert_string_equal(known, written);
                        sqlite3_free(written);
                        constant++;
                    }
                }
            }
        }
    }
    assert_true(constant >= 12);
}

static void a_sentence_survives_no_failed_allocation(void **state)
{
    (void)state;
    sqlite3_int64 before = sqlite3_memory_used();
    bool hit = true;
    for (int n = 0; hit; n++) {
        failing_malloc_arm(n, false);
        char *sentence = pt_plan_sentence(PT_PLAN_TERMS | PT_PLAN_KEYS_ONLY | PT_PLAN_DESCENDING);
        hit = failing_malloc_disarm();
        assert_true((sentence == NULL) == hit);
        sqlite3_free(sentence);
        assert_int_equal(sqlite3_memory_used(), before);
    }
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_come_in_the_order_of_the_terms),
        cmocka_unit_test(what_cannot_be_a_range_is_left_to_sqlite),
        cmocka_unit_test(a_filter_is_the_last_argument_and_not_checked_again),
        cmocka_unit_test(a_filter_must_be_known_and_stand_alone),
        cmocka_unit_test(what_is_used_is_not_checked_again),
        cmocka_unit_test(numbers_in_the_statement_are_left_to_sqlite),
        cmocka_unit_test(sqlite_limits_what_can_be_asked),
        cmocka_unit_test(one_row_is_promised_for_whole_keys_only),
        cmocka_unit_test(key_order_is_used_where_it_is_right),
        cmocka_unit_test(partitions_are_skipped_for_distinct_only_where_one_row_tells),
        cmocka_unit_test(cost_tells_good_plans_from_bad),
        cmocka_unit_test(another_term_never_costs_more),
        cmocka_unit_test(plans_are_told_in_the_services_words),
        cmocka_unit_test(a_scan_is_what_no_partition_and_no_entity_bounds),
        cmocka_unit_test(a_pattern_does_not_make_other_terms_checked),
        cmocka_unit_test(constant_sentences_are_those_that_would_be_written),
        cmocka_unit_test(a_sentence_survives_no_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
