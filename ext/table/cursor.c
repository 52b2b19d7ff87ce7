#include "table/cursor.h"

#include "entity/damage.h"
#include "entity/key.h"
#include "query/ranges.h"
#include "table/conditions.h"
#include "table/index_search.h"
#include "table/row.h"
#include "table/row_filter.h"
#include "transaction/scan.h"
#include "value/value.h"

struct pt_cursor {
    sqlite3_vtab_cursor base;
    pt_table *table;
    bool eof;
    bool judges;   /* conditions */
    bool selects;  /* rows that are read may not pass conditions or Filter, or have expired */
    bool is_plain; /* xNext is a step of the scan: no points, no DISTINCT, and all rows pass */
    bool counts;   /* no column of such rows has been read yet, and no write shows */
    bool indirect; /* counts, or rows may be shown from entries of an index */
    unsigned plan;
    pt_ranges ranges;
    pt_row_filter filter;     /* for plans with PT_TERM_FILTER */
    pt_conditions conditions; /* for plans with PT_PLAN_CONDITIONS; there may be none */
    pt_scan scan;
    pt_row row;
    pt_range_walk walk; /* has passed the range that is being read */
    pt_buffer low;
    pt_buffer high;
    pt_index_search *search; /* for plans with PT_PLAN_INDEX, or NULL */
    bool sorts;              /* its rows must be sorted */
};

static pt_cursor *table_cursor_of(sqlite3_vtab_cursor *cursor)
{
    return (pt_cursor *)cursor;
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
            *cursor = (pt_cursor){.table = table, .row = {.table = table, .scan = &cursor->scan}};
        }
    }
    return cursor;
}

/* --- Opening and closing --- */

/*
 * While a cursor is open the session keeps its view. SQLite opens the next cursor of a correlated
 * subquery before it closes the old one. The old cursor then hands its scan to the new one (see
 * pt_cursor_close): so the whole statement reads one view, even if the session has a newer one by
 * then, and texts returned as SQLITE_STATIC stay valid.
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
    pt_conditions_free(&cursor->conditions);
    pt_row_free(&cursor->row);
    pt_range_walk_free(&cursor->walk);
    pt_buffer_free(&cursor->low);
    pt_buffer_free(&cursor->high);
    pt_index_search_free(cursor->search);
    sqlite3_free(cursor);
}

int pt_cursor_close(sqlite3_vtab_cursor *base)
{
    pt_cursor *cursor = table_cursor_of(base);
    pt_table *table = cursor->table;
    if (table->fresh_cursor == cursor) { /* closed without having been used */
        table->fresh_cursor = NULL;
    } else if (table->fresh_cursor != NULL && table->fresh_cursor->scan.view == NULL) {
        pt_scan unused = table->fresh_cursor->scan; /* it has read nothing yet */
        table->fresh_cursor->scan = cursor->scan;
        table->fresh_cursor->row.table_id = cursor->row.table_id;
        pt_row_give_expiry(&cursor->row, &table->fresh_cursor->row);
        cursor->scan = unused;
    }
    pt_scan_close(&cursor->scan);
    if (cursor->search != NULL) {
        pt_index_search_close(cursor->search);
    }
    pt_session_cursor_closed(table->session);
    pt_cursor_free(table->spare_cursor);
    table->spare_cursor = cursor;
    return SQLITE_OK;
}

/* --- Walking the ranges --- */

static bool make_high(pt_cursor *cursor, const pt_interval *range)
{
    if (range->bounded) {
        return pt_key_make(&cursor->high, cursor->row.table_id, range->high);
    }
    pt_key_begin_after(&cursor->high, cursor->row.table_id);
    return !cursor->high.failed;
}

static pt_direction direction_of(const pt_cursor *cursor)
{
    return (cursor->plan & PT_PLAN_DESCENDING) != 0 ? PT_BACKWARD : PT_FORWARD;
}

