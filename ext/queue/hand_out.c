#include "queue/hand_out.h"

#include "base/ticks.h"
#include "entity/key.h"
#include "queue/columns.h"
#include "queue/rules.h"
#include "queue/store.h"
#include "table/entity_writer.h"

/* --- The answer --- */

/* The whole body of the message that is in the store under table.old_key. */
static int read_body(pt_queue *queue, const pt_message *message, pt_buffer *bytes, pt_value *body,
                     pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(queue->table.session, &view, error);
    return rc == SQLITE_OK
               ? pt_queue_whole_body(&queue->table, view, pt_buffer_slice(&queue->table.old_key),
                                     message, bytes, body, error)
               : rc;
}

/* Copies the whole body, as long as it is in the store. */
static int copy_body(pt_queue *queue, const pt_message *message, pt_buffer *bytes, bool *is_text,
                     pt_error *error)
{
    pt_value body;
    int rc = read_body(queue, message, bytes, &body, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *is_text = body.type == PT_STRING;
    if (pt_type_is_large(message->body.type)) {
        return SQLITE_OK;
    }
    pt_buffer_assign(bytes, body.bytes);
    if (!pt_buffer_reserve(bytes, 1)) {
        return pt_error_nomem(error);
    }
    bytes->data[bytes->size] = 0;
    return SQLITE_OK;
}

static char *copy_text(const char *text)
{
    return sqlite3_mprintf("%s", text);
}

/* Adds the message to the answer, and takes the copy of its body over. */
static int add_to_answer(pt_queue_request *request, const pt_message *message, pt_buffer *body,
                         bool is_text, pt_error *error)
{
    pt_queue_message *given = pt_queue_request_add(request);
    if (given == NULL) {
        pt_buffer_free(body);
        return pt_error_nomem(error);
    }
    char receipt[PT_MESSAGE_RECEIPT_SIZE + 1];
    pt_message_format_receipt(message, receipt);
    given->id = copy_text(message->id);
    given->receipt = copy_text(receipt);
    given->body = *body;
    given->body_is_text = is_text;
    given->inserted = message->inserted;
    given->expires = message->expires;
    given->next_visible = message->next_visible;
    given->dequeue_count = message->dequeue_count;
    return given->id != NULL && given->receipt != NULL ? SQLITE_OK : pt_error_nomem(error);
}

/* Gives the message; its body may still be that of the store, or be given anew. With a body that
 * cannot be read nothing is given: SQLITE_CORRUPT_VTAB. */
static int give(pt_queue *queue, pt_queue_request *request, const pt_message *message,
                pt_error *error)
{
    pt_buffer body = {0};
    bool is_text = false;
    int rc = copy_body(queue, message, &body, &is_text, error);
    if (rc != SQLITE_OK) {
        pt_buffer_free(&body);
        return rc;
    }
    return add_to_answer(request, message, &body, is_text, error);
}

/* --- PT_QUEUE_GET --- */

/* A message that is damaged stays where it is and is in nobody's way: SELECT names it. */
static int pass_over_damage(int rc, pt_error *error)
{
    if (rc != SQLITE_CORRUPT_VTAB) {
        return rc;
    }
    sqlite3_log(rc, "ptable: a message cannot be handed out: %s", error->message);
    pt_error_clear(error);
    return SQLITE_OK;
}

typedef struct handing_out {
    pt_queue *queue;
    pt_queue_request *request;
    int64_t count;
    int64_t hold;
    int64_t now;
} handing_out;

static int hand_out(const handing_out *get, pt_message *message, pt_error *error)
{
    message->next_visible = pt_queue_hide(get->now, get->hold, message->expires);
    message->dequeue_count += message->dequeue_count < INT64_MAX ? 1 : 0;
    pt_message_make_receipt(message);
    int rc = give(get->queue, get->request, message, error);
    return rc == SQLITE_OK ? pt_queue_change(get->queue, message, error)
                           : pass_over_damage(rc, error);
}

/* Large values belong to their table, so the poison queue needs the whole body. */
static int set_aside(const handing_out *get, const pt_message *message, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_buffer bytes = {0};
    pt_value body;
    int rc = read_body(queue, message, &bytes, &body, error);
    rc = rc == SQLITE_OK ? pt_queue_move_to_poison(queue, message, &body, get->now, error)
                         : pass_over_damage(rc, error);
    pt_buffer_free(&bytes);
    return rc;
}

/* Does with one message that is visible what there is to do. */
static int serve(const handing_out *get, pt_slice key, pt_error *error)
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
        return pass_over_damage(rc, error);
    }
    if (!pt_message_is_alive(&message, get->now)) {
        return pt_entity_remove(&queue->table, old_key, error);
    }
    if (pt_queue_is_poison(queue, &message)) {
        return set_aside(get, &message, error);
    }
    return hand_out(get, &message, error);
}

/*
 * Where to begin: in a transaction that has handed out messages before and taken nothing back
 * since, at the last one that was looked at. What lay before it is gone or damaged, and whatever
 * has been written since is visible later; so many calls do not all walk over what the first ones
 * have left.
 */
static bool begin_key(const pt_queue *queue, pt_buffer *key)
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

static int note_front(pt_queue *queue, pt_slice key, pt_error *error)
{
    queue->front.changes = pt_session_catalog_changes(queue->table.session);
    return pt_buffer_assign(&queue->front.key, key) ? SQLITE_OK : pt_error_nomem(error);
}

