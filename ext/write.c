#include "write.h"

#include "columns.h"
#include "companion.h"
#include "excerpt.h"
#include "json.h"
#include "key.h"
#include "ticks.h"
#include "value.h"

/* xUpdate's arguments: the old key, a copy of the new one, then the columns. */
enum { ARGUMENT_OLD_KEY = 0, ARGUMENT_COLUMNS = 2 };

/* The arguments of one call by column. */
typedef struct arguments {
    sqlite3_value **keys;     /* PartitionKey, RowKey */
    sqlite3_value **declared; /* the declared columns */
    sqlite3_value **tail;     /* Properties and so on: PT_TAIL_... */
} arguments;

static arguments split_arguments(const pt_table *table, sqlite3_value **argv)
{
    sqlite3_value **columns = argv + ARGUMENT_COLUMNS;
    return (arguments){.keys = columns,
                       .declared = columns + PT_COLUMN_FIRST,
                       .tail = columns + PT_COLUMN_FIRST + table->config.column_count};
}

/* --- Keys --- */

static int refuse_key(pt_error *error, const char *column, sqlite3_value *value)
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return pt_error_set(
            error, SQLITE_CONSTRAINT_NOTNULL,
            "%s is NULL; every entity needs a PartitionKey and a RowKey, which may be "
            "empty texts (PropertiesNeedValue)",
            column);
    case SQLITE_FLOAT:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is the number %s; give a text or an integer (InvalidValueType)",
                            column, (const char *)sqlite3_value_text(value));
    default:
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s is a BLOB; give a text or an integer (InvalidValueType)", column);
    }
}

