#include "table/config.h"

#include "base/assert.h"
#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/edm.h"
#include "table/constraint_words.h"
#include "table/declared_text.h"

/* SQLite allows 2,000 columns; the rest is room for the columns every ptable has. */
enum { COLUMNS_MAX = 1900, DEFAULT_MAX_DEQUEUE_COUNT = 5 };

/* --- The options and columns of each module --- */

enum { FOR_BOTH = PT_FOR_PTABLE | PT_FOR_QUEUE };

static const pt_config_option options[] = {
    {.name = "store",
     .modules = FOR_BOTH,
     .kind = PT_OPTION_TEXT,
     .field = offsetof(pt_config, store)},
    {.name = "table",
     .modules = FOR_BOTH,
     .kind = PT_OPTION_TEXT,
     .field = offsetof(pt_config, table)},
    {.name = "limits",
     .modules = FOR_BOTH,
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_config, azure_limits),
     .choices = {"none", "azure"},
     .advice = "limits is none or azure"},
    {.name = "batch",
     .modules = PT_FOR_PTABLE,
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_config, azure_batch),
     .choices = {"any", "azure"},
     .advice = "batch is any or azure"},
    {.name = "sync",
     .modules = FOR_BOTH,
     .kind = PT_OPTION_CHOICE,
     .field = offsetof(pt_config, sync),
     .choices = {[PT_SYNC_OFF] = "off", [PT_SYNC_NORMAL] = "normal", [PT_SYNC_FULL] = "full"},
     .advice = "sync is full, normal or off"},
    {.name = "readonly",
     .modules = FOR_BOTH,
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_config, read_only),
     .choices = {"0", "1"},
     .advice = "readonly is 0 or 1"},
    {.name = "scan",
     .modules = PT_FOR_PTABLE,
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_config, deny_scan),
     .choices = {"allow", "deny"},
     .advice = "scan is allow or deny"},
    {.name = "expires",
     .modules = PT_FOR_PTABLE,
     .kind = PT_OPTION_TEXT,
     .field = offsetof(pt_config, expires)},
    {.name = "changes",
     .modules = PT_FOR_PTABLE,
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_config, changes),
     .choices = {"off", "on"},
     .advice = "changes is on or off"},
    {.name = "max_dequeue_count",
     .modules = PT_FOR_QUEUE,
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_config, max_dequeue_count),
     .most = INT64_MAX,
     .advice = "max_dequeue_count is an integer from 0 on (0: a message may be handed out any "
               "number of times)"},
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };

static const pt_tail_column ptable_tail[PT_TAIL_COUNT] = {
    [PT_TAIL_FILTER] = {.name = "Filter", .declared = " TEXT HIDDEN"},
    [PT_TAIL_PROPERTIES] = {.name = "Properties",
                            .declared = " TEXT",
                            .hidden_beside_columns = true},
    [PT_TAIL_TIMESTAMP] = {.name = "Timestamp", .declared = " TEXT" PT_TICKS_HIDDEN},
    [PT_TAIL_ETAG] = {.name = "ETag", .declared = " TEXT HIDDEN"},
    [PT_TAIL_WRITE_MODE] = {.name = "WriteMode", .declared = " TEXT HIDDEN"},
    [PT_TAIL_IF_MATCH] = {.name = "IfMatch", .declared = " TEXT HIDDEN"},
    [PT_TAIL_ENTITY_KEY] = {.name = "EntityKey", .declared = " BLOB HIDDEN PRIMARY KEY"},
};

const pt_config_form pt_config_of_ptable = {
    .options = options,
    .option_count = OPTION_COUNT,
    .module = PT_FOR_PTABLE,
    .tail = ptable_tail,
    .tail_count = PT_TAIL_COUNT,
    .takes_indexes = true,
};

const pt_config_form pt_config_of_queue = {
    .options = options,
    .option_count = OPTION_COUNT,
    .module = PT_FOR_QUEUE,
};

/* --- The reader of all arguments --- */

typedef struct config_reader {
    pt_config *config;
    const pt_config_form *form;
    pt_declared_text reading; /* of the current argument */
    size_t column_capacity;
    size_t index_capacity;
    int keys_listed; /* last key listed as a column: 1 PartitionKey, 2 RowKey */
    unsigned options_given;
} config_reader;

/* --- Options --- */

