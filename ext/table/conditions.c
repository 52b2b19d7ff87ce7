#include "table/conditions.h"

#include "base/assert.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/damage.h"
#include "module/constraints.h"
#include "query/plan.h"
#include "value/value.h"

struct pt_condition {
    int column; /* index of the declared column */
    pt_judging judging;
    const pt_property *property; /* in the shape of the last row; unused with PT_JUDGE_NONE */
    pt_comparison comparison;
};

/* A term after the NUL of idxStr, one for each argument. */
typedef struct condition_term {
    uint16_t column;
    uint8_t op; /* a pt_plan_op; PT_OP_OTHER: the value is only checked */
    uint8_t flags;
} condition_term;

enum {
    TERM_LIST = 1,    /* an IN with all its values in one argument */
    TERM_IS = 2,      /* NULL equals NULL */
    TERM_CHECKED = 4, /* no text may be compared with the column */
};

/* SQLite tells of an IN only if it is one of the first constraints. */
enum { LIST_CONSTRAINTS = 32 };

static int plan_arguments(unsigned plan)
{
    return __builtin_popcount(plan & PT_PLAN_TERMS);
}

/* --- xBestIndex --- */

/* The collation in the column's declaration. */
static const char *declared_collation(pt_type type)
{
    switch (type) {
    case PT_DATETIME:
        return PT_TICKS_COLLATION;
    case PT_GUID:
        return "NOCASE";
    default:
        return "BINARY";
    }
}

/*
 * How a constraint is judged; PT_OP_OTHER: it is not. Neither <>, IS NOT, IS NOT NULL nor LIKE:
 * if they stand in the ON of a LEFT JOIN, SQLite 3.40 passes them to the table on the left, whose
 * rows must stay.
 */
static pt_plan_op judged_op(pt_type type, sqlite3_index_info *info, int i)
{
    unsigned char op = info->aConstraint[i].op;
    if (op == SQLITE_INDEX_CONSTRAINT_ISNULL) {
        return PT_OP_EQ;
    }
    pt_plan_op judged = pt_constraint_comparison(op);
    bool own = judged != PT_OP_OTHER &&
               sqlite3_stricmp(sqlite3_vtab_collation(info, i), declared_collation(type)) == 0;
    return own ? judged : PT_OP_OTHER;
}

/* SQLite adds bounds to a LIKE or GLOB: column >= 't' and column < 'u'. Nobody wrote these. */
static bool has_pattern(const sqlite3_index_info *info, int column)
{
    bool found = false;
    for (int i = 0; i < info->nConstraint; i++) {
        unsigned char op = info->aConstraint[i].op;
        found =
            found || (info->aConstraint[i].iColumn == column &&
                      (op == SQLITE_INDEX_CONSTRAINT_LIKE || op == SQLITE_INDEX_CONSTRAINT_GLOB));
    }
    return found;
}

/* True if a text on the other side is a mistake. */
static bool is_checked(pt_type type, const sqlite3_index_info *info, int i)
{
    if (type != PT_BOOLEAN) {
        return false;
    }
    switch (info->aConstraint[i].op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_NE:
    case SQLITE_INDEX_CONSTRAINT_IS:
    case SQLITE_INDEX_CONSTRAINT_ISNOT:
        return true;
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return !has_pattern(info, info->aConstraint[i].iColumn);
    default:
        return false;
    }
}

/*
 * True if a = may stand for one column of (Name, Age) IN (SELECT ...). SQLite 3.40 presents such a
 * column as =, runs xFilter once for each row of the SELECT, and relies on getting only rows that
 * are equal. It finds such terms after that of the IN itself, which is no constraint: then the
 * term's offset is greater than the number of constraints before it. Literals are in no such term.
 * An IN after the first constraints is not told of, either.
 */
static bool may_be_row_value(sqlite3_index_info *info, int i)
{
    sqlite3_value *literal;
    return i >= LIST_CONSTRAINTS || (info->aConstraint[i].iTermOffset != i &&
                                     sqlite3_vtab_rhs_value(info, i, &literal) != SQLITE_OK);
}

