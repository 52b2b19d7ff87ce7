/*
 * The module pt_service as SQLite calls it.
 */
#ifndef PT_SERVICE_REMOTE_MODULE_H
#define PT_SERVICE_REMOTE_MODULE_H

#include "base/sqlite.h"

#define PT_REMOTE_MODULE "pt_service"

extern const sqlite3_module pt_remote_module; /* its user data is the pt_service */

#endif
