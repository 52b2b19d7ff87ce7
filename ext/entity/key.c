#include "entity/key.h"

#include "base/sqlite.h"

#define HEX_DIGITS "0123456789ABCDEF"

enum { ESCAPE_SIZE = 3 }; /* bytes of %XX */
enum { PLAIN_STEP = 8 };  /* bytes of a text that are checked together */
enum { LAST_CODE_POINT = 0x10FFFF, BEFORE_SURROGATES = 0xD7FF, AFTER_SURROGATES = 0xE000 };

#define NO_TABLE UINT32_MAX

/* --- Table ids in keys --- */

uint32_t pt_key_wide_table(const uint8_t *bytes)
{
    switch (bytes[0]) {
    case PT_KEY_TABLE_16_BITS:
        return (uint32_t)bytes[1] << 8 | bytes[2];
    case PT_KEY_TABLE_32_BITS:
        return pt_get_be32(bytes + 1);
    case PT_KEY_GARBAGE:
        return PT_TABLE_GARBAGE;
    case PT_KEY_CHUNKS:
        return PT_TABLE_CHUNKS;
    default:
        return NO_TABLE;
    }
}

size_t pt_key_put_table(uint8_t bytes[PT_KEY_TABLE_MAX], uint32_t table_id)
{
    if (table_id >= PT_TABLE_GARBAGE) {
        bytes[0] = table_id == PT_TABLE_GARBAGE ? PT_KEY_GARBAGE : PT_KEY_CHUNKS;
        return 1;
    }
    if (table_id <= PT_KEY_SMALL_TABLE) {
        bytes[0] = (uint8_t)table_id;
        return 1;
    }
    if (table_id <= UINT16_MAX) {
        bytes[0] = PT_KEY_TABLE_16_BITS;
        bytes[1] = (uint8_t)(table_id >> 8);
        bytes[2] = (uint8_t)table_id;
        return 1 + sizeof(uint16_t);
    }
    bytes[0] = PT_KEY_TABLE_32_BITS;
    pt_put_be32(bytes + 1, table_id);
    return PT_KEY_TABLE_MAX;
}

/* Writes the id again to see if it is written in the one way. */
size_t pt_key_read_table(pt_slice bytes, uint32_t *table_id)
{
    uint8_t again[PT_KEY_TABLE_MAX];
    if (!pt_key_has_table(bytes)) {
        return 0;
    }
    *table_id = pt_key_table(bytes);
    size_t size = pt_key_put_table(again, *table_id);
    return size == pt_key_table_size(bytes) && memcmp(again, bytes.data, size) == 0 ? size : 0;
}

static size_t read_owned(pt_slice logical, uint8_t kind, uint32_t *table_id)
{
    if (logical.size == 0 || logical.data[0] != kind) {
        return 0;
    }
    size_t size = pt_key_read_table(pt_slice_of(logical.data + 1, logical.size - 1), table_id);
    return size != 0 && *table_id < PT_TABLE_ID_LIMIT ? 1 + size : 0;
}

size_t pt_key_read_chunks(pt_slice logical, uint32_t *table_id)
{
    return read_owned(logical, PT_KEY_CHUNKS, table_id);
}

size_t pt_key_read_garbage(pt_slice logical, uint32_t *table_id)
{
    size_t size = read_owned(logical, PT_KEY_GARBAGE, table_id);
    return size == logical.size ? size : 0;
}

/* --- Starts --- */

pt_key_start pt_key_start_of_table(uint32_t table_id)
{
    pt_key_start start;
    start.size = (uint8_t)pt_key_put_table(start.bytes, table_id);
    return start;
}

static pt_key_start start_of_owned(uint8_t kind, uint32_t table_id)
{
    pt_key_start start = {.bytes = {kind}};
    start.size = (uint8_t)(1 + pt_key_put_table(start.bytes + 1, table_id));
    return start;
}

pt_key_start pt_key_start_of_chunks(uint32_t table_id)
{
    return start_of_owned(PT_KEY_CHUNKS, table_id);
}

pt_key_start pt_key_start_of_garbage(uint32_t table_id)
{
    return start_of_owned(PT_KEY_GARBAGE, table_id);
}

/* Drops trailing bytes FF and increments the last byte. Every table's id has a byte below FF. */
pt_key_start pt_key_start_after(pt_key_start start)
{
    while (start.bytes[start.size - 1] == UINT8_MAX) {
        start.size--;
    }
    start.bytes[start.size - 1]++;
    return start;
}

