/*
 * What one SQLite connection knows of the Table service: the accounts that the application has
 * named, the kept connections, and counts of requests. Shared by modules and functions, each of
 * which holds a reference.
 */
#ifndef PT_SERVICE_SERVICE_H
#define PT_SERVICE_SERVICE_H

#include "service/account.h"
#include "service/budget.h"
#include "service/http.h"
#include "service/remote_operations.h"

enum { PT_DATE_TEXT_SIZE = 32 };

typedef struct pt_named_account {
    char *name; /* in SQL; any case finds it */
    pt_account account;
    int64_t last_date; /* the header Date of its last reply, in seconds since 1970; 0: none */
    char last_date_text[PT_DATE_TEXT_SIZE]; /* the same as it came */
} pt_named_account;

typedef struct pt_service_counts {
    int64_t requests; /* repetitions too */
    int64_t retries;
    int64_t bytes_sent; /* of bodies */
    int64_t bytes_received;
    int64_t operations; /* on entities, certainly done */
    double seconds;     /* in which a statement waited */
} pt_service_counts;

typedef struct pt_savepoint_mark {
    int level;
    size_t count; /* of the operations when it was set */
} pt_savepoint_mark;

/*
 * What the open transaction will send at COMMIT: operations on one partition of one table. It
 * belongs to the connection: SQLite may connect a table twice in one transaction, and then calls
 * both.
 */
typedef struct pt_remote_pending {
    char *account; /* and `table`: their table; NULL: none yet */
    char *table;
    char *sql_name; /* of the virtual table that was written first */
    int64_t timeout;
    int64_t retries;
    pt_remote_operations operations;
    pt_savepoint_mark *marks; /* by ascending level */
    size_t mark_count;
    size_t mark_capacity;
    size_t statement;    /* count of the operations when a cursor was opened last */
    bool in_transaction; /* the last one was collected between BEGIN and COMMIT */
    bool sent;           /* the service has done them: COMMIT is given again */
} pt_remote_pending;

/* Says which table the operations are for, before the first one. SQLITE_OK, SQLITE_NOMEM. */
int pt_pending_name_table(pt_remote_pending *pending, const char *account, const char *table,
                          const char *sql_name, pt_error *error);

/* True if there are operations, and they are for this table of the service. */
bool pt_pending_is_for(const pt_remote_pending *pending, const char *account, const char *table);

/* Forgets everything, and keeps the memory of the lists. */
void pt_pending_clear(pt_remote_pending *pending);

typedef struct pt_service {
    int references;
    sqlite3 *db;
    pt_http *http;
    pt_named_account *accounts; /* ordered by name */
    size_t account_count;
    size_t account_capacity;
    pt_service_counts counts;
    pt_remote_pending pending;
    pt_statement *statements; /* that have requests counted */
    pt_statement *writing;    /* the one of them that wrote last in this transaction, or NULL */
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

/* True if a header Date is another one than that of the account's last reply. Remembers its text:
 * many replies come in one second, and reading a date takes long. */
bool pt_service_is_new_date(pt_service *service, const char *name, pt_slice date);

/* The header Date of the account's last reply, in seconds since 1970; 0: there was none yet. */
void pt_service_note_date(pt_service *service, const char *name, int64_t seconds);
int64_t pt_service_last_date(const pt_service *service, const char *name);

/* Remembers the dialect that the header "Server" of an account's first reply tells. What the
 * account's endpoint told counts more than a header that Cosmos DB shares with other servers. */
void pt_service_note_server(pt_service *service, const char *name, pt_slice header);

/* The dialect of an account; unknown also if there is no such account. */
pt_dialect pt_service_dialect(const pt_service *service, const char *name);

#endif
