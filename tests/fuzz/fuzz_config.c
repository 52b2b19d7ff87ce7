/*
 * Arguments of CREATE VIRTUAL TABLE: refused with a text and nothing left, or else a configuration
 * that comes again from arguments which say the same in full, and whose declaration SQLite takes
 * with the columns it names. The input: a byte that chooses the module, and the arguments with
 * NULs between.
 */
#include <sqlite3.h>

#include "functions/functions.h"
#include "fuzz/fuzz.h"
#include "table/config.h"

enum { ARGUMENTS_MAX = 24, FIRST_ARGUMENT = 3 };

typedef int parser(int argc, const char *const *argv, pt_config *config, pt_error *error);

/* Texts as xCreate gets them. */
typedef struct arguments {
    int count;
    char *texts[FIRST_ARGUMENT + 1024];
} arguments;

static void add_argument(arguments *list, char *text)
{
    must_hold(text != NULL, "there is memory");
    list->texts[list->count++] = text;
}

static void begin_arguments(arguments *list)
{
    list->count = 0;
    add_argument(list, sqlite3_mprintf("ptable"));
    add_argument(list, sqlite3_mprintf("main"));
    add_argument(list, sqlite3_mprintf("Employee"));
}

static void free_arguments(arguments *list)
{
    for (int i = 0; i < list->count; i++) {
        sqlite3_free(list->texts[i]);
    }
}

static void split_arguments(fuzz_input *input, arguments *list)
{
    begin_arguments(list);
    while (input->left != 0 && list->count < FIRST_ARGUMENT + ARGUMENTS_MAX) {
        const uint8_t *end = memchr(input->at, 0, input->left);
        size_t size = end != NULL ? (size_t)(end - input->at) : input->left;
        pt_slice text = take_bytes(input, size);
        take_byte(input);
        add_argument(list, sqlite3_mprintf("%.*s", (int)text.size, (const char *)text.data));
    }
}

/* --- The same in full --- */

static void write_columns(const pt_config *config, arguments *list)
{
    for (int i = 0; i < config->column_count; i++) {
        add_argument(list, sqlite3_mprintf(" \"%w\"  %s ", config->columns[i].name,
                                           pt_type_name(config->columns[i].type)));
    }
}

/* The name in the store may be that of the virtual table. */
static void write_text(const pt_config *config, const char *name, const char *text, arguments *list)
{
    if (text != NULL && (text != config->table || config->table_given)) {
        add_argument(list, sqlite3_mprintf("%s = %Q ", name, text));
    }
}

static const void *option_field(const pt_config *config, const pt_config_option *option)
{
    return (const char *)config + option->field;
}

static void write_options(const pt_config *config, const pt_config_form *form, arguments *list)
{
    for (size_t i = 0; i < form->option_count; i++) {
        const pt_config_option *option = &form->options[i];
        const void *field = option_field(config, option);
        if (!pt_config_has(form, option)) {
            continue;
        }
        switch (option->kind) {
        case PT_OPTION_TEXT:
            write_text(config, option->name, *(char *const *)field, list);
            break;
        case PT_OPTION_FLAG:
            add_argument(list, sqlite3_mprintf("%s=%s", option->name,
                                               option->choices[*(const bool *)field]));
            break;
        case PT_OPTION_CHOICE:
            add_argument(list, sqlite3_mprintf("%s='%s'", option->name,
                                               option->choices[*(const unsigned *)field]));
            break;
        case PT_OPTION_COUNT:
            add_argument(list, sqlite3_mprintf("%s= \"%lld\"", option->name,
                                               (long long)*(const int64_t *)field));
            break;
        }
    }
}

static bool same_text(const char *a, const char *b)
{
    return (a == NULL) == (b == NULL) && (a == NULL || strcmp(a, b) == 0);
}

/* Fields of other modules keep their defaults. */
static bool same_option(const pt_config_option *option, const pt_config *a, const pt_config *b)
{
    const void *left = option_field(a, option);
    const void *right = option_field(b, option);
    switch (option->kind) {
    case PT_OPTION_TEXT:
        return same_text(*(char *const *)left, *(char *const *)right);
    case PT_OPTION_FLAG:
        return *(const bool *)left == *(const bool *)right;
    case PT_OPTION_CHOICE:
        return *(const unsigned *)left == *(const unsigned *)right;
    case PT_OPTION_COUNT:
    default:
        return *(const int64_t *)left == *(const int64_t *)right;
    }
}

