#include "lmdb/env.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "lmdb/file/lock_file.h"
#include "lmdb/page/format.h"

enum { FEW_PAGES = 64 }; /* a disk with room for fewer is full */
enum { CLOSED_BETWEEN_TRIMS = 10 };

atomic_size_t pt_lmdb_env_count;

int pt_lmdb_env_create(pt_lmdb_env *env, size_t map_size)
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
    atomic_fetch_add(&pt_lmdb_env_count, 1);
    return MDB_SUCCESS;
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

int pt_lmdb_env_open_main(pt_lmdb_env *env, MDB_txn *txn)
{
    return open_database(txn, NULL, 0, &env->meta);
}

int pt_lmdb_env_open_databases(pt_lmdb_env *env, MDB_txn *txn, unsigned flags)
{
    MDB_dbi *const databases[PT_FORMAT_DATABASES] = {
        [PT_FORMAT_ENTITIES] = &env->entities,
        [PT_FORMAT_LONG_KEYS] = &env->long_keys,
        [PT_FORMAT_CHUNKS] = &env->chunks,
        [PT_FORMAT_GARBAGE] = &env->garbage,
    };
    int mdb_rc = pt_lmdb_env_open_main(env, txn);
    for (pt_format_database i = 0; mdb_rc == MDB_SUCCESS && i < PT_FORMAT_DATABASES; i++) {
        mdb_rc = open_database(txn, pt_format_database_name(i), flags, databases[i]);
    }
    return mdb_rc;
}

void pt_lmdb_env_trim_heap(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* An environment has 3 MB of lists. The C library does not give them back by itself if anything in
 * use lies above them, so many closed ones would add up. */
void pt_lmdb_env_close(pt_lmdb_env *env)
{
    static atomic_uint closed;
    if (env->env == NULL) {
        return;
    }
    mdb_env_close(env->env);
    env->env = NULL;
    atomic_fetch_sub(&pt_lmdb_env_count, 1);
    if (atomic_fetch_add(&closed, 1) % CLOSED_BETWEEN_TRIMS == CLOSED_BETWEEN_TRIMS - 1) {
        pt_lmdb_env_trim_heap();
    }
}

static bool is_disk_full(const pt_lmdb_env *env, int fd)
{
    struct statvfs disk;
    return fstatvfs(fd, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize < (uint64_t)FEW_PAGES * env->page_size;
}

/* True if one more page would make the file larger than this process may make it. */
static bool is_at_limit(const pt_lmdb_env *env, int fd)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY};
    struct stat file = {0};
    getrlimit(RLIMIT_FSIZE, &limit);
    fstat(fd, &file);
    return limit.rlim_cur != RLIM_INFINITY &&
           (rlim_t)file.st_size + env->page_size > limit.rlim_cur;
}

/* The limit first: at the limit the disk may be full too, but making room on it would not help. */
int pt_lmdb_env_write_problem(const pt_lmdb_env *env, int mdb_rc)
{
    int fd;
    mdb_env_get_fd(env->env, &fd);
    return mdb_rc != EIO           ? mdb_rc
           : is_at_limit(env, fd)  ? EFBIG
           : is_disk_full(env, fd) ? ENOSPC
                                   : EIO;
}

/* --- Readers --- */

static void note_process(pt_lmdb_readers *readers, long process)
{
    if (process == (long)getpid() || readers->process_count == PT_LMDB_PROCESSES_MAX) {
        return;
    }
    for (int i = 0; i < readers->process_count; i++) {
        if (readers->processes[i] == process) {
            return;
        }
    }
    readers->processes[readers->process_count++] = process;
}

/*
 * LMDB lists the reader table as text. A slot's line has its process, its thread in hexadecimal,
 * and the version that it shows, or "-" if it shows none. Other lines are headings.
 */
static int note_reader(const char *line, void *context)
{
    pt_lmdb_readers *readers = context;
    char *at;
    char *end;
    long process = strtol(line, &at, 10);
    if (at == line) {
        return 0;
    }
    note_process(readers, process);
    strtoull(at, &at, 16);
    long long version = strtoll(at, &end, 10);
    if (end == at) {
        return 0;
    }
    readers->count++;
    if (readers->oldest == 0 || version < readers->oldest) {
        readers->oldest = version;
    }
    return 0;
}

pt_lmdb_readers pt_lmdb_env_readers(const pt_lmdb_env *env)
{
    pt_lmdb_readers readers = {0};
    if (env->env != NULL) {
        mdb_reader_check(env->env, NULL);
        mdb_reader_list(env->env, note_reader, &readers);
    }
    return readers;
}
