#include "lmdb/page/pages.h"

#include <string.h>

#include "base/sqlite.h"
#include "lmdb/page/page.h"

bool pt_lmdb_pages_new(pt_lmdb_pages *pages, uint64_t count)
{
    size_t size = (size_t)(count / 8 + 1);
    *pages = (pt_lmdb_pages){.count = count, .used = sqlite3_malloc64(2 * size)};
    if (pages->used == NULL) {
        return false;
    }
    memset(pages->used, 0, 2 * size);
    pages->free = pages->used + size;
    return true;
}

void pt_lmdb_pages_end(pt_lmdb_pages *pages)
{
    sqlite3_free(pages->used);
    *pages = (pt_lmdb_pages){0};
}

static bool has(const uint8_t *bits, uint64_t page)
{
    return (bits[page / 8] >> page % 8 & 1) != 0;
}

static void set(uint8_t *bits, uint64_t page)
{
    bits[page / 8] = (uint8_t)(bits[page / 8] | 1u << page % 8);
}

bool pt_lmdb_pages_use(pt_lmdb_pages *pages, uint64_t first, uint64_t count)
{
    for (uint64_t page = first; page < first + count; page++) {
        if (has(pages->used, page)) {
            return false;
        }
    }
    for (uint64_t page = first; page < first + count; page++) {
        set(pages->used, page);
    }
    return true;
}

bool pt_lmdb_pages_set_free(pt_lmdb_pages *pages, uint64_t page)
{
    bool known = has(pages->free, page);
    set(pages->free, page);
    return !known;
}

bool pt_lmdb_pages_is_used(const pt_lmdb_pages *pages, uint64_t page)
{
    return has(pages->used, page);
}

bool pt_lmdb_pages_is_free(const pt_lmdb_pages *pages, uint64_t page)
{
    return has(pages->free, page);
}

uint64_t pt_lmdb_pages_lost(const pt_lmdb_pages *pages, uint64_t *first)
{
    uint64_t lost = 0;
    for (uint64_t page = PT_LMDB_METAS; page < pages->count; page++) {
        if (!has(pages->used, page) && !has(pages->free, page)) {
            *first = lost == 0 ? page : *first;
            lost++;
        }
    }
    return lost;
}
