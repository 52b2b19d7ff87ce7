/*
 * Filters: what is parsed can be negated, doubled and written anew from its tree, and then says the
 * same of every entity of a small set (of a negation: the opposite); and its conditions on keys
 * hold for every entity that passes, so that reading only those finds as much as reading all. The
 * input is the filter.
 */
#include "fixtures/cmocka.h"

#include <inttypes.h>
#include <math.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "fixtures/filter_entity.h"
#include "fuzz/fuzz.h"
#include "query/filter.h"
#include "query/filter_keys.h"
#include "query/key_condition.h"

enum { TEXTS = 6, SETS = 7, ENTITIES = TEXTS * TEXTS * SETS, PROPERTIES_MAX = ENTITY_PLACES_MAX };

static const char *const texts[TEXTS] = {"", "a", "aa", "b", "a\x01", "\xC3\xA9"};
static test_entity entities[ENTITIES];

/* A filter with the conditions that it gives, and what it says of each entity. */
typedef struct judge {
    pt_filter filter;
    pt_filter_keys keys;
    bool passes[ENTITIES];
} judge;

/* --- Entities --- */

#define TEXT(text)                                                                                 \
    {                                                                                              \
        .type = PT_STRING, .bytes = {(const uint8_t *)(text), sizeof(text) - 1 }                   \
    }

static const struct property_set {
    unsigned count;
    named_value values[4];
} sets[SETS] = {
    {0, {{NULL, {.type = PT_NONE}}}},
    {2, {{"A", {.type = PT_BOOLEAN, .integer = 1}}, {"P", {.type = PT_INT32, .integer = 3}}}},
    {2,
     {{"A", {.type = PT_BOOLEAN, .integer = 0}},
      {"P", {.type = PT_INT64, .integer = INT64_C(9007199254740993)}}}},
    {2, {{"A", TEXT("a")}, {"P", {.type = PT_DOUBLE, .real = 2.5}}}},
    {2, {{"A", {.type = PT_BINARY, .bytes = {(const uint8_t *)"a", 1}}}, {"P", TEXT("3")}}},
    {2,
     {{"A", {.type = PT_DATETIME, .integer = PT_TICKS_UNIX_EPOCH}},
      {"P", {.type = PT_GUID, .guid = {0x0f, 0x8f}}}}},
    {1, {{"P", {.type = PT_DOUBLE, .real = (double)NAN}}}},
};

static void make_entities(void)
{
    static bool made;
    for (unsigned i = 0; i < ENTITIES && !made; i++) {
        const struct property_set *set = &sets[i % SETS];
        make_entity(&entities[i], texts[i / SETS % TEXTS], texts[i / SETS / TEXTS], set->values,
                    set->count);
    }
    made = true;
}

/* --- Judging --- */

static bool keys_hold(const pt_filter_keys *keys, const pt_filter_entity *entity)
{
    uint8_t key[32];
    size_t size = entity->partition_key.size;
    memcpy(key, entity->partition_key.data, size);
    key[size++] = 0;
    memcpy(key + size, entity->row_key.data, entity->row_key.size);
    size += entity->row_key.size;
    return pt_condition_holds(&keys->partition, entity->partition_key) &&
           pt_condition_holds(&keys->row, entity->row_key) &&
           pt_condition_holds(&keys->entity, pt_slice_of(key, size));
}

static bool parse(judge *made, pt_slice text)
{
    pt_error error = PT_ERROR_NONE;
    uint8_t *exact = exact_copy(text);
    int rc = pt_filter_parse(&made->filter, pt_slice_of(exact, text.size), &error);
    free(exact); /* the filter must not depend on it */
    must_hold(rc == SQLITE_OK ||
                  (rc == SQLITE_ERROR && strncmp(error.message, "Filter", strlen("Filter")) == 0),
              "what is wrong is said");
    pt_error_clear(&error);
    return rc == SQLITE_OK && made->filter.property_count <= PROPERTIES_MAX;
}

/* False if the text is no filter. */
static bool ask(judge *made, pt_slice text)
{
    if (!parse(made, text)) {
        return false;
    }
    must_hold(pt_filter_find_keys(&made->filter, &made->keys) == SQLITE_OK, "there is memory");
    for (int i = 0; i < ENTITIES; i++) {
        made->passes[i] = passes(&entities[i], &made->filter);
        must_hold(!made->passes[i] || keys_hold(&made->keys, &entities[i].entity),
                  "keys of what passes are among those to be read");
    }
    return true;
}

/* --- Filters made of others --- */

