/*
 * Which pages of a file have been met: each one should be in use once, or free once.
 */
#ifndef PT_LMDB_PAGE_PAGES_H
#define PT_LMDB_PAGE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pt_lmdb_pages {
    uint64_t count; /* of all pages, the meta pages among them */
    uint8_t *used;  /* a bit each */
    uint8_t *free;
} pt_lmdb_pages;

/* False when out of memory. */
bool pt_lmdb_pages_new(pt_lmdb_pages *pages, uint64_t count);
void pt_lmdb_pages_end(pt_lmdb_pages *pages);

/* All of these are below `count`. */

/* False, and nothing has changed, if one of them is in use already. */
bool pt_lmdb_pages_use(pt_lmdb_pages *pages, uint64_t first, uint64_t count);

/* False if it is free already. */
bool pt_lmdb_pages_set_free(pt_lmdb_pages *pages, uint64_t page);

bool pt_lmdb_pages_is_used(const pt_lmdb_pages *pages, uint64_t page);
bool pt_lmdb_pages_is_free(const pt_lmdb_pages *pages, uint64_t page);

/* How many pages behind the meta pages are neither in use nor free, and the first of them. */
uint64_t pt_lmdb_pages_lost(const pt_lmdb_pages *pages, uint64_t *first);

#endif
