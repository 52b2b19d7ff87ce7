/*
 * What the installed shell needs to work with a newer SQLite, loaded before it: the source id of
 * the SQLite that it was made for (SOURCE_ID), and that a statement is complete although a comment
 * without a line end follows it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

const char *sqlite3_sourceid(void);
int sqlite3_complete(const char *sql);

const char *sqlite3_sourceid(void)
{
    return SOURCE_ID;
}

int sqlite3_complete(const char *sql)
{
    static int (*complete)(const char *);
    char *line;
    if (complete == NULL) {
        *(void **)&complete = dlsym(RTLD_NEXT, "sqlite3_complete");
    }
    if (complete == NULL || asprintf(&line, "%s\n", sql) < 0) {
        return 0;
    }
    int result = complete(line);
    free(line);
    return result;
}
