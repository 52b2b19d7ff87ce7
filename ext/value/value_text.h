/*
 * The text of a property's value, as JSON and CSV have it.
 */
#ifndef PT_VALUE_VALUE_TEXT_H
#define PT_VALUE_VALUE_TEXT_H

#include "base/buffer.h"
#include "entity/edm.h"

/*
 * Appends a STRING as it is, an integer's digits, a DOUBLE's (base/number.h) or its name, true or
 * false, a DATETIME or GUID in its canonical form, a BINARY in base64. Nothing for PT_NONE and the
 * large types.
 */
void pt_value_append_text(pt_buffer *buffer, const pt_value *value);

#endif
