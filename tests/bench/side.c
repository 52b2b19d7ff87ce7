#include "bench/side.h"

#include <stdio.h>
#include <string.h>

static const bench_side *const all[] = {&side_ordinary,   &side_json, &side_ptable_memory,
                                        &side_ptable_wal, &side_lmdb, &side_floor};

const side_lineup lineup_sql = {all, ARRAY_SIZE(all) - 2};
const side_lineup lineup_all = {all, ARRAY_SIZE(all) - 1};
const side_lineup lineup_floor = {all, ARRAY_SIZE(all)};

void side_folder(const bench_side *side, const char *folder, char path[PATH_SIZE])
{
    char name[40];
    snprintf(name, sizeof name, "%s-%s", side->name, side->host);
    path_join(path, folder, name);
}

const bench_side *side_titled(const char *title)
{
    for (unsigned i = 0; i < lineup_floor.count; i++) {
        if (strcmp(all[i]->title, title) == 0) {
            return all[i];
        }
    }
    fail("there is no side '%s'", title);
}