static void *field_of(const config_reader *r, const pt_config_option *option)
{
    return (char *)r->config + option->field;
}

static int choose(config_reader *r, const pt_config_option *option, const char *value, int *chosen)
{
    for (int i = 0; i < 3 && option->choices[i] != NULL; i++) {
        if (sqlite3_stricmp(value, option->choices[i]) == 0) {
            *chosen = i;
            return SQLITE_OK;
        }
    }
    return pt_declared_refuse(&r->reading, option->advice, "unknown value \"%s\"", value);
}

static int set_flag(config_reader *r, const pt_config_option *option, const char *value)
{
    int chosen = 0;
    int rc = choose(r, option, value, &chosen);
    *(bool *)field_of(r, option) = chosen == 1;
    return rc;
}

static int set_choice(config_reader *r, const pt_config_option *option, const char *value)
{
    int chosen = 0;
    int rc = choose(r, option, value, &chosen);
    *(unsigned *)field_of(r, option) = (unsigned)chosen;
    return rc;
}

static int set_text(config_reader *r, const pt_config_option *option, const char *value)
{
    if (*value == 0) {
        return pt_declared_refuse(&r->reading, "give a value or leave the option out",
                                  "empty value");
    }
    return pt_declared_copy(&r->reading, pt_slice_text(value), field_of(r, option));
}

static int set_count(config_reader *r, const pt_config_option *option, const char *value)
{
    int64_t count;
    if (!pt_integer_parse(pt_slice_text(value), &count) || count < option->least ||
        count > option->most) {
        return pt_declared_refuse(&r->reading, option->advice, "unknown value \"%s\"", value);
    }
    *(int64_t *)field_of(r, option) = count;
    return SQLITE_OK;
}

static int set_option(config_reader *r, const pt_config_option *option, const char *value)
{
    switch (option->kind) {
    case PT_OPTION_TEXT:
        return set_text(r, option, value);
    case PT_OPTION_FLAG:
        return set_flag(r, option, value);
    case PT_OPTION_CHOICE:
        return set_choice(r, option, value);
    case PT_OPTION_COUNT:
    default:
        return set_count(r, option, value);
    }
}

static int read_value(config_reader *r, const char *cursor, char **value)
{
    if (*cursor == '\'' || *cursor == '"') {
        int rc = pt_declared_read_quoted(&r->reading, &cursor, value);
        cursor = pt_declared_skip_blanks(cursor);
        if (rc == SQLITE_OK && *cursor != 0) {
            return pt_declared_refuse(
                &r->reading, "give one option in each argument, with commas between arguments",
                "unexpected \"%s\" after the value", cursor);
        }
        return rc;
    }
    pt_slice bare = pt_without_trailing_blanks(pt_slice_text(cursor));
    if (bare.size == 0) {
        return pt_declared_refuse(&r->reading, "give a value or leave the option out", "no value");
    }
    if (strcspn(cursor, " \t\n\v\f\r'\"`") < bare.size) {
        return pt_declared_refuse(&r->reading, "put the value in quotes, or a comma after it",
                                  "blank or quote inside a bare value");
    }
    return pt_declared_copy(&r->reading, bare, value);
}

/* Refuses a name that the module has no use for. The advice ends with the options that it has. */
static int refuse_with_options(config_reader *r, const char *kind, const char *name,
                               const char *advice)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    const char *before = "the options are ";
    const char *last = NULL;
    sqlite3_str_appendall(text, advice);
    for (size_t i = 0; i < r->form->option_count; i++) {
        if (!pt_config_has(r->form, &r->form->options[i])) {
            continue;
        }
        if (last != NULL) {
            sqlite3_str_appendf(text, "%s%s", before, last);
            before = ", ";
        }
        last = r->form->options[i].name;
    }
    sqlite3_str_appendf(text, " and %s", last);
    char *whole = sqlite3_str_finish(text);
    int rc = whole != NULL ? pt_declared_refuse(&r->reading, whole, "%s \"%s\"", kind, name)
                           : pt_error_nomem(r->reading.error);
    sqlite3_free(whole);
    return rc;
}

