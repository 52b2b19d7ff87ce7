#include "lmdb/map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/file/errors.h"
#include "lmdb/next_page.h"
#include "lmdb/page/format.h"
#include "lmdb/page/page_file.h"

#define LARGEST_MAP ((size_t)1 << 40)

enum { MAP_UNIT = 1 << 16 };

/* --- Size --- */

/* PTABLE_MAP_SIZE, or 0 if it is not set, not valid or too large. */
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

/* Takes address space for a moment, and no memory. */
static bool can_reserve(size_t size)
{
    void *map = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    munmap(map, size);
    return true;
}

static size_t round_up_to_unit(size_t size)
{
    return (size + MAP_UNIT - 1) / MAP_UNIT * MAP_UNIT;
}

static bool can_reserve_times(size_t size, size_t times)
{
    return size <= SIZE_MAX / times && can_reserve(size * times);
}

/*
 * The k-th map gets half of a k-th of the address space that is left. So what is left shrinks only
 * with the square root of the number of maps: there is room for thousands of stores, and for the
 * rest of the process.
 */
static size_t fair_share(size_t largest)
{
    size_t times = 2 * (atomic_load(&pt_lmdb_env_count) + 1);
    size_t size = largest;
    while (size > MAP_UNIT && !can_reserve_times(size, times)) {
        size = round_up_to_unit(size / 2);
    }
    return size;
}

/* The fair share, but at least twice the size of a large file, so that it can grow however many
 * stores are open. */
static size_t share_for_file(size_t least, size_t largest)
{
    size_t size = fair_share(largest);
    size_t twice = least < largest / 2 ? 2 * least : largest;
    return size < twice && can_reserve_times(twice, 2) ? twice : size;
}

size_t pt_lmdb_map_size(size_t needed)
{
    size_t least = round_up_to_unit(needed > 0 ? needed : 1);
    size_t asked = round_up_to_unit(size_from_environment());
    size_t largest = asked > 0 ? asked : LARGEST_MAP;
    if (least < largest) {
        size_t size = asked > 0 && can_reserve(asked) ? asked : share_for_file(least, largest);
        if (size > least) {
            return size;
        }
    }
    return can_reserve(least) ? least : 0;
}

int pt_lmdb_map_size_for(size_t needed, const char *path, size_t *map_size, pt_error *error)
{
    *map_size = pt_lmdb_map_size(needed);
    return *map_size > 0
               ? SQLITE_OK
               : pt_error_set(error, SQLITE_CANTOPEN,
                              "store %Q needs %lld bytes of address space, more than this process "
                              "may have; raise its limit (ulimit -v)",
                              path, (sqlite3_int64)needed);
}

int pt_lmdb_map_grow(pt_lmdb_env *env, const char *path, pt_error *error)
{
    MDB_envinfo info;
    size_t map_size;
    mdb_env_info(env->env, &info);
    int rc = pt_lmdb_map_size_for((info.me_last_pgno + 1) * env->page_size, path, &map_size, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* LMDB unmaps the file and maps it at another address. */
    int mdb_rc = mdb_env_set_mapsize(env->env, map_size);
    if (mdb_rc != MDB_SUCCESS) {
        return pt_lmdb_fail(error, mdb_rc, path, "making its map larger");
    }
    return pt_lmdb_map_note_place(env, path, error);
}

/* --- Place --- */

/* True if that page of the file begins with these bytes. */
static bool is_in_file(const pt_lmdb_env *env, uint64_t number, const uint8_t *page, size_t size)
{
    pt_lmdb_page_file file = {.path = "", .page_size = env->page_size};
    uint8_t bytes[PT_LMDB_PAGE_MAX];
    bool there = false;
    pt_error ignored = PT_ERROR_NONE;
    mdb_env_get_fd(env->env, &file.fd);
    int rc = pt_lmdb_read_pages(&file, number, 1, bytes, &there, &ignored);
    pt_error_clear(&ignored);
    return rc == SQLITE_OK && there && memcmp(bytes, page, size) == 0;
}

/*
 * LMDB does not tell where its map is. But a page begins with its number, and page n lies n pages
 * behind the beginning of the map. Pages that are larger than the memory's may begin at any page of
 * the memory: the one that the record lies in begins where the number leads to the same bytes in
 * the file. NULL: the file cannot be read.
 */
static uint8_t *find_map_around(const pt_lmdb_env *env, pt_slice record)
{
    size_t memory_page = (size_t)sysconf(_SC_PAGESIZE);
    size_t step = env->page_size < memory_page ? env->page_size : memory_page;
    /* Whatever is looked at here is in the map, as the meta pages come before all others. */
    for (size_t offset = (uintptr_t)record.data % step; offset + record.size <= env->page_size;
         offset += step) {
        const uint8_t *page = record.data - offset;
        uint64_t number = pt_get_le64(page);
        if (is_in_file(env, number, page, offset + record.size)) {
            return (uint8_t *)(uintptr_t)page - number * env->page_size;
        }
    }
    return NULL;
}

static uint8_t *find_map(const pt_lmdb_env *env)
{
    MDB_txn *txn;
    if (mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn) != MDB_SUCCESS) {
        return NULL;
    }
    MDB_val key = pt_lmdb_val(pt_format_header_key());
    MDB_val header;
    uint8_t *map = NULL;
    if (mdb_get(txn, env->meta, &key, &header) == MDB_SUCCESS) {
        map = find_map_around(env, pt_lmdb_slice(header));
    }
    mdb_txn_abort(txn);
    return map;
}

