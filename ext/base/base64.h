/*
 * Base64 as in RFC 4648 section 4: the alphabet with + and /, padded, without line breaks.
 */
#ifndef PT_BASE_BASE64_H
#define PT_BASE_BASE64_H

#include "base/buffer.h"

void pt_base64_append(pt_buffer *buffer, pt_slice bytes);

/*
 * Decodes into `bytes`, which needs room for text.size / 4 * 3 bytes and may be the text's own
 * memory. Refuses everything but what pt_base64_append writes: other characters, blanks, missing
 * or misplaced padding, unused bits that are not zero. On false nothing has been written.
 */
bool pt_base64_decode(pt_slice text, uint8_t *bytes, size_t *size);

#endif
