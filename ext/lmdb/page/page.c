#include "lmdb/page/page.h"

enum {
    META_MAGIC_AT = 16,
    META_VERSION_AT = 20,
    META_FREE_ROOT_AT = 40,
    META_MAIN_ROOT_AT = 88,
    META_LAST_PAGE_AT = 136,
    DATA_VERSION = 1,
    MISSING_PAGES_MAX = 65536, /* in a small file; see is_possible_last_page */
    BIG_VALUE_SIZE = 8,        /* bytes in the page that stand for a value on overflow pages */
    FREE_LIST_FLAGS = 8,       /* MDB_INTEGERKEY */
    FLAG_NO_FOLDER = 0x4000,   /* MDB_NOSUBDIR, kept in the flags of the list of free pages */
    NUMBER_SIZE = 8,
    UNITS_MAX = PT_LMDB_PAGE_MAX / 2, /* entries begin at even offsets */
    UNITS_IN_WORD = 64,
};

#define META_MAGIC UINT32_C(0xBEEFC0DE)

/* --- Meta pages --- */

void pt_lmdb_root_read(const uint8_t bytes[PT_LMDB_ROOT_SIZE], pt_lmdb_root *root)
{
    *root = (pt_lmdb_root){
        .flags = pt_get_le16(bytes + 4),
        .depth = pt_get_le16(bytes + 6),
        .branch_pages = pt_get_le64(bytes + 8),
        .leaf_pages = pt_get_le64(bytes + 16),
        .overflow_pages = pt_get_le64(bytes + 24),
        .entries = pt_get_le64(bytes + 32),
        .page = pt_get_le64(bytes + 40),
    };
}

static bool is_page_size(uint32_t size)
{
    return size >= PT_LMDB_PAGE_MIN && size <= PT_LMDB_PAGE_MAX && (size & (size - 1)) == 0;
}

const char *pt_lmdb_meta_read(const uint8_t *bytes, uint64_t number, pt_lmdb_meta *meta)
{
    if (pt_get_le32(bytes + META_MAGIC_AT) != META_MAGIC) {
        return "is not a meta page: it does not have LMDB's magic number";
    }
    if (pt_get_le16(bytes + PT_LMDB_PAGE_FLAGS_AT) != PT_LMDB_PAGE_META ||
        pt_get_le64(bytes) != number) {
        return "is not a meta page: its header is that of another page";
    }
    if (pt_get_le32(bytes + META_VERSION_AT) != DATA_VERSION) {
        return "is a meta page of another version of LMDB";
    }
    meta->page_size = pt_get_le32(bytes + META_FREE_ROOT_AT);
    if (!is_page_size(meta->page_size)) {
        return "gives an impossible page size";
    }
    pt_lmdb_root_read(bytes + META_FREE_ROOT_AT, &meta->free);
    pt_lmdb_root_read(bytes + META_MAIN_ROOT_AT, &meta->main);
    if ((meta->free.flags & ~(unsigned)FLAG_NO_FOLDER) != FREE_LIST_FLAGS) {
        return "has flags that no store has";
    }
    meta->last_page = pt_get_le64(bytes + META_LAST_PAGE_AT);
    meta->version = pt_get_le64(bytes + PT_LMDB_META_COMMIT_AT);
    return NULL;
}

const char *pt_lmdb_root_judge(const pt_lmdb_root *root, uint64_t last_page)
{
    bool empty = root->page == PT_LMDB_NO_PAGE;
    if (empty != (root->depth == 0) || empty != (root->entries == 0) ||
        empty != (root->leaf_pages == 0) || root->depth > PT_LMDB_DEPTH_LIMIT) {
        return "has an impossible root: its numbers contradict each other";
    }
    if (!empty && (root->page < PT_LMDB_METAS || root->page > last_page)) {
        return "has a root that is not one of the file's pages";
    }
    if (root->branch_pages > last_page || root->leaf_pages > last_page ||
        root->overflow_pages > last_page) {
        return "has an impossible root: it has more pages than the file";
    }
    return NULL;
}

/* A file may lack pages that its last commits allocated and freed again, but not most of its pages,
 * unless it is small. */
static bool is_possible_last_page(uint64_t last_page, uint64_t pages)
{
    return last_page >= PT_LMDB_METAS - 1 && last_page / 2 <= pages + MISSING_PAGES_MAX;
}

