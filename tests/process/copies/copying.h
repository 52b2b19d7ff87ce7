/*
 * Copying a store, for backups and for compacting, while calls of LMDB or of the system fail.
 */
#ifndef TESTS_PROCESS_COPIES_COPYING_H
#define TESTS_PROCESS_COPIES_COPYING_H

#include <dlfcn.h>
#include <lmdb.h>

#include "entity/key.h"
#include "faults/failing_malloc.h"
#include "faults/system_calls.h"
#include "fixtures/sealed.h"
#include "fixtures/store_fixture.h"
#include "lmdb/file/locks.h"
#include "lmdb/long_keys.h"
#include "lmdb/page/format.h"

enum { ROWS = 200, PAGE = 4096, PATIENCE_MS = 10000 };

/* --- Calls that fail --- */

static const char *failing_call; /* of LMDB or the system, by its name; NULL: none */
static int failing_passes;       /* before it fails, */
static int failing_times;        /* so often, then no more */
static size_t failing_least;     /* only if it writes so many bytes */
static int failing_code;
static void (*failing_event)(int fd); /* instead, or before, on its file */

static inline bool is_failing(const char *name)
{
    if (failing_call == NULL || strcmp(name, failing_call) != 0 || failing_passes-- > 0) {
        return false;
    }
    if (--failing_times == 0) {
        failing_call = NULL;
    }
    return true;
}

static inline void make_fail(const char *call, int passes, int code)
{
    failing_call = call;
    failing_passes = passes;
    failing_times = 1;
    failing_least = 0;
    failing_code = code;
    failing_event = NULL;
}

static inline system_call_verdict judge(const system_call *call)
{
    const char *name = call->kind == CALL_WRITE ? "any write" : call->name;
    int code = failing_code;
    if (system_call_size(call) < failing_least || !is_failing(name)) {
        return (system_call_verdict){0};
    }
    if (failing_event != NULL) {
        failing_event(call->fd);
    }
    return (system_call_verdict){.error = code};
}

/* The function of that name that this file's hides. */
static inline void find_hidden(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

#pragma GCC visibility push(default)

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*hidden)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    find_hidden("mdb_txn_begin", &hidden);
    return is_failing("mdb_txn_begin") ? failing_code : hidden(env, parent, flags, txn);
}

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_cursor **);
    find_hidden("mdb_cursor_open", &hidden);
    return is_failing("mdb_cursor_open") ? failing_code : hidden(txn, dbi, cursor);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation)
{
    int (*hidden)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op);
    find_hidden("mdb_cursor_get", &hidden);
    return is_failing("mdb_cursor_get") ? failing_code : hidden(cursor, key, value, operation);
}

int mdb_cursor_put(MDB_cursor *cursor, MDB_val *key, MDB_val *value, unsigned flags)
{
    int (*hidden)(MDB_cursor *, MDB_val *, MDB_val *, unsigned);
    find_hidden("mdb_cursor_put", &hidden);
    return is_failing("mdb_cursor_put") ? failing_code : hidden(cursor, key, value, flags);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
    find_hidden("mdb_get", &hidden);
    return is_failing("mdb_get") ? failing_code : hidden(txn, dbi, key, value);
}

int mdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    int (*hidden)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned);
    find_hidden("mdb_put", &hidden);
    return is_failing("mdb_put") ? failing_code : hidden(txn, dbi, key, value, flags);
}

int fchown(int fd, uid_t user, gid_t group)
{
    errno = failing_code;
    return is_failing("fchown") ? -1 : (int)syscall(SYS_fchown, fd, user, group);
}

int fchmod(int fd, mode_t mode)
{
    errno = failing_code;
    return is_failing("fchmod") ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

#pragma GCC visibility pop

/* --- A store --- */

static const char record[] = "a record of some bytes, which fills a page sooner than a word";

static char copy_path[96];

static inline int setup(void **state)
{
    if (fixture_setup(state) != 0) {
        return -1;
    }
    snprintf(copy_path, sizeof copy_path, "%s/copy", fixture_folder);
    failing_call = NULL;
    system_call_judge = judge;
    return 0;
}

static inline int teardown(void **state)
{
    system_call_judge = NULL;
    return fixture_teardown(state);
}

/* A key of table 1 as long as this. */
static inline pt_slice long_key(char first, size_t size)
{
    static uint8_t bytes[PT_KEY_LOGICAL_MAX];
    memset(bytes, first, size);
    bytes[0] = 1;
    return pt_slice_of(bytes, size);
}

/* What stands for the dropped table 2; its counts are left over, too. */
static inline void put_garbage(pt_writer *writer)
{
    test_key dropped = garbage_key(2);
    pt_slice key = key_slice(&dropped);
    assert_ok(engine->write_put(writer, key, sealed(key, pt_slice_text("\1")), &error));
}

/* Rows of table 1, some with long keys, and a dropped table. */
static inline pt_store *make_store(void)
{
    pt_store *store = open_store(fixture_path);
    lock_store(store);
    pt_writer *writer = begin_write(store);
    for (int i = 0; i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%04d", i);
        put_text(writer, 1, name, record);
    }
    put_text(writer, 2, "x", "dropped");
    assert_ok(engine->write_put(writer, long_key('y', 900), pt_slice_text("1"), &error));
    assert_ok(engine->write_put(writer, long_key('y', 1900), pt_slice_text("2"), &error));
    commit_write(writer);
    writer = begin_write(store);
    put_garbage(writer);
    commit_write(writer);
    engine->unlock(store);
    return store;
}

/* The files of the folder, without a log of the store, which it may have while it is open. */
static inline int copying_file_count(void)
{
    static const char *const suffixes[] = {"-log", "-word"};
    int count = fixture_file_count();
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        char path[sizeof fixture_path + 8];
        snprintf(path, sizeof path, "%s%s", fixture_path, suffixes[i]);
        count -= access(path, F_OK) == 0;
    }
    return count;
}

static inline bool never(void *context)
{
    (void)context;
    return false;
}

static const pt_watch patient = {.is_over = never};

static inline int back_up(pt_store *store, pt_error *error)
{
    int64_t bytes;
    return engine->backup(store, copy_path, &patient, &bytes, error);
}

static inline int compact(pt_store *store, int wait_ms, const pt_watch *watch, pt_error *error)
{
    int64_t bytes;
    return engine->compact(store, wait_ms, watch, &bytes, error);
}

static inline void assert_whole(pt_store *store)
{
    pt_snapshot *snapshot = begin_snapshot(store);
    assert_record(snapshot, 1, "r0000", record);
    assert_counts(snapshot, 1, ROWS + 2, ROWS * (int64_t)(6 + strlen(record)) + 900 + 1900 + 2);
    engine->snapshot_free(snapshot);
}

#endif
