#include "value/value.h"

#include <math.h>

#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"

/* Above this, neighbouring integers can be the same double. */
#define DOUBLE_INTEGER_MAX (INT64_C(1) << 53)

/* An SQL value that is being converted. `bytes` are those of a TEXT or BLOB, or the text of a
 * number that is being converted to String. */
typedef struct sql_source {
    sqlite3_value *value;
    int type;
    pt_slice bytes;
} sql_source;

pt_type pt_value_integer_type(int64_t integer)
{
    return integer >= INT32_MIN && integer <= INT32_MAX ? PT_INT32 : PT_INT64;
}

/* sqlite3_value_bytes must come second: only after the conversion to text is it the size of that
 * text. */
static int read_value_text(sqlite3_value *value, pt_slice *text)
{
    const unsigned char *data = sqlite3_value_text(value);
    if (data == NULL) {
        return SQLITE_NOMEM;
    }
    *text = pt_slice_of(data, (size_t)sqlite3_value_bytes(value));
    return SQLITE_OK;
}

/* sqlite3_value_blob allocates the bytes of a zeroblob. When out of memory it makes the value NULL.
 */
int pt_value_argument_blob(sqlite3_value *value, pt_slice *blob)
{
    const void *data = sqlite3_value_blob(value);
    *blob = pt_slice_of(data, (size_t)sqlite3_value_bytes(value));
    return data == NULL && sqlite3_value_type(value) != SQLITE_BLOB ? SQLITE_NOMEM : SQLITE_OK;
}

int pt_value_text_bytes(sqlite3_value *value, pt_slice *text)
{
    if (sqlite3_value_encoding(value) != SQLITE_UTF8) {
        return read_value_text(value, text);
    }
    const void *data = sqlite3_value_blob(value);
    size_t size = (size_t)sqlite3_value_bytes(value);
    *text = pt_slice_of(data != NULL ? data : "", size);
    return data == NULL && size != 0 ? SQLITE_NOMEM : SQLITE_OK;
}

int pt_value_argument_text(sqlite3_value *value, pt_slice *text)
{
    return sqlite3_value_type(value) == SQLITE_TEXT ? pt_value_text_bytes(value, text)
                                                    : read_value_text(value, text);
}

/* Reads the bytes of a value that is not NULL. */
static int read_source(sql_source *from, pt_type declared)
{
    switch (from->type) {
    case SQLITE_BLOB:
        return pt_value_argument_blob(from->value, &from->bytes);
    case SQLITE_TEXT:
        return pt_value_text_bytes(from->value, &from->bytes);
    default:
        return declared == PT_STRING ? read_value_text(from->value, &from->bytes) : SQLITE_OK;
    }
}

/* The type of a value that is neither NULL nor TEXT. */
static pt_type sql_own_type(const sql_source *from)
{
    switch (from->type) {
    case SQLITE_INTEGER:
        return pt_value_integer_type(sqlite3_value_int64(from->value));
    case SQLITE_FLOAT:
        return PT_DOUBLE;
    default:
        return PT_BINARY;
    }
}

static bool is_exact_text(const sql_source *from, const char *text)
{
    return from->type == SQLITE_TEXT && pt_slice_equal(from->bytes, pt_slice_text(text));
}

static bool is_word_text(const sql_source *from, const char *text)
{
    return from->type == SQLITE_TEXT && pt_is_word(from->bytes, text);
}

/* SQLite writes a REAL with 15 digits and no sign of zero, which may not be the same number. */
static bool sql_to_string(const sql_source *from, pt_value *out)
{
    double written;
    out->bytes = from->bytes;
    if (from->type == SQLITE_FLOAT) {
        double real = sqlite3_value_double(from->value);
        return pt_double_parse(from->bytes, &written) && written == real &&
               signbit(written) == signbit(real);
    }
    return from->type != SQLITE_BLOB;
}

static bool integral_real(double real, int64_t *integer)
{
    const double limit = 9223372036854775808.0;
    if (!(real >= -limit && real < limit)) {
        return false;
    }
    *integer = (int64_t)real;
    return (double)*integer == real;
}

bool pt_value_real_integer(sqlite3_value *value, int64_t *integer)
{
    return sqlite3_value_type(value) == SQLITE_FLOAT &&
           integral_real(sqlite3_value_double(value), integer) && *integer >= -DOUBLE_INTEGER_MAX &&
           *integer <= DOUBLE_INTEGER_MAX;
}

