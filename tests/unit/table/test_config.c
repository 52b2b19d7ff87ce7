#include "fixtures/cmocka.h"

#include "base/sqlite.h"
#include "faults/failing_malloc.h"
#include "table/config.h"

enum { ARGUMENTS_MAX = 10 };

#define ARGUMENTS(...) ((const char *const[ARGUMENTS_MAX]){__VA_ARGS__})

static int parse(const char *const *arguments, pt_config *config, pt_error *error)
{
    const char *argv[3 + ARGUMENTS_MAX] = {"ptable", "main", "Employee"};
    int argc = 3;
    while (arguments[argc - 3] != NULL) {
        argv[argc] = arguments[argc - 3];
        argc++;
    }
    return pt_config_parse(argc, argv, config, error);
}

static void assert_accepted(const char *const *arguments, pt_config *config)
{
    pt_error error = PT_ERROR_NONE;
    if (parse(arguments, config, &error) != SQLITE_OK) {
        fail_msg("refused: %s", error.message);
    }
    assert_null(error.message);
}

/* The arguments are refused with exactly this text. */
static void assert_refused(const char *const *arguments, const char *text)
{
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse(arguments, &config, &error), SQLITE_ERROR);
    assert_string_equal(error.message, text);
    assert_null(config.sql_name);
    assert_null(config.table);
    assert_null(config.store);
    assert_null(config.columns);
    assert_int_equal(config.column_count, 0);
    pt_error_clear(&error);
}

/* The text ends with a list of options: lists_of_options_are_those_of_the_table. */
static void assert_refused_with_options(const char *argument, const char *text)
{
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse(ARGUMENTS(argument), &config, &error), SQLITE_ERROR);
    assert_memory_equal(error.message, text, strlen(text));
    assert_null(config.sql_name);
    pt_error_clear(&error);
}

static void assert_column(const pt_config *config, int index, const char *name, pt_type type)
{
    assert_true(index < config->column_count);
    assert_string_equal(config->columns[index].name, name);
    assert_int_equal(config->columns[index].name_size, strlen(name));
    assert_int_equal(config->columns[index].type, type);
}

static void without_arguments_all_is_default(void **state)
{
    (void)state;
    pt_config config;
    assert_accepted(ARGUMENTS(NULL), &config);
    assert_string_equal(config.sql_name, "Employee");
    assert_string_equal(config.table, "Employee");
    assert_false(config.table_given);
    assert_null(config.store);
    assert_int_equal(config.sync, PT_SYNC_FULL);
    assert_false(config.read_only);
    assert_false(config.deny_scan);
    assert_int_equal(config.column_count, 0);
    pt_config_free(&config);
    assert_null(config.sql_name);
}

static void columns_have_names_and_types(void **state)
{
    (void)state;
    pt_config config;
    assert_accepted(ARGUMENTS("Name", " Age\t\n Int32 ", "\"first \"\"name\"\"\" TEXT",
                              "`a``b`  double precision", "[x = y] VARCHAR(20)", "'it''s' Guid",
                              "\xC3\xA9t\xC3\xA9_2 Edm.DateTime", "Default Boolean"),
                    &config);
    assert_int_equal(config.column_count, 8);
    assert_column(&config, 0, "Name", PT_NONE);
    assert_column(&config, 1, "Age", PT_INT32);
    assert_column(&config, 2, "first \"name\"", PT_STRING);
    assert_column(&config, 3, "a`b", PT_DOUBLE);
    assert_column(&config, 4, "x = y", PT_STRING);
    assert_column(&config, 5, "it's", PT_GUID);
    assert_column(&config, 6, "\xC3\xA9t\xC3\xA9_2", PT_DATETIME);
    assert_column(&config, 7, "Default", PT_BOOLEAN);
    pt_config_free(&config);
}

