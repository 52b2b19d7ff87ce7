#include "fixtures/cmocka.h"

#include <errno.h>
#include <lmdb.h>
#include <sqlite3.h>
#include <string.h>

#include "lmdb/file/errors.h"

/* What each failure is to SQLite, and what is said to be done. */
static void failures_have_a_remedy(void **state)
{
    (void)state;
    static const struct {
        int mdb_rc;
        int rc;
        const char *remedy;
    } failures[] = {
        {MDB_READERS_FULL, SQLITE_BUSY, "close some of the connections"},
        {MDB_MAP_RESIZED, SQLITE_BUSY, "end the open statements on it and try again"},
        {MDB_MAP_FULL, SQLITE_FULL, "PTABLE_MAP_SIZE"},
        {MDB_TXN_FULL, SQLITE_FULL, "in several transactions"},
        {ENOSPC, SQLITE_FULL, "make room on the disk"},
        {EDQUOT, SQLITE_FULL, "make room on the disk"},
        {EFBIG, SQLITE_FULL, "ulimit -f"},
        {EMFILE, SQLITE_IOERR, "ulimit -n"},
        {ENFILE, SQLITE_IOERR, "ulimit -n"},
        {ENOLCK, SQLITE_IOERR, "whose locks work"},
        {MDB_CORRUPTED, SQLITE_CORRUPT, "restore it from a backup"},
        {MDB_PAGE_NOTFOUND, SQLITE_CORRUPT, "restore it from a backup"},
        {MDB_INVALID, SQLITE_CORRUPT, "restore it from a backup"},
        {EACCES, SQLITE_READONLY, "check the permissions"},
        {EPERM, SQLITE_READONLY, "check the permissions"},
        {EROFS, SQLITE_READONLY, "check the permissions"},
        {EIO, SQLITE_IOERR, "check the disk"},
        {MDB_BAD_TXN, SQLITE_IOERR, "; try again"},
    };
    for (size_t i = 0; i < sizeof failures / sizeof failures[0]; i++) {
        pt_error error = PT_ERROR_NONE;
        int rc = pt_lmdb_fail(&error, failures[i].mdb_rc, "a store", "reading");
        assert_int_equal(rc, failures[i].rc);
        assert_non_null(strstr(error.message, "store 'a store': "));
        assert_non_null(strstr(error.message, " while reading; "));
        assert_non_null(strstr(error.message, failures[i].remedy));
        pt_error_clear(&error);
    }
}

static void want_of_memory_has_no_text(void **state)
{
    (void)state;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_lmdb_fail(&error, ENOMEM, "a store", "reading"), SQLITE_NOMEM);
    assert_null(error.message);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_have_a_remedy),
        cmocka_unit_test(want_of_memory_has_no_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