static int seek_range(pt_cursor *cursor, const pt_interval *range, pt_error *error)
{
    if (!pt_key_make(&cursor->low, cursor->row.table_id, range->low) || !make_high(cursor, range)) {
        return pt_error_nomem(error);
    }
    return pt_scan_seek(&cursor->scan, pt_buffer_slice(&cursor->low),
                        pt_buffer_slice(&cursor->high), direction_of(cursor), error);
}

static pt_slice row_key(const pt_cursor *cursor)
{
    return pt_key_entity(cursor->scan.key);
}

/* After a probe: moves the walk to the row that the probe has found. The step counts toward an
 * interrupt check. That is enough for a long search without a result: even if all ranges are empty,
 * there is a probe or a leap every few ranges. */
static int follow_probe(pt_cursor *cursor, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    int rc = pt_key_split(row_key(cursor), &partition, &row)
                 ? SQLITE_OK
                 : pt_report_damage(cursor->scan.key, error);
    rc = rc == SQLITE_OK ? pt_view_step(cursor->scan.view, error) : rc;
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_range_walk_follow(&cursor->walk, row_key(cursor)) ? SQLITE_OK : pt_error_nomem(error);
}

/* Moves the scan to the first row of a range. If a probe has found that row already, only the end
 * of the scan changes. */
