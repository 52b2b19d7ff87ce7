#include "table/cursor.h"

#include "entity/damage.h"
#include "entity/key.h"
#include "query/ranges.h"
#include "table/row.h"
#include "table/row_filter.h"
#include "table/table_transaction.h"
#include "transaction/scan.h"
#include "value/value.h"

struct pt_cursor {
    sqlite3_vtab_cursor base;
    bool eof;
    bool is_point; /* at most the one row that was sought */
    bool is_plain; /* otherwise: all rows of the ranges */
    unsigned plan;
    uint32_t table_id;
    pt_ranges ranges;
    pt_row_filter filter; /* for plans with PT_TERM_FILTER */
    pt_scan scan;
    pt_row row;
    pt_range_walk walk; /* stands behind the range that is read */
    pt_buffer low;
    pt_buffer high;
};

static pt_cursor *cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (pt_cursor *)cursor;
}

static pt_table *table_of(const pt_cursor *cursor)
{
    return pt_table_of(cursor->base.pVtab);
}

static bool has_filter(const pt_cursor *cursor)
{
    return (cursor->plan & PT_PLAN_TERM(PT_TERM_FILTER)) != 0;
}

static pt_cursor *take_cursor(pt_table *table)
{
    pt_cursor *cursor = table->spare_cursor;
    table->spare_cursor = NULL;
    if (cursor == NULL) {
        cursor = sqlite3_malloc64(sizeof *cursor);
        if (cursor != NULL) {
            memset(cursor, 0, sizeof *cursor);
        }
    }
    return cursor;
}

/*
 * An open cursor holds the session's view together. SQLite opens the next cursor of a correlated
 * subquery before it closes the last one, which hands its scan on: so the statement goes on with
 * one view, whatever the session's is by then, and texts that it still refers to stay.
 */
int pt_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    pt_table *table = pt_table_of(vtab);
    pt_error error = PT_ERROR_NONE;
    if (pt_table_open_store(table, &error) != SQLITE_OK) {
        return pt_table_fail(table, &error);
    }
    pt_cursor *cursor = take_cursor(table);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    pt_session_cursor_opened(table->session);
    table->fresh_cursor = cursor;
    *out = &cursor->base;
    return SQLITE_OK;
}

void pt_cursor_free(pt_cursor *cursor)
{
    if (cursor == NULL) {
        return;
    }
    pt_scan_free(&cursor->scan);
    pt_ranges_free(&cursor->ranges);
    pt_row_filter_free(&cursor->filter);
    pt_row_free(&cursor->row);
    pt_range_walk_free(&cursor->walk);
    pt_buffer_free(&cursor->low);
    pt_buffer_free(&cursor->high);
    sqlite3_free(cursor);
}

/* Cursors that have read nothing yet have no scan to lose. */
static void hand_on_scan(pt_cursor *from, pt_cursor *to)
{
    pt_scan scan = to->scan;
    to->scan = from->scan;
    to->table_id = from->table_id;
    from->scan = scan;
}

int pt_cursor_close(sqlite3_vtab_cursor *base)
{
    pt_cursor *cursor = cursor_of(base);
    pt_table *table = table_of(cursor);
    if (table->fresh_cursor == cursor) {
        table->fresh_cursor = NULL;
    } else if (table->fresh_cursor != NULL && table->fresh_cursor->scan.view == NULL) {
        hand_on_scan(cursor, table->fresh_cursor);
    }
    pt_scan_close(&cursor->scan);
    pt_session_cursor_closed(table->session);
    if (table->spare_cursor == NULL) {
        table->spare_cursor = cursor;
    } else {
        pt_cursor_free(cursor);
    }
    return SQLITE_OK;
}

/* --- Walking the ranges --- */

/* A position in the store's keys for one in the table's. */
static bool make_logical(pt_buffer *buffer, uint32_t table_id, pt_slice entity_key)
{
    pt_buffer_clear(buffer);
    uint8_t *at = pt_buffer_extend(buffer, PT_KEY_TABLE_SIZE + entity_key.size);
    if (at == NULL) {
        return false;
    }
    pt_put_be32(at, table_id);
    if (entity_key.size != 0) {
        memcpy(at + PT_KEY_TABLE_SIZE, entity_key.data, entity_key.size);
    }
    return true;
}

static bool make_high(pt_cursor *cursor, const pt_interval *range)
{
    const pt_slice table_end = {0};
    return range->bounded ? make_logical(&cursor->high, cursor->table_id, range->high)
                          : make_logical(&cursor->high, cursor->table_id + 1, table_end);
}