int pt_value_integer(sqlite3_value *value, int64_t *integer)
{
    pt_slice text;
    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        *integer = sqlite3_value_int64(value);
        return SQLITE_OK;
    case SQLITE_FLOAT:
        return pt_value_real_integer(value, integer) ? SQLITE_OK : SQLITE_MISMATCH;
    case SQLITE_TEXT:
        if (read_value_text(value, &text) != SQLITE_OK) {
            return SQLITE_NOMEM;
        }
        return pt_integer_parse(text, integer) ? SQLITE_OK : SQLITE_MISMATCH;
    default:
        return SQLITE_MISMATCH;
    }
}

static inline bool sql_to_int64(const sql_source *from, pt_value *out)
{
    switch (from->type) {
    case SQLITE_INTEGER:
        out->integer = sqlite3_value_int64(from->value);
        return true;
    case SQLITE_FLOAT:
        return integral_real(sqlite3_value_double(from->value), &out->integer);
    case SQLITE_TEXT:
        return pt_integer_parse(from->bytes, &out->integer);
    default:
        return false;
    }
}

static inline bool sql_to_int32(const sql_source *from, pt_value *out)
{
    return sql_to_int64(from, out) && pt_value_integer_type(out->integer) == PT_INT32;
}

static bool integer_to_double(int64_t integer, double *real)
{
    *real = (double)integer;
    return integer >= -DOUBLE_INTEGER_MAX && integer <= DOUBLE_INTEGER_MAX;
}

static bool sql_to_double(const sql_source *from, pt_value *out)
{
    switch (from->type) {
    case SQLITE_INTEGER:
        return integer_to_double(sqlite3_value_int64(from->value), &out->real);
    case SQLITE_FLOAT:
        out->real = sqlite3_value_double(from->value);
        return true;
    case SQLITE_TEXT:
        return pt_double_parse_lossless(from->bytes, &out->real) ||
               pt_double_parse_name(from->bytes, &out->real);
    default:
        return false;
    }
}

static inline bool sql_to_boolean(const sql_source *from, pt_value *out)
{
    if (from->type == SQLITE_INTEGER || from->type == SQLITE_FLOAT) {
        return sql_to_int64(from, out) && (out->integer == 0 || out->integer == 1);
    }
    out->integer = is_word_text(from, "true") || is_exact_text(from, "1");
    return out->integer == 1 || is_word_text(from, "false") || is_exact_text(from, "0");
}

static bool sql_to_datetime(const sql_source *from, pt_value *out)
{
    return from->type == SQLITE_TEXT && pt_ticks_parse(from->bytes, &out->integer);
}

static bool sql_to_guid(const sql_source *from, pt_value *out)
{
    if (from->type == SQLITE_BLOB && from->bytes.size == PT_GUID_SIZE) {
        memcpy(out->guid, from->bytes.data, PT_GUID_SIZE);
        return true;
    }
    return from->type == SQLITE_TEXT && pt_guid_parse(from->bytes, out->guid);
}

static bool sql_to_binary(const sql_source *from, pt_value *out)
{
    out->bytes = from->bytes;
    return from->type == SQLITE_BLOB;
}

static const struct {
    bool (*convert)(const sql_source *from, pt_value *out);
    const char *remedy;
} sql_conversions[] = {
    [PT_STRING] = {sql_to_string, "give text, for example by CAST(... AS TEXT)"},
    [PT_INT32] = {sql_to_int32, "give an integer from -2147483648 to 2147483647"},
    [PT_INT64] = {sql_to_int64, "give an integer from -9223372036854775808 to 9223372036854775807"},
    [PT_DOUBLE] =
        {sql_to_double,
         "give a REAL, an integer up to 9007199254740992 (beyond it by CAST(... AS REAL)), "
         "or 'NaN', 'Infinity', '-Infinity'"},
    [PT_BOOLEAN] = {sql_to_boolean, "give 0, 1, 'false' or 'true'"},
    [PT_DATETIME] = {sql_to_datetime,
                     "give text of the form YYYY-MM-DD[ HH:MM[:SS[.fraction]]][Z or +HH:MM], from "
                     "year 0001 to 9999"},
    [PT_GUID] = {sql_to_guid,
                 "give text of the form '0f8fad5b-d9cb-469f-a165-70867728950e' or a BLOB of 16 "
                 "bytes"},
    [PT_BINARY] = {sql_to_binary, "give a BLOB, such as x'0011' or CAST(... AS BLOB)"},
};

