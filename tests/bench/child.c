#include "bench/child.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { ARGUMENTS_MAX = 10 };

/* The child writes to `out` instead of the standard output. */
static pid_t start(const char *const *arguments, int out)
{
    char *argv[ARGUMENTS_MAX] = {(char *)(uintptr_t) "bench"};
    for (unsigned i = 0; arguments[i] != NULL; i++) {
        require(i + 2 < ARGUMENTS_MAX, "a child has too many arguments");
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    }
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    require(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv, environ) == 0,
            "a process cannot be started");
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

unsigned child_run(const char *const *arguments, double numbers[CHILD_NUMBERS])
{
    int ends[2];
    require(pipe(ends) == 0, "no pipe can be made");
    fflush(stdout);
    pid_t pid = start(arguments, ends[1]);
    close(ends[1]);
    FILE *output = fdopen(ends[0], "r");
    require(output != NULL, "out of memory");
    unsigned count = 0;
    while (count < CHILD_NUMBERS && fscanf(output, "%lf", &numbers[count]) == 1) {
        count++;
    }
    fclose(output);
    int status;
    require(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0,
            "a process of the benchmark has failed");
    return count;
}

double child_status_kib(const char *name)
{
    char line[200];
    double kib = 0;
    size_t size = strlen(name);
    FILE *status = fopen("/proc/self/status", "r");
    require(status != NULL, "/proc/self/status cannot be read");
    while (fgets(line, sizeof line, status) != NULL) {
        if (strncmp(line, name, size) == 0 && line[size] == ':') {
            kib = strtod(line + size + 1, NULL);
        }
    }
    fclose(status);
    return kib;
}

double child_peak_kib(void)
{
    return child_status_kib("VmHWM");
}
