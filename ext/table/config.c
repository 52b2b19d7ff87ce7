#include "table/config.h"

#include "base/number.h"
#include "base/sqlite.h"
#include "base/text.h"
#include "entity/odata.h"
#include "table/argument.h"

/* SQLite allows 2,000 columns; the rest is room for the columns every ptable has. */
enum { COLUMNS_MAX = 1900, FIRST_CAPACITY = 16, DEFAULT_MAX_DEQUEUE_COUNT = 5 };

/* Which modules have an option. */
enum { OF_PTABLE = 1, OF_QUEUE = 2, OF_BOTH = OF_PTABLE | OF_QUEUE };

typedef struct reader {
    pt_config *config;
    unsigned module;           /* OF_PTABLE or OF_QUEUE */
    pt_config_reading reading; /* of the current argument */
    int column_capacity;
    int keys_listed; /* 1: PartitionKey, 2: RowKey was the last */
    unsigned options_given;
} reader;

/* --- Options --- */

static int choose(reader *r, const char *value, const char *const *choices, int count,
                  const char *advice, int *chosen)
{
    for (int i = 0; i < count; i++) {
        if (sqlite3_stricmp(value, choices[i]) == 0) {
            *chosen = i;
            return SQLITE_OK;
        }
    }
    return pt_config_refuse(&r->reading, advice, "unknown value \"%s\"", value);
}

static int set_text(reader *r, const char *value, char **text)
{
    if (*value == 0) {
        return pt_config_refuse(&r->reading, "give a value or leave the option out", "empty value");
    }
    return pt_config_copy(&r->reading, pt_slice_text(value), text);
}

static int set_store(reader *r, const char *value)
{
    return set_text(r, value, &r->config->store);
}

static int set_table(reader *r, const char *value)
{
    r->config->table_given = true;
    return set_text(r, value, &r->config->table);
}

static int set_sync(reader *r, const char *value)
{
    static const char *const choices[] = {
        [PT_SYNC_OFF] = "off", [PT_SYNC_NORMAL] = "normal", [PT_SYNC_FULL] = "full"};
    int chosen = PT_SYNC_FULL;
    int rc = choose(r, value, choices, 3, "sync is full, normal or off", &chosen);
    r->config->sync = (pt_sync)chosen;
    return rc;
}

static int set_read_only(reader *r, const char *value)
{
    static const char *const choices[] = {"0", "1"};
    int chosen = 0;
    int rc = choose(r, value, choices, 2, "readonly is 0 or 1", &chosen);
    r->config->read_only = chosen == 1;
    return rc;
}

static int set_scan(reader *r, const char *value)
{
    static const char *const choices[] = {"allow", "deny"};
    int chosen = 0;
    int rc = choose(r, value, choices, 2, "scan is allow or deny", &chosen);
    r->config->deny_scan = chosen == 1;
    return rc;
}

static int set_limits(reader *r, const char *value)
{
    static const char *const choices[] = {"none", "azure"};
    int chosen = 0;
    int rc = choose(r, value, choices, 2, "limits is none or azure", &chosen);
    r->config->azure_limits = chosen == 1;
    return rc;
}

static int set_batch(reader *r, const char *value)
{
    static const char *const choices[] = {"any", "azure"};
    int chosen = 0;
    int rc = choose(r, value, choices, 2, "batch is any or azure", &chosen);
    r->config->azure_batch = chosen == 1;
    return rc;
}

static int set_max_dequeue_count(reader *r, const char *value)
{
    int64_t count;
    if (!pt_integer_parse(pt_slice_text(value), &count) || count < 0) {
        return pt_config_refuse(&r->reading,
                                "max_dequeue_count is an integer from 0 on (0: messages are handed "
                                "out as often as it takes)",
                                "unknown value \"%s\"", value);
    }
    r->config->max_dequeue_count = count;
    return SQLITE_OK;
}