/* --- Logical keys --- */

/* Not inlined, so that the usual case need not save registers for it. */
__attribute__((noinline)) static void append_wide_table(pt_buffer *buffer, uint32_t table_id)
{
    pt_key_start start = pt_key_start_of_table(table_id);
    pt_buffer_append_slice(buffer, pt_key_start_slice(&start));
}

void pt_key_begin(pt_buffer *buffer, uint32_t table_id)
{
    pt_buffer_clear(buffer);
    if (table_id <= PT_KEY_SMALL_TABLE) {
        pt_buffer_append_byte(buffer, (uint8_t)table_id);
    } else {
        append_wide_table(buffer, table_id);
    }
}

void pt_key_begin_after(pt_buffer *buffer, uint32_t table_id)
{
    pt_key_start after = pt_key_start_after(pt_key_start_of_table(table_id));
    pt_buffer_assign(buffer, pt_key_start_slice(&after));
}

void pt_key_bound_partition(pt_buffer *buffer, uint32_t table_id, pt_slice partition_key,
                            uint8_t bound)
{
    pt_key_begin(buffer, table_id);
    pt_buffer_append_slice(buffer, partition_key);
    pt_buffer_append_byte(buffer, bound);
}

/* Checks the room in the buffer only once: every row that is written needs a key, and every point
 * query one with a 00. */
static inline void append_entity_key(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key,
                                     bool with_nul)
{
    uint8_t *at = pt_buffer_extend(buffer, partition_key.size + 1 + row_key.size + with_nul);
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
    if (with_nul) {
        at[row_key.size] = 0;
    }
}

void pt_key_append(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key)
{
    append_entity_key(buffer, partition_key, row_key, false);
}

