#include "lmdb/env.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/guards.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/map.h"
#include "lmdb/page/format.h"
#include "lmdb/page/verify_on_open.h"

enum {
    LOOKS_AT_SIZE = 20,
    BEGIN_TRIES = 64,
    FEW_PAGES = 64,         /* a disk with less room is full */
    META_MAGIC_OFFSET = 16, /* in LMDB's first page: page header, then its magic and version */
};

static const uint8_t LMDB_MAGIC[4] = {0xDE, 0xC0, 0xEF, 0xBE};

static int fail_foreign(pt_error *error, const char *path, const char *what)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "file %Q is not a ptable store (%s); name another file, or move this one "
                        "away to have a store created in its place",
                        path, what);
}

static int fail_truncated(pt_error *error, const char *path)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q is truncated: part of the file is missing; restore it from a "
                        "backup",
                        path);
}

int pt_lmdb_check_kind(const struct stat *file, const char *path, pt_error *error)
{
    if (S_ISDIR(file->st_mode)) {
        return fail_foreign(error, path, "it is a folder");
    }
    return S_ISREG(file->st_mode) ? SQLITE_OK
                                  : fail_foreign(error, path, "it is not a regular file");
}

static int check_start(int fd, const char *path, pt_error *error)
{
    uint8_t start[META_MAGIC_OFFSET + sizeof LMDB_MAGIC] = {0};
    size_t size = 0;
    ssize_t part;
    do {
        part = pread(fd, start + size, sizeof start - size, (off_t)size);
        size += part > 0 ? (size_t)part : 0;
    } while ((part > 0 && size < sizeof start) || (part < 0 && errno == EINTR));
    if (part < 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    return memcmp(start + META_MAGIC_OFFSET, LMDB_MAGIC, sizeof LMDB_MAGIC) == 0
               ? SQLITE_OK
               : fail_foreign(error, path, "its content is something else");
}

int pt_lmdb_check_file(int fd, const char *path, struct stat *file, pt_error *error)
{
    if (fstat(fd, file) != 0) {
        return pt_lmdb_fail(error, errno, path, "opening it");
    }
    int rc = pt_lmdb_check_kind(file, path, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (file->st_size == 0) {
        return fail_foreign(error, path, "it is empty");
    }
    return check_start(fd, path, error);
}

static int open_failed(pt_error *error, const char *path, int mdb_rc)
{
    switch (mdb_rc) {
    case MDB_INVALID: /* the first pages have been looked at */
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be opened: its lock file (-lock) is not ready, or "
                            "the file was changed meanwhile; try again",
                            path);
    case MDB_VERSION_MISMATCH:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q is in use by, or was made by, another version of LMDB; close "
                            "it there first",
                            path);
    case EACCES:
    case EPERM:
    case EROFS:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q cannot be opened: %s; check the permissions of the file, of "
                            "its lock file (-lock) and of their folder",
                            path, mdb_strerror(mdb_rc));
    default:
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
}

int pt_lmdb_env_configure(pt_lmdb_env *env, size_t map_size)
{
    MDB_env *created;
    int mdb_rc = mdb_env_create(&created);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_env_set_mapsize(created, map_size);
    mdb_env_set_maxdbs(created, PT_FORMAT_DATABASES);
    mdb_env_set_maxreaders(created, PT_LMDB_READERS_MAX);
    env->env = created;
    pt_lmdb_map_enter();
    return MDB_SUCCESS;
}

static int look_at_size(const pt_lmdb_env *env, const char *path, bool *whole, pt_error *error)
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
 * Whether the file has all its pages that are in use. Others may be missing at its end
 * (lmdb/page/verify_on_open.h); while commits change them that may be hard to see, so the answer no
 * is not believed at once.
 */
static int is_whole(const pt_lmdb_env *env, const char *path, bool *whole, pt_error *error)
{
    int rc = look_at_size(env, path, whole, error);
    for (int looks = 1; (rc != SQLITE_OK || !*whole) && looks < LOOKS_AT_SIZE; looks++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        pt_error_clear(error);
        rc = look_at_size(env, path, whole, error);
    }
    return rc;
}

