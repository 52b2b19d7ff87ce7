/*
 * From the value of a JSON member to a typed value.
 */
#ifndef PT_VALUE_JSON_VALUE_H
#define PT_VALUE_JSON_VALUE_H

#include "entity/edm.h"
#include "value/json_scan.h"

/* The type of a value without annotation; neither null nor nested. */
pt_type pt_json_own_type(const pt_json_token *token);

/*
 * Converts to a type as value/json_read.h says. Bytes point into the token, and those of a BINARY
 * take the place of its text. False if the token is no value of that type.
 */
bool pt_json_to_value(const pt_json_token *token, pt_type type, pt_value *value);

/* What would have been one: "an Int32; write an integer from ...". */
const char *pt_json_expectation(pt_type type);

#endif
