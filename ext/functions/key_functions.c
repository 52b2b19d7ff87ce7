#include "functions/key_functions.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "base/xxhash.h"
#include "entity/key.h"
#include "functions/function_arguments.h"

enum { WIDEST_PAD = 64 };

#define DEFAULT_SEPARATOR pt_slice_text("_")

void pt_function_starts_with(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (pt_arguments_have_null(argc, argv)) {
        return;
    }
    const unsigned char *text = sqlite3_value_text(argv[0]);
    const unsigned char *prefix = sqlite3_value_text(argv[1]);
    if (text == NULL || prefix == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    pt_slice whole = pt_slice_of(text, (size_t)sqlite3_value_bytes(argv[0]));
    pt_slice start = pt_slice_of(prefix, (size_t)sqlite3_value_bytes(argv[1]));
    sqlite3_result_int(context, pt_slice_has_prefix(whole, start));
}

/* A text argument that could be a key or a part of one. */
static bool key_text_argument(sqlite3_context *context, sqlite3_value *argument,
                              char digits[PT_INTEGER_TEXT_SIZE], pt_slice *text)
{
    if (!pt_argument_key_text(context, argument, digits, text)) {
        return false;
    }
    if (!pt_key_is_valid_text(*text)) {
        pt_argument_refuse(context, argument, "cannot be in a key; give UTF-8 text without U+0000");
        return false;
    }
    return true;
}

void pt_function_prefix_end(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice prefix;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (pt_arguments_have_null(argc, argv) ||
        !key_text_argument(context, argv[0], digits, &prefix)) {
        return;
    }
    pt_buffer end = {0};
    if (pt_key_prefix_end(prefix, &end)) {
        pt_result_text(context, &end);
    } else {
        pt_buffer_free(&end);
    }
}

/* Where the separator begins in the text; text.size if it does not occur. */
static size_t find_separator(pt_slice separator, pt_slice text)
{
    const uint8_t *found = memmem(text.data, text.size, separator.data, separator.size);
    return found != NULL ? (size_t)(found - text.data) : text.size;
}

/* Appends a part and, unless it is the last one, the separator. Fails if pt_key_part would split
 * them elsewhere. */
static bool append_key_part(sqlite3_context *context, sqlite3_value *argument, pt_slice separator,
                            bool last, pt_buffer *key)
{
    pt_slice part;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (!pt_argument_key_text(context, argument, digits, &part)) {
        return false;
    }
    size_t begin = key->size;
    pt_buffer_append_slice(key, part);
    if (!last) {
        pt_buffer_append_slice(key, separator);
    }
    if (key->failed) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    pt_slice appended = pt_slice_of(key->data + begin, key->size - begin);
    size_t split = find_separator(separator, appended);
    if (split != part.size) {
        char shown[PT_EXCERPT_SIZE];
        pt_excerpt(separator, shown);
        pt_argument_refuse(context, argument,
                           "%s the separator %Q; choose another separator with "
                           "pt_compound_key_sep, or join with ||",
                           split + separator.size <= part.size ? "contains" : "runs into", shown);
        return false;
    }
    return true;
}

static void join_key_parts(sqlite3_context *context, pt_slice separator, int count,
                           sqlite3_value **parts)
{
    pt_buffer key = {0};
    pt_buffer_reserve(&key, separator.size); /* so that an empty key has an address, too */
    for (int i = 0; i < count; i++) {
        if (!append_key_part(context, parts[i], separator, i == count - 1, &key)) {
            pt_buffer_free(&key);
            return;
        }
    }
    pt_result_text(context, &key);
}

void pt_function_compound_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (argc == 0) {
        sqlite3_result_error(context, "pt_compound_key: no argument; give at least one part", -1);
    } else if (!pt_arguments_have_null(argc, argv)) {
        join_key_parts(context, DEFAULT_SEPARATOR, argc, argv);
    }
}

static bool separator_argument(sqlite3_context *context, sqlite3_value *argument,
                               pt_slice *separator)
{
    char digits[PT_INTEGER_TEXT_SIZE];
    if (sqlite3_value_type(argument) != SQLITE_TEXT) {
        pt_argument_refuse(context, argument, "is not a separator; give TEXT of any length but 0");
        return false;
    }
    if (!key_text_argument(context, argument, digits, separator)) {
        return false;
    }
    if (separator->size == 0) {
        pt_argument_refuse(context, argument, "is empty; give a separator such as '_'");
        return false;
    }
    return true;
}

