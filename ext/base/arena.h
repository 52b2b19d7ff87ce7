/*
 * An arena: allocations from chunks of growing size, freed in the reverse order or all at once.
 */
#ifndef PT_BASE_ARENA_H
#define PT_BASE_ARENA_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/swap_file.h"

typedef struct pt_arena_chunk pt_arena_chunk;

typedef struct pt_arena {
    pt_arena_chunk *top; /* newest chunk */
    size_t used;         /* bytes used in it */
    size_t total;        /* bytes of all chunks */
    pt_swap_file *swap;  /* gives the largest chunks, as long as it can; NULL: the heap gives all */
} pt_arena;

/*
 * Returns `size` bytes that are aligned for pointers, 64-bit integers and doubles; NULL when out of
 * memory. They are valid until they are given back.
 */
void *pt_arena_alloc(pt_arena *arena, size_t size);

/* Returns a copy of the slice, followed by a NUL; its data is NULL when out of memory. */
pt_slice pt_arena_copy(pt_arena *arena, pt_slice slice);

/* Returns a copy that is longer by one byte; its data is NULL when out of memory. */
pt_slice pt_arena_copy_with(pt_arena *arena, pt_slice slice, uint8_t byte);

/* For pt_arena_reserve. */
bool pt_arena_grow(pt_arena *arena, void *array, unsigned *capacity, size_t size);

/*
 * Makes room for one element more in an array of `count` elements of `size` bytes, and sets its
 * capacity. `array` points to the pointer to its memory, which is in the arena, or NULL. The array
 * may move. Returns false when out of memory; then nothing has changed.
 */
static inline bool pt_arena_reserve(pt_arena *arena, void *array, unsigned *capacity,
                                    unsigned count, size_t size)
{
    return count < *capacity || pt_arena_grow(arena, array, capacity, size);
}

/* Gives back `memory`, which pt_arena_alloc returned, and everything allocated after it. */
void pt_arena_give_back(pt_arena *arena, void *memory);

/* Gives everything back. Keeps the newest chunk for the next use, unless it is huge. */
void pt_arena_clear(pt_arena *arena);

void pt_arena_free(pt_arena *arena);

/*
 * Asks the kernel to back the memory with pages of 2 MiB where they fit. Memory that fills up from
 * its start then takes one page fault for each 2 MiB instead of each 4 KiB. Pages that are not
 * touched still use no memory. The kernel may ignore the request.
 */
void pt_large_pages_ask(void *memory, size_t size);

#endif