static int key_text(sqlite3_value *value, const char *column, pt_slice *text, pt_error *error)
{
    int type = sqlite3_value_type(value);
    if (type != SQLITE_TEXT && type != SQLITE_INTEGER) {
        return refuse_key(error, column, value);
    }
    if (pt_value_argument_text(value, text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (pt_key_is_valid_text(*text)) {
        return SQLITE_OK;
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(*text, excerpt);
    if (memchr(text->data, 0, text->size) != NULL) {
        return pt_error_set(error, SQLITE_MISMATCH,
                            "%s '%s' contains U+0000, which no key may contain; remove it "
                            "(OutOfRangeInput)",
                            column, excerpt);
    }
    return pt_error_set(error, SQLITE_MISMATCH,
                        "%s '%s' is not well-formed UTF-8; give another key (OutOfRangeInput)",
                        column, excerpt);
}

/* Makes the logical key in table->key. */
static int make_key(pt_table *table, pt_slice partition, pt_slice row, pt_error *error)
{
    pt_key_begin(&table->key, table->id.id);
    pt_key_append(&table->key, partition, row);
    if (table->key.failed) {
        return pt_error_nomem(error);
    }
    if (table->key.size > PT_KEY_LOGICAL_MAX) {
        return pt_error_set(
            error, SQLITE_TOOBIG,
            "PartitionKey and RowKey have %lld bytes together; at most %d are possible "
            "(PropertyValueTooLarge)",
            (long long)partition.size + (long long)row.size,
            PT_KEY_LOGICAL_MAX - PT_KEY_TABLE_SIZE - 1);
    }
    return SQLITE_OK;
}

/* --- Putting an entity together --- */

static pt_dictionary *dictionary_of(const pt_table *table)
{
    return pt_session_store(table->session)->dictionary;
}

static pt_slice column_name(const pt_table *table, int column)
{
    return pt_slice_of(table->config.columns[column].name, table->config.columns[column].name_size);
}

static int convert(pt_table *table, int column, sqlite3_value *sql, pt_field *field,
                   pt_error *error)
{
    const pt_column *declared = &table->config.columns[column];
    *field = (pt_field){.name = column_name(table, column)};
    return pt_value_from_sql(sql, declared->type, declared->name, &field->value, error);
}

static int parse_properties(pt_table *table, sqlite3_value *json, pt_error *error)
{
    /* An empty text is what .import sends for an empty field. */
    int type = sqlite3_value_type(json);
    if (type == SQLITE_NULL || (type == SQLITE_TEXT && sqlite3_value_bytes(json) == 0)) {
        pt_bag_clear(&table->bag);
        return SQLITE_OK;
    }
    return pt_json_parse(pt_connection_db(table->connection), &table->json_statement, json,
                         &table->bag, error);
}

/* A name that occurs twice can only come from a stored record. */
static int refuse_shape(const pt_table *table, pt_slice key, int rc, pt_error *error)
{
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (rc == SQLITE_CONSTRAINT) {
        return pt_report_damage(key, error);
    }
    if (table->bag.count > UINT16_MAX) {
        return pt_error_set(error, rc,
                            "the entity has %u properties; leave some out, at most %d are possible "
                            "(TooManyProperties)",
                            table->bag.count, UINT16_MAX);
    }
    return pt_error_set(error, rc,
                        "the entity has a property whose name is longer than %d bytes; shorten it "
                        "(PropertyNameTooLong)",
                        UINT16_MAX);
}

/* Stores the bag as the entity of a logical key. Out of memory changes nothing. */
static int put_bag(pt_table *table, pt_slice key, pt_operation operation, pt_error *error)
{
    pt_dictionary *dictionary = dictionary_of(table);
    unsigned epoch = pt_dictionary_epoch(dictionary);
    const pt_shape *hint = epoch == table->last_shape_epoch ? table->last_shape : NULL;
    const pt_shape *shape;
    int rc = pt_dictionary_shape(dictionary, table->bag.fields, table->bag.count, hint,
                                 &table->new_shape, &shape);
    if (rc != SQLITE_OK) {
        return refuse_shape(table, key, rc, error);
    }
    table->last_shape = shape->id != 0 ? shape : NULL;
    table->last_shape_epoch = epoch;
    size_t size = pt_record_size(shape, table->bag.fields);
    if (size == 0) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "the entity would have more than %d bytes; make it smaller "
                            "(EntityTooLarge)",
                            PT_RECORD_MAX);
    }
    uint8_t *bytes = pt_session_put(table->session, key, operation, size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    pt_session_require_sync(table->session, table->config.sync);
    pt_record_write(shape, table->bag.fields, pt_session_tick(table->session), key, bytes, size);
    return SQLITE_OK;
}

/* --- Conflicts --- */

static bool replaces(const pt_table *table)
{
    return sqlite3_vtab_on_conflict(pt_connection_db(table->connection)) == SQLITE_REPLACE;
}

static int check_absent(pt_table *table, pt_slice key, const char *statement, pt_error *error)
{
    bool found;
    pt_slice record;
    int rc = pt_session_find(table->session, key, &found, &record, error);
    if (rc != SQLITE_OK || !found) {
        return rc;
    }
    pt_slice partition = {0};
    pt_slice row = {0};
    pt_key_split(pt_key_entity(key), &partition, &row);
    return pt_error_set(
        error, SQLITE_CONSTRAINT_PRIMARYKEY,
        "an entity with PartitionKey '%.*s', RowKey '%.*s' exists; use %s OR REPLACE "
        "or other keys (EntityAlreadyExists)",
        (int)partition.size, partition.data, (int)row.size, row.data, statement);
}

/* --- INSERT --- */

static int refuse_system_columns(const arguments *given, pt_error *error)
{
    static const struct {
        int tail;
        const char *name;
    } columns[] = {{PT_TAIL_TIMESTAMP, "Timestamp"},
                   {PT_TAIL_ETAG, "ETag"},
                   {PT_TAIL_ENTITY_KEY, "EntityKey"}};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        if (sqlite3_value_type(given->tail[columns[i].tail]) != SQLITE_NULL) {
            return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                                "%s cannot be given, the store sets it; leave the column out",
                                columns[i].name);
        }
    }
    return SQLITE_OK;
}

