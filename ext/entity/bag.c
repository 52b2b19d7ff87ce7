#include "entity/bag.h"

#include "base/buffer.h"
#include "base/sqlite.h"

void pt_bag_clear(pt_bag *bag)
{
    bag->count = 0;
    pt_arena_clear(&bag->arena);
}

void pt_bag_free(pt_bag *bag)
{
    sqlite3_free(bag->fields);
    pt_arena_free(&bag->arena);
    *bag = (pt_bag){0};
}

bool pt_bag_reserve(pt_bag *bag, unsigned capacity)
{
    return pt_array_reserve(&bag->fields, &bag->capacity, capacity, sizeof *bag->fields);
}

bool pt_bag_append(pt_bag *bag, const pt_field *field)
{
    if (!pt_bag_reserve(bag, bag->count + 1)) {
        return false;
    }
    bag->fields[bag->count++] = *field;
    return true;
}

bool pt_bag_set(pt_bag *bag, const pt_field *field)
{
    pt_field *present = pt_bag_find(bag, field->name);
    if (field->value.type == PT_NONE) {
        if (present != NULL) {
            unsigned after = (unsigned)(bag->fields + bag->count - present) - 1;
            memmove(present, present + 1, after * sizeof *present);
            bag->count--;
        }
        return true;
    }
    if (present != NULL) {
        *present = *field;
        return true;
    }
    return pt_bag_append(bag, field);
}

pt_field *pt_bag_find(const pt_bag *bag, pt_slice name)
{
    for (unsigned i = 0; i < bag->count; i++) {
        if (pt_slice_equal(bag->fields[i].name, name)) {
            return &bag->fields[i];
        }
    }
    return NULL;
}