static pt_direction direction_of(const pt_cursor *cursor)
{
    return (cursor->plan & PT_PLAN_DESCENDING) != 0 ? PT_BACKWARD : PT_FORWARD;
}

static int seek_range(pt_cursor *cursor, const pt_interval *range, pt_error *error)
{
    if (!make_logical(&cursor->low, cursor->table_id, range->low) || !make_high(cursor, range)) {
        return pt_error_nomem(error);
    }
    return pt_scan_seek(&cursor->scan, pt_buffer_slice(&cursor->low),
                        pt_buffer_slice(&cursor->high), direction_of(cursor), error);
}

static pt_slice row_key(const pt_cursor *cursor)
{
    return pt_key_entity(cursor->scan.key);
}

/* Divides the row's key. One that cannot be divided has no partition to go on from. */
static int split_row_key(const pt_cursor *cursor, pt_slice *partition, pt_slice *row,
                         pt_error *error)
{
    return pt_key_split(row_key(cursor), partition, row)
               ? SQLITE_OK
               : pt_report_damage(cursor->scan.key, error);
}

/* After a probe: the next search begins at the row that it found. However many ranges are empty,
 * there is a probe now and then. */
static int follow_probe(pt_cursor *cursor, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    int rc = split_row_key(cursor, &partition, &row, error);
    rc = rc == SQLITE_OK ? pt_view_step(cursor->scan.view, error) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_range_walk_follow(&cursor->walk, row_key(cursor)) ? SQLITE_OK : pt_error_nomem(error);
}

/* Ends the range that has been entered where this one ends. */
static int end_range(pt_cursor *cursor, const pt_interval *range, pt_error *error)
{
    return make_high(cursor, range)
               ? pt_scan_narrow(&cursor->scan, pt_buffer_slice(&cursor->high), error)
               : pt_error_nomem(error);
}

/* Enters a range; a probe may have found its first row already, and then only the far bound
 * changes. */
