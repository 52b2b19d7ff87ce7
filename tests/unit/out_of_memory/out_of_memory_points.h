/*
 * Where memory can run out in a script: its allocations are numbered, SQLite's and the others
 * apart, and known by the calls that led to them and the step they were made in.
 */
#ifndef TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_POINTS_H
#define TESTS_UNIT_OUT_OF_MEMORY_OUT_OF_MEMORY_POINTS_H

#include <execinfo.h>

#include "unit/out_of_memory/out_of_memory_scripts.h"

enum { STACK_DEPTH = 100, PLACES_SEEN_MAX = 1 << 18 };

typedef struct allocation {
    uint64_t place; /* the same for the same calls in the same step */
    int number;     /* from 0 */
} allocation;

typedef struct allocation_list {
    allocation *items;
    int count;
} allocation_list;

/* One thing to try. */
typedef struct memory_point {
    const memory_script *script;
    host_kind host;
    bool elsewhere;  /* it is not SQLite's allocator that fails */
    bool persistent; /* the later allocations fail too */
    int number;
} memory_point;

/* --- Seeing the allocations of a run: the lists' own memory is not counted --- */

static allocation_list recorded[2]; /* SQLite's, others */
static uint64_t recorded_step;

static uint64_t mixed(uint64_t sum, uint64_t value)
{
    return (sum ^ value) * UINT64_C(0x100000001b3);
}

static int calls_of_place; /* 0: all, and the step */

static uint64_t this_place(void)
{
    void *calls[STACK_DEPTH];
    bool short_of = calls_of_place > 0 && calls_of_place < STACK_DEPTH;
    int depth = backtrace(calls, short_of ? calls_of_place : STACK_DEPTH);
    uint64_t place = mixed(UINT64_C(0xcbf29ce484222325), calls_of_place > 0 ? 0 : recorded_step);
    for (int i = 0; i < depth; i++) {
        place = mixed(place, (uint64_t)(uintptr_t)calls[i]);
    }
    return place;
}

static void append_allocation(allocation_list *list, uint64_t place)
{
    if ((list->count & (list->count - 1)) == 0) {
        size_t room = list->count == 0 ? 1 : 2 * (size_t)list->count;
        list->items = library()->realloc(list->items, room * sizeof *list->items);
        assert_non_null(list->items);
    }
    list->items[list->count] = (allocation){.place = place, .number = list->count};
    list->count++;
}

static void record_allocation(bool elsewhere)
{
    int countdown = pause_failing();
    append_allocation(&recorded[elsewhere], this_place());
    resume_failing(countdown);
}

static void begin_recording(void)
{
    recorded[0].count = 0;
    recorded[1].count = 0;
    failing_malloc_watch = record_allocation;
}

static void end_recording(void)
{
    failing_malloc_watch = NULL;
}

static void forget_recorded(void)
{
    library()->free(recorded[0].items);
    library()->free(recorded[1].items);
}

/* --- Choosing --- */

static int compare_places(const void *a, const void *b)
{
    const allocation *one = a;
    const allocation *other = b;
    if (one->place != other->place) {
        return one->place < other->place ? -1 : 1;
    }
    return one->number - other->number;
}

static int compare_numbers(const void *a, const void *b)
{
    return ((const allocation *)a)->number - ((const allocation *)b)->number;
}

/*
 * Keeps of each place's allocations at most `most`, the first and others evenly spread; sets
 * *places.
 */
static void thin_out(allocation_list *list, int most, int *places)
{
    int kept = 0;
    *places = 0;
    qsort(list->items, (size_t)list->count, sizeof *list->items, compare_places);
    for (int from = 0, to; from < list->count; from = to) {
        for (to = from + 1; to < list->count && list->items[to].place == list->items[from].place;) {
            to++;
        }
        int count = to - from;
        int wanted = count < most ? count : most;
        for (int i = 0; i < wanted; i++) {
            list->items[kept++] = list->items[from + (int)((int64_t)i * count / wanted)];
        }
        ++*places;
    }
    list->count = kept;
    qsort(list->items, (size_t)kept, sizeof *list->items, compare_numbers);
}

/* True if this is the first call for the place. */
static bool is_new_place(uint64_t place)
{
    static uint64_t seen[PLACES_SEEN_MAX];
    size_t at = place % PLACES_SEEN_MAX;
    for (int tries = 0; tries < PLACES_SEEN_MAX && seen[at] != 0; tries++) {
        if (seen[at] == place) {
            return false;
        }
        at = (at + 1) % PLACES_SEEN_MAX;
    }
    seen[at] = place;
    return true;
}

#endif
