/*
 * A property bag as a JSON object with OData type annotations, as the Properties column has it.
 *
 *     {"Name":"Jun","Age":34,"Total":12345678901,"Total@odata.type":"Edm.Int64",
 *      "Due":"2026-11-21T08:00:00.0000000Z","Due@odata.type":"Edm.DateTime"}
 *
 * Annotated: Int64 (a JSON number), DateTime, Guid, Binary (base64), and the Doubles NaN, Infinity
 * and -Infinity (strings). Other Doubles always have a point, which tells them from integers, and
 * as many digits as give the same bits back. An annotation follows its property.
 */
#ifndef PT_VALUE_JSON_WRITE_H
#define PT_VALUE_JSON_WRITE_H

#include "base/buffer.h"
#include "entity/edm.h"

/* An object is begun, gets each property (PT_NONE: none), and is ended. Errors are sticky in the
 * buffer. */
void pt_json_begin(pt_buffer *json);
void pt_json_add(pt_buffer *json, pt_slice name, const pt_value *value);
void pt_json_end(pt_buffer *json);

/* Names the type of a property just added for which pt_json_add would not. */
void pt_json_add_annotation(pt_buffer *json, pt_slice name, pt_type type);

#endif
