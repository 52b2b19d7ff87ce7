#include "lmdb/file/lock_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/foreign_files.h"
#include "lmdb/file/permissions.h"

/*
 * The kernel releases the locks of a process that ends one after the other, the store's last; on a
 * busy machine that can take long. But its lock file stays, so if there is none we need not wait
 * that long (handle_difference). We look at least so often, and for at least so many ms.
 */
enum { LOOKS = 50, LOOKING_MS = 50, LOOKING_AT_ENDING_MS = 3000 };

/* A lock file begins with a magic number and the number of its format. A mutex follows them,
 * another begins the second cache line, and the reader table is never before the third. */
enum { NUMBERS_SIZE = 8, CACHE_LINE = 64, LOCK_FILE_MODE = 0600 };
static const size_t MUTEX_AT[] = {NUMBERS_SIZE, CACHE_LINE};
enum { MUTEXES = sizeof MUTEX_AT / sizeof MUTEX_AT[0], LEAST_SIZE = 3 * CACHE_LINE };
static const uint32_t LOCK_MAGIC = 0xBEEFC0DE;

char *pt_lmdb_lock_file_of(const char *path)
{
    return sqlite3_mprintf("%s-lock", path);
}

/*
 * LMDB writes to the lock file through a map, and writing to a page for which the disk has no room
 * kills the process. So the room is allocated here, if the file system can do that. A lock file
 * that exists keeps its size, as its users have mapped no more. If the disk is full, it will do as
 * long as it has its first page.
 */
static int allocate_room(int fd, const char *name, pt_error *error)
{
    struct stat file;
    if (fstat(fd, &file) != 0) {
        return SQLITE_OK;
    }
    off_t size = file.st_size > 0 ? file.st_size : PT_LMDB_LOCK_FILE_SIZE;
    int result;
    do {
        result = fallocate(fd, 0, 0, size);
    } while (result != 0 && errno == EINTR);
    int problem = result == 0 ? 0 : errno;
    return (problem == ENOSPC || problem == EDQUOT) && file.st_blocks == 0
               ? pt_lmdb_fail(error, problem, name, "making this lock file")
               : SQLITE_OK;
}

int pt_lmdb_lock_file_problem(void)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit.rlim_cur < PT_LMDB_LOCK_FILE_SIZE ? EFBIG : 0;
}

/* --- The file of that name --- */

static int refuse_as_lock_file(pt_error *error, const char *name, const char *what)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "file %Q has the name of the store's lock file, but %s; move it away, "
                        "or use another store",
                        name, what);
}

