/*
 * Texts that are no property bag, and why.
 */
#ifndef TESTS_UNIT_VALUE_JSON_REFUSALS_H
#define TESTS_UNIT_VALUE_JSON_REFUSALS_H

static const struct {
    const char *json;
    const char *message; /* or a part of it */
} refused[] = {
    {"", "Properties: not a JSON object: ; give an object such as json_object('Age', 34) "
         "(InvalidInput)"},
    {"{\"a\":1,}", "Properties: malformed JSON: {\"a\":1,}; give an object such as "
                   "json_object('Age', 34) (InvalidInput)"},
    {"{\"a\":01}", "malformed JSON"},
    {"{\"a\":1.}", "malformed JSON"},
    {"{\"a\":.5}", "malformed JSON"},
    {"{\"a\":+5}", "malformed JSON"},
    {"{\"a\":0x10}", "malformed JSON"},
    {"{\"a\":NaN}", "malformed JSON"},
    {"{\"a\":Infinity}", "malformed JSON"},
    {"{'a':1}", "malformed JSON"},
    {"{a:1}", "malformed JSON"},
    {"{\"a\":1}/**/", "malformed JSON"},
    {"{\"a\":\"\x01\"}", "malformed JSON"},
    {"{\"a\x1F\":1}", "malformed JSON"},
    {"{\"a\":\"\\x41\"}", "malformed JSON"},
    {"{} {}", "malformed JSON"},
    {"[1]", "Properties: not a JSON object: [1]; give an object such as json_object('Age', 34) "
            "(InvalidInput)"},
    {"\"a\"", "not a JSON object"},
    {"null", "not a JSON object"},
    {"34", "not a JSON object"},
    {"{\"Address\":{\"City\":\"Ulm\"}}",
     "Properties: property Address is an object or array, which no property type can hold; give "
     "its JSON text as a string (InvalidInput)"},
    {"{\"a\":1,\"Tags\":[]}", "property Tags is an object or array"},
    {"{\"Age\":1,\"b\":2,\"Age\":1}",
     "Properties: property Age is given twice; leave one out (DuplicatePropertiesSpecified)"},
    {"{\"Age\":1,\"A\\u0067e\":2}", "property Age is given twice"},
    {"{\"Age\":null,\"Age\":2}", "property Age is given twice"},
    {"{\"a@odata.type\":\"Edm.Int64\",\"a\":1,\"a@odata.type\":\"Edm.Int64\"}",
     "property a has two annotations; leave one out"},
    {"{\"\":1}", "Properties: a property has the empty name \"\"; give it a name "
                 "(PropertyNameInvalid)"},
    {"{\"PartitionKey\":\"p\"}",
     "Properties: property PartitionKey is a system property; leave it out of the JSON "
     "(PropertyNameInvalid)"},
    {"{\"RowKey\":\"r\"}", "property RowKey is a system property"},
    {"{\"Timestamp\":null}", "property Timestamp is a system property"},
    {"{\"a\":\"\\ud800\"}",
     "property a has half of a surrogate pair, which is no character; write both"},
    {"{\"\\udc00\":1}", "property name has half of a surrogate pair, which is no character"},
    {"{\"Age\":1,\"Age@odata.type\":\"Int64\"}",
     "Properties: Age@odata.type: 'Int64' is not a type; write \"Edm.String\", \"Edm.Int32\", "
     "\"Edm.Int64\", \"Edm.Double\", \"Edm.Boolean\", \"Edm.DateTime\", \"Edm.Guid\" or "
     "\"Edm.Binary\" (InvalidInput)"},
    {"{\"Age\":1,\"Age@odata.type\":\"edm.int64\"}", "Age@odata.type: 'edm.int64' is not a type"},
    {"{\"Age\":1,\"Age@odata.type\":\"Edm.\"}", "Age@odata.type: 'Edm.' is not a type"},
    {"{\"Age\":1,\"Age@odata.type\":5}", "Age@odata.type: '5' is not a type"},
    {"{\"Age\":1,\"Age@odata.type\":null}", "Age@odata.type: 'null' is not a type"},
    {"{\"Pic@odata.type\":\"Edm.Stream\"}", "Pic@odata.type: 'Edm.Stream' is not a type"},
    {"{\"Big\":9223372036854775808}",
     "Properties: property Big: 9223372036854775808 is not an Int64; write an integer from "
     "-9223372036854775808 to 9223372036854775807, without point and exponent; beyond it a Double, "
     "with point or exponent (InvalidValueType)"},
    {"{\"Big\":-9223372036854775809}", "Big: -9223372036854775809 is not an Int64"},
    {"{\"Big\":1e400}", "Big: 1e400 is not a Double; write a number up to 1.7976931348623157e+308"},
    {"{\"Big\":-1e400}", "Big: -1e400 is not a Double"},
    {"{\"a\":\"1e400\",\"a@odata.type\":\"Edm.Double\"}", "a: \"1e400\" is not a Double"},
    {"{\"a\":\"nan\",\"a@odata.type\":\"Edm.Double\"}", "a: \"nan\" is not a Double"},
    {"{\"a\":true,\"a@odata.type\":\"Edm.Double\"}", "a: true is not a Double"},
    {"{\"a\":2147483648,\"a@odata.type\":\"Edm.Int32\"}", "a: 2147483648 is not an Int32"},
    {"{\"a\":5.0,\"a@odata.type\":\"Edm.Int32\"}", "a: 5.0 is not an Int32"},
    {"{\"a\":\"abc\",\"a@odata.type\":\"Edm.Int64\"}", "a: \"abc\" is not an Int64"},
    {"{\"a\":\"\",\"a@odata.type\":\"Edm.Int64\"}", "a: \"\" is not an Int64"},
    {"{\"a\":1,\"odata.etag\":\"W/\"}",
     "Properties: property odata.etag has a name that begins with odata., as no property can; give "
     "it another name, or read the service's JSON with pt_entity_properties (PropertyNameInvalid)"},
    {"{\"odata.\":null}", "property odata. has a name that begins with odata., as no property can"},
    {"{\"a\":5,\"a@odata.type\":\"Edm.String\"}", "a: 5 is not a String"},
    {"{\"a\":1,\"a@odata.type\":\"Edm.Boolean\"}", "a: 1 is not a Boolean"},
    {"{\"a\":\"true\",\"a@odata.type\":\"Edm.Boolean\"}", "a: \"true\" is not a Boolean"},
    {"{\"a\":\"2026-02-30\",\"a@odata.type\":\"Edm.DateTime\"}",
     "a: \"2026-02-30\" is not a DateTime"},
    {"{\"a\":5,\"a@odata.type\":\"Edm.DateTime\"}", "a: 5 is not a DateTime"},
    {"{\"a\":\"0f8f\",\"a@odata.type\":\"Edm.Guid\"}", "a: \"0f8f\" is not a Guid"},
    {"{\"a\":\"AP8\",\"a@odata.type\":\"Edm.Binary\"}", "a: \"AP8\" is not a Binary"},
    {"{\"a\":false,\"a@odata.type\":\"Edm.Binary\"}", "a: false is not a Binary"},
};

#endif
