/*
 * What many tests begin with: a database with ptables in a folder of its own, and another process
 * with the same database.
 */
#ifndef SCENE_H
#define SCENE_H

#include "peer.h"

typedef struct scene {
    char *folder;
    sqlite3 *db;
    peer other;
} scene;

/* A test's state; `sql` makes the tables. */
static inline int begin_scene(void **state, const char *sql)
{
    scene *all = calloc(1, sizeof *all);
    void *folder = NULL;
    if (all == NULL || make_folder(&folder) != 0) {
        free(all);
        return -1;
    }
    all->folder = folder;
    all->db = open_database(folder, "main.db");
    run(all->db, "PRAGMA journal_mode = wal; %s", sql);
    all->other = start_peer(folder, "main.db");
    *state = all;
    return 0;
}

static inline int end_scene(void **state)
{
    scene *all = *state;
    void *folder = all->folder;
    stop_peer(&all->other);
    close_database(all->db);
    free(all);
    return remove_folder(&folder);
}

/* With set_up, which the test program defines. */
#define scene_test(name) cmocka_unit_test_setup_teardown(name, set_up, end_scene)

#endif
