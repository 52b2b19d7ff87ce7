/*
 * Makes the n-th allocation through SQLite's allocator fail, once or from then on. (For other
 * allocations: library_memory.h.)
 *
 *     failing_malloc_install();                  before anything else uses SQLite
 *     for (int n = 0; ; n++) {
 *         failing_malloc_arm(n, false);
 *         int rc = work();
 *         bool hit = failing_malloc_disarm();    true if an allocation failed
 *         ...
 *         if (!hit) break;
 *     }
 */
#ifndef TESTS_FAULTS_FAILING_MALLOC_H
#define TESTS_FAULTS_FAILING_MALLOC_H

#include <sqlite3.h>
#include <stdbool.h>

static sqlite3_mem_methods failing_malloc_real;
static int failing_malloc_countdown = -1; /* allocations until the failure; -1: never */
static bool failing_malloc_persistent;
static bool failing_malloc_hit;
static bool failing_malloc_elsewhere;                /* SQLite's own succeed: others are counted */
static bool failing_malloc_inside;                   /* SQLite's allocator is the caller now */
static void (*failing_malloc_watch)(bool elsewhere); /* sees every allocation that is counted */

static bool failing_malloc_now(void)
{
    if (failing_malloc_countdown < 0) {
        return false;
    }
    if (failing_malloc_countdown > 0) {
        failing_malloc_countdown--;
        return false;
    }
    failing_malloc_hit = true;
    if (!failing_malloc_persistent) {
        failing_malloc_countdown = -1;
    }
    return true;
}

/* True if an allocation, of SQLite's allocator or from elsewhere, is to fail. */
static bool failing_malloc_decides(bool elsewhere)
{
    if (failing_malloc_watch != 0 && failing_malloc_countdown >= 0) {
        failing_malloc_watch(elsewhere);
    }
    return elsewhere == failing_malloc_elsewhere && failing_malloc_now();
}

static void *failing_malloc_alloc(int size)
{
    if (failing_malloc_decides(false)) {
        return 0;
    }
    failing_malloc_inside = true;
    void *memory = failing_malloc_real.xMalloc(size);
    failing_malloc_inside = false;
    return memory;
}

static void *failing_malloc_realloc(void *memory, int size)
{
    if (failing_malloc_decides(false)) {
        return 0;
    }
    failing_malloc_inside = true;
    void *larger = failing_malloc_real.xRealloc(memory, size);
    failing_malloc_inside = false;
    return larger;
}

static void failing_malloc_free(void *memory)
{
    failing_malloc_inside = true;
    failing_malloc_real.xFree(memory);
    failing_malloc_inside = false;
}

static inline void failing_malloc_install(void)
{
    sqlite3_shutdown();
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &failing_malloc_real);
    sqlite3_mem_methods methods = failing_malloc_real;
    methods.xMalloc = failing_malloc_alloc;
    methods.xRealloc = failing_malloc_realloc;
    methods.xFree = failing_malloc_free;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    sqlite3_initialize();
}

static inline void failing_malloc_arm(int countdown, bool persistent)
{
    failing_malloc_countdown = countdown;
    failing_malloc_persistent = persistent;
    failing_malloc_hit = false;
}

static inline bool failing_malloc_disarm(void)
{
    failing_malloc_countdown = -1;
    return failing_malloc_hit;
}

#endif
