#include "lmdb/create.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/network.h"
#include "lmdb/file/temporary.h"
#include "lmdb/map.h"
#include "lmdb/opening.h"
#include "lmdb/page/format.h"
#include "lmdb/page/page.h"

/*
 * LMDB keeps the list of free pages in records whose keys must be smaller than the number of the
 * oldest commit in use. With small numbers a long list becomes a few records of many contiguous
 * pages, and every later commit searches for such a run: 152 ms instead of 0.05 ms after a mass
 * delete in a store of 4 GB. So the commits of a new store begin at some thousands. The number
 * before the first is odd, because it is written to meta page 1.
 */
enum { COMMIT_BEFORE_THE_FIRST = 4095 };

enum { MAP_SIZE_WHILE_PREPARING = 1 << 20, PRIVATE_MODE = 0600 };

static int put_meta_record(MDB_txn *txn, MDB_dbi dbi, pt_slice key, const void *bytes, size_t size)
{
    MDB_val mdb_key = pt_lmdb_val(key);
    MDB_val value = pt_lmdb_val(pt_slice_of(bytes, size));
    return mdb_put(txn, dbi, &mdb_key, &value, 0);
}

static int put_empty_state(pt_lmdb_env *env, MDB_txn *txn)
{
    uint8_t bytes[PT_FORMAT_LOGGED_STATE_SIZE];
    pt_format_state state = {.version = mdb_txn_id(txn), .next_table_id = 1};
    size_t size = pt_format_write_state(&state, bytes);
    return put_meta_record(txn, env->meta, pt_format_state_key(), bytes, size);
}

static int put_first_records(pt_lmdb_env *env, MDB_txn *txn)
{
    uint8_t header[PT_FORMAT_HEADER_SIZE];
    pt_format_write_header(header);
    int mdb_rc = pt_lmdb_env_open_databases(env, txn, MDB_CREATE);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_meta_record(txn, env->meta, pt_format_header_key(), header, sizeof header);
    }
    return mdb_rc;
}

static int commit_empty_state(pt_lmdb_env *env, bool first)
{
    MDB_txn *txn;
    int mdb_rc = mdb_txn_begin(env->env, NULL, 0, &txn);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    if (first) {
        mdb_rc = put_first_records(env, txn);
    }
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = put_empty_state(env, txn);
    }
    if (mdb_rc != MDB_SUCCESS) {
        mdb_txn_abort(txn);
        return mdb_rc;
    }
    return mdb_txn_commit(txn);
}

/* Opens an environment of ours that nobody else knows yet; closed again on failure. */
static int open_unshared(pt_lmdb_env *env, const char *path, size_t map_size, unsigned flags)
{
    MDB_stat stat;
    *env = (pt_lmdb_env){0};
    int mdb_rc = pt_lmdb_env_create(env, map_size);
    if (mdb_rc == MDB_SUCCESS) {
        flags |= MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC;
        mdb_rc = mdb_env_open(env->env, path, flags, PRIVATE_MODE);
        if (mdb_rc == MDB_INVALID) {
            /* Not a foreign lock file, as nobody else knows ours: LMDB could not take its first
             * lock, took the file for another process's, and found it empty. */
            mdb_rc = EAGAIN;
        }
    }
    if (mdb_rc != MDB_SUCCESS) {
        pt_lmdb_env_close(env);
        return mdb_rc;
    }
    mdb_env_stat(env->env, &stat);
    env->page_size = stat.ms_psize;
    return MDB_SUCCESS;
}

/* Writes the number of the last commit into meta page 1 of an empty environment. */
static int number_commits(const pt_lmdb_env *env)
{
    mdb_filehandle_t fd;
    uint8_t number[sizeof(uint64_t)];
    pt_put_le64(number, COMMIT_BEFORE_THE_FIRST);
    mdb_env_get_fd(env->env, &fd);
    ssize_t written =
        pwrite(fd, number, sizeof number, (off_t)env->page_size + PT_LMDB_META_COMMIT_AT);
    return written == (ssize_t)sizeof number ? MDB_SUCCESS : EIO;
}

