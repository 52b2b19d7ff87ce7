#include "module/tvf_plan.h"

#include "table/planner.h"

/* Where the arguments are missing; planning cannot tell whether that is so in all of a statement.
 */
#define COST_WITHOUT_ARGUMENTS 1e12
#define COST_WITHOUT_KEYS 1000

static bool is_equality(unsigned char op)
{
    return op == SQLITE_INDEX_CONSTRAINT_EQ || op == SQLITE_INDEX_CONSTRAINT_IS;
}

/* How many arguments are given, from the first one on; SQLITE_CONSTRAINT as above. */
static int use_arguments(const pt_tvf *tvf, sqlite3_index_info *info, int *count)
{
    int index[PT_TVF_ARGUMENTS_MAX] = {-1, -1};
    for (int i = 0; i < info->nConstraint; i++) {
        int argument = info->aConstraint[i].iColumn - tvf->first_argument;
        if (argument < 0 || argument >= tvf->most_arguments ||
            !is_equality(info->aConstraint[i].op)) {
            continue;
        }
        if (!info->aConstraint[i].usable) {
            return SQLITE_CONSTRAINT;
        }
        index[argument] = i;
    }
    for (*count = 0; *count < tvf->most_arguments && index[*count] >= 0; ++*count) {
        info->aConstraintUsage[index[*count]].argvIndex = *count + 1;
        info->aConstraintUsage[index[*count]].omit = 1;
    }
    return SQLITE_OK;
}

static pt_plan_constraint constraint_of(const pt_tvf *tvf, sqlite3_index_info *info, int i)
{
    pt_plan_constraint constraint = {.op = pt_planner_comparison(info->aConstraint[i].op),
                                     .usable = info->aConstraint[i].usable != 0};
    bool on_key = info->aConstraint[i].iColumn == tvf->key_column;
    if (on_key && constraint.op != PT_OP_OTHER && constraint.usable) {
        constraint.column = PT_PLAN_PK;
        pt_planner_compare_key(info, i, &constraint);
    }
    return constraint;
}

static int plan_keys(const pt_tvf *tvf, bool other_text_order, sqlite3_index_info *info,
                     int arguments)
{
    pt_plan_use *uses;
    pt_plan_order *order;
    pt_plan_constraint *constraint = pt_planner_reserve(info, &uses, &order);
    if (constraint == NULL) {
        return SQLITE_NOMEM;
    }
    for (int i = 0; i < info->nConstraint; i++) {
        constraint[i] = constraint_of(tvf, info, i);
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        bool on_key = info->aOrderBy[i].iColumn == tvf->key_column;
        order[i] = (pt_plan_order){.column = on_key ? PT_PLAN_PK : PT_PLAN_OTHER,
                                   .descending = info->aOrderBy[i].desc != 0};
    }
    const pt_plan_query query = {.constraints = constraint,
                                 .constraint_count = info->nConstraint,
                                 .order = order,
                                 .order_count = info->nOrderBy,
                                 .other_text_order = other_text_order};
    pt_plan plan;
    pt_plan_make(&query, &plan, uses);
    pt_planner_apply(info, uses, arguments);
    sqlite3_free(constraint);
    info->idxNum |= (int)plan.bits;
    info->idxStr = pt_plan_sentence(plan.bits);
    info->needToFreeIdxStr = 1;
    info->orderByConsumed = plan.order_consumed;
    info->estimatedCost = plan.cost;
    info->estimatedRows = plan.rows;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

int pt_tvf_plan(const pt_tvf *tvf, bool other_text_order, sqlite3_index_info *info)
{
    int arguments;
    int rc = use_arguments(tvf, info, &arguments);
    if (rc != SQLITE_OK) {
        return rc;
    }
    info->idxNum = arguments << PT_TVF_PLAN_BITS;
    info->estimatedCost = COST_WITHOUT_KEYS;
    if (arguments < tvf->least_arguments) {
        info->estimatedCost = COST_WITHOUT_ARGUMENTS;
        return SQLITE_OK;
    }
    return tvf->key_column >= 0 ? plan_keys(tvf, other_text_order, info, arguments) : SQLITE_OK;
}
