/*
 * Plans and the ranges that come of them: constraints with arguments on few keys, each of which is
 * looked at one by one. What a plan says it uses is used, its ranges hold exactly the keys for
 * which those constraints hold, in the order and as unique and distinct as it says.
 */
#include "fixtures/range_model.h"
#include "fixtures/term_table.h"

#include "fuzz/fuzz.h"
#include "query/ranges.h"

enum {
    CONSTRAINTS_MAX = 8,
    ORDER_MAX = 3,
    EK_FIRST = PT_TERM_EK_EQ,
    RK_FIRST = PT_TERM_RK_EQ,
    ROW_ID_FIRST = PT_TERM_ROW_ID_EQ
};

typedef struct asked {
    pt_plan_query query;
    pt_plan_constraint constraints[CONSTRAINTS_MAX];
    argument arguments[CONSTRAINTS_MAX][LIST_MAX];
    int counts[CONSTRAINTS_MAX];
    pt_plan_order order[ORDER_MAX];
    pt_plan plan;
    pt_plan_use uses[CONSTRAINTS_MAX];
    int delivered[KEYS_MAX]; /* which keys, in order */
    int delivered_count;
} asked;

static asked now;
static sqlite3 *db;
static pt_ranges ranges;
static bool filtered;

/* --- What is asked --- */

static argument take_argument(fuzz_input *input, pt_plan_column column)
{
    static const char tails[] = {0, 1, 'a', '\xFF'};
    unsigned kind = take_below(input, 16);
    if (kind == 0) {
        return (argument){.type = SQLITE_NULL};
    }
    if (kind == 1) {
        return (argument){.type = SQLITE_INTEGER, .size = 1, .bytes = "5"};
    }
    if (column == PT_PLAN_ROW_ID) {
        const char *partition = texts[take_below(input, TEXTS)];
        return row_id_argument(partition, texts[take_below(input, TEXTS)], kind);
    }
    bool blob = (column == PT_PLAN_EK) != (kind == 2);
    argument made = {.type = blob ? SQLITE_BLOB : SQLITE_TEXT};
    const char *text = texts[take_below(input, TEXTS)];
    append_bytes(&made, text, strlen(text));
    if (blob && kind > 4) {
        append_bytes(&made, "", 1);
        const char *row = texts[take_below(input, TEXTS)];
        append_bytes(&made, row, strlen(row));
    }
    if (kind == 3) {
        append_bytes(&made, &tails[take_below(input, sizeof tails)], 1);
    }
    return made;
}

static void take_constraint(fuzz_input *input, int i)
{
    pt_plan_constraint *made = &now.constraints[i];
    unsigned marks = take_byte(input);
    *made = (pt_plan_constraint){.column = (pt_plan_column)take_below(input, PT_PLAN_FILTER + 1),
                                 .op = (pt_plan_op)take_below(input, PT_OP_OFFSET + 1),
                                 .usable = (marks & 7) != 0,
                                 .binary = (marks >> 3 & 7) != 0,
                                 .number = (marks >> 6 & 1) != 0,
                                 .equals = (marks >> 7 & 1) != 0};
    made->in = made->op == PT_OP_EQ && take_below(input, 3) == 0;
    now.counts[i] = made->in ? 1 + (int)take_below(input, LIST_MAX) : 1;
    for (int value = 0; value < now.counts[i]; value++) {
        now.arguments[i][value] = take_argument(input, made->column);
    }
}

static void take_query(fuzz_input *input)
{
    random_state = take_byte(input);
    make_keys();
    unsigned flags = take_byte(input);
    now = (asked){.query = {.constraints = now.constraints, .order = now.order}};
    now.query.distinct = (flags & 1) != 0;
    now.query.partition_only = (flags & 2) != 0;
    now.query.keys_only = (flags & 6) != 0;
    now.query.other_text_order = (flags & 0x38) == 0x38;
    now.query.order_count = (int)take_below(input, ORDER_MAX + 1);
    for (int i = 0; i < now.query.order_count; i++) {
        now.order[i] = (pt_plan_order){.column = (pt_plan_column)take_below(input, PT_PLAN_FILTER),
                                       .descending = take_below(input, 2) != 0};
    }
    while (now.query.constraint_count < CONSTRAINTS_MAX && input->left != 0) {
        take_constraint(input, now.query.constraint_count++);
    }
}

