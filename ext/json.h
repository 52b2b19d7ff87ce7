/*
 * The Properties column: a property bag as a JSON object with OData type annotations.
 *
 *     {"Name":"Jun","Age":34,"Total":12345678901,"Total@odata.type":"Edm.Int64","Due":"2026-11-21T08:00:00.0000000Z",
 *      "Due@odata.type":"Edm.DateTime"}
 *
 * Annotated: Int64 (a JSON number), DateTime, Guid, Binary (base64), and the Doubles NaN, Infinity
 * and -Infinity (strings). Other Doubles always have a '.' or an exponent, which tells them from
 * integers. An annotation follows its property.
 */
#ifndef PT_JSON_H
#define PT_JSON_H

#include "bag.h"
#include "buffer.h"
#include "error.h"
#include "sqlite.h"

/* Writers of one object: begin, add each property, end. Errors are sticky in the buffer. */
void pt_json_begin(pt_buffer *json);
void pt_json_add(pt_buffer *json, pt_slice name, const pt_value *value);
void pt_json_end(pt_buffer *json);

/*
 * Reads an object into `bag` (emptied first; strings are copied into its arena). Without
 * annotation: string String, true/false Boolean, integer Int32 if it fits, else Int64 (beyond 64
 * bits refused), number with fraction or exponent Double, null absent. With annotation (Edm.String,
 * Edm.Int32, Edm.Int64 as number or string, Edm.Double as number or string, Edm.Boolean,
 * Edm.DateTime, Edm.Guid, Edm.Binary): that type. Annotations may stand before or after their
 * property; one without its property, or of a null, is ignored. Also ignored: "odata.etag",
 * "odata.metadata" and other names that begin with "odata.". `statement` caches the prepared
 * json_each statement for the caller, who finalises it. SQLITE_MISMATCH with a text that names the
 * property and the reason: malformed JSON, not an object, nested objects or arrays, names twice,
 * PartitionKey/RowKey/Timestamp as property, unknown annotation, value that does not fit its
 * annotation. SQLITE_NOMEM.
 */
int pt_json_parse(sqlite3 *db, sqlite3_stmt **statement, sqlite3_value *json, pt_bag *bag,
                  pt_error *error);

#endif
