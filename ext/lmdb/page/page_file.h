/*
 * Reading pages of a store's file with pread: a file that is too short, or becomes so, is an answer
 * and not a signal.
 */
#ifndef PT_LMDB_PAGE_PAGE_FILE_H
#define PT_LMDB_PAGE_PAGE_FILE_H

#include "base/error.h"
#include "lmdb/page/page.h"

typedef struct pt_lmdb_page_file {
    int fd;           /* somebody else's */
    const char *path; /* for messages */
    uint32_t page_size;
    uint64_t last_page; /* of the version that is read; smaller than `pages` */
    uint64_t pages;     /* whole ones that the file has */
} pt_lmdb_page_file;

/* What the two meta pages say, each with NULL or what is wrong with it. */
typedef struct pt_lmdb_metas {
    pt_lmdb_meta metas[PT_LMDB_METAS];
    const char *wrong[PT_LMDB_METAS];
} pt_lmdb_metas;

/*
 * Reads the meta pages; sets the file's size in pages, and its page size, as far as one of them is
 * sound. Where both are sound they have one page size. SQLITE_OK, or SQLITE_IOERR_READ.
 */
int pt_lmdb_read_metas(pt_lmdb_page_file *file, pt_lmdb_metas *metas, pt_error *error);

/* The sound one with the greater version, as LMDB chooses; NULL: neither is sound. */
const pt_lmdb_meta *pt_lmdb_newest_meta(const pt_lmdb_metas *metas);

/* The last page that there is; 0 also where not even that one is whole. */
static inline uint64_t pt_lmdb_last_whole_page(const pt_lmdb_page_file *file)
{
    return file->pages != 0 ? file->pages - 1 : 0;
}

/*
 * Reads `count` pages. *there = false: the file does not have them all. SQLITE_OK, or
 * SQLITE_IOERR_READ.
 */
int pt_lmdb_read_pages(const pt_lmdb_page_file *file, uint64_t page, uint64_t count, uint8_t *bytes,
                       bool *there, pt_error *error);

#endif
