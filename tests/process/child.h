/*
 * Other processes that run this same program: each is started with the name of a role and talks
 * over two pipes.
 */
#ifndef CHILD_H
#define CHILD_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "database.h"

enum { CHILD_ARGUMENTS_MAX = 6 };

typedef struct child {
    pid_t pid;
    int to;   /* the child's standard input */
    int from; /* the child's standard output */
} child;

/* Starts this program as `program role arguments...`; the arguments end with NULL. */
static inline child start_child(const char *role, const char *const *arguments)
{
    int to[2];
    int from[2];
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    char *argv[CHILD_ARGUMENTS_MAX + 3] = {"child", (char *)(uintptr_t)role};
    for (int i = 0; i < CHILD_ARGUMENTS_MAX && arguments[i] != NULL; i++) {
        argv[i + 2] = (char *)(uintptr_t)arguments[i];
    }
    pid_t pid = fork_process();
    assert_true(pid >= 0);
    if (pid == 0) {
        dup2(to[0], STDIN_FILENO);
        dup2(from[1], STDOUT_FILENO);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    return (child){.pid = pid, .to = to[1], .from = from[0]};
}

/* All of it, or false at the end of the stream. */
static inline bool read_all(int fd, void *memory, size_t size)
{
    char *bytes = memory;
    while (size > 0) {
        ssize_t part = read(fd, bytes, size);
        if (part == 0 || (part < 0 && errno != EINTR)) {
            return false;
        }
        if (part > 0) {
            bytes += part;
            size -= (size_t)part;
        }
    }
    return true;
}

static inline bool write_all(int fd, const void *memory, size_t size)
{
    const char *bytes = memory;
    while (size > 0) {
        ssize_t part = write(fd, bytes, size);
        if (part < 0 && errno != EINTR) {
            return false;
        }
        if (part > 0) {
            bytes += part;
            size -= (size_t)part;
        }
    }
    return true;
}

/* Waits for the child's end and returns its status as waitpid gives it. */
static inline int end_of_child(child *ended)
{
    int status = -1;
    close(ended->to);
    close(ended->from);
    while (waitpid(ended->pid, &status, 0) < 0) {
        assert_int_equal(errno, EINTR);
    }
    ended->pid = 0;
    return status;
}

/* The child ends by itself when its input ends, and without complaint. */
static inline void stop_child(child *running)
{
    close(running->to);
    running->to = -1;
    int status = end_of_child(running);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void kill_child(child *running)
{
    assert_int_equal(kill(running->pid, SIGKILL), 0);
    int status = end_of_child(running);
    assert_true(WIFSIGNALED(status));
}

#endif
