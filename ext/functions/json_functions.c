#include "functions/json_functions.h"

#include "functions/function_arguments.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/value.h"

/* Makes the function fail with the error, and clears it. */
static void fail_with_error(sqlite3_context *context, pt_error *error)
{
    if (error->rc == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        pt_result_error(context, "%s", error->message);
    }
    pt_error_clear(error);
}

static bool is_null_or_empty(sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    return type == SQLITE_NULL || (type == SQLITE_TEXT && sqlite3_value_bytes(value) == 0);
}

bool pt_argument_properties(sqlite3_context *context, sqlite3_value *argument, pt_bag *bag)
{
    pt_bag_clear(bag);
    if (is_null_or_empty(argument)) {
        return true;
    }
    pt_error error = PT_ERROR_NONE;
    int rc = pt_json_parse(argument, bag, &error);
    if (rc != SQLITE_OK) {
        fail_with_error(context, &error);
    }
    return rc == SQLITE_OK;
}

/* --- pt_entity_json --- */

static void add_text_member(pt_buffer *json, const char *name, pt_slice text)
{
    pt_value value = {.type = PT_STRING, .bytes = text};
    pt_json_add(json, pt_slice_text(name), &value);
}

static bool add_text_column(sqlite3_context *context, pt_buffer *json, const char *name,
                            sqlite3_value *argument)
{
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
        return true;
    }
    pt_slice text;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (!pt_argument_key_text(context, argument, digits, &text)) {
        return false;
    }
    add_text_member(json, name, text);
    return true;
}

/* The service writes an Int64 as a string, with its type beside it. */
static void add_int64(pt_buffer *json, const pt_field *field, pt_buffer *digits)
{
    pt_buffer_clear(digits);
    pt_value_append_text(digits, &field->value);
    pt_value text = {.type = PT_STRING, .bytes = pt_buffer_slice(digits)};
    pt_json_add(json, field->name, &text);
    pt_json_add_annotation(json, field->name, PT_INT64);
    json->failed = json->failed || digits->failed;
}

static void add_all_properties(pt_buffer *json, const pt_bag *bag)
{
    pt_buffer digits = {0};
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_field *field = &bag->fields[i];
        if (field->value.type == PT_INT64) {
            add_int64(json, field, &digits);
        } else {
            pt_json_add(json, field->name, &field->value);
        }
    }
    pt_buffer_free(&digits);
}

void pt_function_entity_json(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_buffer json = {0};
    pt_bag bag = {0};
    pt_json_begin(&json);
    if (add_text_column(context, &json, "PartitionKey", argv[0]) &&
        add_text_column(context, &json, "RowKey", argv[1]) &&
        add_text_column(context, &json, "Timestamp", argv[2]) &&
        pt_argument_properties(context, argv[3], &bag)) {
        add_all_properties(&json, &bag);
        pt_json_end(&json);
        pt_result_text(context, &json);
    }
    pt_bag_free(&bag);
    pt_buffer_free(&json);
}

/* --- pt_entity_properties --- */

static void result_json_properties(sqlite3_context *context, const pt_bag *bag)
{
    pt_buffer json = {0};
    pt_json_begin(&json);
    for (unsigned i = 0; i < bag->count; i++) {
        pt_json_add(&json, bag->fields[i].name, &bag->fields[i].value);
    }
    pt_json_end(&json);
    pt_result_text(context, &json);
}

void pt_function_entity_properties(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice place;
    if (pt_arguments_have_null(argc, argv) || !pt_argument_text(context, argv[1], &place)) {
        return;
    }
    pt_error error = PT_ERROR_NONE;
    pt_bag bag = {0};
    int rc = pt_json_parse_entity(argv[0], (const char *)place.data, &bag, &error);
    if (rc == SQLITE_OK) {
        result_json_properties(context, &bag);
    } else {
        fail_with_error(context, &error);
    }
    pt_bag_free(&bag);
}
