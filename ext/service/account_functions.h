/*
 * SQL functions of the library for the Table service: pt_service_account,
 * pt_service_sas and pt_service_requests.
 */
#ifndef PT_SERVICE_ACCOUNT_FUNCTIONS_H
#define PT_SERVICE_ACCOUNT_FUNCTIONS_H

#include "base/sqlite.h"
#include "service/service.h"

/* Each function keeps a reference to the service. Returns SQLite's code. */
int pt_account_functions_register(sqlite3 *db, pt_service *service);

#endif
