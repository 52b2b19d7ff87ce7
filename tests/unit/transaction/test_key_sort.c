#include "fixtures/cmocka.h"

#include "fixtures/sample_keys.h"
#include "transaction/key_sort.h"

enum { LARGEST = 20000 };

static sample_key keys[LARGEST];
static pt_sort_item items[LARGEST];

/* How the items lie before they are sorted. */
typedef enum arrangement { SHUFFLED, ASCENDING, DESCENDING, ARRANGEMENTS } arrangement;

static void swap_items(size_t a, size_t b)
{
    pt_sort_item item = items[a];
    items[a] = items[b];
    items[b] = item;
}

static void arrange(size_t count, arrangement how, uint64_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        items[i] =
            (pt_sort_item){.chunk = UINT64_MAX, .pending = sample_pending(sample_slice(&keys[i]))};
    }
    if (how == SHUFFLED) {
        for (size_t i = count; i > 1; i--) {
            swap_items(i - 1, sample_random(seed) % i);
        }
    } else if (how == DESCENDING) {
        for (size_t i = 0; i < count / 2; i++) {
            swap_items(i, count - 1 - i);
        }
    }
}

/* Sorts the first `count` of `keys`, which are in order, from another arrangement. */
static void check_sort(size_t count, arrangement how, uint64_t *seed)
{
    arrange(count, how, seed);
    pt_key_sort(items, count);
    for (size_t i = 0; i < count; i++) {
        assert_true(pt_slice_equal(pt_pending_key(items[i].pending), sample_slice(&keys[i])));
        free(items[i].pending);
    }
}

static void few_keys_of_every_kind(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        for (size_t count = 0; count < 60; count++) {
            size_t distinct = sample_sorted(keys, count, kind, 0, &seed);
            for (arrangement how = 0; how < ARRANGEMENTS; how++) {
                check_sort(distinct, how, &seed);
            }
        }
    }
}

static void many_keys_of_every_kind(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (sample_kind kind = 0; kind < SAMPLE_KINDS; kind++) {
        for (size_t count = 100; count <= LARGEST; count = count * 4 + 1000) {
            size_t distinct =
                sample_sorted(keys, count < LARGEST / 2 ? count : LARGEST, kind, 0, &seed);
            assert_true(distinct > count / 4);
            for (arrangement how = 0; how < ARRANGEMENTS; how++) {
                check_sort(distinct, how, &seed);
            }
        }
    }
}

/* Every key is the beginning of the next one, and chunks of eight bytes hide their lengths. */
static void keys_that_differ_in_length_only(void **state)
{
    (void)state;
    uint64_t seed = 3;
    for (int byte = 0; byte < 256; byte += 255) {
        for (size_t i = 0; i < SAMPLE_KEY_MAX; i++) {
            keys[i].size = i;
            memset(keys[i].bytes, byte, i);
        }
        for (int round = 0; round < 20; round++) {
            check_sort(SAMPLE_KEY_MAX, SHUFFLED, &seed);
        }
    }
}

/* The numbers of one partition: what tables really hold. */
static void numbered_rows(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (size_t i = 0; i < LARGEST; i++) {
        memcpy(keys[i].bytes, "\1Sales\0empid_000000", 19);
        keys[i].size = 19;
        size_t number = i;
        for (size_t at = keys[i].size; number != 0; number /= 10) {
            keys[i].bytes[--at] = (uint8_t)('0' + number % 10);
        }
    }
    for (arrangement how = 0; how < ARRANGEMENTS; how++) {
        check_sort(LARGEST, how, &seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_keys_of_every_kind),
        cmocka_unit_test(many_keys_of_every_kind),
        cmocka_unit_test(keys_that_differ_in_length_only),
        cmocka_unit_test(numbered_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