const char *pt_lmdb_meta_judge(const pt_lmdb_meta *meta, uint64_t number, uint64_t pages)
{
    if (!is_possible_last_page(meta->last_page, pages)) {
        return "counts more pages than the file has: part of the file is missing";
    }
    if (meta->version % PT_LMDB_METAS != number) {
        return "has the number of a commit that belongs on the other meta page";
    }
    const char *wrong = pt_lmdb_root_judge(&meta->free, meta->last_page);
    return wrong != NULL ? wrong : pt_lmdb_root_judge(&meta->main, meta->last_page);
}

const char *pt_lmdb_free_list_judge(const pt_lmdb_entry *entry, const pt_lmdb_meta *meta)
{
    uint64_t commit = pt_get_le64(entry->key.data);
    if (commit == 0 || commit > meta->version) {
        return "has an entry of a commit that does not exist";
    }
    if (entry->flags > PT_LMDB_ENTRY_BIG || entry->value.size < NUMBER_SIZE ||
        pt_lmdb_free_list_count(entry) > entry->value.size / NUMBER_SIZE - 1) {
        return "has an entry that is not a list";
    }
    uint64_t before = meta->last_page + 1;
    for (uint64_t i = 0; i < pt_lmdb_free_list_count(entry); i++) {
        uint64_t page = pt_lmdb_free_list_page(entry, i);
        if (page < PT_LMDB_METAS || page >= before) {
            return "has a page number that is out of range or out of order";
        }
        before = page;
    }
    return NULL;
}

/* --- Branch and leaf pages --- */

int pt_lmdb_compare_numbers(pt_slice a, pt_slice b)
{
    uint64_t left = pt_get_le64(a.data);
    uint64_t right = pt_get_le64(b.data);
    return (left > right) - (left < right);
}

static const uint8_t *entry_at(const pt_lmdb_page *page, unsigned index)
{
    return page->bytes +
           pt_get_le16(page->bytes + PT_LMDB_PAGE_HEADER + (size_t)index * PT_LMDB_PAGE_SLOT);
}

/* Keys are not empty, except the first one of a branch page, which is not used. */
static bool is_possible_key_size(const pt_lmdb_page *page, unsigned index, size_t size,
                                 pt_lmdb_order order)
{
    if (!page->is_leaf && index == 0) {
        return size <= PT_LMDB_KEY_MAX;
    }
    return order == pt_lmdb_compare_numbers ? size == NUMBER_SIZE
                                            : size != 0 && size <= PT_LMDB_KEY_MAX;
}

/* Marks the units of 2 bytes that an entry covers; false if another entry covers one of them. */
static bool mark_units(uint64_t *marked, size_t first, size_t count)
{
    uint64_t before = 0;
    for (size_t unit = first; unit < first + count;) {
        size_t bit = unit % UNITS_IN_WORD;
        size_t run = UNITS_IN_WORD - bit;
        run = run < first + count - unit ? run : first + count - unit;
        uint64_t mask = (run == UNITS_IN_WORD ? UINT64_MAX : (UINT64_C(1) << run) - 1) << bit;
        before |= marked[unit / UNITS_IN_WORD] & mask;
        marked[unit / UNITS_IN_WORD] |= mask;
        unit += run;
    }
    return before == 0;
}

static const char *judge_entry(const pt_lmdb_page *page, unsigned index, size_t upper,
                               pt_lmdb_order order, size_t *size)
{
    size_t at = (size_t)(entry_at(page, index) - page->bytes);
    if (at < upper || at % 2 != 0 || at + PT_LMDB_ENTRY_HEADER > page->size) {
        return "has an entry outside its bounds";
    }
    const uint8_t *entry = page->bytes + at; /* its header lies in the page */
    size_t key_size = pt_get_le16(entry + PT_LMDB_ENTRY_KEY_SIZE_AT);
    uint64_t value_size = 0;
    if (!is_possible_key_size(page, index, key_size, order)) {
        return "has a key of an impossible size";
    }
    if (page->is_leaf) {
        unsigned flags = pt_get_le16(entry + PT_LMDB_ENTRY_FLAGS_AT);
        if (flags > PT_LMDB_ENTRY_ROOT) {
            return "has an entry with flags that no store has";
        }
        value_size = flags == PT_LMDB_ENTRY_BIG ? BIG_VALUE_SIZE : pt_get_le32(entry);
    }
    uint64_t whole = PT_LMDB_ENTRY_HEADER + key_size + value_size;
    whole += whole % 2;
    if (whole > page->size - at) {
        return "has an entry that goes beyond its end";
    }
    *size = (size_t)whole;
    return NULL;
}

