#include "bench/commits.h"

summary commit_often(commit_run *run, unsigned count)
{
    static double seconds[COMMITS_MAX];
    job task = {.work = run->work, .extent = run->extent, .operations = 1};
    require(count <= COMMITS_MAX, "too many commits are measured at once");
    for (unsigned i = 0; i < count; i++) {
        checksum written = {0};
        task.run = run->commits++;
        double start = now();
        run->side->run(run->session, &task, &written);
        seconds[i] = now() - start;
    }
    return summarize(seconds, count);
}
