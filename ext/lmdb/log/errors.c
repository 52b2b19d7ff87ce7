#include "lmdb/log/errors.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"

int pt_log_fail(pt_error *error, const char *path, int problem)
{
    switch (problem) {
    case ENOENT:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: its log %q-log is missing, which has the last commits; "
                            "bring it back beside the store, or give these commits up with "
                            "pt_forget_log",
                            path, path);
    case ESTALE:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: %q-log is the log of another store; bring back its own, "
                            "which has the last commits, or give these up with pt_forget_log",
                            path, path);
    case EEXIST:
    case ENODATA:
        return pt_error_set(error, SQLITE_CANTOPEN,
                            "store %Q: %q-log or %q-word is a link, has several names, or is not "
                            "what its name says; bring back the log, which has the last commits, "
                            "or give these up with pt_forget_log",
                            path, path, path);
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

int pt_log_fail_damaged(pt_error *error, const char *path)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q: its log (-log) is damaged: a commit in it that was on the disk "
                        "cannot be read; restore both files from a backup, or give up what comes "
                        "after the damage with pt_forget_log",
                        path);
}
