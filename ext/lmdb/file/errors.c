#include "lmdb/file/errors.h"

#include <errno.h>
#include <lmdb.h>

#include "base/sqlite.h"

static int primary_code(int mdb_rc)
{
    switch (mdb_rc) {
    case ENOMEM:
        return SQLITE_NOMEM;
    case MDB_READERS_FULL:
    case MDB_MAP_RESIZED:
        return SQLITE_BUSY;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
        return SQLITE_FULL;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return SQLITE_CORRUPT;
    case EACCES:
    case EPERM:
    case EROFS:
        return SQLITE_READONLY;
    default:
        return SQLITE_IOERR;
    }
}

static const char *advice_for(int mdb_rc)
{
    switch (mdb_rc) {
    case MDB_READERS_FULL:
        return "; close some of the connections to it";
    case MDB_MAP_RESIZED:
        return "; another process made it larger: end the open statements on it and try again";
    case MDB_MAP_FULL:
        return "; delete entities, then run pt_compact if that is not enough, or reserve more with "
               "the environment variable PTABLE_MAP_SIZE";
    case MDB_TXN_FULL:
        return "; write it in several transactions";
    case ENOSPC:
    case EDQUOT:
        return "; make room on the disk";
    case EFBIG:
        return "; make room: raise the limit on the size of files (ulimit -f), or delete entities";
    case EMFILE:
    case ENFILE:
        return "; close other files, or raise the limit on their number (ulimit -n)";
    case ENOLCK:
        return "; put it on a file system whose locks work";
    case MDB_BAD_RSLOT:
        return "; its lock file (-lock) was emptied or overwritten while the store was open: close "
               "the store in every process, then open it again";
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return "; the file is damaged: pt_check lists the damage; restore it from a backup";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; check the permissions of the file, of its lock file (-lock) and of their folder";
    case EIO:
        return "; check the disk, then try again";
    default:
        return "; try again";
    }
}

int pt_lmdb_fail(pt_error *error, int mdb_rc, const char *path, const char *doing)
{
    int rc = primary_code(mdb_rc);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return pt_error_set(error, rc, "store %Q: %s while %s%s", path, mdb_strerror(mdb_rc), doing,
                        advice_for(mdb_rc));
}

int pt_lmdb_fail_reading(pt_error *error, int mdb_rc, const char *path, const char *doing)
{
    /* LMDB answers every call in a transaction that has met damage with MDB_BAD_TXN. */
    if (mdb_rc != MDB_BAD_TXN) {
        return pt_lmdb_fail(error, mdb_rc, path, doing);
    }
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: this transaction has met damage before %s%s", path, doing,
                        advice_for(MDB_CORRUPTED));
}
