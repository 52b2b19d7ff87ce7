#include "queue/hand_out.h"

#include "base/ticks.h"
#include "entity/key.h"
#include "queue/rules.h"
#include "queue/store.h"
#include "table/entity_writer.h"

/* Skips a damaged message, which must not block the queue. It stays where it is, and SELECT reports
 * it. */
static int skip_damaged(int rc, pt_error *error)
{
    if (rc != SQLITE_CORRUPT_VTAB) {
        return rc;
    }
    sqlite3_log(rc, "ptable: a message cannot be handed out: %s", error->message);
    pt_error_clear(error);
    return SQLITE_OK;
}

typedef struct get_call {
    pt_queue *queue;
    pt_queue_request *request;
    int64_t count;
    int64_t timeout; /* visibility timeout, in ticks */
    int64_t now;
} get_call;

static int hand_out_message(const get_call *get, pt_message *message, pt_error *error)
{
    message->next_visible = pt_queue_next_visible(get->now, get->timeout, message->expires);
    message->dequeue_count += message->dequeue_count < INT64_MAX ? 1 : 0;
    pt_message_make_receipt(message);
    /* Answer first: a message whose body is damaged must stay unchanged. */
    int rc = pt_queue_request_answer(get->queue, get->request, message, error);
    return rc == SQLITE_OK ? pt_queue_change(get->queue, message, error) : skip_damaged(rc, error);
}

/* The parts of a large value belong to one table, so the poison queue needs the whole body. */
static int move_to_poison(const get_call *get, const pt_message *message, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_buffer bytes = {0};
    pt_value body;
    int rc = pt_queue_read_old_body(queue, message, &bytes, &body, error);
    rc = rc == SQLITE_OK ? pt_queue_move_to_poison(queue, message, &body, get->now, error)
                         : skip_damaged(rc, error);
    pt_buffer_free(&bytes);
    return rc;
}

/* Removes, moves to the poison queue, or hands out the visible message under this key. */
static int take_message(const get_call *get, pt_slice key, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_message message;
    bool found;
    if (!pt_buffer_assign(&queue->table.old_key, key)) {
        return pt_error_nomem(error);
    }
    pt_slice old_key = pt_buffer_slice(&queue->table.old_key);
    int rc = pt_queue_read(queue, old_key, &found, &message, error);
    if (rc != SQLITE_OK || !found) {
        return skip_damaged(rc, error);
    }
    if (!pt_message_is_alive(&message, get->now)) {
        return pt_entity_remove(&queue->table, old_key, error);
    }
    if (pt_queue_is_poison(queue, &message)) {
        return move_to_poison(get, &message, error);
    }
    return hand_out_message(get, &message, error);
}

/*
 * Makes the key to start from. If the transaction handed out messages before, and undid nothing
 * since, that is the last message looked at: all messages before it are gone or damaged, and
 * everything written since becomes visible later. So many calls in one transaction do not walk over
 * the same removed messages again and again.
 */
static bool make_start_key(const pt_queue *queue, pt_buffer *key)
{
    const pt_queue_front *front = &queue->front;
    bool known =
        front->key.size != 0 && front->changes == pt_session_catalog_changes(queue->table.session);
    if (known) {
        pt_buffer_assign(key, pt_buffer_slice(&front->key));
    } else {
        pt_key_begin(key, queue->table.id.id);
    }
    return !key->failed;
}

static int set_front(pt_queue *queue, pt_slice key, pt_error *error)
{
    queue->front.changes = pt_session_catalog_changes(queue->table.session);
    return pt_buffer_assign(&queue->front.key, key) ? SQLITE_OK : pt_error_nomem(error);
}

/* Moves the queue's scan to the first visible message. */
static int seek_first_visible(const get_call *get, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_view *view = NULL;
    char end[PT_MESSAGE_TICKS_SIZE + 1];
    /* Keys begin with TimeNextVisible: visible messages have keys below that of the next tick. */
    pt_message_format_ticks(get->now + 1, end);
    pt_key_begin(&queue->table.key, queue->table.id.id);
    pt_key_append(&queue->table.key, (pt_slice){0}, pt_slice_text(end));
    if (!make_start_key(queue, &queue->table.old_key) || queue->table.key.failed) {
        return pt_error_nomem(error);
    }
    int rc = pt_session_read(queue->table.session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(&queue->scan, view, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Handed-out messages move to later keys; the scan must not meet them again. */
    pt_scan_freeze(&queue->scan);
    return pt_scan_seek(&queue->scan, pt_buffer_slice(&queue->table.old_key),
                        pt_buffer_slice(&queue->table.key), PT_FORWARD, error);
}

static int hand_out_all(const get_call *get, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_scan *scan = &queue->scan;
    int rc = seek_first_visible(get, error);
    bool any = rc == SQLITE_OK && scan->valid;
    while (rc == SQLITE_OK && scan->valid && get->request->message_count < (uint64_t)get->count) {
        rc = take_message(get, scan->key, error);
        if (rc == SQLITE_OK) {
            rc = pt_view_step(scan->view, error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_scan_step(scan, error);
        }
    }
    pt_scan_close(scan);
    /* table.old_key is still the key of the last message looked at. */
    return rc == SQLITE_OK && any ? set_front(queue, pt_buffer_slice(&queue->table.old_key), error)
                                  : rc;
}

int pt_queue_hand_out(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    enum { COUNT = 1, SECONDS = 30 };
    get_call get = {.queue = queue,
                    .request = request,
                    .count = COUNT,
                    .timeout = SECONDS * PT_TICKS_PER_SECOND};
    int rc = SQLITE_OK;
    if (request->count != NULL) {
        rc = pt_queue_read_count(queue->azure_limits, request->count, &get.count, error);
    }
    if (rc == SQLITE_OK && request->visibility != NULL) {
        rc = pt_queue_read_get_timeout(queue->azure_limits, request->visibility, &get.timeout,
                                       error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_session_next_timestamp(queue->table.session, &get.now, error);
    }
    return rc == SQLITE_OK ? hand_out_all(&get, error) : rc;
}
