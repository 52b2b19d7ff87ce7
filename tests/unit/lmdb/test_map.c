#include "fixtures/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lmdb/map.h"

static size_t size_with(const char *setting, size_t needed)
{
    setenv("PTABLE_MAP_SIZE", setting, 1);
    size_t size = pt_lmdb_map_size(needed);
    unsetenv("PTABLE_MAP_SIZE");
    return size;
}

static void settings_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t size;
    } sizes[] = {{"1048576", 1 << 20}, {"1", 1 << 16},  {"65537", 2 << 16},
                 {"1024K", 1 << 20},   {"3M", 3 << 20}, {"1G", 1 << 30}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(size_with(sizes[i].text, 0), sizes[i].size);
    }
}

static void other_settings_are_ignored(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "K",
                                        "x",
                                        "1X",
                                        "1k",
                                        "1MB",
                                        "1 M",
                                        "-1",
                                        "2T",
                                        "1025G",
                                        "1099511627777",
                                        "99999999999999999999",
                                        "99999999999999999999K"};
    unsetenv("PTABLE_MAP_SIZE");
    size_t usual = pt_lmdb_map_size(0);
    assert_true(usual > (1 << 30));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(size_with(texts[i], 0), usual);
    }
}

static void what_is_needed_comes_first(void **state)
{
    (void)state;
    assert_int_equal(size_with("1M", 5 << 20), 5 << 20);
    assert_int_equal(size_with("1M", (5 << 20) + 1), (5 << 20) + (1 << 16));
    assert_int_equal(size_with("1M", SIZE_MAX / 4), 0);
}

/* Of what a process may have, half is left to it; and if there is too little, there is no map. */
static void little_room_is_shared(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* which have taken more address space for themselves */
#endif
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit narrow = {.rlim_cur = (rlim_t)4 << 30, .rlim_max = before.rlim_max};
    if (setrlimit(RLIMIT_AS, &narrow) != 0 || pt_lmdb_map_size(0) > (size_t)4 << 30) {
        setrlimit(RLIMIT_AS, &before);
        skip();
    }
    size_t size = pt_lmdb_map_size(0);
    size_t most = pt_lmdb_map_size((size_t)3 << 30);
    size_t too_much = pt_lmdb_map_size((size_t)5 << 30);
    size_t asked = size_with("8G", 0);
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(asked, 1 << 30);
    assert_int_equal(size, 1 << 30);
    assert_int_equal(most, (size_t)3 << 30);
    assert_int_equal(too_much, 0);
}

/* Also what does not come from a setting leaves room for many more: stores without end. */
static void a_thousand_maps_leave_room(void **state)
{
    (void)state;
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip();
#endif
    enum { MAPS = 1000 };
    static void *maps[MAPS];
    static size_t sizes[MAPS];
    unsetenv("PTABLE_MAP_SIZE");
    size_t first = pt_lmdb_map_size(0);
    if (first < (size_t)1 << 40) {
        skip(); /* as under valgrind, and where addresses are short */
    }
    for (int i = 0; i < MAPS; i++) {
        sizes[i] = pt_lmdb_map_size(0);
        maps[i] =
            mmap(NULL, sizes[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        assert_ptr_not_equal(maps[i], MAP_FAILED);
        atomic_fetch_add(&pt_lmdb_env_count, 1);
    }
    size_t last = pt_lmdb_map_size(0);
    size_t of_a_large_file = pt_lmdb_map_size((size_t)100 << 30);
    size_t of_a_huge_file = pt_lmdb_map_size((size_t)600 << 30);
    for (int i = 0; i < MAPS; i++) {
        munmap(maps[i], sizes[i]);
        atomic_fetch_sub(&pt_lmdb_env_count, 1);
    }
    printf("# the first map has %zu MiB, the thousandth %zu MiB\n", first >> 20,
           sizes[MAPS - 1] >> 20);
    assert_true(last >= (size_t)1 << 30);
    assert_int_equal(of_a_large_file, (size_t)200 << 30);
    assert_int_equal(of_a_huge_file, (size_t)1 << 40);
    assert_int_equal(pt_lmdb_map_size(0), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),          cmocka_unit_test(other_settings_are_ignored),
        cmocka_unit_test(what_is_needed_comes_first), cmocka_unit_test(little_room_is_shared),
        cmocka_unit_test(a_thousand_maps_leave_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
