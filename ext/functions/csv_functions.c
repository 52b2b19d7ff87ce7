#include "functions/csv_functions.h"

#include "base/text.h"
#include "entity/edm.h"
#include "functions/function_arguments.h"
#include "functions/json_functions.h"
#include "value/json_scan.h"
#include "value/json_write.h"
#include "value/value.h"

static const char type_column_suffix[] = "@type";

/* --- Fields --- */

/* True also for blanks at the ends, which a reader might trim. */
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

static void append_field(pt_buffer *line, pt_slice text)
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

static void append_value_field(pt_buffer *line, const pt_value *value)
{
    if (value->type == PT_STRING) {
        append_field(line, value->bytes);
    } else {
        pt_value_append_text(line, value);
    }
}

/* Appends a text argument as a field. NULL becomes an empty field. */
static bool append_argument_field(sqlite3_context *context, pt_buffer *line,
                                  sqlite3_value *argument)
{
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
        return true;
    }
    pt_slice text;
    if (!pt_argument_text(context, argument, &text)) {
        return false;
    }
    if (pt_slice_has_nul(text)) {
        pt_argument_refuse(context, argument, "contains U+0000, which CSV cannot hold");
        return false;
    }
    append_field(line, text);
    return true;
}

/* --- Columns --- */

/* Reads the argument `columns`, one name after the other. */
typedef struct csv_columns {
    pt_buffer text; /* a copy of the argument, unescaped in place */
    pt_json_scan scan;
    pt_slice name; /* of the current column */
} csv_columns;

static void refuse_columns(sqlite3_context *context, sqlite3_value *argument)
{
    pt_argument_refuse(context, argument,
                       "is not a JSON object with a member for each property, in ascending order; "
                       "make it with json_group_object(name, NULL)");
}

