#include "lmdb/file/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/locks.h"

#define INFIX "-new-"

enum { DIGITS = 16, NAME_TRIES = 10, MODE_OF_NEW_FILES = 0644, MODE_AT_FIRST = 0600 };

/* `path` up to its last slash, from sqlite3_malloc; NULL when out of memory. */
static char *folder_of(const char *path)
{
    size_t size = (size_t)(strrchr(path, '/') - path);
    return sqlite3_mprintf("%.*s/", (int)size, path);
}

/* --- Removing abandoned files --- */

static bool is_temporary_name(const char *name, const char *place)
{
    size_t size = strlen(place);
    if (strncmp(name, place, size) != 0 || strncmp(name + size, INFIX, strlen(INFIX)) != 0) {
        return false;
    }
    const char *digits = name + size + strlen(INFIX);
    return strlen(digits) == DIGITS && strspn(digits, "0123456789abcdef") == DIGITS;
}

/* False if the file's maker has published it in the meantime. Within a folder the inode number
 * tells files apart. */
static bool still_has_name(int fd, int folder, const char *name)
{
    struct stat own;
    struct stat named;
    return fstat(fd, &own) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_ino == named.st_ino;
}

static void remove_if_abandoned(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    /* The name is checked with the gate held: the maker can no longer publish the file. */
    if (pt_lock_take(fd, PT_LOCK_GATE, true, 0) == SQLITE_OK && still_has_name(fd, folder, name)) {
        unlinkat(folder, name, 0);
    }
    close(fd);
}

/* Only saves space, so errors are ignored. */
static void remove_abandoned(const char *path)
{
    char *name = folder_of(path);
    DIR *folder = name != NULL ? opendir(name) : NULL;
    sqlite3_free(name);
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (is_temporary_name(entry->d_name, strrchr(path, '/') + 1)) {
            remove_if_abandoned(dirfd(folder), entry->d_name);
        }
    }
    closedir(folder);
}

/* --- Making --- */

/* Takes the gate of a new file. EEXIST: another process has just taken it for an abandoned one. */
static int take_new_gate(int fd)
{
    struct stat file;
    int rc = pt_lock_take(fd, PT_LOCK_GATE, true, 0);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_BUSY ? EEXIST : errno;
    }
    return fstat(fd, &file) == 0 && file.st_nlink > 0 ? 0 : EEXIST;
}

/* Returns 0 or errno; EEXIST: try another name. */
static int make_named(const char *name, const pt_lmdb_permissions *like, pt_lmdb_temporary *made)
{
    mode_t mode = like != NULL ? MODE_AT_FIRST : MODE_OF_NEW_FILES;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
    int problem = pt_lmdb_open_owned(name, flags, mode, &made->owned);
    if (problem != 0) {
        return problem;
    }
    int fd = made->owned.fd;
    problem = take_new_gate(fd);
    if (problem == 0 && like != NULL) {
        problem = pt_lmdb_copy_permissions(fd, like);
    }
    if (problem != 0) {
        unlink(name);
        pt_lmdb_close_owned(&made->owned);
        return problem;
    }
    made->fd = fd;
    return 0;
}

int pt_lmdb_temporary_make(const char *path, const pt_lmdb_permissions *like,
                           pt_lmdb_temporary *temporary)
{
    int problem = EEXIST;
    remove_abandoned(path);
    for (int tries = 0; problem == EEXIST && tries < NAME_TRIES; tries++) {
        uint64_t noise; /* not sqlite3_randomness(), which repeats itself after fork() */
        if (getrandom(&noise, sizeof noise, 0) != (ssize_t)sizeof noise) {
            return errno;
        }
        char *name = sqlite3_mprintf("%s" INFIX "%016llx", path, (sqlite3_uint64)noise);
        if (name == NULL) {
            return ENOMEM;
        }
        *temporary = (pt_lmdb_temporary){.fd = -1};
        problem = make_named(name, like, temporary);
        if (problem == 0) {
            temporary->name = name;
            return 0;
        }
        sqlite3_free(name);
    }
    return problem;
}

/* --- Publishing and closing --- */

int pt_lmdb_sync_folder(const char *path)
{
    char *folder = folder_of(path);
    if (folder == NULL) {
        return ENOMEM;
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    sqlite3_free(folder);
    if (fd < 0) {
        return errno == EACCES ? 0 : errno; /* without read permission it cannot be synced */
    }
    /* Some file systems cannot sync a folder, and need not. */
    int problem = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return problem;
}

int pt_lmdb_temporary_publish(pt_lmdb_temporary *temporary, const char *path)
{
    /* Not rename(): link() fails if another process has made the file first. */
    if (fsync(temporary->fd) != 0 || link(temporary->name, path) != 0) {
        return errno;
    }
    unlink(temporary->name);
    sqlite3_free(temporary->name);
    temporary->name = NULL;
    /* The gate is still held, so no process has opened the file yet, and it may be taken back. */
    int problem = pt_lmdb_sync_folder(path);
    if (problem != 0) {
        unlink(path);
    }
    return problem;
}

/* True if the file has the name `path`: a file system may rename it and report a failure all the
 * same. Both names are in one folder, so the inode number is enough. */
static bool has_its_name(const pt_lmdb_temporary *temporary, const char *path)
{
    struct stat file;
    struct stat named;
    return stat(path, &named) == 0 && fstat(temporary->fd, &file) == 0 &&
           file.st_ino == named.st_ino;
}

int pt_lmdb_temporary_replace(pt_lmdb_temporary *temporary, const char *path)
{
    int problem = rename(temporary->name, path) == 0 ? 0 : errno;
    if (problem != 0 && !has_its_name(temporary, path)) {
        return problem;
    }
    sqlite3_free(temporary->name);
    temporary->name = NULL;
    return 0;
}

int pt_lmdb_temporary_take(pt_lmdb_temporary *temporary)
{
    temporary->fd = -1;
    return pt_lmdb_disown(&temporary->owned);
}

void pt_lmdb_temporary_close(pt_lmdb_temporary *temporary)
{
    if (temporary->name != NULL) {
        unlink(temporary->name);
        sqlite3_free(temporary->name);
    }
    if (temporary->fd >= 0) {
        /* Explicitly: a child may not have closed its copy of the descriptor yet. */
        pt_lock_release(temporary->fd, PT_LOCK_GATE);
        pt_lmdb_close_owned(&temporary->owned);
    }
}

/* --- Folders --- */

char *pt_lmdb_temporary_folder(pt_error *error)
{
    const char *places[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i] == NULL || places[i][0] == 0) {
            continue;
        }
        char *folder = sqlite3_mprintf("%s/ptable-XXXXXX", places[i]);
        if (folder == NULL) {
            pt_error_nomem(error);
            return NULL;
        }
        if (mkdtemp(folder) != NULL) {
            return folder;
        }
        sqlite3_free(folder);
    }
    pt_error_set(error, SQLITE_CANTOPEN,
                 "no folder for temporary files can be written; set SQLITE_TMPDIR to one that can");
    return NULL;
}
