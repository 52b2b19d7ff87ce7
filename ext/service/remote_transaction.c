#include "service/remote_transaction.h"

#include "base/text.h"
#include "entity/key.h"
#include "module/module.h"
#include "service/batch_text.h"
#include "service/delivery.h"
#include "transaction/main_database_lock.h"

enum {
    OPERATIONS_IN_BATCH = 100,
    BATCH_BYTES = 3900000, /* the service's limit is 4 MiB, the emulator's a little less */
};

static pt_remote_pending *pending_of(pt_remote_table *table)
{
    return &table->service->pending;
}

/* --- Collecting --- */

/* The table of the transaction is that of its first operation. */
static int begin_pending(pt_remote_pending *pending, const pt_service_config *config,
                         pt_error *error)
{
    pending->timeout = config->timeout;
    pending->retries = config->retries;
    return pt_pending_name_table(pending, config->account, config->base.table,
                                 config->base.sql_name, error);
}

static int refuse_other_table(const pt_remote_pending *pending, pt_error *error)
{
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of the transaction is on another table of the service "
                 "than earlier ones, on %Q; write each table in a transaction of its own "
                 "(CommandsInBatchActOnDifferentPartitions)",
                 (unsigned long long)pending->operations.count, pending->table);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int refuse_other_partition(const pt_remote_operations *list, pt_slice partition,
                                  pt_error *error)
{
    char before[PT_EXCERPT_SIZE];
    char now[PT_EXCERPT_SIZE];
    pt_excerpt(pt_remote_operations_at(list, 0).partition, before);
    pt_excerpt(partition, now);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of the transaction is on PartitionKey %Q, an earlier one "
                 "on %Q; write each partition in a transaction of its own, or use a table with "
                 "batch=split outside transactions (CommandsInBatchActOnDifferentPartitions)",
                 (unsigned long long)list->count, now, before);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int refuse_second_operation(const pt_remote_operations *list,
                                   const pt_remote_operation *operation, pt_error *error)
{
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe((pt_keys){.partition = operation->partition, .row = operation->row}, keys);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of the transaction is the second on the entity with %s; "
                 "write each entity once in a transaction (InvalidDuplicateRow)",
                 (unsigned long long)list->count, keys);
    return pt_error_naming(error, PT_NAMES_NUMBER | PT_NAMES_KEYS);
}

static int refuse_more(const pt_remote_operations *list, pt_error *error)
{
    bool many = list->count >= OPERATIONS_IN_BATCH;
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of the transaction is one too many for the service, "
                 "which takes %d operations and %d bytes; COMMIT before it, or use a table with "
                 "batch=split outside transactions (%s)",
                 (unsigned long long)list->count, OPERATIONS_IN_BATCH, BATCH_BYTES,
                 many ? "InvalidInput" : "RequestBodyTooLarge");
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int check_operation(const pt_remote_operations *list, const pt_remote_operation *operation,
                           pt_error *error)
{
    size_t place;
    size_t bytes = list->texts.size + operation->body.size +
                   3 * (operation->partition.size + operation->row.size) +
                   (list->count + 1) * PT_BATCH_OVERHEAD;
    if (list->count == 0) {
        return SQLITE_OK;
    }
    if (!pt_slice_equal(pt_remote_operations_at(list, 0).partition, operation->partition)) {
        return refuse_other_partition(list, operation->partition, error);
    }
    if (pt_remote_operations_find(list, operation->partition, operation->row, &place)) {
        return refuse_second_operation(list, operation, error);
    }
    return list->count >= OPERATIONS_IN_BATCH || bytes > BATCH_BYTES ? refuse_more(list, error)
                                                                     : SQLITE_OK;
}

bool pt_remote_transaction_splits(const pt_remote_table *table)
{
    return table->config.split && sqlite3_get_autocommit(table->service->db) != 0;
}