/* --- What holds --- */

static pt_slice whole_key(int i)
{
    return pt_slice_of(model.keys[i].bytes, model.keys[i].size);
}

static pt_slice partition_of(int i)
{
    return pt_slice_of(model.keys[i].bytes, model.keys[i].partition_size);
}

static pt_slice row_of(int i)
{
    size_t start = model.keys[i].partition_size + 1;
    return pt_slice_of(model.keys[i].bytes + start, model.keys[i].size - start);
}

/* The operators as range_model.h has them; -1: none of these. */
static int model_op(pt_plan_op op)
{
    static const int ops[] = {[PT_OP_OTHER] = -1,
                              [PT_OP_EQ] = EQ,
                              [PT_OP_GT] = GT,
                              [PT_OP_GE] = GE,
                              [PT_OP_LT] = LT,
                              [PT_OP_LE] = LE,
                              [PT_OP_STARTS_WITH] = PREFIX,
                              [PT_OP_MATCH] = -1,
                              [PT_OP_LIMIT] = -1,
                              [PT_OP_OFFSET] = -1};
    return ops[op];
}

static bool holds_for(const pt_plan_constraint *constraint, const argument *value, int which)
{
    int op = model_op(constraint->op);
    switch (constraint->column) {
    case PT_PLAN_PK:
        return text_passes(partition_of(which), op, value);
    case PT_PLAN_RK:
        return text_passes(row_of(which), op, value);
    case PT_PLAN_ROW_ID:
        return has_row_id(&model.keys[which], value);
    default:
        return entity_passes(whole_key(which), op, value);
    }
}

/* True if a constraint on keys holds for a key; of others nothing is known. */
static bool holds(int i, int which)
{
    bool any = false;
    for (int value = 0; value < now.counts[i]; value++) {
        any = any || holds_for(&now.constraints[i], &now.arguments[i][value], which);
    }
    return any;
}

static bool is_used_for_keys(int i)
{
    return now.uses[i].argument != 0 && now.constraints[i].column != PT_PLAN_FILTER;
}

static bool is_answer(int which)
{
    bool all = true;
    for (int i = 0; i < now.query.constraint_count; i++) {
        all = all && (!is_used_for_keys(i) || holds(i, which));
    }
    return all;
}

/* --- The plan's words --- */

/* The kind of a constraint, by its place among the terms of its column. */
static int term_of(const pt_plan_constraint *constraint)
{
    int op = constraint->in ? IN : model_op(constraint->op);
    switch (constraint->column) {
    case PT_PLAN_PK:
        return op;
    case PT_PLAN_RK:
        return RK_FIRST + op;
    case PT_PLAN_EK:
        return EK_FIRST + op;
    case PT_PLAN_ROW_ID:
        return ROW_ID_FIRST + op;
    default:
        return PT_TERM_FILTER;
    }
}

static void check_use(int i, int *arguments)
{
    const pt_plan_constraint *constraint = &now.constraints[i];
    const pt_plan_use *use = &now.uses[i];
    if (use->argument == 0) {
        must_hold(!use->omit && !use->in, "what is not used is left to SQLite");
        return;
    }
    must_hold(constraint->usable, "only what is usable is used");
    int term = term_of(constraint);
    must_hold((now.plan.bits & PT_PLAN_TERM(term)) != 0, "what is used is in the plan");
    int place = 1;
    for (int before = 0; before < term; before++) {
        place += (now.plan.bits & PT_PLAN_TERM(before)) != 0;
    }
    must_hold(use->argument == place, "arguments come in the order of the terms");
    must_hold(use->in == constraint->in, "an IN is had in one call");
    must_hold(term == PT_TERM_FILTER || constraint->binary, "only BINARY is used");
    (*arguments)++;
    if (term != PT_TERM_FILTER) {
        memcpy(model.arguments[term], now.arguments[i], sizeof now.arguments[i]);
        model.counts[term] = now.counts[i];
    }
}

