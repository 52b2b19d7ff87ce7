/*
 * A folder of its own for a test's stores, and short forms of what tests do with an engine. Every
 * short form fails the test if the engine reports an error.
 */
#ifndef STORE_FIXTURE_H
#define STORE_FIXTURE_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sqlite.h"
#include "store/engine.h"

static const pt_engine *const engine = &pt_lmdb_engine;
static char fixture_folder[64];
static char fixture_path[96]; /* of the store that most tests use */

static inline int fixture_setup(void **state)
{
    (void)state;
    snprintf(fixture_folder, sizeof fixture_folder, "/tmp/ptable-test-XXXXXX");
    if (mkdtemp(fixture_folder) == NULL) {
        return -1;
    }
    snprintf(fixture_path, sizeof fixture_path, "%s/a.ptable", fixture_folder);
    return 0;
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    DIR *folder = opendir(fixture_folder);
    for (struct dirent *file = readdir(folder); file != NULL; file = readdir(folder)) {
        if (file->d_name[0] != '.') {
            unlinkat(dirfd(folder), file->d_name, 0);
        }
    }
    closedir(folder);
    return rmdir(fixture_folder);
}

static inline int fixture_file_count(void)
{
    int count = 0;
    DIR *folder = opendir(fixture_folder);
    for (struct dirent *file = readdir(folder); file != NULL; file = readdir(folder)) {
        count += file->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

#define assert_ok(call)                                                                            \
    do {                                                                                           \
        pt_error error = PT_ERROR_NONE;                                                            \
        int assert_ok_rc = (call);                                                                 \
        if (assert_ok_rc != SQLITE_OK) {                                                           \
            fail_msg("%s: %d %s", #call, assert_ok_rc, error.message);                             \
        }                                                                                          \
    } while (0)

/* The call must fail with that code and a text that contains `part` (any text if it is NULL). */
#define assert_fails(call, code, part)                                                             \
    do {                                                                                           \
        pt_error error = PT_ERROR_NONE;                                                            \
        int assert_fails_rc = (call);                                                              \
        assert_int_equal(assert_fails_rc, code);                                                   \
        assert_int_equal(error.rc, code);                                                          \
        const char *assert_fails_part = (part);                                                    \
        assert_non_null(error.message);                                                            \
        if (assert_fails_part != NULL && strstr(error.message, assert_fails_part) == NULL) {       \
            fail_msg("\"%s\" is not in: %s", assert_fails_part, error.message);                    \
        }                                                                                          \
        pt_error_clear(&error);                                                                    \
    } while (0)

static inline pt_store *open_store(const char *path)
{
    pt_store *store = NULL;
    assert_ok(engine->open(path, PT_OPEN_CREATE, &store, &error));
    return store;
}

static inline pt_snapshot *new_snapshot(pt_store *store)
{
    pt_snapshot *snapshot = NULL;
    assert_ok(engine->snapshot_new(store, &snapshot, &error));
    return snapshot;
}

static inline pt_snapshot *begin_snapshot(pt_store *store)
{
    pt_snapshot *snapshot = new_snapshot(store);
    assert_ok(engine->snapshot_begin(snapshot, &error));
    return snapshot;
}

typedef struct test_key {
    uint8_t bytes[512];
    size_t size;
} test_key;

static inline test_key key_of(uint32_t table, const char *text)
{
    test_key key = {.size = 4 + strlen(text)};
    pt_put_be32(key.bytes, table);
    memcpy(key.bytes + 4, text, strlen(text));
    return key;
}

static inline pt_slice key_slice(const test_key *key)
{
    return pt_slice_of(key->bytes, key->size);
}

static inline void put_text(pt_writer *writer, uint32_t table, const char *text, const char *record)
{
    test_key key = key_of(table, text);
    assert_ok(engine->write_put(writer, key_slice(&key), pt_slice_text(record), &error));
}

static inline void delete_text(pt_writer *writer, uint32_t table, const char *text)
{
    test_key key = key_of(table, text);
    assert_ok(engine->write_delete(writer, key_slice(&key), &error));
}

static inline pt_writer *begin_write(pt_store *store)
{
    pt_writer *writer = NULL;
    assert_ok(engine->write_begin(store, &writer, &error));
    return writer;
}

static inline void commit_write(pt_writer *writer)
{
    pt_commit commit = {.sync = PT_SYNC_OFF};
    assert_ok(engine->write_commit(writer, &commit, &error));
}

static inline void lock_store(pt_store *store)
{
    assert_ok(engine->lock(store, 0, &error));
}

/* One record in a transaction of its own. */
static inline void store_text(pt_store *store, uint32_t table, const char *text, const char *record)
{
    lock_store(store);
    pt_writer *writer = begin_write(store);
    put_text(writer, table, text, record);
    commit_write(writer);
    engine->unlock(store);
}

/* The record of a key in the snapshot; data is NULL if there is none. */
static inline pt_slice get_text(pt_snapshot *snapshot, uint32_t table, const char *text)
{
    test_key key = key_of(table, text);
    bool found = false;
    pt_slice record = {0};
    assert_ok(engine->get(snapshot, key_slice(&key), &found, &record, &error));
    return found ? record : (pt_slice){0};
}

static inline void assert_record(pt_snapshot *snapshot, uint32_t table, const char *text,
                                 const char *expected)
{
    pt_slice record = get_text(snapshot, table, text);
    if (expected == NULL) {
        assert_null(record.data);
        return;
    }
    assert_non_null(record.data);
    assert_int_equal(record.size, strlen(expected));
    assert_memory_equal(record.data, expected, record.size);
}

static inline void assert_counts(pt_snapshot *snapshot, uint32_t table, int64_t entities,
                                 int64_t bytes)
{
    pt_table_counts counts = {.entities = -1};
    assert_ok(engine->counts(snapshot, table, &counts, &error));
    assert_int_equal(counts.entities, entities);
    assert_int_equal(counts.bytes, bytes);
}

/* Numbers that are the same in every run. */
static inline uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

/*
 * Runs `work` in a child process, which must return 0. It has to be a sound process for the engine,
 * so it ends without the tests' own clean-up.
 */
static inline pid_t start_child(int (*work)(void))
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        _exit(work());
    }
    assert_true(child > 0);
    return child;
}

static inline void await_child(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