/* The second commit repeats the first, so that both meta pages lead to a whole store. */
static int fill(pt_lmdb_env *env)
{
    int mdb_rc = commit_empty_state(env, true);
    return mdb_rc == MDB_SUCCESS ? commit_empty_state(env, false) : mdb_rc;
}

/*
 * Opens a new environment at `path` and fills it; closed again on failure. LMDB reads the number of
 * the last commit when it opens an environment, so this one is opened a second time.
 */
static int prepare(pt_lmdb_env *env, const char *path, size_t map_size, unsigned flags)
{
    int mdb_rc = open_unshared(env, path, map_size, flags);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = number_commits(env);
    if (mdb_rc == MDB_SUCCESS) {
        pt_lmdb_env_close(env);
        mdb_rc = open_unshared(env, path, map_size, flags);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
        mdb_rc = fill(env);
    }
    if (mdb_rc != MDB_SUCCESS) {
        mdb_rc = pt_lmdb_env_write_problem(env, mdb_rc);
        pt_lmdb_env_close(env);
    }
    return mdb_rc;
}

/* --- Files --- */

int pt_lmdb_create_in(pt_lmdb_env *env, const char *name, size_t map_size)
{
    return prepare(env, name, map_size, MDB_NOLOCK);
}

static int fill_file(const char *name)
{
    pt_lmdb_env env;
    int mdb_rc = pt_lmdb_create_in(&env, name, MAP_SIZE_WHILE_PREPARING);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_env_sync(env.env, 1);
        pt_lmdb_env_close(&env);
    }
    return mdb_rc;
}

static int fail_creating(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case ENOENT:
    case ENOTDIR:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be created: its folder does not exist; create it "
                            "first, or name another",
                            path);
    case EACCES:
    case EPERM:
    case EROFS:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be created: %s; ask for write permission on its "
                            "folder, or name another",
                            path, strerror(problem));
    case ELOOP:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be created: its path has a circle of symbolic links; "
                            "delete one of them, or name another",
                            path);
    case ENAMETOOLONG:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be created: its name is too long, as it must leave "
                            "room for the names of temporary files; choose a shorter one",
                            path);
    default:
        return pt_lmdb_fail(error, problem, path, "creating it");
    }
}

/* Sets *found if the file exists, and then *permissions. Returns 0 or errno. */
static int look_at_file(const char *path, pt_lmdb_permissions *permissions, bool *found)
{
    int problem = pt_lmdb_read_permissions(-1, path, permissions);
    *found = problem == 0;
    return problem == ENOENT || problem == ENOTDIR ? 0 : problem;
}