static int enter_range(pt_cursor *cursor, const pt_interval *range, bool probed, pt_error *error)
{
    bool found =
        probed && direction_of(cursor) == PT_FORWARD && pt_slice_equal(range->low, row_key(cursor));
    int rc = found ? end_range(cursor, range, error) : seek_range(cursor, range, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_range_walk_leave(&cursor->walk, range) ? SQLITE_OK : pt_error_nomem(error);
}

/* Looks for whatever row lies behind the range that was left last, in no range perhaps. */
static int leap(pt_cursor *cursor, pt_error *error)
{
    pt_slice at = pt_buffer_slice(&cursor->walk.at);
    pt_interval rest = {.bounded = direction_of(cursor) == PT_BACKWARD};
    *(rest.bounded ? &rest.high : &rest.low) = at;
    int rc = seek_range(cursor, &rest, error);
    cursor->eof = rc == SQLITE_OK && !cursor->scan.valid;
    return rc != SQLITE_OK || cursor->eof ? rc : follow_probe(cursor, error);
}

/* Two long IN lists make so many ranges that not every one can be looked at in vain. */
enum { MISSES_BEFORE_A_LEAP = 16 };

/* Looks for the next row from where the walk stands. */
static int search(pt_cursor *cursor, pt_error *error)
{
    bool probed = false;
    unsigned misses = 0;
    for (;;) {
        pt_interval range;
        int rc;
        switch (pt_range_walk_next(&cursor->walk, &cursor->ranges, &range)) {
        case PT_RANGE_PROBE:
            rc = seek_range(cursor, &range, error);
            cursor->eof = rc == SQLITE_OK && !cursor->scan.valid;
            if (rc == SQLITE_OK && !cursor->eof) {
                rc = follow_probe(cursor, error);
            }
            if (rc != SQLITE_OK || cursor->eof) {
                return rc;
            }
            probed = true;
            break;
        case PT_RANGE_FOUND:
            rc = enter_range(cursor, &range, probed, error);
            cursor->eof = rc == SQLITE_OK && !cursor->scan.valid && cursor->walk.at_end;
            if (rc != SQLITE_OK || cursor->eof || cursor->scan.valid) {
                return rc;
            }
            probed = ++misses % MISSES_BEFORE_A_LEAP == 0;
            rc = probed ? leap(cursor, error) : SQLITE_OK;
            if (rc != SQLITE_OK || cursor->eof) {
                return rc;
            }
            break;
        case PT_RANGE_END:
            cursor->eof = true;
            return SQLITE_OK;
        case PT_RANGE_NOMEM:
        default:
            return pt_error_nomem(error);
        }
    }
}

static int search_from_start(pt_cursor *cursor, pt_error *error)
{
    pt_range_walk_begin(&cursor->walk, direction_of(cursor));
    return search(cursor, error);
}

/*
 * Makes the scan's row the cursor's. A rollback takes the dictionary's ids back that only pending
 * records use, and a cursor may still stand on one: it is opened while they are there.
 */
static int take_row(pt_cursor *cursor, pt_error *error)
{
    pt_row_set(&cursor->row, &cursor->scan);
    bool fleeting = cursor->scan.on_pending && (cursor->plan & PT_PLAN_KEYS_ONLY) == 0;
    return fleeting ? pt_row_open(&cursor->row, table_of(cursor), error) : SQLITE_OK;
}

/* Behind a range comes the next. */
__attribute__((noinline)) static int leave_range(pt_cursor *cursor, pt_error *error)
{
    if (cursor->walk.at_end) {
        cursor->eof = true;
        return SQLITE_OK;
    }
    return search(cursor, error);
}

/* After a step of the scan that ended with `rc`. */
static int end_step(pt_cursor *cursor, int rc, pt_error *error)
{
    return rc != SQLITE_OK || cursor->scan.valid ? rc : leave_range(cursor, error);
}

/* Whether every range of the plan is one key, so that nothing follows a row in its range. */
static bool has_points(const pt_cursor *cursor)
{
    const unsigned points = PT_PLAN_TERM(PT_TERM_RK_EQ) | PT_PLAN_TERM(PT_TERM_RK_IN) |
                            PT_PLAN_TERM(PT_TERM_EK_EQ) | PT_PLAN_TERM(PT_TERM_EK_IN);
    return (cursor->plan & points) != 0;
}

static int step(pt_cursor *cursor, pt_error *error)
{
    if (has_points(cursor)) {
        return leave_range(cursor, error);
    }
    return end_step(cursor, pt_scan_step(&cursor->scan, error), error);
}

/* Takes the scan's row, or else the next one that passes the Filter. */
static int take_passing_row(pt_cursor *cursor, pt_error *error)
{
    bool passes = false;
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !cursor->eof) {
        rc = take_row(cursor, error);
        if (rc == SQLITE_OK) {
            rc = pt_row_filter_passes(&cursor->filter, table_of(cursor), &cursor->row, &passes,
                                      error);
        }
        if (rc != SQLITE_OK || passes) {
            return rc;
        }
        rc = pt_view_step(cursor->scan.view, error);
        rc = rc == SQLITE_OK ? step(cursor, error) : rc;
    }
    return rc;
}

/* After a move that ended with `rc`. */
static int land(pt_cursor *cursor, int rc, pt_error *error)
{
    if (rc != SQLITE_OK || cursor->eof) {
        return rc;
    }
    return has_filter(cursor) ? take_passing_row(cursor, error) : take_row(cursor, error);
}

/* What there is to do once a move has ended. */
static inline int arrive(pt_cursor *cursor, int rc, pt_error *error)
{
    rc = land(cursor, rc, error);
    return rc == SQLITE_OK ? rc : pt_table_fail(table_of(cursor), error);
}

/* --- Beginning --- */

/* Lets the cursor read the table in the session's view; used again in its statement it keeps both,
 * whatever has become of the table, and sees what was written since. */
static int attach(pt_cursor *cursor, pt_error *error)
{
    if (cursor->scan.view != NULL) {
        pt_scan_freeze(&cursor->scan);
        return SQLITE_OK;
    }
    pt_table *table = table_of(cursor);
    int rc = pt_transaction_open_scan(table, &cursor->scan, error);
    if (rc == SQLITE_OK) {
        cursor->table_id = table->id.id;
    }
    return rc;
}

static int refuse_scan(const pt_cursor *cursor, pt_error *error)
{
    if (!table_of(cursor)->config.deny_scan || !pt_plan_is_table_scan(cursor->plan) ||
        (has_filter(cursor) && pt_row_filter_bounds_partitions(&cursor->filter))) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_ERROR,
                        "the statement would scan the whole table, which scan=deny forbids; add a "
                        "condition on PartitionKey (=, IN, a range or pt_starts_with)");
}

