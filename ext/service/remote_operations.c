#include "service/remote_operations.h"

#include "base/sqlite.h"

/* True if the entity comes after those of all operations. */
static bool is_after_all(const pt_remote_operations *list, pt_slice partition, pt_slice row)
{
    if (list->count == 0 || list->disordered) {
        return list->count == 0;
    }
    const pt_remote_operation last = pt_remote_operations_at(list, list->count - 1);
    int order = pt_slice_compare(last.partition, partition);
    return order < 0 || (order == 0 && pt_slice_compare(last.row, row) < 0);
}

bool pt_remote_operations_add(pt_remote_operations *list, const pt_remote_operation *operation)
{
    size_t start = list->texts.size;
    bool ordered = is_after_all(list, operation->partition, operation->row);
    if (!pt_array_reserve(&list->kept, &list->capacity, list->count + 1, sizeof *list->kept)) {
        return false;
    }
    pt_buffer_append_slice(&list->texts, operation->partition);
    pt_buffer_append_slice(&list->texts, operation->row);
    pt_buffer_append_slice(&list->texts, operation->etag);
    pt_buffer_append_slice(&list->texts, operation->body);
    if (list->texts.failed) {
        list->texts.failed = false;
        list->texts.size = start;
        return false;
    }
    list->disordered = !ordered;
    list->kept[list->count++] = (pt_kept_operation){.operation = *operation, .start = start};
    return true;
}

/* Sets the bytes of a slice. One without data stays so. */
static const uint8_t *place_text(pt_slice *text, const uint8_t *bytes)
{
    if (text->data != NULL) {
        text->data = bytes;
    }
    return bytes + text->size;
}

pt_remote_operation pt_remote_operations_at(const pt_remote_operations *list, size_t place)
{
    static const uint8_t nothing[1] = {0}; /* for a list of empty texts */
    const pt_kept_operation *kept = &list->kept[place];
    pt_remote_operation operation = kept->operation;
    const uint8_t *bytes = list->texts.data != NULL ? list->texts.data + kept->start : nothing;
    operation.partition.data = bytes;
    bytes += operation.partition.size;
    operation.row.data = bytes;
    bytes += operation.row.size;
    bytes = place_text(&operation.etag, bytes);
    place_text(&operation.body, bytes);
    return operation;
}

bool pt_remote_operations_find(const pt_remote_operations *list, pt_slice partition, pt_slice row,
                               size_t *place)
{
    size_t count = is_after_all(list, partition, row) ? 0 : list->count;
    for (size_t i = 0; i < count; i++) {
        const pt_remote_operation at = pt_remote_operations_at(list, i);
        if (pt_slice_equal(at.row, row) && pt_slice_equal(at.partition, partition)) {
            *place = i;
            return true;
        }
    }
    return false;
}

bool pt_remote_operations_have(const pt_remote_operations *list, pt_slice partition, pt_slice row,
                               pt_slice etag)
{
    size_t place;
    return pt_remote_operations_find(list, partition, row, &place) &&
           (etag.data == NULL || pt_slice_equal(pt_remote_operations_at(list, place).etag, etag));
}

void pt_remote_operations_remove(pt_remote_operations *list, size_t place)
{
    list->count--;
    memmove(&list->kept[place], &list->kept[place + 1], (list->count - place) * sizeof *list->kept);
}

void pt_remote_operations_cut(pt_remote_operations *list, size_t count)
{
    if (count < list->count) {
        list->texts.size = list->kept[count].start;
        list->count = count;
    }
}

void pt_remote_operations_free(pt_remote_operations *list)
{
    sqlite3_free(list->kept);
    pt_buffer_free(&list->texts);
    *list = (pt_remote_operations){0};
}