enum { SHOWN_BLOB = 16 };

static void describe_blob(pt_slice blob, char description[PT_DESCRIPTION_SIZE])
{
    char hex[2 * SHOWN_BLOB + 1] = "";
    for (size_t i = 0; i < blob.size && i < SHOWN_BLOB; i++) {
        sqlite3_snprintf(3, hex + 2 * i, "%02x", blob.data[i]);
    }
    if (blob.size <= SHOWN_BLOB) {
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "x'%s'", hex);
    } else {
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "x'%s...' (%lld bytes)", hex,
                         (sqlite3_int64)blob.size);
    }
}

static void describe_real(double real, char description[PT_DESCRIPTION_SIZE])
{
    const char *name = pt_double_name(real);
    if (name != NULL) {
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "%s", name);
    } else {
        pt_double_format(real, description);
    }
}

static void describe_source(const sql_source *from, char description[PT_DESCRIPTION_SIZE])
{
    char excerpt[PT_EXCERPT_SIZE];
    switch (from->type) {
    case SQLITE_INTEGER:
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "%lld",
                         sqlite3_value_int64(from->value));
        break;
    case SQLITE_FLOAT:
        describe_real(sqlite3_value_double(from->value), description);
        break;
    case SQLITE_BLOB:
        describe_blob(from->bytes, description);
        break;
    default:
        pt_excerpt(from->bytes, excerpt);
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "%Q", excerpt);
        break;
    }
}

void pt_value_describe(sqlite3_value *value, char description[PT_DESCRIPTION_SIZE])
{
    sql_source from = {.value = value, .type = sqlite3_value_type(value)};
    if (from.type == SQLITE_NULL) {
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "NULL");
    } else if (read_source(&from, PT_NONE) != SQLITE_OK) {
        sqlite3_snprintf(PT_DESCRIPTION_SIZE, description, "...");
    } else {
        describe_source(&from, description);
    }
}

static const char *broken_rule(const sql_source *from, pt_type type)
{
    double real;
    if (from->type != SQLITE_TEXT) {
        return NULL;
    }
    if (type == PT_DOUBLE && pt_double_parse(from->bytes, &real)) {
        return "it has digits that a Double cannot keep";
    }
    return pt_type_broken_rule(type, from->bytes);
}

static int refuse_conversion(const sql_source *from, pt_type type, const char *column,
                             pt_error *error)
{
    char description[PT_DESCRIPTION_SIZE];
    describe_source(from, description);
    const char *rule = broken_rule(from, type);
    return pt_error_set(
        error, SQLITE_MISMATCH, "column %s: %s is not %s %s%s%s; %s (InvalidValueType)", column,
        description, pt_type_article(type), pt_type_name(type), rule != NULL ? ": " : "",
        rule != NULL ? rule : "", sql_conversions[type].remedy);
}

/* True if the value is what .import binds for an empty field. */
static bool is_empty_field(const sql_source *from)
{
    return from->type == SQLITE_TEXT && from->bytes.size == 0;
}

static int run_conversion(const sql_source *from, pt_type type, const char *column, pt_value *out,
                          pt_error *error)
{
    pt_value converted = {.type = type};
    if (!sql_conversions[type].convert(from, &converted)) {
        return refuse_conversion(from, type, column, error);
    }
    *out = converted;
    return SQLITE_OK;
}

