#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "lmdb_map.h"

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
    setrlimit(RLIMIT_AS, &before);
    assert_int_equal(size, 1 << 30);
    assert_int_equal(most, (size_t)3 << 30);
    assert_int_equal(too_much, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read),
        cmocka_unit_test(other_settings_are_ignored),
        cmocka_unit_test(what_is_needed_comes_first),
        cmocka_unit_test(little_room_is_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