static void options_are_read(void **state)
{
    (void)state;
    pt_config config;
    assert_accepted(ARGUMENTS("store='it''s here.ptable'", "TABLE = \"Logins\"", "sync= normal",
                              "Readonly =1", "scan\n=\n'deny'"),
                    &config);
    assert_string_equal(config.store, "it's here.ptable");
    assert_string_equal(config.table, "Logins");
    assert_string_equal(config.sql_name, "Employee");
    assert_true(config.table_given);
    assert_int_equal(config.sync, PT_SYNC_NORMAL);
    assert_true(config.read_only);
    assert_true(config.deny_scan);
    pt_config_free(&config);

    assert_accepted(
        ARGUMENTS("store=/var/lib/a=b.ptable ", "sync='OFF'", "readonly=0", "scan=allow"), &config);
    assert_string_equal(config.store, "/var/lib/a=b.ptable");
    assert_int_equal(config.sync, PT_SYNC_OFF);
    assert_false(config.read_only);
    assert_false(config.deny_scan);
    pt_config_free(&config);
}

static void keys_may_be_listed_first(void **state)
{
    (void)state;
    pt_config config;
    assert_accepted(ARGUMENTS("PartitionKey", "scan=deny", "RowKey String", "Age"), &config);
    assert_int_equal(config.column_count, 1);
    assert_column(&config, 0, "Age", PT_NONE);
    pt_config_free(&config);
    assert_accepted(ARGUMENTS("\"partitionkey\" TEXT"), &config);
    assert_int_equal(config.column_count, 0);
    pt_config_free(&config);
}

static void misplaced_keys_are_refused(void **state)
{
    (void)state;
    static const char misplaced[] =
        "misplaced column \"%s\" in argument \"%s\"; leave it out: PartitionKey and RowKey are "
        "always the first columns, in this order";
    char text[300];
    sqlite3_snprintf(sizeof text, text, misplaced, "RowKey", "RowKey");
    assert_refused(ARGUMENTS("PartitionKey", "Age", "RowKey"), text);
    assert_refused(ARGUMENTS("RowKey String", "RowKey"), text);
    sqlite3_snprintf(sizeof text, text, misplaced, "PartitionKey", "partitionkey");
    assert_refused(ARGUMENTS("RowKey", "partitionkey"), text);
    assert_refused(ARGUMENTS("RowKey Int32"),
                   "type Int32 of \"RowKey\" in argument \"RowKey Int32\"; leave the type out: "
                   "PartitionKey and RowKey are String");
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    assert_refused_with_options(
        "stor='x'", "unknown option \"stor\" in argument \"stor='x'\"; the options are ");
    assert_refused_with_options(
        "path = x", "unknown option \"path\" in argument \"path = x\"; the options are ");
    assert_refused(ARGUMENTS("sync=full", "SYNC=full"),
                   "second option \"sync\" in argument \"SYNC=full\"; give each option once");
    assert_refused(ARGUMENTS("store=''"), "empty value in argument \"store=''\"; give a value or "
                                          "leave the option out");
    assert_refused(ARGUMENTS("table=\"\""), "empty value in argument \"table=\"\"\"; give a value "
                                            "or leave the option out");
    assert_refused(ARGUMENTS("store= "),
                   "no value in argument \"store= \"; give a value or leave the option out");
    assert_refused(ARGUMENTS("store='a' 'b'"),
                   "unexpected \"'b'\" after the value in argument \"store='a' 'b'\"; give one "
                   "option in each argument, with commas between arguments");
    assert_refused(ARGUMENTS("store=a.db table=b"),
                   "blank or quote inside a bare value in argument \"store=a.db table=b\"; put "
                   "the value in quotes, or a comma after it");
    assert_refused(ARGUMENTS("store='a"), "unclosed quote in argument \"store='a\"; close it");
}

static void wrong_option_values_are_refused(void **state)
{
    (void)state;
    assert_refused(ARGUMENTS("sync=ful"),
                   "unknown value \"ful\" in argument \"sync=ful\"; sync is full, normal or off");
    assert_refused(ARGUMENTS("readonly=true"),
                   "unknown value \"true\" in argument \"readonly=true\"; readonly is 0 or 1");
    assert_refused(ARGUMENTS("scan=''"),
                   "unknown value \"\" in argument \"scan=''\"; scan is allow or deny");
}

