#include "base/text.h"

int pt_hex_digit(uint8_t c)
{
    if (pt_is_digit(c)) {
        return c - '0';
    }
    uint8_t lower = c | 0x20;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* --- UTF-8 --- */

static bool is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/*
 * After the lead byte only the second byte is restricted: against overlong forms (E0, F0),
 * surrogates (ED) and code points after U+10FFFF (F4).
 */
size_t pt_utf8_long_size(pt_slice text)
{
    uint8_t lead = text.data[0];
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

uint32_t pt_utf8_decode(const uint8_t *bytes, size_t size)
{
    uint32_t code_point = size == 1 ? bytes[0] : bytes[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        code_point = code_point << 6 | (bytes[i] & 0x3Fu);
    }
    return code_point;
}

uint8_t *pt_utf8_put(uint8_t *to, uint32_t code_point)
{
    static const uint8_t lead_marks[] = {0x00, 0xC0, 0xE0, 0xF0};
    unsigned continuations = code_point < 0x80      ? 0
                             : code_point < 0x800   ? 1
                             : code_point < 0x10000 ? 2
                                                    : 3;
    unsigned shift = 6 * continuations;
    *to++ = (uint8_t)(lead_marks[continuations] | code_point >> shift);
    while (shift != 0) {
        shift -= 6;
        *to++ = (uint8_t)(0x80 | (code_point >> shift & 0x3F));
    }
    return to;
}

/* --- Excerpts --- */

/* Writes the first character of a text, or what stands for it, in at most 4 bytes. Returns how many
 * bytes it has taken. */
static size_t put_excerpt_character(pt_slice text, char **to)
{
    uint8_t first = text.data[0];
    size_t size = pt_utf8_size(text);
    if (size == 0) {
        *(*to)++ = '?';
        return 1;
    }
    if (first < ' ' || first == 0x7F) {
        static const char digits[] = "0123456789abcdef";
        const char escape[] = {'\\', 'x', digits[first >> 4], digits[first & 0xF]};
        memcpy(*to, escape, sizeof escape);
        *to += sizeof escape;
        return 1;
    }
    memcpy(*to, text.data, size);
    *to += size;
    return size;
}

void pt_excerpt(pt_slice text, char excerpt[PT_EXCERPT_SIZE])
{
    size_t read = 0;
    for (int i = 0; i < PT_EXCERPT_CHARACTERS && read < text.size && text.data[read] != 0; i++) {
        read += put_excerpt_character(pt_slice_of(text.data + read, text.size - read), &excerpt);
    }
    const char *tail = read < text.size ? "..." : "";
    memcpy(excerpt, tail, strlen(tail) + 1);
}

/* --- Base64 --- */

static const char base64_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Encodes 1 to 3 bytes. */
static void encode_base64_group(const uint8_t *bytes, size_t count, uint8_t text[4])
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    bits |= count > 1 ? (uint32_t)bytes[1] << 8 : 0;
    bits |= count > 2 ? (uint32_t)bytes[2] : 0;
    for (unsigned i = 0; i < 4; i++) {
        text[i] = i <= count ? (uint8_t)base64_alphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
}

void pt_base64_append(pt_buffer *buffer, pt_slice bytes)
{
    uint8_t *text = pt_buffer_extend(buffer, (bytes.size + 2) / 3 * 4);
    if (text == NULL) {
        return;
    }
    for (size_t at = 0; at < bytes.size; at += 3) {
        size_t left = bytes.size - at;
        encode_base64_group(bytes.data + at, left < 3 ? left : 3, text);
        text += 4;
    }
}

/* The six bits of a character; -1 if it is not in the alphabet. */
static int base64_bits(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (pt_is_digit(c)) {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t padding_size(pt_slice text)
{
    if (text.size == 0 || text.data[text.size - 1] != '=') {
        return 0;
    }
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

static bool are_base64_digits(pt_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (base64_bits(text.data[i]) < 0) {
            return false;
        }
    }
    return true;
}

bool pt_base64_decode(pt_slice text, uint8_t *bytes, size_t *size)
{
    if (text.size % 4 != 0) {
        return false;
    }
    size_t digits = text.size - padding_size(text);
    if (!are_base64_digits(pt_slice_of(text.data, digits))) {
        return false;
    }
    size_t written = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)base64_bits(text.data[i]);
        if (i % 4 != 0) {
            bytes[written++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    *size = written;
    return true;
}

/* --- Blanks --- */

pt_slice pt_without_trailing_blanks(pt_slice text)
{
    while (text.size != 0 && pt_is_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

pt_slice pt_without_blanks(pt_slice text)
{
    while (text.size != 0 && pt_is_blank(text.data[0])) {
        text = pt_slice_of(text.data + 1, text.size - 1);
    }
    return pt_without_trailing_blanks(text);
}