static int enter_range(pt_cursor *cursor, const pt_interval *range, bool probed, pt_error *error)
{
    bool found =
        probed && direction_of(cursor) == PT_FORWARD && pt_slice_equal(range->low, row_key(cursor));
    if (found && !make_high(cursor, range)) {
        return pt_error_nomem(error);
    }
    int rc = found ? pt_scan_narrow(&cursor->scan, pt_buffer_slice(&cursor->high), error)
                   : seek_range(cursor, range, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    return pt_range_walk_leave(&cursor->walk, range) ? SQLITE_OK : pt_error_nomem(error);
}

/* Moves to the next row after the range that was read last, whether or not a range contains it, and
 * lets the walk continue there. */
static int leap_to_next_row(pt_cursor *cursor, pt_error *error)
{
    pt_slice at = pt_buffer_slice(&cursor->walk.at);
    pt_interval rest = {.bounded = direction_of(cursor) == PT_BACKWARD};
    *(rest.bounded ? &rest.high : &rest.low) = at;
    int rc = seek_range(cursor, &rest, error);
    cursor->eof = rc == SQLITE_OK && !cursor->scan.valid;
    return rc != SQLITE_OK || cursor->eof ? rc : follow_probe(cursor, error);
}

/* Two long IN lists make very many ranges, most of them empty. After this many empty ones a leap
 * passes over those before the next row. */
enum { MISSES_BEFORE_A_LEAP = 16 };

/* Finds the first row in the ranges that the walk has not passed. */
static int search_ranges(pt_cursor *cursor, pt_error *error)
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
            rc = probed ? leap_to_next_row(cursor, error) : SQLITE_OK;
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

/*
 * Sets the row to the scan's entity. Opens a pending record at once: a rollback while the cursor is
 * on the row would make the shape ids invalid that only pending records use.
 */
static int take_scan_row(pt_cursor *cursor, pt_error *error)
{
    pt_row_moved(&cursor->row);
    bool open_now = cursor->scan.on_pending && cursor->scan.record.size != 0 &&
                    (cursor->plan & PT_PLAN_KEYS_ONLY) == 0;
    return open_now ? pt_row_open(&cursor->row, error) : SQLITE_OK;
}

/* Moves on to the next range, or entry of an index. */
__attribute__((noinline)) static int leave_range(pt_cursor *cursor, pt_error *error)
{
    if ((cursor->plan & PT_PLAN_INDEX) != 0) {
        return pt_index_search_next(cursor->search, &cursor->scan, &cursor->eof, error);
    }
    if (cursor->walk.at_end) {
        cursor->eof = true;
        return SQLITE_OK;
    }
    return search_ranges(cursor, error);
}

/* Moves on if a step of the scan, which returned `rc`, has reached the end of its range. */
static int finish_step(pt_cursor *cursor, int rc, pt_error *error)
{
    return rc != SQLITE_OK || cursor->scan.valid ? rc : leave_range(cursor, error);
}

/* True if every range of the plan is a single key, so that no row follows in the same range; also
 * of an index, each entry of which leads to one. */
static bool has_points(const pt_cursor *cursor)
{
    return (cursor->plan & (PT_PLAN_POINTS | PT_PLAN_INDEX)) != 0;
}

static inline int step_to_next_row(pt_cursor *cursor, pt_error *error)
{
    if (cursor->row.only_row) {
        cursor->eof = true;
        return SQLITE_OK;
    }
    if (has_points(cursor)) {
        return leave_range(cursor, error);
    }
    return finish_step(cursor, pt_scan_step(&cursor->scan, error), error);
}

static inline int judge_row(pt_cursor *cursor, bool *passes, pt_error *error)
{
    *passes = true;
    int rc = cursor->row.expires ? pt_row_judge_expiry(&cursor->row, passes, error) : SQLITE_OK;
    if (rc == SQLITE_OK && *passes && cursor->judges) {
        rc = pt_conditions_judge(&cursor->conditions, cursor->table, &cursor->row, passes, error);
    }
    if (rc == SQLITE_OK && *passes && has_filter(cursor)) {
        rc = pt_row_filter_passes(&cursor->filter, &cursor->row, passes, error);
    }
    return rc;
}

/* Takes the scan's row, or the first after it that is there and passes conditions and Filter. */
static int take_passing_row(pt_cursor *cursor, pt_error *error)
{
    bool passes = false;
    int rc = SQLITE_OK;
    cursor->eof = cursor->judges && cursor->conditions.terms.never;
    while (rc == SQLITE_OK && !cursor->eof) {
        rc = take_scan_row(cursor, error);
        if (rc == SQLITE_OK) {
            rc = judge_row(cursor, &passes, error);
        }
        if (rc != SQLITE_OK || passes) {
            return rc;
        }
        rc = pt_view_step(cursor->scan.view, error);
        rc = rc == SQLITE_OK ? step_to_next_row(cursor, error) : rc;
    }
    return rc;
}

/* Takes the row after a move that returned `rc`. */
static int take_row_after_move(pt_cursor *cursor, int rc, pt_error *error)
{
    if (rc != SQLITE_OK || cursor->eof) {
        return rc;
    }
    return cursor->selects ? take_passing_row(cursor, error) : take_scan_row(cursor, error);
}

/* The end of xFilter and xNext. */
static inline int finish_move(pt_cursor *cursor, int rc, pt_error *error)
{
    rc = take_row_after_move(cursor, rc, error);
    return rc == SQLITE_OK ? rc : pt_table_fail(cursor->table, error);
}

/* --- xFilter --- */

/* Opens a scan of the session's view. When SQLite runs xFilter again in the same statement the
 * cursor keeps its view, even if the table was dropped meanwhile, and sees what the transaction has
 * written since. */
static int open_or_reuse_scan(pt_cursor *cursor, pt_error *error)
{
    if (cursor->scan.view != NULL) {
        pt_scan_freeze(&cursor->scan);
        pt_row_begin(&cursor->row);
        return SQLITE_OK;
    }
    int rc = pt_table_open_scan(cursor->table, &cursor->scan, error);
    if (rc == SQLITE_OK) {
        cursor->row.table_id = cursor->table->id.id;
        pt_row_begin(&cursor->row);
        rc = pt_row_begin_expiry(&cursor->row, error);
    }
    return rc;
}

static int check_scan_is_allowed(const pt_cursor *cursor, pt_error *error)
{
    if (!cursor->table->config.deny_scan || !pt_ranges_scan_table(&cursor->ranges, cursor->plan) ||
        (has_filter(cursor) && pt_row_filter_bounds_partitions(&cursor->filter))) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_ERROR,
                        "the statement would scan the whole table, which scan=deny forbids; add a "
                        "condition on PartitionKey (=, IN, a range or pt_starts_with), or one that "
                        "an index serves");
}

