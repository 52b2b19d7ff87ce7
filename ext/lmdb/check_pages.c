#include "lmdb/check_pages.h"

#include "base/sqlite.h"
#include "lmdb/page/walk.h"

/* --- The bitmap --- */

bool pt_lmdb_check_pages_begin(pt_lmdb_checking *checking)
{
    uint64_t pages = checking->file.last_page + 1;
    size_t size = (size_t)(pages / 8 + 1);
    uint8_t *bits = sqlite3_malloc64(2 * size);
    if (bits == NULL) {
        return false;
    }
    memset(bits, 0, 2 * size);
    checking->bitmap = (pt_lmdb_page_bitmap){.pages = pages, .used = bits, .free = bits + size};
    return true;
}

void pt_lmdb_check_pages_end(pt_lmdb_checking *checking)
{
    sqlite3_free(checking->bitmap.used);
    checking->bitmap = (pt_lmdb_page_bitmap){0};
}

static bool has_page(const uint8_t *bits, uint64_t page)
{
    return (bits[page / 8] >> page % 8 & 1) != 0;
}

static void add_page(uint8_t *bits, uint64_t page)
{
    bits[page / 8] = (uint8_t)(bits[page / 8] | 1u << page % 8);
}

/* --- Trees --- */

static void report_used_and_free(const pt_lmdb_checking *checking, uint64_t page)
{
    pt_check_problem(checking->report,
                     "page %lld is in use, and in the list of free pages too: later commits may "
                     "overwrite it",
                     (sqlite3_int64)page);
}

/* A listener's `claim`: marks pages as used. False, with none of them marked, if one already is. */
static bool claim_pages(void *context, uint64_t first, uint64_t count)
{
    pt_lmdb_checking *checking = context;
    /* Such a page may still have its old content, so it is read all the same. */
    for (uint64_t page = first; page < first + count; page++) {
        if (has_page(checking->bitmap.free, page)) {
            report_used_and_free(checking, page);
        }
    }
    for (uint64_t page = first; page < first + count; page++) {
        if (has_page(checking->bitmap.used, page)) {
            return false;
        }
    }
    for (uint64_t page = first; page < first + count; page++) {
        add_page(checking->bitmap.used, page);
    }
    return true;
}

static bool has_logical_keys(const pt_lmdb_walk *walk)
{
    pt_format_database database;
    return pt_format_find_database(pt_slice_text(walk->name), &database) &&
           (database == PT_FORMAT_ENTITIES || database == PT_FORMAT_CHUNKS);
}

/* One end of a range of lost keys, from sqlite3_malloc. */
static char *describe_bound(const pt_lmdb_checking *checking, pt_slice key, const char *open)
{
    return key.size == 0 ? sqlite3_mprintf("%s", open)
                         : checking->visitor->describe(checking->visitor->context, key);
}

static int report_page(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                       pt_slice low, pt_slice high)
{
    pt_lmdb_checking *checking = context;
    checking->complete = false;
    if (!pt_check_shows_more(checking->report) || !has_logical_keys(walk)) {
        pt_check_problem(checking->report, "page %lld (%s) %s", (sqlite3_int64)page, walk->name,
                         what);
        return SQLITE_OK;
    }
    char *from = describe_bound(checking, low, "the beginning");
    char *to = describe_bound(checking, high, "the end");
    int rc = from != NULL && to != NULL ? SQLITE_OK : SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        pt_check_problem(checking->report,
                         "page %lld (%s) %s; its contents are lost: from %s to %s",
                         (sqlite3_int64)page, walk->name, what, from, to);
    }
    sqlite3_free(from);
    sqlite3_free(to);
    return rc;
}

int pt_lmdb_check_go_on(pt_lmdb_checking *checking, pt_error *error)
{
    enum { ENTRIES_BETWEEN_QUESTIONS = 8192 };
    if (++checking->entries < ENTRIES_BETWEEN_QUESTIONS) {
        return SQLITE_OK;
    }
    checking->entries = 0;
    return checking->watch != NULL && checking->watch->is_over(checking->watch->context)
               ? pt_error_set(error, SQLITE_INTERRUPT, "checking store %Q was interrupted",
                              checking->file.path)
               : SQLITE_OK;
}

