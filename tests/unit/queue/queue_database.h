/*
 * A database in a folder of its own, with a queue named jobs.
 */
#ifndef TESTS_UNIT_QUEUE_QUEUE_DATABASE_H
#define TESTS_UNIT_QUEUE_QUEUE_DATABASE_H

#include "fixtures/database.h"

static sqlite3 *db;

static inline int open_queue(void **state)
{
    if (make_folder(state) != 0) {
        return -1;
    }
    db = open_database(*state, "main.db");
    run(db, "CREATE VIRTUAL TABLE jobs USING pt_queue(sync=off)");
    return 0;
}

static inline int close_queue(void **state)
{
    close_database(db);
    return remove_folder(state);
}

#define queue_test(name) cmocka_unit_test_setup_teardown(name, open_queue, close_queue)

#endif
