/*
 * LMDB's functions, which a test can make fail with any code: these definitions come before the
 * library's. Include it in one file of a program.
 */
#ifndef TESTS_FAULTS_LMDB_FAULTS_H
#define TESTS_FAULTS_LMDB_FAULTS_H

#include <dlfcn.h>
#include <errno.h>
#include <lmdb.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef enum lmdb_function {
    LMDB_NONE,
    LMDB_ENV_OPEN,
    LMDB_SET_MAPSIZE,
    LMDB_TXN_BEGIN,
    LMDB_TXN_RENEW,
    LMDB_TXN_COMMIT,
    LMDB_TXN_COMMIT_DONE, /* it is made and says that it failed */
    LMDB_DBI_OPEN,
    LMDB_GET,
    LMDB_DEL,
    LMDB_CURSOR_OPEN,
    LMDB_CURSOR_GET,
    LMDB_CURSOR_SET, /* mdb_cursor_get to an exact key */
} lmdb_function;

typedef struct lmdb_fault {
    lmdb_function function;
    int code;
    int skipped; /* calls of the function that are made before */
    int times;   /* calls that fail then */
} lmdb_fault;

static lmdb_fault lmdb_faults[2]; /* all zeros: none */
static int lmdb_versions_ahead;   /* of what LMDB says is the newest */
static int lmdb_versions_behind;  /* of what LMDB says is a transaction's */
static bool lmdb_map_is_refused;  /* address space for one, that is */
static void (*lmdb_before_open)(void);

static void lmdb_forget_faults(void)
{
    memset(lmdb_faults, 0, sizeof lmdb_faults);
    lmdb_versions_ahead = 0;
    lmdb_versions_behind = 0;
    lmdb_map_is_refused = false;
    lmdb_before_open = NULL;
}

/* Arms one fault, and no other. */
static void lmdb_fail_at(lmdb_function function, int code, int skipped, int times)
{
    lmdb_forget_faults();
    lmdb_faults[0] =
        (lmdb_fault){.function = function, .code = code, .skipped = skipped, .times = times};
}

/* The code a call fails with, or MDB_SUCCESS: it is made. */
static int lmdb_judge(lmdb_function function)
{
    for (int i = 0; i < 2; i++) {
        lmdb_fault *fault = &lmdb_faults[i];
        if (fault->function != function || fault->times == 0) {
            continue;
        }
        if (fault->skipped > 0) {
            fault->skipped--;
            continue;
        }
        fault->times--;
        return fault->code;
    }
    return MDB_SUCCESS;
}

/* True if the armed fault has occurred. */
static inline bool lmdb_has_failed(int times)
{
    return lmdb_faults[0].times < times;
}

/* The library's own function. */
static void lmdb_find(const char *name, void *function)
{
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(function, &found, sizeof found);
}

#pragma GCC visibility push(default)

int mdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
    int (*real)(MDB_env *, const char *, unsigned, mdb_mode_t);
    lmdb_find("mdb_env_open", &real);
    int code = lmdb_judge(LMDB_ENV_OPEN);
    if (code == MDB_SUCCESS && lmdb_before_open != NULL) {
        lmdb_before_open();
    }
    return code != MDB_SUCCESS ? code : real(env, path, flags, mode);
}

int mdb_env_set_mapsize(MDB_env *env, size_t size)
{
    int (*real)(MDB_env *, size_t);
    lmdb_find("mdb_env_set_mapsize", &real);
    int code = lmdb_judge(LMDB_SET_MAPSIZE);
    return code != MDB_SUCCESS ? code : real(env, size);
}

int mdb_env_info(MDB_env *env, MDB_envinfo *info)
{
    int (*real)(MDB_env *, MDB_envinfo *);
    lmdb_find("mdb_env_info", &real);
    int code = real(env, info);
    info->me_last_txnid += (size_t)lmdb_versions_ahead;
    return code;
}

size_t mdb_txn_id(MDB_txn *txn)
{
    size_t (*real)(MDB_txn *);
    lmdb_find("mdb_txn_id", &real);
    return real(txn) - (size_t)lmdb_versions_behind;
}

void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (lmdb_map_is_refused && (flags & MAP_NORESERVE) != 0) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

int mdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **txn)
{
    int (*real)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
    lmdb_find("mdb_txn_begin", &real);
    int code = lmdb_judge(LMDB_TXN_BEGIN);
    return code != MDB_SUCCESS ? code : real(env, parent, flags, txn);
}

int mdb_txn_renew(MDB_txn *txn)
{
    int (*real)(MDB_txn *);
    lmdb_find("mdb_txn_renew", &real);
    int code = lmdb_judge(LMDB_TXN_RENEW);
    return code != MDB_SUCCESS ? code : real(txn);
}

/* One that fails ends the transaction. */
int mdb_txn_commit(MDB_txn *txn)
{
    int (*real)(MDB_txn *);
    lmdb_find("mdb_txn_commit", &real);
    int code = lmdb_judge(LMDB_TXN_COMMIT);
    if (code != MDB_SUCCESS) {
        mdb_txn_abort(txn);
        return code;
    }
    int done = real(txn);
    code = done == MDB_SUCCESS ? lmdb_judge(LMDB_TXN_COMMIT_DONE) : done;
    return code;
}

int mdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi)
{
    int (*real)(MDB_txn *, const char *, unsigned, MDB_dbi *);
    lmdb_find("mdb_dbi_open", &real);
    int code = lmdb_judge(LMDB_DBI_OPEN);
    return code != MDB_SUCCESS ? code : real(txn, name, flags, dbi);
}

int mdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    int (*real)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
    lmdb_find("mdb_get", &real);
    int code = lmdb_judge(LMDB_GET);
    return code != MDB_SUCCESS ? code : real(txn, dbi, key, value);
}

int mdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    int (*real)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
    lmdb_find("mdb_del", &real);
    int code = lmdb_judge(LMDB_DEL);
    return code != MDB_SUCCESS ? code : real(txn, dbi, key, value);
}

int mdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **cursor)
{
    int (*real)(MDB_txn *, MDB_dbi, MDB_cursor **);
    lmdb_find("mdb_cursor_open", &real);
    int code = lmdb_judge(LMDB_CURSOR_OPEN);
    return code != MDB_SUCCESS ? code : real(txn, dbi, cursor);
}

int mdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op operation)
{
    int (*real)(MDB_cursor *, MDB_val *, MDB_val *, MDB_cursor_op);
    lmdb_find("mdb_cursor_get", &real);
    int code = lmdb_judge(operation == MDB_SET ? LMDB_CURSOR_SET : LMDB_CURSOR_GET);
    return code != MDB_SUCCESS ? code : real(cursor, key, value, operation);
}

#pragma GCC visibility pop

#endif
