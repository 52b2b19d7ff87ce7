/*
 * Random statements on ptables with unique indexes, and on ordinary tables with the same: both must
 * refuse, ignore and replace the same rows. Indexes are made and dropped between the statements,
 * and statements prepared before are run again. After each transaction pt_check compares all
 * entries with the entities. N is the number of steps, SEED the first number of their sequence.
 * Prints the Test Anything Protocol.
 */
#include "random/episode.h"

enum { DEFAULT_STEPS = 5000, DEFAULT_SEED = 1 };

static const twin_host hosts[] = {
    {"in memory", NULL, "UTF-8", "memory", true},
    {"WAL file", "wal.db", "UTF-8", "wal", true},
    {"rollback-journal file", "delete.db", "UTF-8", "delete", true},
    {"in memory, UTF-16", NULL, "UTF-16le", "memory", true},
};

enum { HOSTS = sizeof hosts / sizeof hosts[0] };

static bool run_host(int number, const char *folder, uint64_t seed, uint64_t steps)
{
    return run_episodes(hosts, HOSTS, number, folder, seed, steps);
}

int main(void)
{
    return run_hosts(HOSTS, DEFAULT_STEPS, DEFAULT_SEED, run_host);
}
