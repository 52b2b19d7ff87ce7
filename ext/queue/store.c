#include "queue/store.h"

#include "base/text.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "table/entity_writer.h"
#include "transaction/large_value.h"

/* --- Reading --- */

/* Shortens the text, but not if it has the length of a receipt. */
static void shorten(pt_slice text, char shown[PT_EXCERPT_SIZE])
{
    if (text.size == PT_MESSAGE_RECEIPT_SIZE) {
        memcpy(shown, text.data, text.size);
        shown[text.size] = 0;
    } else {
        pt_excerpt(text, shown);
    }
}

int pt_queue_refuse_receipt(pt_slice id, pt_slice receipt, pt_error *error)
{
    char shown_id[PT_EXCERPT_SIZE];
    char shown_receipt[PT_EXCERPT_SIZE];
    shorten(id, shown_id);
    shorten(receipt, shown_receipt);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "message '%s' is no longer held under PopReceipt '%s': it was handed "
                 "out again, changed or deleted, or has expired; get it again "
                 "(PopReceiptMismatch)",
                 shown_id, shown_receipt);
    return pt_error_naming(error, PT_NAMES_KEYS);
}

int pt_queue_read(pt_queue *queue, pt_slice key, bool *found, pt_message *message, pt_error *error)
{
    pt_record record = {0};
    int rc = pt_entity_open_old(&queue->table, key, found, &record, error);
    if (rc == SQLITE_CORRUPT_VTAB) {
        return pt_message_report_damage(key, error);
    }
    return rc == SQLITE_OK && *found
               ? pt_message_read(&record, key, &queue->table.map, message, error)
               : rc;
}

int pt_queue_check_receipt(pt_queue *queue, const pt_message *held, int64_t now,
                           pt_message *message, pt_error *error)
{
    if (!pt_message_make_key(held, queue->table.id.id, &queue->table.old_key)) {
        return pt_error_nomem(error);
    }
    bool found = false;
    int rc = pt_queue_read(queue, pt_buffer_slice(&queue->table.old_key), &found, message, error);
    if (rc != SQLITE_OK || (found && pt_message_is_held(message, held, now))) {
        return rc;
    }
    char receipt[PT_MESSAGE_RECEIPT_SIZE + 1];
    pt_message_format_receipt(held, receipt);
    return pt_queue_refuse_receipt(pt_slice_text(held->id), pt_slice_text(receipt), error);
}

static int refuse_body_length(const pt_message *message, int limit, pt_error *error)
{
    return pt_error_set(error, SQLITE_TOOBIG,
                        "the Body of message '%s' has %lld bytes, but this connection takes only "
                        "%d; raise its SQLITE_LIMIT_LENGTH",
                        message->id, (sqlite3_int64)message->body.large.size, limit);
}

int pt_queue_whole_body(const pt_table *table, pt_view *view, pt_slice key,
                        const pt_message *message, pt_buffer *bytes, pt_value *body,
                        pt_error *error)
{
    *body = message->body;
    if (!pt_type_is_large(body->type)) {
        return SQLITE_OK;
    }
    int limit = sqlite3_limit(table->connection->db, SQLITE_LIMIT_LENGTH, -1);
    if (body->large.size > (uint64_t)limit) {
        return refuse_body_length(message, limit, error);
    }
    int rc = pt_large_read(view, pt_key_table(key), body, bytes, error);
    return rc == SQLITE_CORRUPT_VTAB ? pt_report_damaged_property(key, pt_slice_text("Body"), error)
                                     : rc;
}

int pt_queue_read_old_body(pt_queue *queue, const pt_message *message, pt_buffer *bytes,
                           pt_value *body, pt_error *error)
{
    pt_view *view = NULL;
    int rc = pt_session_read(queue->table.session, &view, error);
    return rc == SQLITE_OK
               ? pt_queue_whole_body(&queue->table, view, pt_buffer_slice(&queue->table.old_key),
                                     message, bytes, body, error)
               : rc;
}

/* --- Writing --- */

/* Makes the message's key in table->key and its entity in table->bag. */
static int make_entity(pt_table *table, const pt_message *message, pt_error *error)
{
    bool made = pt_message_make_key(message, table->id.id, &table->key) &&
                pt_message_fill_bag(message, &table->bag);
    return made ? SQLITE_OK : pt_error_nomem(error);
}

int pt_queue_add(pt_table *table, const pt_message *message, pt_error *error)
{
    int rc = make_entity(table, message, error);
    return rc == SQLITE_OK ? pt_entity_put(table, pt_buffer_slice(&table->key), PT_INSERT, error)
                           : rc;
}

int pt_queue_change(pt_queue *queue, const pt_message *message, pt_error *error)
{
    pt_table *table = &queue->table;
    int rc = make_entity(table, message, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_slice old_key = pt_buffer_slice(&table->old_key);
    pt_slice new_key = pt_buffer_slice(&table->key);
    return pt_slice_equal(old_key, new_key)
               ? pt_entity_put(table, new_key, PT_REPLACE, error)
               : pt_entity_move(table, old_key, new_key, PT_INSERT, error);
}

/* --- The poison queue --- */

bool pt_queue_is_poison(const pt_queue *queue, const pt_message *message)
{
    int64_t most = queue->table.config.max_dequeue_count;
    return most > 0 && message->dequeue_count >= most;
}

static int open_poison(pt_queue *queue, pt_error *error)
{
    pt_view *view = NULL;
    pt_table *poison = &queue->poison;
    if (poison->session == NULL) {
        poison->session = queue->table.session;
        pt_connection_use_again(poison->connection, poison->session);
    }
    /* Another transaction may have dropped the poison queue, so its table is looked up each time.
     */
    int rc = pt_table_add_if_missing(poison, error);
    if (rc == SQLITE_OK) {
        rc = pt_session_read(poison->session, &view, error);
    }
    return rc == SQLITE_OK ? pt_table_find_id(poison, view, error) : rc;
}

int pt_queue_move_to_poison(pt_queue *queue, const pt_message *message, const pt_value *body,
                            int64_t now, pt_error *error)
{
    pt_message moved = *message;
    moved.next_visible = now;
    moved.expires = PT_TICKS_MAX;
    moved.body = *body;
    pt_message_make_receipt(&moved);
    int rc = open_poison(queue, error);
    if (rc == SQLITE_OK) {
        rc = pt_queue_add(&queue->poison, &moved, error);
    }
    return rc == SQLITE_OK
               ? pt_entity_remove(&queue->table, pt_buffer_slice(&queue->table.old_key), error)
               : rc;
}