static void check_plan(void)
{
    int arguments = 0;
    for (int i = 0; i < now.query.constraint_count; i++) {
        check_use(i, &arguments);
    }
    int terms = __builtin_popcount(now.plan.bits & PT_PLAN_TERMS);
    must_hold(arguments == terms, "each term has its argument");
    must_hold(now.plan.cost > 0 && now.plan.rows >= 1, "a plan costs something");
    must_hold(!now.plan.order_consumed || now.query.order_count > 0, "no order is none");
    char *sentence = pt_plan_sentence(now.plan.bits);
    must_hold(sentence != NULL, "a plan has a sentence");
    sqlite3_free(sentence);
}

/* --- The ranges --- */

/* The first key that is not before. */
static int keys_before(pt_slice bound)
{
    int i = 0;
    while (i < model.key_count && pt_slice_compare(whole_key(i), bound) < 0) {
        i++;
    }
    return i;
}

static void deliver(const pt_interval *range, pt_direction direction)
{
    int first = keys_before(range->low);
    int end = range->bounded ? keys_before(range->high) : model.key_count;
    for (int i = 0; first + i < end; i++) {
        must_hold(now.delivered_count < KEYS_MAX, "no key comes twice");
        now.delivered[now.delivered_count++] = direction == PT_FORWARD ? first + i : end - 1 - i;
    }
}

/* The key that is looked for; -1: there is none. */
static int probe(const pt_interval *range, pt_direction direction)
{
    if (direction == PT_FORWARD) {
        int found = keys_before(range->low);
        return found < model.key_count ? found : -1;
    }
    return (range->bounded ? keys_before(range->high) : model.key_count) - 1;
}

static void walk_ranges(pt_direction direction)
{
    static pt_range_walk walk;
    now.delivered_count = 0;
    pt_range_walk_begin(&walk, direction);
    for (int steps = 0;; steps++) {
        pt_interval range = {.bounded = false};
        must_hold(steps < 1000, "the ranges end");
        pt_ranges_step step = pt_range_walk_next(&walk, &ranges, &range);
        must_hold(step != PT_RANGE_NOMEM, "there is memory");
        if (step == PT_RANGE_END) {
            return;
        }
        if (step == PT_RANGE_FOUND) {
            deliver(&range, direction);
            must_hold(pt_range_walk_leave(&walk, &range), "there is memory");
            if (walk.at_end) {
                return;
            }
        } else {
            int found = probe(&range, direction);
            if (found < 0) {
                return;
            }
            pt_range_walk_follow(&walk, whole_key(found));
        }
    }
}

static void check_delivered(pt_direction direction)
{
    int next = 0;
    for (int i = 0; i < model.key_count; i++) {
        int which = direction == PT_FORWARD ? i : model.key_count - 1 - i;
        bool comes = next < now.delivered_count && now.delivered[next] == which;
        must_hold(model.expected[which] == is_answer(which), "the terms are the constraints");
        must_hold(comes == is_answer(which), "the keys that come are those for which all holds");
        next += comes;
    }
    must_hold(next == now.delivered_count, "keys come in order");
}

/* --- Order, unique, distinct --- */

static int compare_by(const pt_plan_order *order, int a, int b)
{
    int result = order->column == PT_PLAN_PK   ? pt_slice_compare(partition_of(a), partition_of(b))
                 : order->column == PT_PLAN_RK ? pt_slice_compare(row_of(a), row_of(b))
                                               : pt_slice_compare(whole_key(a), whole_key(b));
    return order->descending ? -result : result;
}

/* Columns that are not keys can only be ordered by where there is one row. */
static bool in_order(int a, int b)
{
    for (int i = 0; i < now.query.order_count; i++) {
        if (now.order[i].column == PT_PLAN_OTHER || now.order[i].column == PT_PLAN_ROW_ID) {
            return false;
        }
        int result = compare_by(&now.order[i], a, b);
        if (result != 0) {
            return result < 0;
        }
    }
    return true;
}

static void check_order(void)
{
    if (!now.plan.order_consumed) {
        return;
    }
    must_hold(!now.query.other_text_order || now.order[0].column == PT_PLAN_EK,
              "texts of another order are left to SQLite");
    for (int i = 1; i < now.delivered_count; i++) {
        must_hold(in_order(now.delivered[i - 1], now.delivered[i]), "rows come in the order asked");
    }
}

