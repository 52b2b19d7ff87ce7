/*
 * Shared access signatures of tables. Such a token lets its holder use one table for some time,
 * without the account's key.
 */
#ifndef PT_SERVICE_SAS_H
#define PT_SERVICE_SAS_H

#include "base/sqlite.h"
#include "service/account.h"

/* Arguments of pt_service_sas after the account; those from PT_SAS_NEEDED on may be missing. */
enum { PT_SAS_NEEDED = 4, PT_SAS_ARGUMENTS = 8 };

/*
 * Appends a token as the service's libraries write it: "sv=2019-02-02&se=...". The arguments are
 * those of the SQL function after the account. SQLITE_NOMEM; SQLITE_MISMATCH if an argument has
 * another type, SQLITE_ERROR for other mistakes, also if the account has no key.
 */
int pt_sas_make(const pt_account *account, int argc, sqlite3_value **argv, pt_buffer *token,
                pt_error *error);

#endif
