#include "table/boolean_terms.h"

#include "base/text.h"
#include "query/plan.h"
#include "value/value.h"

/* A term: the index of its column, and whether it is an IN with all its values in one argument.
 * SQLite honours that for the first constraints only. */
enum { TERM_COLUMN = 0x7FFF, TERM_LIST = 0x8000, LIST_CONSTRAINTS = 32 };

static int plan_arguments(unsigned plan)
{
    return __builtin_popcount(plan & PT_PLAN_TERMS);
}

/* --- xBestIndex --- */

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

static bool compares_boolean(const pt_table *table, const sqlite3_index_info *info, int i)
{
    /* Negative for LIMIT and OFFSET, whose iColumn is 0. */
    int column = info->aConstraint[i].iColumn - PT_COLUMN_FIRST;
    if (column < 0 || column >= table->config.column_count ||
        table->config.columns[column].type != PT_BOOLEAN || !info->aConstraint[i].usable) {
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

/* Without sqlite3_vtab_in SQLite would run xFilter once for each value of an IN. */
static bool ask_for_value(sqlite3_index_info *info, int i, int argument)
{
    if (sqlite3_vtab_in(info, i, -1)) {
        if (i >= LIST_CONSTRAINTS) {
            return false;
        }
        sqlite3_vtab_in(info, i, 1);
    }
    info->aConstraintUsage[i].argvIndex = argument;
    return true;
}

static int append_terms(sqlite3_index_info *info, int first, int end)
{
    size_t size = strlen(info->idxStr) + 1;
    char *grown = sqlite3_realloc64(info->idxStr, size + (size_t)(end - first) * sizeof(uint16_t));
    if (grown == NULL) {
        return SQLITE_NOMEM;
    }
    info->idxStr = grown;
    info->idxNum = (int)((unsigned)info->idxNum | PT_PLAN_BOOLEANS);
    char *at = grown + size;
    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraintUsage[i].argvIndex > first) {
            int column = info->aConstraint[i].iColumn - PT_COLUMN_FIRST;
            bool list = sqlite3_vtab_in(info, i, -1) != 0;
            uint16_t term = (uint16_t)(column | (list ? TERM_LIST : 0));
            memcpy(at, &term, sizeof term);
            at += sizeof term;
        }
    }
    return SQLITE_OK;
}

int pt_boolean_terms_plan(const pt_table *table, sqlite3_index_info *info)
{
    int first = plan_arguments((unsigned)info->idxNum);
    int end = first;
    for (int i = 0; i < info->nConstraint; i++) {
        if (compares_boolean(table, info, i) && ask_for_value(info, i, end + 1)) {
            end++;
        }
    }
    return end == first ? SQLITE_OK : append_terms(info, first, end);
}

/* --- xFilter --- */

static int refuse_text(const char *column, sqlite3_value *copy, pt_error *error)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_slice text;
    if (pt_value_argument_text(copy, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    pt_excerpt(text, excerpt);
    return pt_error_set(error, SQLITE_MISMATCH,
                        "column %s is a Boolean and is compared with the text '%s', which is "
                        "greater than every Boolean; write TRUE or FALSE, 1 or 0 "
                        "(InvalidValueType)",
                        column, excerpt);
}

/* The column has INTEGER affinity: SQLite compares the text '1' as the number. Reading it as a
 * number changes the value, so a copy is read. */
static int check_value(const char *column, sqlite3_value *value, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return SQLITE_OK;
    }
    sqlite3_value *copy = sqlite3_value_dup(value);
    if (copy == NULL) {
        return pt_error_nomem(error);
    }
    /* As UTF-8 first: without memory to convert it, any other text would look like no number. */
    if (sqlite3_value_text(copy) == NULL) {
        sqlite3_value_free(copy);
        return pt_error_nomem(error);
    }
    bool number = sqlite3_value_numeric_type(copy) != SQLITE_TEXT;
    int rc = number ? SQLITE_OK : refuse_text(column, copy, error);
    sqlite3_value_free(copy);
    return rc;
}

static int check_list(const char *column, sqlite3_value *list, pt_error *error)
{
    sqlite3_value *value;
    int rc = sqlite3_vtab_in_first(list, &value);
    while (rc == SQLITE_OK) {
        rc = check_value(column, value, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        rc = sqlite3_vtab_in_next(list, &value);
    }
    return rc == SQLITE_DONE ? SQLITE_OK
                             : pt_error_set(error, rc, "the values of an IN cannot be read: %s",
                                            sqlite3_errstr(rc));
}

int pt_boolean_terms_check(const pt_table *table, unsigned plan, const char *sentence, int *argc,
                           sqlite3_value **argv, pt_error *error)
{
    const char *at = sentence + strlen(sentence) + 1;
    int first = plan_arguments(plan);
    for (int i = first; i < *argc; i++) {
        uint16_t term;
        memcpy(&term, at, sizeof term);
        at += sizeof term;
        const char *column = table->config.columns[term & TERM_COLUMN].name;
        int rc = (term & TERM_LIST) != 0 ? check_list(column, argv[i], error)
                                         : check_value(column, argv[i], error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    *argc = first;
    return SQLITE_OK;
}
