/*
 * Filters and their constants as text, for tests to compare: "Int32 3", "String it's",
 * "(Age gt Int32 3 and !(Name eq String x))".
 */
#ifndef TESTS_UNIT_QUERY_FILTER_TEXT_H
#define TESTS_UNIT_QUERY_FILTER_TEXT_H

#include "fixtures/cmocka.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/ticks.h"
#include "query/filter.h"

static void append_value(pt_buffer *text, const pt_value *value)
{
    char scrap[80] = "";
    switch (value->type) {
    case PT_STRING:
        break;
    case PT_BINARY:
        for (size_t i = 0; i < value->bytes.size; i++) {
            snprintf(scrap + 2 * i, sizeof scrap - 2 * i, "%02X", value->bytes.data[i]);
        }
        break;
    case PT_DOUBLE:
        snprintf(scrap, sizeof scrap, "%.17g", value->real);
        break;
    case PT_BOOLEAN:
        snprintf(scrap, sizeof scrap, "%s", value->integer != 0 ? "true" : "false");
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, scrap);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, scrap);
        break;
    default:
        snprintf(scrap, sizeof scrap, "%" PRId64, value->integer);
        break;
    }
    pt_buffer_append_text(text, pt_type_name(value->type));
    pt_buffer_append_byte(text, ' ');
    pt_buffer_append_text(text, scrap);
    if (value->type == PT_STRING) {
        assert_int_equal(value->bytes.data[value->bytes.size], 0);
        pt_buffer_append_slice(text, value->bytes);
    }
}

static void append_comparison(pt_buffer *text, const pt_filter *filter, const pt_filter_node *node)
{
    static const char *const subjects[] = {NULL, "PartitionKey!", "RowKey!", "Timestamp!"};
    static const char *const operators[] = {" eq ", " ne ", " gt ", " ge ", " lt ", " le "};
    if (node->subject == PT_FILTER_PROPERTY) {
        assert_true(node->property < filter->property_count);
        const pt_column *property = &filter->properties[node->property];
        assert_int_equal(property->name_size, strlen(property->name));
        pt_buffer_append_text(text, property->name);
    } else {
        pt_buffer_append_text(text, subjects[node->subject]);
    }
    pt_buffer_append_text(text, operators[node->op]);
    append_value(text, &node->constant);
}

static inline void append_node(pt_buffer *text, const pt_filter *filter, const pt_filter_node *node)
{
    pt_buffer_append_text(text, node->negated ? "!(" : "");
    if (node->kind == PT_FILTER_CONSTANT) {
        pt_buffer_append_text(text, node->value ? "true" : "false");
    } else if (node->kind == PT_FILTER_COMPARISON) {
        append_comparison(text, filter, node);
    } else {
        const char *joint = node->kind == PT_FILTER_AND ? " and " : " or ";
        assert_non_null(node->first);
        assert_non_null(node->first->next);
        pt_buffer_append_text(text, node->negated ? "" : "(");
        for (const pt_filter_node *operand = node->first; operand != NULL;
             operand = operand->next) {
            append_node(text, filter, operand);
            pt_buffer_append_text(text, operand->next != NULL ? joint : "");
        }
        pt_buffer_append_text(text, node->negated ? "" : ")");
    }
    pt_buffer_append_text(text, node->negated ? ")" : "");
}

#endif
