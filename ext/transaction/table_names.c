#include "transaction/table_names.h"

#include <stdlib.h>

#include "base/sqlite.h"

enum { FIRST_CAPACITY = 16 };

static bool make_room(pt_table_names *names)
{
    if (names->count < names->capacity) {
        return true;
    }
    size_t capacity = names->capacity != 0 ? 2 * names->capacity : FIRST_CAPACITY;
    pt_table_name *larger = sqlite3_realloc64(names->names, capacity * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    names->names = larger;
    names->capacity = capacity;
    return true;
}

bool pt_table_names_add(pt_table_names *names, int64_t id, pt_slice name)
{
    if (!make_room(names)) {
        return false;
    }
    size_t offset = names->texts.size;
    pt_buffer_append_slice(&names->texts, name);
    pt_buffer_append_byte(&names->texts, 0);
    if (names->texts.failed) {
        return false;
    }
    names->names[names->count++] = (pt_table_name){id, offset};
    names->sorted = false;
    return true;
}

int pt_table_names_add_all(pt_table_names *names, pt_view *view, pt_error *error)
{
    pt_table_walk walk = {0};
    pt_table_entry entry;
    bool found = true;
    int rc = pt_table_walk_open(&walk, view, (pt_slice){0}, error);
    while (rc == SQLITE_OK && found) {
        rc = pt_table_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found && !pt_table_names_add(names, entry.id, entry.name)) {
            rc = pt_error_nomem(error);
        }
    }
    pt_table_walk_close(&walk);
    return rc;
}

static int compare(const void *a, const void *b)
{
    const pt_table_name *left = a;
    const pt_table_name *right = b;
    if (left->id != right->id) {
        return left->id < right->id ? -1 : 1;
    }
    return (left->offset > right->offset) - (left->offset < right->offset);
}

const char *pt_table_names_find(pt_table_names *names, int64_t id)
{
    if (!names->sorted && names->count != 0) {
        qsort(names->names, names->count, sizeof *names->names, compare);
    }
    names->sorted = true;
    size_t low = 0;
    size_t high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->names[middle].id <= id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool found = low != 0 && names->names[low - 1].id == id;
    return found ? (const char *)names->texts.data + names->names[low - 1].offset : NULL;
}

void pt_table_names_clear(pt_table_names *names)
{
    names->count = 0;
    pt_buffer_clear(&names->texts);
}

void pt_table_names_free(pt_table_names *names)
{
    sqlite3_free(names->names);
    pt_buffer_free(&names->texts);
    *names = (pt_table_names){0};
}
