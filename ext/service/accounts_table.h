/*
 * The table pt_service_accounts: the accounts that this connection has named, without their
 * secrets.
 */
#ifndef PT_SERVICE_ACCOUNTS_TABLE_H
#define PT_SERVICE_ACCOUNTS_TABLE_H

#include "base/sqlite.h"

extern const sqlite3_module pt_accounts_module; /* its user data is the pt_service */

#endif
