#include "lmdb/page/walk.h"

#include "base/sqlite.h"

void pt_lmdb_walk_begin(pt_lmdb_walk *walk, const pt_lmdb_page_file *file, const char *name,
                        const pt_lmdb_root *root, pt_lmdb_order order,
                        const pt_lmdb_walk_listener *listener)
{
    *walk = (pt_lmdb_walk){
        .file = file, .name = name, .root = *root, .order = order, .listener = *listener};
}

void pt_lmdb_walk_end(pt_lmdb_walk *walk)
{
    for (unsigned i = 0; i < PT_LMDB_DEPTH_LIMIT; i++) {
        sqlite3_free(walk->levels[i].bytes);
    }
    pt_buffer_free(&walk->value);
    *walk = (pt_lmdb_walk){0};
}

static int report_bad_page(pt_lmdb_walk *walk, uint64_t page, const char *what, pt_slice low,
                           pt_slice high)
{
    walk->problems++;
    walk->bad_page = page;
    walk->bad_what = what;
    return walk->listener.problem(walk->listener.context, walk, page, what, low, high);
}

static bool claim_for_walk(const pt_lmdb_walk *walk, uint64_t first, uint64_t count)
{
    return walk->listener.claim == NULL ||
           walk->listener.claim(walk->listener.context, first, count);
}

static bool are_in_file(const pt_lmdb_walk *walk, uint64_t first, uint64_t count)
{
    uint64_t last = walk->file->last_page;
    return first >= PT_LMDB_METAS && first <= last && count <= last - first + 1;
}

bool pt_lmdb_walk_claim_number(void *pages_left, uint64_t first, uint64_t count)
{
    uint64_t *left = pages_left;
    (void)first;
    bool enough = count <= *left;
    *left -= enough ? count : 0;
    return enough;
}

int pt_lmdb_walk_stop(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                      pt_slice low, pt_slice high)
{
    (void)context;
    (void)walk;
    (void)page;
    (void)what;
    (void)low;
    (void)high;
    return SQLITE_CORRUPT;
}

/* --- Levels --- */

/* True if the keys of a level's page are within its bounds. The first key of a branch is not used,
 * so it is not compared. */
static bool is_within_bounds(const pt_lmdb_walk *walk, const pt_lmdb_level *level)
{
    unsigned first = level->page.is_leaf ? 0 : 1;
    unsigned count = level->page.count;
    if (first >= count) {
        return true;
    }
    return (level->low.size == 0 ||
            walk->order(pt_lmdb_page_entry(&level->page, first).key, level->low) >= 0) &&
           (level->high.size == 0 ||
            walk->order(pt_lmdb_page_entry(&level->page, count - 1).key, level->high) < 0);
}

/* Checks the page of a level against its place in the tree. LMDB keeps at least two children on
 * each branch, except in the list of free pages. */
static const char *judge_level(const pt_lmdb_walk *walk, const pt_lmdb_level *level, bool is_last)
{
    if (level->page.is_leaf != is_last) {
        return "lies too high or too deep in its tree";
    }
    if (!is_last && level->page.count < 2 && walk->order != pt_lmdb_compare_numbers) {
        return "has only one child";
    }
    return is_within_bounds(walk, level) ? NULL : "has keys that belong on another page";
}

