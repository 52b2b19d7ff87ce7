#include "catalog/new_index.h"

#include "base/assert.h"
#include "entity/key.h"
#include "transaction/index_builder.h"
#include "transaction/index_spelling.h"
#include "value/value.h"

/* --- What INSERT gives --- */

static int read_text(sqlite3_value *value, const char *column, const char **text, pt_error *error)
{
    if (sqlite3_value_type(value) != SQLITE_TEXT) {
        return pt_error_set(error, SQLITE_CONSTRAINT_NOTNULL,
                            "%s is not a text; give TableName, Columns (names with commas between) "
                            "and IsUnique (0 or 1), and Store if it is not the default one",
                            column);
    }
    *text = (const char *)sqlite3_value_text(value);
    return *text != NULL ? SQLITE_OK : pt_error_nomem(error);
}

static int refuse_given(sqlite3_value **columns, pt_error *error)
{
    static const struct {
        int column;
        const char *name;
    } refused[] = {{PT_INDEXES_NAME, "IndexName"},
                   {PT_INDEXES_ENTRIES, "Entries"},
                   {PT_INDEXES_BYTES, "Bytes"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (sqlite3_value_type(columns[refused[i].column]) != SQLITE_NULL) {
            return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                                "%s cannot be given; give only Store, TableName, Columns and "
                                "IsUnique",
                                refused[i].name);
        }
    }
    return SQLITE_OK;
}

static int read_columns_list(pt_slice list, pt_index_definition *definition, pt_error *error)
{
    PT_ASSERT(list.data != NULL);
    const char *wrong = pt_index_definition_add_list(definition, list, NULL, 0);
    if (definition->names.failed) {
        return pt_error_nomem(error);
    }
    wrong = wrong == NULL ? pt_index_definition_problem(definition) : wrong;
    return wrong == NULL
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                              "Columns is %Q: %s; give names of properties, PartitionKey, RowKey "
                              "or Timestamp, with commas between",
                              (const char *)list.data, wrong);
}

/* NULL is 0. */
static int read_unique(sqlite3_value *value, bool *unique, pt_error *error)
{
    char shown[PT_DESCRIPTION_SIZE];
    int64_t flag = 0;
    int rc = sqlite3_value_type(value) != SQLITE_NULL ? pt_value_integer(value, &flag) : SQLITE_OK;
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    *unique = flag == 1;
    if (rc == SQLITE_OK && (flag == 0 || flag == 1)) {
        return SQLITE_OK;
    }
    pt_value_describe(value, shown);
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "IsUnique is %s; give 0 or 1", shown);
}

int pt_new_index_read(sqlite3_value **columns, pt_new_index *made, pt_error *error)
{
    const char *list = NULL;
    int rc = refuse_given(columns, error);
    if (rc == SQLITE_OK && sqlite3_value_type(columns[PT_INDEXES_STORE]) != SQLITE_NULL) {
        rc = read_text(columns[PT_INDEXES_STORE], "Store", &made->store, error);
    }
    if (rc == SQLITE_OK) {
        rc = read_text(columns[PT_INDEXES_TABLE], "TableName", &made->table, error);
    }
    if (rc == SQLITE_OK) {
        rc = read_text(columns[PT_INDEXES_COLUMNS], "Columns", &list, error);
    }
    if (rc == SQLITE_OK) { /* first: which columns may be indexed depends on it */
        rc = read_unique(columns[PT_INDEXES_UNIQUE], &made->definition.unique, error);
    }
    if (rc == SQLITE_OK) {
        size_t size = (size_t)sqlite3_value_bytes(columns[PT_INDEXES_COLUMNS]);
        rc = read_columns_list(pt_slice_of(list, size), &made->definition, error);
    }
    return rc;
}

/* --- Making it --- */

static int refuse_present_index(const pt_new_index *made, pt_error *error)
{
    pt_buffer name = {0};
    pt_index_name_from_key(pt_index_definition_key(&made->definition), &name);
    int rc = name.failed
                 ? pt_error_nomem(error)
                 : pt_error_set(error, SQLITE_CONSTRAINT_PRIMARYKEY,
                                "table %Q already has an index on %s; use it, INSERT OR IGNORE, or "
                                "DELETE it first",
                                made->table, (const char *)name.data);
    pt_buffer_free(&name);
    return rc;
}

