#include "value/json_value.h"

#include "base/base64.h"
#include "base/number.h"
#include "base/ticks.h"
#include "value/value.h"

static bool to_string(const pt_json_token *token, pt_value *value)
{
    value->bytes = pt_json_token_text(token);
    return token->kind == PT_JSON_STRING;
}

static bool to_int64(const pt_json_token *token, pt_value *value)
{
    return (token->kind == PT_JSON_INTEGER || token->kind == PT_JSON_STRING) &&
           pt_integer_parse(pt_json_token_text(token), &value->integer);
}

static bool to_int32(const pt_json_token *token, pt_value *value)
{
    return to_int64(token, value) && pt_value_integer_type(value->integer) == PT_INT32;
}

static bool to_double(const pt_json_token *token, pt_value *value)
{
    pt_slice text = pt_json_token_text(token);
    switch (token->kind) {
    case PT_JSON_INTEGER:
    case PT_JSON_REAL:
        return pt_double_parse(text, &value->real);
    case PT_JSON_STRING:
        return pt_double_parse(text, &value->real) || pt_double_parse_name(text, &value->real);
    default:
        return false;
    }
}

static bool to_boolean(const pt_json_token *token, pt_value *value)
{
    value->integer = token->kind == PT_JSON_TRUE;
    return token->kind == PT_JSON_TRUE || token->kind == PT_JSON_FALSE;
}

static bool to_datetime(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING &&
           pt_ticks_parse(pt_json_token_text(token), &value->integer);
}

static bool to_guid(const pt_json_token *token, pt_value *value)
{
    return token->kind == PT_JSON_STRING && pt_guid_parse(pt_json_token_text(token), value->guid);
}

/* The bytes take the place of their text. */
static bool to_binary(const pt_json_token *token, pt_value *value)
{
    value->bytes.data = token->data;
    return token->kind == PT_JSON_STRING &&
           pt_base64_decode(pt_json_token_text(token), token->data, &value->bytes.size);
}

static const struct {
    bool (*convert)(const pt_json_token *token, pt_value *value);
    const char *expectation;
} conversions[] = {
    [PT_STRING] = {to_string, "a String; write a string"},
    [PT_INT32] = {to_int32, "an Int32; write an integer from -2147483648 to 2147483647, without "
                            "point and exponent"},
    [PT_INT64] = {to_int64, "an Int64; write an integer from -9223372036854775808 to "
                            "9223372036854775807, without point and exponent; beyond it a Double, "
                            "with point or exponent"},
    [PT_DOUBLE] = {to_double, "a Double; write a number up to 1.7976931348623157e+308, or \"NaN\", "
                              "\"Infinity\" or \"-Infinity\" with the annotation \"Edm.Double\""},
    [PT_BOOLEAN] = {to_boolean, "a Boolean; write true or false"},
    [PT_DATETIME] = {to_datetime,
                     "a DateTime; write a string of the form \"2026-11-21T08:43:22.5484454Z\", "
                     "from year 0001 to 9999"},
    [PT_GUID] = {to_guid, "a Guid; write a string of the form "
                          "\"0f8fad5b-d9cb-469f-a165-70867728950e\""},
    [PT_BINARY] = {to_binary, "a Binary; write a string in base64 with its padding"},
};

bool pt_json_to_value(const pt_json_token *token, pt_type type, pt_value *value)
{
    *value = (pt_value){.type = type};
    return conversions[type].convert(token, value);
}

const char *pt_json_expectation(pt_type type)
{
    return conversions[type].expectation;
}

pt_type pt_json_own_type(const pt_json_token *token)
{
    int64_t integer = INT64_MAX;
    switch (token->kind) {
    case PT_JSON_INTEGER:
        pt_integer_parse(pt_json_token_text(token), &integer);
        return pt_value_integer_type(integer);
    case PT_JSON_REAL:
        return PT_DOUBLE;
    case PT_JSON_STRING:
        return PT_STRING;
    default:
        return PT_BOOLEAN;
    }
}