/* Makes a term of a constraint on a declared column. False if nothing is judged or checked. */
static bool make_term(const pt_table *table, sqlite3_index_info *info, int i, int column,
                      condition_term *made)
{
    unsigned char op = info->aConstraint[i].op;
    pt_type type = table->config.columns[column].type;
    bool list = sqlite3_vtab_in(info, i, -1) != 0;
    bool is = op == SQLITE_INDEX_CONSTRAINT_IS || op == SQLITE_INDEX_CONSTRAINT_ISNULL;
    bool checked = is_checked(type, info, i);
    pt_plan_op judged = judged_op(type, info, i);
    bool one_row = (info->idxFlags & SQLITE_INDEX_SCAN_UNIQUE) != 0;
    if (list ? one_row : op == SQLITE_INDEX_CONSTRAINT_EQ && may_be_row_value(info, i)) {
        judged = PT_OP_OTHER; /* one row is not worth reading a list */
    }
    *made = (condition_term){.column = (uint16_t)column,
                             .op = (uint8_t)judged,
                             .flags = (uint8_t)((list ? TERM_LIST : 0) | (is ? TERM_IS : 0) |
                                                (checked ? TERM_CHECKED : 0))};
    return judged != PT_OP_OTHER || checked;
}

static const char *shown_comparison(const sqlite3_index_info *info, int i,
                                    const condition_term *made)
{
    if ((made->flags & TERM_LIST) != 0) {
        return " IN (?)";
    }
    switch (info->aConstraint[i].op) {
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
        return " IS NULL";
    case SQLITE_INDEX_CONSTRAINT_IS:
        return " IS ?";
    case SQLITE_INDEX_CONSTRAINT_GT:
        return ">?";
    case SQLITE_INDEX_CONSTRAINT_GE:
        return ">=?";
    case SQLITE_INDEX_CONSTRAINT_LT:
        return "<?";
    case SQLITE_INDEX_CONSTRAINT_LE:
        return "<=?";
    default:
        return "=?";
    }
}

/* Shares of the rows that pass. SQLite takes about the same for conditions without an index. */
static const double EQUAL_SHARE = 0.25;
static const double ORDER_SHARE = 0.9;

static void lower_rows(sqlite3_index_info *info, const condition_term *made)
{
    double rows = (double)info->estimatedRows * (made->op == PT_OP_EQ ? EQUAL_SHARE : ORDER_SHARE);
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
}

typedef struct plan_text {
    pt_buffer sentence;
    pt_buffer terms;
    int arguments; /* of xFilter, so far */
    bool judges;
} plan_text;

static void write_term(const pt_table *table, sqlite3_index_info *info, int i,
                       const condition_term *made, plan_text *text)
{
    if (text->terms.size == 0) {
        pt_buffer_append_text(&text->sentence, info->idxStr);
    }
    info->aConstraintUsage[i].argvIndex = ++text->arguments;
    if ((made->flags & TERM_LIST) != 0) {
        sqlite3_vtab_in(info, i, 1);
    }
    pt_buffer_append(&text->terms, made, sizeof *made);
    if (made->op == PT_OP_OTHER) {
        return;
    }
    pt_buffer_append_text(&text->sentence, text->judges ? " AND " : "; judged in the scan: ");
    pt_buffer_append_text(&text->sentence, table->config.columns[made->column].name);
    pt_buffer_append_text(&text->sentence, shown_comparison(info, i, made));
    text->judges = true;
    lower_rows(info, made);
}