/* There is at least one. */
static bool are_zeros(const uint8_t *bytes, size_t size)
{
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

/* Sets the bytes of a mutex that LMDB has just made. False if none can be made here. */
static bool make_mutex(uint8_t bytes[sizeof(pthread_mutex_t)])
{
    pthread_mutex_t mutex;
    pthread_mutexattr_t attributes;
    memset(&mutex, 0, sizeof mutex);
    if (pthread_mutexattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                pthread_mutex_init(&mutex, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    if (made) {
        memcpy(bytes, &mutex, sizeof mutex);
        pthread_mutex_destroy(&mutex);
    }
    return made;
}

/* Replaces the mutexes in the first bytes of a lock file by zeros. */
static void erase_mutexes(uint8_t *start)
{
    uint8_t mutex[sizeof(pthread_mutex_t)];
    bool made = make_mutex(mutex);
    for (size_t i = 0; made && i < MUTEXES; i++) {
        if (memcmp(start + MUTEX_AT[i], mutex, sizeof mutex) == 0) {
            memset(start + MUTEX_AT[i], 0, sizeof mutex);
        }
    }
}

/* pread(), for as many bytes as the file has. Returns -1 and sets errno on failure. */
static ssize_t read_at(int fd, uint8_t *bytes, size_t size, size_t at)
{
    size_t had = 0;
    ssize_t got;
    do {
        got = pread(fd, bytes + had, size - had, (off_t)(at + had));
        had += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && had < size) || (got < 0 && errno == EINTR));
    return got < 0 ? -1 : (ssize_t)had;
}

/*
 * LMDB makes a lock file of its full size, then the mutexes in it, and writes the two numbers last.
 * A process that ends before that leaves a file of zeros, but for the mutexes. A power failure may
 * leave a file of the full size with any part of its content. Sets *lock_file if `fd` is such a
 * file, or has the numbers, or is empty. Returns 0 or errno.
 */
static int look_at_content(int fd, bool *lock_file)
{
    uint8_t bytes[4096];
    struct stat file = {0};
    size_t size = 0;
    ssize_t got = read_at(fd, bytes, sizeof bytes, 0);
    *lock_file =
        got == 0 || (got >= NUMBERS_SIZE && memcmp(bytes, &LOCK_MAGIC, sizeof LOCK_MAGIC) == 0);
    if (got < LEAST_SIZE || *lock_file) {
        return got < 0 ? errno : 0;
    }
    if (are_zeros(bytes, NUMBERS_SIZE) && fstat(fd, &file) == 0 &&
        file.st_size == PT_LMDB_LOCK_FILE_SIZE) {
        *lock_file = true;
        return 0;
    }
    erase_mutexes(bytes);
    while (got > 0 && are_zeros(bytes, (size_t)got)) {
        size += (size_t)got;
        if (size > PT_LMDB_LOCK_FILE_SIZE) {
            return 0;
        }
        got = read_at(fd, bytes, sizeof bytes, size);
    }
    *lock_file = got == 0;
    return got < 0 ? errno : 0;
}

/* `name` is an entry of /proc/self/fd, which is a link to the descriptor's file. */
static bool is_descriptor_of(DIR *descriptors, const char *name, const struct stat *file)
{
    struct stat other;
    return fstatat(dirfd(descriptors), name, &other, 0) == 0 && other.st_dev == file->st_dev &&
           other.st_ino == file->st_ino;
}

/* True if another copy of the extension, or LMDB without it, has the file open in this process. Not
 * asked in a child process, where inherited descriptors that nothing uses would count. */
static bool is_open_here(const struct stat *file)
{
    bool found = false;
    DIR *descriptors = atomic_load(&pt_lmdb_fork_count) == 0 ? opendir("/proc/self/fd") : NULL;
    if (descriptors == NULL) {
        return false;
    }
    for (const struct dirent *entry; !found && (entry = readdir(descriptors)) != NULL;) {
        found = is_descriptor_of(descriptors, entry->d_name, file);
    }
    closedir(descriptors);
    return found;
}

/*
 * The store is not open, so our LMDB does not have the file open. But it may be some other file
 * that this process uses, and then closing a descriptor of it would drop the locks on it.
 */
static int check_content(const char *name, const struct stat *file, pt_error *error)
{
    bool is_lock_file;
    bool writable = false;
    pt_lmdb_owned owned;
    if (!pt_lmdb_foreign_take(name, &owned, &writable)) {
        if (is_open_here(file)) {
            return pt_error_set(error, SQLITE_CANTOPEN,
                                "lock file %Q is in use in this process, by another copy of the "
                                "extension or by LMDB without it; close the store there, or load "
                                "one copy only",
                                name);
        }
        const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
        if (pt_lmdb_open_owned(name, O_RDWR | flags, 0, &owned) != 0 &&
            pt_lmdb_open_owned(name, O_RDONLY | flags, 0, &owned) != 0) {
            return SQLITE_OK;
        }
    }
    int problem = look_at_content(owned.fd, &is_lock_file);
    if (problem != 0 || !is_lock_file) {
        pt_lmdb_foreign_keep(&owned, writable);
        return problem != 0 ? pt_lmdb_fail(error, problem, name, "reading this lock file")
                            : refuse_as_lock_file(error, name, "its content is something else");
    }
    int rc = allocate_room(owned.fd, name, error);
    pt_lmdb_close_owned(&owned);
    return rc;
}

static int check_existing(const char *name, pt_error *error)
{
    struct stat file;
    if (lstat(name, &file) != 0) {
        return SQLITE_OK;
    }
    if (!S_ISREG(file.st_mode)) {
        return refuse_as_lock_file(error, name,
                                   S_ISLNK(file.st_mode) ? "is a link" : "is not a regular file");
    }
    if (file.st_nlink > 1) {
        return refuse_as_lock_file(error, name, "has another name too");
    }
    return check_content(name, &file, error);
}

/* SQLITE_OK for a file that cannot be made: LMDB reports it. */
static int make_or_check(const char *lock_file, int store, pt_error *error)
{
    int fd = open(lock_file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, LOCK_FILE_MODE);
    if (fd < 0) {
        return errno == EEXIST ? check_existing(lock_file, error) : SQLITE_OK;
    }
    pt_lmdb_permissions like;
    if (store >= 0 && pt_lmdb_read_permissions(store, NULL, &like) == 0) {
        pt_lmdb_copy_permissions(fd, &like);
    }
    int rc = allocate_room(fd, lock_file, error);
    close(fd);
    return rc;
}

int pt_lmdb_lock_file_prepare(const char *path, int store, pt_error *error)
{
    char *lock_file = pt_lmdb_lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    int rc = make_or_check(lock_file, store, error);
    sqlite3_free(lock_file);
    return rc;
}

/* --- Its users --- */

/* LMDB has an fcntl() lock on the first byte of a lock file for each process that uses it. Returns
 * 0 or errno. */
static int look_for_users(const char *lock_file, bool *used)
{
    *used = false;
    int fd = open(lock_file, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT ? 0 : errno;
    }
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int problem = fcntl(fd, F_GETLK, &lock) == 0 ? 0 : errno;
    *used = problem == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return problem;
}

/* Counts one look. True if another one is worth it. */
static bool may_look_again(pt_lmdb_patience *patience, bool is_ending)
{
    if (patience->looks == 0) {
        patience->end = pt_deadline_in(LOOKING_MS);
        patience->end_of_ending = pt_deadline_in(LOOKING_AT_ENDING_MS);
    }
    patience->looks++;
    pt_deadline end = is_ending ? patience->end_of_ending : patience->end;
    return patience->looks < LOOKS || !pt_deadline_has_passed(end);
}

/* Either the store's file has users and the lock file has none, or the reverse. */
static int handle_difference(const char *path, const char *lock_file, bool file_used,
                             pt_lmdb_patience *patience, pt_error *error)
{
    /* If the lock file is there, a process may be ending: the kernel has released its lock on the
     * lock file, and not yet the one on the store's file. */
    if (may_look_again(patience, file_used && access(lock_file, F_OK) == 0)) {
        return pt_error_set(error, SQLITE_BUSY,
                            "store %Q is being opened or closed by another process; try again",
                            path);
    }
    if (file_used) {
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q is open in another process that does not use its lock file "
                            "%Q: the lock file was deleted or emptied, or the store is open there "
                            "under another name; close it there first",
                            path, lock_file);
    }
    /* The users of another store's file keep it open without its name. */
    unlink(lock_file);
    return SQLITE_OK;
}

static int check_users(const char *path, const char *lock_file, int fd, pt_lmdb_patience *patience,
                       pt_error *error)
{
    bool file_used;
    bool lock_file_used;
    int problem = pt_lock_look(fd, PT_LOCK_PRESENCE, &file_used);
    if (problem == 0) {
        problem = look_for_users(lock_file, &lock_file_used);
    }
    if (problem != 0) {
        pt_lmdb_fail(error, problem, path, "checking which processes use its lock file");
        error->rc = error->rc == SQLITE_READONLY ? SQLITE_CANTOPEN : error->rc;
        return error->rc;
    }
    return file_used == lock_file_used
               ? SQLITE_OK
               : handle_difference(path, lock_file, file_used, patience, error);
}

int pt_lmdb_lock_file_check(const char *path, int fd, pt_lmdb_patience *patience, pt_error *error)
{
    char *lock_file = pt_lmdb_lock_file_of(path);
    if (lock_file == NULL) {
        return pt_error_nomem(error);
    }
    /* First: check_users() closes a descriptor of the file, which would drop this process's locks
     * on it if it were some other file. */
    int rc = check_existing(lock_file, error);
    if (rc == SQLITE_OK) {
        rc = check_users(path, lock_file, fd, patience, error);
    }
    sqlite3_free(lock_file);
    return rc;
}

pt_lmdb_file_id pt_lmdb_lock_file_identify(const char *path)
{
    struct stat file;
    char lock_file[PATH_MAX + sizeof "-lock"]; /* a longer one cannot be open */
    sqlite3_snprintf((int)sizeof lock_file, lock_file, "%s-lock", path);
    bool usable = lstat(lock_file, &file) == 0 &&
                  faccessat(AT_FDCWD, lock_file, R_OK | W_OK, AT_EACCESS) == 0;
    return usable ? (pt_lmdb_file_id){.device = file.st_dev, .inode = file.st_ino}
                  : (pt_lmdb_file_id){0};
}

void pt_lmdb_lock_file_remove(const char *path)
{
    char *lock_file = pt_lmdb_lock_file_of(path);
    if (lock_file != NULL) {
        unlink(lock_file);
    }
    sqlite3_free(lock_file);
}
