#include "lmdb_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lmdb_format.h"
#include "sqlite.h"

#define LARGEST_MAP ((size_t)1 << 40)

enum { MAP_UNIT = 1 << 16 };

/* --- Its size --- */

static size_t size_from_environment(void)
{
    const char *text = getenv("PTABLE_MAP_SIZE");
    if (text == NULL) {
        return 0;
    }
    char *end;
    errno = 0;
    uintmax_t size = strtoumax(text, &end, 10);
    static const char units[] = "KMGT";
    const char *unit = *end != 0 ? strchr(units, *end) : NULL;
    bool sound = errno == 0 && end != text && (*end == 0 || (unit != NULL && end[1] == 0));
    unsigned shift = unit != NULL ? 10 * (unsigned)(unit - units + 1) : 0;
    if (!sound || size > (LARGEST_MAP >> shift)) {
        return 0;
    }
    return (size_t)size << shift;
}

static bool can_reserve(size_t size)
{
    void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    munmap(map, size);
    return true;
}

static size_t round_up(size_t size)
{
    return (size + MAP_UNIT - 1) / MAP_UNIT * MAP_UNIT;
}

size_t pt_lmdb_map_size(size_t needed)
{
    size_t least = round_up(needed > 0 ? needed : 1);
    size_t size = round_up(size_from_environment());
    if (size == 0) {
        size = LARGEST_MAP;
    }
    if (size <= least) {
        return can_reserve(least) ? least : 0;
    }
    if (can_reserve(size)) {
        return size;
    }
    do {
        size = round_up(size / 2);
    } while (size > least && !can_reserve(size));
    /* Only half of what is left: the rest of the process needs address space too. */
    size = round_up(size / 2);
    if (size > least) {
        return size;
    }
    return can_reserve(least) ? least : 0;
}

/* --- Its place --- */

/* Reads "start-end ", in hexadecimal, from the beginning of a line. */
static bool parse_range(const char *line, uintptr_t *start, uintptr_t *end)
{
    char *rest;
    *start = strtoumax(line, &rest, 16);
    if (*rest != '-') {
        return false;
    }
    *end = strtoumax(rest + 1, &rest, 16);
    return *rest == ' ';
}

static bool find_mapping(const void *inside, uintptr_t *start, uintptr_t *end)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return false;
    }
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, maps) != NULL) {
        found = parse_range(line, start, end) && *start <= (uintptr_t)inside &&
                (uintptr_t)inside < *end;
    }
    fclose(maps);
    return found;
}

/* The addresses that have the header, as any page. */
static bool find_map(const pt_lmdb_env *env, uintptr_t *start, uintptr_t *end)
{
    MDB_txn *txn;
    if (mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn) != MDB_SUCCESS) {
        return false;
    }
    MDB_val key = pt_lmdb_val(pt_format_header_key());
    MDB_val header;
    bool found = mdb_get(txn, env->meta, &key, &header) == MDB_SUCCESS &&
                 find_mapping(header.mv_data, start, end);
    mdb_txn_abort(txn);
    return found;
}

int pt_lmdb_map_settle(pt_lmdb_env *env, const char *path, pt_error *error)
{
    uintptr_t start;
    uintptr_t end;
    env->misalignment = 0;
    if (find_map(env, &start, &end)) {
        madvise((void *)start, end - start, MADV_DONTDUMP);
        env->misalignment = start & (env->page_size - 1);
        return SQLITE_OK;
    }
    if (env->page_size <= (size_t)sysconf(_SC_PAGESIZE)) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q has larger pages than this machine, and where they are in memory "
                        "cannot be read from /proc/self/maps; see to it that it can, and try again",
                        path);
}