static const struct option {
    const char *name;
    int (*set)(reader *r, const char *value);
    unsigned modules;
} options[] = {
    {"store", set_store, OF_BOTH},   {"table", set_table, OF_BOTH},
    {"limits", set_limits, OF_BOTH}, {"batch", set_batch, OF_PTABLE},
    {"sync", set_sync, OF_BOTH},     {"readonly", set_read_only, OF_BOTH},
    {"scan", set_scan, OF_PTABLE},   {"max_dequeue_count", set_max_dequeue_count, OF_QUEUE},
};

#define PTABLE_OPTIONS "store, table, limits, batch, sync, readonly and scan"
#define QUEUE_OPTIONS "store, table, limits, sync, readonly and max_dequeue_count"

static const char *option_list(const reader *r)
{
    return r->module == OF_QUEUE ? "the options are " QUEUE_OPTIONS
                                 : "the options are " PTABLE_OPTIONS;
}

static int read_value(reader *r, const char *cursor, char **value)
{
    if (*cursor == '\'' || *cursor == '"') {
        int rc = pt_config_read_quoted(&r->reading, &cursor, value);
        cursor = pt_config_skip_blanks(cursor);
        if (rc == SQLITE_OK && *cursor != 0) {
            return pt_config_refuse(
                &r->reading, "give one option in each argument, with commas between arguments",
                "unexpected \"%s\" behind the value", cursor);
        }
        return rc;
    }
    pt_slice bare = pt_config_trimmed(cursor);
    if (bare.size == 0) {
        return pt_config_refuse(&r->reading, "give a value or leave the option out", "no value");
    }
    if (strcspn(cursor, " \t\n\v\f\r'\"`") < bare.size) {
        return pt_config_refuse(&r->reading, "put the value in quotes, or a comma behind it",
                                "blank or quote inside a bare value");
    }
    return pt_config_copy(&r->reading, bare, value);
}

static int read_option(reader *r, const char *name, const char *value_text)
{
    size_t i = 0;
    while (i < sizeof options / sizeof *options &&
           ((options[i].modules & r->module) == 0 || sqlite3_stricmp(name, options[i].name) != 0)) {
        i++;
    }
    if (i == sizeof options / sizeof *options) {
        return pt_config_refuse(&r->reading, option_list(r), "unknown option \"%s\"", name);
    }
    if ((r->options_given & 1u << i) != 0) {
        return pt_config_refuse(&r->reading, "give each option once", "second option \"%s\"",
                                options[i].name);
    }
    r->options_given |= 1u << i;
    char *value = NULL;
    int rc = read_value(r, value_text, &value);
    if (rc == SQLITE_OK) {
        rc = options[i].set(r, value);
    }
    sqlite3_free(value);
    return rc;
}

/* --- Columns --- */

static const struct constraint {
    const char *word;  /* it begins with */
    const char *shown; /* in messages */
    bool of_table;     /* may stand where a column's name does */
    const char *advice;
} constraints[] = {
    {"NOT", "NOT NULL", false, "leave it out: any entity may lack any property"},
    {"NULL", "NULL", false, "leave it out: any entity may lack any property"},
    {"DEFAULT", "DEFAULT", false, "leave it out: a property that is not given is absent (NULL)"},
    {"PRIMARY", "PRIMARY KEY", true, "leave it out: the key is always PartitionKey and RowKey"},
    {"UNIQUE", "UNIQUE", true, "leave it out: only PartitionKey and RowKey together are unique"},
    {"CHECK", "CHECK", true, "leave it out: values are checked against the column's type only"},
    {"COLLATE", "COLLATE", false, "leave it out and write it in the query: columns are BINARY"},
    {"REFERENCES", "REFERENCES", false, "leave it out: virtual tables have no foreign keys"},
    {"FOREIGN", "FOREIGN KEY", true, "leave it out: virtual tables have no foreign keys"},
    {"GENERATED", "GENERATED", false,
     "leave it out and compute it in a view: virtual tables have no generated columns"},
    {"AS", "AS", false,
     "leave it out and compute it in a view: virtual tables have no generated columns"},
    {"CONSTRAINT", "CONSTRAINT", true, "leave it out: there is no constraint but the key"},
};