/* The file as LMDB opened it must be the one that was meant, and whole. */
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
    int rc = is_whole(env, path, &whole, error);
    return rc != SQLITE_OK || whole ? rc : fail_truncated(error, path);
}

static int open_database(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *dbi)
{
    unsigned order = 0;
    int mdb_rc = mdb_dbi_open(txn, name, flags, dbi);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_dbi_flags(txn, *dbi, &order);
    }
    return mdb_rc == MDB_SUCCESS && order != 0 ? MDB_INCOMPATIBLE : mdb_rc;
}

/* The database without a name. */
static int open_main(MDB_txn *txn, MDB_dbi *dbi)
{
    return open_database(txn, NULL, 0, dbi);
}

int pt_lmdb_env_open_databases(pt_lmdb_env *env, MDB_txn *txn, unsigned flags)
{
    MDB_dbi *const databases[PT_FORMAT_DATABASES] = {
        [PT_FORMAT_ENTITIES] = &env->entities,
        [PT_FORMAT_LONG_KEYS] = &env->long_keys,
        [PT_FORMAT_CHUNKS] = &env->chunks,
        [PT_FORMAT_GARBAGE] = &env->garbage,
    };
    int mdb_rc = open_main(txn, &env->meta);
    for (pt_format_database i = 0; mdb_rc == MDB_SUCCESS && i < PT_FORMAT_DATABASES; i++) {
        mdb_rc = open_database(txn, pt_format_database_name(i), flags, databases[i]);
    }
    return mdb_rc;
}

static int open_databases(pt_lmdb_env *env, MDB_txn *txn, const char *path, pt_error *error)
{
    MDB_val key = pt_lmdb_val(pt_format_header_key());
    MDB_val header;
    int mdb_rc = open_main(txn, &env->meta);
    if (mdb_rc == MDB_SUCCESS) {
        mdb_rc = mdb_get(txn, env->meta, &key, &header);
    }
    if (mdb_rc == MDB_NOTFOUND || mdb_rc == MDB_INCOMPATIBLE) {
        return fail_foreign(error, path, "another program's LMDB file");
    }
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "reading its header");
    }
    switch (pt_format_read_header(pt_lmdb_slice(header))) {
    case PT_FORMAT_FOREIGN:
        return fail_foreign(error, path, "another program's LMDB file");
    case PT_FORMAT_DAMAGED:
        return pt_error_set(error, SQLITE_CORRUPT,
                            "store %Q is damaged: its header has a wrong checksum; restore it from "
                            "a backup, or see what pt_check says",
                            path);
    case PT_FORMAT_OLDER:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q was made by an older version of ptable; open it with that, "
                            "or name another file",
                            path);
    case PT_FORMAT_NEWER:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q was made by a newer version of ptable; open it with that",
                            path);
    case PT_FORMAT_READ_ONLY:
        env->read_only = true;
        break;
    case PT_FORMAT_OURS:
        break;
    }
    mdb_rc = pt_lmdb_env_open_databases(env, txn, 0);
    if (mdb_rc == MDB_NOTFOUND || mdb_rc == MDB_INCOMPATIBLE) {
        return fail_foreign(error, path, "some of a store's parts are missing");
    }
    return mdb_rc == MDB_SUCCESS ? SQLITE_OK
                                 : pt_lmdb_fail(error, mdb_rc, path, "opening its tables");
}

