/*
 * JSON: the members of a flat object are those that SQLite finds, and only JSON
 * is read at all; properties that were read are written so that they are read the same, in
 * the same text. The input is the text.
 */
#include <sqlite3.h>

#include "fixtures/json_text.h"
#include "fixtures/value_same.h"
#include "fuzz/fuzz.h"
#include "value/json_read.h"
#include "value/json_scan.h"
#include "value/json_write.h"

static sqlite3 *db;
static sqlite3_stmt *is_valid;
static sqlite3_stmt *each;
static sqlite3_stmt *identity;

static void prepare(const char *sql, sqlite3_stmt **statement)
{
    must_hold(sqlite3_prepare_v2(db, sql, -1, statement, NULL) == SQLITE_OK, sql);
}

static void open_once(void)
{
    if (db == NULL) {
        must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
        prepare("SELECT json_valid(?1)", &is_valid);
        prepare("SELECT key, type, atom FROM json_each(?1)", &each);
        prepare("SELECT ?1", &identity);
    }
}

static void bind(sqlite3_stmt *statement, pt_slice text)
{
    sqlite3_reset(statement);
    sqlite3_bind_text64(statement, 1, text.size != 0 ? (const char *)text.data : "", text.size,
                        SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* --- Members, beside SQLite's --- */

static pt_slice column_text(int column)
{
    const unsigned char *text = sqlite3_column_text(each, column);
    return pt_slice_of(text, (size_t)sqlite3_column_bytes(each, column));
}

static bool has_nul(pt_slice text)
{
    return text.size != 0 && memchr(text.data, 0, text.size) != NULL;
}

static void check_value(const pt_json_token *value)
{
    static const char *const types[] = {
        [PT_JSON_NULL] = "null",       [PT_JSON_FALSE] = "false", [PT_JSON_TRUE] = "true",
        [PT_JSON_INTEGER] = "integer", [PT_JSON_REAL] = "real",   [PT_JSON_STRING] = "text"};
    pt_slice type = column_text(1);
    if (value->kind == PT_JSON_NESTED) {
        must_hold(pt_slice_equal(type, pt_slice_text("object")) ||
                      pt_slice_equal(type, pt_slice_text("array")),
                  "what is nested is so for SQLite");
        return;
    }
    must_hold(pt_slice_equal(type, pt_slice_text(types[value->kind])), "types are SQLite's");
    pt_slice text = pt_json_token_text(value);
    if (value->kind == PT_JSON_STRING && !has_nul(text)) {
        must_hold(pt_slice_equal(text, column_text(2)), "strings are SQLite's");
    }
}

/* SQLite cuts names at U+0000, as strings. */
static void check_name(pt_slice name)
{
    must_hold(has_nul(name) || pt_slice_equal(name, column_text(0)), "names are SQLite's");
}

static void check_members(pt_slice text, bool valid)
{
    uint8_t *copy = exact_copy(text);
    pt_json_scan scan = pt_json_scan_of(copy, text.size);
    pt_json_token value = {.kind = PT_JSON_NULL};
    pt_slice name;
    pt_json_step step;
    bind(each, text);
    while ((step = pt_json_scan_next(&scan, &name, &value)) == PT_JSON_MEMBER) {
        if (valid) {
            must_hold(sqlite3_step(each) == SQLITE_ROW, "SQLite has as many members");
            check_name(name);
            check_value(&value);
        }
        if (value.kind == PT_JSON_NESTED) {
            break;
        }
    }
    must_hold(!valid || step != PT_JSON_MALFORMED, "nothing in JSON is malformed");
    if (step == PT_JSON_END) {
        must_hold(valid, "only JSON is scanned to its end");
        must_hold(sqlite3_step(each) == SQLITE_DONE, "SQLite has no more members");
    }
    sqlite3_reset(each);
    free(copy);
}

/* --- Properties, read and written --- */

typedef int parser(sqlite3_value *json, pt_bag *bag, pt_error *error);

static int parse_properties(sqlite3_value *json, pt_bag *bag, pt_error *error)
{
    return pt_json_parse(json, bag, error);
}

static int parse_entity(sqlite3_value *json, pt_bag *bag, pt_error *error)
{
    return pt_json_parse_entity(json, "line", bag, error);
}

/* True if the text can be read. The bag must not depend on it afterwards. */
static bool parse(parser *way, pt_slice text, pt_bag *bag)
{
    pt_error error = PT_ERROR_NONE;
    bind(identity, text);
    must_hold(sqlite3_step(identity) == SQLITE_ROW, "a text can be had");
    sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(identity, 0));
    int rc = way(value, bag, &error);
    sqlite3_value_free(value);
    must_hold(rc == SQLITE_OK || (rc == SQLITE_MISMATCH && error.message != NULL),
              "what is wrong is said");
    must_hold(rc == SQLITE_OK || bag->count == 0, "nothing comes of what is wrong");
    pt_error_clear(&error);
    return rc == SQLITE_OK;
}

static void write_bag(const pt_bag *bag, pt_buffer *json)
{
    pt_buffer_clear(json);
    pt_json_begin(json);
    for (unsigned i = 0; i < bag->count; i++) {
        pt_json_add(json, bag->fields[i].name, &bag->fields[i].value);
    }
    pt_json_end(json);
    must_hold(!json->failed, "there is memory");
}

static void check_same(const pt_bag *a, const pt_bag *b)
{
    must_hold(a->count == b->count, "as many properties come back");
    for (unsigned i = 0; i < a->count; i++) {
        must_hold(pt_slice_equal(a->fields[i].name, b->fields[i].name), "names come back");
        must_hold(value_same(&a->fields[i].value, &b->fields[i].value), "values come back");
    }
}

static void check_way(parser *way, pt_slice text, bool valid)
{
    pt_bag bag = {0};
    pt_bag again = {0};
    pt_buffer json = {0};
    pt_buffer second = {0};
    if (parse(way, text, &bag)) {
        must_hold(valid, "only JSON is read");
        write_bag(&bag, &json);
        must_hold(parse(parse_properties, pt_buffer_slice(&json), &again),
                  "what is written is read");
        check_same(&bag, &again);
        write_bag(&again, &second);
        must_hold(pt_slice_equal(pt_buffer_slice(&json), pt_buffer_slice(&second)),
                  "the text is the same again");
    }
    pt_buffer_free(&json);
    pt_buffer_free(&second);
    pt_bag_free(&bag);
    pt_bag_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_once();
    pt_slice text = pt_slice_of(data, size);
    bind(is_valid, text);
    must_hold(sqlite3_step(is_valid) == SQLITE_ROW, "SQLite answers");
    bool valid = is_json_text(text);
    must_hold(!valid || sqlite3_column_int(is_valid, 0) != 0, "what is JSON is so for SQLite");
    check_members(text, valid);
    check_way(parse_properties, text, valid);
    check_way(parse_entity, text, valid);
    return 0;
}