/* Moves the queue's scan to the first message that is visible. */
static int seek_visible(const handing_out *get, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_view *view = NULL;
    char end[PT_MESSAGE_TICKS_SIZE + 1];
    pt_message_format_ticks(get->now + 1, end);
    pt_key_begin(&queue->table.key, queue->table.id.id);
    pt_key_append(&queue->table.key, (pt_slice){0}, pt_slice_text(end));
    if (!begin_key(queue, &queue->table.old_key) || queue->table.key.failed) {
        return pt_error_nomem(error);
    }
    int rc = pt_session_read(queue->table.session, &view, error);
    if (rc == SQLITE_OK) {
        rc = pt_scan_open(&queue->scan, view, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_scan_freeze(&queue->scan);
    return pt_scan_seek(&queue->scan, pt_buffer_slice(&queue->table.old_key),
                        pt_buffer_slice(&queue->table.key), PT_FORWARD, error);
}

static int hand_out_all(const handing_out *get, pt_error *error)
{
    pt_queue *queue = get->queue;
    pt_scan *scan = &queue->scan;
    int rc = seek_visible(get, error);
    bool any = rc == SQLITE_OK && scan->valid;
    while (rc == SQLITE_OK && scan->valid && get->request->message_count < (uint64_t)get->count) {
        rc = serve(get, scan->key, error);
        if (rc == SQLITE_OK) {
            rc = pt_view_step(scan->view, error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_scan_step(scan, error);
        }
    }
    pt_scan_close(scan);
    return rc == SQLITE_OK && any ? note_front(queue, pt_buffer_slice(&queue->table.old_key), error)
                                  : rc;
}

static int answer_get(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    enum { COUNT = 1, SECONDS = 30 };
    handing_out get = {
        .queue = queue, .request = request, .count = COUNT, .hold = SECONDS * PT_TICKS_PER_SECOND};
    int rc = SQLITE_OK;
    if (request->count != NULL) {
        rc = pt_queue_read_count(queue->azure_limits, request->count, &get.count, error);
    }
    if (rc == SQLITE_OK && request->visibility != NULL) {
        rc = pt_queue_read_hold(queue->azure_limits, request->visibility, &get.hold, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    get.now = pt_session_tick(queue->table.session);
    return hand_out_all(&get, error);
}

/* --- PT_QUEUE_UPDATE --- */

static int read_next_visible(const pt_queue *queue, sqlite3_value *seconds, pt_message *message,
                             pt_error *error)
{
    int64_t ticks = 0;
    int rc = pt_queue_read_extension(queue->azure_limits, seconds, &ticks, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int64_t now = pt_session_tick(queue->table.session);
    message->next_visible = pt_queue_hide(now, ticks, message->expires);
    return pt_queue_check_extension(queue->azure_limits, seconds, ticks, message->expires - now,
                                    error);
}

int pt_queue_extend(pt_queue *queue, sqlite3_value *seconds, sqlite3_value *body,
                    pt_message *message, pt_error *error)
{
    int rc = seconds != NULL ? read_next_visible(queue, seconds, message, error) : SQLITE_OK;
    if (rc == SQLITE_OK && body != NULL) {
        rc = pt_queue_read_body(queue->azure_limits, body, &message->body, error);
    }
    pt_message_make_receipt(message);
    return rc;
}

static int read_text(sqlite3_value *value, int column, pt_slice *text, pt_error *error)
{
    if (sqlite3_value_type(value) == SQLITE_NULL) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "%s is NULL; give the one that the message was handed out with "
                            "(MissingRequiredQueryParameter)",
                            pt_queue_column_name(column));
    }
    return pt_queue_text(value, text) ? SQLITE_OK : pt_error_nomem(error);
}

static int read_receipt(const pt_queue_request *request, pt_message *held, pt_error *error)
{
    pt_slice id = {0};
    pt_slice receipt = {0};
    int rc = read_text(request->id, PT_QUEUE_MESSAGE_ID, &id, error);
    if (rc == SQLITE_OK) {
        rc = read_text(request->receipt, PT_QUEUE_POP_RECEIPT, &receipt, error);
    }
    if (rc == SQLITE_OK && !pt_message_parse_receipt(id, receipt, held)) {
        rc = pt_queue_refuse_receipt(id, receipt, error);
    }
    return rc;
}

static int answer_update(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    pt_message held;
    pt_message message;
    int rc = read_receipt(request, &held, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int64_t now = pt_session_tick(queue->table.session);
    rc = pt_queue_read_held(queue, &held, now, &message, error);
    if (rc == SQLITE_OK) {
        rc = pt_queue_extend(queue, request->visibility, request->body, &message, error);
    }
    if (rc == SQLITE_OK) {
        rc = give(queue, request, &message, error);
    }
    return rc == SQLITE_OK ? pt_queue_change(queue, &message, error) : rc;
}

/* --- Both --- */

/* A poison queue that was made is gone again, and with it what is known of its table. */
static void give_up(pt_queue *queue, size_t row)
{
    pt_session_discard_row(queue->table.session, row);
    pt_session_note_catalog_change(queue->table.session);
}

int pt_queue_answer(pt_queue *queue, pt_queue_request *request, pt_error *error)
{
    size_t row = pt_session_begin_row(queue->table.session);
    int rc = request->kind == PT_QUEUE_GET ? answer_get(queue, request, error)
                                           : answer_update(queue, request, error);
    if (rc == SQLITE_OK) {
        pt_session_end_row(queue->table.session);
    } else {
        give_up(queue, row);
    }
    return rc;
}
