/*
 * Memory that is handed out in order and given back in order, from chunks of growing size.
 */
#ifndef PT_ARENA_H
#define PT_ARENA_H

#include "bytes.h"

typedef struct pt_arena_chunk pt_arena_chunk;

typedef struct pt_arena {
    pt_arena_chunk *top; /* newest chunk */
    size_t used;         /* bytes used in it */
    size_t total;        /* bytes of all chunks */
} pt_arena;

typedef struct pt_arena_mark {
    pt_arena_chunk *top;
    size_t used;
} pt_arena_mark;

/* `size` bytes aligned for any type; NULL when out of memory. Valid until given back. */
void *pt_arena_alloc(pt_arena *arena, size_t size);

/* A copy of the slice with a NUL behind it; data is NULL when out of memory. */
pt_slice pt_arena_copy(pt_arena *arena, pt_slice slice);

/* Where the arena stands; giving back to it frees what was handed out since. */
pt_arena_mark pt_arena_position(const pt_arena *arena);
void pt_arena_give_back(pt_arena *arena, pt_arena_mark mark);

/* Forgets everything but keeps the newest chunk for the next use. */
void pt_arena_clear(pt_arena *arena);

void pt_arena_free(pt_arena *arena);

#endif
