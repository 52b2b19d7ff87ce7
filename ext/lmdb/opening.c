#include "lmdb/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/foreign_files.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/network.h"
#include "lmdb/file/permissions.h"
#include "lmdb/file/temporary.h"
#include "lmdb/map.h"
#include "lmdb/page/format.h"
#include "lmdb/page/verify_on_open.h"

enum { SIZE_LOOKS = 20, NS_BETWEEN_LOOKS = 1000000, VERIFY_TRIES = 64 };

/* --- The file --- */

/* The one of the two files that the kernel protects from LMDB, or NULL. */
static const char *find_protected(const char *path, const char *lock_file)
{
    return pt_lmdb_is_protected(path) ? path : pt_lmdb_is_protected(lock_file) ? lock_file : NULL;
}

static int fail_without_permission(pt_error *error, const char *path, int mdb_rc)
{
    char *lock_file = pt_lmdb_lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    const char *file = mdb_rc == EACCES ? find_protected(path, lock_file) : NULL;
    if (file != NULL) {
        pt_error_set(error, SQLITE_CANTOPEN,
                     "store %Q cannot be opened: %Q belongs to another user, in a sticky folder "
                     "where others may make files, and fs.protected_regular of the kernel keeps "
                     "such a file from LMDB; move the store to a folder that is not sticky",
                     path, file);
    } else {
        pt_error_set(error, SQLITE_CANTOPEN,
                     "store %Q cannot be opened: %s; check the permissions of the file, of its "
                     "lock file (-lock) and of their folder",
                     path, mdb_strerror(mdb_rc));
    }
    sqlite3_free(lock_file);
    return error->rc;
}

static int fail_to_open(pt_error *error, const char *path, int mdb_rc)
{
    switch (mdb_rc) {
    case MDB_INVALID: /* not the data file: its first pages have been verified */
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be opened: its lock file (-lock) is not ready, or "
                            "the file has just changed; try again, and if that does not help, "
                            "close the store in all processes and delete the lock file",
                            path);
    case MDB_VERSION_MISMATCH:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q is in use by, or was made by, another version of LMDB; close "
                            "it there first",
                            path);
    case EACCES:
    case EPERM:
    case EROFS:
        return fail_without_permission(error, path, mdb_rc);
    default:
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
}

static int look_for_pages(const pt_lmdb_env *env, const char *path, bool *whole, pt_error *error)
{
    int fd;
    struct stat file;
    MDB_envinfo info;
    *whole = false;
    mdb_env_get_fd(env->env, &fd);
    mdb_env_info(env->env, &info);
    if (fstat(fd, &file) != 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    *whole = info.me_last_pgno < (size_t)file.st_size / env->page_size;
    return *whole ? SQLITE_OK : pt_lmdb_missing_pages_are_free(fd, path, whole, error);
}

/*
 * Sets *whole if the file has every page that is in use. Free pages may be missing at its end
 * (lmdb/page/verify_on_open.h). A commit of another process can make a page in use seem to be
 * missing, so a single look is not enough to call the file truncated.
 */
static int has_all_pages(const pt_lmdb_env *env, const char *path, bool *whole, pt_error *error)
{
    int rc = look_for_pages(env, path, whole, error);
    for (int looks = 1; (rc != SQLITE_OK || !*whole) && looks < SIZE_LOOKS; looks++) {
        nanosleep(&(struct timespec){.tv_nsec = NS_BETWEEN_LOOKS}, NULL);
        pt_error_clear(error);
        rc = look_for_pages(env, path, whole, error);
    }
    return rc;
}

/* LMDB has opened the file by its name: it must be the file that was checked before, and have all
 * its pages, as reading a page past the end of the file would kill the process. */
static int check_opened(pt_lmdb_env *env, const char *path, const struct stat *file,
                        pt_error *error)
{
    int fd;
    struct stat opened;
    MDB_stat stat;
    mdb_env_get_fd(env->env, &fd);
    if (fstat(fd, &opened) != 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    if (opened.st_dev != file->st_dev || opened.st_ino != file->st_ino) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q was replaced while it was being opened; try again", path);
    }
    mdb_env_stat(env->env, &stat);
    env->page_size = stat.ms_psize;
    bool whole;
    int rc = has_all_pages(env, path, &whole, error);
    return rc != SQLITE_OK || whole
               ? rc
               : pt_error_set(error, SQLITE_CANTOPEN,
                              "store %Q is truncated: part of the file is missing; restore it from "
                              "a backup",
                              path);
}

/* --- The databases --- */

int pt_lmdb_fail_older(pt_error *error, const char *path)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q was made by an older version of ptable; export its tables with "
                        "that version and insert them into a new store",
                        path);
}

