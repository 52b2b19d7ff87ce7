/*
 * A program that has ptable.c and ptable_service.c linked into itself. It runs the SQL of its
 * standard input on a database in memory and prints the rows, or an error and ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ptable.h"
#include "ptable_service.h"

static int print_row(void *unused, int count, char **values, char **names)
{
    (void)unused;
    (void)names;
    for (int i = 0; i < count; i++) {
        printf("%s%s", i > 0 ? "|" : "", values[i] != NULL ? values[i] : "");
    }
    putchar('\n');
    return 0;
}

int main(void)
{
    static char script[100000];
    size_t size = fread(script, 1, sizeof script - 1, stdin);
    script[size] = '\0';

    sqlite3 *db;
    char *message = NULL;
    sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
    sqlite3_auto_extension((void (*)(void))sqlite3_ptableservice_init);
    int rc = sqlite3_open(":memory:", &db);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(db, script, print_row, NULL, &message);
    }
    if (rc != SQLITE_OK) {
        printf("%s\n", message != NULL ? message : sqlite3_errmsg(db));
    }
    sqlite3_free(message);
    sqlite3_close(db);
    return rc == SQLITE_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
