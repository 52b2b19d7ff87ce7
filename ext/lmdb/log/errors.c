#include "lmdb/log/errors.h"

#include <errno.h>
#include <lmdb.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"

bool pt_log_is_lost(int problem)
{
    return problem == ENOENT || problem == ESTALE || problem == EEXIST || problem == ENODATA;
}

int pt_log_fail(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case ENOENT:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: its log %q-log, which has the last commits, is missing; "
                            "bring it back beside the store, or give these commits up with "
                            "pt_forget_log",
                            path, path);
    case ESTALE:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: %q-log is the log of another store, or of another time of "
                            "this one; bring back its own, which has the last commits, or give "
                            "these up with pt_forget_log",
                            path, path);
    case EMLINK:
        return pt_error_set(
            error, SQLITE_CANTOPEN,
            "store %Q: its log %q-log, which has the last commits, is a link, or "
            "no regular file, or has several names; put the file itself there, under this "
            "name only, or remove it and give the commits up with pt_forget_log",
            path, path);
    case EEXIST:
    case ENODATA:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: the file %q-log is not its log, which has the last commits; "
                            "bring the log back, or give these commits up with pt_forget_log",
                            path, path);
    case ENOTUNIQ:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: %q-word, in which there are no commits, is a link, has "
                            "several names, or is the file of another program; close the store in "
                            "all processes, then remove it",
                            path, path);
    case EACCES:
    case EPERM:
    case EROFS:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: its log (%q-log, %q-word) cannot be opened: %s; give these "
                            "files the permissions of the store",
                            path, path, path, mdb_strerror(problem));
    case EAGAIN:
        return pt_error_set(error, SQLITE_BUSY,
                            "store %Q: another process, which opens or closes it, keeps its log "
                            "locked; try again, or end that process if it stands still",
                            path);
    case EIDRM:
        return pt_error_set(
            error, SQLITE_CANTOPEN,
            "store %Q: %q-word, which the processes share that have the store open, "
            "was deleted or replaced; close the store in all of them",
            path, path);
    default:
        return pt_lmdb_fail(error, problem, path, "opening its log (-log, -word)");
    }
}

int pt_log_fail_reading(pt_error *error, const char *path, int problem)
{
    int rc = pt_lmdb_fail(error, problem, path, "reading its log (-log)");
    if (problem != EIO) {
        return rc;
    }
    return pt_error_set(error, rc,
                        "%s; if it stays so, put what can be read of the log in its place, or "
                        "remove it, and give up the rest with pt_forget_log",
                        error->message);
}

int pt_log_fail_damaged(pt_error *error, const char *path)
{
    return pt_error_set(
        error, SQLITE_CORRUPT,
        "store %Q: its log %q-log is damaged, was cut, or is newer than the store's "
        "file; pt_check says which; bring back the right file, restore a backup, "
        "or give up what cannot be read with pt_forget_log",
        path, path);
}

int pt_log_fail_overwritten(pt_error *error, const char *path)
{
    return pt_error_set(
        error, SQLITE_CORRUPT,
        "store %Q: %q-word, which the processes share that have the store open, was "
        "overwritten; no commit is lost, and the next write to the store mends it; "
        "if that is refused, too, close the store in all of them",
        path, path);
}
