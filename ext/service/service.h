/*
 * What one SQLite connection knows of the Table service: the accounts that the application has
 * named, the kept connections, and counts of requests. Shared by modules and functions, each of
 * which holds a reference.
 */
#ifndef PT_SERVICE_SERVICE_H
#define PT_SERVICE_SERVICE_H

#include "service/account.h"
#include "service/http.h"

typedef struct pt_named_account {
    char *name; /* in SQL; any case finds it */
    pt_account account;
} pt_named_account;

typedef struct pt_service_counts {
    int64_t requests; /* repetitions too */
    int64_t retries;
    int64_t bytes_sent; /* of bodies */
    int64_t bytes_received;
    double seconds; /* in which a statement waited */
} pt_service_counts;

typedef struct pt_service {
    int references;
    sqlite3 *db;
    pt_http *http;
    pt_named_account *accounts; /* ordered by name */
    size_t account_count;
    size_t account_capacity;
    pt_service_counts counts;
} pt_service;

/* With one reference; NULL when out of memory. */
pt_service *pt_service_new(sqlite3 *db);
void pt_service_retain(pt_service *service);

/* For the user data of modules and functions: takes a pt_service. */
void pt_service_release(void *service);

/* Adds an account, which it takes over, or replaces the one of this name. SQLITE_OK, SQLITE_NOMEM.
 */
int pt_service_name_account(pt_service *service, const char *name, pt_account *account,
                            pt_error *error);

/* SQLITE_ERROR if no account has this name. It is valid until another one is named. */
int pt_service_find_account(const pt_service *service, const char *name, const pt_account **account,
                            pt_error *error);

#endif
