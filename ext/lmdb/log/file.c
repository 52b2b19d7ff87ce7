#include "lmdb/log/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/seal.h"
#include "base/sqlite.h"
#include "lmdb/file/foreign_files.h"
#include "lmdb/file/permissions.h"
#include "lmdb/file/temporary.h"

enum { HEADER_SIZE = 4096, ID_AT = 8, SEAL_AT = HEADER_SIZE - PT_SEAL_SIZE };
enum { LOG_MODE_AT_FIRST = 0600 };

static const uint8_t LOG_MAGIC[ID_AT] = {'p', 't', 'l', 'o', 'g', 0, 0, 1};

/* --- Files beside a store's file --- */

static int open_log_file(const char *name, int flags, pt_lmdb_owned *file)
{
    bool writable;
    struct stat found;
    if (lstat(name, &found) != 0) {
        return errno;
    }
    if (!S_ISREG(found.st_mode) || found.st_nlink > 1) {
        return EMLINK;
    }
    /* One that has turned out to be another file before: only one descriptor of it stays open. */
    if (pt_lmdb_foreign_take(name, file, &writable)) {
        return 0;
    }
    return pt_lmdb_open_owned(name, flags, 0, file);
}

static int make_new(const char *name, int flags, int store, pt_lmdb_owned *file)
{
    pt_lmdb_permissions like;
    int problem = pt_lmdb_open_owned(name, flags | O_CREAT | O_EXCL, LOG_MODE_AT_FIRST, file);
    if (problem != 0) {
        return problem;
    }
    problem = pt_lmdb_read_permissions(store, NULL, &like);
    if (problem == 0) {
        problem = pt_lmdb_copy_permissions(file->fd, &like);
    }
    if (problem != 0) {
        unlink(name);
        pt_lmdb_close_owned(file);
    }
    return problem;
}

int pt_log_open_beside(const char *path, const char *suffix, int flags, int store,
                       pt_lmdb_owned *file)
{
    const int always = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int access = flags & O_ACCMODE;
    if (access != O_RDONLY) {
        pt_error ignored = PT_ERROR_NONE;
        int rc = pt_lmdb_fill_descriptors(path, &ignored);
        pt_error_clear(&ignored);
        if (rc != SQLITE_OK) {
            return rc == SQLITE_NOMEM ? ENOMEM : EBADF;
        }
    }
    char *name = sqlite3_mprintf("%s%s", path, suffix);
    if (name == NULL) {
        return ENOMEM;
    }
    bool must_be_new = (flags & O_EXCL) != 0;
    int problem = must_be_new ? ENOENT : open_log_file(name, access | always, file);
    if (problem == ENOENT && (flags & O_CREAT) != 0) {
        problem = make_new(name, access | always, store, file);
    }
    sqlite3_free(name);
    return problem;
}

/* --- Bytes --- */

static int read_log_bytes(int fd, off_t at, uint8_t *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        ssize_t part = pread(fd, bytes + *got, size - *got, at + (off_t)*got);
        if (part < 0 && errno != EINTR) {
            return errno;
        }
        if (part == 0) {
            break;
        }
        *got += part > 0 ? (size_t)part : 0;
    }
    return 0;
}

static int write_log_bytes(int fd, off_t at, const uint8_t *bytes, size_t size)
{
    while (size != 0) {
        ssize_t part = pwrite(fd, bytes, size, at);
        if (part < 0 && errno == EINTR) {
            continue;
        }
        if (part <= 0) {
            return part < 0 ? errno : EIO;
        }
        bytes += part;
        at += part;
        size -= (size_t)part;
    }
    return 0;
}

int pt_log_file_read(int fd, uint32_t at, uint8_t *bytes, size_t size, size_t *got)
{
    return read_log_bytes(fd, HEADER_SIZE + (off_t)at, bytes, size, got);
}

int pt_log_file_write(int fd, uint32_t at, pt_slice record)
{
    return write_log_bytes(fd, HEADER_SIZE + (off_t)at, record.data, record.size);
}

int pt_log_file_flush(int fd)
{
    return fdatasync(fd) == 0 ? 0 : errno;
}

/*
 * Not by stat: on newer kernels that asks for the times, too, and a file whose times have been
 * asked for gets new ones with its next write. That makes the flush after it a third longer.
 */
static pt_lmdb_file_id look_at_log(int folder, const char *name, int flags, uint64_t *size)
{
    struct statx file;
    if (statx(folder, name, flags, STATX_INO | STATX_SIZE, &file) != 0) {
        return (pt_lmdb_file_id){0};
    }
    *size = file.stx_size;
    return (pt_lmdb_file_id){.device = makedev(file.stx_dev_major, file.stx_dev_minor),
                             .inode = file.stx_ino};
}

pt_lmdb_file_id pt_log_file_identify(int fd)
{
    uint64_t size;
    return look_at_log(fd, "", AT_EMPTY_PATH, &size);
}

bool pt_log_file_is_whole(const char *name, pt_lmdb_file_id file)
{
    uint64_t size = 0;
    pt_lmdb_file_id named = look_at_log(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, &size);
    return named.device == file.device && named.inode == file.inode &&
           size >= HEADER_SIZE + PT_LOG_ROOM;
}

