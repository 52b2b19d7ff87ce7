#include "catalog/check_tables.h"

#include "base/sqlite.h"

enum { FIRST_CAPACITY = 16 };

/* The place of the first table whose id is not below this one. */
static size_t place_of(const pt_check_tables *tables, uint32_t id)
{
    size_t low = 0;
    size_t high = tables->count;
    /* Ids are mostly met in their order. */
    if (high != 0 && tables->tables[high - 1].id < id) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tables->tables[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

pt_check_table *pt_check_tables_find(pt_check_tables *tables, uint32_t id)
{
    if (tables->last < tables->count && tables->tables[tables->last].id == id) {
        return &tables->tables[tables->last];
    }
    size_t place = place_of(tables, id);
    if (place == tables->count || tables->tables[place].id != id) {
        return NULL;
    }
    tables->last = place;
    return &tables->tables[place];
}

static bool make_room(pt_check_tables *tables)
{
    if (tables->count < tables->capacity) {
        return true;
    }
    size_t capacity = tables->capacity != 0 ? 2 * tables->capacity : FIRST_CAPACITY;
    pt_check_table *larger = sqlite3_realloc64(tables->tables, capacity * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    tables->tables = larger;
    tables->capacity = capacity;
    return true;
}

pt_check_table *pt_check_tables_add(pt_check_tables *tables, uint32_t id)
{
    pt_check_table *found = pt_check_tables_find(tables, id);
    if (found != NULL || !make_room(tables)) {
        return found;
    }
    size_t place = place_of(tables, id);
    pt_check_table *added = &tables->tables[place];
    memmove(added + 1, added, (tables->count - place) * sizeof *added);
    *added = (pt_check_table){.id = id};
    tables->count++;
    tables->last = place;
    return added;
}

void pt_check_tables_free(pt_check_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        sqlite3_free(tables->tables[i].name);
    }
    sqlite3_free(tables->tables);
    *tables = (pt_check_tables){0};
}
