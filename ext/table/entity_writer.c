#include "table/entity_writer.h"

#include "base/assert.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "entity/shape.h"
#include "table/arguments.h"
#include "table/entity_rules.h"
#include "transaction/batch_rules.h"
#include "transaction/large_value.h"

static pt_dictionary *dictionary_of(const pt_table *table)
{
    return pt_session_store(table->session)->dictionary;
}

/* --- The shape of the last entity stored --- */

/* NULL if there is none, or if a rollback has made its ids invalid. */
static const pt_shape *last_shape_of(const pt_table *table)
{
    bool valid = table->last_shape_epoch == pt_dictionary_epoch(dictionary_of(table));
    return valid ? table->last_shape : NULL;
}

const pt_column_places *pt_entity_last_places(pt_table *table)
{
    const pt_shape *shape = last_shape_of(table);
    if (shape == NULL) {
        return NULL;
    }
    if (table->last_places == NULL || table->last_places->shape != shape) {
        table->last_places = pt_column_map_find(&table->map, shape);
    }
    return table->last_places;
}

/* --- The entity that is there --- */

/* Judges an entity of a table whose entities expire. */
__attribute__((noinline)) static int judge_expiry(pt_table *table, pt_slice key, pt_slice record,
                                                  bool *expired, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(table->session, &view, error);
    return rc == SQLITE_OK
               ? pt_expiry_judge_bytes(&table->expiry, view, key, record, expired, error)
               : rc;
}

int pt_entity_find(pt_table *table, pt_slice key, bool *found, pt_error *error)
{
    pt_slice record;
    bool expired = false;
    int rc = pt_session_find(table->session, key, found, &record, error);
    if (rc == SQLITE_OK && *found && table->id.expires) {
        rc = judge_expiry(table, key, record, &expired, error);
        *found = !expired;
    }
    return rc;
}