int pt_value_from_sql(sqlite3_value *value, pt_type declared, const char *column, pt_value *out,
                      pt_error *error)
{
    sql_source from = {.value = value, .type = sqlite3_value_type(value)};
    if (from.type == SQLITE_NULL) {
        out->type = PT_NONE;
        return SQLITE_OK;
    }
    if (read_source(&from, declared) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (from.type == SQLITE_TEXT && (declared == PT_STRING || declared == PT_NONE)) {
        out->type = PT_STRING;
        out->bytes = from.bytes;
        return SQLITE_OK;
    }
    if (is_empty_field(&from)) {
        out->type = PT_NONE;
        return SQLITE_OK;
    }
    return run_conversion(&from, declared != PT_NONE ? declared : sql_own_type(&from), column, out,
                          error);
}

static inline bool text_to_datetime(sqlite3_value *value, pt_value *out)
{
    pt_slice text;
    return pt_value_text_bytes(value, &text) == SQLITE_OK && pt_ticks_parse(text, &out->integer);
}

/*
 * Converts a value that SQLite has in the form in which the type is mostly given, and adds the
 * bytes that it takes in the data of a record. Returns false for every other value, and when out of
 * memory.
 */
static inline bool convert_usual_form(sqlite3_value *value, const pt_value_target *target,
                                      uint64_t *data_size)
{
    int sql_type = sqlite3_value_type(value);
    const sql_source from = {.value = value, .type = SQLITE_INTEGER};
    pt_value *out = target->value;
    switch (target->usual) {
    case PT_STRING:
        if (sql_type != SQLITE_TEXT || pt_value_text_bytes(value, &out->bytes) != SQLITE_OK) {
            return false;
        }
        *data_size += out->bytes.size + 1;
        return true;
    case PT_INT32:
        return sql_type == SQLITE_INTEGER && sql_to_int32(&from, out);
    case PT_INT64:
        if (sql_type == SQLITE_INTEGER) {
            out->integer = sqlite3_value_int64(value);
        }
        return sql_type == SQLITE_INTEGER;
    case PT_BOOLEAN:
        return sql_type == SQLITE_INTEGER && sql_to_boolean(&from, out);
    case PT_DOUBLE:
        if (sql_type == SQLITE_FLOAT) {
            out->real = sqlite3_value_double(value);
        }
        return sql_type == SQLITE_FLOAT;
    case PT_DATETIME:
        return sql_type == SQLITE_TEXT && text_to_datetime(value, out);
    default:
        return sql_type == SQLITE_NULL && target->type == PT_NONE;
    }
}

/* noinline, so that the values that do not need it do not pay for it. */
__attribute__((noinline)) static int convert_alike(sqlite3_value *value,
                                                   const pt_value_target *target, bool *alike,
                                                   uint64_t *data_size, pt_error *error)
{
    pt_value converted = {.type = PT_NONE};
    int rc = pt_value_from_sql(value, target->declared, target->column, &converted, error);
    *alike = rc == SQLITE_OK && converted.type == target->type;
    if (*alike && converted.type != PT_NONE) {
        *target->value = converted;
        *data_size += pt_value_data_size(&converted);
    }
    return rc;
}

pt_value_target pt_value_target_of(pt_type declared, const char *column, pt_value *value)
{
    bool keeps = declared == PT_NONE &&
                 (value->type == PT_STRING || value->type == PT_INT32 || value->type == PT_DOUBLE);
    return (pt_value_target){.type = value->type,
                             .usual = declared == value->type || keeps ? value->type : PT_NONE,
                             .declared = declared,
                             .column = column,
                             .value = value};
}

int pt_values_from_sql(sqlite3_value **values, const pt_value_target *targets, int count,
                       bool *alike, uint64_t *data_size, pt_error *error)
{
    const pt_value_target *end = targets + count;
    uint64_t size = 0;
    *alike = true;
    for (const pt_value_target *target = targets; target != end; target++, values++) {
        if (!convert_usual_form(*values, target, &size)) {
            int rc = convert_alike(*values, target, alike, &size, error);
            if (rc != SQLITE_OK || !*alike) {
                return rc;
            }
        }
    }
    *data_size = size;
    return SQLITE_OK;
}

/* SQLite would turn a NULL pointer into an SQL NULL. */
static const char *result_data(pt_slice bytes)
{
    return bytes.size != 0 ? (const char *)bytes.data : "";
}

/*
 * Returns a text that a NUL follows. If given a length, SQLite would copy the text as soon as a
 * terminated one is needed; given -1, it knows that the NUL is there.
 */
static void result_terminated(sqlite3_context *context, const char *data, size_t size,
                              sqlite3_destructor_type destructor)
{
    if (strlen(data) == size) {
        sqlite3_result_text(context, data, -1, destructor);
    } else {
        sqlite3_result_text64(context, data, size, destructor, SQLITE_UTF8);
    }
}

static void result_string(sqlite3_context *context, pt_slice text, bool lasting)
{
    const char *data = result_data(text);
    if (lasting) {
        result_terminated(context, data, text.size, SQLITE_STATIC);
    } else {
        sqlite3_result_text64(context, data, text.size, SQLITE_TRANSIENT, SQLITE_UTF8);
    }
}

static void result_double(sqlite3_context *context, double real)
{
    if (isnan(real)) {
        sqlite3_result_text(context, pt_double_name(real), -1, SQLITE_STATIC);
    } else {
        sqlite3_result_double(context, real);
    }
}

void pt_value_result(sqlite3_context *context, const pt_value *value, bool lasting)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        sqlite3_result_null(context);
        break;
    case PT_STRING:
        result_string(context, value->bytes, lasting);
        break;
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        sqlite3_result_int64(context, value->integer);
        break;
    case PT_DOUBLE:
        result_double(context, value->real);
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
        break;
    case PT_BINARY:
        sqlite3_result_blob64(context, result_data(value->bytes), value->bytes.size,
                              lasting ? SQLITE_STATIC : SQLITE_TRANSIENT);
        break;
    }
}