enum {
    POINT_TERMS = PT_PLAN_TERM(PT_TERM_PK_EQ) | PT_PLAN_TERM(PT_TERM_RK_EQ),
    PARTITION_TERMS = PT_PLAN_TERM(PT_TERM_PK_EQ),
    ROW_ID_TERMS = PT_PLAN_TERM(PT_TERM_ROW_ID_EQ),
};

/* True if the plan has just these terms, one or two, and their values are texts. Such a common
 * query needs no ranges. */
static inline bool is_direct(const pt_cursor *cursor, unsigned terms, sqlite3_value **argv)
{
    return (cursor->plan & PT_PLAN_TERMS) == terms && sqlite3_value_type(argv[0]) == SQLITE_TEXT &&
           (terms != POINT_TERMS || sqlite3_value_type(argv[1]) == SQLITE_TEXT);
}

/* Seeks the key in cursor->high, after which there is one byte 00. */
static int seek_point(pt_cursor *cursor, pt_error *error)
{
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
 * Reading an argument as text changes the type of the sqlite3_value, so no argument may be read
 * again. A text with a NUL cannot be a key: NUL divides the keys.
 */
static int search_point(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice partition;
    pt_slice row;
    cursor->row.only_row = true;
    if (pt_value_text_bytes(argv[0], &partition) != SQLITE_OK ||
        pt_value_text_bytes(argv[1], &row) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    bool possible =
        memchr(partition.data, 0, partition.size) == NULL && memchr(row.data, 0, row.size) == NULL;
    if (!possible) {
        return SQLITE_OK;
    }
    pt_key_begin(&cursor->high, cursor->row.table_id);
    pt_key_append_with_nul(&cursor->high, partition, row);
    return seek_point(cursor, error);
}

/* See search_point about arguments. */
static int search_row_id(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice text;
    cursor->row.only_row = true;
    if (pt_value_text_bytes(argv[0], &text) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    pt_key_begin(&cursor->high, cursor->row.table_id);
    uint8_t *key = pt_buffer_extend(&cursor->high, text.size + 1);
    if (key == NULL) {
        return pt_error_nomem(error);
    }
    size_t size = pt_key_from_row_id(text, key);
    if (size == 0) {
        return SQLITE_OK;
    }
    key[size] = 0;
    cursor->high.size -= text.size - size;
    return seek_point(cursor, error);
}

/* See search_point about arguments and NULs. */
static int search_partition(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    pt_slice partition;
    cursor->walk.at_end = true;
    if (pt_value_text_bytes(argv[0], &partition) != SQLITE_OK) {
        return pt_error_nomem(error);
    }
    if (memchr(partition.data, 0, partition.size) != NULL) {
        return SQLITE_OK;
    }
    pt_key_bound_partition(&cursor->low, cursor->row.table_id, partition, PT_KEY_PARTITION_START);
    pt_key_bound_partition(&cursor->high, cursor->row.table_id, partition, PT_KEY_PARTITION_END);
    if (cursor->low.failed || cursor->high.failed) {
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

/* Begins to read the index of the plan. If that is not possible, makes it a plan without one. */
static int begin_index(pt_cursor *cursor, sqlite3_value **argv, pt_error *error)
{
    bool able = false;
    int rc = pt_index_search_begin(&cursor->search, &cursor->row, &cursor->conditions, argv,
                                   cursor->plan, &able, &cursor->sorts, error);
    cursor->plan &= able ? ~0u : ~PT_PLAN_INDEX;
    bool entries = able && pt_index_search_reads_entries(cursor->search);
    cursor->judges = cursor->selects = cursor->judges && !entries;
    return rc == SQLITE_OK && able ? leave_range(cursor, error) : rc;
}

static int begin_query(pt_cursor *cursor, int argc, sqlite3_value **argv, pt_error *error)
{
    /* First, because a table that is not there matters more than a mistake in the filter. */
    int rc = open_or_reuse_scan(cursor, error);
    if (rc == SQLITE_OK && (cursor->plan & PT_PLAN_INDEX) != 0) {
        rc = begin_index(cursor, argv, error);
        if (rc != SQLITE_OK || (cursor->plan & PT_PLAN_INDEX) != 0) {
            return rc;
        }
    }
    if (rc == SQLITE_OK && has_filter(cursor)) {
        rc = pt_row_filter_set(&cursor->filter, &cursor->table->config, argv[--argc], error);
    }
    if (rc == SQLITE_OK && is_direct(cursor, POINT_TERMS, argv)) {
        return search_point(cursor, argv, error);
    }
    if (rc == SQLITE_OK && is_direct(cursor, PARTITION_TERMS, argv)) {
        return search_partition(cursor, argv, error);
    }
    if (rc == SQLITE_OK && is_direct(cursor, ROW_ID_TERMS, argv)) {
        return search_row_id(cursor, argv, error);
    }
    if (rc == SQLITE_OK) {
        rc = set_ranges(cursor, argc, argv, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_scan_is_allowed(cursor, error);
    }
    pt_range_walk_begin(&cursor->walk, direction_of(cursor));
    return rc == SQLITE_OK ? search_ranges(cursor, error) : rc;
}

__attribute__((noinline)) static int set_conditions(pt_cursor *cursor, const char *sentence,
                                                    int *argc, sqlite3_value **argv,
                                                    pt_error *error)
{
    int rc = pt_conditions_set(&cursor->conditions, cursor->table, cursor->plan, sentence, argc,
                               argv, error);
    cursor->judges = cursor->conditions.terms.count != 0;
    cursor->selects = cursor->selects || cursor->judges;
    return rc;
}

/* True if the range that is being read has keys after a position, in the direction of the scan. */
static bool range_continues_after(const pt_cursor *cursor, pt_slice position)
{
    int order = pt_slice_compare(position, pt_buffer_slice(&cursor->scan.limit));
    return direction_of(cursor) == PT_FORWARD ? order < 0 : order > 0;
}

/*
 * For PT_PLAN_DISTINCT: one row is enough for each partition, so moves past the partition of this
 * row. But if SQLite has read the row's EntityKey, it tells rows of a partition apart, and gets
 * them all: a RIGHT JOIN remembers the keys that it has found. Usually one range contains all
 * partitions, and then the end of the scan stays the same.
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
    if (range_continues_after(cursor, position)) {
        return finish_step(cursor, pt_scan_leap(&cursor->scan, position, error), error);
    }
    return pt_range_walk_pass(&cursor->walk, pt_key_entity(partition)) ? leave_range(cursor, error)
                                                                       : pt_error_nomem(error);
}

static int next_row(pt_cursor *cursor, pt_error *error)
{
    bool one_is_enough = (cursor->plan & PT_PLAN_DISTINCT) != 0 && !cursor->row.key_was_read;
    return one_is_enough ? skip_partition(cursor, error) : step_to_next_row(cursor, error);
}

static int next_to_sort(void *context, pt_error *error)
{
    pt_cursor *cursor = context;
    return take_row_after_move(cursor, next_row(cursor, error), error);
}

/* Sorts all rows. From then on the search gives them, as if they came from an index. */
__attribute__((noinline)) static int sort_rows(pt_cursor *cursor, pt_error *error)
{
    int rc = take_row_after_move(cursor, SQLITE_OK, error);
    if (rc == SQLITE_OK && !cursor->eof) {
        rc = pt_index_search_sort(cursor->search, &cursor->row, &cursor->eof, next_to_sort, cursor,
                                  error);
        cursor->plan |= PT_PLAN_INDEX;
        cursor->selects = false;
        rc = rc == SQLITE_OK ? leave_range(cursor, error) : rc;
    }
    return rc;
}

int pt_cursor_filter(sqlite3_vtab_cursor *base, int plan_bits, const char *sentence, int argc,
                     sqlite3_value **argv)
{
    pt_cursor *cursor = table_cursor_of(base);
    pt_error error = PT_ERROR_NONE;
    cursor->table->fresh_cursor = NULL;
    cursor->plan = (unsigned)plan_bits;
    cursor->row.filter = has_filter(cursor) ? &cursor->filter.text : NULL;
    cursor->eof = true;
    int rc = SQLITE_OK;
    cursor->selects = has_filter(cursor);
    cursor->judges = cursor->sorts = cursor->row.only_row = cursor->row.key_was_read = false;
    if ((cursor->plan & PT_PLAN_CONDITIONS) != 0) {
        rc = set_conditions(cursor, sentence, &argc, argv, &error);
    }
    if (rc == SQLITE_OK) {
        rc = begin_query(cursor, argc, argv, &error);
    }
    cursor->selects |= cursor->row.expires;
    if (rc == SQLITE_OK && cursor->sorts) {
        rc = sort_rows(cursor, &error);
    }
    bool plain = !has_points(cursor) && !cursor->selects && (cursor->plan & PT_PLAN_DISTINCT) == 0;
    cursor->counts = plain && pt_scan_sees_no_writes(&cursor->scan);
    cursor->indirect = cursor->counts || (rc == SQLITE_OK && (cursor->plan & PT_PLAN_INDEX) != 0 &&
                                          pt_index_search_reads_entries(cursor->search));
    cursor->is_plain = plain && !cursor->counts;
    return finish_move(cursor, rc, &error);
}

/* --- xNext --- */

/* Moves to the row after those that were counted, and counts the rows that follow it. */
static int next_to_count(pt_cursor *cursor, pt_error *error)
{
    int rc = pt_scan_arrive(&cursor->scan, error);
    rc = rc == SQLITE_OK ? step_to_next_row(cursor, error) : rc;
    if (rc == SQLITE_OK && !cursor->eof) {
        pt_scan_look_ahead(&cursor->scan);
    }
    return rc;
}

/* noinline: a row that is only counted needs neither an error nor saved registers. */
__attribute__((noinline)) static int next_plain(pt_cursor *cursor)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_scan_step(&cursor->scan, &error);
    if (rc == SQLITE_OK && cursor->scan.valid && !cursor->scan.on_pending) {
        pt_row_moved(&cursor->row);
        return SQLITE_OK;
    }
    return finish_move(cursor, finish_step(cursor, rc, &error), &error);
}

__attribute__((noinline)) static int next_not_plain(pt_cursor *cursor)
{
    pt_error error = PT_ERROR_NONE;
    int rc = cursor->counts ? next_to_count(cursor, &error) : next_row(cursor, &error);
    return finish_move(cursor, rc, &error);
}

/* count(*) and the like read no column. Then rows that follow on the same page of the store are
 * counted at once, and the scan stays where it is until SQLite has passed them. */
int pt_cursor_next(sqlite3_vtab_cursor *base)
{
    pt_cursor *cursor = table_cursor_of(base);
    if (cursor->is_plain) {
        return next_plain(cursor);
    }
    return cursor->counts && pt_scan_pass(&cursor->scan) ? SQLITE_OK : next_not_plain(cursor);
}

int pt_cursor_eof(sqlite3_vtab_cursor *base)
{
    return table_cursor_of(base)->eof;
}

/* --- xColumn --- */

/* The first column is read after rows were counted: from now on each row is moved to. */
__attribute__((noinline)) static int stop_counting(pt_cursor *cursor, sqlite3_context *context,
                                                   int column)
{
    pt_error error = PT_ERROR_NONE;
    cursor->counts = cursor->indirect = false;
    cursor->is_plain = true;
    pt_row_moved(&cursor->row);
    return pt_scan_arrive(&cursor->scan, &error) == SQLITE_OK
               ? pt_row_column(&cursor->row, context, column)
               : pt_table_fail(cursor->table, &error);
}

int pt_cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    pt_cursor *cursor = table_cursor_of(base);
    if (!cursor->indirect) {
        return pt_row_column(&cursor->row, context, column);
    }
    return cursor->counts ? stop_counting(cursor, context, column)
                          : pt_index_search_column(cursor->search, &cursor->scan, &cursor->row,
                                                   context, column);
}
