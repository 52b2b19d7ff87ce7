/*
 * The protocol of a store's writer lock within this process. Only assertions look at the state, and
 * only the holder of the lock changes it.
 *
 *     FREE -> HELD                      the lock is taken
 *     HELD -> WRITING                   a write transaction begins
 *     WRITING -> COMMITTED              it has been committed
 *     WRITING -> FAILED                 it has been aborted, or its commit failed
 *     COMMITTED, FAILED -> WRITING      another one begins: more writes, or an undo
 *     HELD, COMMITTED, FAILED -> FREE   the lock is released
 */
#ifndef PT_LMDB_WRITER_STATE_H
#define PT_LMDB_WRITER_STATE_H

#include "base/assert.h"

typedef enum pt_writer_state {
    PT_WRITER_FREE = 1,
    PT_WRITER_HELD = 2,
    PT_WRITER_WRITING = 4,
    PT_WRITER_COMMITTED = 8,
    PT_WRITER_FAILED = 16,
} pt_writer_state;

enum {
    PT_WRITER_BETWEEN_WRITES = PT_WRITER_HELD | PT_WRITER_COMMITTED | PT_WRITER_FAILED,
    PT_WRITER_LOCKED = PT_WRITER_BETWEEN_WRITES | PT_WRITER_WRITING,
};

/* Goes to another state from one of those in `from`, which are bits of pt_writer_state. */
static inline void pt_writer_change_state(pt_writer_state *state, unsigned from, pt_writer_state to)
{
    PT_ASSERT((*state & from) != 0);
    *state = to;
}

#endif
