#include "bench/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READS_AT_ONCE = 32, FIRST_PARTITION = 900000, POLL_NS = 1000000 };

#define READ "point query, 1 column, random"

typedef struct crew_worker {
    const crew_plan *crew;
    unsigned number;
    struct crew_board *board;
    uint64_t operations;
    double longest;
} crew_worker;

/* In memory that processes share. */
typedef struct crew_board {
    atomic_uint ready;
    atomic_bool started;
    atomic_bool stopped;
    crew_worker workers[WORKERS_MAX];
} crew_board;

static void pause_shortly(void)
{
    nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
}

/* --- A worker --- */

static bool is_reader(const crew_worker *self)
{
    return self->number < self->crew->readers;
}

/* The partition is one that no other writer has ever had. */
static job first_job(const crew_worker *self)
{
    if (is_reader(self)) {
        return (job){.work = workload_named(READ),
                     .extent = self->crew->extent,
                     .operations = READS_AT_ONCE,
                     .run = self->number << 24};
    }
    return (job){.work = self->crew->writes,
                 .extent = self->crew->extent,
                 .operations = 1,
                 .partition = FIRST_PARTITION + self->crew->number * WORKERS_MAX + self->number};
}

static void work_on(crew_worker *self, void *session, job *task)
{
    checksum found = {0};
    double start = now();
    self->crew->side->run(session, task, &found);
    double seconds = now() - start;
    require(found.rows == task->operations, "a worker has missed a row");
    self->operations += task->operations;
    self->longest = seconds > self->longest ? seconds : self->longest;
    task->run++;
}

/* The first work, which warms the caches, does not count. */
static void work(crew_worker *self)
{
    job task = first_job(self);
    void *session = self->crew->side->open(&(side_opening){
        .folder = self->crew->folder, .durability = self->crew->writes->durability});
    work_on(self, session, &task);
    self->operations = 0;
    self->longest = 0;
    atomic_fetch_add(&self->board->ready, 1);
    while (!atomic_load(&self->board->started)) {
        pause_shortly();
    }
    while (!atomic_load(&self->board->stopped)) {
        work_on(self, session, &task);
    }
    self->crew->side->close(session);
}

/* --- All of them --- */

static void *work_in_thread(void *argument)
{
    work(argument);
    return NULL;
}

static pthread_t start_thread(crew_worker *worker)
{
    pthread_t thread;
    require(pthread_create(&thread, NULL, work_in_thread, worker) == 0,
            "a thread cannot be started");
    return thread;
}

/* The process leaves what its parent has to do at its end to the parent. */
static pid_t start_process(crew_worker *worker)
{
    pid_t pid = fork();
    require(pid >= 0, "a process cannot be started");
    if (pid == 0) {
        work(worker);
        _exit(EXIT_SUCCESS);
    }
    return pid;
}

static void end_process(pid_t pid)
{
    int status;
    require(waitpid(pid, &status, 0) == pid && status == 0, "a worker has failed");
}

/* Returns the seconds between the start and the stop. */
static double conduct(crew_board *board, unsigned workers, double seconds)
{
    while (atomic_load(&board->ready) < workers) {
        pause_shortly();
    }
    double start = now();
    atomic_store(&board->started, true);
    while (now() - start < seconds) {
        pause_shortly();
    }
    atomic_store(&board->stopped, true);
    return now() - start;
}

static double run_crew(const crew_plan *crew, crew_board *board, unsigned workers, double seconds)
{
    pthread_t threads[WORKERS_MAX];
    pid_t processes[WORKERS_MAX];
    for (unsigned i = 0; i < workers; i++) {
        board->workers[i] = (crew_worker){.crew = crew, .number = i, .board = board};
        if (crew->processes) {
            processes[i] = start_process(&board->workers[i]);
        } else {
            threads[i] = start_thread(&board->workers[i]);
        }
    }
    double worked = conduct(board, workers, seconds);
    for (unsigned i = 0; i < workers; i++) {
        if (crew->processes) {
            end_process(processes[i]);
        } else {
            pthread_join(threads[i], NULL);
        }
    }
    return worked;
}

crew_result crew_work(const crew_plan *crew, double seconds)
{
    unsigned workers = crew->readers + crew->writers;
    crew_result result = {0};
    require(workers <= WORKERS_MAX, "a crew is too large");
    crew_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(board != MAP_FAILED, "out of memory");
    double worked = run_crew(crew, board, workers, seconds);
    for (unsigned i = 0; i < workers; i++) {
        const crew_worker *worker = &board->workers[i];
        if (is_reader(worker)) {
            result.reads += (double)worker->operations / worked;
        } else {
            result.writes += (double)worker->operations / worked;
            result.longest = worker->longest > result.longest ? worker->longest : result.longest;
        }
    }
    munmap(board, sizeof *board);
    return result;
}
