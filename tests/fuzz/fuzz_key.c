/*
 * Keys (key.h): what is joined can be split, the order of the bytes is the order of what they mean,
 * texts are valid if they are so by the definition of UTF-8, and the end of a prefix is just that.
 */
#include "entity/key.h"
#include "fuzz/fuzz.h"

enum { KEYS_MAX = 6, TEXT_MAX = 700 };

typedef struct sample {
    uint32_t table;
    uint8_t partition_bytes[TEXT_MAX];
    uint8_t row_bytes[TEXT_MAX];
    pt_slice partition;
    pt_slice row;
    pt_buffer logical;
} sample;

static sample samples[KEYS_MAX];

/* --- Texts --- */

/* Some bytes without NUL, perhaps behind a run of one byte, so that keys get long. */
static pt_slice take_text(fuzz_input *input, uint8_t bytes[TEXT_MAX])
{
    size_t size = take_below(input, 48);
    size_t run = size >= 40 ? take_below(input, TEXT_MAX - 64) : 0;
    memset(bytes, 'x', run);
    pt_slice text = take_bytes(input, size);
    for (size_t i = 0; i < text.size; i++) {
        bytes[run + i] = text.data[i] != 0 ? text.data[i] : 1;
    }
    return pt_slice_of(bytes, run + text.size);
}

/* The bytes of a code point as RFC 3629 has them; 0: there is no such character, or it is NUL. */
static size_t encode(uint32_t code_point, uint8_t bytes[4])
{
    if (code_point == 0 || code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) {
        return 0;
    }
    if (code_point < 0x80) {
        bytes[0] = (uint8_t)code_point;
        return 1;
    }
    size_t size = code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    for (size_t i = size - 1; i > 0; i--) {
        bytes[i] = (uint8_t)(0x80 | (code_point & 0x3F));
        code_point >>= 6;
    }
    bytes[0] = (uint8_t)((0xF00u >> size & 0xFF) | code_point);
    return size;
}

/* True if the text begins with the encoding of a character, by looking for that character. */
static size_t character_size(pt_slice text)
{
    for (size_t size = 1; size <= 4 && size <= text.size; size++) {
        uint32_t code_point = size == 1 ? text.data[0] : text.data[0] & (0x7Fu >> size);
        for (size_t i = 1; i < size; i++) {
            code_point = code_point << 6 | (text.data[i] & 0x3Fu);
        }
        uint8_t bytes[4];
        if (encode(code_point, bytes) == size && memcmp(bytes, text.data, size) == 0) {
            return size;
        }
    }
    return 0;
}

static bool is_valid(pt_slice text)
{
    while (text.size != 0) {
        size_t size = character_size(text);
        if (size == 0) {
            return false;
        }
        text = pt_slice_of(text.data + size, text.size - size);
    }
    return true;
}

static void check_text(pt_slice text)
{
    uint8_t *exact = exact_copy(text);
    must_hold(pt_key_is_valid_text(pt_slice_of(exact, text.size)) == is_valid(text),
              "a text is valid that is UTF-8 without U+0000");
    free(exact);
}

/* Among all texts exactly those with the prefix lie between it and its end. */
static void check_prefix(pt_slice prefix, pt_slice text)
{
    pt_buffer end = {0};
    if (!is_valid(prefix) || !is_valid(text)) {
        return;
    }
    bool ends = pt_key_prefix_end(prefix, &end);
    must_hold(!ends || is_valid(pt_buffer_slice(&end)), "the end of a prefix is a text");
    bool inside = pt_slice_compare(text, prefix) >= 0 &&
                  (!ends || pt_slice_compare(text, pt_buffer_slice(&end)) < 0);
    must_hold(inside == pt_slice_has_prefix(text, prefix), "a prefix ends where its texts end");
    pt_buffer_free(&end);
}

/* --- Keys --- */

