/*
 * Copies by SQL lose nothing: random entities of all types go from table to table and store to
 * store, and what arrives is compared with what was made, property by property, type by type and
 * bit by bit.
 */
#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "fixtures/connection.h"
#include "fixtures/random_bag.h"
#include "fixtures/value_same.h"
#include "value/json_read.h"

enum { ENTITIES = 12000, PROPERTIES = 8, NAMES = 40 };

static char folder[] = "/tmp/ptable-copies-XXXXXX";

/* --- The entities --- */

static pt_value special_double(void)
{
    static const double specials[] = {0.0,       -0.0,      5e-324,    2.2250738585072014e-308,
                                      INFINITY,  -INFINITY, 0.1,       1.7976931348623157e308,
                                      4.35e-322, 1e22,      1e23,      9007199254740993.0,
                                      5.0,       1e15,      123456e10, -1.7976931348623157e308};
    pt_value value = {.type = PT_DOUBLE};
    value.real =
        random_below(20) == 0 ? NAN : specials[random_below(sizeof specials / sizeof specials[0])];
    return value;
}

/* Small integers in all types that hold them, for the types to be told apart by themselves. */
static pt_value small_number(void)
{
    static const pt_type types[] = {PT_INT32, PT_INT64, PT_BOOLEAN, PT_DATETIME};
    return (pt_value){.type = types[random_below(4)], .integer = (int64_t)random_below(2)};
}

static pt_value any_value(pt_arena *arena)
{
    switch (random_below(6)) {
    case 0:
        return special_double();
    case 1:
        return small_number();
    default:
        return random_value(arena);
    }
}

static pt_slice any_name(pt_arena *arena)
{
    if (random_below(200) == 0) {
        return random_bytes(arena, true);
    }
    char *name = pt_arena_alloc(arena, 8);
    assert_non_null(name);
    return pt_slice_of(name, (size_t)snprintf(name, 8, "P%02zu", random_below(NAMES)));
}

static void make_entity(pt_bag *bag)
{
    pt_bag_clear(bag);
    size_t count = random_below(PROPERTIES);
    for (size_t i = 0; i < count; i++) {
        pt_field field = {.name = any_name(&bag->arena), .value = any_value(&bag->arena)};
        if (field.name.size != 0) {
            assert_true(pt_bag_set(bag, &field));
        }
    }
}

static const char *partition_of(int number)
{
    static char text[16];
    snprintf(text, sizeof text, "p%03d", number / 100);
    return text;
}

/* --- Their JSON, written without the extension's writer --- */

static void write_string(FILE *json, pt_slice text)
{
    fputc('"', json);
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        if (c < ' ' || c == '"' || c == '\\') {
            fprintf(json, "\\u%04X", c);
        } else {
            fputc(c, json);
        }
    }
    fputc('"', json);
}

static void write_double(FILE *json, double real)
{
    if (isnan(real)) {
        fputs("\"NaN\"", json);
    } else if (isinf(real)) {
        fputs(real > 0 ? "\"Infinity\"" : "\"-Infinity\"", json);
    } else {
        fprintf(json, "%.17g", real);
    }
}

static void write_base64(FILE *json, pt_slice bytes)
{
    pt_buffer text = {0};
    pt_base64_append(&text, bytes);
    write_string(json, pt_buffer_slice(&text));
    pt_buffer_free(&text);
}

static void write_value(FILE *json, const pt_value *value)
{
    char text[PT_GUID_TEXT_SIZE + 1];
    switch (value->type) {
    case PT_STRING:
        write_string(json, value->bytes);
        break;
    case PT_BOOLEAN:
        fputs(value->integer != 0 ? "true" : "false", json);
        break;
    case PT_DOUBLE:
        write_double(json, value->real);
        break;
    case PT_DATETIME:
        pt_ticks_format(value->integer, text);
        fprintf(json, "\"%s\"", text);
        break;
    case PT_GUID:
        pt_guid_format(value->guid, text);
        fprintf(json, "\"%s\"", text);
        break;
    case PT_BINARY:
        write_base64(json, value->bytes);
        break;
    default:
        fprintf(json, "\"%lld\"", (long long)value->integer);
        break;
    }
}

/* Every property with its annotation, now before it and now behind it. The text is from malloc. */
static char *write_entity(const pt_bag *bag, size_t *size)
{
    char *text = NULL;
    FILE *json = open_memstream(&text, size);
    assert_non_null(json);
    fputc('{', json);
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_field *field = &bag->fields[i];
        char annotated[64];
        memcpy(annotated, field->name.data, field->name.size);
        memcpy(annotated + field->name.size, "@odata.type", 11);
        for (unsigned part = 0; part < 2; part++) {
            fputs(i + part != 0 ? "," : "", json);
            if (part == i % 2) {
                write_string(json, field->name);
                fputc(':', json);
                write_value(json, &field->value);
            } else {
                write_string(json, pt_slice_of(annotated, field->name.size + 11));
                fprintf(json, ":\"Edm.%s\"", pt_type_name(field->value.type));
            }
        }
    }
    fputc('}', json);
    fclose(json);
    return text;
}