void pt_key_append_with_nul(pt_buffer *buffer, pt_slice partition_key, pt_slice row_key)
{
    append_entity_key(buffer, partition_key, row_key, true);
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

/* --- Row ids --- */

static uint8_t *put_escaped(uint8_t *to, pt_slice key)
{
    for (size_t i = 0; i < key.size; i++) {
        uint8_t byte = key.data[i];
        if (pt_is_unreserved(byte)) {
            *to++ = byte;
        } else {
            *to++ = '%';
            *to++ = (uint8_t)HEX_DIGITS[byte >> 4];
            *to++ = (uint8_t)HEX_DIGITS[byte & 0xF];
        }
    }
    return to;
}

/* Checks the room in the buffer only once, for the longest text that is possible. */
bool pt_key_append_row_id(pt_buffer *buffer, pt_slice entity_key)
{
    pt_slice partition_key;
    pt_slice row_key;
    if (!pt_key_split(entity_key, &partition_key, &row_key)) {
        return false;
    }
    uint8_t *start = pt_buffer_extend(buffer, entity_key.size * ESCAPE_SIZE);
    if (start == NULL) {
        return true;
    }
    uint8_t *end = put_escaped(start, partition_key);
    *end++ = '/';
    end = put_escaped(end, row_key);
    buffer->size -= entity_key.size * ESCAPE_SIZE - (size_t)(end - start);
    return true;
}

/* The value of a hexadecimal digit in upper case; -1 for any other byte. */
static int hex_value(uint8_t digit)
{
    if (pt_is_digit(digit)) {
        return digit - '0';
    }
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* The byte that a text escapes at its start; -1 if there is no escape, or if a row id would not
 * escape the byte. No key contains 00. */
static int escaped_byte(pt_slice text)
{
    if (text.size < ESCAPE_SIZE || text.data[0] != '%') {
        return -1;
    }
    int high = hex_value(text.data[1]);
    int low = hex_value(text.data[2]);
    if (high < 0 || low < 0) {
        return -1;
    }
    int byte = high * 16 + low;
    return byte == 0 || pt_is_unreserved((uint8_t)byte) ? -1 : byte;
}

size_t pt_key_from_row_id(pt_slice text, uint8_t *entity_key)
{
    uint8_t *to = entity_key;
    bool divided = false;
    size_t i = 0;
    while (i < text.size) {
        uint8_t byte = text.data[i];
        if (pt_is_unreserved(byte)) {
            *to++ = byte;
            i++;
        } else if (byte == '/' && !divided) {
            divided = true;
            *to++ = 0;
            i++;
        } else {
            int escaped = escaped_byte(pt_slice_of(text.data + i, text.size - i));
            if (escaped < 0) {
                return 0;
            }
            *to++ = (uint8_t)escaped;
            i += ESCAPE_SIZE;
        }
    }
    return divided ? (size_t)(to - entity_key) : 0;
}

/* --- Keys and partitions --- */

pt_keys pt_keys_of(pt_slice logical)
{
    pt_keys keys = {{0}, {0}};
    pt_key_split(pt_key_entity(logical), &keys.partition, &keys.row);
    return keys;
}

void pt_keys_describe(pt_keys keys, char text[PT_KEYS_TEXT_SIZE])
{
    char partition[PT_EXCERPT_SIZE];
    char row[PT_EXCERPT_SIZE];
    pt_excerpt(keys.partition, partition);
    pt_excerpt(keys.row, row);
    sqlite3_snprintf(PT_KEYS_TEXT_SIZE, text, "PartitionKey %Q, RowKey %Q", partition, row);
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

/* Where the last character of a text begins. The text is UTF-8 and not empty. */
static size_t last_character(pt_slice text)
{
    size_t start = text.size - 1;
    while (start != 0 && text.size - start < PT_UTF8_SIZE_MAX &&
           (text.data[start] & 0xC0) == 0x80) {
        start--;
    }
    return start;
}

bool pt_key_prefix_end(pt_slice prefix, pt_buffer *end)
{
    size_t size = prefix.size;
    while (size != 0) {
        size_t start = last_character(pt_slice_of(prefix.data, size));
        uint32_t last = pt_utf8_decode(prefix.data + start, size - start);
        if (last < LAST_CODE_POINT) {
            uint8_t next[PT_UTF8_SIZE_MAX];
            uint8_t *next_end =
                pt_utf8_put(next, last == BEFORE_SURROGATES ? AFTER_SURROGATES : last + 1);
            pt_buffer_assign(end, pt_slice_of(prefix.data, start));
            pt_buffer_append(end, next, (size_t)(next_end - next));
            return true;
        }
        size = start;
    }
    return false;
}

/* True if eight bytes are ASCII without NUL. Subtracting 1 from a byte of 0 borrows, which sets its
 * high bit. */
static bool is_plain_word(uint64_t word)
{
    return ((word | (word - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

static bool is_plain_ascii(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return is_plain_word(word);
}

/* The same for one to seven bytes. Some of them are read twice, which does not matter. */
static bool is_short_and_plain(pt_slice text)
{
    const uint8_t *bytes = text.data;
    if (text.size >= PLAIN_STEP / 2) {
        return is_plain_word(pt_get_le32(bytes) |
                             (uint64_t)pt_get_le32(bytes + text.size - PLAIN_STEP / 2) << 32);
    }
    return is_plain_word(UINT64_C(0x2020202020000000) | bytes[0] |
                         (uint32_t)bytes[text.size / 2] << 8 |
                         (uint32_t)bytes[text.size - 1] << 16);
}

/* Cuts off the plain bytes, or most of them, at the start of a text. */
static pt_slice skip_plain(pt_slice text)
{
    size_t at = 0;
    while (text.size - at >= PLAIN_STEP && is_plain_ascii(text.data + at)) {
        at += PLAIN_STEP;
    }
    if (at != 0 && text.size - at < PLAIN_STEP &&
        is_plain_ascii(text.data + text.size - PLAIN_STEP)) {
        at = text.size;
    }
    return pt_slice_of(text.data + at, text.size - at);
}

bool pt_key_is_valid_text(pt_slice text)
{
    if (text.size >= PLAIN_STEP) {
        text = skip_plain(text);
    } else if (text.size != 0 && is_short_and_plain(text)) {
        return true;
    }
    while (text.size != 0) {
        size_t size = pt_utf8_size(text);
        if (size == 0 || text.data[0] == 0) {
            return false;
        }
        text = pt_slice_of(text.data + size, text.size - size);
    }
    return true;
}

/* Returns the key, or its excerpt if it is not valid. */
static pt_slice key_or_excerpt(pt_slice key, char excerpt[PT_EXCERPT_SIZE])
{
    if (pt_key_is_valid_text(key)) {
        return key;
    }
    pt_excerpt(key, excerpt);
    return pt_slice_text(excerpt);
}

pt_keys pt_keys_for_message(pt_slice logical, pt_keys_excerpts *excerpts)
{
    pt_keys keys = pt_keys_of(logical);
    return (pt_keys){.partition = key_or_excerpt(keys.partition, excerpts->partition),
                     .row = key_or_excerpt(keys.row, excerpts->row)};
}