static int add_to_split(pt_remote_table *table, const pt_remote_operation *operation,
                        pt_error *error)
{
    const pt_service_config *config = &table->config;
    if (table->split == NULL) {
        const pt_remote_target target = {.service = table->service,
                                         .account = config->account,
                                         .table = config->base.table,
                                         .timeout = config->timeout,
                                         .retries = config->retries};
        table->split = pt_split_new(&target, config->max_requests, (int)config->parallel);
    }
    if (table->split == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_split_add(table->split, operation, error);
    /* OR IGNORE must skip no row for the failure of others. */
    if (pt_module_ignores(table->service->db, error)) {
        error->rc = SQLITE_ERROR;
        rc = SQLITE_ERROR;
    }
    return rc;
}

/* After OR IGNORE and OR FAIL the statement's other rows are still sent. */
void pt_remote_transaction_stop(pt_remote_table *table, pt_error *error)
{
    int action = sqlite3_vtab_on_conflict(table->service->db);
    bool constraint = (error->rc & 0xFF) == SQLITE_CONSTRAINT;
    bool goes_on = constraint && (action == SQLITE_IGNORE || action == SQLITE_FAIL);
    if (table->split != NULL && !goes_on) {
        pt_split_stop(table->split, error);
    }
}

int pt_remote_transaction_add(pt_remote_table *table, const pt_remote_operation *operation,
                              pt_error *error)
{
    pt_remote_pending *pending = pending_of(table);
    const pt_service_config *config = &table->config;
    if (pt_remote_transaction_splits(table)) {
        return add_to_split(table, operation, error);
    }
    if (pending->sent) {
        return pt_error_set(error, SQLITE_BUSY,
                            "the service has done the transaction already, and only SQLite's own "
                            "COMMIT is left; COMMIT again before more is written");
    }
    bool first = pending->operations.count == 0;
    if (!first && !pt_pending_is_for(pending, config->account, config->base.table)) {
        return refuse_other_table(pending, error);
    }
    int rc = first ? begin_pending(pending, config, error) : SQLITE_OK;
    if (rc == SQLITE_OK) {
        rc = check_operation(&pending->operations, operation, error);
    }
    if (rc == SQLITE_OK && !pt_remote_operations_add(&pending->operations, operation)) {
        rc = pt_error_nomem(error);
    }
    pending->in_transaction = sqlite3_get_autocommit(table->service->db) == 0;
    return rc;
}

bool pt_remote_transaction_holds(const pt_remote_table *table, const pt_remote_operation *operation,
                                 pt_slice etag)
{
    const pt_remote_pending *pending = &table->service->pending;
    const pt_service_config *config = &table->config;
    return pt_pending_is_for(pending, config->account, config->base.table) &&
           pt_remote_operations_have(&pending->operations, operation->partition, operation->row,
                                     etag);
}

int pt_remote_transaction_check_first(const pt_remote_table *table,
                                      const pt_remote_operation *operation, pt_error *error)
{
    const pt_remote_operations *operations = &table->service->pending.operations;
    return pt_remote_transaction_holds(table, operation, (pt_slice){0})
               ? refuse_second_operation(operations, operation, error)
               : SQLITE_OK;
}

/* --- COMMIT --- */

/* The delivery leaves out deletes of entities that do not exist. The transaction's list stays as it
 * is: after SQLITE_BUSY, savepoints still refer to places in it. */
static int send_pending(pt_remote_table *table, pt_error *error)
{
    pt_remote_pending *pending = pending_of(table);
    pt_kept_operation kept[OPERATIONS_IN_BATCH];
    pt_remote_operations sent = pending->operations;
    memcpy(kept, sent.kept, sent.count * sizeof *kept);
    sent.kept = kept;
    pt_budget budget = {.statement = pending->in_transaction ? NULL : table->service->writing,
                        .max_requests = table->config.max_requests};
    pt_delivery delivery = {.budget = budget,
                            .target = {.service = table->service,
                                       .account = pending->account,
                                       .table = pending->table,
                                       .timeout = pending->timeout,
                                       .retries = pending->retries},
                            .operations = &sent};
    int rc = pt_delivery_send(&delivery, error);
    if (rc == SQLITE_OK) {
        rc = pt_delivery_receive(&delivery, error);
    }
    pt_delivery_free(&delivery);
    return rc;
}

static int finish_split(pt_remote_table *table)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_split_finish(table->split, &error);
    if (rc != SQLITE_OK) {
        pt_split_stop(table->split, &error);
        rc = pt_remote_table_fail(table, &error);
    }
    return rc;
}

