/*
 * Faults of files: which system call on the files of a folder fails, how, and for how long. The
 * calls are those of the process, SQLite's and LMDB's as well as our own; only calls of the thread
 * that armed the fault are counted and fail.
 */
#ifndef TESTS_PROCESS_IO_IO_FAULTS_H
#define TESTS_PROCESS_IO_IO_FAULTS_H

#include "faults/system_calls.h"

enum {
    IO_PATH_SIZE = 64,
    IO_CALLS_MAX = 1 << 18,
    BURST = 3,
    DESCRIPTORS = 256,
    CALL_KINDS = CALL_CLOSE + 1
};

#define ON(kind) (1u << CALL_##kind)
#define ON_CHANGES (ON(WRITE) | ON(SYNC) | ON(SIZE) | ON(ROOM) | ON(NAME))

typedef struct io_fault {
    const char *name;
    int error;      /* 0: the transfer is cut short by half */
    bool made;      /* the call takes effect, and fails */
    bool recurs;    /* may last; otherwise it comes once or as a burst */
    unsigned kinds; /* of calls that fail so */
} io_fault;

static const io_fault io_faults[] = {
    {"EIO", EIO, false, true, ON_CHANGES | ON(OPEN) | ON(READ) | ON(LOOK) | ON(LOCK) | ON(CLOSE)},
    {"EIO, but done", EIO, true, true, ON_CHANGES},
    {"ENOSPC", ENOSPC, false, true, ON_CHANGES | ON(OPEN)},
    {"EDQUOT", EDQUOT, false, true, ON(WRITE) | ON(SIZE) | ON(ROOM) | ON(NAME) | ON(OPEN)},
    {"EFBIG", EFBIG, false, true, ON(WRITE) | ON(SIZE) | ON(ROOM)},
    {"EINTR", EINTR, false, false,
     ON(OPEN) | ON(READ) | ON(WRITE) | ON(SYNC) | ON(SIZE) | ON(ROOM) | ON(LOCK) | ON(UNLOCK) |
         ON(CLOSE)},
    {"short", 0, false, true, ON(READ) | ON(WRITE)},
    {"EMFILE", EMFILE, false, true, ON(OPEN)},
    {"EACCES", EACCES, false, true, ON(OPEN) | ON(NAME) | ON(LOOK)},
    {"ENOLCK", ENOLCK, false, true, ON(LOCK)},
    {"EAGAIN", EAGAIN, false, false, ON(LOCK)},
    {"ENOMEM", ENOMEM, false, true, ON(MAP)},
};

enum { IO_FAULTS = sizeof io_faults / sizeof io_faults[0] };

static const char *const io_kind_names[CALL_KINDS] = {
    "open", "read", "write", "sync",   "size", "room",
    "name", "look", "lock",  "unlock", "map",  "close",
};

/* Whose file a call is on. */
typedef enum io_side { SIDE_STORE, SIDE_MAIN, SIDE_FOLDER, SIDE_OTHER } io_side;

typedef enum io_duration {
    ONCE,         /* or a burst of a few calls */
    ON_ONE_SIDE,  /* until healed, on the files of the same side */
    EVERYWHERE,   /* until healed, on all files */
    UNTIL_CLOSED, /* as long, and the connection is closed meanwhile */
    DURATIONS,
} io_duration;

static const char *const io_duration_names[DURATIONS] = {
    "once", "for a while on one side", "for a while", "until the connection is closed"};

/* SQLite waits for other processes, some seconds altogether, where locks fail. */
int usleep(useconds_t time)
{
    (void)time;
    return 0;
}

/* --- Seeing calls --- */

static char io_folder[IO_PATH_SIZE];

/* Files of stores have "ptable" in their names, in the folder. */
static io_side io_side_of_path(const char *path)
{
    size_t size = strlen(io_folder);
    if (size == 0 || strncmp(path, io_folder, size) != 0) {
        return SIDE_OTHER;
    }
    const char *name = path + size;
    if (name[0] == 0 || strcmp(name, "/") == 0) {
        return SIDE_FOLDER;
    }
    return strstr(name, "ptable") != NULL ? SIDE_STORE : SIDE_MAIN;
}

static void io_path_of_call(const system_call *call, char path[IO_PATH_SIZE])
{
    path[0] = 0;
    if (call->path != NULL) {
        snprintf(path, IO_PATH_SIZE, "%s", call->path);
    } else if (call->fd >= 0) {
        char link[40];
        snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
        ssize_t length = readlink(link, path, IO_PATH_SIZE - 1);
        path[length > 0 ? length : 0] = 0;
    }
}