/* Whether both keys are asked for by texts: the usual point query, which needs no ranges. */
static bool is_point_query(const pt_cursor *cursor, sqlite3_value **argv)
{
    const unsigned both = PT_PLAN_TERM(PT_TERM_PK_EQ) | PT_PLAN_TERM(PT_TERM_RK_EQ);
    return (cursor->plan & PT_PLAN_TERMS) == both && sqlite3_value_type(argv[0]) == SQLITE_TEXT &&
           sqlite3_value_type(argv[1]) == SQLITE_TEXT;
}

/* Whether one partition is asked for by its text, which needs none either. */
static bool is_partition_query(const pt_cursor *cursor, sqlite3_value **argv)
{
    return (cursor->plan & PT_PLAN_TERMS) == PT_PLAN_TERM(PT_TERM_PK_EQ) &&
           sqlite3_value_type(argv[0]) == SQLITE_TEXT;
}

static int seek_point(pt_cursor *cursor, pt_slice partition, pt_slice row, pt_error *error)
{
    pt_key_begin(&cursor->high, cursor->table_id);
    pt_key_append(&cursor->high, partition, row);
    pt_buffer_append_byte(&cursor->high, 0);
    if (cursor->high.failed) {
        return pt_error_nomem(error);
    }
    pt_slice high = pt_buffer_slice(&cursor->high);
    int rc =
        pt_scan_seek(&cursor->scan, pt_slice_of(high.data, high.size - 1), high, PT_FORWARD, error);
    cursor->eof = rc == SQLITE_OK && !cursor->scan.valid;
    return rc;
}

/*
 * Reading a text so changes its type, so this is the only look at the arguments. No key has a NUL,
 * which would divide it.
 */
