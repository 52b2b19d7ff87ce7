#include "transaction/savepoints.h"

#include "base/sqlite.h"

enum { FIRST_CAPACITY = 8 };

bool pt_savepoints_reserve(pt_savepoints *savepoints)
{
    if (savepoints->count < savepoints->capacity) {
        return true;
    }
    size_t capacity = savepoints->capacity == 0 ? FIRST_CAPACITY : savepoints->capacity * 2;
    pt_mark *marks = sqlite3_realloc64(savepoints->marks, capacity * sizeof *marks);
    if (marks == NULL) {
        return false;
    }
    savepoints->marks = marks;
    savepoints->capacity = capacity;
    return true;
}

static const pt_mark *last_mark(const pt_savepoints *savepoints)
{
    static const pt_mark none = {.level = -1, .length = 0};
    return savepoints->count != 0 ? &savepoints->marks[savepoints->count - 1] : &none;
}

static int add_mark(pt_savepoints *savepoints, int level, size_t length)
{
    if (!pt_savepoints_reserve(savepoints)) {
        return SQLITE_NOMEM;
    }
    savepoints->marks[savepoints->count++] = (pt_mark){.level = level, .length = length};
    return pt_savepoints_reserve(savepoints) ? SQLITE_OK : SQLITE_NOMEM;
}

int pt_savepoints_open(pt_savepoints *savepoints, int level, size_t length)
{
    pt_savepoints_release(savepoints, level + 1);
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && last_mark(savepoints)->level < level) {
        int next = last_mark(savepoints)->level + 1;
        rc = add_mark(savepoints, next, next == level ? length : last_mark(savepoints)->length);
    }
    return rc;
}

void pt_savepoints_release(pt_savepoints *savepoints, int level)
{
    while (last_mark(savepoints)->level >= level) {
        savepoints->count--;
    }
}

size_t pt_savepoints_roll_back(pt_savepoints *savepoints, int level)
{
    pt_savepoints_release(savepoints, level + 1);
    bool known = last_mark(savepoints)->level == level;
    return known ? last_mark(savepoints)->length : 0;
}

size_t pt_savepoints_protected(const pt_savepoints *savepoints)
{
    return last_mark(savepoints)->length;
}

void pt_savepoints_clear(pt_savepoints *savepoints)
{
    savepoints->count = 0;
}

void pt_savepoints_free(pt_savepoints *savepoints)
{
    sqlite3_free(savepoints->marks);
    *savepoints = (pt_savepoints){0};
}
