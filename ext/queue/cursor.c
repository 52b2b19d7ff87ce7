#include "queue/cursor.h"

#include "entity/key.h"
#include "queue/columns.h"
#include "queue/plan.h"
#include "queue/store.h"
#include "value/value.h"

typedef struct queue_cursor {
    sqlite3_vtab_cursor base;
    bool eof;
    bool held; /* the row was found by its PopReceipt */
    uint32_t table_id;
    pt_direction direction;
    int64_t now; /* messages that expired by then are not shown */
    pt_scan scan;
    pt_message message; /* the current row */
    pt_buffer low;
    pt_buffer high;
    pt_buffer shape;
} queue_cursor;

static queue_cursor *queue_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (queue_cursor *)cursor;
}

static pt_queue *queue_of(const queue_cursor *cursor)
{
    return pt_queue_of(cursor->base.pVtab);
}

int pt_queue_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    if (pt_table_open_store(table, &error) != SQLITE_OK) {
        return pt_table_fail(table, &error);
    }
    queue_cursor *cursor = sqlite3_malloc64(sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *cursor = (queue_cursor){.eof = true};
    pt_session_cursor_opened(table->session);
    pt_connection_notice_detach(table->connection);
    *out = &cursor->base;
    return SQLITE_OK;
}

int pt_queue_cursor_close(sqlite3_vtab_cursor *base)
{
    queue_cursor *cursor = queue_cursor_of(base);
    pt_scan_free(&cursor->scan);
    pt_session_cursor_closed(queue_of(cursor)->table.session);
    pt_buffer_free(&cursor->low);
    pt_buffer_free(&cursor->high);
    pt_buffer_free(&cursor->shape);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* --- Moving --- */

/* Reads the message at the scan's position. */
static int read_row(queue_cursor *cursor, pt_error *error)
{
    pt_table *table = &queue_of(cursor)->table;
    pt_shape_source shapes = pt_dictionary_source(pt_session_store(table->session)->dictionary);
    pt_record record;
    int rc =
        pt_record_open(&record, cursor->scan.key, cursor->scan.record, &shapes, &cursor->shape);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK
               ? pt_message_read(&record, cursor->scan.key, &table->map, &cursor->message, error)
               : pt_message_report_damage(cursor->scan.key, error);
}

/* Moves to the next message that has not expired, beginning at the scan's position. */
static int take_living_row(queue_cursor *cursor, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && cursor->scan.valid) {
        rc = read_row(cursor, error);
        if (rc == SQLITE_OK && pt_message_is_alive(&cursor->message, cursor->now)) {
            cursor->eof = false;
            return SQLITE_OK;
        }
        rc = rc == SQLITE_OK ? pt_view_step(cursor->scan.view, error) : rc;
        rc = rc == SQLITE_OK ? pt_scan_step(&cursor->scan, error) : rc;
    }
    cursor->eof = true;
    return rc;
}

static int seek_messages(queue_cursor *cursor, pt_error *error)
{
    if (cursor->low.failed || cursor->high.failed) {
        return pt_error_nomem(error);
    }
    int rc = pt_scan_seek(&cursor->scan, pt_buffer_slice(&cursor->low),
                          pt_buffer_slice(&cursor->high), cursor->direction, error);
    return rc == SQLITE_OK ? take_living_row(cursor, error) : rc;
}

static int seek_bounds(queue_cursor *cursor, unsigned plan, sqlite3_value **argv, pt_error *error)
{
    pt_queue_bounds bounds;
    if (!pt_queue_bounds_set(plan, argv, &bounds)) {
        return SQLITE_OK;
    }
    char ticks[PT_MESSAGE_TICKS_SIZE + 1];
    pt_message_format_ticks(bounds.low, ticks);
    pt_key_begin(&cursor->low, cursor->table_id);
    if (bounds.low > 0) {
        pt_key_append(&cursor->low, (pt_slice){0}, pt_slice_text(ticks));
    }
    if (bounds.high <= PT_TICKS_MAX) {
        pt_message_format_ticks(bounds.high, ticks);
        pt_key_begin(&cursor->high, cursor->table_id);
        pt_key_append(&cursor->high, (pt_slice){0}, pt_slice_text(ticks));
    } else {
        pt_key_begin_after(&cursor->high, cursor->table_id);
    }
    return seek_messages(cursor, error);
}

/* Moves to the message with this id and next_visible. */
static int seek_message(queue_cursor *cursor, const pt_message *message, pt_error *error)
{
    if (pt_message_make_key(message, cursor->table_id, &cursor->low)) {
        pt_buffer_assign(&cursor->high, pt_buffer_slice(&cursor->low));
        pt_buffer_append_byte(&cursor->high, 0);
    }
    return seek_messages(cursor, error);
}

static int seek_held(queue_cursor *cursor, const pt_message *held, pt_error *error)
{
    int rc = seek_message(cursor, held, error);
    cursor->held =
        rc == SQLITE_OK && !cursor->eof && pt_message_is_held(&cursor->message, held, cursor->now);
    if (rc != SQLITE_OK || cursor->held) {
        return rc;
    }
    char receipt[PT_MESSAGE_RECEIPT_SIZE + 1];
    pt_message_format_receipt(held, receipt);
    return pt_queue_refuse_receipt(pt_slice_text(held->id), pt_slice_text(receipt), error);
}