void pt_function_compound_key_sep(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice separator;
    if (argc < 2) {
        sqlite3_result_error(
            context,
            "pt_compound_key_sep: too few arguments; give a separator and at least one part", -1);
    } else if (!pt_arguments_have_null(argc, argv) &&
               separator_argument(context, argv[0], &separator)) {
        join_key_parts(context, separator, argc - 1, argv + 1);
    }
}

/* Removes the first part from `rest`. False if it was the last one. */
static bool next_key_part(pt_slice *rest, pt_slice separator, pt_slice *part)
{
    size_t end = find_separator(separator, *rest);
    *part = pt_slice_of(rest->data, end);
    if (end == rest->size) {
        return false;
    }
    size_t taken = end + separator.size;
    *rest = pt_slice_of(rest->data + taken, rest->size - taken);
    return true;
}

static int64_t count_key_parts(pt_slice key, pt_slice separator)
{
    int64_t count = 1;
    pt_slice part;
    while (next_key_part(&key, separator, &part)) {
        count++;
    }
    return count;
}

/* The part with this number, counted from 1. False if there are fewer parts. */
static bool find_key_part(pt_slice key, pt_slice separator, int64_t number, pt_slice *part)
{
    if (number < 1) {
        return false;
    }
    bool more = next_key_part(&key, separator, part);
    for (int64_t i = 1; i < number; i++) {
        if (!more) {
            return false;
        }
        more = next_key_part(&key, separator, part);
    }
    return true;
}

void pt_function_key_part(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice key;
    pt_slice part;
    pt_slice separator = DEFAULT_SEPARATOR;
    int64_t number;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (pt_arguments_have_null(argc, argv) ||
        !pt_argument_key_text(context, argv[0], digits, &key) ||
        !pt_argument_integer(context, argv[1], &number) ||
        (argc == 3 && !separator_argument(context, argv[2], &separator))) {
        return;
    }
    if (number == 0) {
        pt_argument_refuse(context, argv[1],
                           "is not a part; count from 1, or from -1 backward from the end");
        return;
    }
    if (number < 0) {
        number += count_key_parts(key, separator) + 1;
    }
    if (find_key_part(key, separator, number, &part)) {
        sqlite3_result_text64(context, (const char *)part.data, part.size, SQLITE_TRANSIENT,
                              SQLITE_UTF8);
    }
}

void pt_function_pad(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    int64_t integer;
    int64_t width;
    if (pt_arguments_have_null(argc, argv) || !pt_argument_integer(context, argv[0], &integer) ||
        !pt_argument_integer(context, argv[1], &width)) {
        return;
    }
    if (width < 1 || width > WIDEST_PAD) {
        pt_argument_refuse(context, argv[1], "is not a width; give 1 to %d", WIDEST_PAD);
        return;
    }
    if (integer < 0) {
        pt_argument_refuse(context, argv[0],
                           "is negative, and padding would not keep its order; add an offset");
        return;
    }
    char text[WIDEST_PAD + 1];
    int size = snprintf(text, sizeof text, "%0*" PRId64, (int)width, integer);
    if (size > width) {
        pt_argument_refuse(context, argv[0], "has more than %d digit%s; give a larger width",
                           (int)width, width == 1 ? "" : "s");
        return;
    }
    sqlite3_result_text(context, text, size, SQLITE_TRANSIENT);
}

void pt_function_hash_bucket(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice text;
    int64_t buckets;
    char digits[PT_INTEGER_TEXT_SIZE];
    if (pt_arguments_have_null(argc, argv) ||
        !pt_argument_key_text(context, argv[0], digits, &text) ||
        !pt_argument_integer(context, argv[1], &buckets)) {
        return;
    }
    if (buckets < 1 || buckets > INT32_MAX) {
        pt_argument_refuse(context, argv[1], "is not a number of buckets; give 1 to %d", INT32_MAX);
        return;
    }
    uint64_t hash = XXH64(text.data, text.size, 0);
    sqlite3_result_int64(context, (int64_t)(hash % (uint64_t)buckets));
}

void pt_function_entity_key(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    pt_slice partition_key;
    pt_slice row_key;
    char digits[2][PT_INTEGER_TEXT_SIZE];
    if (pt_arguments_have_null(argc, argv) ||
        !key_text_argument(context, argv[0], digits[0], &partition_key) ||
        !key_text_argument(context, argv[1], digits[1], &row_key)) {
        return;
    }
    pt_buffer key = {0};
    pt_key_append(&key, partition_key, row_key);
    if (key.failed) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_blob64(context, key.data, key.size, sqlite3_free);
        key.data = NULL;
    }
    pt_buffer_free(&key);
}