/* --- The database --- */

static sqlite3 *open_database(void)
{
    char path[64];
    snprintf(path, sizeof path, "%s/copies.db", folder);
    return open_with_ptable(path);
}

static void insert_entities(sqlite3 *db)
{
    sqlite3_stmt *insert;
    pt_bag bag = {0};
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO Origin VALUES (?, pt_pad(?, 6), ?)", -1, &insert, NULL),
        SQLITE_OK);
    run_sql(db, "BEGIN");
    for (int i = 0; i < ENTITIES; i++) {
        size_t size;
        make_entity(&bag);
        char *json = write_entity(&bag, &size);
        sqlite3_bind_text(insert, 1, partition_of(i), -1, SQLITE_STATIC);
        sqlite3_bind_int(insert, 2, i);
        sqlite3_bind_text(insert, 3, json, (int)size, free);
        assert_int_equal(sqlite3_step(insert), SQLITE_DONE);
        sqlite3_reset(insert);
    }
    run_sql(db, "COMMIT");
    sqlite3_finalize(insert);
    pt_bag_free(&bag);
}

/* --- Comparing --- */

static int compare_fields(const void *a, const void *b)
{
    return pt_slice_compare(((const pt_field *)a)->name, ((const pt_field *)b)->name);
}

static void assert_same_bag(pt_bag *made, const pt_bag *read)
{
    if (made->count != 0) {
        qsort(made->fields, made->count, sizeof *made->fields, compare_fields);
    }
    assert_int_equal(made->count, read->count);
    for (unsigned i = 0; i < made->count; i++) {
        assert_true(pt_slice_equal(made->fields[i].name, read->fields[i].name));
        assert_true(value_same(&made->fields[i].value, &read->fields[i].value));
    }
}

/* Makes the same entities again and compares. The first column is Properties. */
static void expect_entities(sqlite3 *db, const char *select)
{
    sqlite3_stmt *statement;
    pt_bag made = {0};
    pt_bag read = {0};
    pt_error error = PT_ERROR_NONE;
    random_state = 88172645463325252;
    assert_int_equal(sqlite3_prepare_v2(db, select, -1, &statement, NULL), SQLITE_OK);
    for (int i = 0; i < ENTITIES; i++) {
        make_entity(&made);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        assert_int_equal(pt_json_parse(sqlite3_column_value(statement, 0), &read, &error),
                         SQLITE_OK);
        assert_same_bag(&made, &read);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
    pt_bag_free(&made);
    pt_bag_free(&read);
}

static void copies_are_the_same(void **state)
{
    (void)state;
    sqlite3 *db = open_database();
    run_sql(db, "CREATE VIRTUAL TABLE Origin USING ptable(sync=off);"
                "CREATE VIRTUAL TABLE Near USING ptable(sync=off);"
                "CREATE VIRTUAL TABLE Far USING ptable(store='far.ptable', sync=off);"
                "CREATE VIRTUAL TABLE Sent USING ptable(store='far.ptable', sync=off)");
    insert_entities(db);
    expect_entities(db, "SELECT Properties FROM Origin");
    run_sql(db, "INSERT INTO Near(PartitionKey, RowKey, Properties) "
                "SELECT PartitionKey, RowKey, Properties FROM Origin;"
                "INSERT INTO Far(PartitionKey, RowKey, Properties) "
                "SELECT PartitionKey, RowKey, Properties FROM Near ORDER BY EntityKey DESC;"
                "INSERT INTO Sent(PartitionKey, RowKey, Properties) "
                "SELECT PartitionKey, RowKey, pt_entity_properties(pt_entity_json(PartitionKey, "
                "RowKey, Timestamp, Properties), RowKey) FROM Far");
    expect_entities(db, "SELECT Properties FROM Far");
    expect_entities(db, "SELECT Properties FROM Sent");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Some columns hold what they are declared for, most do not. */
static void updates_keep_what_they_do_not_name(void **state)
{
    (void)state;
    sqlite3 *db = open_database();
    run_sql(db,
            "CREATE VIRTUAL TABLE Typed USING ptable(P00 String, P01 Int32, P02 Int64, P03 Double, "
            "P04 Boolean, P05 DateTime, P06 Guid, P07 Binary, P08, Touched Int32, table='Near', "
            "sync=off);"
            "UPDATE Typed SET Touched = 1;"
            "UPDATE Typed SET Touched = 2, P00 = P00, P03 = P03, P08 = P08, "
            "Properties = Properties;"
            "UPDATE Typed SET Touched = NULL FROM (SELECT 1)");
    expect_entities(db, "SELECT Properties FROM Near");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"copies.db", "copies.db-ptable", "copies.db-ptable-lock",
                                        "far.ptable", "far.ptable-lock"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        remove(path);
    }
    return remove(folder);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_the_same),
        cmocka_unit_test(updates_keep_what_they_do_not_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
