#include "lmdb_tail.h"

#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "lmdb_leaf.h"

enum {
    PAGE_HEADER_SIZE = 16,
    PAGE_FLAGS = 10,
    PAGE_LOWER = 12,
    FLAG_BRANCH = 1,
    FLAG_LEAF = 2,
    NUMBER_SIZE = 8,
    ENTRY_UPPER = 4, /* of a page's number in a branch, of the flags in a leaf */
    ENTRY_KEY_SIZE = 6,
    FLAG_OVERFLOW = 1,
    ROOT_VERSION = 20,
    ROOT_FREE_PAGES = 80,
    ROOT_LAST_PAGE = 136,
    ROOT_TRANSACTION = 144,
    ROOT_SIZE = 152,
    ROOTS = 2,
    DATA_VERSION = 1,
    DEPTH_MAX = 32,
    NUMBERS_AT_ONCE = 256,
};

typedef struct tail {
    int fd;
    size_t page_size;
    uint64_t pages;   /* of the file */
    uint64_t last;    /* page that there should be */
    uint64_t free;    /* pages of the list that the file lacks */
    uint64_t visited; /* pages of the list: never more than the file has */
} tail;

static bool read_at(const tail *file, uint64_t offset, uint8_t *bytes, size_t size)
{
    return pread(file->fd, bytes, size, (off_t)offset) == (ssize_t)size;
}

/* Where a page begins; false if the file does not have it. */
static bool find_page(const tail *file, uint64_t page, uint64_t *offset)
{
    *offset = page * file->page_size;
    return page < file->pages;
}

static bool count_list(tail *file, uint64_t offset)
{
    uint8_t numbers[NUMBERS_AT_ONCE * NUMBER_SIZE];
    if (!read_at(file, offset, numbers, NUMBER_SIZE)) {
        return false;
    }
    uint64_t left = pt_get_le64(numbers);
    offset += NUMBER_SIZE;
    while (left > 0) {
        size_t part = left < NUMBERS_AT_ONCE ? (size_t)left : NUMBERS_AT_ONCE;
        if (!read_at(file, offset, numbers, part * NUMBER_SIZE)) {
            return false;
        }
        for (size_t i = 0; i < part; i++) {
            uint64_t page = pt_get_le64(numbers + i * NUMBER_SIZE);
            file->free += page >= file->pages && page <= file->last ? 1 : 0;
        }
        offset += part * NUMBER_SIZE;
        left -= part;
    }
    return true;
}

/* The value of a leaf's entry. */
static bool count_entry(tail *file, const uint8_t *entry, uint64_t offset)
{
    uint64_t value = offset + PT_LMDB_LEAF_ENTRY_HEADER + pt_get_le16(entry + ENTRY_KEY_SIZE);
    if ((pt_get_le16(entry + ENTRY_UPPER) & FLAG_OVERFLOW) != 0) {
        uint8_t number[NUMBER_SIZE];
        if (!read_at(file, value, number, sizeof number) ||
            !find_page(file, pt_get_le64(number), &value)) {
            return false;
        }
        value += PAGE_HEADER_SIZE;
    }
    return count_list(file, value);
}

/* Trees are no deeper than LMDB's cursors. */
static bool count_tree(tail *file, uint64_t page, int depth)
{
    uint8_t header[PAGE_HEADER_SIZE];
    uint64_t offset;
    if (depth == DEPTH_MAX || file->visited++ == file->pages || !find_page(file, page, &offset) ||
        !read_at(file, offset, header, sizeof header)) {
        return false;
    }
    unsigned flags = pt_get_le16(header + PAGE_FLAGS);
    unsigned lower = pt_get_le16(header + PAGE_LOWER);
    bool sound = (flags == FLAG_BRANCH || flags == FLAG_LEAF) && lower <= file->page_size;
    for (unsigned at = PAGE_HEADER_SIZE; sound && at < lower; at += PT_LMDB_LEAF_SLOT) {
        uint8_t slot[PT_LMDB_LEAF_SLOT];
        uint8_t entry[PT_LMDB_LEAF_ENTRY_HEADER];
        sound = read_at(file, offset + at, slot, sizeof slot) &&
                read_at(file, offset + pt_get_le16(slot), entry, sizeof entry);
        if (sound && flags == FLAG_BRANCH) {
            uint64_t upper = pt_get_le16(entry + ENTRY_UPPER);
            sound = count_tree(file, upper << 32 | pt_get_le32(entry), depth + 1);
        } else if (sound) {
            sound = count_entry(file, entry, offset + pt_get_le16(slot));
        }
    }
    return sound;
}

/* The root page of the newest commit. */
static bool read_root(const tail *file, uint8_t root[ROOT_SIZE])
{
    uint8_t roots[ROOTS][ROOT_SIZE];
    if (!read_at(file, 0, roots[0], ROOT_SIZE) ||
        !read_at(file, file->page_size, roots[1], ROOT_SIZE)) {
        return false;
    }
    bool second =
        pt_get_le64(roots[1] + ROOT_TRANSACTION) > pt_get_le64(roots[0] + ROOT_TRANSACTION);
    memcpy(root, roots[second], ROOT_SIZE);
    return pt_get_le32(root + ROOT_VERSION) == DATA_VERSION;
}

bool pt_lmdb_tail_is_free(int fd, size_t page_size)
{
    struct stat status;
    uint8_t root[ROOT_SIZE];
    if (!pt_lmdb_leaf_is_known(page_size) || fstat(fd, &status) != 0) {
        return false;
    }
    tail file = {.fd = fd, .page_size = page_size, .pages = (uint64_t)status.st_size / page_size};
    if (!read_root(&file, root)) {
        return false;
    }
    file.last = pt_get_le64(root + ROOT_LAST_PAGE);
    uint64_t list = pt_get_le64(root + ROOT_FREE_PAGES);
    bool counted = file.pages > file.last || (list != UINT64_MAX && count_tree(&file, list, 0));
    return counted && file.pages + file.free > file.last;
}
