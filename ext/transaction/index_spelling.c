#include "transaction/index_spelling.h"

#include "base/text.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "entity/record.h"
#include "transaction/scan.h"

void pt_index_spelling_begin(pt_index_spelling *spelling, const pt_index_definition *definition)
{
    pt_slice rest = pt_index_definition_key(definition);
    pt_slice name;
    pt_arena_clear(&spelling->arena);
    spelling->count = 0;
    while (pt_index_next_name(&rest, &name)) {
        spelling->columns[spelling->count].name = name;
        spelling->columns[spelling->count].other = pt_slice_of(NULL, 0);
        spelling->columns[spelling->count].known =
            pt_find_system_property(name) != PT_SYSTEM_PROPERTIES;
        spelling->count++;
    }
}

static bool differs_in_case(pt_slice a, pt_slice b)
{
    return a.size == b.size &&
           sqlite3_strnicmp((const char *)a.data, (const char *)b.data, (int)a.size) == 0;
}

void pt_index_spelling_add(pt_index_spelling *spelling, pt_slice property)
{
    for (unsigned i = 0; i < spelling->count; i++) {
        pt_slice name = spelling->columns[i].name;
        bool same = pt_slice_equal(name, property);
        spelling->columns[i].known = spelling->columns[i].known || same;
        if (!same && spelling->columns[i].other.size == 0 && differs_in_case(name, property)) {
            spelling->columns[i].other = pt_arena_copy(&spelling->arena, property);
            spelling->failed = spelling->failed || spelling->columns[i].other.data == NULL;
        }
    }
}

void pt_index_spelling_add_columns(pt_index_spelling *spelling, const pt_column *columns, int count)
{
    for (int i = 0; i < count; i++) {
        pt_index_spelling_add(spelling, pt_slice_of(columns[i].name, columns[i].name_size));
    }
}

static bool knows_all(const pt_index_spelling *spelling)
{
    unsigned i = 0;
    while (i < spelling->count && spelling->columns[i].known) {
        i++;
    }
    return i == spelling->count;
}

/* --- Entities --- */

static int spell_shape(pt_index_spelling *spelling, const pt_shape *shape, pt_error *error)
{
    for (unsigned i = 0; i < shape->count; i++) {
        pt_index_spelling_add(spelling, shape->properties[i].name);
    }
    return spelling->failed ? pt_error_nomem(error) : SQLITE_OK;
}

/* Adds the properties of an entity, unless it has the same shape as the one before. */
static int spell_entity(pt_index_spelling *spelling, const pt_scan *scan, pt_buffer *scratch,
                        uint16_t *shape_id, pt_error *error)
{
    pt_shape_source source = pt_dictionary_source(scan->view->snapshot->store->dictionary);
    pt_record record = {0};
    int rc = pt_record_open(&record, scan->key, scan->record, &source, scratch);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(scan->key, error);
    }
    if (record.shape->id == 0 || record.shape->id != *shape_id) {
        rc = spell_shape(spelling, record.shape, error);
    }
    *shape_id = record.shape->id;
    return rc;
}

static int open_entities(pt_scan *scan, pt_view *view, uint32_t table_id, pt_error *error)
{
    pt_key_start start = pt_key_start_of_table(table_id);
    pt_key_start end = pt_key_start_after(start);
    int rc = pt_scan_open(scan, view, error);
    if (rc == SQLITE_OK) {
        rc = pt_scan_seek(scan, pt_key_start_slice(&start), pt_key_start_slice(&end), PT_FORWARD,
                          error);
    }
    return rc;
}

static int spell_entities(pt_index_spelling *spelling, pt_scan *scan, pt_error *error)
{
    pt_buffer scratch = {0};
    uint16_t shape_id = 0;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && scan->valid && !knows_all(spelling)) {
        rc = spell_entity(spelling, scan, &scratch, &shape_id, error);
        rc = rc == SQLITE_OK ? pt_view_step(scan->view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(scan, error) : rc;
    }
    pt_buffer_free(&scratch);
    return rc;
}

/* --- Checking --- */

static int refuse_misspelled(const pt_index_spelling *spelling, const char *table, pt_error *error)
{
    for (unsigned i = 0; i < spelling->count; i++) {
        pt_slice name = spelling->columns[i].name;
        pt_slice other = spelling->columns[i].other;
        if (!spelling->columns[i].known && other.size != 0) {
            return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                                "table %Q has no property '%.*q', but '%.*q', and names of "
                                "properties are case-sensitive; write '%.*q', or declare a column "
                                "'%.*q' if entities will have it",
                                table, (int)name.size, (const char *)name.data, (int)other.size,
                                (const char *)other.data, (int)other.size, (const char *)other.data,
                                (int)name.size, (const char *)name.data);
        }
    }
    return SQLITE_OK;
}

int pt_index_spelling_check(pt_index_spelling *spelling, pt_view *view, uint32_t table_id,
                            const char *table, pt_error *error)
{
    pt_scan scan = {0};
    int rc = spelling->failed ? pt_error_nomem(error) : SQLITE_OK;
    if (rc == SQLITE_OK && !knows_all(spelling)) {
        rc = open_entities(&scan, view, table_id, error);
        rc = rc == SQLITE_OK ? spell_entities(spelling, &scan, error) : rc;
    }
    pt_scan_free(&scan);
    return rc == SQLITE_OK ? refuse_misspelled(spelling, table, error) : rc;
}

void pt_index_spelling_free(pt_index_spelling *spelling)
{
    pt_arena_free(&spelling->arena);
}

int pt_index_check_spelling(const pt_index_definition *definition, const pt_column *columns,
                            int count, pt_view *view, uint32_t table_id, const char *table,
                            pt_error *error)
{
    pt_index_spelling spelling = {.count = 0};
    pt_index_spelling_begin(&spelling, definition);
    pt_index_spelling_add_columns(&spelling, columns, count);
    int rc = pt_index_spelling_check(&spelling, view, table_id, table, error);
    pt_index_spelling_free(&spelling);
    return rc;
}
