#include "service/remote_module.h"

#include "functions/key_functions.h"
#include "module/constraints.h"
#include "service/remote_cursor.h"
#include "service/remote_filter.h"
#include "service/remote_planner.h"
#include "service/remote_table.h"
#include "service/remote_transaction.h"
#include "service/remote_write.h"

/* SQLite calls match() for a Filter MATCH that is not part of the plan. The other result makes
 * pt_starts_with(column, prefix) a constraint in xBestIndex. */
static int find_remote_function(sqlite3_vtab *vtab, int argc, const char *name,
                                void (**function)(sqlite3_context *, int, sqlite3_value **),
                                void **data)
{
    if (argc == 2 && sqlite3_stricmp(name, "match") == 0) {
        *function = pt_remote_function_match;
        *data = vtab;
        return 1;
    }
    if (argc != 2 || sqlite3_stricmp(name, "pt_starts_with") != 0) {
        return 0;
    }
    *function = pt_function_starts_with;
    *data = NULL;
    return PT_CONSTRAINT_STARTS_WITH;
}

const sqlite3_module pt_remote_module = {
    .iVersion = 2,
    .xCreate = pt_remote_table_connect,
    .xConnect = pt_remote_table_connect,
    .xBestIndex = pt_remote_best_index,
    .xDisconnect = pt_remote_table_disconnect,
    .xDestroy = pt_remote_table_destroy,
    .xOpen = pt_remote_cursor_open,
    .xClose = pt_remote_cursor_close,
    .xFilter = pt_remote_cursor_filter,
    .xNext = pt_remote_cursor_next,
    .xEof = pt_remote_cursor_eof,
    .xColumn = pt_remote_cursor_column,
    .xRowid = pt_remote_cursor_rowid,
    .xUpdate = pt_remote_update,
    .xBegin = pt_remote_transaction_begin,
    .xSync = pt_remote_transaction_sync,
    .xCommit = pt_remote_transaction_commit,
    .xRollback = pt_remote_transaction_rollback,
    .xFindFunction = find_remote_function,
    .xRename = pt_remote_table_rename,
    .xSavepoint = pt_remote_transaction_savepoint,
    .xRelease = pt_remote_transaction_release,
    .xRollbackTo = pt_remote_transaction_rollback_to,
};