static void constraints_are_refused_with_the_reason(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"Age Int32 NOT NULL", "NOT NULL", "any entity may lack any property"},
        {"Age null", "NULL", "any entity may lack any property"},
        {"Age Int32 DEFAULT 3", "DEFAULT", "a property that is not given is absent (NULL)"},
        {"Age Int32 Primary Key", "PRIMARY KEY", "the key is always PartitionKey and RowKey"},
        {"PRIMARY KEY (Age)", "PRIMARY KEY", "the key is always PartitionKey and RowKey"},
        {"Age UNIQUE", "UNIQUE", "a ptable takes unique(...) as an argument"},
        {"Age CHECK(Age > 3)", "CHECK", "values are checked against the column's type only"},
        {"check (Age > 3)", "CHECK", "values are checked against the column's type only"},
        {"Age REFERENCES b(c)", "REFERENCES", "virtual tables have no foreign keys"},
        {"FOREIGN KEY (Age) REFERENCES b(c)", "FOREIGN KEY", "virtual tables have no foreign keys"},
        {"CONSTRAINT c UNIQUE (Age)", "CONSTRAINT", "there is no constraint but the key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[300];
        sqlite3_snprintf(sizeof text, text, "constraint %s in argument \"%s\"; leave it out: %s",
                         cases[i][1], cases[i][0], cases[i][2]);
        assert_refused(ARGUMENTS(cases[i][0]), text);
    }
    assert_refused(ARGUMENTS("Name TEXT COLLATE NOCASE"),
                   "constraint COLLATE in argument \"Name TEXT COLLATE NOCASE\"; leave it out and "
                   "write it in the query: columns are BINARY");
    assert_refused(ARGUMENTS("a AS (b+1)"),
                   "constraint AS in argument \"a AS (b+1)\"; leave it out and compute it in a "
                   "view: virtual tables have no generated columns");
    assert_refused(ARGUMENTS("a Int32 GENERATED ALWAYS AS (b+1)"),
                   "constraint GENERATED in argument \"a Int32 GENERATED ALWAYS AS (b+1)\"; leave "
                   "it out and compute it in a view: virtual tables have no generated columns");
}

static void keywords_may_be_quoted_names(void **state)
{
    (void)state;
    pt_config config;
    assert_accepted(ARGUMENTS("\"Unique\" String", "[Check]", "Notes", "Asset"), &config);
    assert_column(&config, 0, "Unique", PT_STRING);
    assert_column(&config, 1, "Check", PT_NONE);
    assert_column(&config, 2, "Notes", PT_NONE);
    assert_column(&config, 3, "Asset", PT_NONE);
    pt_config_free(&config);
}

static void wrong_columns_are_refused(void **state)
{
    (void)state;
    assert_refused(ARGUMENTS("Age Int31 "),
                   "unknown type \"Int31\" in argument \"Age Int31 \"; the types are String, "
                   "Int32, Int64, Double, Boolean, DateTime, Guid and Binary (or TEXT, INTEGER, "
                   "REAL, BLOB); a column without a type keeps the type of each value");
    assert_refused(ARGUMENTS("Age", "Name", "AGE Int32"),
                   "column \"AGE\" beside \"Age\" in argument \"AGE Int32\"; column names must "
                   "differ in more than case; a second such property is reachable through "
                   "Properties");
    assert_refused(ARGUMENTS("Age", " "), "empty argument; remove the comma before or after it");
    assert_refused(ARGUMENTS("\"\" Int32"),
                   "empty name in argument \"\"\" Int32\"; give the column a name");
    assert_refused(ARGUMENTS("[Age]] Int32"),
                   "unexpected \"] Int32\" after the name in argument \"[Age]] Int32\"; put a "
                   "blank before a type, and quotes around a name that is not just letters, digits "
                   "and _");
    assert_refused(ARGUMENTS("\"odata.etag\""),
                   "column name \"odata.etag\", which is the name of an OData annotation in "
                   "argument \"\"odata.etag\"\"; leave it out: types are shown by Properties, and "
                   "kept without a column");
    assert_refused(ARGUMENTS("\"Age@odata.type\" String"),
                   "column name \"Age@odata.type\", which is the name of an OData annotation in "
                   "argument \"\"Age@odata.type\" String\"; leave it out: types are shown by "
                   "Properties, and kept without a column");
    assert_refused(ARGUMENTS("[Age Int32"), "unclosed quote in argument \"[Age Int32\"; close it");
    assert_refused(ARGUMENTS("first-name String"),
                   "unexpected \"-name String\" after the name in argument \"first-name String\"; "
                   "put a blank before a type, and quotes around a name that is not just letters, "
                   "digits and _");
    assert_refused(ARGUMENTS("2nd String"),
                   "no name in argument \"2nd String\"; write a column as Name or Name Type, an "
                   "option as option=value; a name that is not just letters, digits and _ needs "
                   "quotes");
}

