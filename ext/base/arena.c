#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/sqlite.h"
#include "base/ways.h"

/* The alignment that sqlite3_malloc promises. */
enum { ALIGNMENT = 8, FIRST_CHUNK = 4096, LARGEST_CHUNK = 16 << 20, LARGEST_KEPT = 4 << 20 };

struct pt_arena_chunk {
    pt_arena_chunk *older;
    size_t capacity;
    uint8_t *bytes; /* `own`, or a piece of the swap file */
    alignas(ALIGNMENT) uint8_t own[];
};

static size_t aligned_size(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t next_chunk_capacity(const pt_arena *arena, size_t size)
{
    size_t capacity = arena->top == NULL ? FIRST_CHUNK : arena->top->capacity * 2;
    if (capacity > LARGEST_CHUNK) {
        capacity = LARGEST_CHUNK;
    }
    return size > capacity ? size : capacity;
}

static bool is_for_swap_file(size_t capacity)
{
    return (capacity >= LARGEST_CHUNK && !PT_WAYS_ARE_GENERAL) || PT_WAYS_ARE_QUICK;
}

/* The chunk is not in the swap file with its bytes: freeing it must not bring a page back. */
static pt_arena_chunk *new_chunk(const pt_arena *arena, size_t capacity)
{
    void *swapped = NULL;
    if (arena->swap != NULL && is_for_swap_file(capacity)) {
        swapped = pt_swap_take(arena->swap, capacity);
    }
    pt_arena_chunk *chunk = sqlite3_malloc64(sizeof *chunk + (swapped == NULL ? capacity : 0));
    if (chunk == NULL) {
        if (swapped != NULL) {
            pt_swap_give_back(arena->swap);
        }
        return NULL;
    }
    if (swapped == NULL) {
        pt_large_pages_ask(chunk, sizeof *chunk + capacity);
    }
    chunk->bytes = swapped != NULL ? swapped : chunk->own;
    chunk->capacity = capacity;
    chunk->older = arena->top;
    return chunk;
}

void *pt_arena_alloc(pt_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) {
        return NULL;
    }
    size = aligned_size(size != 0 ? size : 1);
    if (arena->top == NULL || size > arena->top->capacity - arena->used) {
        size_t capacity = next_chunk_capacity(arena, size);
        pt_arena_chunk *chunk = new_chunk(arena, capacity);
        if (chunk == NULL) {
            return NULL;
        }
        arena->top = chunk;
        arena->used = 0;
        arena->total += capacity;
    }
    void *memory = arena->top->bytes + arena->used;
    arena->used += size;
    return memory;
}

pt_slice pt_arena_copy_with(pt_arena *arena, pt_slice slice, uint8_t byte)
{
    uint8_t *copy = pt_arena_alloc(arena, slice.size + 1);
    if (copy == NULL) {
        return (pt_slice){0};
    }
    if (slice.size != 0) {
        memcpy(copy, slice.data, slice.size);
    }
    copy[slice.size] = byte;
    return pt_slice_of(copy, slice.size + 1);
}

pt_slice pt_arena_copy(pt_arena *arena, pt_slice slice)
{
    pt_slice terminated = pt_arena_copy_with(arena, slice, 0);
    return pt_slice_of(terminated.data, terminated.data != NULL ? slice.size : 0);
}

bool pt_arena_grow(pt_arena *arena, void *array, unsigned *capacity, size_t size)
{
    unsigned larger = *capacity == 0 ? 1 : *capacity * 4;
    void *memory;
    void *moved = pt_arena_alloc(arena, larger * size);
    if (moved == NULL) {
        return false;
    }
    memcpy(&memory, array, sizeof memory);
    if (*capacity != 0) {
        memcpy(moved, memory, *capacity * size);
    }
    memcpy(array, &moved, sizeof moved);
    *capacity = larger;
    return true;
}

static void drop_newest_chunk(pt_arena *arena)
{
    pt_arena_chunk *chunk = arena->top;
    arena->top = chunk->older;
    arena->total -= chunk->capacity;
    if (chunk->bytes != chunk->own) {
        pt_swap_give_back(arena->swap);
    }
    sqlite3_free(chunk);
}

static bool chunk_holds(const pt_arena_chunk *chunk, const void *memory)
{
    uintptr_t first = (uintptr_t)chunk->bytes;
    uintptr_t address = (uintptr_t)memory;
    return address >= first && address < first + chunk->capacity;
}

void pt_arena_give_back(pt_arena *arena, void *memory)
{
    while (!chunk_holds(arena->top, memory)) {
        drop_newest_chunk(arena);
    }
    arena->used = (size_t)((uint8_t *)memory - arena->top->bytes);
}

void pt_arena_clear(pt_arena *arena)
{
    pt_arena_chunk *kept = arena->top;
    if (kept == NULL || kept->capacity > LARGEST_KEPT || PT_WAYS_ARE_QUICK) {
        pt_arena_free(arena);
        return;
    }
    arena->top = kept->older;
    while (arena->top != NULL) {
        drop_newest_chunk(arena);
    }
    kept->older = NULL;
    arena->top = kept;
    arena->used = 0;
    arena->total = kept->capacity;
}

void pt_arena_free(pt_arena *arena)
{
    while (arena->top != NULL) {
        drop_newest_chunk(arena);
    }
    arena->used = 0;
}

/* --- Large pages --- */

enum { LARGE_PAGE = 2 << 20 };

void pt_large_pages_ask(void *memory, size_t size)
{
    uintptr_t before_first = ((uintptr_t)memory + LARGE_PAGE - 1) % LARGE_PAGE;
    size_t skipped = LARGE_PAGE - 1 - (size_t)before_first;
    if (size < skipped + LARGE_PAGE) {
        return;
    }
    size_t whole = (size - skipped) / LARGE_PAGE * LARGE_PAGE;
    madvise((char *)memory + skipped, whole, MADV_HUGEPAGE);
}