/* Reads and verifies the page of a level. *what: NULL, or what is wrong with the page. */
static int load_level(const pt_lmdb_walk *walk, pt_lmdb_level *level, uint64_t number, bool is_last,
                      const char **what, pt_error *error)
{
    bool there = false;
    level->number = 0;
    if (level->bytes == NULL) {
        level->bytes = sqlite3_malloc64(walk->file->page_size);
    }
    if (level->bytes == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_lmdb_read_pages(walk->file, number, 1, level->bytes, &there, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    *what = there ? pt_lmdb_page_open(&level->page, level->bytes, walk->file->page_size, number,
                                      walk->order)
                  : "is missing: the file ends before it";
    if (*what == NULL) {
        *what = judge_level(walk, level, is_last);
    }
    level->number = *what == NULL ? number : 0;
    return SQLITE_OK;
}

/* Goes one level down, to a page with keys in these bounds. If the page is damaged, reports that
 * and stays where it was. */
static int push_level(pt_lmdb_walk *walk, uint64_t number, pt_slice low, pt_slice high,
                      pt_error *error)
{
    pt_lmdb_level *level = &walk->levels[walk->depth];
    const char *what = NULL;
    bool is_last = walk->depth + 1u == walk->root.depth;
    /* Seeking meets the same upper pages again. With a `claim` no page is read twice. */
    bool is_loaded = level->number == number && walk->listener.claim == NULL;
    level->low = low;
    level->high = high;
    level->next = 0;
    if (!are_in_file(walk, number, 1)) {
        what = "is not one of the file's pages";
    } else if (!claim_for_walk(walk, number, 1)) {
        what = "is also in use elsewhere";
    } else if (!is_loaded) {
        int rc = load_level(walk, level, number, is_last, &what, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    if (what != NULL) {
        return report_bad_page(walk, number, what, low, high);
    }
    uint64_t *pages = is_last ? &walk->leaf_pages : &walk->branch_pages;
    (*pages)++;
    walk->depth++;
    return SQLITE_OK;
}

/* Goes down to the next child of the deepest level. */
static int push_child(pt_lmdb_walk *walk, pt_error *error)
{
    pt_lmdb_level *level = &walk->levels[walk->depth - 1];
    unsigned at = level->next++;
    pt_lmdb_entry entry = pt_lmdb_page_entry(&level->page, at);
    bool is_last = at + 1 == level->page.count;
    pt_slice high = is_last ? level->high : pt_lmdb_page_entry(&level->page, at + 1).key;
    return push_level(walk, entry.child, at == 0 ? level->low : entry.key, high, error);
}

static int push_root(pt_lmdb_walk *walk, pt_error *error)
{
    if (walk->root.page == PT_LMDB_NO_PAGE) {
        return SQLITE_OK;
    }
    return push_level(walk, walk->root.page, (pt_slice){0}, (pt_slice){0}, error);
}

/* --- Entries --- */

/* Reads a value from its overflow pages. *whole = false: a page is damaged, and was reported. */
static int read_overflow_value(pt_lmdb_walk *walk, pt_lmdb_entry *entry, bool *whole,
                               pt_error *error)
{
    uint64_t first = pt_get_le64(entry->value.data);
    uint64_t count = pt_lmdb_overflow_pages(entry->value_size, walk->file->page_size);
    const char *what = NULL;
    bool there = true;
    if (!are_in_file(walk, first, count)) {
        what = "begins a long value, but is not one of the file's pages";
    } else if (!claim_for_walk(walk, first, count)) {
        what = "is also in use elsewhere";
    } else if (!walk->skips_values) {
        pt_buffer_clear(&walk->value);
        uint8_t *bytes = pt_buffer_extend(&walk->value, (size_t)count * walk->file->page_size);
        if (bytes == NULL) {
            return pt_error_nomem(error);
        }
        int rc = pt_lmdb_read_pages(walk->file, first, count, bytes, &there, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
        what = there ? pt_lmdb_overflow_judge(bytes, first, count)
                     : "is missing: the file ends before it";
        entry->value = pt_slice_of(bytes + PT_LMDB_PAGE_HEADER, (size_t)entry->value_size);
    }
    walk->overflow_pages += count;
    *whole = what == NULL;
    return *whole ? SQLITE_OK : report_bad_page(walk, first, what, entry->key, entry->key);
}

/* Moves to the next leaf with an entry that was not yet read; depth 0 at the end of the tree. */
static int find_leaf(pt_lmdb_walk *walk, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && walk->depth != 0) {
        const pt_lmdb_level *level = &walk->levels[walk->depth - 1];
        if (level->next == level->page.count) {
            walk->depth--;
        } else if (level->page.is_leaf) {
            return SQLITE_OK;
        } else {
            rc = push_child(walk, error);
        }
    }
    return rc;
}

int pt_lmdb_walk_next(pt_lmdb_walk *walk, pt_lmdb_entry *entry, bool *found, pt_error *error)
{
    /* Without a page and without a problem: a damaged root must not be read again and again. */
    bool begins = walk->leaf_pages + walk->branch_pages == 0 && walk->problems == 0;
    int rc = begins ? push_root(walk, error) : SQLITE_OK;
    *found = false;
    while (rc == SQLITE_OK && !*found) {
        rc = find_leaf(walk, error);
        if (rc != SQLITE_OK || walk->depth == 0) {
            break;
        }
        pt_lmdb_level *leaf = &walk->levels[walk->depth - 1];
        *entry = pt_lmdb_page_entry(&leaf->page, leaf->next++);
        *found = true;
        walk->entries++;
        if (entry->flags == PT_LMDB_ENTRY_BIG) {
            rc = read_overflow_value(walk, entry, found, error);
        }
    }
    return rc;
}

/* --- Seeking --- */

/* Leaf: the first entry whose key is not less than this one. Branch: the child on the way there. */
static unsigned find_entry_at_or_after(const pt_lmdb_walk *walk, const pt_lmdb_page *page,
                                       pt_slice key)
{
    unsigned low = page->is_leaf ? 0 : 1;
    unsigned high = page->count;
    while (low < high) {
        unsigned middle = low + (high - low) / 2;
        int order = walk->order(pt_lmdb_page_entry(page, middle).key, key);
        if (order < 0 || (order == 0 && !page->is_leaf)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return page->is_leaf ? low : low - 1;
}

/* Goes down from the root to a leaf, on each level to the entry for `key`, or the last if NULL. */
static int descend_to_leaf(pt_lmdb_walk *walk, const pt_slice *key, pt_error *error)
{
    int64_t problems = walk->problems;
    walk->depth = 0;
    int rc = push_root(walk, error);
    /* Ends at a damaged child too: pt_lmdb_walk_next goes on after it. */
    while (rc == SQLITE_OK && walk->depth != 0 && walk->problems == problems) {
        pt_lmdb_level *level = &walk->levels[walk->depth - 1];
        level->next =
            key != NULL ? find_entry_at_or_after(walk, &level->page, *key) : level->page.count - 1;
        if (level->page.is_leaf) {
            break;
        }
        rc = push_child(walk, error);
    }
    return rc;
}

int pt_lmdb_walk_seek(pt_lmdb_walk *walk, pt_slice key, pt_error *error)
{
    return descend_to_leaf(walk, &key, error);
}

int pt_lmdb_walk_seek_last(pt_lmdb_walk *walk, pt_error *error)
{
    return descend_to_leaf(walk, NULL, error);
}

const char *pt_lmdb_walk_judge(const pt_lmdb_walk *walk)
{
    const pt_lmdb_root *root = &walk->root;
    if (root->entries != walk->entries) {
        return "has a different number of entries than its root says";
    }
    return root->branch_pages == walk->branch_pages && root->leaf_pages == walk->leaf_pages &&
                   root->overflow_pages == walk->overflow_pages
               ? NULL
               : "has a different number of pages than its root says";
}
