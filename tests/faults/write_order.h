/*
 * Records the order in which a file is made and flushed to disk.
 */
#ifndef TESTS_FAULTS_WRITE_ORDER_H
#define TESTS_FAULTS_WRITE_ORDER_H

#include <sys/stat.h>

#include "faults/system_calls.h"
#include "fixtures/database.h"

/* Each run of calls as a letter: w writes to an unfinished file, s its sync, n its new name, f the
 * folder's sync, W a write to any other file. */
static char letters[40];

static inline char order_letter(const system_call *call)
{
    char link[40];
    char path[PATH_SIZE] = "";
    struct stat file;
    if (call->kind == CALL_NAME) {
        return call->from != NULL ? 'n' : 0;
    }
    if ((call->kind != CALL_WRITE && call->kind != CALL_SYNC) || call->fd < 0) {
        return 0;
    }
    snprintf(link, sizeof link, "/proc/self/fd/%d", call->fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    bool is_folder = fstat(call->fd, &file) == 0 && S_ISDIR(file.st_mode);
    bool is_new = size > 0 && strstr(path, "-new-") != NULL;
    return call->kind == CALL_WRITE ? (is_new ? 'w' : 'W') : is_folder ? 'f' : is_new ? 's' : 0;
}

static inline system_call_verdict note_order(const system_call *call)
{
    char letter = order_letter(call);
    size_t length = strlen(letters);
    if (letter != 0 && (length == 0 || letters[length - 1] != letter) &&
        length < sizeof letters - 1) {
        letters[length] = letter;
    }
    return (system_call_verdict){0};
}

/* The statement's effects on files, as above. */
static inline const char *order_of(sqlite3 *db, const char *sql)
{
    memset(letters, 0, sizeof letters);
    system_call_judge = note_order;
    int code = code_of(db, "%s", sql);
    system_call_judge = NULL;
    assert_int_equal(code, SQLITE_OK);
    return letters;
}

#endif
