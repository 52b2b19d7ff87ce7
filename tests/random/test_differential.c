/*
 * Random statements on ptables and on ordinary tables: both must give the same rows, the same
 * changes() and the same kind of error. N is the number of steps, SEED the first number of their
 * sequence; with the same two the steps are the same. Prints the Test Anything Protocol.
 */
#include "random/episode.h"

enum { DEFAULT_STEPS = 8000, DEFAULT_SEED = 1 };

static const twin_host hosts[] = {
    {"in memory", NULL, "UTF-8", "memory", false},
    {"WAL file", "wal.db", "UTF-8", "wal", false},
    {"rollback-journal file", "delete.db", "UTF-8", "delete", false},
    {"in memory, UTF-16", NULL, "UTF-16le", "memory", false},
    {"WAL file, UTF-16", "wal16.db", "UTF-16be", "wal", false},
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