static const char *judge_entries(const pt_lmdb_page *page, size_t upper, pt_lmdb_order order)
{
    uint64_t marked[UNITS_MAX / UNITS_IN_WORD];
    size_t sum = 0;
    memset(marked, 0, page->size / 2 / 8);
    for (unsigned i = 0; i < page->count; i++) {
        size_t size = 0;
        const char *wrong = judge_entry(page, i, upper, order, &size);
        if (wrong != NULL) {
            return wrong;
        }
        size_t at = (size_t)(entry_at(page, i) - page->bytes);
        if (!mark_units(marked, at / 2, size / 2)) {
            return "has entries that overlap";
        }
        sum += size;
    }
    return sum == page->size - upper ? NULL : "has gaps between its entries";
}

static const char *judge_order(const pt_lmdb_page *page, pt_lmdb_order order)
{
    unsigned first = page->is_leaf ? 0 : 1;
    for (unsigned i = first + 1; i < page->count; i++) {
        pt_slice before = pt_lmdb_page_entry(page, i - 1).key;
        pt_slice key = pt_lmdb_page_entry(page, i).key;
        if (order(before, key) >= 0) {
            return "has keys that are not in order";
        }
    }
    return NULL;
}

const char *pt_lmdb_page_open(pt_lmdb_page *page, const uint8_t *bytes, size_t size,
                              uint64_t number, pt_lmdb_order order)
{
    unsigned flags = pt_get_le16(bytes + PT_LMDB_PAGE_FLAGS_AT);
    size_t lower = pt_get_le16(bytes + PT_LMDB_PAGE_LOWER_AT);
    size_t upper = pt_get_le16(bytes + PT_LMDB_PAGE_UPPER_AT);
    if (pt_get_le64(bytes) != number) {
        return "is the wrong page: it has the number of another one";
    }
    if (flags != PT_LMDB_PAGE_BRANCH && flags != PT_LMDB_PAGE_LEAF) {
        return "is neither a branch nor a leaf";
    }
    if (lower <= PT_LMDB_PAGE_HEADER || lower % PT_LMDB_PAGE_SLOT != 0 || lower > upper ||
        upper > size) {
        return "has an impossible header";
    }
    *page = (pt_lmdb_page){.bytes = bytes,
                           .size = size,
                           .count = (unsigned)(lower - PT_LMDB_PAGE_HEADER) / PT_LMDB_PAGE_SLOT,
                           .is_leaf = flags == PT_LMDB_PAGE_LEAF};
    /* judge_order trusts the bounds of the entries, so these come first. */
    const char *wrong = judge_entries(page, upper, order);
    return wrong != NULL ? wrong : judge_order(page, order);
}

pt_lmdb_entry pt_lmdb_page_entry(const pt_lmdb_page *page, unsigned index)
{
    const uint8_t *entry = entry_at(page, index);
    size_t key_size = pt_get_le16(entry + PT_LMDB_ENTRY_KEY_SIZE_AT);
    uint64_t low = pt_get_le32(entry);
    uint16_t flags = pt_get_le16(entry + PT_LMDB_ENTRY_FLAGS_AT);
    const uint8_t *key = entry + PT_LMDB_ENTRY_HEADER;
    if (!page->is_leaf) {
        return (pt_lmdb_entry){.key = pt_slice_of(key, index == 0 ? 0 : key_size),
                               .child = low | (uint64_t)flags << 32};
    }
    size_t in_page = flags == PT_LMDB_ENTRY_BIG ? BIG_VALUE_SIZE : (size_t)low;
    return (pt_lmdb_entry){.key = pt_slice_of(key, key_size),
                           .flags = flags,
                           .value_size = low,
                           .value = pt_slice_of(key + key_size, in_page)};
}

const char *pt_lmdb_overflow_judge(const uint8_t *bytes, uint64_t number, uint64_t count)
{
    if (pt_get_le64(bytes) != number ||
        pt_get_le16(bytes + PT_LMDB_PAGE_FLAGS_AT) != PT_LMDB_PAGE_OVERFLOW) {
        return "is not the first page of a long value";
    }
    return pt_get_le32(bytes + PT_LMDB_PAGE_LOWER_AT) == count
               ? NULL
               : "begins a run with a different number of pages than its value needs";
}
