#include "lmdb/page/page_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"

static int fail_to_read(const pt_lmdb_page_file *file, pt_error *error)
{
    return pt_error_set(error, SQLITE_IOERR_READ, "store %Q cannot be read: %s; check the disk",
                        file->path, strerror(errno));
}

/* Reads `size` bytes, or up to the end of the file. The number of bytes read, or -1 with errno. */
static ssize_t read_bytes(int fd, uint8_t *bytes, size_t size, off_t from)
{
    size_t done = 0;
    while (done < size) {
        ssize_t part = pread(fd, bytes + done, size - done, from + (off_t)done);
        if (part < 0 && errno == EINTR) {
            continue;
        }
        if (part < 0) {
            return -1;
        }
        if (part == 0) {
            break;
        }
        done += (size_t)part;
    }
    return (ssize_t)done;
}

int pt_lmdb_read_pages(const pt_lmdb_page_file *file, uint64_t page, uint64_t count, uint8_t *bytes,
                       bool *there, pt_error *error)
{
    size_t size = (size_t)count * file->page_size;
    ssize_t read = read_bytes(file->fd, bytes, size, (off_t)(page * file->page_size));
    *there = read == (ssize_t)size;
    return read >= 0 ? SQLITE_OK : fail_to_read(file, error);
}

/* --- Meta pages --- */

static int read_meta(const pt_lmdb_page_file *file, uint64_t number, uint32_t page_size,
                     pt_lmdb_metas *metas, pt_error *error)
{
    uint8_t bytes[PT_LMDB_META_SIZE];
    ssize_t read = read_bytes(file->fd, bytes, sizeof bytes, (off_t)(number * page_size));
    if (read < 0) {
        return fail_to_read(file, error);
    }
    metas->wrong[number] = read < (ssize_t)sizeof bytes
                               ? "is missing: the file ends before it"
                               : pt_lmdb_meta_read(bytes, number, &metas->metas[number]);
    return SQLITE_OK;
}

/*
 * Page 1 begins where page 0 ends. If page 0 is damaged the page size is unknown: then every
 * possible one is tried, until what is read is a meta page that gives that same page size.
 */
static int read_second_meta(const pt_lmdb_page_file *file, pt_lmdb_metas *metas, pt_error *error)
{
    if (metas->wrong[0] == NULL) {
        return read_meta(file, 1, metas->metas[0].page_size, metas, error);
    }
    int rc = SQLITE_OK;
    metas->wrong[1] = metas->wrong[0];
    for (uint32_t size = PT_LMDB_PAGE_MIN;
         rc == SQLITE_OK && metas->wrong[1] != NULL && size <= PT_LMDB_PAGE_MAX; size *= 2) {
        rc = read_meta(file, 1, size, metas, error);
        if (rc == SQLITE_OK && metas->wrong[1] == NULL && metas->metas[1].page_size != size) {
            metas->wrong[1] = "gives an impossible page size";
        }
    }
    return rc;
}

int pt_lmdb_read_metas(pt_lmdb_page_file *file, pt_lmdb_metas *metas, pt_error *error)
{
    struct stat status;
    *metas = (pt_lmdb_metas){0};
    if (fstat(file->fd, &status) != 0) {
        return fail_to_read(file, error);
    }
    int rc = read_meta(file, 0, 0, metas, error);
    if (rc == SQLITE_OK) {
        rc = read_second_meta(file, metas, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    const pt_lmdb_meta *first = &metas->metas[0];
    if (metas->wrong[0] == NULL && metas->wrong[1] == NULL &&
        first->page_size != metas->metas[1].page_size) {
        metas->wrong[1] = "gives a different page size than page 0";
    }
    const pt_lmdb_meta *newest = pt_lmdb_newest_meta(metas);
    if (newest != NULL) {
        file->page_size = newest->page_size;
        file->pages = (uint64_t)status.st_size / file->page_size;
    }
    return SQLITE_OK;
}

const pt_lmdb_meta *pt_lmdb_newest_meta(const pt_lmdb_metas *metas)
{
    const pt_lmdb_meta *first = metas->wrong[0] == NULL ? &metas->metas[0] : NULL;
    const pt_lmdb_meta *second = metas->wrong[1] == NULL ? &metas->metas[1] : NULL;
    if (first == NULL || second == NULL) {
        return first != NULL ? first : second;
    }
    /* Of two with the same version LMDB uses page 0. */
    return first->version < second->version ? second : first;
}
