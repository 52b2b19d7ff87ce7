/*
 * Multikey quicksort with a cache: items are partitioned by eight bytes of their keys, taken from a
 * depth that grows where the keys of a part share those bytes. Keys of one partition share long
 * prefixes. A plain comparison sort would compare the prefixes again and again, through pointers
 * that miss the cache.
 */
#include "transaction/key_sort.h"

enum { CHUNK = 8, SMALL = 12 };

/* The eight bytes of the key from `depth` on, as a number. Zeros after the key's end. */
static uint64_t chunk_at(const pt_pending *pending, size_t depth)
{
    uint8_t bytes[CHUNK] = {0};
    pt_slice key = pt_pending_key(pending);
    if (key.size > depth) {
        size_t left = key.size - depth;
        memcpy(bytes, key.data + depth, left < CHUNK ? left : CHUNK);
    }
    return (uint64_t)pt_get_be32(bytes) << 32 | pt_get_be32(bytes + 4);
}

static void load_chunks(pt_sort_item *items, size_t count, size_t depth)
{
    for (size_t i = 0; i < count; i++) {
        items[i].chunk = chunk_at(items[i].pending, depth);
    }
}

static bool precedes(const pt_sort_item *a, const pt_sort_item *b)
{
    if (a->chunk != b->chunk) {
        return a->chunk < b->chunk;
    }
    return pt_slice_compare(pt_pending_key(a->pending), pt_pending_key(b->pending)) < 0;
}

static void insertion_sort(pt_sort_item *items, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        pt_sort_item item = items[i];
        size_t at = i;
        for (; at > 0 && precedes(&item, &items[at - 1]); at--) {
            items[at] = items[at - 1];
        }
        items[at] = item;
    }
}

static void swap_items(pt_sort_item *a, pt_sort_item *b)
{
    pt_sort_item item = *a;
    *a = *b;
    *b = item;
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
    if (a < b) {
        return b < c ? b : (a < c ? c : a);
    }
    return a < c ? a : (b < c ? c : b);
}

/* Of keys with equal chunks, those that end within the chunk sort before those that go on. (The
 * ended keys differ only in trailing zeros.) */
static size_t move_ended_first(pt_sort_item *items, size_t count, size_t depth)
{
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].pending->key_size <= depth + CHUNK) {
            swap_items(&items[i], &items[ended++]);
        }
    }
    return ended;
}

static void sort_by_chunks(pt_sort_item *items, size_t count, size_t depth);

static void sort_equal(pt_sort_item *items, size_t count, size_t depth)
{
    if (count < 2) {
        return;
    }
    size_t ended = move_ended_first(items, count, depth);
    insertion_sort(items, ended);
    load_chunks(items + ended, count - ended, depth + CHUNK);
    sort_by_chunks(items + ended, count - ended, depth + CHUNK);
}

/* All keys are equal before `depth`; the chunks hold the bytes from there on. */
static void sort_by_chunks(pt_sort_item *items, size_t count, size_t depth)
{
    while (count > SMALL) {
        uint64_t pivot = median(items[0].chunk, items[count / 2].chunk, items[count - 1].chunk);
        size_t less = 0;
        size_t greater = count;
        for (size_t i = 0; i < greater;) {
            if (items[i].chunk < pivot) {
                swap_items(&items[i++], &items[less++]);
            } else if (items[i].chunk > pivot) {
                swap_items(&items[i], &items[--greater]);
            } else {
                i++;
            }
        }
        sort_equal(items + less, greater - less, depth);
        /* Recurse into the smaller part, go on with the larger one: the stack stays shallow. */
        if (less < count - greater) {
            sort_by_chunks(items, less, depth);
            items += greater;
            count -= greater;
        } else {
            sort_by_chunks(items + greater, count - greater, depth);
            count = less;
        }
    }
    insertion_sort(items, count);
}

/* The number of bytes that all keys start with: usually a table id and more. */
static size_t shared_prefix(const pt_sort_item *items, size_t count)
{
    pt_slice first = pt_pending_key(items[0].pending);
    size_t shared = first.size;
    for (size_t i = 1; i < count && shared != 0; i++) {
        pt_slice key = pt_pending_key(items[i].pending);
        shared = key.size < shared ? key.size : shared;
        if (memcmp(key.data, first.data, shared) != 0) {
            size_t at = 0;
            while (key.data[at] == first.data[at]) {
                at++;
            }
            shared = at;
        }
    }
    return shared;
}

void pt_key_sort(pt_sort_item *items, size_t count)
{
    if (count > 1) {
        size_t shared = shared_prefix(items, count);
        load_chunks(items, count, shared);
        sort_by_chunks(items, count, shared);
    }
}
