#include "table/terms.h"

#include "base/assert.h"
#include "base/text.h"
#include "base/ticks.h"
#include "module/constraints.h"
#include "value/value.h"

/* A term as xFilter finds it. */
typedef struct condition_term {
    uint16_t column; /* as in pt_term */
    uint8_t op;      /* a pt_plan_op; PT_OP_OTHER: the value is only checked */
    uint8_t flags;
} condition_term;

enum {
    TERM_LIST = 1,    /* an IN with all its values in one argument */
    TERM_IS = 2,      /* NULL equals NULL */
    TERM_CHECKED = 4, /* no text may be compared with the column */
    TERM_PRESENT = 8, /* IS NOT NULL */
    TERM_LITERAL = 16,
    TERM_INDEXED = 32, /* an index uses it */
};

/* SQLite tells of an IN only if it is one of the first constraints. */
enum { LIST_CONSTRAINTS = 32 };

/* --- xBestIndex --- */

/* True for the collation in the column's declaration. */
static bool is_own_collation(pt_type type, const char *collation)
{
    switch (type) {
    case PT_DATETIME:
        return sqlite3_stricmp(collation, PT_TICKS_COLLATION) == 0 ||
               sqlite3_stricmp(collation, PT_TICKS_SHORT_COLLATION) == 0;
    case PT_GUID:
        return sqlite3_stricmp(collation, "NOCASE") == 0;
    default:
        return sqlite3_stricmp(collation, "BINARY") == 0;
    }
}

/* The versions before this one pass an IS NOT NULL in the ON of a LEFT JOIN to the table on the
 * left, whose rows must stay. */
enum { PRESENCE_SINCE_SQLITE = 3051001 };

static bool takes_presence(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL &&
           sqlite3_libversion_number() >= PRESENCE_SINCE_SQLITE;
}

static pt_type column_type(const pt_config *config, int column)
{
    return column == PT_TERM_TIME_COLUMN ? PT_DATETIME : config->columns[column].type;
}

/*
 * How a constraint is judged; PT_OP_OTHER: it is not. Neither <>, IS NOT nor LIKE: if they stand in
 * the ON of a LEFT JOIN, SQLite 3.40 passes them to the table on the left, whose rows must stay.
 */
