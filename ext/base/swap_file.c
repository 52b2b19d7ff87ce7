#include "base/swap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/buffer.h"
#include "base/sqlite.h"

/* SWAP_UNIT: a multiple of the size of pages on every machine. */
enum { SWAP_UNIT = 1 << 16, ROOM_TO_LEAVE = 3 };

/* Held during a fork, so that a child finds each file whole: open, mapped and in the list, or not
 * there at all. */
static pthread_mutex_t swap_mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_swap_file *first_swap;

/* --- fork() --- */

static pthread_once_t swap_fork_once = PTHREAD_ONCE_INIT;
static bool swap_handles_forks;

static void lock_before_fork(void)
{
    pthread_mutex_lock(&swap_mutex);
}

static void unlock_in_parent(void)
{
    pthread_mutex_unlock(&swap_mutex);
}

/* If memory is too scarce for a copy, the child may only read: what it wrote would be written to
 * the parent's memory. */
static void make_private(const pt_swap_file *swap)
{
    off_t offset = 0;
    for (size_t i = 0; i < swap->count; i++) {
        const pt_swap_piece *piece = &swap->pieces[i];
        if (mmap(piece->memory, piece->size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, swap->fd, offset) == MAP_FAILED) {
            mprotect(piece->memory, piece->size, PROT_READ);
        }
        offset += (off_t)piece->size;
    }
}

static void detach_in_child(void)
{
    while (first_swap != NULL) {
        pt_swap_file *swap = first_swap;
        first_swap = swap->next;
        make_private(swap);
        close(swap->fd);
        swap->is_open = false;
        swap->unfit = true;
    }
    pthread_mutex_unlock(&swap_mutex);
}

static void handle_forks_of_swap(void)
{
    swap_handles_forks = pthread_atfork(lock_before_fork, unlock_in_parent, detach_in_child) == 0;
}

/* --- The file --- */

/* True for file systems that never need more room to write an allocated block. */
static bool keeps_its_promise(int fd)
{
    enum { EXT4 = 0xEF53, XFS = 0x58465342 };
    struct statfs place;
    return fstatfs(fd, &place) == 0 && (place.f_type == EXT4 || place.f_type == XFS);
}

/* Returns a descriptor or -1. Not one of the standard descriptors: what the process prints would be
 * written into the memory. */