static int read_option(config_reader *r, const char *name, const char *value_text)
{
    const pt_config_form *form = r->form;
    size_t i = 0;
    while (i < form->option_count && (!pt_config_has(form, &form->options[i]) ||
                                      sqlite3_stricmp(name, form->options[i].name) != 0)) {
        i++;
    }
    if (i == form->option_count) {
        return refuse_with_options(r, "unknown option", name, "");
    }
    if ((r->options_given & 1u << i) != 0) {
        return pt_declared_refuse(&r->reading, "give each option once", "second option \"%s\"",
                                  form->options[i].name);
    }
    r->options_given |= 1u << i;
    char *value = NULL;
    int rc = read_value(r, value_text, &value);
    if (rc == SQLITE_OK) {
        rc = set_option(r, &form->options[i], value);
    }
    sqlite3_free(value);
    return rc;
}

/* --- Columns --- */

static int read_type(config_reader *r, const char *text, pt_type *type)
{
    *type = PT_NONE;
    const pt_constraint_words *constraint = pt_constraint_find(text);
    if (constraint != NULL) {
        return pt_declared_refuse(&r->reading, constraint->advice, "constraint %s",
                                  constraint->shown);
    }
    pt_slice name = pt_without_trailing_blanks(pt_slice_text(text));
    if (name.size == 0) {
        return SQLITE_OK;
    }
    *type = pt_type_from_name(name);
    if (*type == PT_NONE) {
        return pt_declared_refuse(
            &r->reading,
            "the types are String, Int32, Int64, Double, Boolean, DateTime, Guid and "
            "Binary (or TEXT, INTEGER, REAL, BLOB); a column without a type keeps the "
            "type of each value",
            "unknown type \"%.*s\"", (int)name.size, (const char *)name.data);
    }
    return SQLITE_OK;
}

/* PartitionKey (key 1) or RowKey (2). They may be listed first, as documentation: every table has
 * them. */
static int read_key(config_reader *r, int key, pt_type type)
{
    const char *name = key == 1 ? "PartitionKey" : "RowKey";
    if (r->config->column_count > 0 || r->keys_listed >= key) {
        return pt_declared_refuse(
            &r->reading,
            "leave it out: PartitionKey and RowKey are always the first columns, in this "
            "order",
            "misplaced column \"%s\"", name);
    }
    if (type != PT_NONE && type != PT_STRING) {
        return pt_declared_refuse(&r->reading,
                                  "leave the type out: PartitionKey and RowKey are String",
                                  "type %s of \"%s\"", pt_type_name(type), name);
    }
    r->keys_listed = key;
    return SQLITE_OK;
}

static int check_declared_name(config_reader *r, const char *name)
{
    if (pt_is_annotation_name(pt_slice_text(name))) {
        return pt_declared_refuse(
            &r->reading, "leave it out: types are shown by Properties, and kept without a column",
            "column name \"%s\", which is the name of an OData annotation", name);
    }
    if (pt_declaration_reserves(r->form, name)) {
        return pt_declared_refuse(
            &r->reading,
            "leave it out: the name is kept for a column of ptable itself; such a "
            "property is reachable through Properties",
            "reserved column name \"%s\"", name);
    }
    for (int i = 0; i < r->config->column_count; i++) {
        const char *other = r->config->columns[i].name;
        if (sqlite3_stricmp(name, other) == 0) {
            return pt_declared_refuse(
                &r->reading,
                "column names must differ in more than case; a second such property is "
                "reachable through Properties",
                "column \"%s\" beside \"%s\"", name, other);
        }
    }
    if (r->config->column_count == COLUMNS_MAX) {
        return pt_declared_refuse(
            &r->reading, "declare 1900 columns at most; other properties are in Properties",
            "too many columns with \"%s\"", name);
    }
    return SQLITE_OK;
}

static int add_declared_column(config_reader *r, const char *name, pt_type type)
{
    pt_config *config = r->config;
    if (!pt_array_reserve(&config->columns, &r->column_capacity, (size_t)config->column_count + 1,
                          sizeof *config->columns)) {
        return pt_error_nomem(r->reading.error);
    }
    pt_column column = {.name_size = strlen(name), .type = type};
    int rc = pt_declared_copy(&r->reading, pt_slice_text(name), &column.name);
    if (rc == SQLITE_OK) {
        config->columns[config->column_count++] = column;
    }
    return rc;
}

