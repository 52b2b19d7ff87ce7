#include "queue/queue_module.h"

#include "module/module.h"
#include "module/registration.h"
#include "queue/columns.h"
#include "queue/cursor.h"
#include "queue/plan.h"
#include "queue/queue.h"
#include "queue/rules.h"
#include "queue/write.h"
#include "table/table_transaction.h"

static char *declare_queue(const pt_table *table)
{
    (void)table;
    return pt_queue_declaration();
}

static int configure_poison(pt_queue *queue, pt_error *error)
{
    pt_table *poison = &queue->poison;
    poison->form = queue->table.form;
    poison->config.sync = queue->table.config.sync;
    poison->config.table = sqlite3_mprintf("%s" PT_POISON_ENDING, queue->table.config.table);
    return poison->config.table != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* The limits of messages differ from those of entities, so table->config must not apply the latter.
 */
static int configure_queue(pt_table *table, int argc, const char *const *argv, pt_error *error)
{
    pt_queue *queue = pt_queue_of(&table->base);
    queue->poison.connection = table->connection;
    queue->poison.db = table->db;
    int rc = pt_config_parse_queue(argc, argv, &table->config, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    queue->azure_limits = table->config.azure_limits;
    table->config.azure_limits = false;
    table->map.columns = pt_message_properties;
    table->map.column_count = PT_MESSAGE_PROPERTIES;
    return configure_poison(queue, error);
}

static int check_queue_name(const pt_table *table, pt_error *error)
{
    const pt_queue *queue = (const pt_queue *)table;
    return pt_queue_check_name(queue->azure_limits, table->config.table,
                               table->config.max_dequeue_count > 0, error);
}

static void leave_store_of_queue(pt_table *table)
{
    pt_table_leave_store(&pt_queue_of(&table->base)->poison);
    pt_table_leave_store(table);
}

static void release_queue(pt_table *table)
{
    pt_queue *queue = pt_queue_of(&table->base);
    pt_scan_free(&queue->scan);
    pt_buffer_free(&queue->front.key);
    pt_table_clear(&queue->poison);
}

static const pt_table_form queue_form = {
    .kind = PT_TABLE_OF_MESSAGES,
    .module = "pt_queue",
    .size = sizeof(pt_queue),
    .configure = configure_queue,
    .check_name = check_queue_name,
    .declaration = declare_queue,
    .leave_store = leave_store_of_queue,
    .release = release_queue,
};

static const sqlite3_module queue_module = {
    .iVersion = 2,
    .xCreate = pt_table_create,
    .xConnect = pt_table_connect,
    .xBestIndex = pt_queue_best_index,
    .xDisconnect = pt_table_disconnect,
    .xDestroy = pt_table_destroy,
    .xOpen = pt_queue_cursor_open,
    .xClose = pt_queue_cursor_close,
    .xFilter = pt_queue_cursor_filter,
    .xNext = pt_queue_cursor_next,
    .xEof = pt_queue_cursor_eof,
    .xColumn = pt_queue_cursor_column,
    .xRowid = pt_table_rowid,
    .xUpdate = pt_queue_write,
    .xBegin = pt_transaction_begin,
    .xSync = pt_transaction_sync,
    .xCommit = pt_transaction_commit,
    .xRollback = pt_transaction_rollback,
    .xRename = pt_table_rename,
    .xSavepoint = pt_transaction_savepoint,
    .xRelease = pt_transaction_release,
    .xRollbackTo = pt_transaction_rollback_to,
};

int pt_queue_register(sqlite3 *db, pt_connection *connection)
{
    return pt_module_register_shared(db, queue_form.module, &queue_module, connection, &queue_form);
}