static bool same_config(const pt_config *a, const pt_config *b)
{
    const pt_config_form *form = &pt_config_of_ptable;
    bool same = same_text(a->sql_name, b->sql_name) && a->table_given == b->table_given &&
                a->column_count == b->column_count;
    for (size_t i = 0; same && i < form->option_count; i++) {
        same = same_option(&form->options[i], a, b);
    }
    for (int i = 0; same && i < a->column_count; i++) {
        same = same_text(a->columns[i].name, b->columns[i].name) &&
               a->columns[i].type == b->columns[i].type &&
               a->columns[i].name_size == strlen(a->columns[i].name);
    }
    return same;
}

static void check_full(parser *parse, bool queue, const pt_config *config)
{
    static arguments list;
    pt_config again = {0};
    pt_error error = PT_ERROR_NONE;
    begin_arguments(&list);
    write_columns(config, &list);
    write_options(config, queue ? &pt_config_of_queue : &pt_config_of_ptable, &list);
    must_hold(parse(list.count, (const char *const *)list.texts, &again, &error) == SQLITE_OK,
              "a configuration written in full is understood");
    must_hold(same_config(config, &again), "a configuration written in full is the same");
    pt_config_free(&again);
    free_arguments(&list);
}

/* --- The declaration --- */

/* The declaration names no table that could be there. SQLite finds the columns in it. */
static void check_declaration(const pt_config *config)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *select = NULL;
    char *declaration = pt_declaration_text(&pt_config_of_ptable, config);
    must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
    pt_error error = PT_ERROR_NONE;
    must_hold(pt_functions_register(db, &error) == SQLITE_OK, "the collation is registered");
    must_hold(sqlite3_exec(db, declaration, NULL, NULL, NULL) == SQLITE_OK,
              "SQLite takes the declaration");
    char *sql = NULL;
    must_hold(sqlite3_prepare_v2(db, "SELECT 'SELECT * FROM \"' || name || '\"' FROM sqlite_schema",
                                 -1, &select, NULL) == SQLITE_OK &&
                  sqlite3_step(select) == SQLITE_ROW,
              "the declaration makes a table");
    sql = sqlite3_mprintf("%s", sqlite3_column_text(select, 0));
    sqlite3_finalize(select);
    must_hold(sqlite3_prepare_v2(db, sql, -1, &select, NULL) == SQLITE_OK, "it can be read");
    must_hold(sqlite3_column_count(select) ==
                  PT_COLUMN_FIRST + config->column_count + PT_TAIL_COUNT + config->row_id_count,
              "it has all columns");
    for (int i = 0; i < config->column_count; i++) {
        must_hold(
            same_text(sqlite3_column_name(select, PT_COLUMN_FIRST + i), config->columns[i].name),
            "it has the columns' names");
    }
    sqlite3_finalize(select);
    sqlite3_free(sql);
    sqlite3_free(declaration);
    sqlite3_close(db);
}

static void check_refused(const pt_config *config, const pt_error *error)
{
    must_hold(error->rc == SQLITE_ERROR && error->message != NULL, "what is wrong is said");
    must_hold(config->sql_name == NULL && config->table == NULL && config->store == NULL &&
                  config->columns == NULL && config->column_count == 0,
              "nothing is left of what is refused");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arguments list;
    fuzz_input input = fuzz_input_of(data, size);
    bool queue = take_byte(&input) == 'q';
    parser *parse = queue ? pt_config_parse_queue : pt_config_parse;
    split_arguments(&input, &list);
    pt_config config = {0};
    pt_error error = PT_ERROR_NONE;
    if (parse(list.count, (const char *const *)list.texts, &config, &error) == SQLITE_OK) {
        must_hold(config.table != NULL && *config.table != 0, "a table has a name in the store");
        must_hold(!queue || (config.column_count == 0 && config.max_dequeue_count >= 0),
                  "a queue has no columns and a limit");
        check_full(parse, queue, &config);
        check_declaration(&config);
    } else {
        check_refused(&config, &error);
    }
    pt_error_clear(&error);
    pt_config_free(&config);
    free_arguments(&list);
    must_hold(sqlite3_memory_used() == 0, "no memory is left");
    return 0;
}
