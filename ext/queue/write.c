#include "queue/write.h"

#include "queue/columns.h"
#include "queue/hand_out.h"
#include "queue/rules.h"
#include "queue/store.h"
#include "queue/update.h"
#include "table/entity_writer.h"
#include "table/row_error.h"
#include "table/table_transaction.h"
#include "value/value.h"

/* Arguments of xUpdate: the old key, the new key, then the columns. */
enum { WRITE_OLD_KEY = 0, WRITE_COLUMNS = 2 };

static int refuse_column(int column, const char *advice, pt_error *error)
{
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB, "%s cannot be %s",
                        pt_queue_column_name(column), advice);
}

static int refuse_request(pt_error *error)
{
    return refuse_column(PT_QUEUE_REQUEST,
                         "written, because pt_queue_get and pt_queue_update use it; leave the "
                         "column out",
                         error);
}

/* --- INSERT --- */

static int check_insert(sqlite3_value **columns, pt_error *error)
{
    if (sqlite3_value_type(columns[PT_QUEUE_REQUEST]) != SQLITE_NULL) {
        return refuse_request(error);
    }
    for (int i = 0; i < PT_QUEUE_COLUMNS; i++) {
        bool can_give =
            i == PT_QUEUE_BODY || i == PT_QUEUE_VISIBILITY_TIMEOUT || i == PT_QUEUE_TIME_TO_LIVE;
        if (!can_give && sqlite3_value_type(columns[i]) != SQLITE_NULL) {
            return refuse_column(i,
                                 "given, because the queue sets it; INSERT only Body, "
                                 "VisibilityTimeout and TimeToLive",
                                 error);
        }
    }
    return SQLITE_OK;
}

static int insert_message(pt_queue *queue, sqlite3_value **columns, pt_error *error)
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
        rc = pt_queue_read_insert_timeout(azure, columns[PT_QUEUE_VISIBILITY_TIMEOUT], time_to_live,
                                          &delay, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(queue->table.session, &message.inserted, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    message.expires = pt_queue_later(message.inserted, time_to_live);
    message.next_visible = pt_queue_next_visible(message.inserted, delay, message.expires);
    pt_message_make_id(message.inserted, message.id);
    pt_message_make_receipt(&message);
    return pt_queue_add(&queue->table, &message, error);
}

/* --- Requests --- */

int pt_queue_serve_request(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    pt_session *session = queue->table.session;
    size_t row = pt_session_begin_row(session);
    int rc = request->kind == PT_QUEUE_GET ? pt_queue_hand_out(queue, request, error)
                                           : pt_queue_update(queue, request, error);
    if (rc == SQLITE_OK) {
        pt_session_end_row(session);
        return rc;
    }
    /* If the row created the poison queue, that is undone too, so ids of tables that were looked up
     * may be wrong. */
    pt_session_discard_row(session, row);
    pt_session_note_catalog_change(session);
    return rc;
}

static int insert_or_serve(pt_queue *queue, sqlite3_value **columns, pt_error *error)
{
    pt_queue_request *request =
        sqlite3_value_pointer(columns[PT_QUEUE_REQUEST], PT_QUEUE_REQUEST_TYPE);
    return request != NULL ? pt_queue_serve_request(queue, request, error)
                           : insert_message(queue, columns, error);
}

/* --- UPDATE and DELETE --- */

/* Reads the message of a row, whose key must have a current receipt. */
static int read_held(pt_queue *queue, sqlite3_value *key, pt_message *message, pt_error *error)
{
    pt_message held;
    bool by_receipt;
    if (!pt_queue_parse_key(key, &held, &by_receipt) || !by_receipt) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "changing or deleting a message needs its PopReceipt: WHERE MessageId "
                            "= ... AND PopReceipt = ..., or for several messages WHERE (MessageId, "
                            "PopReceipt) IN (SELECT ...) (MissingRequiredQueryParameter)");
    }
    int64_t now = 0;
    int rc = pt_session_next_timestamp(queue->table.session, &now, error);
    return rc == SQLITE_OK ? pt_queue_check_receipt(queue, &held, now, message, error) : rc;
}