static const struct constraint *constraint_of_word(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof constraints / sizeof *constraints; i++) {
        if (pt_is_word(pt_slice_of(word, length), constraints[i].word)) {
            return &constraints[i];
        }
    }
    return NULL;
}

/* The first constraint among the words behind a column's name, or NULL. */
static const struct constraint *find_constraint(const char *text)
{
    while (*text != 0) {
        size_t length = pt_config_name_length(text);
        const struct constraint *found = constraint_of_word(text, length);
        if (found != NULL) {
            return found;
        }
        text += length != 0 ? length : 1;
    }
    return NULL;
}

static int read_type(reader *r, const char *text, pt_type *type)
{
    *type = PT_NONE;
    const struct constraint *constraint = find_constraint(text);
    if (constraint != NULL) {
        return pt_config_refuse(&r->reading, constraint->advice, "constraint %s",
                                constraint->shown);
    }
    pt_slice name = pt_config_trimmed(text);
    if (name.size == 0) {
        return SQLITE_OK;
    }
    *type = pt_type_from_name(name);
    if (*type == PT_NONE) {
        return pt_config_refuse(
            &r->reading,
            "the types are String, Int32, Int64, Double, Boolean, DateTime, Guid and "
            "Binary (or TEXT, INTEGER, REAL, BLOB); a column without a type keeps the "
            "type of each value",
            "unknown type \"%.*s\"", (int)name.size, (const char *)name.data);
    }
    return SQLITE_OK;
}

/* PartitionKey (1) or RowKey (2), which may be listed but are there anyway. */
static int read_key(reader *r, int key, pt_type type)
{
    const char *name = key == 1 ? "PartitionKey" : "RowKey";
    if (r->config->column_count > 0 || r->keys_listed >= key) {
        return pt_config_refuse(
            &r->reading,
            "leave it out: PartitionKey and RowKey are always the first columns, in this "
            "order",
            "misplaced column \"%s\"", name);
    }
    if (type != PT_NONE && type != PT_STRING) {
        return pt_config_refuse(&r->reading,
                                "leave the type out: PartitionKey and RowKey are String",
                                "type %s of \"%s\"", pt_type_name(type), name);
    }
    r->keys_listed = key;
    return SQLITE_OK;
}

/* Properties shows such names as annotations of others, so they cannot be properties. */
static bool is_annotation(const char *name)
{
    pt_slice whole = pt_slice_text(name);
    return pt_slice_has_prefix(whole, pt_slice_text(PT_ODATA_CONTROL_PREFIX)) ||
           pt_slice_has_suffix(whole, pt_slice_text(PT_ODATA_TYPE_SUFFIX));
}

static int check_name(reader *r, const char *name)
{
    if (is_annotation(name)) {
        return pt_config_refuse(
            &r->reading, "leave it out: types are shown by Properties, and kept without a column",
            "column name \"%s\", which is the name of an OData annotation", name);
    }
    if (pt_declaration_reserves(name)) {
        return pt_config_refuse(
            &r->reading,
            "leave it out: the name is kept for a column of ptable itself; such a "
            "property is reachable through Properties",
            "reserved column name \"%s\"", name);
    }
    for (int i = 0; i < r->config->column_count; i++) {
        const char *other = r->config->columns[i].name;
        if (sqlite3_stricmp(name, other) == 0) {
            return pt_config_refuse(
                &r->reading,
                "column names must differ in more than case; a second such property is "
                "reachable through Properties",
                "column \"%s\" beside \"%s\"", name, other);
        }
    }
    if (r->config->column_count == COLUMNS_MAX) {
        return pt_config_refuse(&r->reading,
                                "declare 1900 columns at most; other properties are in Properties",
                                "too many columns with \"%s\"", name);
    }
    return SQLITE_OK;
}

static int add_column(reader *r, const char *name, pt_type type)
{
    pt_config *config = r->config;
    if (config->column_count == r->column_capacity) {
        int capacity = r->column_capacity == 0 ? FIRST_CAPACITY : r->column_capacity * 2;
        pt_column *columns = sqlite3_realloc64(config->columns, (size_t)capacity * sizeof *columns);
        if (columns == NULL) {
            return pt_error_nomem(r->reading.error);
        }
        config->columns = columns;
        r->column_capacity = capacity;
    }
    pt_column column = {.name_size = strlen(name), .type = type};
    int rc = pt_config_copy(&r->reading, pt_slice_text(name), &column.name);
    if (rc == SQLITE_OK) {
        config->columns[config->column_count++] = column;
    }
    return rc;
}

