/*
 * What a folder holds, and how large its files may become.
 */
#ifndef FOLDER_H
#define FOLDER_H

#include <glob.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "database.h"

/* Files in the folder whose names match. */
static inline size_t files_like(const char *folder, const char *name)
{
    char pattern[PATH_SIZE];
    glob_t found;
    path_in(folder, name, pattern);
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

static inline size_t unfinished_files(const char *folder)
{
    return files_like(folder, "*-new-*");
}

static inline int64_t size_of(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    struct stat file;
    path_in(folder, name, path);
    assert_int_equal(stat(path, &file), 0);
    return (int64_t)file.st_size;
}

/* Of all files that this process writes; RLIM_INFINITY: as large as it was allowed at first. */
static inline void limit_files(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
