#include "service/overlay.h"

#include "entity/key.h"
#include "service/entity_text.h"

void pt_overlay_free(pt_overlay *overlay)
{
    sqlite3_free(overlay->rows);
    pt_page_free(&overlay->sent);
    pt_page_free(&overlay->merged);
    *overlay = (pt_overlay){0};
}

static int compare_keys(const pt_page_entity *a, const pt_page_entity *b)
{
    int order = pt_slice_compare(a->partition, b->partition);
    return order != 0 ? order : pt_slice_compare(a->row, b->row);
}

/* --- Collecting the operations --- */

/* *covered = true if the keys are in the ranges of the scan: a range then begins with them. */
static int is_covered(pt_remote_scan *scan, const pt_remote_operation *operation, bool *covered,
                      pt_error *error)
{
    pt_buffer key = {0};
    pt_interval range = {0};
    pt_key_append(&key, operation->partition, operation->row);
    pt_ranges_step step = PT_RANGE_NOMEM;
    if (!key.failed) {
        step = pt_ranges_next(&scan->ranges, pt_buffer_slice(&key), &range);
    }
    *covered = step == PT_RANGE_FOUND && pt_slice_equal(range.low, pt_buffer_slice(&key));
    pt_buffer_free(&key);
    return step != PT_RANGE_NOMEM ? SQLITE_OK : pt_error_nomem(error);
}

/* Puts a row to its place by the keys of its entity. */
static void place_row(pt_overlay *overlay, pt_overlay_row row)
{
    const pt_page_entity *entities = overlay->sent.entities;
    size_t at = overlay->count++;
    while (at != 0 &&
           compare_keys(&entities[overlay->rows[at - 1].sent], &entities[row.sent]) > 0) {
        overlay->rows[at] = overlay->rows[at - 1];
        at--;
    }
    overlay->rows[at] = row;
}

/* Reads back what the operation will send. */
static int add_row(pt_overlay *overlay, const pt_remote_operation *operation, pt_error *error)
{
    static const pt_bag nothing = {0};
    const pt_overlay_row row = {.mode = operation->mode,
                                .must_exist = operation->etag.data != NULL,
                                .sent = overlay->sent.count};
    pt_buffer text = {0};
    if (operation->mode == PT_WRITE_DELETE) {
        pt_entity_text_append(&text, operation->partition, operation->row, &nothing);
    } else {
        pt_buffer_append_slice(&text, operation->body);
    }
    pt_buffer_append_byte(&text, 0);
    if (text.failed || !pt_array_reserve(&overlay->rows, &overlay->capacity, overlay->count + 1,
                                         sizeof *overlay->rows)) {
        pt_buffer_free(&text);
        return pt_error_nomem(error);
    }
    text.size--;
    int rc = pt_page_add(&overlay->sent, &text, PT_PAGE_OF_ONE, error);
    pt_buffer_free(&text);
    if (rc == SQLITE_OK) {
        place_row(overlay, row);
    }
    return rc;
}

int pt_overlay_refuse_filter(pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "the service judges the Filter, and does not know what the transaction has "
                        "written there; COMMIT first, or compare columns");
}

/* The service would judge an entity that a merge changes as it was before. */
static int judge_by_sqlite(const pt_overlay *overlay, pt_stream_query *query, pt_error *error)
{
    if (overlay->count == 0) {
        return SQLITE_OK;
    }
    pt_filter_parts_clear(query->parts);
    query->any_order = false; /* of entities that are merged with the transaction's */
    return query->filter.data == NULL ? SQLITE_OK : pt_overlay_refuse_filter(error);
}

int pt_overlay_begin(pt_overlay *overlay, pt_remote_scan *scan, pt_error *error)
{
    pt_stream_query *query = &scan->query;
    const pt_remote_pending *pending = &query->service->pending;
    overlay->count = 0;
    overlay->next = 0;
    overlay->ahead = false;
    pt_page_clear(&overlay->sent);
    if (!pt_pending_is_for(pending, query->subject.account, query->subject.table)) {
        return SQLITE_OK;
    }
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < pending->operations.count; i++) {
        const pt_remote_operation operation = pt_remote_operations_at(&pending->operations, i);
        bool covered;
        rc = is_covered(scan, &operation, &covered, error);
        if (rc == SQLITE_OK && covered) {
            rc = add_row(overlay, &operation, error);
        }
    }
    return rc == SQLITE_OK ? judge_by_sqlite(overlay, query, error) : rc;
}