static int take_entries(pt_lmdb_checking *checking, pt_lmdb_walk *walk, pt_lmdb_take_entry take,
                        void *context, pt_error *error)
{
    pt_lmdb_entry entry;
    bool found;
    int rc = pt_lmdb_walk_next(walk, &entry, &found, error);
    while (rc == SQLITE_OK && found) {
        rc = take(context, &entry, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_check_go_on(checking, error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_next(walk, &entry, &found, error);
        }
    }
    return rc;
}

int pt_lmdb_check_tree(pt_lmdb_checking *checking, const char *name, const pt_lmdb_root *root,
                       pt_lmdb_order order, pt_lmdb_take_entry take, void *context, pt_error *error)
{
    const char *wrong = pt_lmdb_root_judge(root, checking->file.last_page);
    if (wrong != NULL) {
        checking->complete = false;
        pt_check_problem(checking->report, "the record of the sub-database %s %s", name, wrong);
        return SQLITE_OK;
    }
    pt_lmdb_walk walk;
    const pt_lmdb_walk_listener listener = {
        .context = checking, .claim = claim_pages, .problem = report_page};
    pt_lmdb_walk_begin(&walk, &checking->file, name, root, order, &listener);
    int rc = take_entries(checking, &walk, take, context, error);
    /* Entries and pages that were skipped would make the numbers wrong too. */
    if (rc == SQLITE_OK && walk.problems == 0) {
        wrong = pt_lmdb_walk_judge(&walk);
        if (wrong != NULL) {
            pt_check_problem(checking->report, "the sub-database %s %s", name, wrong);
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

int pt_lmdb_check_database(pt_lmdb_checking *checking, pt_format_database database,
                           pt_lmdb_take_entry take, void *context, pt_error *error)
{
    return checking->has_root[database]
               ? pt_lmdb_check_tree(checking, pt_format_database_name(database),
                                    &checking->roots[database], pt_slice_compare, take, context,
                                    error)
               : SQLITE_OK;
}

/* --- Free and lost pages --- */

static int take_free_pages(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    pt_lmdb_checking *checking = context;
    (void)error;
    const char *wrong = pt_lmdb_free_list_judge(entry, &checking->meta);
    if (wrong != NULL) {
        pt_check_problem(checking->report,
                         "the list of free pages %s: later commits may overwrite pages in use",
                         wrong);
        return SQLITE_OK;
    }
    for (uint64_t i = 0; i < pt_lmdb_free_list_count(entry); i++) {
        uint64_t page = pt_lmdb_free_list_page(entry, i);
        if (has_page(checking->bitmap.free, page)) {
            pt_check_problem(checking->report,
                             "page %lld is in the list of free pages twice: later commits may use "
                             "it for two things",
                             (sqlite3_int64)page);
        }
        add_page(checking->bitmap.free, page);
    }
    return SQLITE_OK;
}

int pt_lmdb_check_free_list(pt_lmdb_checking *checking, pt_error *error)
{
    const pt_lmdb_page_bitmap *bitmap = &checking->bitmap;
    int rc = pt_lmdb_check_tree(checking, "list of free pages", &checking->meta.free,
                                pt_lmdb_compare_numbers, take_free_pages, checking, error);
    /* The list's own pages were claimed before its entries were known. */
    for (uint64_t page = 0; rc == SQLITE_OK && page < bitmap->pages; page++) {
        if (has_page(bitmap->free, page) && has_page(bitmap->used, page)) {
            report_used_and_free(checking, page);
        }
    }
    return rc;
}

void pt_lmdb_check_lost_pages(const pt_lmdb_checking *checking)
{
    const pt_lmdb_page_bitmap *bitmap = &checking->bitmap;
    uint64_t first = 0;
    uint64_t lost = 0;
    for (uint64_t page = PT_LMDB_METAS; page < bitmap->pages; page++) {
        if (!has_page(bitmap->used, page) && !has_page(bitmap->free, page)) {
            first = lost == 0 ? page : first;
            lost++;
        }
    }
    if (lost != 0) {
        pt_check_problem(checking->report,
                         "%lld page%s neither in use nor in the list of free pages (page %lld is "
                         "the first): the room is lost until the store is compacted",
                         (sqlite3_int64)lost, lost == 1 ? " is" : "s are", (sqlite3_int64)first);
    }
}
