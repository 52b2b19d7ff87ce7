/*
 * The pages of LMDB's file: walks a tree, and gives each key with its value.
 */
#ifndef TESTS_FORMAT_PAGES_H
#define TESTS_FORMAT_PAGES_H

#include "format/bytes.h"

/* A whole file in memory. */
static inline bytes read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail("%s: it cannot be read", path);
    }
    builder content = {0};
    uint8_t piece[65536];
    size_t got;
    while ((got = fread(piece, 1, sizeof piece, file)) != 0) {
        add_bytes(&content, (bytes){.at = piece, .size = got});
    }
    fclose(file);
    return built(&content);
}

typedef struct data_file {
    bytes content;
    size_t page_size;
    uint64_t commit;
    bytes main_root;
} data_file;

enum {
    PAGE_IS_BRANCH = 1,
    PAGE_IS_LEAF = 2,
    PAGE_IS_OVERFLOW = 4,
    PAGE_IS_META = 8,
    VALUE_IS_ELSEWHERE = 1,
    VALUE_IS_ROOT = 2,
    ROOT_SIZE = 48,
};

static inline bytes page_of(const data_file *file, uint64_t number)
{
    return part(file->content, number * file->page_size, file->page_size);
}

static inline bytes meta_page(const data_file *file, uint64_t number)
{
    bytes page = page_of(file, number);
    expect(little(page, 0, 8) == number && little(page, 10, 2) == PAGE_IS_META, "a meta page");
    expect(little(page, 16, 4) == 0xBEEFC0DE && little(page, 20, 4) == 1, "LMDB's magic number");
    return page;
}

/* The newer of the two meta pages counts. */
static inline data_file open_data_file(const char *path)
{
    data_file file = {.content = read_file(path)};
    file.page_size = little(file.content, 40, 4);
    expect(file.page_size >= 256 && file.content.size % file.page_size == 0, "the page size");
    bytes metas[] = {meta_page(&file, 0), meta_page(&file, 1)};
    bytes newest = metas[little(metas[1], 144, 8) > little(metas[0], 144, 8) ? 1 : 0];
    file.commit = little(newest, 144, 8);
    file.main_root = part(newest, 88, ROOT_SIZE);
    expect(little(newest, 136, 8) < file.content.size / file.page_size, "the number of pages");
    return file;
}

/* `is_root`: the value is the root of a sub-database. */
typedef void (*visit_entry)(void *context, bytes key, bytes value, bool is_root);

/* The value of an entry on a leaf page. */
static inline bytes value_of(const data_file *file, bytes page, size_t at)
{
    size_t size = little(page, at, 4);
    unsigned flags = (unsigned)little(page, at + 4, 2);
    size_t value_at = at + 8 + little(page, at + 6, 2);
    if ((flags & VALUE_IS_ELSEWHERE) == 0) {
        return part(page, value_at, size);
    }
    uint64_t first = little(page, value_at, 8);
    expect(little(page_of(file, first), 10, 2) == PAGE_IS_OVERFLOW, "an overflow page");
    uint64_t pages = little(page_of(file, first), 12, 4);
    expect(pages == (16 + size + file->page_size - 1) / file->page_size, "a run of pages");
    return part(file->content, first * file->page_size + 16, size);
}

static inline uint64_t walk_page(const data_file *file, uint64_t number, unsigned depth,
                                 visit_entry visit, void *context)
{
    bytes page = page_of(file, number);
    uint64_t entries = 0;
    expect(little(page, 0, 8) == number, "the number in a page");
    expect(little(page, 10, 2) == (depth > 1 ? PAGE_IS_BRANCH : PAGE_IS_LEAF), "the depth");
    for (size_t slot = 16; slot < little(page, 12, 2); slot += 2) {
        size_t at = little(page, slot, 2);
        expect(at >= little(page, 14, 2), "the place of an entry");
        if (depth > 1) {
            uint64_t child = little(page, at, 4) | little(page, at + 4, 2) << 32;
            entries += walk_page(file, child, depth - 1, visit, context);
        } else {
            bytes key = part(page, at + 8, little(page, at + 6, 2));
            bool is_root = (little(page, at + 4, 2) & VALUE_IS_ROOT) != 0;
            visit(context, key, value_of(file, page, at), is_root);
            entries++;
        }
    }
    return entries;
}

static inline void walk_tree(const data_file *file, bytes root, visit_entry visit, void *context)
{
    unsigned depth = (unsigned)little(root, 6, 2);
    expect(little(root, 4, 2) == 0, "the flags of a database");
    uint64_t entries = depth != 0 ? walk_page(file, little(root, 40, 8), depth, visit, context) : 0;
    expect(entries == little(root, 32, 8), "the number of entries in a tree");
}

#endif
