#include "table/operation.h"

#include "base/text.h"
#include "entity/key.h"
#include "table/entity_rules.h"
#include "table/entity_writer.h"
#include "table/row.h"
#include "value/value.h"

/* --- What is given --- */

static int refuse_value(sqlite3_value *value, const char *column, const char *choices,
                        pt_error *error)
{
    if (sqlite3_value_type(value) == SQLITE_BLOB) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s is a BLOB; give %s (InvalidInput)",
                            column, choices);
    }
    pt_slice text;
    if (pt_value_argument_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(text, excerpt);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s is %Q; give %s (InvalidInput)", column,
                        excerpt, choices);
}

/* An empty text for what is none. */
static int read_text(sqlite3_value *value, pt_slice *text)
{
    *text = pt_slice_text("");
    return sqlite3_value_type(value) == SQLITE_TEXT ? pt_value_argument_text(value, text)
                                                    : SQLITE_OK;
}

static int read_mode(sqlite3_value *value, pt_write_form *form, pt_error *error)
{
    static const char *const words[] = {[PT_WRITE_INSERT] = "insert",
                                        [PT_WRITE_REPLACE] = "replace",
                                        [PT_WRITE_MERGE] = "merge",
                                        [PT_WRITE_DELETE] = "delete"};
    pt_slice text;
    if (read_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (pt_is_word(text, words[i])) {
            form->mode = (pt_write_mode)i;
            form->given = true;
            return SQLITE_OK;
        }
    }
    return refuse_value(value, "WriteMode", "'insert', 'replace', 'merge' or 'delete'", error);
}

/* W/"...": the first quote inside is the last character. */
static bool is_weak_etag(pt_slice text)
{
    static const char prefix[] = "W/\"";
    size_t start = sizeof prefix - 1;
    return text.size > start && memcmp(text.data, prefix, start) == 0 &&
           memchr(text.data + start, '"', text.size - start) == text.data + text.size - 1;
}

static int read_condition(sqlite3_value *value, pt_write_form *form, pt_error *error)
{
    if (!form->given) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "IfMatch is given without a WriteMode; give WriteMode 'replace', "
                            "'merge' or 'delete', too (InvalidInput)");
    }
    if (form->mode == PT_WRITE_INSERT) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "IfMatch is given with WriteMode 'insert', which wants no entity to "
                            "match; leave it out, or give WriteMode 'replace', 'merge' or 'delete' "
                            "(InvalidInput)");
    }
    pt_slice text;
    if (read_text(value, &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    bool any = pt_slice_equal(text, pt_slice_text("*"));
    if (!any && !is_weak_etag(text)) {
        return refuse_value(value, "IfMatch", "'*' or the text of the entity's ETag", error);
    }
    form->must_exist = true;
    if (!any) {
        form->etag = text;
    }
    return SQLITE_OK;
}

static int refuse_property(const char *name, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "column %s is given with WriteMode 'delete', which takes the keys and "
                        "IfMatch; leave it out (InvalidInput)",
                        name);
}

static int refuse_properties(const pt_table *table, const pt_write_arguments *given,
                             pt_error *error)
{
    for (int i = 0; i < table->config.column_count; i++) {
        if (sqlite3_value_type(given->declared[i]) != SQLITE_NULL) {
            return refuse_property(table->config.columns[i].name, error);
        }
    }
    return sqlite3_value_type(given->tail[PT_TAIL_PROPERTIES]) != SQLITE_NULL
               ? refuse_property("Properties", error)
               : SQLITE_OK;
}

int pt_write_form_read(const pt_table *table, const pt_write_arguments *given, pt_write_form *form,
                       pt_error *error)
{
    sqlite3_value *mode = given->tail[PT_TAIL_WRITE_MODE];
    sqlite3_value *condition = given->tail[PT_TAIL_IF_MATCH];
    *form = (pt_write_form){.mode = PT_WRITE_INSERT};
    int rc = SQLITE_OK;
    if (sqlite3_value_type(mode) != SQLITE_NULL) {
        rc = read_mode(mode, form, error);
    } else if (pt_write_replaces(table)) {
        form->mode = PT_WRITE_REPLACE;
    }
    if (rc == SQLITE_OK && sqlite3_value_type(condition) != SQLITE_NULL) {
        rc = read_condition(condition, form, error);
    }
    if (rc == SQLITE_OK && form->mode == PT_WRITE_DELETE) {
        rc = refuse_properties(table, given, error);
    }
    return rc;
}

/* --- What the entity must be --- */

