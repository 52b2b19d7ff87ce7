/*
 * What a step may say when one of its system calls fails, and the figures of a run.
 */
#ifndef TESTS_PROCESS_IO_IO_JUDGE_H
#define TESTS_PROCESS_IO_IO_JUDGE_H

#include "process/io/io_side.h"

/* --- Figures --- */

typedef struct io_figure {
    int points; /* trials in which a call failed */
    int shown;  /* in which a statement then failed, too */
} io_figure;

static io_figure io_figures[CALL_KINDS][IO_FAULTS];
static int io_calls_failed;
static int io_not_reached;
static int io_left_ahead;
static int io_split;

static inline void io_count_point(bool shown)
{
    io_figure *figure = &io_figures[io_now.kind][io_now.fault - io_faults];
    figure->points++;
    figure->shown += shown;
    io_calls_failed += io_now.hits;
}

static inline void io_print_figures(void)
{
    int points = 0;
    int shown = 0;
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        char line[400];
        int size = snprintf(line, sizeof line, "# %-6s", io_kind_names[kind]);
        for (int i = 0; i < IO_FAULTS; i++) {
            const io_figure *figure = &io_figures[kind][i];
            points += figure->points;
            shown += figure->shown;
            if (figure->points > 0) {
                size += snprintf(line + size, sizeof line - (size_t)size, "  %s: %d/%d",
                                 io_faults[i].name, figure->shown, figure->points);
            }
        }
        printf("%s\n", line);
    }
    printf("# %d points, %d of them seen by a statement; %d calls failed; %d points not reached; "
           "%d stores closed in doubt; %d commits split by SQLite\n",
           points, shown, io_calls_failed, io_not_reached, io_left_ahead, io_split);
}

/* --- Texts --- */

/* The connection says that the outcome of a transaction is not known. */
static inline bool io_is_doubtful(const char *message)
{
    return strstr(message, "may be lost when the power fails") != NULL ||
           strstr(message, "could not be undone") != NULL;
}

static inline bool io_is_ours(const char *message)
{
    return strstr(message, "ptable: ") != NULL;
}

/* It says no more than SQLite does about its own files. */
static inline bool io_is_sqlites(int rc, const char *message)
{
    return strstr(message, sqlite3_errstr(rc & 0xff)) != NULL;
}

/*
 * Nothing is wrong with any file, it only cannot be got at. (LMDB takes a file for truncated when a
 * read comes out short.)
 */
static inline bool io_is_false(const char *message)
{
    static const char *const claims[] = {
        "is not a ptable store", "from a backup",       "is damaged",
        "does not exist",        "no store of its own", "was moved, replaced or deleted"};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        if (io_now.fault->error != 0 && strstr(message, claims[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/* What is ours names what it is about and what to do. */
static inline bool io_is_clear(int rc, const char *message)
{
    if (io_is_false(message)) {
        return false;
    }
    if (message[0] == 0 || strstr(message, "logic error") != NULL ||
        strstr(message, "unknown") != NULL || strstr(message, "not an error") != NULL) {
        return false;
    }
    return !io_is_ours(message) || (io_now.side == SIDE_MAIN && io_is_sqlites(rc, message)) ||
           (strstr(message, "; ") != NULL &&
            (strstr(message, io_folder) != NULL || strstr(message, "store '(private)'") != NULL ||
             strstr(message, "database '") != NULL || strstr(message, "SQLITE_TMPDIR") != NULL));
}

/* SQLite finds its own files damaged when it cannot read them. */
static inline bool io_is_sensible(int rc, const char *message)
{
    bool fails_in_main = io_now.side == SIDE_MAIN || io_now.duration == EVERYWHERE ||
                         io_now.duration == UNTIL_CLOSED;
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return fails_in_main && io_is_sqlites(rc, message);
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_NOMEM:
    case SQLITE_READONLY:
    case SQLITE_PROTOCOL:
        return true;
    default:
        return false;
    }
}

/* NULL, or what is wrong with this failure. */
static inline const char *io_what_is_wrong(int rc, const char *message, bool first)
{
    if (!io_is_sensible(rc, message)) {
        return "an odd result code";
    }
    if (!io_is_clear(rc, message)) {
        return "an unclear message";
    }
    if (first && io_now.duration == ONCE && io_now.sides == 1u << SIDE_STORE &&
        !io_is_ours(message) && rc != SQLITE_NOMEM) {
        return "a fault of the store's file that ptable does not explain";
    }
    return NULL;
}

#endif
