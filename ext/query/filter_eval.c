#include "query/filter_eval.h"

#include <math.h>

#include "base/sqlite.h"

/* --- Values --- */

static pt_filter_order order_of(int comparison)
{
    return comparison < 0 ? PT_FILTER_LESS : comparison > 0 ? PT_FILTER_GREATER : PT_FILTER_EQUAL;
}

static pt_filter_order compare_integers(int64_t a, int64_t b)
{
    return order_of((a > b) - (a < b));
}

static pt_filter_order compare_doubles(double a, double b)
{
    return isnan(a) ? PT_FILTER_UNORDERED : order_of((a > b) - (a < b));
}

/* Compares a Double, to which all numeric constants are widened: an Int64 that no Double equals
 * becomes the nearest one, as in the service. */
static pt_filter_order compare_double(double real, const pt_value *constant)
{
    switch (constant->type) {
    case PT_DOUBLE:
        return compare_doubles(real, constant->real);
    case PT_INT32:
    case PT_INT64:
        return compare_doubles(real, (double)constant->integer);
    default:
        return PT_FILTER_LESS;
    }
}

/* Compares a value, not of a large type, with a constant. */
static pt_filter_order order_to_constant(const pt_value *value, const pt_value *constant)
{
    if (value->type == PT_DOUBLE) {
        return compare_double(value->real, constant);
    }
    bool widened = value->type == PT_INT64 && constant->type == PT_INT32;
    if (value->type != constant->type && !widened) {
        return PT_FILTER_LESS;
    }
    switch (value->type) {
    case PT_STRING:
    case PT_BINARY:
        return order_of(pt_slice_compare(value->bytes, constant->bytes));
    case PT_GUID:
        return order_of(memcmp(value->guid, constant->guid, PT_GUID_SIZE));
    default:
        return compare_integers(value->integer, constant->integer);
    }
}

/* --- Entities --- */

/* True if the types agree, so that the bytes of the large value decide. */
static bool needs_fetch(const pt_value *value, const pt_value *constant)
{
    return constant->type == (value->type == PT_LARGE_STRING ? PT_STRING : PT_BINARY);
}

static int compare_property(const pt_filter_node *node, const pt_filter_entity *entity,
                            bool *result, pt_error *error)
{
    *result = false;
    int place = entity->places[node->property];
    if (place < 0) {
        return SQLITE_OK;
    }
    pt_value value;
    int rc = pt_record_value(entity->record, (unsigned)place, &value);
    if (rc == SQLITE_OK && pt_type_is_large(value.type) && needs_fetch(&value, &node->constant)) {
        rc = entity->fetch(entity->context, &value, error);
    }
    if (rc == SQLITE_OK) {
        *result = pt_filter_op_holds(node->op, order_to_constant(&value, &node->constant));
    }
    return rc;
}

static int compare_subject(const pt_filter_node *node, const pt_filter_entity *entity, bool *result,
                           pt_error *error)
{
    pt_value value = {.type = PT_STRING};
    switch (node->subject) {
    case PT_FILTER_PARTITION_KEY:
        value.bytes = entity->partition_key;
        break;
    case PT_FILTER_ROW_KEY:
        value.bytes = entity->row_key;
        break;
    case PT_FILTER_TIMESTAMP:
        value = (pt_value){.type = PT_DATETIME, .integer = entity->record->ticks};
        break;
    default:
        return compare_property(node, entity, result, error);
    }
    *result = pt_filter_op_holds(node->op, order_to_constant(&value, &node->constant));
    return SQLITE_OK;
}

static int evaluate(const pt_filter_node *node, const pt_filter_entity *entity, bool *result,
                    pt_error *error)
{
    int rc = SQLITE_OK;
    switch (node->kind) {
    case PT_FILTER_CONSTANT:
        *result = node->value;
        break;
    case PT_FILTER_COMPARISON:
        rc = compare_subject(node, entity, result, error);
        break;
    default: {
        /* Stops at the first operand that decides the result. */
        bool decides = node->kind == PT_FILTER_OR;
        *result = !decides;
        for (const pt_filter_node *operand = node->first;
             rc == SQLITE_OK && *result != decides && operand != NULL; operand = operand->next) {
            rc = evaluate(operand, entity, result, error);
        }
        break;
    }
    }
    *result = *result != node->negated;
    return rc;
}

int pt_filter_matches(const pt_filter *filter, const pt_filter_entity *entity, bool *matches,
                      pt_error *error)
{
    return evaluate(filter->root, entity, matches, error);
}
