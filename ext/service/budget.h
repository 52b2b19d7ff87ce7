/*
 * How many requests a statement has sent, for the option max_requests. A statement may use several
 * tables, and open each of them again and again, as a correlated subquery does: its requests are
 * counted for the statement.
 *
 * SQLite does not tell a virtual table which statement runs. It is the one that is busy and has no
 * row: any other has returned one to the application, and waits.
 */
#ifndef PT_SERVICE_BUDGET_H
#define PT_SERVICE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sqlite.h"

typedef enum pt_request_kind {
    PT_REQUEST_ASK,  /* for an entity, or the first one for a range */
    PT_REQUEST_LOOK, /* for an entity that is about to be written */
    PT_REQUEST_SCAN, /* for a scan of the whole table */
    PT_REQUEST_MORE, /* as many as there is data: the rest of a range, a group that is written */
    PT_REQUEST_KINDS,
} pt_request_kind;

typedef struct pt_statement {
    struct pt_statement *next;
    sqlite3_stmt *handle; /* NULL: none was found */
    int run;              /* how often it had been started */
    int users;
    int64_t requests[PT_REQUEST_KINDS];
} pt_statement;

/* Finds what is counted of the statement that runs, which begins with its first user. NULL when out
 * of memory. */
pt_statement *pt_statement_enter(pt_statement **all, sqlite3 *db);

/* Ends one use. NULL is allowed. */
void pt_statement_leave(pt_statement **all, pt_statement *statement);

/* max_requests was not given: the limits are those of pt_budget_limit. */
enum { PT_BUDGET_DEFAULT = -1 };

typedef struct pt_budget {
    pt_statement *statement; /* NULL: nothing is counted */
    int64_t max_requests;    /* of all kinds together; 0: any number; PT_BUDGET_DEFAULT */
} pt_budget;

/* How many requests may be counted together with this kind; 0: any number. */
int64_t pt_budget_limit(const pt_budget *budget, pt_request_kind kind);

bool pt_budget_allows(const pt_budget *budget, pt_request_kind kind);

/* Counts a request, or refuses it: SQLITE_ERROR. */
int pt_budget_spend(const pt_budget *budget, pt_request_kind kind, pt_error *error);

/* Forgets a request that was counted. */
void pt_budget_take_back(const pt_budget *budget, pt_request_kind kind);

#endif
