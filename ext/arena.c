#include "arena.h"

#include <stdalign.h>

#include "sqlite.h"

enum { FIRST_CHUNK = 4096, LARGEST_CHUNK = 4 << 20 };

struct pt_arena_chunk {
    pt_arena_chunk *older;
    size_t capacity;
    alignas(max_align_t) uint8_t bytes[];
};

static size_t aligned(size_t size)
{
    size_t unit = alignof(max_align_t);
    return (size + unit - 1) / unit * unit;
}

static size_t next_capacity(const pt_arena *arena, size_t size)
{
    size_t capacity = arena->top == NULL ? FIRST_CHUNK : arena->top->capacity * 2;
    if (capacity > LARGEST_CHUNK) {
        capacity = LARGEST_CHUNK;
    }
    return size > capacity ? size : capacity;
}

void *pt_arena_alloc(pt_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    size = aligned(size);
    if (arena->top == NULL || size > arena->top->capacity - arena->used) {
        size_t capacity = next_capacity(arena, size);
        pt_arena_chunk *chunk = sqlite3_malloc64(sizeof *chunk + capacity);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->older = arena->top;
        chunk->capacity = capacity;
        arena->top = chunk;
        arena->used = 0;
        arena->total += capacity;
    }
    void *memory = arena->top->bytes + arena->used;
    arena->used += size;
    return memory;
}

pt_slice pt_arena_copy(pt_arena *arena, pt_slice slice)
{
    uint8_t *copy = pt_arena_alloc(arena, slice.size + 1);
    if (copy == NULL) {
        return (pt_slice){0};
    }
    if (slice.size != 0) {
        memcpy(copy, slice.data, slice.size);
    }
    copy[slice.size] = 0;
    return pt_slice_of(copy, slice.size);
}

pt_arena_mark pt_arena_position(const pt_arena *arena)
{
    return (pt_arena_mark){.top = arena->top, .used = arena->used};
}

void pt_arena_give_back(pt_arena *arena, pt_arena_mark mark)
{
    while (arena->top != mark.top) {
        pt_arena_chunk *chunk = arena->top;
        arena->top = chunk->older;
        arena->total -= chunk->capacity;
        sqlite3_free(chunk);
    }
    arena->used = mark.used;
}

void pt_arena_clear(pt_arena *arena)
{
    if (arena->top == NULL) {
        return;
    }
    pt_arena_chunk *kept = arena->top;
    pt_arena older = {.top = kept->older};
    pt_arena_give_back(&older, (pt_arena_mark){0});
    kept->older = NULL;
    arena->used = 0;
    arena->total = kept->capacity;
}

void pt_arena_free(pt_arena *arena)
{
    pt_arena_give_back(arena, (pt_arena_mark){0});
}