static void reserved_names_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"Properties", "filter",  "TIMESTAMP", "ETag",
                                        "WriteMode",  "IfMatch", "entitykey"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[300];
        sqlite3_snprintf(sizeof text, text,
                         "reserved column name \"%s\" in argument \"%s\"; leave it out: the name "
                         "is kept for a column of ptable itself; such a property is reachable "
                         "through Properties",
                         names[i], names[i]);
        assert_refused(ARGUMENTS(names[i]), text);
    }
}

static void the_number_of_columns_is_limited(void **state)
{
    (void)state;
    enum { ALLOWED = 1900, COUNT = ALLOWED + 4 };
    static char names[COUNT][16];
    static const char *argv[COUNT] = {"ptable", "main", "wide"};
    for (int i = 3; i < COUNT; i++) {
        sqlite3_snprintf(sizeof names[i], names[i], "c%d", i - 2);
        argv[i] = names[i];
    }
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_config_parse(3 + ALLOWED, argv, &config, &error), SQLITE_OK);
    assert_int_equal(config.column_count, ALLOWED);
    assert_column(&config, ALLOWED - 1, "c1900", PT_NONE);
    pt_config_free(&config);
    assert_int_equal(pt_config_parse(COUNT, argv, &config, &error), SQLITE_ERROR);
    assert_string_equal(error.message,
                        "too many columns with \"c1901\" in argument \"c1901\"; declare 1900 "
                        "columns at most; other properties are in Properties");
    pt_error_clear(&error);
}

/* --- Out of memory --- */

static void nothing_is_left_when_memory_runs_out(void **state)
{
    (void)state;
    const char *const *const lists[] = {
        ARGUMENTS("Age Int32", "\"Name\"", "store='x'", "table=y", "sync=off"),
        ARGUMENTS("Age Int32", "Age Int31"),
        ARGUMENTS("store=x", "stores=y"),
    };
    sqlite3_int64 before = sqlite3_memory_used();
    for (size_t list = 0; list < sizeof lists / sizeof *lists; list++) {
        bool hit = true;
        for (int n = 0; hit; n++) {
            pt_config config;
            pt_error error = PT_ERROR_NONE;
            failing_malloc_arm(n, false);
            int rc = parse(lists[list], &config, &error);
            hit = failing_malloc_disarm();
            if (hit) {
                assert_int_equal(rc, SQLITE_NOMEM);
                assert_null(error.message);
            } else {
                assert_int_equal(rc, list == 0 ? SQLITE_OK : SQLITE_ERROR);
            }
            pt_config_free(&config);
            pt_error_clear(&error);
            assert_int_equal(sqlite3_memory_used(), before);
        }
    }
}

/* --- Queues --- */

static int parse_queue(const char *table, const char *const *arguments, pt_config *config,
                       pt_error *error)
{
    const char *argv[3 + ARGUMENTS_MAX] = {"pt_queue", "main", table};
    int argc = 3;
    while (arguments[argc - 3] != NULL) {
        argv[argc] = arguments[argc - 3];
        argc++;
    }
    return pt_config_parse_queue(argc, argv, config, error);
}

static void assert_dequeue_count(const char *table, const char *const *arguments, int64_t expected)
{
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_queue(table, arguments, &config, &error), SQLITE_OK);
    assert_int_equal(config.max_dequeue_count, expected);
    assert_int_equal(config.column_count, 0);
    pt_config_free(&config);
}

static void queues_have_options_of_their_own(void **state)
{
    (void)state;
    assert_dequeue_count("jobs", ARGUMENTS(NULL), 5);
    assert_dequeue_count("jobs", ARGUMENTS("max_dequeue_count=3"), 3);
    assert_dequeue_count("jobs", ARGUMENTS("max_dequeue_count='0'"), 0);
    assert_dequeue_count("jobs-poison", ARGUMENTS(NULL), 0);
    assert_dequeue_count("JOBS-Poison", ARGUMENTS("MAX_DEQUEUE_COUNT = 7"), 7);
    assert_dequeue_count("jobs", ARGUMENTS("table='x-POISON'"), 0);
    assert_dequeue_count("jobs-poison", ARGUMENTS("table=x"), 5);
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(
        parse_queue("jobs",
                    ARGUMENTS("store='s'", "table=t", "limits=azure", "sync=off", "readonly=1"),
                    &config, &error),
        SQLITE_OK);
    assert_string_equal(config.store, "s");
    assert_string_equal(config.table, "t");
    assert_true(config.azure_limits && config.read_only && config.sync == PT_SYNC_OFF);
    pt_config_free(&config);
}