static void append_constant(pt_buffer *text, const pt_value *value)
{
    char scrap[80] = "";
    switch (value->type) {
    case PT_STRING:
        pt_buffer_append_text(text, "'");
        for (size_t i = 0; i < value->bytes.size; i++) {
            pt_buffer_append_text(text, value->bytes.data[i] == '\'' ? "'" : "");
            pt_buffer_append_byte(text, value->bytes.data[i]);
        }
        pt_buffer_append_text(text, "'");
        return;
    case PT_BINARY:
        pt_buffer_append_text(text, "X'");
        for (size_t i = 0; i < value->bytes.size; i++) {
            snprintf(scrap, sizeof scrap, "%02x", value->bytes.data[i]);
            pt_buffer_append_text(text, scrap);
        }
        pt_buffer_append_text(text, "'");
        return;
    case PT_DATETIME:
        pt_buffer_append_text(text, "datetime'");
        pt_ticks_format(value->integer, scrap);
        break;
    case PT_GUID:
        pt_buffer_append_text(text, "guid'");
        pt_guid_format(value->guid, scrap);
        break;
    case PT_DOUBLE:
        snprintf(scrap, sizeof scrap, "%.17gD", value->real);
        break;
    case PT_BOOLEAN:
        snprintf(scrap, sizeof scrap, "%s", value->integer != 0 ? "true" : "false");
        break;
    default:
        snprintf(scrap, sizeof scrap, "%" PRId64 "%s", value->integer,
                 value->type == PT_INT64 ? "L" : "");
        break;
    }
    pt_buffer_append_text(text, scrap);
    pt_buffer_append_text(text, value->type == PT_DATETIME || value->type == PT_GUID ? "'" : "");
}

static void append_node(pt_buffer *text, const pt_filter *filter, const pt_filter_node *node)
{
    static const char *const subjects[] = {NULL, "PartitionKey", "RowKey", "Timestamp"};
    static const char *const operators[] = {" eq ", " ne ", " gt ", " ge ", " lt ", " le "};
    pt_buffer_append_text(text, node->negated ? "not (" : "(");
    if (node->kind == PT_FILTER_CONSTANT) {
        pt_buffer_append_text(text, node->value ? "true" : "false");
    } else if (node->kind == PT_FILTER_COMPARISON) {
        pt_buffer_append_text(text, node->subject == PT_FILTER_PROPERTY
                                        ? filter->properties[node->property].name
                                        : subjects[node->subject]);
        pt_buffer_append_text(text, operators[node->op]);
        append_constant(text, &node->constant);
    }
    for (const pt_filter_node *operand = node->first; operand != NULL; operand = operand->next) {
        append_node(text, filter, operand);
        const char *joint = node->kind == PT_FILTER_AND ? " and " : " or ";
        pt_buffer_append_text(text, operand->next != NULL ? joint : "");
    }
    pt_buffer_append_text(text, ")");
}

static unsigned depth_of(const pt_filter_node *node)
{
    unsigned deepest = 0;
    for (const pt_filter_node *operand = node->first; operand != NULL; operand = operand->next) {
        unsigned depth = depth_of(operand);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + 1;
}

static void check_verdicts(const judge *first, const judge *second, bool opposite)
{
    for (int i = 0; i < ENTITIES; i++) {
        must_hold(first->passes[i] == (second->passes[i] != opposite),
                  opposite ? "a negation says the opposite" : "the same filter says the same");
    }
}

/* Text around the filter, or around it twice: with `between` not NULL. */
static void check_variant(const judge *plain, pt_slice text, const char *before,
                          const char *between, const char *behind, bool opposite)
{
    static judge variant;
    pt_buffer made = {0};
    pt_buffer_append_text(&made, before);
    pt_buffer_append_slice(&made, text);
    if (between != NULL) {
        pt_buffer_append_text(&made, between);
        pt_buffer_append_slice(&made, text);
    }
    pt_buffer_append_text(&made, behind);
    if (ask(&variant, pt_buffer_slice(&made))) {
        check_verdicts(plain, &variant, opposite);
    } else {
        must_hold(plain->filter.property_count > PROPERTIES_MAX / 2, "a part of a filter is one");
    }
    pt_buffer_free(&made);
    pt_filter_free(&variant.filter);
}

static void check_rewritten(const judge *plain)
{
    pt_buffer text = {0};
    append_node(&text, &plain->filter, plain->filter.root);
    must_hold(!text.failed, "there is memory");
    check_variant(plain, pt_buffer_slice(&text), "", NULL, "", false);
    pt_buffer_free(&text);
}

static bool is_blank(pt_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (strchr(" \t\r\n", text.data[i]) == NULL) {
            return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static judge plain;
    pt_slice text = pt_slice_of(data, size);
    make_entities();
    bool room = false;
    if (ask(&plain, text) && !is_blank(text)) {
        unsigned parentheses = 0;
        for (size_t i = 0; i < size; i++) {
            parentheses += data[i] == '(';
        }
        room = parentheses < PT_FILTER_DEPTH_MAX - 2 &&
               depth_of(plain.filter.root) < PT_FILTER_DEPTH_MAX;
    }
    if (room) {
        check_variant(&plain, text, "not (", NULL, ")", true);
        check_variant(&plain, text, "(", ") and (", ")", false);
        check_variant(&plain, text, "(", ") or (", ")", false);
        check_variant(&plain, text, "false or ", NULL, "", false);
        check_rewritten(&plain);
    }
    pt_filter_free(&plain.filter);
    return 0;
}