/* What one row of a partition is to stand for: all of it, or nothing beyond what is used. */
static void check_distinct(void)
{
    if ((now.plan.bits & PT_PLAN_DISTINCT) == 0) {
        return;
    }
    must_hold(now.query.distinct && now.query.partition_only, "distinct is what was asked");
    for (int i = 0; i < now.query.constraint_count; i++) {
        bool hint = now.constraints[i].op == PT_OP_LIMIT || now.constraints[i].op == PT_OP_OFFSET;
        bool decided = now.uses[i].omit || now.constraints[i].column == PT_PLAN_PK;
        must_hold(hint || (is_used_for_keys(i) && decided), "one row of a partition is as another");
    }
}

static int use_ranges(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_ranges_set(&ranges, bits, argc, argv, &error);
    must_hold(rc == SQLITE_OK && bits == model.bits, "ranges are set");
    filtered = true;
    bool descending = (now.plan.bits & PT_PLAN_DESCENDING) != 0;
    walk_ranges(descending ? PT_FORWARD : PT_BACKWARD);
    check_delivered(descending ? PT_FORWARD : PT_BACKWARD);
    walk_ranges(descending ? PT_BACKWARD : PT_FORWARD);
    check_delivered(descending ? PT_BACKWARD : PT_FORWARD);
    must_hold(!now.plan.unique || now.delivered_count <= 1, "unique is one row at most");
    check_order();
    check_distinct();
    return SQLITE_OK;
}

static void bind_argument(sqlite3_stmt *statement, int parameter, const argument *value)
{
    if (value->type == SQLITE_TEXT) {
        sqlite3_bind_text(statement, parameter, (const char *)value->bytes, (int)value->size,
                          SQLITE_STATIC);
    } else if (value->type == SQLITE_BLOB) {
        sqlite3_bind_blob(statement, parameter, value->bytes, (int)value->size, SQLITE_STATIC);
    } else if (value->type == SQLITE_INTEGER) {
        sqlite3_bind_int64(statement, parameter, 5);
    }
}

/* A list of IN with one value would come as an equality, so each has all places filled. */
static void write_term(sqlite3_str *sql, int term)
{
    int first = term * LIST_MAX + 1;
    if (is_in_term(term)) {
        sqlite3_str_appendf(sql, " AND t%d IN (?%d, ?%d, ?%d, ?%d)", term, first, first + 1,
                            first + 2, first + 3);
    } else {
        sqlite3_str_appendf(sql, " AND t%d = ?%d", term, first);
    }
}

/* Has SQLite call use_ranges with the arguments of the plan's terms. */
static void run_terms(void)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    sqlite3_str_appendall(sql, "SELECT 1 FROM terms WHERE 1");
    for (int term = 0; term < PT_TERM_FILTER; term++) {
        if ((model.bits & PT_PLAN_TERM(term)) != 0) {
            write_term(sql, term);
        }
    }
    char *text = sqlite3_str_finish(sql);
    sqlite3_stmt *statement = NULL;
    must_hold(sqlite3_prepare_v2(db, text, -1, &statement, NULL) == SQLITE_OK, text);
    for (int term = 0; term < PT_TERM_FILTER; term++) {
        for (int i = 0; (model.bits & PT_PLAN_TERM(term)) != 0 && i < LIST_MAX; i++) {
            int value = i < model.counts[term] ? i : 0;
            bind_argument(statement, term * LIST_MAX + 1 + i, &model.arguments[term][value]);
        }
    }
    filtered = false;
    must_hold(sqlite3_step(statement) == SQLITE_DONE && filtered, "the plan is carried out");
    sqlite3_finalize(statement);
    sqlite3_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (db == NULL) {
        db = term_table_database();
        term_table_filter = use_ranges;
    }
    fuzz_input input = fuzz_input_of(data, size);
    take_query(&input);
    if (pt_plan_check_filter(&now.query) != PT_PLAN_FILTER_FITS) {
        return 0;
    }
    pt_plan_make(&now.query, &now.plan, now.uses);
    check_plan();
    model.bits = now.plan.bits & PT_PLAN_TERMS & ~PT_PLAN_TERM(PT_TERM_FILTER);
    find_expected();
    run_terms();
    return 0;
}
