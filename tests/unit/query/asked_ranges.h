/*
 * The ranges that SQLite's terms become for a WHERE.
 */
#ifndef TESTS_UNIT_QUERY_ASKED_RANGES_H
#define TESTS_UNIT_QUERY_ASKED_RANGES_H

#include "fixtures/cmocka.h"

#include "faults/failing_malloc.h"
#include "fixtures/term_table.h"
#include "query/ranges.h"

static sqlite3 *db;
static pt_ranges ranges;
static bool asked;

static int set_ranges(unsigned bits, int argc, sqlite3_value **argv)
{
    pt_error error = PT_ERROR_NONE;
    int rc = pt_ranges_set(&ranges, bits, argc, argv, &error);
    assert_null(error.message);
    asked = true;
    return rc;
}

static void ask(const char *where)
{
    term_table_filter = set_ranges;
    asked = false;
    assert_int_equal(term_table_query(db, where), SQLITE_OK);
    assert_true(asked);
}

/* String literals with NULs inside, without the one at their end. */
#define BYTES(literal) pt_slice_of(literal, sizeof(literal) - 1)

static void assert_bytes(pt_slice got, pt_slice expected)
{
    if (!pt_slice_equal(got, expected)) {
        fail_msg("'%.*s' (%zu bytes), not '%.*s' (%zu bytes)", (int)got.size,
                 (const char *)got.data, got.size, (int)expected.size, (const char *)expected.data,
                 expected.size);
    }
}

/* A group's set-up and what ends it. */
static int open_term_table(void **state)
{
    (void)state;
    failing_malloc_install();
    db = term_table_database();
    return 0;
}

static int close_term_table(void **state)
{
    (void)state;
    pt_ranges_free(&ranges);
    sqlite3_close(db);
    return sqlite3_memory_used() == 0 ? 0 : -1;
}

#endif
