/*
 * Linked into every program that the thread sanitizer watches: SQLite's allocator counts nothing,
 * and so takes no mutex. Otherwise any two threads that allocate memory meet at that mutex, and
 * what they do without another one looks as if it were in order.
 */
#include <sqlite3.h>

static void __attribute__((constructor)) unlock_memory(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