/* --- Merging --- */

static bool add_merged_field(pt_page *merged, const pt_field *field)
{
    if (!pt_array_reserve(&merged->fields, &merged->field_capacity, merged->field_count + 1,
                          sizeof *merged->fields)) {
        return false;
    }
    merged->fields[merged->field_count++] = *field;
    return true;
}

/* The service's entity with the properties that were sent. Its values stay where they are. */
static int merge_entity(pt_overlay *overlay, const pt_page_entity *sent, pt_error *error)
{
    pt_page *merged = &overlay->merged;
    const pt_page_entity *base = overlay->entity;
    size_t hint = 0;
    pt_page_clear(merged);
    bool added =
        pt_array_reserve(&merged->entities, &merged->capacity, 1, sizeof *merged->entities);
    for (size_t i = 0; added && i < base->count; i++) {
        const pt_field *field = &overlay->page->fields[base->first + i];
        if (pt_page_find(&overlay->sent, sent, field->name, &hint) == NULL) {
            added = add_merged_field(merged, field);
        }
    }
    for (size_t i = 0; added && i < sent->count; i++) {
        added = add_merged_field(merged, &overlay->sent.fields[sent->first + i]);
    }
    if (!added) {
        return pt_error_nomem(error);
    }
    merged->entities[0] = (pt_page_entity){
        .partition = sent->partition, .row = sent->row, .count = merged->field_count};
    merged->count = 1;
    return SQLITE_OK;
}

/* The entity after the operation; `there`: the service has it. *entity = NULL if there is none
 * then. */
static int apply_row(pt_overlay *overlay, const pt_overlay_row *row, bool there,
                     const pt_page_entity **entity, const pt_page **page, pt_error *error)
{
    const pt_page_entity *sent = &overlay->sent.entities[row->sent];
    *entity = NULL;
    if (row->mode == PT_WRITE_DELETE || (row->must_exist && !there)) {
        return SQLITE_OK;
    }
    if (row->mode == PT_WRITE_MERGE && there) {
        int rc = merge_entity(overlay, sent, error);
        *entity = rc == SQLITE_OK ? &overlay->merged.entities[0] : NULL;
        *page = &overlay->merged;
        return rc;
    }
    *entity = sent;
    *page = &overlay->sent;
    return SQLITE_OK;
}

/* --- Reading --- */

static int look_ahead(pt_overlay *overlay, pt_remote_scan *scan, pt_error *error)
{
    int rc = SQLITE_OK;
    if (!overlay->ahead) {
        rc = pt_remote_scan_next(scan, &overlay->entity, &overlay->page, error);
    }
    overlay->ahead = rc == SQLITE_OK;
    return rc;
}

/* How the scan's next entity compares with the transaction's: negative if it comes first. */
static int compare_next(const pt_overlay *overlay)
{
    if (overlay->next == overlay->count) {
        return -1;
    }
    const pt_page_entity *sent = &overlay->sent.entities[overlay->rows[overlay->next].sent];
    return overlay->entity != NULL ? compare_keys(overlay->entity, sent) : 1;
}

int pt_overlay_next(pt_overlay *overlay, pt_remote_scan *scan, const pt_page_entity **entity,
                    const pt_page **page, pt_error *error)
{
    for (;;) {
        int rc = look_ahead(overlay, scan, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        int order = compare_next(overlay);
        overlay->ahead = order > 0;
        if (order < 0) {
            *entity = overlay->entity;
            *page = overlay->page;
            return SQLITE_OK;
        }
        const pt_overlay_row *row = &overlay->rows[overlay->next++];
        rc = apply_row(overlay, row, order == 0, entity, page, error);
        if (rc != SQLITE_OK || *entity != NULL) {
            return rc;
        }
    }
}
