#include "side.h"

#include <stdio.h>
#include <string.h>

static const side *const all[] = {&side_ordinary, &side_json, &side_ptable_memory, &side_ptable_wal,
                                  &side_lmdb};

const lineup lineup_all = {all, ARRAY_SIZE(all)};

void side_folder(const side *side, const char *folder, char path[PATH_SIZE])
{
    char name[40];
    snprintf(name, sizeof name, "%s-%s", side->name, side->host);
    path_join(path, folder, name);
}

const side *side_titled(const char *title)
{
    for (unsigned i = 0; i < lineup_all.count; i++) {
        if (strcmp(all[i]->title, title) == 0) {
            return all[i];
        }
    }
    fail("there is no side '%s'", title);
}
