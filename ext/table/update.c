#include "table/update.h"

#include "base/ticks.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "table/entity_writer.h"
#include "table/row.h"
#include "transaction/large_value.h"
#include "value/value.h"

/*
 * SQLite says which columns SET does not name (sqlite3_value_nochange), with one exception: in
 * UPDATE ... FROM, SQLite 3.40 passes all columns with the values that they had when the statement
 * began (`all_given`). So everywhere below a value equal to what reading the column returns counts
 * as not set. EntityKey cannot be set, so it tells the two cases apart.
 */

/* True if a value given for a text column is this text. */
static bool is_given_bytes(sqlite3_value *given, pt_slice text)
{
    return pt_value_equals_sql(&(pt_value){.type = PT_STRING, .bytes = text}, given);
}

static bool is_given_text(sqlite3_value *given, const char *text)
{
    return is_given_bytes(given, pt_slice_text(text));
}

static int refuse_change(pt_error *error, const char *column)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s cannot be changed, the store sets it; leave it out of SET", column);
}

/* NULL counts as not set: in UPDATE ... FROM SQLite 3.40 passes these columns, too. */
static int refuse_write_request(const pt_write_arguments *given, pt_error *error)
{
    bool mode = sqlite3_value_type(given->tail[PT_TAIL_WRITE_MODE]) != SQLITE_NULL;
    if (!mode && sqlite3_value_type(given->tail[PT_TAIL_IF_MATCH]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "%s can be given in INSERT only; leave it out of SET, and compare the "
                        "ETag in WHERE if it matters (InvalidInput)",
                        mode ? "WriteMode" : "IfMatch");
}

/* The columns Timestamp and ETag of an entity written at some time. */
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

/* True if Timestamp and ETag are those of an older version of the entity. */
static bool is_older_stamp(const pt_write_arguments *given, int64_t ticks)
{
    sqlite3_value *timestamp = given->tail[PT_TAIL_TIMESTAMP];
    int64_t older;
    if (sqlite3_value_type(timestamp) != SQLITE_TEXT) {
        return false;
    }
    const unsigned char *text = sqlite3_value_text(timestamp);
    if (text == NULL ||
        !pt_ticks_parse(pt_slice_of(text, (size_t)sqlite3_value_bytes(timestamp)), &older) ||
        older >= ticks) {
        return false;
    }
    stamp then = stamp_of(older);
    return is_given_text(timestamp, then.timestamp) &&
           is_given_text(given->tail[PT_TAIL_ETAG], then.etag);
}

static int check_stamp(const pt_write_arguments *given, int64_t ticks, pt_error *error)
{
    sqlite3_value *timestamp = given->tail[PT_TAIL_TIMESTAMP];
    sqlite3_value *etag = given->tail[PT_TAIL_ETAG];
    bool sets_timestamp = !sqlite3_value_nochange(timestamp);
    bool sets_etag = !sqlite3_value_nochange(etag);
    if (!sets_timestamp && !sets_etag) {
        return SQLITE_OK;
    }
    stamp now = stamp_of(ticks);
    if (sets_timestamp && !is_given_text(timestamp, now.timestamp)) {
        return refuse_change(error, "Timestamp");
    }
    if (sets_etag && !is_given_text(etag, now.etag)) {
        return refuse_change(error, "ETag");
    }
    return SQLITE_OK;
}

/* Setting a column to the row id that it has is no change. A damaged key that cannot be split has
 * none. */
static int check_row_ids(pt_table *table, const pt_write_arguments *given, pt_slice old_key,
                         pt_error *error)
{
    bool made = false;
    for (int i = 0; i < table->config.row_id_count; i++) {
        sqlite3_value *row_id = given->tail[PT_TAIL_COUNT + i];
        if (sqlite3_value_nochange(row_id)) {
            continue;
        }
        if (!made) {
            pt_buffer_clear(&table->json);
            pt_key_append_row_id(&table->json, old_key);
            made = true;
        }
        if (table->json.failed) {
            return pt_error_nomem(error);
        }
        if (!is_given_bytes(row_id, pt_buffer_slice(&table->json))) {
            return refuse_change(error, table->config.row_ids[i]);
        }
    }
    return SQLITE_OK;
}

static int check_system_columns(pt_table *table, const pt_write_arguments *given, pt_slice old_key,
                                int64_t ticks, pt_error *error)
{
    sqlite3_value *entity_key = given->tail[PT_TAIL_ENTITY_KEY];
    if (given->all_given) {
        bool same = sqlite3_value_type(entity_key) == SQLITE_BLOB &&
                    pt_slice_equal(old_key, pt_slice_of(sqlite3_value_blob(entity_key),
                                                        (size_t)sqlite3_value_bytes(entity_key)));
        if (!same) {
            return refuse_change(error, "EntityKey");
        }
    }
    int rc = check_row_ids(table, given, old_key, error);
    return rc == SQLITE_OK ? check_stamp(given, ticks, error) : rc;
}

/* True if this statement has updated the entity already. UPDATE ... FROM may find a row several
 * times and must update it once. */
static bool was_updated_before(const pt_write_arguments *given, int64_t ticks)
{
    return given->all_given && is_older_stamp(given, ticks);
}

static int key_after_update(sqlite3_value *given, const char *column, pt_slice old, pt_slice *key,
                            pt_error *error)
{
    if (sqlite3_value_nochange(given)) {
        *key = old;
        return SQLITE_OK;
    }
    return pt_key_from_sql(given, column, key, error);
}

/* The logical key after the update: `old_key` itself, or a changed one in table->key. A key that
 * stays is valid, but the option limits='azure' may be newer than the entity. */
static int make_new_key(pt_table *table, const pt_write_arguments *given, pt_slice old_key,
                        pt_slice *new_key, pt_error *error)
{
    bool stays = sqlite3_value_nochange(given->keys[0]) && sqlite3_value_nochange(given->keys[1]);
    *new_key = old_key;
    if (stays && !table->config.azure_limits) {
        return SQLITE_OK;
    }
    pt_keys keys = pt_keys_of(old_key);
    int rc =
        key_after_update(given->keys[0], "PartitionKey", keys.partition, &keys.partition, error);
    if (rc == SQLITE_OK) {
        rc = key_after_update(given->keys[1], "RowKey", keys.row, &keys.row, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_make_key(table, keys.partition, keys.row, error);
    }
    if (rc == SQLITE_OK && !pt_slice_equal(old_key, pt_buffer_slice(&table->key))) {
        *new_key = pt_buffer_slice(&table->key);
    }
    return rc;
}

/* Clears the error of an unreadable stored value. Nobody can have read such a value to give it
 * back, so the given one counts as changed. */
static bool is_unreadable(int rc, pt_error *error)
{
    if (rc != SQLITE_CORRUPT_VTAB) {
        return false;
    }
    pt_error_clear(error);
    return true;
}

/* *same = true if the value given for Properties is what reading it returns. */
static int is_same_bag(pt_table *table, pt_record *record, sqlite3_value *given, pt_slice key,
                       bool *same, pt_error *error)
{
    pt_buffer bytes = {0};
    pt_entity_source source = {.key = key, .bytes = &bytes};
    int rc = pt_session_read(table->session, &source.view, error);
    if (rc == SQLITE_OK) {
        rc = pt_entity_to_json(record, &source, &table->json, error);
    }
    pt_buffer_free(&bytes);
    *same = rc == SQLITE_OK && is_given_bytes(given, pt_buffer_slice(&table->json));
    return is_unreadable(rc, error) ? SQLITE_OK : rc;
}

/* *same = true if the value given for a column equals the column's large value `old`. */
static int is_same_large(pt_table *table, const pt_value *old, sqlite3_value *given, bool *same,
                         pt_error *error)
{
    int type = old->type == PT_LARGE_STRING ? SQLITE_TEXT : SQLITE_BLOB;
    *same = sqlite3_value_type(given) == type &&
            (uint64_t)sqlite3_value_bytes(given) == old->large.size;
    if (!*same) {
        return SQLITE_OK;
    }
    pt_view *view = NULL;
    pt_buffer bytes = {0};
    pt_value whole = *old;
    int rc = pt_session_read(table->session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_large_read(view, table->id.id, &whole, &bytes, error);
    }
    *same = rc == SQLITE_OK && pt_value_equals_sql(&whole, given);
    pt_buffer_free(&bytes);
    return is_unreadable(rc, error) ? SQLITE_OK : rc;
}

/* *same = true if the value given for the property at a place (-1: there is none) is what reading
 * it returns. */
static int is_same_value(pt_table *table, pt_record *record, int place, sqlite3_value *given,
                         pt_slice key, bool *same, pt_error *error)
{
    pt_value old = {.type = PT_NONE};
    if (place >= 0 && pt_record_value(record, (unsigned)place, &old) != SQLITE_OK) {
        return pt_report_damage(key, error);
    }
    if (pt_type_is_large(old.type)) {
        return is_same_large(table, &old, given, same, error);
    }
    *same = pt_value_equals_sql(&old, given);
    return SQLITE_OK;
}

/* The name id of a column's property in a shape; 0 if the shape does not have it. */
static uint16_t name_id_of_column(const pt_column_places *places, int column)
{
    int place = places->place[column];
    return place >= 0 ? places->shape->properties[place].name_id : 0;
}

/* Collects the columns that change in table->columns, with their name ids from the record's shape.
 * A column set to NULL gets PT_NONE, which removes the property. */
static int collect_changes(pt_table *table, pt_record *record, const pt_write_arguments *given,
                           pt_slice key, pt_error *error)
{
    const pt_column_places *places = pt_column_map_find(&table->map, record->shape);
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    pt_bag_clear(&table->columns);
    for (int i = 0; i < table->config.column_count; i++) {
        if (sqlite3_value_nochange(given->declared[i])) {
            continue;
        }
        bool same = false;
        int rc =
            is_same_value(table, record, places->place[i], given->declared[i], key, &same, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (same) {
            continue;
        }
        pt_field field;
        rc = pt_field_from_sql(&table->config.columns[i], given->declared[i], &field, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        field.name_id = name_id_of_column(places, i);
        if (!pt_bag_append(&table->columns, &field)) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

/* Lays the columns that SET names over the bag that the new Properties have filled. A value equal
 * to the one in the bag is not set, so that it keeps its type. */
static int set_update_columns(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    for (int i = 0; i < table->config.column_count; i++) {
        if (sqlite3_value_nochange(given->declared[i])) {
            continue;
        }
        pt_field field;
        const pt_column *column = &table->config.columns[i];
        const pt_value nothing = {.type = PT_NONE};
        const pt_field *base =
            pt_bag_find(&table->bag, pt_slice_of(column->name, column->name_size));
        if (pt_value_equals_sql(base != NULL ? &base->value : &nothing, given->declared[i])) {
            continue;
        }
        int rc = pt_field_from_sql(&table->config.columns[i], given->declared[i], &field, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        if (!pt_bag_set(&table->bag, &field)) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

/* Puts the entity together in table->bag from the new value of Properties, and the columns. */
static int replace_properties(pt_table *table, const pt_write_arguments *given, pt_error *error)
{
    int rc = pt_bag_from_properties(&table->bag, given->tail[PT_TAIL_PROPERTIES], error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* If SQLite does not tell, columns with their old value must not override Properties;
     * table->columns has only the others. */
    return given->all_given ? pt_entity_set_columns(table, error)
                            : set_update_columns(table, given, error);
}

static int change_entity(pt_table *table, pt_record *record, const pt_write_arguments *given,
                         pt_slice old_key, pt_slice new_key, pt_error *error)
{
    sqlite3_value *properties = given->tail[PT_TAIL_PROPERTIES];
    pt_entity_change change = {.put = &new_key, .operation = PT_MERGE};
    /* make_new_key returns old_key itself if the key stays. */
    if (old_key.data != new_key.data) {
        bool replaces = pt_is_or_replace(table);
        change.operation = replaces ? PT_REPLACE : PT_INSERT;
        change.remove = &old_key;
        change.if_absent = replaces ? NULL : "move or delete that entity first";
    }
    bool keeps_properties = true;
    int rc = collect_changes(table, record, given, old_key, error);
    if (rc == SQLITE_OK && !sqlite3_value_nochange(properties)) {
        rc = is_same_bag(table, record, properties, old_key, &keeps_properties, error);
    }
    if (rc == SQLITE_OK && !keeps_properties) {
        rc = replace_properties(table, given, error);
    }
    change.over = keeps_properties ? record : NULL;
    return rc == SQLITE_OK ? pt_entity_write(table, &change, error) : rc;
}

int pt_update(pt_table *table, sqlite3_value *entity_key, const pt_write_arguments *given,
              pt_error *error)
{
    int rc = pt_make_old_key(table, entity_key, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice old_key = pt_buffer_slice(&table->old_key);
    pt_slice new_key;
    pt_record record = {0};
    bool found;
    rc = pt_entity_open_old(table, old_key, &found, &record, error);
    if (rc != SQLITE_OK || !found) {
        return rc; /* deleted since the statement chose its rows */
    }
    rc = refuse_write_request(given, error);
    if (rc == SQLITE_OK && was_updated_before(given, record.ticks)) {
        return SQLITE_OK;
    }
    if (rc == SQLITE_OK) {
        rc = check_system_columns(table, given, pt_key_entity(old_key), record.ticks, error);
    }
    if (rc == SQLITE_OK) {
        rc = make_new_key(table, given, old_key, &new_key, error);
    }
    return rc == SQLITE_OK ? change_entity(table, &record, given, old_key, new_key, error) : rc;
}
