#include "module/constraints.h"

#include <string.h>

void *pt_constraints_read(const pt_constraint_reader *reader, const void *table,
                          sqlite3_index_info *info, pt_plan_query *query, pt_plan_use **uses)
{
    size_t count = (size_t)info->nConstraint;
    size_t size = count * (sizeof(pt_plan_constraint) + sizeof(pt_plan_use)) +
                  (size_t)info->nOrderBy * sizeof(pt_plan_order);
    /* One byte more: sqlite3_malloc64(0) returns NULL, which would look like out of memory. */
    pt_plan_constraint *constraints = sqlite3_malloc64(size + 1);
    if (constraints == NULL) {
        return NULL;
    }
    *uses = (pt_plan_use *)(constraints + count);
    memset(*uses, 0, count * sizeof **uses);
    pt_plan_order *order = (pt_plan_order *)(*uses + count);
    for (int i = 0; i < info->nConstraint; i++) {
        constraints[i] = reader->constraint(table, info, i);
    }
    for (int i = 0; i < info->nOrderBy; i++) {
        order[i] = (pt_plan_order){.column = reader->column(table, info->aOrderBy[i].iColumn),
                                   .descending = info->aOrderBy[i].desc != 0};
    }
    query->constraints = constraints;
    query->constraint_count = info->nConstraint;
    query->order = order;
    query->order_count = info->nOrderBy;
    return constraints;
}

pt_plan_op pt_constraint_comparison(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS:
        return PT_OP_EQ;
    case SQLITE_INDEX_CONSTRAINT_GT:
        return PT_OP_GT;
    case SQLITE_INDEX_CONSTRAINT_GE:
        return PT_OP_GE;
    case SQLITE_INDEX_CONSTRAINT_LT:
        return PT_OP_LT;
    case SQLITE_INDEX_CONSTRAINT_LE:
        return PT_OP_LE;
    default:
        return PT_OP_OTHER;
    }
}

/* sqlite3_vtab_rhs_value knows literals only: a parameter or an expression is not a number here. */
static bool is_number_literal(sqlite3_index_info *info, int i)
{
    sqlite3_value *value = NULL;
    if (sqlite3_vtab_rhs_value(info, i, &value) != SQLITE_OK) {
        return false;
    }
    int type = sqlite3_value_type(value);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

void pt_constraint_describe_key(sqlite3_index_info *info, int i, pt_plan_constraint *constraint)
{
    const char *collation = sqlite3_vtab_collation(info, i);
    constraint->binary = sqlite3_stricmp(collation, "BINARY") == 0;
    constraint->in = sqlite3_vtab_in(info, i, -1) != 0;
    constraint->number = is_number_literal(info, i);
}

/* No case for GLOB: that is up to the kind of table. */
static pt_plan_op plan_op(unsigned char op)
{
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_LIMIT:
        return PT_OP_LIMIT;
    case SQLITE_INDEX_CONSTRAINT_OFFSET:
        return PT_OP_OFFSET;
    case PT_CONSTRAINT_STARTS_WITH:
        return PT_OP_STARTS_WITH;
    case SQLITE_INDEX_CONSTRAINT_MATCH:
        return PT_OP_MATCH;
    default:
        return pt_constraint_comparison(op);
    }
}

pt_plan_constraint pt_constraint_of_entity(pt_constraint_column *column, const void *table,
                                           sqlite3_index_info *info, int i)
{
    pt_plan_constraint constraint = {.op = plan_op(info->aConstraint[i].op),
                                     .usable = info->aConstraint[i].usable != 0};
    if (constraint.op == PT_OP_LIMIT || constraint.op == PT_OP_OFFSET) {
        return constraint; /* iColumn is meaningless for these two */
    }
    constraint.column = column(table, info->aConstraint[i].iColumn);
    if (constraint.column == PT_PLAN_FILTER && constraint.op == PT_OP_EQ) {
        constraint.op = PT_OP_MATCH;
        constraint.equals = true;
    }
    if (constraint.column == PT_PLAN_OTHER || !constraint.usable) {
        return constraint;
    }
    pt_constraint_describe_key(info, i, &constraint);
    return constraint;
}

int pt_constraints_check_filter(const pt_plan_query *query, pt_error *error)
{
    switch (pt_plan_check_filter(query)) {
    case PT_PLAN_FILTER_LATER:
        return SQLITE_CONSTRAINT;
    case PT_PLAN_FILTER_TWICE:
        return pt_error_set(error, SQLITE_ERROR,
                            "Filter is given more than once; write one filter, with and inside");
    case PT_PLAN_FILTER_IN:
        return pt_error_set(error, SQLITE_ERROR,
                            "Filter cannot be one of several (IN, or = with OR between); write one "
                            "filter, with or inside");
    case PT_PLAN_FILTER_FITS:
    default:
        return SQLITE_OK;
    }
}

void pt_constraints_apply(sqlite3_index_info *info, const pt_plan_use *uses, int arguments_before)
{
    for (int i = 0; i < info->nConstraint; i++) {
        if (uses[i].argument == 0) {
            continue;
        }
        info->aConstraintUsage[i].argvIndex = arguments_before + uses[i].argument;
        info->aConstraintUsage[i].omit = uses[i].omit;
        if (uses[i].in) {
            sqlite3_vtab_in(info, i, 1);
        }
    }
}

int pt_constraints_return_plan(sqlite3_index_info *info, const pt_plan *plan)
{
    const char *constant = pt_plan_constant_sentence(plan->bits);
    info->needToFreeIdxStr = constant == NULL;
    /* SQLite does not write to it. */
    info->idxStr = constant != NULL ? (char *)(uintptr_t)constant : pt_plan_sentence(plan->bits);
    info->orderByConsumed = plan->order_consumed;
    info->estimatedCost = plan->cost;
    info->estimatedRows = plan->rows;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}
