/*
 * Writes a property bag as a JSON object with OData's type annotations: the Properties column.
 *
 *     {"Name":"Jun","Age":34,"Total":12345678901,"Total@odata.type":"Edm.Int64",
 *      "Due":"2026-11-21T08:00:00.0000000Z","Due@odata.type":"Edm.DateTime"}
 *
 * These types get an annotation, which follows the property: Int64 (a JSON number), DateTime, Guid,
 * Binary (in base64), and the Doubles NaN, Infinity and -Infinity (strings). Other Doubles always
 * have a point, which tells them from integers, and enough digits to be read back as the same
 * double.
 */
#ifndef PT_VALUE_JSON_WRITE_H
#define PT_VALUE_JSON_WRITE_H

#include "base/buffer.h"
#include "entity/edm.h"

/* Begin an object, add each property, and end the object. A property of type PT_NONE is left out.
 * Errors are sticky in the buffer. */
void pt_json_begin(pt_buffer *json);
void pt_json_add(pt_buffer *json, pt_slice name, const pt_value *value);
void pt_json_end(pt_buffer *json);

/* Adds an annotation to the last property, if pt_json_add does not for its type. */
void pt_json_add_annotation(pt_buffer *json, pt_slice name, pt_type type);

#endif