static int collect_insert(pt_table *table, const arguments *given, pt_error *error)
{
    int rc = parse_properties(table, given->tail[PT_TAIL_PROPERTIES], error);
    bool has_base = table->bag.count != 0;
    for (int i = 0; rc == SQLITE_OK && i < table->config.column_count; i++) {
        pt_field field;
        rc = convert(table, i, given->declared[i], &field, error);
        if (rc != SQLITE_OK || field.value.type == PT_NONE) {
            continue;
        }
        bool set = has_base ? pt_bag_set(&table->bag, &field) : pt_bag_append(&table->bag, &field);
        rc = set ? SQLITE_OK : pt_error_nomem(error);
    }
    return rc;
}

static int insert(pt_table *table, const arguments *given, pt_error *error)
{
    pt_slice partition = {0};
    pt_slice row = {0};
    int rc = refuse_system_columns(given, error);
    if (rc == SQLITE_OK) {
        rc = key_text(given->keys[0], "PartitionKey", &partition, error);
    }
    if (rc == SQLITE_OK) {
        rc = key_text(given->keys[1], "RowKey", &row, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_key(table, partition, row, error);
    }
    if (rc == SQLITE_OK) {
        rc = collect_insert(table, given, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice key = pt_buffer_slice(&table->key);
    bool replace = replaces(table);
    if (!replace) {
        rc = check_absent(table, key, "INSERT", error);
    }
    return rc == SQLITE_OK ? put_bag(table, key, replace ? PT_REPLACE : PT_INSERT, error) : rc;
}

/* --- UPDATE --- */

/* Copies the entity as it is, for the new record may be written over its bytes, and opens it. */
static int open_old(pt_table *table, pt_slice key, bool *found, pt_record *record, pt_error *error)
{
    pt_slice bytes;
    int rc = pt_session_find(table->session, key, found, &bytes, error);
    if (rc != SQLITE_OK || !*found) {
        return rc;
    }
    if (!pt_buffer_assign(&table->old_record, bytes)) {
        return pt_error_nomem(error);
    }
    pt_shape_source source = pt_dictionary_source(dictionary_of(table));
    rc = pt_record_open(record, key, pt_buffer_slice(&table->old_record), &source,
                        &table->old_shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_report_damage(key, error);
}

/* Whether a value given for a text column is the one that it has. */
static bool is_bytes(sqlite3_value *given, pt_slice text)
{
    if (sqlite3_value_type(given) != SQLITE_TEXT) {
        return false;
    }
    const unsigned char *bytes = sqlite3_value_text(given);
    return bytes != NULL &&
           pt_slice_equal(pt_slice_of(bytes, (size_t)sqlite3_value_bytes(given)), text);
}

static bool is_text(sqlite3_value *given, const char *text)
{
    return is_bytes(given, pt_slice_text(text));
}

static int refuse_change(pt_error *error, const char *column)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s cannot be changed, the store sets it; leave it out of SET", column);
}

/* What an entity written at some time shows as Timestamp and ETag. */
typedef struct stamp {
    char timestamp[PT_DATETIME_TEXT_SIZE + 1];
    char etag[PT_ETAG_SIZE + 1];
} stamp;

static stamp stamp_of(int64_t ticks)
{
    stamp made = {{0}, {0}};
    pt_ticks_format(ticks, made.timestamp);
    pt_etag_format(ticks, made.etag);
    return made;
}

/*
 * SQLite 3.40 gives all columns of an UPDATE ... FROM as they were when the statement began. If it
 * updates the entity for the second time, its Timestamp and ETag are older ones.
 */
static bool is_older_stamp(const arguments *given, int64_t ticks)
{
    sqlite3_value *timestamp = given->tail[PT_TAIL_TIMESTAMP];
    int64_t older;
    if (sqlite3_value_type(timestamp) != SQLITE_TEXT) {
        return false;
    }
    const unsigned char *text = sqlite3_value_text(timestamp);
    if (text == NULL ||
        !pt_ticks_parse(pt_slice_of(text, (size_t)sqlite3_value_bytes(timestamp)), &older) ||
        older > ticks) {
        return false;
    }
    stamp then = stamp_of(older);
    return is_text(timestamp, then.timestamp) && is_text(given->tail[PT_TAIL_ETAG], then.etag);
}

static int check_stamp(const arguments *given, int64_t ticks, pt_error *error)
{
    stamp now = stamp_of(ticks);
    sqlite3_value *timestamp = given->tail[PT_TAIL_TIMESTAMP];
    sqlite3_value *etag = given->tail[PT_TAIL_ETAG];
    if (!sqlite3_value_nochange(timestamp) && !is_text(timestamp, now.timestamp)) {
        return refuse_change(error, "Timestamp");
    }
    if (!sqlite3_value_nochange(etag) && !is_text(etag, now.etag)) {
        return refuse_change(error, "ETag");
    }
    return SQLITE_OK;
}

static int check_system_columns(const arguments *given, pt_slice old_key, int64_t ticks,
                                pt_error *error)
{
    sqlite3_value *entity_key = given->tail[PT_TAIL_ENTITY_KEY];
    if (!sqlite3_value_nochange(entity_key)) {
        bool same = sqlite3_value_type(entity_key) == SQLITE_BLOB &&
                    pt_slice_equal(old_key, pt_slice_of(sqlite3_value_blob(entity_key),
                                                        (size_t)sqlite3_value_bytes(entity_key)));
        if (!same) {
            return refuse_change(error, "EntityKey");
        }
    }
    return is_older_stamp(given, ticks) ? SQLITE_OK : check_stamp(given, ticks, error);
}

static int key_after_update(sqlite3_value *given, const char *column, pt_slice old, pt_slice *key,
                            pt_error *error)
{
    if (sqlite3_value_nochange(given)) {
        *key = old;
        return SQLITE_OK;
    }
    return key_text(given, column, key, error);
}

/* Fills the bag with the entity's properties as they are. */
static int keep_properties(pt_table *table, const pt_record *record, pt_slice key, pt_error *error)
{
    pt_bag_clear(&table->bag);
    for (unsigned i = 0; i < record->shape->count; i++) {
        const pt_property *property = &record->shape->properties[i];
        pt_field field = {.name = property->name, .name_id = property->name_id};
        if (pt_record_value(record, i, &field.value) != SQLITE_OK) {
            return pt_report_damage(key, error);
        }
        if (!pt_bag_append(&table->bag, &field)) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

/* The new base: what Properties is set to, or what there was. A value equal to what reading gives
 * sets nothing. */
static int update_properties(pt_table *table, const pt_record *record, sqlite3_value *given,
                             pt_slice key, pt_error *error)
{
    if (!sqlite3_value_nochange(given)) {
        int rc = pt_record_to_json(record, &table->json);
        if (rc != SQLITE_OK) {
            return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(key, error);
        }
        if (!is_bytes(given, pt_buffer_slice(&table->json))) {
            return parse_properties(table, given, error);
        }
    }
    return keep_properties(table, record, key, error);
}

/* The columns that an UPDATE changes, in table->columns; PT_NONE removes. */
static int collect_changes(pt_table *table, const pt_record *record, const arguments *given,
                           pt_slice key, pt_error *error)
{
    pt_bag_clear(&table->columns);
    for (int i = 0; i < table->config.column_count; i++) {
        if (sqlite3_value_nochange(given->declared[i])) {
            continue;
        }
        pt_value old = {.type = PT_NONE};
        int place = pt_shape_find(record->shape, column_name(table, i));
        if (place >= 0 && pt_record_value(record, (unsigned)place, &old) != SQLITE_OK) {
            return pt_report_damage(key, error);
        }
        if (pt_value_equals_sql(&old, given->declared[i])) {
            continue;
        }
        pt_field field;
        int rc = convert(table, i, given->declared[i], &field, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (!pt_bag_append(&table->columns, &field)) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

static int collect_update(pt_table *table, const pt_record *record, const arguments *given,
                          pt_slice key, pt_error *error)
{
    int rc = collect_changes(table, record, given, key, error);
    if (rc == SQLITE_OK) {
        rc = update_properties(table, record, given->tail[PT_TAIL_PROPERTIES], key, error);
    }
    for (unsigned i = 0; rc == SQLITE_OK && i < table->columns.count; i++) {
        if (!pt_bag_set(&table->bag, &table->columns.fields[i])) {
            rc = pt_error_nomem(error);
        }
    }
    return rc;
}

/* Stores the bag under a new key and removes the old one: both or neither. */
static int move_entity(pt_table *table, pt_slice old_key, pt_slice new_key, pt_error *error)
{
    bool replace = replaces(table);
    int rc = replace ? SQLITE_OK : check_absent(table, new_key, "UPDATE", error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    size_t row = pt_session_begin_row(table->session);
    rc = put_bag(table, new_key, replace ? PT_REPLACE : PT_INSERT, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_remove(table->session, old_key, error);
    }
    if (rc == SQLITE_OK) {
        pt_session_end_row(table->session);
    } else {
        pt_session_give_up_row(table->session, row);
    }
    return rc;
}

static int make_old_key(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    pt_key_begin(&table->old_key, table->id.id);
    pt_buffer_append(&table->old_key, sqlite3_value_blob(entity_key),
                     (size_t)sqlite3_value_bytes(entity_key));
    return table->old_key.failed ? pt_error_nomem(error) : SQLITE_OK;
}

static int update(pt_table *table, sqlite3_value *entity_key, const arguments *given,
                  pt_error *error)
{
    int rc = make_old_key(table, entity_key, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice old_key = pt_buffer_slice(&table->old_key);
    pt_record record = {0};
    bool found;
    rc = open_old(table, old_key, &found, &record, error);
    if (rc != SQLITE_OK || !found) {
        return rc; /* gone since the statement chose its rows: nothing to update */
    }
    pt_slice partition = {0};
    pt_slice row = {0};
    pt_key_split(pt_key_entity(old_key), &partition, &row);
    rc = check_system_columns(given, pt_key_entity(old_key), record.ticks, error);
    if (rc == SQLITE_OK) {
        rc = key_after_update(given->keys[0], "PartitionKey", partition, &partition, error);
    }
    if (rc == SQLITE_OK) {
        rc = key_after_update(given->keys[1], "RowKey", row, &row, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_key(table, partition, row, error);
    }
    if (rc == SQLITE_OK) {
        rc = collect_update(table, &record, given, old_key, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice new_key = pt_buffer_slice(&table->key);
    return pt_slice_equal(old_key, new_key) ? put_bag(table, new_key, PT_MERGE, error)
                                            : move_entity(table, old_key, new_key, error);
}

/* --- DELETE --- */

static int delete_entity(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    int rc = make_old_key(table, entity_key, error);
    if (rc == SQLITE_OK) {
        pt_session_require_sync(table->session, table->config.sync);
        rc = pt_session_remove(table->session, pt_buffer_slice(&table->old_key), error);
    }
    return rc;
}

static int prepare(pt_table *table, pt_error *error)
{
    int rc = SQLITE_OK;
    if (!pt_session_has_pending(table->session)) {
        rc = pt_companion_join(table->connection, error);
    }
    pt_view *view = NULL;
    if (rc == SQLITE_OK) {
        rc = pt_session_read(table->session, &view, error);
    }
    return rc == SQLITE_OK ? pt_table_find_id(table, view, error) : rc;
}

int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    table->joining = false;
    int rc = prepare(table, &error);
    if (rc != SQLITE_OK) {
        return pt_table_fail(table, &error);
    }
    if (argc == 1) {
        rc = delete_entity(table, argv[ARGUMENT_OLD_KEY], &error);
    } else {
        arguments given = split_arguments(table, argv);
        if (sqlite3_value_type(argv[ARGUMENT_OLD_KEY]) == SQLITE_NULL) {
            rc = insert(table, &given, &error);
            /* SQLite copies it into last_insert_rowid(), which is none of this table's business. */
            *rowid = sqlite3_last_insert_rowid(pt_connection_db(table->connection));
        } else {
            rc = update(table, argv[ARGUMENT_OLD_KEY], &given, &error);
        }
    }
    return rc == SQLITE_OK ? rc : pt_table_fail(table, &error);
}