static void make_sample(fuzz_input *input, sample *made)
{
    static const uint32_t tables[] = {
        1, 2, 0xEF, 0xF0, 0xFF, 0x100, 0xFFFF, 0x10000, PT_TABLE_ID_LIMIT - 1,
    };
    made->table = tables[take_below(input, sizeof tables / sizeof tables[0])];
    made->partition = take_text(input, made->partition_bytes);
    made->row = take_text(input, made->row_bytes);
    pt_key_begin(&made->logical, made->table);
    pt_key_append(&made->logical, made->partition, made->row);
    must_hold(!made->logical.failed, "there is memory");
}

static void check_parts(const sample *made)
{
    pt_slice logical = pt_buffer_slice(&made->logical);
    pt_keys keys = pt_keys_of(logical);
    uint32_t table = 0;
    must_hold(pt_key_table(logical) == made->table, "a key begins with its table");
    must_hold(pt_key_read_table(logical, &table) == pt_key_table_size(logical) &&
                  table == made->table,
              "a table id is written in the one way");
    must_hold(pt_slice_equal(keys.partition, made->partition), "a PartitionKey comes back");
    must_hold(pt_slice_equal(keys.row, made->row), "a RowKey comes back");
}

static int compare_meaning(const sample *a, const sample *b)
{
    if (a->table != b->table) {
        return a->table < b->table ? -1 : 1;
    }
    int order = pt_slice_compare(a->partition, b->partition);
    return order != 0 ? order : pt_slice_compare(a->row, b->row);
}

static void check_pair(const sample *a, const sample *b)
{
    pt_slice first = pt_buffer_slice(&a->logical);
    pt_slice second = pt_buffer_slice(&b->logical);
    must_hold(sign(pt_slice_compare(first, second)) == sign(compare_meaning(a, b)),
              "keys are ordered as what they mean");
    pt_key_start start = pt_key_start_of_table(a->table);
    pt_key_start after = pt_key_start_after(start);
    bool inside = pt_slice_compare(second, pt_key_start_slice(&start)) >= 0 &&
                  pt_slice_compare(second, pt_key_start_slice(&after)) < 0;
    must_hold(inside == (a->table == b->table), "a table ends where its keys end");
    bool together = a->table == b->table && pt_slice_equal(a->partition, b->partition);
    must_hold(pt_key_is_in_partition(first, pt_key_partition(second)) == together,
              "entities of one partition are known by its key");
    check_prefix(a->partition, b->row);
    check_prefix(a->row, b->row);
}

/* A table id that can be read has these bytes and no others, and none lies outside a key. */
static void check_any_table(pt_slice any)
{
    uint32_t table = 0;
    uint8_t again[PT_KEY_TABLE_MAX];
    size_t size = pt_key_read_table(any, &table);
    must_hold(size <= any.size, "a table id lies in its key");
    if (size != 0) {
        must_hold(pt_key_put_table(again, table) == size && memcmp(again, any.data, size) == 0,
                  "a table id has one form");
    }
    uint32_t owner = 0;
    size = pt_key_read_chunks(any, &owner) + pt_key_read_garbage(any, &owner);
    must_hold(size <= any.size && (size == 0 || owner < PT_TABLE_ID_LIMIT),
              "parts belong to a table");
}

/* What no key may be is not split beyond its end. */
static void check_any_bytes(pt_slice bytes)
{
    uint8_t *exact = exact_copy(bytes);
    pt_slice any = pt_slice_of(exact, bytes.size);
    pt_slice partition = {0};
    pt_slice row = {0};
    if (pt_key_split(any, &partition, &row)) {
        must_hold(partition.size + 1 + row.size == any.size && partition.data[partition.size] == 0,
                  "the parts are all of a key");
    }
    check_any_table(any);
    if (pt_key_has_table(any)) {
        must_hold(pt_key_is_in_partition(any, pt_key_partition(any)),
                  "a key is in its own partition");
    }
    check_text(any);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_input input = fuzz_input_of(data, size);
    check_any_bytes(pt_slice_of(data, size));
    unsigned count = 0;
    while (count < KEYS_MAX && input.left != 0) {
        make_sample(&input, &samples[count]);
        check_parts(&samples[count]);
        check_text(samples[count].partition);
        count++;
    }
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < count; j++) {
            check_pair(&samples[i], &samples[j]);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        pt_buffer_free(&samples[i].logical);
    }
    return 0;
}