int pt_lmdb_fail_newer(pt_error *error, const char *path)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q was made by a newer version of ptable; open it with that", path);
}

static int open_databases(pt_lmdb_env *env, MDB_txn *txn, const char *path, pt_error *error)
{
    MDB_val key = pt_lmdb_val(pt_format_header_key());
    MDB_val header;
    int mdb_rc = pt_lmdb_env_open_main(env, txn);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_get(txn, env->meta, &key, &header);
    }
    if (mdb_rc == MDB_NOTFOUND || mdb_rc == MDB_INCOMPATIBLE) {
        return pt_lmdb_fail_foreign(error, path, "another program's LMDB file");
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "reading its header");
    }
    switch (pt_format_read_header(pt_lmdb_slice(header))) {
    case PT_FORMAT_FOREIGN:
        return pt_lmdb_fail_foreign(error, path, "another program's LMDB file");
    case PT_FORMAT_DAMAGED:
        return pt_error_set(error, SQLITE_CORRUPT,
                            "store %Q is damaged: its header has a wrong checksum; pt_check lists "
                            "the damage; restore it from a backup",
                            path);
    case PT_FORMAT_OLDER:
        return pt_lmdb_fail_older(error, path);
    case PT_FORMAT_NEWER:
        return pt_lmdb_fail_newer(error, path);
    case PT_FORMAT_READ_ONLY:
        env->read_only = true;
        env->is_newer = true;
        break;
    case PT_FORMAT_OURS:
        break;
    }
    mdb_rc = pt_lmdb_env_open_databases(env, txn, 0);
    if (mdb_rc == MDB_NOTFOUND || mdb_rc == MDB_INCOMPATIBLE) {
        return pt_lmdb_fail_foreign(error, path, "some of a store's parts are missing");
    }
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : pt_lmdb_fail(error, mdb_rc, path, "opening its tables");
}

/* A process's first reader locks the byte of the lock file whose number is the process id. EAGAIN:
 * another process with the same id has that lock. */