/* With a text that begins like this. */
static void assert_queue_refused(const char *argument, const char *text)
{
    pt_config config;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(parse_queue("jobs", ARGUMENTS(argument), &config, &error), SQLITE_ERROR);
    assert_memory_equal(error.message, text, strlen(text));
    assert_null(config.sql_name);
    pt_error_clear(&error);
}

static void what_queues_do_not_have_is_refused(void **state)
{
    (void)state;
    assert_queue_refused("batch=azure",
                         "unknown option \"batch\" in argument \"batch=azure\"; the options are ");
    assert_queue_refused("scan=deny",
                         "unknown option \"scan\" in argument \"scan=deny\"; the options are ");
    assert_queue_refused("\"Body\" TEXT",
                         "column \"Body\" in argument \"\"Body\" TEXT\"; leave it out: a queue "
                         "always has the same columns; the options are ");
    assert_queue_refused("max_dequeue_count=-1",
                         "unknown value \"-1\" in argument \"max_dequeue_count=-1\"; "
                         "max_dequeue_count is an integer from 0 on (0: a message may be "
                         "handed out any number of times)");
    assert_refused_with_options("max_dequeue_count=5",
                                "unknown option \"max_dequeue_count\" in argument "
                                "\"max_dequeue_count=5\"; the options are ");
}

/* --- Lists of options --- */

/* The error of one argument, from sqlite3_malloc; `config` is empty. */
static char *refusal(const pt_config_form *form, const char *argument)
{
    const char *const argv[] = {"module", "main", "Employee", argument};
    pt_config config = {0};
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_config_parse_form(form, 4, argv, &config, &error), SQLITE_ERROR);
    char *text = sqlite3_mprintf("%s", error.message);
    pt_error_clear(&error);
    return text;
}

/* Each option of the table is either listed and read, or unknown to the module. */
static int count_options(const pt_config_form *form)
{
    int count = 0;
    char *all = refusal(form, "nothing=1");
    char *list = strstr(all, "the options are ");
    assert_non_null(list);
    for (size_t i = 0; i < form->option_count; i++) {
        const char *name = form->options[i].name;
        char *argument = sqlite3_mprintf("%s=", name);
        char *answer = refusal(form, argument);
        bool known = strstr(answer, "no value in argument") == answer;
        assert_true(known || strstr(answer, "unknown option") == answer);
        assert_int_equal(known, pt_config_has(form, &form->options[i]));
        const char *listed = strstr(list, name);
        assert_int_equal(known, listed != NULL);
        count += known;
        sqlite3_free(answer);
        sqlite3_free(argument);
    }
    /* Nothing else is listed. */
    int words = 2;
    for (const char *comma = strchr(list, ','); comma != NULL; comma = strchr(comma + 1, ',')) {
        words++;
    }
    assert_non_null(strstr(list, " and "));
    assert_int_equal(words, count);
    sqlite3_free(all);
    return count;
}

static void lists_of_options_are_those_of_the_table(void **state)
{
    (void)state;
    assert_true(count_options(&pt_config_of_ptable) >= 9);
    assert_true(count_options(&pt_config_of_queue) >= 6);
}