static int read_column(reader *r, const char *name, const char *type_text)
{
    pt_type type;
    int rc = read_type(r, type_text, &type);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (sqlite3_stricmp(name, "PartitionKey") == 0) {
        return read_key(r, 1, type);
    }
    if (sqlite3_stricmp(name, "RowKey") == 0) {
        return read_key(r, 2, type);
    }
    rc = check_name(r, name);
    return rc == SQLITE_OK ? add_column(r, name, type) : rc;
}

/* --- Arguments --- */

static int refuse_queue_column(reader *r, const char *name)
{
    return pt_config_refuse(&r->reading,
                            "leave it out: a queue always has the same columns; the options "
                            "are " QUEUE_OPTIONS,
                            "column \"%s\"", name);
}

static int read_named(reader *r, const char *name, bool quoted, const char *behind)
{
    if (r->module == OF_QUEUE && *pt_config_skip_blanks(behind) != '=') {
        return refuse_queue_column(r, name);
    }
    const struct constraint *constraint = constraint_of_word(name, strlen(name));
    if (!quoted && constraint != NULL && constraint->of_table) {
        return pt_config_refuse(&r->reading, constraint->advice, "constraint %s",
                                constraint->shown);
    }
    const char *rest = pt_config_skip_blanks(behind);
    if (*rest == '=') {
        return read_option(r, name, pt_config_skip_blanks(rest + 1));
    }
    if (rest == behind && *rest != 0) {
        return pt_config_refuse(
            &r->reading,
            "put a blank before a type, and quotes around a name that is not just letters, "
            "digits and _",
            "unexpected \"%s\" behind the name", rest);
    }
    return read_column(r, name, rest);
}

static int read_argument(reader *r, const char *argument)
{
    r->reading.argument = argument;
    const char *cursor = pt_config_skip_blanks(argument);
    if (*cursor == 0) {
        return pt_error_set(r->reading.error, SQLITE_ERROR,
                            "empty argument; remove the comma before or behind it");
    }
    bool quoted = pt_config_closing_quote(*cursor) != 0;
    char *name = NULL;
    int rc = pt_config_read_name(&r->reading, &cursor, &name);
    if (rc == SQLITE_OK) {
        rc = read_named(r, name, quoted, cursor);
    }
    sqlite3_free(name);
    return rc;
}

static int parse(unsigned module, int argc, const char *const *argv, pt_config *config,
                 pt_error *error)
{
    reader r = {.config = config, .module = module, .reading = {.error = error}};
    int rc = pt_config_copy(&r.reading, pt_slice_text(argv[2]), &config->sql_name);
    for (int i = 3; i < argc && rc == SQLITE_OK; i++) {
        rc = read_argument(&r, argv[i]);
    }
    if (rc == SQLITE_OK && config->table == NULL) {
        rc = pt_config_copy(&r.reading, pt_slice_text(config->sql_name), &config->table);
    }
    if (rc != SQLITE_OK) {
        pt_config_free(config);
    }
    return rc;
}

int pt_config_parse(int argc, const char *const *argv, pt_config *config, pt_error *error)
{
    *config = (pt_config){.sync = PT_SYNC_FULL};
    return parse(OF_PTABLE, argc, argv, config, error);
}

/* Messages that are in a poison queue already stay there. */
static bool is_poison(const char *table)
{
    size_t length = strlen(table);
    size_t ending = strlen(PT_POISON_ENDING);
    return length >= ending && sqlite3_stricmp(table + (length - ending), PT_POISON_ENDING) == 0;
}

