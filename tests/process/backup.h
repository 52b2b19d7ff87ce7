/*
 * What the tests of backups and of compacting share: whether a store is sound.
 */
#ifndef BACKUP_H
#define BACKUP_H

#include "folder.h"

static inline void check_sound_at(const char *file, int line, const char *folder, const char *store)
{
    sqlite3 *db = open_database("", ":memory:");
    sqlite3_stmt *check;
    char path[PATH_SIZE];
    path_in(folder, store, path);
    sqlite3_prepare_v2(db, "SELECT pt_check(?)", -1, &check, NULL);
    sqlite3_bind_text(check, 1, path, -1, SQLITE_TRANSIENT);
    bool answered = sqlite3_step(check) == SQLITE_ROW;
    const char *text = answered ? (const char *)sqlite3_column_text(check, 0) : sqlite3_errmsg(db);
    if (strcmp(text, "ok") != 0) {
        print_error("%s: %s\n", store, text);
        _fail(file, line);
    }
    sqlite3_finalize(check);
    close_database(db);
}

#define check_sound(folder, store) check_sound_at(__FILE__, __LINE__, folder, store)

#endif
