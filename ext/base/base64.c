#include "base/base64.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* `count` is 1 to 3. */
static void encode_group(const uint8_t *bytes, size_t count, uint8_t text[4])
{
    uint32_t bits = (uint32_t)bytes[0] << 16;
    bits |= count > 1 ? (uint32_t)bytes[1] << 8 : 0;
    bits |= count > 2 ? (uint32_t)bytes[2] : 0;
    for (unsigned i = 0; i < 4; i++) {
        text[i] = i <= count ? (uint8_t)alphabet[bits >> (18 - 6 * i) & 63] : '=';
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
        encode_group(bytes.data + at, left < 3 ? left : 3, text);
        text += 4;
    }
}

/* The six bits of a character, or -1. */
static int digit_bits(uint8_t c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static size_t padding(pt_slice text)
{
    if (text.size == 0 || text.data[text.size - 1] != '=') {
        return 0;
    }
    return text.data[text.size - 2] == '=' ? 2 : 1;
}

static bool is_strict(pt_slice text, size_t digits)
{
    for (size_t i = 0; i < digits; i++) {
        if (digit_bits(text.data[i]) < 0) {
            return false;
        }
    }
    unsigned unused = digits % 4 == 2 ? 15 : digits % 4 == 3 ? 3 : 0;
    return unused == 0 || ((unsigned)digit_bits(text.data[digits - 1]) & unused) == 0;
}

bool pt_base64_decode(pt_slice text, uint8_t *bytes, size_t *size)
{
    if (text.size % 4 != 0) {
        return false;
    }
    size_t digits = text.size - padding(text);
    if (!is_strict(text, digits)) {
        return false;
    }
    size_t written = 0;
    uint32_t bits = 0;
    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)digit_bits(text.data[i]);
        if (i % 4 != 0) {
            bytes[written++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
        }
    }
    *size = written;
    return true;
}