/* SQLite 3.40 passes all columns to an UPDATE ... FROM. A column counts as set only if its value
 * differs from the one that is read. */
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
        return refuse_column(PT_QUEUE_TIME_TO_LIVE, "changed, only given in INSERT", error);
    }
    for (int i = 0; i < PT_QUEUE_COLUMNS; i++) {
        bool can_give = i == PT_QUEUE_BODY || i == PT_QUEUE_VISIBILITY_TIMEOUT;
        if (!can_give && is_set(columns, i, message)) {
            return refuse_column(i, "changed; SET only VisibilityTimeout and Body", error);
        }
    }
    return SQLITE_OK;
}

/* SQLite 3.40 passes all columns to an UPDATE ... FROM, and a timeout that is not set reads as
 * NULL. In other statements a timeout of NULL is an error. */
static bool is_timeout_set(sqlite3_value **columns)
{
    sqlite3_value *timeout = columns[PT_QUEUE_VISIBILITY_TIMEOUT];
    bool all_given = !sqlite3_value_nochange(columns[PT_QUEUE_MESSAGE_KEY]);
    return !sqlite3_value_nochange(timeout) &&
           !(all_given && sqlite3_value_type(timeout) == SQLITE_NULL);
}

static int update_message(pt_queue *queue, sqlite3_value *key, sqlite3_value **columns,
                          pt_error *error)
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
    rc = pt_queue_apply_update(queue, is_timeout_set(columns) ? timeout : NULL,
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

static int write_message(pt_queue *queue, int argc, sqlite3_value **argv, sqlite3_int64 *rowid,
                         pt_error *error)
{
    int rc = pt_transaction_prepare_write(&queue->table, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (argc == 1) {
        return delete_message(queue, argv[WRITE_OLD_KEY], error);
    }
    if (sqlite3_value_type(argv[WRITE_OLD_KEY]) != SQLITE_NULL) {
        return update_message(queue, argv[WRITE_OLD_KEY], argv + WRITE_COLUMNS, error);
    }
    rc = insert_or_serve(queue, argv + WRITE_COLUMNS, error);
    /* SQLite sets last_insert_rowid() to this value; leave it unchanged. */
    *rowid = sqlite3_last_insert_rowid(queue->table.connection->db);
    return rc;
}

enum { MESSAGE_TEXT_SIZE = PT_MESSAGE_ID_SIZE + 16 };

/* Names the message of an UPDATE or DELETE. One that is inserted has no id yet. */
__attribute__((noinline)) static int fail_message(pt_queue *queue, int argc, sqlite3_value **argv,
                                                  pt_error *error)
{
    char text[MESSAGE_TEXT_SIZE] = "";
    pt_message message = {.id = ""};
    bool held;
    if (argc == 1 || sqlite3_value_type(argv[WRITE_OLD_KEY]) != SQLITE_NULL) {
        pt_queue_parse_key(argv[WRITE_OLD_KEY], &message, &held);
        sqlite3_snprintf(MESSAGE_TEXT_SIZE, text, "message '%s'", message.id);
    }
    int rc = pt_table_fail_row(&queue->table, text, error);
    pt_transaction_undo_statement(&queue->table, argc, argv, rc);
    return rc;
}

int pt_queue_write(sqlite3_vtab *vtab, int argc, sqlite3_value **argv, sqlite3_int64 *rowid)
{
    pt_queue *queue = pt_queue_of(vtab);
    pt_error error = PT_ERROR_NONE;
    pt_table_set_busy(&queue->table);
    int rc = write_message(queue, argc, argv, rowid, &error);
    pt_table_clear_busy(&queue->table);
    if (rc != SQLITE_OK) {
        return fail_message(queue, argc, argv, &error);
    }
    queue->table.rows++;
    return SQLITE_OK;
}