int pt_config_parse_queue(int argc, const char *const *argv, pt_config *config, pt_error *error)
{
    *config = (pt_config){.sync = PT_SYNC_FULL, .max_dequeue_count = -1};
    int rc = parse(OF_QUEUE, argc, argv, config, error);
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
    sqlite3_free(config->sql_name);
    sqlite3_free(config->table);
    sqlite3_free(config->store);
    *config = (pt_config){0};
}

/* --- Declaration --- */

static const struct {
    const char *name;
    const char *declared; /* as, with the blank before it */
} tail[PT_TAIL_COUNT] = {
    [PT_TAIL_FILTER] = {"Filter", " TEXT HIDDEN"},
    [PT_TAIL_PROPERTIES] = {"Properties", " TEXT"},
    [PT_TAIL_TIMESTAMP] = {"Timestamp", " TEXT HIDDEN"},
    [PT_TAIL_ETAG] = {"ETag", " TEXT HIDDEN"},
    [PT_TAIL_WRITE_MODE] = {"WriteMode", " TEXT HIDDEN"},
    [PT_TAIL_IF_MATCH] = {"IfMatch", " TEXT HIDDEN"},
    [PT_TAIL_ENTITY_KEY] = {"EntityKey", " BLOB HIDDEN PRIMARY KEY"},
};

bool pt_declaration_reserves(const char *name)
{
    for (int i = 0; i < PT_TAIL_COUNT; i++) {
        if (sqlite3_stricmp(name, tail[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* The SQL type of a column, with the blank before it. */
static const char *declared_type(pt_type type)
{
    switch (type) {
    case PT_STRING:
    case PT_DATETIME:
    case PT_GUID:
        return " TEXT";
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        return " INTEGER";
    case PT_DOUBLE:
        return " REAL";
    case PT_BINARY:
        return " BLOB";
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    }
    return "";
}

char *pt_declaration_text(const pt_config *config)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL");
    for (int i = 0; i < config->column_count; i++) {
        const pt_column *column = &config->columns[i];
        sqlite3_str_appendf(text, ", \"%w\"%s", column->name, declared_type(column->type));
    }
    for (int i = 0; i < PT_TAIL_COUNT; i++) {
        bool hidden = i == PT_TAIL_PROPERTIES && config->column_count > 0;
        sqlite3_str_appendf(text, ", %s%s%s", tail[i].name, tail[i].declared,
                            hidden ? " HIDDEN" : "");
    }
    sqlite3_str_appendall(text, ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}

/* --- Column map --- */

enum { FIRST_MAP_CAPACITY = 16 };

static bool grow(pt_column_map *map, unsigned id)
{
    unsigned capacity = map->capacity == 0 ? FIRST_MAP_CAPACITY : map->capacity;
    while (capacity <= id) {
        capacity *= 2;
    }
    pt_column_places **by_id = sqlite3_realloc64(map->by_id, capacity * sizeof *by_id);
    if (by_id == NULL) {
        return false;
    }
    memset(by_id + map->capacity, 0, (capacity - map->capacity) * sizeof *by_id);
    map->by_id = by_id;
    map->capacity = capacity;
    return true;
}

const pt_column_places *pt_column_map_find(pt_column_map *map, const pt_shape *shape)
{
    if (shape->id >= map->capacity && !grow(map, shape->id)) {
        return NULL;
    }
    pt_column_places *places = map->by_id[shape->id];
    if (places != NULL && places->shape == shape && shape->id != 0) {
        return places;
    }
    if (places == NULL) {
        size_t size = sizeof *places + (size_t)map->column_count * sizeof places->place[0];
        places = sqlite3_malloc64(size);
        if (places == NULL) {
            return NULL;
        }
        map->by_id[shape->id] = places;
    }
    places->shape = shape;
    for (int i = 0; i < map->column_count; i++) {
        pt_slice name = pt_slice_of(map->columns[i].name, map->columns[i].name_size);
        places->place[i] = pt_shape_find(shape, name);
    }
    return places;
}

void pt_column_map_free(pt_column_map *map)
{
    for (unsigned i = 0; i < map->capacity; i++) {
        sqlite3_free(map->by_id[i]);
    }
    sqlite3_free(map->by_id);
    map->by_id = NULL;
    map->capacity = 0;
}