static int find_indexed_table(pt_view *view, const pt_new_index *made, uint32_t *id,
                              pt_error *error)
{
    PT_ASSERT(view != NULL);
    pt_table_entry entry = {0};
    int rc = pt_table_directory_read(view, made->table, &entry, error);
    if (rc == SQLITE_NOTFOUND) {
        return pt_error_set(error, SQLITE_ERROR,
                            "store %Q has no table %Q; SELECT TableName FROM pt_tables lists its "
                            "tables (TableNotFound)",
                            view->snapshot->store->path, made->table);
    }
    if (rc == SQLITE_OK && entry.kind != PT_TABLE_OF_ENTITIES) {
        return pt_error_set(error, SQLITE_ERROR,
                            "%Q is a queue; only tables of entities have indexes", made->table);
    }
    *id = entry.id;
    return rc;
}

/* Adds the index and its entries, or nothing. */
static int add_and_build(pt_session *session, pt_index_writer *writer, const pt_new_index *made,
                         uint32_t id, pt_error *error)
{
    size_t row = pt_session_begin_row(session);
    int rc = pt_index_directory_add(session, made->table, &made->definition, error);
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_load(writer, session, made->table, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_index_build(
            writer, pt_index_list_find(&writer->list, pt_index_definition_key(&made->definition)),
            id, error);
    }
    return pt_session_finish_catalog_row(session, row, rc);
}

/* Two entities have the same values. Nobody sees one that has expired. */
static int advise_to_purge(pt_view *view, const char *table, pt_error *error)
{
    pt_table_entry entry = {0};
    pt_error ignored = PT_ERROR_NONE;
    int found = pt_table_directory_read(view, table, &entry, &ignored);
    pt_error_clear(&ignored);
    if (found != SQLITE_OK || entry.properties.expires.size == 0) {
        return error->rc;
    }
    pt_error plain = *error;
    *error = PT_ERROR_NONE;
    pt_error_set(error, plain.rc, "%s; if one has expired, SELECT pt_purge(...) deletes it",
                 plain.message);
    pt_error_clear(&plain);
    return error->rc;
}

/* Refuses a column whose name differs in case alone from that of a property. */
static int check_columns(const pt_new_index *made, const pt_declared_tables *declared,
                         const pt_session *session, pt_view *view, uint32_t table_id,
                         pt_error *error)
{
    pt_index_spelling spelling = {.count = 0};
    pt_index_spelling_begin(&spelling, &made->definition);
    pt_declared_tables_spell(declared, session, made->table, &spelling);
    int rc = pt_index_spelling_check(&spelling, view, table_id, made->table, error);
    pt_index_spelling_free(&spelling);
    return rc;
}

int pt_new_index_make(const pt_new_index *made, const pt_declared_tables *declared,
                      pt_session *session, pt_view *view, uint32_t *id, pt_error *error)
{
    uint32_t table_id = 0;
    pt_index_writer writer = {.session = NULL};
    pt_slice key = pt_index_definition_key(&made->definition);
    int rc = find_indexed_table(view, made, &table_id, error);
    if (rc == SQLITE_OK) {
        rc = pt_index_writer_load(&writer, session, made->table, error);
    }
    if (rc == SQLITE_OK && pt_index_list_find(&writer.list, key) != NULL) {
        rc = refuse_present_index(made, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_columns(made, declared, session, view, table_id, error);
    }
    if (rc == SQLITE_OK) {
        rc = add_and_build(session, &writer, made, table_id, error);
        rc = rc == SQLITE_CONSTRAINT_UNIQUE ? advise_to_purge(view, made->table, error) : rc;
    }
    if (rc == SQLITE_OK) {
        *id = pt_index_list_find(&writer.list, key)->id;
    }
    pt_index_writer_free(&writer);
    return rc;
}

void pt_new_index_free(pt_new_index *made)
{
    pt_index_definition_free(&made->definition);
}