static int search_point(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    cursor->is_point = true;
    if (pt_value_argument_text(argv[0], &partition) != SQLITE_OK ||
        pt_value_argument_text(argv[1], &row) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    bool possible =
        memchr(partition.data, 0, partition.size) == NULL && memchr(row.data, 0, row.size) == NULL;
    return possible ? seek_point(cursor, partition, row, error) : SQLITE_OK;
}

static bool make_partition_bound(pt_buffer *buffer, uint32_t table_id, pt_slice partition,
                                 uint8_t last)
{
    make_logical(buffer, table_id, partition);
    pt_buffer_append_byte(buffer, last);
    return !buffer->failed;
}

/* As search_point: the argument is looked at once, and no partition has a NUL in its name. */
static int search_partition(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice partition;
    cursor->walk.at_end = true;
    if (pt_value_argument_text(argv[0], &partition) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (memchr(partition.data, 0, partition.size) != NULL) {
        return SQLITE_OK;
    }
    if (!make_partition_bound(&cursor->low, cursor->table_id, partition, PT_KEY_PARTITION_START) ||
        !make_partition_bound(&cursor->high, cursor->table_id, partition, PT_KEY_PARTITION_END)) {
        return pt_error_nomem(error);
    }
    int rc = pt_scan_seek(&cursor->scan, pt_buffer_slice(&cursor->low),
                          pt_buffer_slice(&cursor->high), direction_of(cursor), error);
    cursor->eof = rc == SQLITE_OK && !cursor->scan.valid;
    return rc;
}

static int set_ranges(pt_cursor *cursor, int argc, sqlite3_value **argv, pt_error *error)
{
    int rc = pt_ranges_set(&cursor->ranges, cursor->plan, argc, argv, error);
    if (rc == SQLITE_OK && has_filter(cursor) &&
        !pt_row_filter_restrict(&cursor->filter, &cursor->ranges)) {
        rc = pt_error_nomem(error);
    }
    return rc;
}

static int begin(pt_cursor *cursor, int argc, sqlite3_value **argv, pt_error *error)
{
    int rc = SQLITE_OK;
    if (has_filter(cursor)) {
        rc = pt_row_filter_set(&cursor->filter, argv[--argc], error);
    }
    if (rc == SQLITE_OK) {
        rc = refuse_scan(cursor, error);
    }
    if (rc == SQLITE_OK) {
        rc = attach(cursor, error);
    }
    if (rc == SQLITE_OK && is_point_query(cursor, argv)) {
        return search_point(cursor, argv, error);
    }
    if (rc == SQLITE_OK && is_partition_query(cursor, argv)) {
        return search_partition(cursor, argv, error);
    }
    if (rc == SQLITE_OK) {
        rc = set_ranges(cursor, argc, argv, error);
    }
    return rc == SQLITE_OK ? search_from_start(cursor, error) : rc;
}

int pt_cursor_filter(sqlite3_vtab_cursor *base, int plan_bits, const char *sentence, int argc,
                     sqlite3_value **argv)
{
    (void)sentence;
    pt_cursor *cursor = cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    table_of(cursor)->fresh_cursor = NULL;
    cursor->plan = (unsigned)plan_bits;
    cursor->row.filter = has_filter(cursor) ? &cursor->filter.text : NULL;
    cursor->eof = true;
    cursor->is_point = false;
    int rc = begin(cursor, argc, argv, &error);
    cursor->is_plain =
        !has_points(cursor) && !has_filter(cursor) && (cursor->plan & PT_PLAN_DISTINCT) == 0;
    return arrive(cursor, rc, &error);
}

/* --- Moving --- */

/* Whether the range that is read has room behind a position (backward: before it). */
static bool range_goes_on(const pt_cursor *cursor, pt_slice position)
{
    int order = pt_slice_compare(position, pt_buffer_slice(&cursor->scan.limit));
    return direction_of(cursor) == PT_FORWARD ? order < 0 : order > 0;
}

/*
 * One row stands for its whole partition: goes on behind it, or before it. Mostly one range holds
 * all partitions, and then what bounds the scan stays as it is.
 */
static int skip_partition(pt_cursor *cursor, pt_error *error)
{
    pt_slice partition = pt_key_partition(cursor->scan.key);
    if (partition.size == cursor->scan.key.size) {
        return pt_report_damage(cursor->scan.key, error);
    }
    pt_buffer_assign(&cursor->low, partition);
    pt_buffer_append_byte(&cursor->low, direction_of(cursor) == PT_FORWARD
                                            ? PT_KEY_PARTITION_END
                                            : PT_KEY_PARTITION_START);
    if (cursor->low.failed) {
        return pt_error_nomem(error);
    }
    pt_slice position = pt_buffer_slice(&cursor->low);
    if (range_goes_on(cursor, position)) {
        return end_step(cursor, pt_scan_leap(&cursor->scan, position, error), error);
    }
    return pt_range_walk_pass(&cursor->walk, pt_key_entity(partition)) ? leave_range(cursor, error)
                                                                       : pt_error_nomem(error);
}

static int next_row(pt_cursor *cursor, pt_error *error)
{
    return (cursor->plan & PT_PLAN_DISTINCT) != 0 ? skip_partition(cursor, error)
                                                  : step(cursor, error);
}

/* Not inlined, so that pt_cursor_next need not save registers for it; nor is leave_range. */
__attribute__((noinline)) static int next_of_chosen(pt_cursor *cursor)
{
    pt_error error = PT_ERROR_NONE;
    if (cursor->is_point) {
        cursor->eof = true;
        return SQLITE_OK;
    }
    return arrive(cursor, next_row(cursor, &error), &error);
}

int pt_cursor_next(sqlite3_vtab_cursor *base)
{
    pt_cursor *cursor = cursor_of(base);
    if (!cursor->is_plain) {
        return next_of_chosen(cursor);
    }
    pt_error error = PT_ERROR_NONE;
    int rc = pt_scan_step(&cursor->scan, &error);
    if (rc == SQLITE_OK && cursor->scan.valid && !cursor->scan.on_pending) {
        pt_row_set(&cursor->row, &cursor->scan);
        return SQLITE_OK;
    }
    return arrive(cursor, end_step(cursor, rc, &error), &error);
}

int pt_cursor_eof(sqlite3_vtab_cursor *base)
{
    return cursor_of(base)->eof;
}

__attribute__((noinline)) static int give_column(pt_cursor *cursor, sqlite3_context *context,
                                                 int column)
{
    pt_error error = PT_ERROR_NONE;
    int rc = column < PT_COLUMN_FIRST
                 ? pt_row_key_column(&cursor->row, context, column, cursor->is_point, &error)
                 : pt_row_column(&cursor->row, table_of(cursor), context, column, &error);
    return rc == SQLITE_OK ? rc : pt_table_fail(table_of(cursor), &error);
}

/* An UPDATE need not read a column that it leaves as it is. */
__attribute__((noinline)) static int give_changing_column(pt_cursor *cursor,
                                                          sqlite3_context *context, int column)
{
    return sqlite3_vtab_nochange(context) ? SQLITE_OK : give_column(cursor, context, column);
}

int pt_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    pt_cursor *cursor = cursor_of(base);
    bool writes = cursor->row.view->memtable != NULL;
    return writes ? give_changing_column(cursor, context, column)
                  : give_column(cursor, context, column);
}
