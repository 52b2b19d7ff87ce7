/*
 * Memory that is handed out in order and given back in order, from chunks of growing size.
 */
#ifndef PT_BASE_ARENA_H
#define PT_BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"

typedef struct pt_arena_chunk pt_arena_chunk;

typedef struct pt_arena {
    pt_arena_chunk *top; /* newest chunk */
    size_t used;         /* bytes used in it */
    size_t total;        /* bytes of all chunks */
} pt_arena;

/*
 * `size` bytes aligned for pointers, 64-bit integers and doubles; NULL when out of memory. Valid
 * until given back.
 */
void *pt_arena_alloc(pt_arena *arena, size_t size);

/* A copy of the slice with a NUL behind it; data is NULL when out of memory. */
pt_slice pt_arena_copy(pt_arena *arena, pt_slice slice);

/* A copy with one more byte, which counts; data is NULL when out of memory. */
pt_slice pt_arena_copy_with(pt_arena *arena, pt_slice slice, uint8_t byte);

/*
 * Gives back `memory`, which pt_arena_alloc returned, and all that was handed out after it.
 */
void pt_arena_give_back(pt_arena *arena, void *memory);

/* Forgets everything but keeps the newest chunk, unless it is huge, for the next use. */
void pt_arena_clear(pt_arena *arena);

void pt_arena_free(pt_arena *arena);

/*
 * Memory in large pages: memory that fills up from its start takes a page fault for each 2 MiB of
 * it instead of each 4 KiB.
 */

/*
 * Asks the kernel for large pages where they fit into the memory; smaller memory is left alone.
 * What is not touched stays unused, up to the next 2 MiB. A wish: it may have no effect.
 */
void pt_large_pages_ask(void *memory, size_t size);

#endif