/* SQLite's own locks first: once the service has done the transaction, nothing undoes it. */
int pt_remote_transaction_sync(sqlite3_vtab *vtab)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    pt_remote_pending *pending = pending_of(table);
    pt_error error = PT_ERROR_NONE;
    if (table->split != NULL) {
        return finish_split(table);
    }
    if (pending->operations.count == 0 || pending->sent) {
        return SQLITE_OK;
    }
    int rc = pt_main_database_lock_for_commit(table->service->db, &error);
    if (rc == SQLITE_OK) {
        rc = send_pending(table, &error);
    }
    /* SQLite keeps a transaction whose COMMIT fails for SQLITE_BUSY only. */
    if (rc == SQLITE_AUTH && pending->in_transaction) {
        rc = pt_error_set(&error, SQLITE_BUSY,
                          "%s; nothing has been done, and the transaction is still open: COMMIT "
                          "again when the account has the right, or ROLLBACK",
                          error.message);
    }
    pending->sent = rc == SQLITE_OK;
    return rc == SQLITE_OK ? rc : pt_module_fail(&vtab->zErrMsg, pending->sql_name, &error);
}

static void end_transaction(pt_remote_table *table)
{
    pt_split_free(table->split);
    table->split = NULL;
    pt_pending_clear(pending_of(table));
    pt_remote_table_end_budget(table);
}

int pt_remote_transaction_commit(sqlite3_vtab *vtab)
{
    end_transaction(pt_remote_table_of(vtab));
    return SQLITE_OK;
}

int pt_remote_transaction_rollback(sqlite3_vtab *vtab)
{
    end_transaction(pt_remote_table_of(vtab));
    return SQLITE_OK;
}

/* --- Savepoints --- */

int pt_remote_transaction_begin(sqlite3_vtab *vtab)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    table->joining = !table->config.base.read_only;
    if (table->config.base.read_only) {
        pt_error_set(&error, SQLITE_READONLY,
                     "cannot be written, the table was created with readonly=1; write with another "
                     "virtual table of it");
        return pt_remote_table_fail(table, &error);
    }
    pt_budget budget;
    return pt_remote_table_budget(table, &budget, &error) == SQLITE_OK
               ? SQLITE_OK
               : pt_remote_table_fail(table, &error);
}

/* Forgets the marks of a level and above. */
static void cut_marks(pt_remote_pending *pending, int level)
{
    while (pending->mark_count != 0 && pending->marks[pending->mark_count - 1].level >= level) {
        pending->mark_count--;
    }
}

/* The call right after xBegin is for a savepoint that is open already. If another table has joined
 * before, it has marked it. */
int pt_remote_transaction_savepoint(sqlite3_vtab *vtab, int level)
{
    pt_remote_table *table = pt_remote_table_of(vtab);
    pt_remote_pending *pending = pending_of(table);
    bool already_open = table->joining;
    table->joining = false;
    if (already_open) {
        return SQLITE_OK;
    }
    cut_marks(pending, level);
    if (!pt_array_reserve(&pending->marks, &pending->mark_capacity, pending->mark_count + 1,
                          sizeof *pending->marks)) {
        return SQLITE_NOMEM;
    }
    pending->marks[pending->mark_count++] =
        (pt_savepoint_mark){.level = level, .count = pending->operations.count};
    return SQLITE_OK;
}

void pt_remote_transaction_undo_statement(pt_remote_table *table)
{
    pt_remote_pending *pending = pending_of(table);
    size_t savepoint = pending->mark_count != 0 ? pending->marks[pending->mark_count - 1].count : 0;
    bool later = pending->statement > savepoint;
    pt_remote_operations_cut(&pending->operations, later ? pending->statement : savepoint);
}

int pt_remote_transaction_release(sqlite3_vtab *vtab, int level)
{
    cut_marks(pending_of(pt_remote_table_of(vtab)), level);
    return SQLITE_OK;
}

/* The savepoint stays. Without a mark it is older than the first operation. */
int pt_remote_transaction_rollback_to(sqlite3_vtab *vtab, int level)
{
    pt_remote_pending *pending = pending_of(pt_remote_table_of(vtab));
    size_t count = 0;
    cut_marks(pending, level + 1);
    if (pending->mark_count != 0 && pending->marks[pending->mark_count - 1].level == level) {
        count = pending->marks[pending->mark_count - 1].count;
    }
    pt_remote_operations_cut(&pending->operations, count);
    return SQLITE_OK;
}