static int read_column(config_reader *r, const char *name, const char *type_text)
{
    pt_type type;
    int rc = read_type(r, type_text, &type);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int is_row_key = sqlite3_stricmp(name, "RowKey") == 0;
    if (is_row_key || sqlite3_stricmp(name, "PartitionKey") == 0) {
        return read_key(r, 1 + is_row_key, type);
    }
    rc = check_declared_name(r, name);
    return rc == SQLITE_OK ? add_declared_column(r, name, type) : rc;
}

/* --- Indexes --- */

#define INDEX_ADVICE "write index(Name, ...) or unique(Name, ...) with names of columns"

/* Reads the names up to the last parenthesis. `list` is after the first one. */
static int read_index_columns(config_reader *r, const char *list)
{
    pt_config *config = r->config;
    pt_index_definition *index = &config->indexes[config->index_count - 1];
    pt_slice text = pt_without_trailing_blanks(pt_slice_text(list));
    const char *wrong = "a parenthesis is missing";
    if (text.size != 0 && text.data[text.size - 1] == ')') {
        text.size--;
        wrong = pt_index_definition_add_list(index, text, config->columns, config->column_count);
    }
    if (index->names.failed) {
        return pt_error_nomem(r->reading.error);
    }
    return wrong == NULL ? SQLITE_OK : pt_declared_refuse(&r->reading, INDEX_ADVICE, "%s", wrong);
}

static int check_index(config_reader *r)
{
    const pt_config *config = r->config;
    const pt_index_definition *index = &config->indexes[config->index_count - 1];
    const char *wrong = pt_index_definition_problem(index);
    for (int i = 0; wrong == NULL && i + 1 < config->index_count; i++) {
        if (pt_slice_equal(pt_index_definition_key(index),
                           pt_index_definition_key(&config->indexes[i]))) {
            wrong = "there is an index on these columns already";
        }
    }
    return wrong == NULL
               ? SQLITE_OK
               : pt_declared_refuse(&r->reading, "leave the index out or name other columns", "%s",
                                    wrong);
}

static int read_index(config_reader *r, bool unique, const char *columns)
{
    pt_config *config = r->config;
    if (!pt_array_reserve(&config->indexes, &r->index_capacity, (size_t)config->index_count + 1,
                          sizeof *config->indexes)) {
        return pt_error_nomem(r->reading.error);
    }
    config->indexes[config->index_count++] = (pt_index_definition){.unique = unique};
    return read_index_columns(r, columns) == SQLITE_OK ? check_index(r) : r->reading.error->rc;
}

static bool is_index(const config_reader *r, const char *name, const char *rest)
{
    return r->form->takes_indexes && *rest == '(' &&
           (sqlite3_stricmp(name, "index") == 0 || sqlite3_stricmp(name, "unique") == 0);
}

/* --- Arguments --- */

static int read_named(config_reader *r, const char *name, bool quoted, const char *after_name)
{
    if (r->form->tail_count == 0 && *pt_declared_skip_blanks(after_name) != '=') {
        return refuse_with_options(r, "column", name,
                                   "leave it out: a queue always has the same columns; ");
    }
    PT_ASSERT(name != NULL);
    const char *rest = pt_declared_skip_blanks(after_name);
    if (!quoted && is_index(r, name, rest)) {
        return read_index(r, sqlite3_stricmp(name, "unique") == 0, rest + 1);
    }
    const pt_constraint_words *constraint = pt_constraint_of_word(name, strlen(name));
    if (!quoted && constraint != NULL && constraint->of_table) {
        return pt_declared_refuse(&r->reading, constraint->advice, "constraint %s",
                                  constraint->shown);
    }
    if (*rest == '=') {
        return read_option(r, name, pt_declared_skip_blanks(rest + 1));
    }
    if (rest == after_name && *rest != 0) {
        return pt_declared_refuse(
            &r->reading,
            "put a blank before a type, and quotes around a name that is not just letters, "
            "digits and _",
            "unexpected \"%s\" after the name", rest);
    }
    return read_column(r, name, rest);
}

static int read_config_argument(config_reader *r, const char *argument)
{
    r->reading.argument = argument;
    const char *cursor = pt_declared_skip_blanks(argument);
    if (*cursor == 0) {
        return pt_error_set(r->reading.error, SQLITE_ERROR,
                            "empty argument; remove the comma before or after it");
    }
    bool quoted = pt_declared_closing_quote(*cursor) != 0;
    char *name = NULL;
    int rc = pt_declared_read_name(&r->reading, &cursor, &name);
    if (rc == SQLITE_OK) {
        rc = read_named(r, name, quoted, cursor);
    }
    sqlite3_free(name);
    return rc;
}

