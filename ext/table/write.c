#include "table/write.h"

#include "table/entity_writer.h"
#include "table/insert.h"
#include "table/table_transaction.h"
#include "table/update.h"

/* xUpdate's arguments: the old key, a copy of the new one, then the columns. */
enum { ARGUMENT_OLD_KEY = 0, ARGUMENT_COLUMNS = 2 };

static pt_write_arguments split_arguments(const pt_table *table, sqlite3_value **argv)
{
    sqlite3_value **columns = argv + ARGUMENT_COLUMNS;
    return (pt_write_arguments){.keys = columns,
                                .declared = columns + PT_COLUMN_FIRST,
                                .tail = columns + PT_COLUMN_FIRST + table->config.column_count};
}

/* SQLite 3.40 gives all columns in UPDATE ... FROM, so there Filter is what its WHERE asks. */
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

static int delete_entity(pt_table *table, sqlite3_value *entity_key, pt_error *error)
{
    int rc = pt_entity_make_old_key(table, entity_key, error);
    return rc == SQLITE_OK ? pt_entity_remove(table, pt_buffer_slice(&table->old_key), error) : rc;
}

static int write_row(pt_table *table, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                     pt_error *error)
{
    int rc = pt_transaction_prepare_write(table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_entity(table, argv[ARGUMENT_OLD_KEY], error);
    }
    pt_write_arguments given = split_arguments(table, argv);
    bool inserting = sqlite3_value_type(argv[ARGUMENT_OLD_KEY]) == SQLITE_NULL;
    rc = refuse_filter(&given, inserting, error);
    if (rc == SQLITE_OK && inserting) {
        rc = pt_insert(table, &given, error);
        /* SQLite copies it into last_insert_rowid(), which is none of this table's business. */
        *rowid = sqlite3_last_insert_rowid(pt_connection_db(table->connection));
    } else if (rc == SQLITE_OK) {
        rc = pt_update(table, argv[ARGUMENT_OLD_KEY], &given, error);
    }
    return rc;
}

int pt_write_update(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_enter(table);
    int rc = write_row(table, argc, argv, rowid, &error);
    pt_table_leave(table);
    return rc == SQLITE_OK ? rc : pt_table_fail_write(table, &error);
}
