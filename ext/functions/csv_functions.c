#include "functions/csv_functions.h"

#include "base/text.h"
#include "entity/key.h"
#include "entity/odata.h"
#include "functions/function_arguments.h"
#include "functions/json_functions.h"
#include "value/json_scan.h"
#include "value/json_write.h"
#include "value/value.h"

static const char type_suffix[] = "@type";

/* Fails the function with a text from sqlite3_mprintf, NULL when that was out of memory. */
static void fail_with(sqlite3_context *context, char *message)
{
    if (message != NULL) {
        sqlite3_result_error(context, message, -1);
    } else {
        sqlite3_result_error_nomem(context);
    }
    sqlite3_free(message);
}

/* --- Fields --- */

/* Quoted also where a reader might trim it. */
static bool needs_quotes(pt_slice text)
{
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        bool at_end = i == 0 || i == text.size - 1;
        if (c == '"' || c == ',' || c == '\n' || c == '\r' || (at_end && c <= ' ')) {
            return true;
        }
    }
    return false;
}

static void append_text(pt_buffer *line, pt_slice text)
{
    if (!needs_quotes(text)) {
        pt_buffer_append_slice(line, text);
        return;
    }
    pt_buffer_append_byte(line, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') {
            pt_buffer_append_byte(line, '"');
        }
        pt_buffer_append_byte(line, text.data[i]);
    }
    pt_buffer_append_byte(line, '"');
}

static void append_value(pt_buffer *line, const pt_value *value)
{
    if (value->type == PT_STRING) {
        append_text(line, value->bytes);
    } else {
        pt_value_append_text(line, value);
    }
}

static bool has_nul(pt_slice text)
{
    return text.size != 0 && memchr(text.data, 0, text.size) != NULL;
}

/* A text argument as a field; NULL is empty. */
static bool append_argument(sqlite3_context *context, pt_buffer *line, sqlite3_value *argument)
{
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
        return true;
    }
    pt_slice text;
    if (!pt_argument_text(context, argument, &text)) {
        return false;
    }
    if (has_nul(text)) {
        pt_argument_refuse(context, argument, "contains U+0000, which CSV cannot hold");
        return false;
    }
    append_text(line, text);
    return true;
}

/* --- Columns --- */

/* The columns while they are gone through. `text` is unescaped in place. */
typedef struct columns {
    pt_buffer text;
    pt_json_scan scan;
    pt_slice name; /* the current one's */
} columns;

static bool columns_open(sqlite3_context *context, sqlite3_value *argument, columns *c)
{
    pt_slice text;
    if (!pt_argument_text(context, argument, &text)) {
        return false;
    }
    if (!pt_buffer_assign(&c->text, text)) {
        sqlite3_result_error_nomem(context);
        return false;
    }
    c->scan = pt_json_scan_of(c->text.data, c->text.size);
    return true;
}

/* Goes on to the next column. PT_JSON_MEMBER, PT_JSON_END, or else what the function has failed
 * with. */
static pt_json_step columns_next(sqlite3_context *context, sqlite3_value *argument, columns *c)
{
    pt_slice last = c->name;
    pt_json_token value;
    pt_json_step step = pt_json_scan_next(&c->scan, &c->name, &value);
    if (step == PT_JSON_MEMBER && pt_slice_compare(last, c->name) >= 0) {
        step = PT_JSON_MALFORMED;
    }
    if (step != PT_JSON_MEMBER && step != PT_JSON_END) {
        pt_argument_refuse(context, argument,
                           "is not a JSON object with members named as the properties, in "
                           "ascending order; make it with json_group_object(name, NULL)");
    }
    return step;
}

/* --- pt_csv_header --- */

/* Whether the name can head a column. */
static bool check_name(sqlite3_context *context, pt_slice name)
{
    if (!pt_slice_has_suffix(name, pt_slice_text(type_suffix)) && !has_nul(name)) {
        return true;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    fail_with(context, sqlite3_mprintf("%s: a property named %Q cannot be a column of this CSV; "
                                       "leave it out, or write JSON lines",
                                       (const char *)sqlite3_user_data(context), excerpt));
    return false;
}

static void append_column_pair(pt_buffer *line, pt_slice name, pt_buffer *type_name)
{
    pt_buffer_assign(type_name, name);
    pt_buffer_append_text(type_name, type_suffix);
    pt_buffer_append_byte(line, ',');
    append_text(line, name);
    pt_buffer_append_byte(line, ',');
    append_text(line, pt_buffer_slice(type_name));
    line->failed = line->failed || type_name->failed;
}

void pt_function_csv_header(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (pt_arguments_have_null(argc, argv)) {
        return;
    }
    columns c = {.name = {0}};
    pt_buffer line = {0};
    pt_buffer type_name = {0};
    pt_json_step step = PT_JSON_MALFORMED;
    if (columns_open(context, argv[0], &c)) {
        pt_buffer_append_text(&line, "PartitionKey,RowKey,Timestamp");
        step = columns_next(context, argv[0], &c);
    }
    while (step == PT_JSON_MEMBER && check_name(context, c.name)) {
        append_column_pair(&line, c.name, &type_name);
        step = columns_next(context, argv[0], &c);
    }
    if (step == PT_JSON_END) {
        pt_result_text(context, &line);
    }
    pt_buffer_free(&type_name);
    pt_buffer_free(&line);
    pt_buffer_free(&c.text);
}

/* --- pt_csv_line --- */

/* Fails the function for a property. The keys are argv[1] and argv[2]. */
static void refuse_property(sqlite3_context *context, sqlite3_value **argv, pt_slice name,
                            const char *problem)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    fail_with(context, sqlite3_mprintf("%s: property %s of the entity with PartitionKey '%s', "
                                       "RowKey '%s' %s",
                                       (const char *)sqlite3_user_data(context), excerpt,
                                       (const char *)sqlite3_value_text(argv[1]),
                                       (const char *)sqlite3_value_text(argv[2]), problem));
}