static int open_without_name(const char *beside)
{
    size_t size = (size_t)(strrchr(beside, '/') - beside);
    char *folder = sqlite3_mprintf("%.*s/", (int)size, beside);
    if (folder == NULL) {
        return -1;
    }
    int fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    sqlite3_free(folder);
    if (fd >= 0 && fd <= STDERR_FILENO) {
        int standard = fd;
        fd = fcntl(standard, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        close(standard);
    }
    return fd;
}

static bool open_swap(pt_swap_file *swap)
{
    swap->fd = open_without_name(swap->beside);
    if (swap->fd < 0) {
        return false;
    }
    if (!keeps_its_promise(swap->fd)) {
        close(swap->fd);
        return false;
    }
    swap->is_open = true;
    swap->next = first_swap;
    swap->link = &first_swap;
    if (first_swap != NULL) {
        first_swap->link = &swap->next;
    }
    first_swap = swap;
    return true;
}

/* Makes the file `size` bytes long again. If that fails, the disk gets its blocks back when the
 * file is closed. */
static void shrink_file(const pt_swap_file *swap)
{
    int ignored = ftruncate(swap->fd, (off_t)swap->size);
    (void)ignored;
}

/* --- Room --- */

/* The kernel ends a process that exceeds this limit. */
static bool limit_allows(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

/* The disk must keep room for the content elsewhere: the pages of a COMMIT are not all full, and
 * the caller has some more in its other memory. */
static bool disk_can_spare(const pt_swap_file *swap, size_t size)
{
    struct statvfs disk;
    uint64_t wanted = size + ROOM_TO_LEAVE * ((uint64_t)swap->size + size);
    return fstatvfs(swap->fd, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize >= wanted;
}

static bool allocate_blocks(pt_swap_file *swap, size_t size)
{
    int result;
    do {
        result = fallocate(swap->fd, 0, (off_t)swap->size, (off_t)size);
    } while (result != 0 && errno == EINTR);
    if (result != 0) {
        swap->unfit = errno == EOPNOTSUPP || errno == ENOSYS;
        shrink_file(swap);
    }
    return result == 0;
}

/* --- Pieces --- */

static void *take_piece(pt_swap_file *swap, size_t size)
{
    if (!swap->is_open && !open_swap(swap)) {
        swap->unfit = true;
        return NULL;
    }
    if (!pt_array_reserve(&swap->pieces, &swap->capacity, swap->count + 1, sizeof *swap->pieces) ||
        !limit_allows((uint64_t)swap->size + size) || !disk_can_spare(swap, size) ||
        !allocate_blocks(swap, size)) {
        return NULL;
    }
    void *memory =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, swap->fd, (off_t)swap->size);
    if (memory == MAP_FAILED) {
        shrink_file(swap);
        return NULL;
    }
    pt_swap_put_aside(swap);
    swap->pieces[swap->count++] = (pt_swap_piece){.memory = memory, .size = size};
    swap->size += size;
    return memory;
}

void *pt_swap_take(pt_swap_file *swap, size_t size)
{
    if (swap->beside == NULL || swap->unfit || size > SIZE_MAX / 8) {
        return NULL;
    }
    pthread_once(&swap_fork_once, handle_forks_of_swap);
    if (!swap_handles_forks) {
        return NULL;
    }
    pthread_mutex_lock(&swap_mutex);
    void *memory = take_piece(swap, (size + SWAP_UNIT - 1) / SWAP_UNIT * SWAP_UNIT);
    pthread_mutex_unlock(&swap_mutex);
    return memory;
}

static void drop_newest_piece(pt_swap_file *swap)
{
    PT_ASSERT(swap->pieces != NULL && swap->count > 0);
    const pt_swap_piece *piece = &swap->pieces[--swap->count];
    munmap(piece->memory, piece->size);
    swap->size -= piece->size;
}

void pt_swap_give_back(pt_swap_file *swap)
{
    pthread_mutex_lock(&swap_mutex);
    drop_newest_piece(swap);
    if (swap->is_open) {
        shrink_file(swap);
    }
    pthread_mutex_unlock(&swap_mutex);
}

void pt_swap_put_aside(const pt_swap_file *swap)
{
    /* In a child this would throw away what it has changed in its copy. */
    for (size_t i = 0; swap->is_open && i < swap->count; i++) {
        madvise(swap->pieces[i].memory, swap->pieces[i].size, MADV_DONTNEED);
    }
}

int pt_swap_check(pt_swap_file *swap)
{
    if (!swap->is_open || swap->problem != 0) {
        return swap->problem;
    }
    /* Waits for writes that have begun and tells whether any has failed, but begins none. It tells
     * so once only. */
    int result = sync_file_range(swap->fd, 0, 0, SYNC_FILE_RANGE_WAIT_BEFORE);
    if (result != 0 && (errno == ENOSYS || errno == EPERM)) {
        result = fdatasync(swap->fd);
    }
    swap->problem = result == 0 ? 0 : errno;
    return swap->problem;
}

void pt_swap_close(pt_swap_file *swap)
{
    if (swap->pieces == NULL && !swap->is_open) {
        swap->unfit = false;
        return;
    }
    pthread_mutex_lock(&swap_mutex);
    while (swap->count > 0) {
        drop_newest_piece(swap);
    }
    if (swap->is_open) {
        *swap->link = swap->next;
        if (swap->next != NULL) {
            swap->next->link = swap->link;
        }
        close(swap->fd);
    }
    sqlite3_free(swap->pieces);
    *swap = (pt_swap_file){.beside = swap->beside};
    pthread_mutex_unlock(&swap_mutex);
}