int pt_log_file_void(int fd, uint32_t at)
{
    static const uint8_t nothing[PT_LOG_RECORD_HEADER];
    return pt_log_file_write(fd, at, pt_slice_of(nothing, sizeof nothing));
}

/* --- The header --- */

static pt_slice seal_key(void)
{
    return pt_slice_of(LOG_MAGIC, sizeof LOG_MAGIC);
}

static int write_log_header(int fd, uint64_t id)
{
    uint8_t header[HEADER_SIZE] = {0};
    memcpy(header, LOG_MAGIC, sizeof LOG_MAGIC);
    pt_put_le64(header + ID_AT, id);
    pt_seal(seal_key(), header, sizeof header);
    return write_log_bytes(fd, 0, header, sizeof header);
}

static bool is_zeros(const uint8_t *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* EEXIST if the file is no log. ENODATA if it may be one whose maker died: the header is what comes
 * first, but a power failure may have left zeros instead of any sectors of it, also of the first
 * and not of the last, which has the seal. Also if it has the id 0, which no log has: whoever looks
 * for any log asks for that. */
static int read_log_header(int fd, uint64_t *id)
{
    uint8_t header[HEADER_SIZE];
    pt_slice content;
    size_t got;
    int problem = read_log_bytes(fd, 0, header, sizeof header, &got);
    if (problem != 0) {
        return problem;
    }
    if (is_zeros(header, got < SEAL_AT ? got : SEAL_AT)) {
        return ENODATA;
    }
    if (got < sizeof LOG_MAGIC || memcmp(header, LOG_MAGIC, sizeof LOG_MAGIC) != 0) {
        return EEXIST;
    }
    if (got < sizeof header ||
        !pt_unseal(seal_key(), pt_slice_of(header, sizeof header), &content)) {
        return ENODATA;
    }
    *id = pt_get_le64(header + ID_AT);
    return *id != 0 ? 0 : ENODATA;
}

/* --- Making, opening, removing --- */

/* True if this process may not make a file so large: trying to would kill it (SIGXFSZ). */
static bool exceeds_limit(void)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    getrlimit(RLIMIT_FSIZE, &limit);
    return limit.rlim_cur < HEADER_SIZE + PT_LOG_ROOM;
}

static int fill_log(int fd)
{
    static const uint8_t zeros[1 << 16];
    int problem = posix_fallocate(fd, 0, HEADER_SIZE + PT_LOG_ROOM);
    for (off_t at = 0; problem == 0 && at < PT_LOG_ROOM; at += (off_t)sizeof zeros) {
        problem = write_log_bytes(fd, HEADER_SIZE + at, zeros, sizeof zeros);
    }
    return problem;
}

static int new_id(uint64_t *id)
{
    do {
        if (getrandom(id, sizeof *id, 0) != (ssize_t)sizeof *id) {
            return EIO;
        }
    } while (*id == 0); /* in the state, 0 says that there is no log */
    return 0;
}

int pt_log_file_make(const char *path, int store, uint64_t *id, pt_lmdb_owned *file)
{
    pt_log_file_remove(path, 0);
    int problem = new_id(id);
    if (problem == 0) {
        problem = pt_log_open_beside(path, "-log", O_RDWR | O_CREAT | O_EXCL, store, file);
    }
    if (problem != 0) {
        return problem;
    }
    problem = exceeds_limit() ? EFBIG : write_log_header(file->fd, *id);
    if (problem == 0) {
        problem = fill_log(file->fd);
    }
    if (problem == 0 && fsync(file->fd) != 0) {
        problem = errno;
    }
    if (problem == 0) {
        problem = pt_lmdb_sync_folder(path);
    }
    if (problem != 0) {
        pt_lmdb_close_owned(file);
        pt_log_remove_beside(path, "-log");
    }
    return problem;
}

int pt_log_file_open(const char *path, uint64_t id, bool writable, pt_lmdb_owned *file)
{
    uint64_t found = 0;
    int problem = pt_log_open_beside(path, "-log", writable ? O_RDWR : O_RDONLY, -1, file);
    if (problem != 0) {
        return problem;
    }
    problem = read_log_header(file->fd, &found);
    if (problem == EEXIST) {
        /* It may be a file that this process uses for something else: closing a descriptor of it
         * would drop the locks on it. */
        pt_lmdb_foreign_keep(file, writable);
        return problem;
    }
    if (problem == 0 && found != id) {
        problem = ESTALE;
    }
    if (problem != 0) {
        pt_lmdb_close_owned(file);
    }
    return problem;
}

bool pt_log_remove_beside(const char *path, const char *suffix)
{
    char *name = sqlite3_mprintf("%s%s", path, suffix);
    if (name == NULL) {
        return false;
    }
    unlink(name);
    sqlite3_free(name);
    return true;
}

bool pt_log_file_remove(const char *path, uint64_t id)
{
    pt_lmdb_owned file = {.fd = -1};
    int problem = pt_log_file_open(path, id, false, &file);
    bool is_log = id == 0 ? problem == ESTALE || problem == ENODATA : problem == 0;
    if (problem == 0) {
        pt_lmdb_close_owned(&file);
    }
    return is_log ? pt_log_remove_beside(path, "-log") : problem != ENOMEM;
}
