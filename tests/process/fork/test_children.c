/*
 * The other processes of tests end with the test, also where that is killed: what goes on alone
 * would use up the machine.
 */
#include "fixtures/child.h"

/* Says that it is there, and would live for ever. */
static void live(int to)
{
    write_all(to, "l", 1);
    for (;;) {
        pause();
    }
}

static void children_end_with_a_parent_that_is_killed(void **state)
{
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t parent = fork_process();
    assert_true(parent >= 0);
    if (parent == 0) {
        fork_process();
        live(ends[1]);
    }
    close(ends[1]);
    char signs[2];
    assert_true(read_all(ends[0], signs, sizeof signs));
    assert_int_equal(kill(parent, SIGKILL), 0);
    assert_int_equal(waitpid(parent, NULL, 0), parent);
    /* The stream ends when nobody can write to it any more. */
    assert_false(read_all(ends[0], signs, 1));
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_end_with_a_parent_that_is_killed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