static bool open_columns(sqlite3_context *context, sqlite3_value *argument, csv_columns *c)
{
    pt_slice text;
    if (sqlite3_value_type(argument) == SQLITE_NULL) {
        refuse_columns(context, argument);
        return false;
    }
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

/* Moves to the next column. PT_JSON_MEMBER, or PT_JSON_END after the last. With any other result
 * the function has failed. */
static pt_json_step next_column(sqlite3_context *context, sqlite3_value *argument, csv_columns *c)
{
    pt_slice last = c->name;
    pt_json_token value;
    pt_json_step step = pt_json_scan_next(&c->scan, &c->name, &value);
    if (step == PT_JSON_MEMBER && pt_slice_compare(last, c->name) >= 0) {
        step = PT_JSON_MALFORMED;
    }
    if (step != PT_JSON_MEMBER && step != PT_JSON_END) {
        refuse_columns(context, argument);
    }
    return step;
}

/* --- pt_csv_header --- */

/* True if a property of this name can be a column. Otherwise the function has failed. */
static bool check_csv_column_name(sqlite3_context *context, pt_slice name)
{
    if (!pt_slice_has_nul(name)) {
        return true;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    pt_result_error(context,
                    "the property name %Q contains U+0000, which CSV cannot hold; "
                    "leave the property out, or write JSON lines",
                    excerpt);
    return false;
}

static void append_column_pair(pt_buffer *line, pt_slice name, pt_buffer *type_name)
{
    pt_buffer_assign(type_name, name);
    pt_buffer_append_text(type_name, type_column_suffix);
    pt_buffer_append_byte(line, ',');
    append_field(line, name);
    pt_buffer_append_byte(line, ',');
    append_field(line, pt_buffer_slice(type_name));
    line->failed = line->failed || type_name->failed;
}

void pt_function_csv_header(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    if (pt_arguments_have_null(argc, argv)) {
        return;
    }
    csv_columns c = {.name = {0}};
    pt_buffer line = {0};
    pt_buffer type_name = {0};
    pt_json_step step = PT_JSON_MALFORMED;
    if (open_columns(context, argv[0], &c)) {
        pt_buffer_append_text(&line, "PartitionKey,RowKey,Timestamp");
        step = next_column(context, argv[0], &c);
    }
    while (step == PT_JSON_MEMBER && check_csv_column_name(context, c.name)) {
        append_column_pair(&line, c.name, &type_name);
        step = next_column(context, argv[0], &c);
    }
    if (step == PT_JSON_END) {
        pt_result_text(context, &line);
    }
    pt_buffer_free(&type_name);
    pt_buffer_free(&line);
    pt_buffer_free(&c.text);
}

/* --- pt_csv_line --- */

/* Makes the function fail because of a property. The keys are argv[1] and argv[2]. */
static void refuse_csv_property(sqlite3_context *context, sqlite3_value **argv, pt_slice name,
                                const char *problem)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    pt_result_error(context,
                    "property %s of the entity with PartitionKey '%s', "
                    "RowKey '%s' %s",
                    excerpt, (const char *)sqlite3_value_text(argv[1]),
                    (const char *)sqlite3_value_text(argv[2]), problem);
}

static bool append_value_pair(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line,
                              const pt_field *field)
{
    if (field->value.type == PT_STRING && pt_slice_has_nul(field->value.bytes)) {
        refuse_csv_property(context, argv, field->name,
                            "contains U+0000, which CSV cannot hold; write JSON lines");
        return false;
    }
    append_value_field(line, &field->value);
    pt_buffer_append_byte(line, ',');
    pt_buffer_append_text(line, PT_ODATA_TYPE_PREFIX);
    pt_buffer_append_text(line, pt_type_name(field->value.type));
    return true;
}

/* Columns and properties are both ordered by name, so one pass over both finds all pairs. */
static bool append_property_pairs(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line,
                                  csv_columns *c, const pt_bag *bag)
{
    unsigned next = 0;
    pt_json_step step;
    while ((step = next_column(context, argv[0], c)) == PT_JSON_MEMBER) {
        pt_buffer_append_byte(line, ',');
        if (next == bag->count || !pt_slice_equal(bag->fields[next].name, c->name)) {
            pt_buffer_append_byte(line, ',');
        } else if (!append_value_pair(context, argv, line, &bag->fields[next++])) {
            return false;
        }
    }
    if (step == PT_JSON_END && next < bag->count) {
        refuse_csv_property(context, argv, bag->fields[next].name,
                            "is not among the columns; take them from all entities");
        return false;
    }
    return step == PT_JSON_END;
}

static bool append_keys(sqlite3_context *context, sqlite3_value **argv, pt_buffer *line)
{
    bool good = append_argument_field(context, line, argv[1]);
    for (int i = 2; good && i <= 3; i++) {
        pt_buffer_append_byte(line, ',');
        good = append_argument_field(context, line, argv[i]);
    }
    return good;
}

void pt_function_csv_line(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    csv_columns c = {.name = {0}};
    pt_buffer line = {0};
    pt_bag bag = {0};
    if (open_columns(context, argv[0], &c) && append_keys(context, argv, &line) &&
        pt_argument_properties(context, argv[4], &bag) &&
        append_property_pairs(context, argv, &line, &c, &bag)) {
        pt_result_text(context, &line);
    }
    pt_bag_free(&bag);
    pt_buffer_free(&line);
    pt_buffer_free(&c.text);
}

/* --- pt_csv_member --- */

enum { MEMBER_PLACE, MEMBER_NAME, MEMBER_VALUE, MEMBER_TYPE, MEMBER_ARGUMENTS };

/* NULL is an empty field: .import passes it where a record is too short. */
static bool read_member_texts(sqlite3_context *context, sqlite3_value **argv,
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

static void refuse_member_type(sqlite3_context *context, const pt_slice texts[MEMBER_ARGUMENTS])
{
    char name[PT_EXCERPT_SIZE];
    char value[PT_EXCERPT_SIZE];
    char type[PT_EXCERPT_SIZE];
    pt_excerpt(texts[MEMBER_NAME], name);
    pt_excerpt(texts[MEMBER_VALUE], value);
    pt_excerpt(texts[MEMBER_TYPE], type);
    pt_result_error(context,
                    "%s: column %s: %Q has the type %Q in %s%s; write one of "
                    "Edm.String, Edm.Int32, Edm.Int64, Edm.Double, Edm.Boolean, "
                    "Edm.DateTime, Edm.Guid and Edm.Binary there (InvalidInput)",
                    (const char *)texts[MEMBER_PLACE].data, name, value, type, name,
                    type_column_suffix);
}

/* In JSON a Boolean must be the word true or false. All other types may be strings. */
static pt_value member_value(pt_slice text, pt_type type)
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
    pt_value value = member_value(text, type);
    pt_json_begin(&json);
    pt_json_add(&json, name, &value);
    pt_json_add_annotation(&json, name, type);
    if (!json.failed) {
        json.data[0] = ','; /* not the opening brace: the result follows other members */
    }
    pt_result_text(context, &json);
}

void pt_function_csv_member(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    pt_slice texts[MEMBER_ARGUMENTS];
    if (!read_member_texts(context, argv, texts)) {
        return;
    }
    if (texts[MEMBER_VALUE].size == 0 && texts[MEMBER_TYPE].size == 0) {
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
        return;
    }
    pt_type type = pt_type_from_name(texts[MEMBER_TYPE]);
    if (type == PT_NONE) {
        refuse_member_type(context, texts);
    } else {
        result_member(context, texts[MEMBER_NAME], texts[MEMBER_VALUE], type);
    }
}