/* Replaces idxStr by sentence, NUL and terms. */
static int return_plan_text(sqlite3_index_info *info, plan_text *text)
{
    pt_buffer_append_byte(&text->sentence, 0);
    pt_buffer_append_slice(&text->sentence, pt_buffer_slice(&text->terms));
    bool failed = text->sentence.failed || text->terms.failed;
    pt_buffer_free(&text->terms);
    if (failed) {
        pt_buffer_free(&text->sentence);
        return SQLITE_NOMEM;
    }
    if (info->needToFreeIdxStr) {
        sqlite3_free(info->idxStr);
    }
    info->idxStr = (char *)text->sentence.data;
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)((unsigned)info->idxNum | PT_PLAN_CONDITIONS);
    return SQLITE_OK;
}

int pt_conditions_plan(const pt_table *table, sqlite3_index_info *info)
{
    int before = plan_arguments((unsigned)info->idxNum);
    plan_text text = {.arguments = before};
    for (int i = 0; i < info->nConstraint; i++) {
        condition_term made;
        /* Negative for LIMIT and OFFSET, whose iColumn is 0. */
        int column = info->aConstraint[i].iColumn - PT_COLUMN_FIRST;
        if (column >= 0 && column < table->config.column_count && info->aConstraint[i].usable &&
            make_term(table, info, i, column, &made)) {
            write_term(table, info, i, &made, &text);
        }
    }
    return text.arguments > before ? return_plan_text(info, &text) : SQLITE_OK;
}

/* --- Boolean columns --- */

static int refuse_text(const char *column, pt_slice text, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "column %s is a Boolean and is compared with the text '%s', which is "
                        "greater than every Boolean; write TRUE or FALSE, 1 or 0 "
                        "(InvalidValueType)",
                        column, excerpt);
}

/* Changes the value. As UTF-8 first: without memory to convert it, any other text would look like
 * no number. */
static int check_own_text(const char *column, sqlite3_value *value, pt_error *error)
{
    const unsigned char *data = sqlite3_value_text(value);
    if (data == NULL) {
        return pt_error_nomem(error);
    }
    pt_slice text = pt_slice_of(data, (size_t)sqlite3_value_bytes(value));
    return sqlite3_value_numeric_type(value) != SQLITE_TEXT ? SQLITE_OK
                                                            : refuse_text(column, text, error);
}

/* The column has INTEGER affinity: SQLite compares the text '1' as the number. */
static int check_boolean(const char *column, sqlite3_value *value, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return SQLITE_OK;
    }
    sqlite3_value *copy = sqlite3_value_dup(value);
    int rc = copy != NULL ? check_own_text(column, copy, error) : pt_error_nomem(error);
    sqlite3_value_free(copy);
    return rc;
}

/* --- xFilter --- */

typedef int (*value_adder)(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena);

/* Takes one value, for a judged condition (else NULL), a checked column, or both. */
static int take_value(pt_conditions *conditions, pt_condition *condition, const char *checked,
                      value_adder add, sqlite3_value *value, pt_error *error)
{
    int rc = checked != NULL ? check_boolean(checked, value, error) : SQLITE_OK;
    if (rc == SQLITE_OK && condition != NULL &&
        add(&condition->comparison, value, &conditions->arena) != SQLITE_OK) {
        rc = pt_error_nomem(error);
    }
    return rc;
}