int pt_lmdb_map_note_place(pt_lmdb_env *env, const char *path, pt_error *error)
{
    MDB_envinfo info;
    uint8_t *map = find_map(env);
    env->misalignment = 0;
    if (map != NULL) {
        mdb_env_info(env->env, &info);
        madvise(map, info.me_mapsize, MADV_DONTDUMP);
        env->misalignment = (uintptr_t)map & (env->page_size - 1);
        return SQLITE_OK;
    }
    if (env->page_size <= (size_t)sysconf(_SC_PAGESIZE)) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "store %Q has larger pages than this machine, and its file could not be "
                        "read to find where they are in memory; check the disk and try again",
                        path);
}

/* --- Room --- */

/*
 * How many pages deletes need. A delete copies the pages on the way to an entity, in up to four
 * databases, and those of large values and long keys. A range is deleted from its first page to its
 * last, and pages that become empty on the way are used again at once: it takes about as many as
 * one entity. Scattered entities take a page each. What a commit frees, LMDB writes in one piece,
 * 511 pages to a page.
 *
 * LMDB uses the pages that a commit has freed only in the second commit after it. So after a commit
 * that has touched the reserve comes one that has nothing to do
 * (lmdb/writer_lock.c:renew). END_PAGES are for some of those.
 */
enum {
    RENEWAL_PAGES = 8,   /* that a commit takes in any case */
    END_PAGES = 40,      /* to be left by a commit; half of them by one that only deletes */
    SCATTERED_MAX = 96,  /* entities that can be deleted, each in a page of its own */
    FREED_IN_PAGE = 500, /* pages in a page of LMDB's list of free pages, a little less */
};

/* Pages that a file must have beside `used` so that LMDB can commit what has been written. */
static size_t pages_to_commit(size_t used)
{
    return RENEWAL_PAGES + used / FREED_IN_PAGE;
}

static size_t pages_to_delete(size_t used)
{
    size_t scattered = used < SCATTERED_MAX ? used : SCATTERED_MAX;
    return scattered + 2 * pages_to_commit(used) + END_PAGES;
}

enum {
    HEADROOM_PART = 50,      /* a fiftieth of the map is left for deletes, */
    HEADROOM_PAGES = 32,     /* but at least what they need and what a few transactions copy */
    WATCHED_PAGES = 1 << 20, /* with more pages left than this, puts are not checked */
    FREE_DBI = 0,            /* LMDB's list of free pages */
};

static size_t pages_of(MDB_txn *txn, MDB_dbi dbi)
{
    MDB_stat stat = {0};
    mdb_stat(txn, dbi, &stat);
    return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
}

size_t pt_lmdb_pages_in_use(const pt_lmdb_env *env, MDB_txn *txn)
{
    return pages_of(txn, env->entities) + pages_of(txn, env->long_keys) +
           pages_of(txn, env->chunks);
}

void pt_lmdb_room_measure(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn)
{
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    size_t map_pages = info.me_mapsize / env->page_size;
    size_t headroom = map_pages / HEADROOM_PART;
    size_t least = HEADROOM_PAGES + pages_to_delete(info.me_last_pgno + 1);
    if (headroom < least) {
        headroom = least;
    }
    *room = (pt_lmdb_room){.next_page = info.me_last_pgno + 1};
    room->end_is_known = pt_lmdb_next_page_is_known(txn, room->next_page);
    room->page_limit = map_pages > headroom ? map_pages - headroom : 0;
    room->watched = room->next_page + WATCHED_PAGES > room->page_limit;
    if (room->watched || !room->end_is_known) {
        room->pages_before = pt_lmdb_pages_in_use(env, txn);
    }
}