/* Finds the names of the rowid that no declared column has. */
static void name_row_ids(pt_config *config)
{
    static const char *const names[PT_ROW_IDS_MAX] = {"_rowid_", "rowid", "oid"};
    for (int i = 0; i < PT_ROW_IDS_MAX; i++) {
        int column = 0;
        while (column < config->column_count &&
               sqlite3_stricmp(names[i], config->columns[column].name) != 0) {
            column++;
        }
        if (column == config->column_count) {
            config->row_ids[config->row_id_count++] = names[i];
        }
    }
}

int pt_config_parse_form(const pt_config_form *form, int argc, const char *const *argv,
                         pt_config *config, pt_error *error)
{
    config_reader r = {.config = config, .form = form, .reading = {.error = error}};
    int rc = pt_declared_copy(&r.reading, pt_slice_text(argv[2]), &config->sql_name);
    for (int i = 3; i < argc && rc == SQLITE_OK; i++) {
        rc = read_config_argument(&r, argv[i]);
    }
    config->table_given = config->table != NULL;
    if (rc == SQLITE_OK && !config->table_given) {
        rc = pt_declared_copy(&r.reading, pt_slice_text(config->sql_name), &config->table);
    }
    if (rc != SQLITE_OK) {
        pt_config_free(config);
        return rc;
    }
    name_row_ids(config);
    return rc;
}

int pt_config_parse(int argc, const char *const *argv, pt_config *config, pt_error *error)
{
    *config = (pt_config){.sync = PT_SYNC_FULL};
    return pt_config_parse_form(&pt_config_of_ptable, argc, argv, config, error);
}

/* A poison queue has no poison queue of its own: its messages stay, however often they are read. */
static bool is_poison(const char *table)
{
    size_t length = strlen(table);
    size_t ending = strlen(PT_POISON_ENDING);
    return length >= ending && sqlite3_stricmp(table + (length - ending), PT_POISON_ENDING) == 0;
}

int pt_config_parse_queue(int argc, const char *const *argv, pt_config *config, pt_error *error)
{
    *config = (pt_config){.sync = PT_SYNC_FULL, .max_dequeue_count = -1};
    int rc = pt_config_parse_form(&pt_config_of_queue, argc, argv, config, error);
    if (rc == SQLITE_OK && config->max_dequeue_count < 0) {
        config->max_dequeue_count = is_poison(config->table) ? 0 : DEFAULT_MAX_DEQUEUE_COUNT;
    }
    return rc;
}

void pt_config_free(pt_config *config)
{
    for (int i = 0; i < config->column_count; i++) {
        sqlite3_free(config->columns[i].name);
    }
    sqlite3_free(config->columns);
    for (int i = 0; i < config->index_count; i++) {
        pt_index_definition_free(&config->indexes[i]);
    }
    sqlite3_free(config->indexes);
    sqlite3_free(config->sql_name);
    sqlite3_free(config->table);
    sqlite3_free(config->store);
    sqlite3_free(config->expires);
    *config = (pt_config){0};
}

/* --- Declaration --- */

bool pt_declaration_reserves(const pt_config_form *form, const char *name)
{
    for (int i = 0; i < form->tail_count; i++) {
        if (sqlite3_stricmp(name, form->tail[i].name) == 0) {
            return true;
        }
    }
    return false;
}

char *pt_declaration_text(const pt_config_form *form, const pt_config *config)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL");
    for (int i = 0; i < config->column_count; i++) {
        const pt_column *column = &config->columns[i];
        sqlite3_str_appendf(text, ", \"%w\"%s", column->name,
                            pt_column_declared_type(column->type));
    }
    for (int i = 0; i < form->tail_count; i++) {
        const pt_tail_column *column = &form->tail[i];
        bool hidden = column->hidden_beside_columns && config->column_count > 0;
        sqlite3_str_appendf(text, ", %s%s%s", column->name, column->declared,
                            hidden ? " HIDDEN" : "");
    }
    for (int i = 0; i < config->row_id_count; i++) {
        sqlite3_str_appendf(text, ", %s TEXT HIDDEN", config->row_ids[i]);
    }
    sqlite3_str_appendall(text, ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}
