#include "entity/key.h"

enum { PLAIN_STEP = 8 }; /* bytes of a text that are looked at together */
enum { LAST_CODE_POINT = 0x10FFFF, BEFORE_SURROGATES = 0xD7FF, AFTER_SURROGATES = 0xE000 };

void pt_key_begin(pt_buffer *buffer, uint32_t table_id)
{
    uint8_t id[PT_KEY_TABLE_SIZE];
    pt_put_be32(id, table_id);
    pt_buffer_clear(buffer);
    pt_buffer_append(buffer, id, sizeof id);
}

/* Keys are made for every row that is written: with one look at the buffer's room. */
void pt_key_append(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key)
{
    uint8_t *at = pt_buffer_extend(buffer, partition_key.size + 1 + row_key.size);
    if (at == NULL) {
        return;
    }
    if (partition_key.size != 0) {
        memcpy(at, partition_key.data, partition_key.size);
        at += partition_key.size;
    }
    *at++ = 0;
    if (row_key.size != 0) {
        memcpy(at, row_key.data, row_key.size);
    }
}

bool pt_key_split(pt_slice entity_key, pt_slice *partition_key, pt_slice *row_key)
{
    if (entity_key.size == 0) {
        return false;
    }
    const uint8_t *separator = memchr(entity_key.data, 0, entity_key.size);
    if (separator == NULL) {
        return false;
    }
    size_t partition_size = (size_t)(separator - entity_key.data);
    *partition_key = pt_slice_of(entity_key.data, partition_size);
    *row_key = pt_slice_of(separator + 1, entity_key.size - partition_size - 1);
    return true;
}

pt_keys pt_keys_of(pt_slice logical)
{
    pt_keys keys = {{0}, {0}};
    pt_key_split(pt_key_entity(logical), &keys.partition, &keys.row);
    return keys;
}

pt_slice pt_key_partition(pt_slice logical)
{
    pt_slice entity = pt_key_entity(logical);
    const uint8_t *separator = entity.size != 0 ? memchr(entity.data, 0, entity.size) : NULL;
    return separator != NULL ? pt_slice_of(logical.data, (size_t)(separator - logical.data))
                             : logical;
}

bool pt_key_is_in_partition(pt_slice logical, pt_slice partition)
{
    return pt_slice_has_prefix(logical, partition) &&
           (logical.size == partition.size || logical.data[partition.size] == 0);
}

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

static uint32_t decode(const uint8_t *bytes, size_t size)
{
    uint32_t code_point = size == 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        code_point = code_point << 6 | (bytes[i] & 0x3Fu);
    }
    return code_point;
}

static void append_code_point(pt_buffer *buffer, uint32_t code_point)
{
    static const uint8_t lead_marks[] = {0x00, 0xC0, 0xE0, 0xF0};
    unsigned continuations = code_point < 0x80      ? 0
                             : code_point < 0x800   ? 1
                             : code_point < 0x10000 ? 2
                                                    : 3;
    unsigned shift = 6 * continuations;
    pt_buffer_append_byte(buffer, (uint8_t)(lead_marks[continuations] | code_point >> shift));
    while (shift != 0) {
        shift -= 6;
        pt_buffer_append_byte(buffer, (uint8_t)(0x80 | (code_point >> shift & 0x3F)));
    }
}

bool pt_key_prefix_end(pt_slice prefix, pt_buffer *end)
{
    size_t size = prefix.size;
    while (size != 0) {
        size_t start = size - 1;
        while (start != 0 && size - start < 4 && is_continuation(prefix.data[start])) {
            start--;
        }
        uint32_t last = decode(prefix.data + start, size - start);
        if (last < LAST_CODE_POINT) {
            pt_buffer_assign(end, pt_slice_of(prefix.data, start));
            append_code_point(end, last == BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1);
            return true;
        }
        size = start;
    }
    return false;
}

/*
 * Bytes of the well-formed UTF-8 sequence at the start of a text that is not empty; 0 if there is
 * none. Beyond its lead only the second byte is restricted: against overlong forms (E0, F0),
 * surrogates (ED) and code points after U+10FFFF (F4).
 */
static size_t sequence_size(pt_slice text)
{
    uint8_t lead = text.data[0];
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (text.size < size) {
        return 0;
    }
    uint8_t lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    uint8_t highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (text.data[1] < lowest || text.data[1] > highest) {
        return 0;
    }
    for (size_t i = 2; i < size; i++) {
        if (!is_continuation(text.data[i])) {
            return 0;
        }
    }
    return size;
}

/* Whether eight bytes are ASCII without NUL: a byte of 0 borrows when 1 is taken from it. */
static bool is_plain(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

/* The text without the plain bytes, or most of them, that it begins with. */
static pt_slice skip_plain(pt_slice text)
{
    size_t at = 0;
    while (text.size - at >= PLAIN_STEP && is_plain(text.data + at)) {
        at += PLAIN_STEP;
    }
    if (at != 0 && text.size - at < PLAIN_STEP && is_plain(text.data + text.size - PLAIN_STEP)) {
        at = text.size;
    }
    return pt_slice_of(text.data + at, text.size - at);
}

bool pt_key_is_valid_text(pt_slice text)
{
    text = text.size >= PLAIN_STEP ? skip_plain(text) : text;
    while (text.size != 0) {
        size_t size = sequence_size(text);
        if (size == 0 || text.data[0] == 0) {
            return false;
        }
        text = pt_slice_of(text.data + size, text.size - size);
    }
    return true;
}

/* --- Excerpt --- */

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