int pt_lmdb_count_free_pages(MDB_txn *txn, size_t *pages)
{
    MDB_cursor *cursor;
    MDB_val key;
    MDB_val value;
    size_t counted = 0;
    int mdb_rc = mdb_cursor_open(txn, FREE_DBI, &cursor);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    while ((mdb_rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == MDB_SUCCESS) {
        size_t length; /* a record is a list of pages, and begins with its length */
        memcpy(&length, value.mv_data, sizeof length);
        counted += length;
    }
    mdb_cursor_close(cursor);
    if (mdb_rc != MDB_NOTFOUND) {
        return mdb_rc;
    }
    *pages = counted;
    return MDB_SUCCESS;
}

size_t pt_lmdb_room_end(const pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn)
{
    if (room->end_is_known) {
        return pt_lmdb_next_page(txn);
    }
    size_t pages = pt_lmdb_pages_in_use(env, txn);
    return room->next_page + (pages > room->pages_before ? pages - room->pages_before : 0);
}

/* The free pages of the version before this transaction. Only a read transaction shows them all, as
 * LMDB takes pages from the list while it writes. */
static int find_free_pages(pt_lmdb_room *room, const pt_lmdb_env *env)
{
    MDB_txn *txn;
    int mdb_rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
    if (mdb_rc != MDB_SUCCESS) {
        return mdb_rc;
    }
    mdb_rc = pt_lmdb_count_free_pages(txn, &room->free_pages);
    mdb_txn_abort(txn);
    room->free_pages_known = mdb_rc == MDB_SUCCESS;
    return mdb_rc;
}

int pt_lmdb_room_check(pt_lmdb_room *room, const pt_lmdb_env *env, MDB_txn *txn)
{
    size_t grown = pt_lmdb_pages_in_use(env, txn);
    grown = grown > room->pages_before ? grown - room->pages_before : 0;
    if (room->next_page + grown < room->page_limit) {
        return MDB_SUCCESS;
    }
    /* The list can be long, so it is read only once the map has become scarce. */
    if (!room->free_pages_known) {
        int mdb_rc = find_free_pages(room, env);
        if (mdb_rc != MDB_SUCCESS) {
            return mdb_rc;
        }
    }
    return room->next_page + grown < room->page_limit + room->free_pages ? MDB_SUCCESS
                                                                         : MDB_MAP_FULL;
}

/* --- The reserve --- */

enum { LEAST_STEP = 16, LARGEST_STEP = 64 }; /* pages asked for at once */

/* The whole file if its pages up to `end` are in use. */
static size_t pages_with_reserve(size_t end)
{
    return end + pages_to_commit(end) + pages_to_delete(end);
}

void pt_lmdb_reserve_none(pt_lmdb_reserve *reserve)
{
    *reserve = (pt_lmdb_reserve){.allocated = SIZE_MAX};
}

/* Returns 0 or errno. The file's size stays. */
static int allocate_pages(int fd, size_t first, size_t end, size_t page_size)
{
    int result;
    do {
        result = fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)(first * page_size),
                           (off_t)((end - first) * page_size));
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static bool disk_has_room(int fd, size_t bytes)
{
    struct statvfs disk;
    return fstatvfs(fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize / 2 > bytes;
}

/*
 * When room is scarce, asks for one page after the other. A tmpfs that has no room for a whole
 * range takes away also the pages of it that it had given before, perhaps to another process.
 */
static int allocate_one_by_one(pt_lmdb_reserve *reserve, int fd, size_t first, size_t end,
                               size_t page_size)
{
    int problem = 0;
    while (problem == 0 && first < end) {
        problem = allocate_pages(fd, first, first + 1, page_size);
        if (problem == 0) {
            reserve->allocated = ++first;
        }
    }
    return problem;
}

/* The file ends before page `used` at present. Returns 0 or errno. */
static int allocate_up_to(pt_lmdb_reserve *reserve, const pt_lmdb_env *env, size_t used, size_t end)
{
    int fd;
    mdb_env_get_fd(env->env, &fd);
    size_t first = reserve->allocated > used ? reserve->allocated : used;
    int problem = ENOSPC;
    if (disk_has_room(fd, (end - first) * env->page_size)) {
        problem = allocate_pages(fd, reserve->allocated, end, env->page_size);
        reserve->allocated = problem == 0 ? end : reserve->allocated;
    }
    if (problem == ENOSPC) {
        problem = allocate_one_by_one(reserve, fd, first, end, env->page_size);
    }
    if (problem == EOPNOTSUPP || problem == ENOSYS) {
        pt_lmdb_reserve_none(reserve);
        return 0;
    }
    return problem;
}

/* True if the file has so many free pages that it needs no reserve behind its last page. Only the
 * writer may be reading: pages that are freed while a snapshot is in use cannot be used again. */
static bool has_free_pages(const pt_lmdb_env *env, MDB_txn *txn, size_t file_pages)
{
    enum { META_PAGES = 2 };
    size_t used = META_PAGES + pt_lmdb_pages_in_use(env, txn) + pages_of(txn, env->meta) +
                  pages_of(txn, env->garbage) + pages_of(txn, FREE_DBI);
    return pages_with_reserve(used) <= file_pages && pt_lmdb_env_readers(env).count <= 1;
}

/* A commit may take the last pages, but not those with which the next one begins. It has not taken
 * any if it did not make the file longer: then the free pages in it were enough. */
static bool leaves_the_end(const pt_lmdb_room *room, size_t end, size_t file_pages,
                           bool only_deletes)
{
    size_t left = only_deletes ? END_PAGES / 2 : END_PAGES;
    return end == room->next_page || end + pages_to_commit(end) + left <= file_pages;
}

/* True if the commit will be refused: then it must not take what the disk has left. False if the
 * file system does not know its room, as ramfs does not. */
static bool cannot_fit(const pt_lmdb_reserve *reserve, const pt_lmdb_env *env,
                       const pt_lmdb_room *room, size_t end, bool only_deletes)
{
    int fd;
    struct statvfs disk;
    mdb_env_get_fd(env->env, &fd);
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0) {
        return false;
    }
    size_t left = (uint64_t)disk.f_bfree * disk.f_frsize / env->page_size;
    return !leaves_the_end(room, end, reserve->allocated + left, only_deletes);
}

/* Asks for the pages up to `wanted`, for a commit that ends the file at `end`. First for the
 * reserve of what is stored already: another process may have got it, from the last free pages. */
static int ask_for_room(pt_lmdb_reserve *reserve, const pt_lmdb_env *env, const pt_lmdb_room *room,
                        size_t end, size_t wanted, bool only_deletes)
{
    size_t used = room->next_page;
    size_t least = pages_with_reserve(used) < wanted ? pages_with_reserve(used) : wanted;
    int problem = least > reserve->allocated ? allocate_up_to(reserve, env, used, least) : 0;
    if (problem != 0 || wanted <= reserve->allocated) {
        return problem;
    }
    return cannot_fit(reserve, env, room, end, only_deletes)
               ? ENOSPC
               : allocate_up_to(reserve, env, used, wanted);
}

int pt_lmdb_reserve_check(pt_lmdb_reserve *reserve, const pt_lmdb_env *env, MDB_txn *txn,
                          const pt_lmdb_room *room, size_t end, bool only_deletes)
{
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    size_t map_pages = info.me_mapsize / env->page_size;
    size_t step = end / LEAST_STEP < LARGEST_STEP ? end / LEAST_STEP + 1 : LARGEST_STEP;
    size_t wanted = pages_with_reserve(end + step);
    wanted = wanted < map_pages ? wanted : map_pages;
    int problem = ask_for_room(reserve, env, room, end, wanted, only_deletes);
    size_t file_pages = reserve->allocated < map_pages ? reserve->allocated : map_pages;
    if (pages_with_reserve(end) <= file_pages) {
        reserve->limit = pages_with_reserve(end + step) <= file_pages ? end + step : end;
        reserve->is_scarce = problem != 0;
        return MDB_SUCCESS;
    }
    if (problem != 0 && problem != ENOSPC && problem != EDQUOT) {
        return MDB_SUCCESS; /* LMDB finds out whether there is room */
    }
    reserve->is_scarce = true;
    reserve->touched = true;
    /* If it is the map that is full, each put has been checked: pt_lmdb_room_check. */
    bool allowed = leaves_the_end(room, end, file_pages, only_deletes) &&
                   (only_deletes || problem == 0 || has_free_pages(env, txn, file_pages));
    return allowed ? MDB_SUCCESS : problem != 0 ? problem : MDB_MAP_FULL;
}