static int take_list(pt_conditions *conditions, pt_condition *condition, const char *checked,
                     sqlite3_value *list, pt_error *error)
{
    PT_ASSERT(condition != NULL || checked != NULL);
    sqlite3_value *value;
    int rc = sqlite3_vtab_in_first(list, &value);
    while (rc == SQLITE_OK) {
        rc = take_value(conditions, condition, checked, pt_comparison_add, value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        bool enough = checked == NULL && condition->comparison.too_many;
        rc = enough ? SQLITE_DONE : sqlite3_vtab_in_next(list, &value);
    }
    return rc == SQLITE_DONE ? SQLITE_OK
                             : pt_error_set(error, rc, "the values of an IN cannot be read: %s",
                                            sqlite3_errstr(rc));
}

static int take_argument(pt_conditions *conditions, const pt_table *table,
                         const condition_term *given, sqlite3_value *argument, pt_error *error)
{
    const pt_column *column = &table->config.columns[given->column];
    const char *checked = (given->flags & TERM_CHECKED) != 0 ? column->name : NULL;
    pt_condition *condition = NULL;
    if (given->op != PT_OP_OTHER) {
        condition = &conditions->conditions[conditions->count++];
        condition->column = given->column;
        pt_comparison_begin(&condition->comparison, column->type, (pt_plan_op)given->op,
                            table->other_encoding);
        condition->comparison.finds_null =
            (given->flags & TERM_IS) != 0 && sqlite3_value_type(argument) == SQLITE_NULL;
    }
    int rc = (given->flags & TERM_LIST) != 0
                 ? take_list(conditions, condition, checked, argument, error)
                 : take_value(conditions, condition, checked, pt_comparison_add_argument, argument,
                              error);
    if (rc == SQLITE_OK && condition != NULL) {
        pt_comparison_end(&condition->comparison);
        conditions->never = conditions->never || pt_comparison_is_never(&condition->comparison);
    }
    return rc;
}

static bool reserve(pt_conditions *conditions, int arguments)
{
    size_t count = (size_t)arguments;
    pt_arena_clear(&conditions->arena);
    conditions->count = 0;
    conditions->never = false;
    conditions->shape = NULL;
    conditions->conditions =
        pt_arena_alloc(&conditions->arena, count * sizeof *conditions->conditions);
    return conditions->conditions != NULL;
}

int pt_conditions_set(pt_conditions *conditions, const pt_table *table, unsigned plan,
                      const char *sentence, int *argc, sqlite3_value **argv, pt_error *error)
{
    const char *at = sentence + strlen(sentence) + 1;
    int first = plan_arguments(plan);
    if (!reserve(conditions, *argc - first)) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    for (int i = first; rc == SQLITE_OK && i < *argc; i++) {
        condition_term given;
        memcpy(&given, at, sizeof given);
        at += sizeof given;
        rc = take_argument(conditions, table, &given, argv[i], error);
    }
    *argc = first;
    return rc;
}

void pt_conditions_free(pt_conditions *conditions)
{
    pt_arena_free(&conditions->arena);
}

/* --- Rows --- */

/* Finds out which properties of rows of a shape are judged, and how. */
__attribute__((noinline)) static int prepare_for_shape(pt_conditions *conditions, pt_table *table,
                                                       const pt_shape *shape, pt_error *error)
{
    const pt_column_places *places = pt_column_map_find(&table->map, shape);
    conditions->shape = NULL;
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    conditions->shape_passes = true;
    for (unsigned i = 0; i < conditions->count; i++) {
        pt_condition *condition = &conditions->conditions[i];
        condition->property = places->property[condition->column];
        condition->judging =
            pt_comparison_judging(&condition->comparison, (pt_type)condition->property->type);
        if (condition->judging == PT_JUDGE_ALL) {
            conditions->shape_passes = false;
        }
    }
    conditions->shape = shape->id != 0 ? shape : NULL;
    return SQLITE_OK;
}

int pt_conditions_judge(pt_conditions *conditions, pt_table *table, pt_row *row, bool *may_pass,
                        pt_error *error)
{
    *may_pass = false;
    int rc = pt_row_open(row, error);
    if (rc == SQLITE_OK && row->record.shape != conditions->shape) {
        rc = prepare_for_shape(conditions, table, row->record.shape, error);
    }
    if (rc != SQLITE_OK || !conditions->shape_passes) {
        return rc;
    }
    const pt_condition *condition = conditions->conditions;
    const pt_condition *end = condition + conditions->count;
    *may_pass = true;
    for (; *may_pass && condition < end; condition++) {
        if (condition->judging == PT_JUDGE_NONE) {
            continue;
        }
        PT_ASSERT(condition->property->type != PT_NONE);
        if (pt_comparison_judge(&condition->comparison, condition->judging, &row->record,
                                condition->property, may_pass) != SQLITE_OK) {
            return pt_report_damage(row->scan->key, error);
        }
    }
    return SQLITE_OK;
}