int pt_entity_open_old(pt_table *table, pt_slice key, bool *found, pt_record *record,
                       pt_error *error)
{
    pt_slice bytes;
    bool expired = false;
    int rc = pt_session_find(table->session, key, found, &bytes, error);
    if (rc == SQLITE_OK && *found && table->id.expires) {
        rc = judge_expiry(table, key, bytes, &expired, error);
        *found = !expired;
    }
    if (rc != SQLITE_OK || !*found) {
        return rc;
    }
    /* The copy has the key before the record, as in a page: they are hashed in one run. */
    pt_buffer *copy = &table->old_record;
    pt_buffer_clear(copy);
    pt_buffer_append_slice(copy, key);
    pt_buffer_append_slice(copy, bytes);
    if (copy->failed) {
        return pt_error_nomem(error);
    }
    pt_shape_source source = pt_dictionary_source(dictionary_of(table));
    rc = pt_record_open(record, pt_slice_of(copy->data, key.size),
                        pt_slice_of(copy->data + key.size, bytes.size), &source, &table->old_shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc : pt_report_damage(key, error);
}

/* noinline, so that check_absent needs no room for the text. */
__attribute__((noinline)) static int refuse_present(const pt_entity_change *change, pt_error *error)
{
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe(pt_keys_of(*change->put), keys);
    pt_error_set(error, SQLITE_CONSTRAINT_PRIMARYKEY,
                 "an entity with %s exists; give other keys, or %s (EntityAlreadyExists)", keys,
                 change->if_absent);
    /* In a move the row has other keys. */
    return pt_error_naming(error, change->remove == NULL ? PT_NAMES_KEYS : 0);
}

static int check_absent(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    bool found;
    pt_slice record;
    int rc = pt_session_find(table->session, *change->put, &found, &record, error);
    return rc != SQLITE_OK || !found ? rc : refuse_present(change, error);
}

/* Fills table->bag with an entity's properties as they are stored: large values keep pointing to
 * their bytes. */
static int bag_from_record(pt_table *table, pt_record *record, pt_slice key, pt_error *error)
{
    pt_bag *bag = &table->bag;
    unsigned count = record->shape->count;
    pt_bag_clear(bag);
    if (!pt_bag_reserve(bag, count)) {
        return pt_error_nomem(error);
    }
    for (unsigned i = 0; i < count; i++) {
        const pt_property *property = &record->shape->properties[i];
        pt_field *field = &bag->fields[i];
        field->name = property->name;
        field->name_id = property->name_id;
        if (pt_record_value(record, i, &field->value) != SQLITE_OK) {
            return pt_report_damage(key, error);
        }
    }
    bag->count = count;
    return SQLITE_OK;
}

int pt_entity_set_columns(pt_table *table, pt_error *error)
{
    for (unsigned i = 0; i < table->columns.count; i++) {
        if (!pt_bag_set(&table->bag, &table->columns.fields[i])) {
            return pt_error_nomem(error);
        }
    }
    return SQLITE_OK;
}

/* Fills table->bag with the entity `over` and lays table->columns over it. */
static int bag_from_change(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    pt_slice key = change->remove != NULL ? *change->remove : *change->put;
    int rc = bag_from_record(table, change->over, key, error);
    return rc == SQLITE_OK ? pt_entity_set_columns(table, error) : rc;
}

/*
 * --- Patching ---
 *
 * If each new value has the type and the size of the old one, the old record is copied and patched.
 * The result is the record that putting the entity together would give.
 */

/* NULL if the shape has no such property, or the name has no id. */
static const pt_property *property_by_name_id(const pt_shape *shape, uint16_t name_id)
{
    for (unsigned i = 0; i < shape->count; i++) {
        if (shape->properties[i].name_id == name_id) {
            return name_id != 0 ? &shape->properties[i] : NULL;
        }
    }
    return NULL;
}

static bool fits_in_place(pt_record *record, const pt_bag *changes)
{
    for (unsigned i = 0; i < changes->count; i++) {
        const pt_field *field = &changes->fields[i];
        const pt_property *property = property_by_name_id(record->shape, field->name_id);
        if (property == NULL || !pt_record_can_take(record, property, &field->value)) {
            return false;
        }
    }
    return true;
}

/* A record with so little data has no value that would have to become large. Values that do not
 * change are not looked at: what is damaged in the data stays detectable. */
static bool can_be_patched(const pt_table *table, const pt_entity_change *change)
{
    pt_record *record = change->over;
    return change->remove == NULL && record->shape->id != 0 &&
           record->data_size <= PT_INLINE_SIZE_MAX && fits_in_place(record, &table->columns);
}

/* The key's copy in the memtable, which lies before the record. */
static pt_slice key_before(const uint8_t *record, pt_slice key)
{
    return pt_slice_of(record - key.size, key.size);
}

static int write_patched(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    pt_record *record = change->over;
    pt_slice old = pt_record_bytes(record);
    int64_t ticks = 0;
    int rc = pt_session_next_timestamp(table->session, &ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_session_require_sync(table->session, table->config.sync);
    uint8_t *bytes = pt_session_put(table->session, *change->put, change->operation, old.size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    memcpy(bytes, old.data, old.size);
    for (unsigned i = 0; i < table->columns.count; i++) {
        const pt_field *field = &table->columns.fields[i];
        pt_record_patch(record, property_by_name_id(record->shape, field->name_id), &field->value,
                        bytes);
    }
    pt_record_seal(record, ticks, key_before(bytes, *change->put), bytes);
    return SQLITE_OK;
}

/*
 * --- Writing the bag, the short way ---
 *
 * Most rows are short and have the same shape as the row before. They need no look-up of a shape.
 */

/* *size is the size of the record. 0: the short way is not possible, because the bag has another
 * shape, or a value may have to become large, or the entity that it replaces may have large values.
 */
static int find_short_size(pt_table *table, pt_operation operation, size_t *size, pt_error *error)
{
    const pt_shape *shape = last_shape_of(table);
    uint64_t data_size;
    bool possible = false;
    int rc = SQLITE_OK;
    *size = 0;
    if (shape == NULL || !pt_shape_fits(shape, table->bag.fields, table->bag.count, &data_size) ||
        data_size > PT_INLINE_SIZE_MAX) {
        return SQLITE_OK;
    }
    if (operation != PT_INSERT) {
        rc = pt_large_values_possible(table->session, table->id.id, &possible, error);
    }
    if (rc == SQLITE_OK && !possible) {
        *size = pt_record_size_with(shape, data_size);
    }
    return rc;
}

/* Puts the record of the bag, whose shape and size are known. */
static inline int put_record(pt_table *table, const pt_entity_change *change, const pt_shape *shape,
                             const pt_field *fields, size_t size, int64_t ticks, pt_error *error)
{
    uint8_t *bytes = pt_session_put(table->session, *change->put, change->operation, size);
    if (bytes == NULL) {
        return pt_error_nomem(error);
    }
    pt_record_write(shape, fields, ticks, key_before(bytes, *change->put), bytes, size);
    if (change->made_from != NULL) {
        *change->made_from = (pt_put_entity){.shape = shape, .fields = fields, .ticks = ticks};
    }
    return SQLITE_OK;
}

/*
 * --- Writing the bag, with everything that may belong to it ---
 *
 * Large values are operations of their own: their chunks are put before the record that points to
 * them, and chunks that no record points to any more are removed.
 */

static int refuse_shape(const pt_table *table, pt_slice key, int rc, pt_error *error)
{
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    if (rc == SQLITE_CONSTRAINT) { /* a name occurs twice: only a damaged record has that */
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

/* Finds or makes the shape of the bag and puts its record. */
static int put_bag(pt_table *table, const pt_entity_change *change, int64_t ticks, pt_error *error)
{
    const pt_shape *shape;
    int rc = pt_dictionary_shape(dictionary_of(table), table->bag.fields, table->bag.count,
                                 last_shape_of(table), &table->new_shape, &shape);
    if (rc != SQLITE_OK) {
        return refuse_shape(table, *change->put, rc, error);
    }
    table->last_shape = shape->id != 0 ? shape : NULL;
    table->last_shape_epoch = pt_dictionary_epoch(dictionary_of(table));
    size_t size = pt_record_size(shape, table->bag.fields);
    if (size == 0) {
        return pt_error_set(error, SQLITE_TOOBIG,
                            "the entity would have more than %d bytes; make it smaller "
                            "(EntityTooLarge)",
                            PT_RECORD_MAX);
    }
    return put_record(table, change, shape, table->bag.fields, size, ticks, error);
}

static int put_entity(pt_table *table, const pt_entity_change *change, bool has_large,
                      pt_error *error)
{
    int64_t ticks = 0;
    int rc = pt_session_next_timestamp(table->session, &ticks, error);
    if (rc == SQLITE_OK && has_large) {
        rc = pt_large_fields_put(table->session, table->id.id, ticks, &table->bag, error);
    }
    return rc == SQLITE_OK ? put_bag(table, change, ticks, error) : rc;
}

/* False if a write to the table has no rules to keep, which this finds out without looking for a
 * batch. */
static bool may_have_rules(const pt_table *table)
{
    return table->config.azure_limits || table->config.azure_batch ||
           table->connection->may_have_batch;
}

static int remove_entity(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    /* Only now: in a move, the put counts as an operation of the batch when the removal is checked.
     */
    int rc = change->rules_checked || !may_have_rules(table)
                 ? SQLITE_OK
                 : pt_entity_check_removal(table, *change->remove, error);
    return rc == SQLITE_OK ? pt_session_remove(table->session, *change->remove, error) : rc;
}

/* `gone` are the large values that no record points to any more. */
static int run_operations(pt_table *table, const pt_entity_change *change, bool has_large,
                          const pt_buffer *gone, pt_error *error)
{
    int rc = SQLITE_OK;
    if (change->put != NULL) {
        rc = put_entity(table, change, has_large, error);
    }
    if (rc == SQLITE_OK && change->remove != NULL) {
        rc = remove_entity(table, change, error);
    }
    if (rc == SQLITE_OK && gone->size != 0) {
        rc = pt_large_fields_remove(table->session, table->id.id, gone, error);
    }
    return rc;
}

/* Makes all operations of the change, or discards all. A single operation cannot fail halfway, so
 * it needs no row. */
static int run_all_or_none(pt_table *table, const pt_entity_change *change, const pt_buffer *gone,
                           pt_error *error)
{
    bool has_large = change->put != NULL && pt_large_fields_are_needed(&table->bag);
    bool moves = change->put != NULL && change->remove != NULL;
    if (!has_large && !moves && gone->size == 0) {
        return run_operations(table, change, false, gone, error);
    }
    size_t row = pt_session_begin_row(table->session);
    int rc = run_operations(table, change, has_large, gone, error);
    if (rc == SQLITE_OK) {
        pt_session_end_row(table->session);
    } else {
        pt_session_discard_row(table->session, row);
    }
    return rc;
}

static int write_with_large_values(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    const pt_bag *kept = change->put != NULL ? &table->bag : NULL;
    bool replaces = change->put != NULL && change->operation != PT_INSERT;
    pt_buffer gone = {0};
    int rc = SQLITE_OK;
    if (replaces) {
        rc = pt_large_fields_find_gone(table->session, *change->put, kept, &gone, error);
    }
    if (rc == SQLITE_OK && change->remove != NULL) {
        rc = pt_large_fields_find_gone(table->session, *change->remove, kept, &gone, error);
    }
    if (rc == SQLITE_OK) {
        rc = run_all_or_none(table, change, &gone, error);
    }
    if (gone.data != NULL) {
        pt_buffer_free(&gone);
    }
    return rc;
}

/* --- The one routine --- */

static int write_bag(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    size_t short_size = 0;
    int rc = SQLITE_OK;
    if (change->put != NULL && change->remove == NULL) {
        rc = find_short_size(table, change->operation, &short_size, error);
    }
    pt_session_require_sync(table->session, table->config.sync);
    if (rc == SQLITE_OK && short_size != 0) {
        int64_t ticks = 0;
        rc = pt_session_next_timestamp(table->session, &ticks, error);
        return rc == SQLITE_OK ? put_record(table, change, table->last_shape, table->bag.fields,
                                            short_size, ticks, error)
                               : rc;
    }
    return rc == SQLITE_OK ? write_with_large_values(table, change, error) : rc;
}

static int write_entity(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    /* A change that only removes an entity needs nothing else. */
    PT_ASSERT(change->put != NULL ||
              (change->remove != NULL && change->over == NULL && change->if_absent == NULL));
    int rc = SQLITE_OK;
    bool has_rules = change->put != NULL && may_have_rules(table);
    if (change->over != NULL) {
        /* Rules are checked on a whole entity, which a patch does not put together. */
        if (!has_rules && can_be_patched(table, change)) {
            return write_patched(table, change, error);
        }
        rc = bag_from_change(table, change, error);
    }
    /* Check the rules before looking for the entity, as the service does: if both fail, the user
     * gets the same error. */
    if (rc == SQLITE_OK && has_rules && !change->rules_checked) {
        rc = pt_entity_check_rules(table, *change->put, error);
    }
    if (rc == SQLITE_OK && change->if_absent != NULL) {
        rc = check_absent(table, change, error);
    }
    if (rc == SQLITE_OK) {
        rc = write_bag(table, change, error);
    }
    if (rc == SQLITE_OK && table->config.azure_batch) {
        pt_batch_rules_begin(table->connection, table->session);
    }
    return rc;
}

/* --- The template --- */

/* True if storing the filled template is no more than putting its record. */
static int is_simple_put(pt_table *table, pt_operation operation, uint64_t data_size, bool *simple,
                         pt_error *error)
{
    bool possible = false;
    int rc = SQLITE_OK;
    *simple = data_size <= PT_INLINE_SIZE_MAX && !may_have_rules(table);
    if (*simple && operation != PT_INSERT) {
        rc = pt_large_values_possible(table->session, table->id.id, &possible, error);
        *simple = !possible;
    }
    return rc;
}

static int put_template(pt_table *table, const pt_entity_change *change, uint64_t data_size,
                        pt_error *error)
{
    const pt_template *alike = &table->alike;
    int64_t ticks = 0;
    int rc = change->if_absent != NULL ? check_absent(table, change, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(table->session, &ticks, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_session_require_sync(table->session, table->config.sync);
    return put_record(table, change, alike->shape, alike->fields,
                      pt_record_size_with(alike->shape, data_size), ticks, error);
}

static int bag_from_template(pt_table *table, pt_error *error)
{
    unsigned count = table->alike.shape->count;
    pt_bag_clear(&table->bag);
    if (!pt_bag_reserve(&table->bag, count)) {
        return pt_error_nomem(error);
    }
    if (count != 0) {
        memcpy(table->bag.fields, table->alike.fields, count * sizeof *table->bag.fields);
    }
    table->bag.count = count;
    return SQLITE_OK;
}

static int write_template(pt_table *table, const pt_entity_change *change, uint64_t data_size,
                          pt_error *error)
{
    bool simple;
    PT_ASSERT(change->put != NULL && change->remove == NULL && change->over == NULL);
    int rc = is_simple_put(table, change->operation, data_size, &simple, error);
    if (rc == SQLITE_OK && simple) {
        return put_template(table, change, data_size, error);
    }
    if (rc == SQLITE_OK) {
        rc = bag_from_template(table, error);
    }
    return rc == SQLITE_OK ? write_entity(table, change, error) : rc;
}

/*
 * --- Indexes ---
 *
 * The entries of the old entity are made of its record, before that is replaced; those of the new
 * one of the fields of its record, or if that was patched of the record.
 */

/* Notes the entities that the change removes or replaces. */
static int lose_entities(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    pt_index_writer *indexes = &table->indexes;
    const pt_slice *opened = change->remove != NULL ? change->remove : change->put;
    bool replaces = change->put != NULL && change->operation != PT_INSERT;
    int rc = SQLITE_OK;
    if (change->over != NULL) {
        PT_ASSERT(opened != NULL);
        rc = pt_index_writer_lose_record(indexes, *opened, change->over, error);
        replaces = replaces && change->remove != NULL;
    } else if (change->remove != NULL) {
        rc = pt_index_writer_lose(indexes, *change->remove, error);
    }
    return rc == SQLITE_OK && replaces ? pt_index_writer_lose(indexes, *change->put, error) : rc;
}

static int remove_conflicting(pt_table *table, pt_slice key, pt_error *error)
{
    int rc = pt_index_writer_lose(&table->indexes, key, error);
    if (rc == SQLITE_OK) {
        rc = write_entity(table, &(pt_entity_change){.remove = &key}, error);
    }
    return rc == SQLITE_OK ? pt_index_writer_remove(&table->indexes, error) : rc;
}

/* An entity in conflict is removed if it has expired, or by OR REPLACE. */
static int resolve_conflict(pt_table *table, const pt_index *index, pt_slice key, pt_error *error)
{
    bool found = true;
    int rc = table->id.expires ? pt_entity_find(table, key, &found, error) : SQLITE_OK;
    if (rc != SQLITE_OK) {
        return rc;
    }
    return !found || pt_is_or_replace(table)
               ? remove_conflicting(table, key, error)
               : pt_index_writer_refuse(&table->indexes, index, key, error);
}

static int resolve_conflicts(pt_table *table, pt_error *error)
{
    for (;;) {
        const pt_index *index;
        pt_slice key;
        int rc = pt_index_writer_find_conflict(&table->indexes, &index, &key, error);
        if (rc != SQLITE_OK || index == NULL) {
            return rc;
        }
        rc = resolve_conflict(table, index, key, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
}

/* Writes table->bag, or with `alike` the filled template, and the entries. */
static int write_in_row(pt_table *table, const pt_entity_change *change, bool alike,
                        uint64_t data_size, pt_error *error)
{
    pt_index_writer *indexes = &table->indexes;
    pt_put_entity put = {.shape = NULL};
    pt_entity_change noting = *change;
    noting.made_from = &put;
    int rc = lose_entities(table, change, error);
    if (rc == SQLITE_OK) {
        rc = alike ? write_template(table, &noting, data_size, error)
                   : write_entity(table, &noting, error);
    }
    if (rc == SQLITE_OK && change->put != NULL) {
        rc = pt_index_writer_gain(indexes, *change->put, &put, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_remove(indexes, error);
    }
    if (rc == SQLITE_OK) {
        rc = resolve_conflicts(table, error);
    }
    return rc == SQLITE_OK ? pt_index_writer_put(indexes, error) : rc;
}

/* An entity that only goes has no entry in a declared index that the store does not have: it may be
 * why the index cannot be made. */
static int load_for_change(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    return change->put != NULL
               ? pt_table_load_indexes(table, error)
               : pt_index_writer_load(&table->indexes, table->session, table->config.table, error);
}

/* If an expired entity is under the key, an INSERT replaces it. */
static int replace_expired(pt_table *table, pt_entity_change *change, pt_error *error)
{
    bool found;
    bool expired = false;
    pt_slice record;
    int rc = pt_session_find(table->session, *change->put, &found, &record, error);
    if (rc == SQLITE_OK && found) {
        rc = judge_expiry(table, *change->put, record, &expired, error);
    }
    if (expired) {
        change->operation = PT_REPLACE;
        change->if_absent = NULL;
    }
    return rc;
}

/* noinline, like has_indexes inline: most tables have none. */
__attribute__((noinline)) static int write_with_indexes(pt_table *table,
                                                        const pt_entity_change *change, bool alike,
                                                        uint64_t data_size, pt_error *error)
{
    int rc = load_for_change(table, change, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    size_t row = pt_session_begin_row(table->session);
    pt_index_writer_begin(&table->indexes, table->id.id);
    pt_entity_change made = *change;
    if (table->id.expires && change->put != NULL && change->operation == PT_INSERT) {
        rc = replace_expired(table, &made, error);
    }
    rc = rc == SQLITE_OK ? write_in_row(table, &made, alike, data_size, error) : rc;
    pt_index_writer_end(&table->indexes);
    if (rc == SQLITE_OK) {
        pt_session_end_row(table->session);
    } else {
        pt_session_discard_row(table->session, row);
    }
    return rc;
}

static inline bool has_indexes(const pt_table *table)
{
    return table->id.indexed || table->config.index_count != 0 || table->config.changes;
}

/* --- What others call --- */

int pt_entity_write(pt_table *table, const pt_entity_change *change, pt_error *error)
{
    return has_indexes(table) ? write_with_indexes(table, change, false, 0, error)
                              : write_entity(table, change, error);
}

int pt_entity_write_template(pt_table *table, const pt_entity_change *change, uint64_t data_size,
                             pt_error *error)
{
    return has_indexes(table) ? write_with_indexes(table, change, true, data_size, error)
                              : write_template(table, change, data_size, error);
}