/* The list of each module depends on the rows that are for it, wherever they stand. */
static void a_row_may_stand_anywhere(void **state)
{
    (void)state;
    static const pt_config_option mixed[] = {
        {.name = "first", .modules = PT_FOR_QUEUE, .kind = PT_OPTION_TEXT},
        {.name = "second", .modules = PT_FOR_PTABLE, .kind = PT_OPTION_TEXT},
        {.name = "third", .modules = PT_FOR_PTABLE | PT_FOR_QUEUE, .kind = PT_OPTION_TEXT},
        {.name = "fourth", .modules = PT_FOR_PTABLE, .kind = PT_OPTION_TEXT},
    };
    static const struct {
        unsigned module;
        const char *text;
    } cases[] = {
        {PT_FOR_PTABLE, "second, third and fourth"},
        {PT_FOR_QUEUE, "first and third"},
        {0, "first, second, third and fourth"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pt_config_form form = {.options = mixed,
                               .option_count = sizeof mixed / sizeof mixed[0],
                               .module = cases[i].module};
        char *expected = sqlite3_mprintf(
            "unknown option \"x\" in argument \"x=1\"; the options are %s", cases[i].text);
        char *answer = refusal(&form, "x=1");
        assert_string_equal(answer, expected);
        sqlite3_free(answer);
        sqlite3_free(expected);
    }
}

#define INDEX_ADVICE "; write index(Name, ...) or unique(Name, ...) with names of columns"

static void indexes_are_read(void **state)
{
    (void)state;
    static const char *const keys[] = {"Name", "PartitionKey\0Age\0Not declared",
                                       "Timestamp\0Name"};
    static const size_t sizes[] = {4, 29, 14};
    pt_config config;
    assert_accepted(ARGUMENTS("Name", "Age Int32", "unique(name)",
                              "INDEX ( partitionkey , AGE, \"Not declared\" ) ",
                              "index(timestamp,Name)"),
                    &config);
    assert_int_equal(config.column_count, 2);
    assert_int_equal(config.index_count, 3);
    for (int i = 0; i < config.index_count; i++) {
        pt_slice key = pt_index_definition_key(&config.indexes[i]);
        assert_int_equal(key.size, sizes[i]);
        assert_memory_equal(key.data, keys[i], key.size);
        assert_int_equal(config.indexes[i].unique, i == 0);
    }
    pt_config_free(&config);
}

static void wrong_indexes_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"index()", "a name is empty"},
        {"index(Name, )", "a name is empty"},
        {"index(Name", "a parenthesis is missing"},
        {"index(", "a parenthesis is missing"},
        {"index(Name, NAME)", "a column is listed twice"},
        {"unique(ETag)", "columns of ptable itself, other than PartitionKey, RowKey and Timestamp, "
                         "cannot be indexed"},
        {"index(\"a@odata.type\")", "no property can have this name"},
        {"index(a, b, c, d, e, f, g, h, i)", "it has more than 8 columns"},
        {"index(length(Name))",
         "a column is a name; one that is not just letters, digits and _ needs double quotes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text =
            sqlite3_mprintf("%s in argument \"%s\"" INDEX_ADVICE, cases[i][1], cases[i][0]);
        assert_refused(ARGUMENTS("Name", cases[i][0]), text);
        sqlite3_free(text);
    }
    static const char *const keys[] = {"index(PartitionKey)", "index(PartitionKey, RowKey)",
                                       "unique(partitionkey, rowkey)"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char *text = sqlite3_mprintf("the table is in the order of PartitionKey, RowKey anyway in "
                                     "argument \"%s\"; leave the index out or name other columns",
                                     keys[i]);
        assert_refused(ARGUMENTS("Name", keys[i]), text);
        sqlite3_free(text);
    }
    assert_refused(ARGUMENTS("Name", "index(Name)", "unique(Name)"),
                   "there is an index on these columns already in argument \"unique(Name)\"; leave "
                   "the index out or name other columns");
}

int main(void)
{
    failing_malloc_install();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_arguments_all_is_default),
        cmocka_unit_test(columns_have_names_and_types),
        cmocka_unit_test(options_are_read),
        cmocka_unit_test(keys_may_be_listed_first),
        cmocka_unit_test(misplaced_keys_are_refused),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(wrong_option_values_are_refused),
        cmocka_unit_test(constraints_are_refused_with_the_reason),
        cmocka_unit_test(keywords_may_be_quoted_names),
        cmocka_unit_test(indexes_are_read),
        cmocka_unit_test(wrong_indexes_are_refused),
        cmocka_unit_test(wrong_columns_are_refused),
        cmocka_unit_test(reserved_names_are_refused),
        cmocka_unit_test(the_number_of_columns_is_limited),
        cmocka_unit_test(nothing_is_left_when_memory_runs_out),
        cmocka_unit_test(queues_have_options_of_their_own),
        cmocka_unit_test(what_queues_do_not_have_is_refused),
        cmocka_unit_test(lists_of_options_are_those_of_the_table),
        cmocka_unit_test(a_row_may_stand_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