static pt_plan_op judged_op(const pt_term_rules *rules, int column, sqlite3_index_info *info, int i)
{
    unsigned char op = info->aConstraint[i].op;
    pt_plan_op judged = PT_OP_EQ;
    if (op != SQLITE_INDEX_CONSTRAINT_ISNULL && !takes_presence(op)) {
        judged = pt_constraint_comparison(op);
        bool own = judged != PT_OP_OTHER && is_own_collation(column_type(rules->config, column),
                                                             sqlite3_vtab_collation(info, i));
        judged = own ? judged : PT_OP_OTHER;
    }
    bool taken = rules->takes == NULL || rules->takes(rules->context, column, judged);
    return taken ? judged : PT_OP_OTHER;
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
 * are equal: of the others it drops those that differ with the affinity of the column alone, while
 * IN also looks at that of the SELECT. Beside integers that is the same, whatever it selects.
 * SQLite finds such terms after that of the IN itself, which is no constraint: then the term's
 * offset is greater than the number of constraints before it. Literals are in no such term. An IN
 * after the first constraints is not told of, either.
 */
static bool may_be_row_value(pt_type column, sqlite3_index_info *info, int i)
{
    sqlite3_value *literal;
    if (column == PT_INT32 || column == PT_INT64 || column == PT_BOOLEAN) {
        return false;
    }
    return i >= LIST_CONSTRAINTS || (info->aConstraint[i].iTermOffset != i &&
                                     sqlite3_vtab_rhs_value(info, i, &literal) != SQLITE_OK);
}

/* The column of a constraint as in pt_term, or -1 if its conditions become no terms. */
static int term_column(const pt_term_rules *rules, const sqlite3_index_info *info, int i)
{
    /* Negative for LIMIT and OFFSET, whose iColumn is 0. */
    int column = info->aConstraint[i].iColumn - PT_COLUMN_FIRST;
    if (column >= 0 && info->aConstraint[i].iColumn == rules->time_column) {
        return PT_TERM_TIME_COLUMN;
    }
    return column < rules->config->column_count ? column : -1;
}

/*
 * pt_starts_with is left to older versions, which pass one in the ON of a LEFT JOIN to the table on
 * the left, whose rows must stay.
 */
enum { PREFIX_SINCE_SQLITE = 3051001 };

static bool is_prefix_term(const sqlite3_index_info *info, int i)
{
    return info->aConstraint[i].op == PT_CONSTRAINT_STARTS_WITH &&
           sqlite3_libversion_number() >= PREFIX_SINCE_SQLITE;
}

pt_plan_op pt_terms_index_op(const pt_term_rules *rules, sqlite3_index_info *info, int i,
                             bool *list)
{
    int column = term_column(rules, info, i);
    unsigned char op = info->aConstraint[i].op;
    *list = sqlite3_vtab_in(info, i, -1) != 0;
    if (is_prefix_term(info, i)) {
        return PT_OP_STARTS_WITH;
    }
    if (takes_presence(op)) {
        return PT_OP_GE; /* of all values */
    }
    bool unknown = op == SQLITE_INDEX_CONSTRAINT_EQ && !*list &&
                   may_be_row_value(column_type(rules->config, column), info, i);
    bool null = op == SQLITE_INDEX_CONSTRAINT_ISNULL;
    return null || unknown ? PT_OP_OTHER : judged_op(rules, column, info, i);
}

/* Makes a term of a constraint on a column. False if nothing is judged or checked. */
static bool make_term(const pt_term_rules *rules, sqlite3_index_info *info, int i, int column,
                      condition_term *made)
{
    bool indexed = i < PT_INDEXED_TERMS_MAX && (rules->indexed >> i & 1) != 0;
    sqlite3_value *literal;
    unsigned char op = info->aConstraint[i].op;
    bool list = sqlite3_vtab_in(info, i, -1) != 0;
    bool checked = is_checked(column_type(rules->config, column), info, i);
    pt_plan_op judged = judged_op(rules, column, info, i);
    bool one_row = (info->idxFlags & SQLITE_INDEX_SCAN_UNIQUE) != 0;
    if (list ? one_row
             : op == SQLITE_INDEX_CONSTRAINT_EQ &&
                   may_be_row_value(column_type(rules->config, column), info, i)) {
        judged = PT_OP_OTHER; /* one row is not worth reading a list */
    }
    if (indexed && is_prefix_term(info, i)) {
        judged = PT_OP_STARTS_WITH;
    }
    unsigned flags = list ? TERM_LIST : 0;
    if (indexed) {
        flags |= TERM_INDEXED;
    }
    if (op == SQLITE_INDEX_CONSTRAINT_IS || op == SQLITE_INDEX_CONSTRAINT_ISNULL) {
        flags |= TERM_IS;
    }
    if (checked) {
        flags |= TERM_CHECKED;
    }
    if (op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) {
        flags |= TERM_PRESENT;
    } else if (sqlite3_vtab_rhs_value(info, i, &literal) == SQLITE_OK) {
        flags |= TERM_LITERAL;
    }
    *made = (condition_term){
        .column = (uint16_t)column, .op = (uint8_t)judged, .flags = (uint8_t)flags};
    return judged != PT_OP_OTHER || checked;
}

const char *pt_terms_shown(sqlite3_index_info *info, int i)
{
    if (sqlite3_vtab_in(info, i, -1) != 0) {
        return " IN (?)";
    }
    switch (info->aConstraint[i].op) {
    case SQLITE_INDEX_CONSTRAINT_ISNULL:
        return " IS NULL";
    case SQLITE_INDEX_CONSTRAINT_ISNOTNULL:
        return " IS NOT NULL";
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

static void write_term(const pt_config *config, sqlite3_index_info *info, int i,
                       const condition_term *made, pt_term_list *list)
{
    if (list->terms.size == 0) {
        pt_buffer_append_text(&list->sentence, list->plan);
    }
    info->aConstraintUsage[i].argvIndex = ++list->arguments;
    if ((made->flags & TERM_LIST) != 0) {
        sqlite3_vtab_in(info, i, 1);
    }
    pt_buffer_append(&list->terms, made, sizeof *made);
    if (made->op == PT_OP_OTHER || (made->flags & TERM_INDEXED) != 0) {
        return; /* nothing is judged, or the plan shows it */
    }
    pt_buffer_append_text(&list->sentence, list->judges ? " AND " : list->begin);
    list->judges = true;
    bool declared = made->column != PT_TERM_TIME_COLUMN;
    pt_buffer_append_text(&list->sentence,
                          declared ? config->columns[made->column].name : "Timestamp");
    pt_buffer_append_text(&list->sentence, pt_terms_shown(info, i));
    lower_rows(info, made);
}

void pt_terms_plan(const pt_term_rules *rules, sqlite3_index_info *info, pt_term_list *list)
{
    for (int i = 0; i < info->nConstraint; i++) {
        condition_term made;
        int column = term_column(rules, info, i);
        if (column >= 0 && info->aConstraint[i].usable &&
            make_term(rules, info, i, column, &made)) {
            write_term(rules->config, info, i, &made, list);
        }
    }
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

typedef int value_adder(pt_comparison *comparison, sqlite3_value *value, pt_arena *arena);

/* Takes one value, for a judged term (else NULL), a checked column, or both. */
static int take_value(pt_terms *terms, pt_term *term, const char *checked, value_adder *add,
                      sqlite3_value *value, pt_error *error)
{
    int rc = checked != NULL ? check_boolean(checked, value, error) : SQLITE_OK;
    if (rc == SQLITE_OK && term != NULL &&
        add(&term->comparison, value, &terms->arena) != SQLITE_OK) {
        rc = pt_error_nomem(error);
    }
    return rc;
}

static int take_list(pt_terms *terms, pt_term *term, const char *checked, sqlite3_value *list,
                     pt_error *error)
{
    PT_ASSERT(term != NULL || checked != NULL);
    sqlite3_value *value;
    int rc = sqlite3_vtab_in_first(list, &value);
    while (rc == SQLITE_OK) {
        rc = take_value(terms, term, checked, pt_comparison_add, value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        bool enough = checked == NULL && term->comparison.too_many;
        rc = enough ? SQLITE_DONE : sqlite3_vtab_in_next(list, &value);
    }
    return rc == SQLITE_DONE ? SQLITE_OK
                             : pt_error_set(error, rc, "the values of an IN cannot be read: %s",
                                            sqlite3_errstr(rc));
}

static pt_term *begin_term(pt_terms *terms, const pt_term_table *table, const condition_term *given,
                           sqlite3_value *argument)
{
    pt_term *term = &terms->terms[terms->count++];
    term->column = given->column;
    term->plain = (given->flags & TERM_LITERAL) != 0 || sqlite3_value_frombind(argument) != 0;
    term->indexed = (given->flags & TERM_INDEXED) != 0;
    pt_comparison_begin(&term->comparison, column_type(table->config, given->column),
                        (pt_plan_op)given->op, table->other_encoding);
    term->comparison.finds_null =
        (given->flags & TERM_IS) != 0 && sqlite3_value_type(argument) == SQLITE_NULL;
    term->comparison.keeps_all = term->indexed;
    if (term->plain && sqlite3_value_type(argument) == SQLITE_TEXT) {
        pt_comparison_compare_exactly(&term->comparison);
    }
    return term;
}

static int take_argument(pt_terms *terms, const pt_term_table *table, const condition_term *given,
                         sqlite3_value *argument, pt_error *error)
{
    bool checks = (given->flags & TERM_CHECKED) != 0;
    const char *checked = checks ? table->config->columns[given->column].name : NULL;
    pt_term *term = given->op != PT_OP_OTHER ? begin_term(terms, table, given, argument) : NULL;
    if ((given->flags & TERM_PRESENT) != 0) {
        PT_ASSERT(term != NULL);
        pt_comparison_find_all(&term->comparison);
        return SQLITE_OK;
    }
    value_adder *add =
        given->op == PT_OP_STARTS_WITH ? pt_comparison_add_prefix : pt_comparison_add_argument;
    int rc = (given->flags & TERM_LIST) != 0
                 ? take_list(terms, term, checked, argument, error)
                 : take_value(terms, term, checked, add, argument, error);
    if (rc == SQLITE_OK && term != NULL) {
        pt_comparison_end(&term->comparison);
        terms->never = terms->never || pt_comparison_is_never(&term->comparison);
    }
    return rc;
}

static bool reserve(pt_terms *terms, int arguments)
{
    size_t count = (size_t)arguments;
    pt_arena_clear(&terms->arena);
    terms->count = 0;
    terms->never = false;
    terms->terms = pt_arena_alloc(&terms->arena, count * sizeof *terms->terms);
    return terms->terms != NULL;
}

int pt_terms_set(pt_terms *terms, const pt_term_table *table, const char *list, int first,
                 int *argc, sqlite3_value **argv, pt_error *error)
{
    if (!reserve(terms, *argc - first)) {
        return pt_error_nomem(error);
    }
    int rc = SQLITE_OK;
    for (int i = first; rc == SQLITE_OK && i < *argc; i++) {
        condition_term given;
        memcpy(&given, list, sizeof given);
        list += sizeof given;
        rc = take_argument(terms, table, &given, argv[i], error);
    }
    *argc = first;
    terms->rest = list;
    return rc;
}

unsigned pt_terms_on_column(const pt_terms *terms, int column, const pt_comparison **comparisons,
                            unsigned most)
{
    unsigned count = 0;
    for (unsigned i = 0; i < terms->count && count < most; i++) {
        const pt_term *term = &terms->terms[i];
        if (term->indexed && term->column == column) {
            comparisons[count++] = &term->comparison;
        }
    }
    return count;
}

void pt_terms_free(pt_terms *terms)
{
    pt_arena_free(&terms->arena);
}
