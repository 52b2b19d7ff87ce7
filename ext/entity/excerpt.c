#include "entity/excerpt.h"

#include "entity/key.h"

/* Of the character at the start of the text; 0 if that is not UTF-8. */
static size_t character_size(pt_slice text)
{
    uint8_t first = text.data[0];
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    bool whole = size <= text.size && pt_key_is_valid_text(pt_slice_of(text.data, size));
    return whole ? size : 0;
}

void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE])
{
    size_t read = 0;
    size_t written = 0;
    for (int i = 0; i < PT_EXCERPT_CHARACTERS && read < text.size && text.data[read] != 0; i++) {
        pt_slice rest = pt_slice_of(text.data + read, text.size - read);
        size_t size = character_size(rest);
        memcpy(excerpt + written, size != 0 ? (const char *)rest.data : "?", size != 0 ? size : 1);
        read += size != 0 ? size : 1;
        written += size != 0 ? size : 1;
    }
    const char *tail = read < text.size ? "..." : "";
    memcpy(excerpt + written, tail, strlen(tail) + 1);
}
