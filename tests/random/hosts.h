/*
 * The main function of a random test: N steps from SEED, divided among hosts (kinds of databases),
 * in a folder that goes with the test. Prints the Test Anything Protocol, one test a host.
 */
#ifndef TESTS_RANDOM_HOSTS_H
#define TESTS_RANDOM_HOSTS_H

#include <stdbool.h>
#include <unistd.h>

#include "fixtures/new_folder.h"
#include "random/environment.h"

/* Runs the steps on a host, prints its line, and returns whether it passed. */
typedef bool (*host_runner)(int number, const char *folder, uint64_t seed, uint64_t steps);

static inline int run_hosts(int hosts, uint64_t default_steps, uint64_t default_seed,
                            host_runner run_host)
{
    uint64_t steps = number_from_environment("N", default_steps);
    uint64_t seed = number_from_environment("SEED", default_seed);
    char *folder = new_folder();
    if (folder == NULL || chdir(folder) != 0) {
        puts("Bail out! no folder");
        exit(1);
    }
    printf("1..%d\n# N=%llu SEED=%llu\n", hosts, (unsigned long long)steps,
           (unsigned long long)seed);
    bool passed = true;
    for (int i = 0; i < hosts; i++) {
        passed = run_host(i, folder, seed, steps / (uint64_t)hosts) && passed;
    }
    rmdir(folder);
    free(folder);
    return passed ? 0 : 1;
}

#endif