int pt_lmdb_create_file(const char *path, const char *like, pt_error *error)
{
    pt_lmdb_temporary temporary;
    pt_lmdb_permissions file;
    bool exists;
    bool has_like = false;
    int problem = look_at_file(path, &file, &exists);
    if (exists) {
        return SQLITE_OK;
    }
    int rc = pt_lmdb_fill_descriptors(path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (problem == 0 && like != NULL) {
        problem = look_at_file(like, &file, &has_like);
    }
    if (problem == 0) {
        problem = pt_lmdb_temporary_make(path, has_like ? &file : NULL, &temporary);
    }
    if (problem != 0) {
        return fail_creating(error, path, problem);
    }
    rc = pt_lmdb_check_network(temporary.fd, path, error);
    if (rc != SQLITE_OK) {
        pt_lmdb_temporary_close(&temporary);
        return rc;
    }
    /* Filled before it gets its name: no process sees, and no crash leaves, half a store. */
    problem = fill_file(temporary.name);
    if (problem == 0) {
        problem = pt_lmdb_temporary_publish(&temporary, path);
    }
    if (problem == EEXIST) {
        problem = pt_lmdb_sync_folder(path); /* its maker may have died before syncing it */
    }
    pt_lmdb_temporary_close(&temporary);
    return problem == 0 ? SQLITE_OK : fail_creating(error, path, problem);
}

/* --- Private stores --- */

/* Opens an environment on a private store's file, which has the name `file` until this returns.
 * Returns LMDB's code or errno. */
typedef int (*private_work)(pt_lmdb_env *env, const char *file);

static int create_nameless(pt_lmdb_env *env, const char *file)
{
    return prepare(env, file, pt_lmdb_map_size(0), 0);
}

static int open_handles(pt_lmdb_env *env)
{
    MDB_txn *txn;
    int mdb_rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = pt_lmdb_env_open_databases(env, txn, 0);
    if (mdb_rc != MDB_SUCCESS) {
        mdb_txn_abort(txn);
        return mdb_rc;
    }
    return mdb_txn_commit(txn);
}

/* The file has no name any more, so it is opened by a link to its open descriptor. */
static int open_nameless(pt_lmdb_env *env, const char *file, size_t map_size)
{
    int fd;
    char link[32];
    pt_lmdb_env opened;
    mdb_env_get_fd(env->env, &fd);
    sqlite3_snprintf((int)sizeof link, link, "/proc/self/fd/%d", fd);
    if (symlink(link, file) != 0) {
        return errno;
    }
    int mdb_rc = open_unshared(&opened, file, map_size, 0);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = open_handles(&opened);
        pt_lmdb_env_close(mdb_rc == MDB_SUCCESS ? env : &opened); /* both have the file open */
    }
    if (mdb_rc == MDB_SUCCESS) {
        *env = opened;
    }
    return mdb_rc;
}

/* For a second map, at least as large as the first; 0 if there is no room for both. */
static size_t size_of_second_map(const pt_lmdb_env *env)
{
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    return pt_lmdb_map_size(info.me_mapsize);
}

static int open_nameless_anyway(pt_lmdb_env *env, const char *file)
{
    size_t map_size = size_of_second_map(env);
    return open_nameless(env, file, map_size != 0 ? map_size : pt_lmdb_map_size(0));
}

static int open_nameless_with_same_room(pt_lmdb_env *env, const char *file)
{
    size_t map_size = size_of_second_map(env);
    return map_size != 0 ? open_nameless(env, file, map_size) : ENOMEM;
}

static int work_in_private_folder(pt_lmdb_env *env, private_work work, const char *doing,
                                  pt_error *error)
{
    int rc = pt_lmdb_fill_descriptors("(private)", error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    char *folder = pt_lmdb_temporary_folder(error);
    if (folder == NULL) {
        return error->rc;
    }
    int mdb_rc = ENOMEM;
    char *file = sqlite3_mprintf("%s/store", folder);
    char *lock_file = sqlite3_mprintf("%s/store-lock", folder);
    if (file != NULL && lock_file != NULL) {
        rc = pt_lmdb_lock_file_prepare(file, -1, error);
        mdb_rc = rc == SQLITE_OK ? work(env, file) : MDB_SUCCESS;
        /* LMDB has both files open. Without names they vanish with the process, however it ends. */
        unlink(file);
        unlink(lock_file);
    }
    rmdir(folder);
    sqlite3_free(lock_file);
    sqlite3_free(file);
    sqlite3_free(folder);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, "(private)", doing);
    }
    return pt_lmdb_finish_opening(env, "(private)", error);
}

int pt_lmdb_create_private(pt_lmdb_env *env, pt_error *error)
{
    return work_in_private_folder(env, create_nameless, "creating it", error);
}

int pt_lmdb_reopen_private(pt_lmdb_env *env, bool with_same_room, pt_error *error)
{
    return work_in_private_folder(
        env, with_same_room ? open_nameless_with_same_room : open_nameless_anyway,
        "opening it again", error);
}