void pt_value_result_buffer(sqlite3_context *context, pt_type type, pt_buffer *bytes)
{
    char *data = (char *)bytes->data;
    size_t size = bytes->size;
    *bytes = (pt_buffer){0};
    if (type == PT_STRING) {
        result_terminated(context, data, size, sqlite3_free);
    } else {
        sqlite3_result_blob64(context, data, size, sqlite3_free);
    }
}

static bool equals_text(sqlite3_value *sql, pt_slice text)
{
    pt_slice present;
    return sqlite3_value_type(sql) == SQLITE_TEXT && read_value_text(sql, &present) == SQLITE_OK &&
           pt_slice_equal(present, text);
}

static bool equals_blob(sqlite3_value *sql, pt_slice blob)
{
    pt_slice present;
    return sqlite3_value_type(sql) == SQLITE_BLOB &&
           pt_value_argument_blob(sql, &present) == SQLITE_OK && pt_slice_equal(present, blob);
}

static bool equals_double(sqlite3_value *sql, double real)
{
    if (isnan(real)) {
        return equals_text(sql, pt_slice_text(pt_double_name(real)));
    }
    double present = sqlite3_value_double(sql);
    return sqlite3_value_type(sql) == SQLITE_FLOAT && memcmp(&present, &real, sizeof present) == 0;
}

bool pt_value_equals_sql(const pt_value *value, sqlite3_value *sql)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        return sqlite3_value_type(sql) == SQLITE_NULL;
    case PT_STRING:
        return equals_text(sql, value->bytes);
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        return sqlite3_value_type(sql) == SQLITE_INTEGER &&
               sqlite3_value_int64(sql) == value->integer;
    case PT_DOUBLE:
        return equals_double(sql, value->real);
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        return equals_text(sql, pt_slice_text(text));
    case PT_GUID:
        pt_guid_format(value->guid, text);
        return equals_text(sql, pt_slice_text(text));
    case PT_BINARY:
        return equals_blob(sql, value->bytes);
    }
    return false;
}

/* --- Text --- */

static void append_integer(pt_buffer *buffer, int64_t integer)
{
    char text[PT_INTEGER_TEXT_SIZE];
    pt_buffer_append(buffer, text, pt_integer_format(integer, text));
}

static void append_double(pt_buffer *buffer, double real)
{
    char text[PT_DOUBLE_TEXT_SIZE];
    const char *name = pt_double_name(real);
    if (name == NULL) {
        pt_double_format(real, text);
    }
    pt_buffer_append_text(buffer, name != NULL ? name : text);
}

void pt_value_append_text(pt_buffer *buffer, const pt_value *value)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    case PT_STRING:
        pt_buffer_append_slice(buffer, value->bytes);
        break;
    case PT_INT32:
    case PT_INT64:
        append_integer(buffer, value->integer);
        break;
    case PT_DOUBLE:
        append_double(buffer, value->real);
        break;
    case PT_BOOLEAN:
        pt_buffer_append_text(buffer, value->integer != 0 ? "true" : "false");
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        pt_buffer_append_text(buffer, text);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        pt_buffer_append_text(buffer, text);
        break;
    case PT_BINARY:
        pt_base64_append(buffer, value->bytes);
        break;
    }
}