/* The first reader locks the byte of the lock file that has its process's number. */
static int fail_begin(pt_error *error, const char *path, int mdb_rc)
{
    if (mdb_rc != EAGAIN) {
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
    return pt_error_set(error, SQLITE_BUSY,
                        "store %Q is open in another process of the same number, %d, as containers "
                        "have them; let them share their process numbers (docker run --pid), or "
                        "use it from one of them",
                        path, (int)getpid());
}

/* Begins a transaction whose pages have been looked at. */
static int begin_verified(const pt_lmdb_env *env, const char *path, MDB_txn **txn, pt_error *error)
{
    int fd;
    bool again = true;
    mdb_env_get_fd(env->env, &fd);
    for (int tries = 0; again && tries < BEGIN_TRIES; tries++) {
        int mdb_rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, txn);
        if (mdb_rc != MDB_SUCCESS) {
            return fail_begin(error, path, mdb_rc);
        }
        int rc = pt_lmdb_verify_version(fd, path, mdb_txn_id(*txn), &again, error);
        if (rc != SQLITE_OK || again) {
            mdb_txn_abort(*txn);
        }
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    return again ? pt_error_set(error, SQLITE_BUSY,
                                "store %Q changes too fast to be opened; try "
                                "again",
                                path)
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

static int fail_address_space(pt_error *error, const char *path, size_t needed)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q needs %lld bytes of address space, more than this process may "
                        "have; raise its limit (ulimit -v)",
                        path, (sqlite3_int64)needed);
}

int pt_lmdb_env_settle(pt_lmdb_env *env, const char *path, pt_error *error)
{
    int fd;
    mdb_env_get_fd(env->env, &fd);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return pt_lmdb_map_settle(env, path, error);
}

static int open_environment(pt_lmdb_env *env, const char *path, const struct stat *file,
                            pt_error *error)
{
    size_t map_size = pt_lmdb_map_size((size_t)file->st_size);
    if (map_size == 0) {
        return fail_address_space(error, path, (size_t)file->st_size);
    }
    int mdb_rc = pt_lmdb_env_configure(env, map_size);
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "opening it");
    }
    int rc = pt_lmdb_lock_file_prepare(path, file, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | (env->read_only ? MDB_RDONLY : 0u);
    mdb_rc = mdb_env_open(env->env, path, flags, file->st_mode & 0666);
    if (mdb_rc != MDB_SUCCESS) {
        return open_failed(error, path, mdb_rc);
    }
    mdb_reader_check(env->env, NULL);
    rc = check_opened(env, path, file, error);
    if (rc == SQLITE_OK) {
        rc = read_header(env, path, error);
    }
    return rc == SQLITE_OK ? pt_lmdb_env_settle(env, path, error) : rc;
}

int pt_lmdb_env_open(pt_lmdb_env *env, const char *path, int fd, bool writable, pt_error *error)
{
    *env = (pt_lmdb_env){.read_only = !writable};
    struct stat file;
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
        rc = open_environment(env, path, &file, error);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_env_close(env);
    }
    return rc;
}

void pt_lmdb_env_close(pt_lmdb_env *env)
{
    if (env->env != NULL) {
        mdb_env_close(env->env);
        env->env = NULL;
        pt_lmdb_map_leave();
    }
}

static bool is_disk_full(const pt_lmdb_env *env, int fd)
{
    struct statvfs disk;
    return fstatvfs(fd, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize < (uint64_t)FEW_PAGES * env->page_size;
}

/* Whether the next page would end behind what this process may write. */
static bool is_at_limit(const pt_lmdb_env *env, int fd)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    struct stat file = {0};
    getrlimit(RLIMIT_FSIZE, &limit);
    fstat(fd, &file);
    return limit.rlim_cur != RLIM_INFINITY &&
           (rlim_t)file.st_size + env->page_size > limit.rlim_cur;
}

int pt_lmdb_env_write_problem(const pt_lmdb_env *env, int mdb_rc)
{
    int fd;
    mdb_env_get_fd(env->env, &fd);
    return mdb_rc != EIO           ? mdb_rc
           : is_at_limit(env, fd)  ? EFBIG
           : is_disk_full(env, fd) ? ENOSPC
                                   : EIO;
}

int pt_lmdb_env_remap(pt_lmdb_env *env, const char *path, pt_error *error)
{
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    size_t needed = (info.me_last_pgno + 1) * env->page_size;
    size_t map_size = pt_lmdb_map_size(needed);
    if (map_size == 0) {
        return fail_address_space(error, path, needed);
    }
    int mdb_rc = mdb_env_set_mapsize(env->env, map_size);
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "making its map larger");
    }
    return pt_lmdb_map_settle(env, path, error);
}
