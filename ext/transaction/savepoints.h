/*
 * The savepoints of a transaction: how far its memtable's log goes back to which level. Levels are
 * SQLite's numbers, from 0 on.
 */
#ifndef PT_TRANSACTION_SAVEPOINTS_H
#define PT_TRANSACTION_SAVEPOINTS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pt_mark {
    int level;
    size_t length; /* of the log when the savepoint was opened */
} pt_mark;

/* All zeros: none. */
typedef struct pt_savepoints {
    pt_mark *marks;
    size_t count;
    size_t capacity;
} pt_savepoints;

/* Makes room for one more mark. False when out of memory. */
bool pt_savepoints_reserve(pt_savepoints *savepoints);

/*
 * Opens a savepoint of this level at a log of this length, once.
 *
 * A table that joins late is told of the innermost level alone. If others have joined before, that
 * level is known already; otherwise it and those it lies in were opened when nothing was pending.
 *
 * SQLite also goes back to a savepoint whose opening failed. Where room was reserved beforehand the
 * mark is set even then. SQLITE_OK or SQLITE_NOMEM.
 */
int pt_savepoints_open(pt_savepoints *savepoints, int level, size_t length);

/* Forgets the level and those inside it. */
void pt_savepoints_release(pt_savepoints *savepoints, int level);

/*
 * The length to cut the log back to; the level stays open, those inside it are forgotten. A level
 * that was never announced was opened before there was a log: 0.
 */
size_t pt_savepoints_roll_back(pt_savepoints *savepoints, int level);

/* The log up to this length is needed by a savepoint. */
size_t pt_savepoints_protected(const pt_savepoints *savepoints);

/* Forgets all levels, keeping the memory. */
void pt_savepoints_clear(pt_savepoints *savepoints);
void pt_savepoints_free(pt_savepoints *savepoints);

#endif
