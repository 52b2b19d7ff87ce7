/*
 * Who may read and write a file: its permission bits, its group and owner, and its access control
 * list (ACL, see acl(5)) if it has one. A new file gets those of the file that it belongs to.
 */
#ifndef PT_LMDB_FILE_PERMISSIONS_H
#define PT_LMDB_FILE_PERMISSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* A list of some 500 users and groups, as many as ext4 can store. */
enum { PT_LMDB_ACL_MAX = 4096 };

typedef struct pt_lmdb_permissions {
    struct stat file;
    bool acl_unknown; /* the list could not be read, or is too long */
    size_t acl_size;  /* 0: the file has none */
    uint8_t acl[PT_LMDB_ACL_MAX];
} pt_lmdb_permissions;

/* Reads those of the open file `fd` or, if it is -1, of the file at `path`. Returns 0, or errno if
 * there is no such file or it cannot be looked at. */
int pt_lmdb_read_permissions(int fd, const char *path, pt_lmdb_permissions *permissions);

/*
 * Gives a new file the permissions of the file `like`, whatever the umask and the folder's default
 * ACL: its permission bits, its ACL, its group, and, if the process runs as root, its owner. Where
 * the group cannot be given, the file's own group gets only the rights of everybody. Where the ACL
 * cannot be given, no one gets a right that the ACL withholds. The owner can always read and write
 * the file. Returns 0 or errno.
 */
int pt_lmdb_copy_permissions(int fd, const pt_lmdb_permissions *like);

/* As above for a file that takes the place of `like`: also the owner and all permission bits must
 * be the same. Returns 0 or errno; EPERM if they cannot be given. */
int pt_lmdb_keep_permissions(int fd, const pt_lmdb_permissions *like);

/*
 * True if this process may read and write the file at `path` (absolute), but the kernel may forbid
 * to open it as a file that is made if it is missing (O_CREAT), as LMDB does. With
 * fs.protected_regular that is so in a sticky folder where others may make files, if the file
 * belongs neither to this user nor to the folder's owner.
 */
bool pt_lmdb_is_protected(const char *path);

#endif
