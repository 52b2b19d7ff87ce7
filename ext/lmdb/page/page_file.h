/*
 * A store's file as a sequence of pages, read with pread. If the file is too short, or is truncated
 * while it is read, pread says so, whereas reading through LMDB's map would kill the process.
 */
#ifndef PT_LMDB_PAGE_PAGE_FILE_H
#define PT_LMDB_PAGE_PAGE_FILE_H

#include "base/error.h"
#include "lmdb/page/page.h"

typedef struct pt_lmdb_page_file {
    int fd;           /* not owned */
    const char *path; /* for messages */
    uint32_t page_size;
    uint64_t last_page; /* the last page that may be read; set by the caller */
    uint64_t pages;     /* whole pages in the file */
} pt_lmdb_page_file;

/* The contents of the two meta pages, each with NULL or a text that says what is wrong with it. */
typedef struct pt_lmdb_metas {
    pt_lmdb_meta metas[PT_LMDB_METAS];
    const char *wrong[PT_LMDB_METAS];
} pt_lmdb_metas;

/*
 * Reads the meta pages. If at least one is sound, sets the file's page size and number of pages;
 * two sound ones agree on the page size. SQLITE_OK or SQLITE_IOERR_READ.
 */
int pt_lmdb_read_metas(pt_lmdb_page_file *file, pt_lmdb_metas *metas, pt_error *error);

/* The sound meta page with the greater version, which is the one LMDB uses; NULL if neither is
 * sound. */
const pt_lmdb_meta *pt_lmdb_newest_meta(const pt_lmdb_metas *metas);

/* The number of the last page that is whole in the file; 0 also if no page is. */
static inline uint64_t pt_lmdb_last_whole_page(const pt_lmdb_page_file *file)
{
    return file->pages != 0 ? file->pages - 1 : 0;
}

/*
 * Reads `count` pages. *there = false: the file ends before the last of them. SQLITE_OK or
 * SQLITE_IOERR_READ.
 */
int pt_lmdb_read_pages(const pt_lmdb_page_file *file, uint64_t page, uint64_t count, uint8_t *bytes,
                       bool *there, pt_error *error);

#endif
