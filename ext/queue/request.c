#include "queue/request.h"

#include "queue/store.h"

pt_queue_message *pt_queue_request_add(pt_queue_request *request)
{
    if (!pt_array_reserve(&request->messages, &request->message_capacity,
                          request->message_count + 1, sizeof *request->messages)) {
        return NULL;
    }
    pt_queue_message *message = &request->messages[request->message_count++];
    *message = (pt_queue_message){0};
    return message;
}

/* Copies the whole body while it is still in the store, and adds a NUL. */
static int copy_body(pt_queue *queue, const pt_message *message, pt_buffer *bytes, bool *is_text,
                     pt_error *error)
{
    pt_value body;
    int rc = pt_queue_read_old_body(queue, message, bytes, &body, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *is_text = body.type == PT_STRING;
    if (pt_type_is_large(message->body.type)) {
        return SQLITE_OK; /* pt_queue_read_old_body has put it into `bytes` */
    }
    pt_buffer_assign(bytes, body.bytes);
    if (!pt_buffer_reserve(bytes, 1)) {
        return pt_error_nomem(error);
    }
    bytes->data[bytes->size] = 0;
    return SQLITE_OK;
}

/* Adds the message to the answer, which takes ownership of the body. */
static int add_message(pt_queue_request *request, const pt_message *message, pt_buffer *body,
                       bool is_text, pt_error *error)
{
    pt_queue_message *added = pt_queue_request_add(request);
    if (added == NULL) {
        pt_buffer_free(body);
        return pt_error_nomem(error);
    }
    char receipt[PT_MESSAGE_RECEIPT_SIZE + 1];
    pt_message_format_receipt(message, receipt);
    added->id = sqlite3_mprintf("%s", message->id);
    added->receipt = sqlite3_mprintf("%s", receipt);
    added->body = *body;
    added->body_is_text = is_text;
    added->inserted = message->inserted;
    added->expires = message->expires;
    added->next_visible = message->next_visible;
    added->dequeue_count = message->dequeue_count;
    return added->id != NULL && added->receipt != NULL ? SQLITE_OK : pt_error_nomem(error);
}

int pt_queue_request_answer(pt_queue *queue, pt_queue_request *request, const pt_message *message,
                            pt_error *error)
{
    pt_buffer body = {0};
    bool is_text = false;
    int rc = copy_body(queue, message, &body, &is_text, error);
    if (rc != SQLITE_OK) {
        pt_buffer_free(&body);
        return rc;
    }
    return add_message(request, message, &body, is_text, error);
}

void pt_queue_request_clear(pt_queue_request *request)
{
    for (size_t i = 0; i < request->message_count; i++) {
        sqlite3_free(request->messages[i].id);
        sqlite3_free(request->messages[i].receipt);
        pt_buffer_free(&request->messages[i].body);
    }
    sqlite3_free(request->messages);
    request->messages = NULL;
    request->message_count = 0;
    request->message_capacity = 0;
}