static int seek_receipt(queue_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice id;
    pt_slice receipt;
    pt_message held;
    if (sqlite3_value_type(argv[0]) == SQLITE_NULL || sqlite3_value_type(argv[1]) == SQLITE_NULL) {
        return SQLITE_OK;
    }
    if (!pt_queue_text(argv[0], &id) || !pt_queue_text(argv[1], &receipt)) {
        return pt_error_nomem(error);
    }
    return pt_message_parse_receipt(id, receipt, &held)
               ? seek_held(cursor, &held, error)
               : pt_queue_refuse_receipt(id, receipt, error);
}

static int seek_key(queue_cursor *cursor, sqlite3_value *key, pt_error *error)
{
    pt_message message;
    bool held;
    if (!pt_queue_parse_key(key, &message, &held)) {
        return SQLITE_OK;
    }
    return held ? seek_held(cursor, &message, error) : seek_message(cursor, &message, error);
}

/* --- xFilter --- */

/* If SQLite uses the cursor again in the same statement, the cursor keeps its view and its time,
 * but also sees what the statement has written since. */
static int open_scan(queue_cursor *cursor, pt_error *error)
{
    if (cursor->scan.view != NULL) {
        pt_scan_freeze(&cursor->scan);
        return SQLITE_OK;
    }
    pt_table *table = &queue_of(cursor)->table;
    int rc = pt_table_open_scan(table, &cursor->scan, error);
    if (rc == SQLITE_OK) {
        int64_t clock = cursor->scan.view->snapshot->clock;
        int64_t now = pt_ticks_now();
        cursor->now = now > clock ? now : clock;
        cursor->table_id = table->id.id;
    }
    return rc;
}

static int seek_plan(queue_cursor *cursor, unsigned plan, sqlite3_value **argv, pt_error *error)
{
    int rc = open_scan(cursor, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if ((plan & PT_QUEUE_PLAN_HELD) != 0) {
        return seek_receipt(cursor, argv, error);
    }
    return (plan & PT_QUEUE_PLAN_KEY) != 0 ? seek_key(cursor, argv[0], error)
                                           : seek_bounds(cursor, plan, argv, error);
}

int pt_queue_cursor_filter(sqlite3_vtab_cursor *base, int plan_bits, const char *sentence, int argc,
                           sqlite3_value **argv)
{
    (void)sentence;
    (void)argc;
    queue_cursor *cursor = queue_cursor_of(base);
    unsigned plan = (unsigned)plan_bits;
    pt_error error = PT_ERROR_NONE;
    cursor->eof = true;
    cursor->held = false;
    cursor->direction = (plan & PT_QUEUE_PLAN_DESCENDING) != 0 ? PT_BACKWARD : PT_FORWARD;
    int rc = seek_plan(cursor, plan, argv, &error);
    return rc == SQLITE_OK ? rc : pt_table_fail(&queue_of(cursor)->table, &error);
}

int pt_queue_cursor_next(sqlite3_vtab_cursor *base)
{
    queue_cursor *cursor = queue_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    int rc = pt_scan_step(&cursor->scan, &error);
    if (rc == SQLITE_OK) {
        rc = take_living_row(cursor, &error);
    }
    return rc == SQLITE_OK ? rc : pt_table_fail(&queue_of(cursor)->table, &error);
}

int pt_queue_cursor_eof(sqlite3_vtab_cursor *base)
{
    return queue_cursor_of(base)->eof;
}

/* --- Columns --- */

static int body_column(const queue_cursor *cursor, sqlite3_context *context, pt_error *error)
{
    pt_buffer bytes = {0};
    pt_value body;
    int rc = pt_queue_whole_body(&queue_of(cursor)->table, cursor->scan.view, cursor->scan.key,
                                 &cursor->message, &bytes, &body, error);
    if (rc == SQLITE_OK && bytes.size != 0) {
        pt_value_result_buffer(context, body.type, &bytes);
    } else if (rc == SQLITE_OK) {
        pt_value_result(context, &body, false);
    }
    pt_buffer_free(&bytes);
    return rc;
}

int pt_queue_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    queue_cursor *cursor = queue_cursor_of(base);
    /* UPDATE does not set this column. Without a result here, xUpdate sees it as unchanged. */
    if (sqlite3_vtab_nochange(context)) {
        return SQLITE_OK;
    }
    if (column == PT_QUEUE_BODY) {
        pt_error error = PT_ERROR_NONE;
        int rc = body_column(cursor, context, &error);
        return rc == SQLITE_OK ? rc : pt_table_fail(&queue_of(cursor)->table, &error);
    }
    pt_queue_text_room room;
    pt_value value = pt_queue_column(&cursor->message, column, cursor->held, &room);
    pt_value_result(context, &value, false);
    return SQLITE_OK;
}