/* --- The fault that is armed --- */

typedef struct io_armed {
    const io_fault *fault; /* NULL: calls are only counted */
    io_duration duration;
    int number; /* of the call that fails first, among those of the fault's kinds */
    int seen;
    int hits; /* calls that failed */
    bool over;
    bool may_split; /* a lock of the main database, or its journal's name, was among them */
    io_side side;   /* of the first */
    unsigned sides; /* of all */
    system_call_kind kind;
    char path[IO_PATH_SIZE];
    const char *name;
} io_armed;

static io_armed io_now = {.over = true};
static __thread bool io_watched; /* this thread's calls count */

/* The kinds of all calls, if they are recorded. */
static uint8_t *io_record;
static int io_recorded;

static bool io_is_due(io_side side)
{
    if (io_now.hits == 0) {
        return io_now.seen++ == io_now.number;
    }
    switch (io_now.duration) {
    case ONCE:
        return io_now.fault->error == EINTR && io_now.number % 2 == 1 && io_now.hits < BURST;
    case ON_ONE_SIDE:
        return side == io_now.side;
    default:
        return true;
    }
}

static system_call_verdict io_verdict(const system_call *call)
{
    const io_fault *fault = io_now.fault;
    if (fault->error == 0) {
        return (system_call_verdict){.short_by = system_call_size(call) / 2};
    }
    return (system_call_verdict){.error = fault->error, .made = fault->made};
}

static void io_note_first(const system_call *call, io_side side)
{
    char path[IO_PATH_SIZE];
    io_path_of_call(call, path);
    io_now.side = side;
    io_now.kind = call->kind;
    io_now.name = call->name;
    snprintf(io_now.path, sizeof io_now.path, "%s", path + strlen(io_folder));
}

/* Sides of descriptors, one more than their numbers; 0: to be looked up. */
static _Atomic uint8_t io_known_sides[DESCRIPTORS];

static io_side io_side_of_call(const system_call *call)
{
    bool can_be_known = call->path == NULL && call->fd >= 0 && call->fd < DESCRIPTORS;
    if (can_be_known && io_known_sides[call->fd] != 0) {
        return (io_side)(io_known_sides[call->fd] - 1);
    }
    char path[IO_PATH_SIZE];
    io_path_of_call(call, path);
    io_side side = io_side_of_path(path);
    if (can_be_known && call->kind != CALL_CLOSE) {
        io_known_sides[call->fd] = (uint8_t)(side + 1);
    }
    return side;
}

static io_side io_side_now(const system_call *call)
{
    io_side side = io_watched ? io_side_of_call(call) : SIDE_OTHER;
    if (call->kind == CALL_CLOSE && call->fd >= 0 && call->fd < DESCRIPTORS) {
        io_known_sides[call->fd] = 0;
    }
    return side;
}

static system_call_verdict io_judge(const system_call *call)
{
    const system_call_verdict made = {0};
    io_side side = io_side_now(call);
    if (!io_watched || (io_now.over && io_record == NULL)) {
        return made;
    }
    if (side == SIDE_OTHER || (call->kind == CALL_UNLOCK && side != SIDE_STORE)) {
        return made; /* SQLite keeps locks that it cannot give back */
    }
    if (io_record != NULL && io_recorded < IO_CALLS_MAX) {
        io_record[io_recorded++] = (uint8_t)call->kind;
    }
    if (io_now.over || (io_now.fault->kinds & 1u << call->kind) == 0 || !io_is_due(side)) {
        return made;
    }
    if (io_now.hits++ == 0) {
        io_note_first(call, side);
    }
    io_now.sides |= 1u << side;
    io_now.may_split = io_now.may_split ||
                       (side == SIDE_MAIN && (call->kind == CALL_LOCK ||
                                              (call->kind == CALL_NAME && io_now.fault->made)));
    return io_verdict(call);
}

static void io_arm(const io_fault *fault, io_duration duration, int number)
{
    io_now = (io_armed){.fault = fault, .duration = duration, .number = number};
    io_watched = true;
    if (system_call_judge == NULL) {
        system_call_judge = io_judge;
    }
}

static void io_heal(void)
{
    io_now.over = true;
}

static inline bool io_hit(void)
{
    return io_now.hits > 0;
}

/* True if the fault lasts once it has begun. */
static inline bool io_lasts(void)
{
    return io_now.duration != ONCE && !io_now.over;
}

/* What the test itself does to files is no part of what is tested. */
static inline bool io_pause(void)
{
    bool before = io_watched;
    io_watched = false;
    return before;
}

static inline void io_resume(bool before)
{
    io_watched = before;
}

#endif