static int refuse_missing(pt_slice key, pt_write_mode mode, pt_error *error)
{
    pt_keys keys = pt_keys_of(key);
    return pt_error_set(error, SQLITE_CONSTRAINT_CHECK,
                        "there is no entity with PartitionKey '%.*s', RowKey '%.*s'; leave IfMatch "
                        "out %s (ResourceNotFound)",
                        (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
                        keys.row.data,
                        mode == PT_WRITE_DELETE ? "if it may be missing" : "to create it");
}

/* Whole, if it is no longer than those of the store. */
static void show_etag(pt_slice etag, char shown[PT_EXCERPT_SIZE])
{
    if (etag.size > PT_ETAG_SIZE || !pt_key_is_valid_text(etag)) {
        pt_excerpt(etag, shown);
        return;
    }
    memcpy(shown, etag.data, etag.size);
    shown[etag.size] = 0;
}

static int check_etag(pt_slice key, int64_t ticks, pt_slice expected, pt_error *error)
{
    char found[PT_ETAG_SIZE + 1];
    pt_etag_format(ticks, found);
    if (pt_slice_equal(pt_slice_text(found), expected)) {
        return SQLITE_OK;
    }
    char shown[PT_EXCERPT_SIZE];
    show_etag(expected, shown);
    pt_keys keys = pt_keys_of(key);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "the entity with PartitionKey '%.*s', RowKey '%.*s' has the ETag %Q, not "
                        "%Q; read it again and repeat the change with its ETag "
                        "(UpdateConditionNotSatisfied)",
                        (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
                        keys.row.data, found, shown);
}

static int check_condition(pt_slice key, const pt_write_form *form, bool found,
                           const pt_record *record, pt_error *error)
{
    if (!form->must_exist) {
        return SQLITE_OK;
    }
    if (!found) {
        return refuse_missing(key, form->mode, error);
    }
    return form->etag.data != NULL ? check_etag(key, record->ticks, form->etag, error) : SQLITE_OK;
}

/* --- Performing it --- */

/* What is refused whether the entity is there or not. A delete that need not find one may turn out
 * to be no operation. */
static int check_request(pt_table *table, pt_slice key, const pt_write_form *form, pt_error *error)
{
    if (form->mode != PT_WRITE_DELETE) {
        return pt_entity_check(table, key, error);
    }
    return form->must_exist ? pt_entity_check_removal(table, key, error) : SQLITE_OK;
}

/* The record is opened only where something in it is needed, for it may be damaged. The key of a
 * delete may be longer than any that is stored. */
static int find_entity(pt_table *table, pt_slice key, const pt_write_form *form, bool *found,
                       pt_record *record, pt_error *error)
{
    if (key.size > PT_KEY_LOGICAL_MAX) {
        *found = false;
        return SQLITE_OK;
    }
    if (form->mode == PT_WRITE_MERGE || form->etag.data != NULL) {
        return pt_entity_open_old(table, key, found, record, error);
    }
    pt_slice bytes;
    return pt_session_find(table->session, key, found, &bytes, error);
}

static int insert(pt_table *table, pt_slice key, bool mode_given, pt_error *error)
{
    const char *remedy = mode_given ? "WriteMode 'replace', 'merge'" : "INSERT OR REPLACE";
    int rc = pt_entity_check_absent(table, key, remedy, error);
    return rc == SQLITE_OK ? pt_entity_put(table, key, PT_INSERT, error) : rc;
}

/* The bag's properties are laid over those that the entity has. */
static int merge(pt_table *table, pt_slice key, const pt_record *record, pt_error *error)
{
    pt_bag changes = table->bag;
    table->bag = table->columns;
    table->columns = changes;
    if (pt_entity_can_be_patched(table, record)) {
        return pt_entity_patch(table, record, key, error);
    }
    int rc = pt_entity_keep_properties(table, record, key, error);
    if (rc == SQLITE_OK) {
        rc = pt_entity_set_columns(table, error);
    }
    return rc == SQLITE_OK ? pt_entity_put(table, key, PT_MERGE, error) : rc;
}

int pt_write_perform(pt_table *table, pt_slice key, const pt_write_form *form, pt_error *error)
{
    int rc = check_request(table, key, form, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (form->mode == PT_WRITE_INSERT) {
        return insert(table, key, form->given, error);
    }
    if (form->mode == PT_WRITE_REPLACE && !form->must_exist) {
        return pt_entity_put(table, key, PT_REPLACE, error);
    }
    pt_record record = {0};
    bool found;
    rc = find_entity(table, key, form, &found, &record, error);
    if (rc == SQLITE_OK) {
        rc = check_condition(key, form, found, &record, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (form->mode == PT_WRITE_DELETE) {
        return found ? pt_entity_remove(table, key, error) : SQLITE_OK;
    }
    if (form->mode == PT_WRITE_MERGE && found) {
        return merge(table, key, &record, error);
    }
    return pt_entity_put(table, key, found ? PT_REPLACE : PT_INSERT, error);
}
