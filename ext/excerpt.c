#include "excerpt.h"

/* Of the character at the start of the text, as its first byte tells; 1 for a stray byte. */
static size_t character_size(pt_slice text)
{
    uint8_t first = text.data[0];
    size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1;
    return size < text.size ? size : text.size;
}

void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE])
{
    size_t size = 0;
    for (int i = 0; i < PT_EXCERPT_CHARACTERS && size < text.size && text.data[size] != 0; i++) {
        size += character_size(pt_slice_of(text.data + size, text.size - size));
    }
    if (size != 0) {
        memcpy(excerpt, text.data, size);
    }
    const char *tail = size < text.size ? "..." : "";
    memcpy(excerpt + size, tail, strlen(tail) + 1);
}
