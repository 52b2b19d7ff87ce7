#include "queue/update.h"

#include "queue/columns.h"
#include "queue/rules.h"
#include "queue/store.h"

/* Hides the message for so many seconds. */
static int set_next_visible(const pt_queue *queue, sqlite3_value *seconds, pt_message *message,
                            pt_error *error)
{
    int64_t ticks = 0;
    int rc = pt_queue_read_update_timeout(queue->azure_limits, seconds, &ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int64_t now = 0;
    rc = pt_session_next_timestamp(queue->table.session, &now, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    message->next_visible = pt_queue_next_visible(now, ticks, message->expires);
    return pt_queue_check_update_timeout(queue->azure_limits, seconds, ticks,
                                         message->expires - now, error);
}

int pt_queue_apply_update(pt_queue *queue, sqlite3_value *seconds, sqlite3_value *body,
                          pt_message *message, pt_error *error)
{
    int rc = seconds != NULL ? set_next_visible(queue, seconds, message, error) : SQLITE_OK;
    if (rc == SQLITE_OK && body != NULL) {
        rc = pt_queue_read_body(queue->azure_limits, body, &message->body, error);
    }
    pt_message_make_receipt(message);
    return rc;
}

static int read_required_text(sqlite3_value *value, int column, pt_slice *text, pt_error *error)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "%s is NULL; give the one that the message was handed out with "
                            "(MissingRequiredQueryParameter)",
                            pt_queue_column_name(column));
    }
    return pt_queue_text(value, text) ? SQLITE_OK : pt_error_nomem(error);
}

/* Reads the MessageId and PopReceipt of a request. */
static int read_receipt(const pt_queue_request *request, pt_message *held, pt_error *error)
{
    pt_slice id = {0};
    pt_slice receipt = {0};
    int rc = read_required_text(request->id, PT_QUEUE_MESSAGE_ID, &id, error);
    if (rc == SQLITE_OK) {
        rc = read_required_text(request->receipt, PT_QUEUE_POP_RECEIPT, &receipt, error);
    }
    if (rc == SQLITE_OK && !pt_message_parse_receipt(id, receipt, held)) {
        rc = pt_queue_refuse_receipt(id, receipt, error);
    }
    return rc;
}

int pt_queue_update(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    pt_message held;
    pt_message message;
    int64_t now = 0;
    int rc = read_receipt(request, &held, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(queue->table.session, &now, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_check_receipt(queue, &held, now, &message, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_apply_update(queue, request->visibility, request->body, &message, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_queue_request_answer(queue, request, &message, error);
    }
    return rc == SQLITE_OK ? pt_queue_change(queue, &message, error) : rc;
}
