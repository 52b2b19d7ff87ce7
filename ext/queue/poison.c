#include "queue/poison.h"

#include "queue/store.h"
#include "table/columns.h"
#include "table/entity_writer.h"

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