static bool append_pair(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line,
                        const pt_field *field)
{
    if (field->value.type == PT_STRING && has_nul(field->value.bytes)) {
        refuse_property(context, argv, field->name,
                        "contains U+0000, which CSV cannot hold; write JSON lines");
        return false;
    }
    append_value(line, &field->value);
    pt_buffer_append_byte(line, ',');
    pt_buffer_append_text(line, PT_ODATA_TYPE_PREFIX);
    pt_buffer_append_text(line, pt_type_name(field->value.type));
    return true;
}

/* Both the columns and the properties of the bag come in the order of their names. */
static bool append_properties(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line,
                              columns *c, const pt_bag *bag)
{
    unsigned next = 0;
    pt_json_step step;
    while ((step = columns_next(context, argv[0], c)) == PT_JSON_MEMBER) {
        pt_buffer_append_byte(line, ',');
        if (next == bag->count || !pt_slice_equal(bag->fields[next].name, c->name)) {
            pt_buffer_append_byte(line, ',');
        } else if (!append_pair(context, argv, line, &bag->fields[next++])) {
            return false;
        }
    }
    if (step == PT_JSON_END && next < bag->count) {
        refuse_property(context, argv, bag->fields[next].name,
                        "is not among the columns; take them from all entities");
        return false;
    }
    return step == PT_JSON_END;
}

static bool append_keys(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line)
{
    bool good = append_argument(context, line, argv[1]);
    for (int i = 2; good && i <= 3; i++) {
        pt_buffer_append_byte(line, ',');
        good = append_argument(context, line, argv[i]);
    }
    return good;
}

void pt_function_csv_line(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    columns c = {.name = {0}};
    pt_buffer line = {0};
    pt_bag bag = {0};
    if (columns_open(context, argv[0], &c) && append_keys(context, argv, &line) &&
        pt_argument_properties(context, argv[4], &bag) &&
        append_properties(context, argv, &line, &c, &bag)) {
        pt_result_text(context, &line);
    }
    pt_bag_free(&bag);
    pt_buffer_free(&line);
    pt_buffer_free(&c.text);
}

/* --- pt_csv_member --- */

enum { PLACE, NAME, VALUE, TYPE, MEMBER_ARGUMENTS };

/* NULL is what .import gives where a record is too short: an empty field. */
static bool read_texts(sqlite3_context *context, sqlite3_value **argv,
                       pt_slice texts[MEMBER_ARGUMENTS])
{
    for (int i = 0; i < MEMBER_ARGUMENTS; i++) {
        if (sqlite3_value_type(argv[i]) == SQLITE_NULL) {
            texts[i] = pt_slice_text("");
        } else if (!pt_argument_text(context, argv[i], &texts[i])) {
            return false;
        }
    }
    return true;
}

static void refuse_type(sqlite3_context *context, const pt_slice texts[MEMBER_ARGUMENTS])
{
    char name[PT_EXCERPT_SIZE];
    char value[PT_EXCERPT_SIZE];
    char type[PT_EXCERPT_SIZE];
    pt_excerpt(texts[NAME], name);
    pt_excerpt(texts[VALUE], value);
    pt_excerpt(texts[TYPE], type);
    fail_with(context, sqlite3_mprintf(
                           "%s: %s: column %s: %Q has the type %Q in %s%s; write one of "
                           "Edm.String, Edm.Int32, Edm.Int64, Edm.Double, Edm.Boolean, "
                           "Edm.DateTime, Edm.Guid and Edm.Binary there (InvalidInput)",
                           (const char *)sqlite3_user_data(context),
                           (const char *)texts[PLACE].data, name, value, type, name, type_suffix));
}

/* JSON knows a Boolean by its word; all other types are understood as strings. */
static pt_value json_value(pt_slice text, pt_type type)
{
    static const char *const words[] = {"false", "true"};
    for (int word = 0; type == PT_BOOLEAN && word < 2; word++) {
        if (pt_is_word(text, words[word])) {
            return (pt_value){.type = PT_BOOLEAN, .integer = word};
        }
    }
    return (pt_value){.type = PT_STRING, .bytes = text};
}

static void result_member(sqlite3_context *context, pt_slice name, pt_slice text, pt_type type)
{
    pt_buffer json = {0};
    pt_value value = json_value(text, type);
    pt_json_begin(&json);
    pt_json_add(&json, name, &value);
    pt_json_add_annotation(&json, name, type);
    if (!json.failed) {
        json.data[0] = ','; /* a member behind others, not the first one of an object */
    }
    pt_result_text(context, &json);
}

void pt_function_csv_member(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_slice texts[MEMBER_ARGUMENTS];
    if (!read_texts(context, argv, texts)) {
        return;
    }
    if (texts[VALUE].size == 0 && texts[TYPE].size == 0) {
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
        return;
    }
    pt_type type = pt_type_from_name(texts[TYPE]);
    if (type == PT_NONE) {
        refuse_type(context, texts);
    } else {
        result_member(context, texts[NAME], texts[VALUE], type);
    }
}
