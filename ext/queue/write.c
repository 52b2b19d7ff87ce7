#include "queue/write.h"

#include "queue/columns.h"
#include "queue/hand_out.h"
#include "queue/rules.h"
#include "queue/store.h"
#include "table/entity_writer.h"
#include "table/table_transaction.h"
#include "value/value.h"

/* xUpdate's arguments: the old key, a copy of the new one, then the columns. */
enum { ARGUMENT_OLD_KEY = 0, ARGUMENT_COLUMNS = 2 };

static int refuse_column(int column, const char *advice, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s cannot be %s",
                        pt_queue_column_name(column), advice);
}

static int refuse_request(pt_error *error)
{
    return refuse_column(PT_QUEUE_REQUEST,
                         "written, it is for pt_queue_get and pt_queue_update; leave the column "
                         "out",
                         error);
}

/* --- INSERT --- */

static int check_insert(sqlite3_value **columns, pt_error *error)
{
    if (sqlite3_value_type(columns[PT_QUEUE_REQUEST]) != SQLITE_NULL) {
        return refuse_request(error);
    }
    for (int i = 0; i < PT_QUEUE_COLUMNS; i++) {
        bool given_to =
            i == PT_QUEUE_BODY || i == PT_QUEUE_VISIBILITY_TIMEOUT || i == PT_QUEUE_TIME_TO_LIVE;
        if (!given_to && sqlite3_value_type(columns[i]) != SQLITE_NULL) {
            return refuse_column(i,
                                 "given, the queue sets it; INSERT Body, VisibilityTimeout and "
                                 "TimeToLive only",
                                 error);
        }
    }
    return SQLITE_OK;
}

static int insert(pt_queue *queue, sqlite3_value **columns, pt_error *error)
{
    bool azure = queue->azure_limits;
    pt_message message = {.dequeue_count = 0};
    int64_t time_to_live = 0;
    int64_t delay = 0;
    int rc = check_insert(columns, error);
    if (rc == SQLITE_OK) {
        rc = pt_queue_read_body(azure, columns[PT_QUEUE_BODY], &message.body, error);
    }
    if (rc == SQLITE_OK) {
        rc =
            pt_queue_read_time_to_live(azure, columns[PT_QUEUE_TIME_TO_LIVE], &time_to_live, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_read_delay(azure, columns[PT_QUEUE_VISIBILITY_TIMEOUT], time_to_live, &delay,
                                 error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    message.inserted = pt_session_tick(queue->table.session);
    message.expires = pt_queue_later(message.inserted, time_to_live);
    message.next_visible = pt_queue_hide(message.inserted, delay, message.expires);
    pt_message_make_id(message.inserted, message.id);
    pt_message_make_receipt(&message);
    return pt_queue_add(&queue->table, &message, error);
}

static int insert_or_request(pt_queue *queue, sqlite3_value **columns, pt_error *error)
{
    pt_queue_request *request =
        sqlite3_value_pointer(columns[PT_QUEUE_REQUEST], PT_QUEUE_REQUEST_TYPE);
    return request != NULL ? pt_queue_answer(queue, request, error) : insert(queue, columns, error);
}

/* --- UPDATE and DELETE --- */

/* Reads the message that a row's key says who writes it holds. */
static int read_held(pt_queue *queue, sqlite3_value *key, pt_message *message, pt_error *error)
{
    pt_message held;
    bool by_receipt;
    if (!pt_queue_parse_key(key, &held, &by_receipt) || !by_receipt) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "a message is changed or deleted by who holds it: WHERE MessageId = "
                            "... AND PopReceipt = ..., or several WHERE (MessageId, PopReceipt) IN "
                            "(SELECT ...) (MissingRequiredQueryParameter)");
    }
    int64_t now = pt_session_tick(queue->table.session);
    return pt_queue_read_held(queue, &held, now, message, error);
}

/* SQLite 3.40 gives all columns of an UPDATE ... FROM: those that are as they are read are not set.
 */
static bool is_set(sqlite3_value **columns, int column, const pt_message *message)
{
    if (sqlite3_value_nochange(columns[column])) {
        return false;
    }
    pt_queue_text_room room;
    pt_value now = pt_queue_column(message, column, true, &room);
    return !pt_value_equals_sql(&now, columns[column]);
}

static int check_update(sqlite3_value **columns, const pt_message *message, pt_error *error)
{
    if (is_set(columns, PT_QUEUE_REQUEST, message)) {
        return refuse_request(error);
    }
    if (is_set(columns, PT_QUEUE_TIME_TO_LIVE, message)) {
        return refuse_column(PT_QUEUE_TIME_TO_LIVE, "changed, it is given in INSERT only", error);
    }
    for (int i = 0; i < PT_QUEUE_COLUMNS; i++) {
        bool given_to = i == PT_QUEUE_BODY || i == PT_QUEUE_VISIBILITY_TIMEOUT;
        if (!given_to && is_set(columns, i, message)) {
            return refuse_column(i, "changed; SET VisibilityTimeout and Body only", error);
        }
    }
    return SQLITE_OK;
}

/* A timeout that is NULL is none, but in an UPDATE ... FROM of SQLite 3.40, which reads it so. */
static bool is_timeout_set(sqlite3_value **columns)
{
    sqlite3_value *timeout = columns[PT_QUEUE_VISIBILITY_TIMEOUT];
    bool all_given = !sqlite3_value_nochange(columns[PT_QUEUE_MESSAGE_KEY]);
    return !sqlite3_value_nochange(timeout) &&
           !(all_given && sqlite3_value_type(timeout) == SQLITE_NULL);
}

static int update(pt_queue *queue, sqlite3_value *key, sqlite3_value **columns, pt_error *error)
{
    pt_message message;
    int rc = read_held(queue, key, &message, error);
    if (rc == SQLITE_OK) {
        rc = check_update(columns, &message, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    sqlite3_value *body = columns[PT_QUEUE_BODY];
    sqlite3_value *timeout = columns[PT_QUEUE_VISIBILITY_TIMEOUT];
    rc = pt_queue_extend(queue, is_timeout_set(columns) ? timeout : NULL,
                         sqlite3_value_nochange(body) ? NULL : body, &message, error);
    return rc == SQLITE_OK ? pt_queue_change(queue, &message, error) : rc;
}

static int delete_message(pt_queue *queue, sqlite3_value *key, pt_error *error)
{
    pt_message message;
    int rc = read_held(queue, key, &message, error);
    return rc == SQLITE_OK
               ? pt_entity_remove(&queue->table, pt_buffer_slice(&queue->table.old_key), error)
               : rc;
}

static int write_row(pt_queue *queue, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                     pt_error *error)
{
    int rc = pt_transaction_prepare_write(&queue->table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_message(queue, argv[ARGUMENT_OLD_KEY], error);
    }
    if (sqlite3_value_type(argv[ARGUMENT_OLD_KEY]) != SQLITE_NULL) {
        return update(queue, argv[ARGUMENT_OLD_KEY], argv + ARGUMENT_COLUMNS, error);
    }
    rc = insert_or_request(queue, argv + ARGUMENT_COLUMNS, error);
    /* SQLite copies it into last_insert_rowid(), which is none of this table's business. */
    *rowid = sqlite3_last_insert_rowid(pt_connection_db(queue->table.connection));
    return rc;
}

int pt_queue_write(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_queue *queue = pt_queue_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_enter(&queue->table);
    int rc = write_row(queue, argc, argv, rowid, &error);
    pt_table_leave(&queue->table);
    return rc == SQLITE_OK ? rc : pt_table_fail_write(&queue->table, &error);
}
