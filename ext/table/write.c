#include "table/write.h"

#include "table/arguments.h"
#include "table/entity_writer.h"
#include "table/insert.h"
#include "table/table_transaction.h"
#include "table/update.h"

/* Filter is only for WHERE. SQLite 3.40 passes all columns in UPDATE ... FROM, and then Filter is
 * what WHERE has asked for. */
static int refuse_filter(const pt_write_arguments *given, bool inserting, pt_error *error)
{
    bool all_given = !inserting && !sqlite3_value_nochange(given->tail[PT_TAIL_ENTITY_KEY]);
    if (all_given || sqlite3_value_type(given->tail[PT_TAIL_FILTER]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "Filter cannot be written, it is there for WHERE Filter MATCH '...'; leave "
                        "the column out");
}

static int delete_row(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    int rc = pt_make_old_key(table, entity_key, error);
    return rc == SQLITE_OK ? pt_entity_remove(table, pt_buffer_slice(&table->old_key), error) : rc;
}

/* argv[0]: the old EntityKey, NULL for INSERT; argv[1]: a copy of the new one; then the columns. */
static int write_table_row(pt_table *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                           pt_error *error)
{
    int rc = pt_transaction_prepare_write(table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_row(table, argv[0], error);
    }
    sqlite3_value **columns = argv + 2;
    const pt_write_arguments given = {.keys = columns,
                                      .declared = columns + PT_COLUMN_FIRST,
                                      .tail =
                                          columns + PT_COLUMN_FIRST + table->config.column_count};
    bool inserting = sqlite3_value_type(argv[0]) == SQLITE_NULL;
    rc = refuse_filter(&given, inserting, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!inserting) {
        return pt_update(table, argv[0], &given, error);
    }
    /* SQLite sets last_insert_rowid() to this. An INSERT here must not change it. */
    *rowid = sqlite3_last_insert_rowid(pt_connection_db(table->connection));
    return pt_insert(table, &given, error);
}

int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_enter(table);
    int rc = write_table_row(table, argc, argv, rowid, &error);
    pt_table_leave(table);
    return rc == SQLITE_OK ? rc : pt_table_fail_write(table, &error);
}
