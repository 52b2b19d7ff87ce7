#include "table/row_error.h"

#include "module/module.h"
#include "transaction/batch_rules.h"

/* False for errors of the store or the connection, which any row would have met. */
static bool is_about_row(const pt_error *error)
{
    switch (error->rc & 0xFF) {
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_CORRUPT:
        return true;
    default:
        return false;
    }
}

enum { ROW_NUMBER_SIZE = 48 };

/* Writes the number of the row that has failed; nothing for the first row. */
static void write_row_number(const pt_table *table, char number[ROW_NUMBER_SIZE])
{
    bool batch = table->config.azure_batch || pt_batch_rules_apply(table->connection);
    bool same = sqlite3_total_changes(table->db) == table->changes_before;
    sqlite3_uint64 before = same && table->rows != table->skipped ? table->rows : 0;
    before = batch ? pt_batch_rules_operations(table->connection) : before;
    number[0] = 0;
    if (before != 0) {
        sqlite3_snprintf(ROW_NUMBER_SIZE, number, batch ? "operation %llu (from 0)" : "row %llu",
                         batch ? before : before + 1);
    }
}

static void name_row(const pt_table *table, const char *row, pt_error *error)
{
    char number[ROW_NUMBER_SIZE] = "";
    if ((error->names & PT_NAMES_NUMBER) == 0) {
        write_row_number(table, number);
    }
    row = (error->names & PT_NAMES_KEYS) == 0 ? row : "";
    if (number[0] == 0 && row[0] == 0) {
        return;
    }
    const char *comma = number[0] != 0 && row[0] != 0 ? ", " : "";
    char *message = sqlite3_mprintf("%s%s%s: %s", number, comma, row, error->message);
    int rc = error->rc;
    pt_error_clear(error);
    *error = (pt_error){.rc = message != NULL ? rc : SQLITE_NOMEM, .message = message};
}

int pt_table_fail_row(pt_table *table, const char *row, pt_error *error)
{
    bool skipped = pt_module_ignores(table->db, error);
    if (!skipped && is_about_row(error)) {
        name_row(table, row, error);
    }
    table->rows = skipped ? table->rows + 1 : 0;
    table->skipped = skipped ? table->skipped + 1 : 0;
    return pt_module_fail_write(table->db, &table->base.zErrMsg, table->config.sql_name, error);
}
