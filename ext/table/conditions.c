#include "table/conditions.h"

#include "base/assert.h"
#include "base/ways.h"
#include "entity/damage.h"
#include "query/plan.h"

static int plan_arguments(unsigned plan)
{
    return __builtin_popcount(plan & PT_PLAN_TERMS);
}

/* --- xBestIndex --- */

/* Replaces idxStr by sentence, NUL, terms and the use of an index. */
static int return_plan_text(sqlite3_index_info *info, pt_slice use, pt_term_list *list)
{
    if (list->terms.size == 0) {
        pt_buffer_append_text(&list->sentence, info->idxStr);
    }
    pt_buffer_append_byte(&list->sentence, 0);
    pt_buffer_append_slice(&list->sentence, pt_buffer_slice(&list->terms));
    pt_buffer_append_slice(&list->sentence, use);
    bool failed = list->sentence.failed || list->terms.failed;
    pt_buffer_free(&list->terms);
    if (failed) {
        pt_buffer_free(&list->sentence);
        return SQLITE_NOMEM;
    }
    if (info->needToFreeIdxStr) {
        sqlite3_free(info->idxStr);
    }
    info->idxStr = (char *)list->sentence.data;
    info->needToFreeIdxStr = 1;
    info->idxNum = (int)((unsigned)info->idxNum | PT_PLAN_CONDITIONS);
    return SQLITE_OK;
}

int pt_conditions_plan(const pt_table *table, sqlite3_index_info *info,
                       const pt_indexed_conditions *indexed)
{
    const pt_term_rules rules = {
        .config = &table->config, .time_column = indexed->time_column, .indexed = indexed->used};
    int before = plan_arguments((unsigned)info->idxNum);
    pt_term_list list = {
        .arguments = before, .plan = info->idxStr, .begin = "; judged in the scan: "};
    pt_terms_plan(&rules, info, &list);
    bool any = list.arguments > before || indexed->use.size != 0;
    return any ? return_plan_text(info, indexed->use, &list) : SQLITE_OK;
}

/* --- xFilter --- */

int pt_conditions_set(pt_conditions *conditions, const pt_table *table, unsigned plan,
                      const char *sentence, int *argc, sqlite3_value **argv, pt_error *error)
{
    const pt_term_table compared = {&table->config, table->other_encoding};
    conditions->shape = NULL;
    int rc = pt_terms_set(&conditions->terms, &compared, sentence + strlen(sentence) + 1,
                          plan_arguments(plan), argc, argv, error);
    if (PT_WAYS_ARE_GENERAL && (plan & PT_PLAN_INDEX) == 0) {
        conditions->terms.count = 0; /* all is checked, and nothing is judged */
        conditions->terms.never = false;
    }
    return rc;
}

void pt_conditions_free(pt_conditions *conditions)
{
    pt_terms_free(&conditions->terms);
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
    for (unsigned i = 0; i < conditions->terms.count; i++) {
        pt_term *term = &conditions->terms.terms[i];
        term->judging = PT_JUDGE_NONE;
        if (term->column == PT_TERM_TIME_COLUMN) {
            continue; /* only looked up */
        }
        term->property = places->property[term->column];
        term->judging = pt_comparison_judging(&term->comparison, (pt_type)term->property->type);
        if (term->judging == PT_JUDGE_ALL) {
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
    const pt_term *term = conditions->terms.terms;
    const pt_term *end = term + conditions->terms.count;
    *may_pass = true;
    for (; *may_pass && term < end; term++) {
        if (term->judging == PT_JUDGE_NONE) {
            continue;
        }
        PT_ASSERT(term->property->type != PT_NONE);
        if (pt_comparison_judge(&term->comparison, term->judging, &row->record, term->property,
                                may_pass) != SQLITE_OK) {
            return pt_report_damage(row->scan->key, error);
        }
    }
    return SQLITE_OK;
}
