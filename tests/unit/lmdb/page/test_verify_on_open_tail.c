/*
 * Pages that a file lacks at its end, at every size of a file whose list of free pages is long.
 */
#include "fixtures/cmocka.h"

#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/page/verify_on_open.h"

enum { PAGES_MAX = 20000, VALUE = 3000, FREE_DBI = 0 };

static char path[] = "/tmp/ptable-tail-XXXXXX";
static char lock_path[sizeof path + 8];

typedef struct layout {
    size_t page_size;
    size_t pages; /* up to the last one */
    size_t records;
    size_t depth;
    size_t longest; /* list */
    bool free[PAGES_MAX];
} layout;

static MDB_env *open_environment(void)
{
    MDB_env *env;
    assert_int_equal(mdb_env_create(&env), 0);
    assert_int_equal(mdb_env_set_mapsize(env, (size_t)1 << 30), 0);
    assert_int_equal(mdb_env_open(env, path, MDB_NOSUBDIR | MDB_NOSYNC, 0600), 0);
    return env;
}

/* Puts, or deletes, every `step`-th key from `first` to `last`. */
static void change(MDB_env *env, int first, int last, int step, bool put)
{
    static char bytes[VALUE];
    MDB_txn *txn;
    MDB_dbi dbi;
    assert_int_equal(mdb_txn_begin(env, NULL, 0, &txn), 0);
    assert_int_equal(mdb_dbi_open(txn, NULL, 0, &dbi), 0);
    for (int i = first; i < last; i += step) {
        char name[12];
        snprintf(name, sizeof name, "%08d", i);
        MDB_val key = {.mv_size = strlen(name), .mv_data = name};
        MDB_val value = {.mv_size = sizeof bytes, .mv_data = bytes};
        int mdb_rc = put ? mdb_put(txn, dbi, &key, &value, 0) : mdb_del(txn, dbi, &key, NULL);
        assert_true(mdb_rc == 0 || mdb_rc == MDB_NOTFOUND);
    }
    assert_int_equal(mdb_txn_commit(txn), 0);
}

/* What LMDB itself says. */
static void read_layout(MDB_env *env, layout *all)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_stat stat;
    MDB_envinfo info;
    MDB_val key;
    MDB_val value;
    *all = (layout){0};
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn), 0);
    mdb_env_info(env, &info);
    assert_int_equal(mdb_stat(txn, FREE_DBI, &stat), 0);
    all->page_size = stat.ms_psize;
    all->depth = stat.ms_depth;
    all->pages = info.me_last_pgno + 1;
    assert_in_range(all->pages, 1, PAGES_MAX);
    assert_int_equal(mdb_cursor_open(txn, FREE_DBI, &cursor), 0);
    while (mdb_cursor_get(cursor, &key, &value, MDB_NEXT) == 0) {
        const size_t *list = value.mv_data;
        all->records++;
        all->longest = list[0] > all->longest ? list[0] : all->longest;
        for (size_t i = 1; i <= list[0]; i++) {
            all->free[list[i]] = true;
        }
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(txn);
}

static bool is_free(int fd)
{
    bool answer;
    pt_error error = PT_ERROR_NONE;
    assert_int_equal(pt_lmdb_missing_pages_are_free(fd, path, &answer, &error), SQLITE_OK);
    return answer;
}

/* Cuts page after page off; whoever lacks free pages only is whole. Returns how many sizes were. */
static size_t check_every_size(void)
{
    static layout all;
    MDB_env *env = open_environment();
    read_layout(env, &all);
    mdb_env_close(env);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    size_t whole = 0;
    bool expected = true;
    for (size_t pages = all.pages; pages > 0; pages--) {
        expected = expected && (pages == all.pages || all.free[pages]);
        assert_int_equal(ftruncate(fd, (off_t)(pages * all.page_size)), 0);
        assert_int_equal(is_free(fd), expected);
        whole += expected;
    }
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_false(is_free(fd));
    close(fd);
    return whole;
}

static int set_up(void **state)
{
    (void)state;
    strcpy(path + sizeof path - 7, "XXXXXX");
    int fd = mkstemp(path);
    snprintf(lock_path, sizeof lock_path, "%s-lock", path);
    return fd >= 0 ? close(fd) : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(lock_path);
    return unlink(path);
}

static void a_file_without_free_pages_lacks_none(void **state)
{
    (void)state;
    MDB_env *env = open_environment();
    change(env, 0, 1, 1, true);
    mdb_env_close(env);
    assert_int_equal(check_every_size(), 1);
}

/* The end of the file is deleted at last, in one long list. */
static void a_long_list_is_read(void **state)
{
    (void)state;
    static layout all;
    MDB_env *env = open_environment();
    change(env, 0, 2000, 1, true);
    change(env, 0, 300, 1, false); /* here the list of the others is to lie */
    change(env, 400, 401, 1, true);
    change(env, 400, 401, 1, true);
    change(env, 500, 2000, 1, false);
    read_layout(env, &all);
    mdb_env_close(env);
    assert_true(all.longest > all.page_size / sizeof(size_t));
    assert_true(check_every_size() > 1);
}

/* A reader keeps free pages from being used, so that their lists become a tree. */
static void a_tree_of_lists_is_read(void **state)
{
    (void)state;
    static layout all;
    MDB_txn *reader;
    MDB_env *env = open_environment();
    change(env, 0, 400, 1, true);
    assert_int_equal(mdb_txn_begin(env, NULL, MDB_RDONLY, &reader), 0);
    for (int round = 0; round < 300; round++) {
        change(env, round, round + 1, 1, true);
    }
    mdb_txn_abort(reader);
    read_layout(env, &all);
    mdb_env_close(env);
    assert_true(all.depth > 1);
    check_every_size();
}

/* The list leads nowhere, to itself, or to what is no list. */
static void damage_is_survived(void **state)
{
    (void)state;
    MDB_env *env = open_environment();
    change(env, 0, 300, 1, true);
    change(env, 0, 300, 2, false);
    mdb_env_close(env);
    struct stat file;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(fstat(fd, &file), 0);
    assert_int_equal(ftruncate(fd, file.st_size - 1), 0);
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        random = random * 1664525 + 1013904223;
        off_t offset =
            round % 2 == 0 ? (off_t)(random >> 8) % 8192 : (off_t)(random >> 4) % file.st_size;
        uint8_t before;
        uint8_t damaged = (uint8_t)(random >> 24);
        assert_int_equal(pread(fd, &before, 1, offset), 1);
        assert_int_equal(pwrite(fd, &damaged, 1, offset), 1);
        is_free(fd);
        assert_int_equal(pwrite(fd, &before, 1, offset), 1);
    }
    close(fd);
}

#define file_test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(a_file_without_free_pages_lacks_none),
        file_test(a_long_list_is_read),
        file_test(a_tree_of_lists_is_read),
        file_test(damage_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
