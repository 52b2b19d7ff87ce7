/*
 * Query plans of a queue: xBestIndex, and the bounds of TimeNextVisible.
 */
#ifndef PT_QUEUE_PLAN_H
#define PT_QUEUE_PLAN_H

#include "base/bytes.h"
#include "base/sqlite.h"

/* Bits of a plan. Each of the first five stands for an argument of xFilter (the first for two,
 * MessageId and PopReceipt), in this order. */
enum {
    PT_QUEUE_PLAN_HELD = 1,       /* MessageId = ? AND PopReceipt = ?; without bounds */
    PT_QUEUE_PLAN_KEY = 2,        /* MessageKey = ?; without bounds */
    PT_QUEUE_PLAN_EQUAL = 4,      /* TimeNextVisible = ?; without other bounds */
    PT_QUEUE_PLAN_LOW = 8,        /* TimeNextVisible >= ? */
    PT_QUEUE_PLAN_HIGH = 16,      /* TimeNextVisible <= ? */
    PT_QUEUE_PLAN_LOW_OPEN = 32,  /* > */
    PT_QUEUE_PLAN_HIGH_OPEN = 64, /* < */
    PT_QUEUE_PLAN_DESCENDING = 128,
};

/* The module's xBestIndex. */
int pt_queue_best_index(sqlite3_vtab *vtab, sqlite3_index_info *info);

/* The range low <= ticks < high. */
typedef struct pt_queue_bounds {
    int64_t low;
    int64_t high;
} pt_queue_bounds;

/*
 * Computes the range of TimeNextVisible that the plan's conditions select, comparing texts as
 * PT_DATETIME does. An argument that is not a text sets no bound. False if nothing can match, as
 * with a NULL argument.
 */
bool pt_queue_bounds_set(unsigned plan, sqlite3_value **argv, pt_queue_bounds *bounds);

#endif