static int fail_first_reader(pt_error *error, const char *path, int mdb_rc)
{
    if (mdb_rc != EAGAIN) {
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
    return pt_error_set(
        error, SQLITE_BUSY,
        "store %Q is open in another process with the same process id, %d, in another "
        "container; let the containers share process ids (docker run --pid), or "
        "use the store from one of them",
        path, (int)getpid());
}

/* Begins a read transaction and verifies the pages that will be read through it. Tries again if
 * commits have overwritten the version before the transaction could hold it. */
static int begin_verified(const pt_lmdb_env *env, const char *path, MDB_txn **txn, pt_error *error)
{
    int fd;
    bool again = true;
    mdb_env_get_fd(env->env, &fd);
    for (int tries = 0; again && tries < VERIFY_TRIES; tries++) {
        int mdb_rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, txn);
        if (mdb_rc != MDB_SUCCESS) {
            return fail_first_reader(error, path, mdb_rc);
        }
        int rc = pt_lmdb_verify_trees(fd, path, mdb_txn_id(*txn), &again, error);
        if (rc != SQLITE_OK || again) {
            mdb_txn_abort(*txn);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return again ? pt_error_set(error, SQLITE_BUSY,
                                "store %Q changes too fast to be opened; try again", path)
                 : SQLITE_OK;
}

static int read_header(pt_lmdb_env *env, const char *path, pt_error *error)
{
    MDB_txn *txn;
    int rc = begin_verified(env, path, &txn, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = open_databases(env, txn, path, error);
    if (rc != SQLITE_OK) {
        mdb_txn_abort(txn);
        return rc;
    }
    int mdb_rc = mdb_txn_commit(txn); /* keeps the handles of the sub-databases */
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK : pt_lmdb_fail(error, mdb_rc, path, "opening it");
}

/* --- Opening by links --- */

/* Gives the open files `fd` and `lock_fd` the names of a store and its lock file for the time of
 * opening them. Returns LMDB's code or errno. */
static int open_through_links(pt_lmdb_env *env, const char *folder, int fd, int lock_fd,
                              unsigned flags)
{
    enum { LINK_SIZE = 32 };
    char links[2][LINK_SIZE];
    int mdb_rc = ENOMEM;
    sqlite3_snprintf(LINK_SIZE, links[0], "/proc/self/fd/%d", fd);
    sqlite3_snprintf(LINK_SIZE, links[1], "/proc/self/fd/%d", lock_fd);
    char *file = sqlite3_mprintf("%s/store", folder);
    char *lock_file = sqlite3_mprintf("%s/store-lock", folder);
    if (file != NULL && lock_file != NULL) {
        bool linked = symlink(links[0], file) == 0 && symlink(links[1], lock_file) == 0;
        mdb_rc = linked ? mdb_env_open(env->env, file, flags, 0) : errno;
        unlink(file);
        unlink(lock_file);
    }
    sqlite3_free(lock_file);
    sqlite3_free(file);
    return mdb_rc;
}

/*
 * LMDB opens both files with O_CREAT, also if they exist. In a sticky folder where others may make
 * files, such as /tmp, fs.protected_regular makes the kernel refuse that for another user's file
 * (EACCES), although this user may write it. A link in /proc/self/fd leads to the file without its
 * folder. The lock file is opened as a mere place (O_PATH): closing a real descriptor of it would
 * drop the locks that LMDB has on it.
 */
static int open_by_links(pt_lmdb_env *env, const char *lock_file, int fd, unsigned flags)
{
    pt_lmdb_owned lock;
    pt_error ignored = PT_ERROR_NONE;
    int mdb_rc = pt_lmdb_open_owned(lock_file, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0, &lock);
    if (mdb_rc != 0) {
        return EACCES; /* there is none, and none can be made here */
    }
    char *folder = pt_lmdb_temporary_folder(&ignored);
    mdb_rc = ignored.rc == SQLITE_NOMEM ? ENOMEM : EACCES;
    if (folder != NULL) {
        mdb_rc = open_through_links(env, folder, fd, lock.fd, flags);
        rmdir(folder);
        sqlite3_free(folder);
    }
    pt_error_clear(&ignored);
    pt_lmdb_close_owned(&lock);
    return mdb_rc;
}

/* After LMDB was refused the store at `path`: opens it if that is only because of the protection.
 * Returns LMDB's code or errno. */
static int open_protected(pt_lmdb_env *env, const char *path, int fd, unsigned flags,
                          size_t map_size)
{
    int mdb_rc = EACCES;
    char *lock_file = pt_lmdb_lock_file_of(path);
    if (lock_file == NULL) {
        return ENOMEM;
    }
    if (find_protected(path, lock_file) != NULL) {
        /* An environment that could not be opened can only be closed. */
        pt_lmdb_env_close(env);
        mdb_rc = pt_lmdb_env_create(env, map_size);
        mdb_rc = mdb_rc == MDB_SUCCESS ? open_by_links(env, lock_file, fd, flags) : mdb_rc;
    }
    sqlite3_free(lock_file);
    return mdb_rc;
}

/* --- The environment --- */

int pt_lmdb_finish_opening(pt_lmdb_env *env, const char *path, pt_error *error)
{
    int fd;
    mdb_env_get_fd(env->env, &fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return pt_lmdb_map_note_place(env, path, error);
}

static int open_checked_file(pt_lmdb_env *env, const char *path, int fd, const struct stat *file,
                             pt_error *error)
{
    size_t map_size;
    int rc = pt_lmdb_map_size_for((size_t)file->st_size, path, &map_size, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    int mdb_rc = pt_lmdb_env_create(env, map_size);
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
    rc = pt_lmdb_lock_file_prepare(path, fd, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (env->read_only ? MDB_RDONLY : 0u);
    mdb_rc = mdb_env_open(env->env, path, flags, file->st_mode & 0666);
    if (mdb_rc == EACCES) {
        mdb_rc = open_protected(env, path, fd, flags, map_size);
    }
    if (mdb_rc != MDB_SUCCESS) {
        return fail_to_open(error, path, mdb_rc);
    }
    /* Readers of processes that died keep pages from being used again, and the file grows. */
    mdb_reader_check(env->env, NULL);
    rc = check_opened(env, path, file, error);
    if (rc == SQLITE_OK) {
        rc = read_header(env, path, error);
    }
    return rc == SQLITE_OK ? pt_lmdb_finish_opening(env, path, error) : rc;
}

int pt_lmdb_open_env(pt_lmdb_env *env, const char *path, int fd, bool writable, pt_error *error)
{
    *env = (pt_lmdb_env){.read_only = !writable};
    struct stat file;
    /* In this order: a file that is refused must not be changed, nor get a lock file beside it; and
     * LMDB may read only what has been verified, as damage would kill the process. */
    int rc = pt_lmdb_fill_descriptors(path, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_file(fd, path, &file, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_network(fd, path, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_verify_metas(fd, path, error);
    }
    if (rc == SQLITE_OK) {
        rc = open_checked_file(env, path, fd, &file, error);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_env_close(env);
    }
    return rc;
}
