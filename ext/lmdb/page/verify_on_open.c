#include "lmdb/page/verify_on_open.h"

#include "base/sqlite.h"
#include "lmdb/page/format.h"
#include "lmdb/page/walk.h"

enum {
    META_TRIES = 3,      /* a commit may be writing the meta page while we read it */
    FREE_LIST_PAGES = 64 /* of the list of free pages are verified, or a few more */
};

static const char FREE_LIST_NAME[] = "the list of free pages";

typedef struct verification {
    pt_lmdb_page_file file;
    const pt_lmdb_meta *meta;
    uint64_t pages_left; /* a tree that has more pages than this has one of them twice */
} verification;

static int fail_damaged_file(const char *path, const char *where, const char *what, pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q is damaged: %s %s; pt_check lists the damage; restore it from a "
                        "backup",
                        path, where, what);
}

static int fail_damaged_page(const char *path, uint64_t page, const char *what, pt_error *error)
{
    char where[32];
    sqlite3_snprintf((int)sizeof where, where, "page %lld", (sqlite3_int64)page);
    return fail_damaged_file(path, where, what, error);
}

/* --- Meta pages --- */

/* NULL, or what is wrong with meta page *number. */
static const char *judge_metas(const pt_lmdb_page_file *file, const pt_lmdb_metas *metas,
                               uint64_t *number)
{
    for (*number = 0; *number < PT_LMDB_METAS; (*number)++) {
        if (metas->wrong[*number] != NULL) {
            return metas->wrong[*number];
        }
    }
    const pt_lmdb_meta *newest = pt_lmdb_newest_meta(metas);
    *number = newest == &metas->metas[1] ? 1 : 0;
    return pt_lmdb_meta_judge(newest, *number, file->pages);
}

int pt_lmdb_verify_metas(int fd, const char *path, pt_error *error)
{
    pt_lmdb_page_file file = {.fd = fd, .path = path};
    pt_lmdb_metas metas;
    uint64_t number = 0;
    const char *wrong = NULL;
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK && (tries == 0 || wrong != NULL) && tries < META_TRIES;
         tries++) {
        rc = pt_lmdb_read_metas(&file, &metas, error);
        wrong = rc == SQLITE_OK ? judge_metas(&file, &metas, &number) : NULL;
    }
    return wrong == NULL ? rc : fail_damaged_page(path, number, wrong, error);
}

/* --- Trees --- */

/* Adds the text to SQLITE_CORRUPT, with which a walk ends at the first damaged page. */
static int explain_walk(const verification *self, const pt_lmdb_walk *walk, int rc, pt_error *error)
{
    if (rc != SQLITE_CORRUPT) {
        return rc;
    }
    char where[64];
    sqlite3_snprintf((int)sizeof where, where, "page %lld (%s)", (sqlite3_int64)walk->bad_page,
                     walk->name);
    return fail_damaged_file(self->file.path, where, walk->bad_what, error);
}

static int begin_walk(verification *self, pt_lmdb_walk *walk, const char *name,
                      const pt_lmdb_root *root, pt_lmdb_order order, bool counts_pages,
                      pt_error *error)
{
    const char *wrong = pt_lmdb_root_judge(root, self->file.last_page);
    const pt_lmdb_walk_listener listener = {.context = &self->pages_left,
                                            .claim =
                                                counts_pages ? pt_lmdb_walk_claim_number : NULL,
                                            .problem = pt_lmdb_walk_stop};
    self->pages_left = root->branch_pages + root->leaf_pages + root->overflow_pages;
    pt_lmdb_walk_begin(walk, &self->file, name, root, order, &listener);
    return wrong == NULL ? SQLITE_OK : fail_damaged_file(self->file.path, name, wrong, error);
}

/* Verifies the pages from the root to the first entry, and to the last one. */
static int verify_ends(verification *self, const char *name, const pt_lmdb_root *root,
                       pt_lmdb_order order, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found;
    int rc = begin_walk(self, &walk, name, root, order, false, error);
    walk.skips_values = true;
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_seek_last(&walk, error);
        }
        rc = explain_walk(self, &walk, rc, error);
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

static int verify_free_list(verification *self, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    const char *wrong = NULL;
    bool found = true;
    const pt_lmdb_root *root = &self->meta->free;
    int rc = begin_walk(self, &walk, FREE_LIST_NAME, root, pt_lmdb_compare_numbers, true, error);
    while (rc == SQLITE_OK && found && wrong == NULL &&
           walk.branch_pages + walk.leaf_pages + walk.overflow_pages <= FREE_LIST_PAGES) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found) {
            wrong = pt_lmdb_free_list_judge(&entry, self->meta);
        }
        rc = explain_walk(self, &walk, rc, error);
    }
    pt_lmdb_walk_end(&walk);
    if (rc == SQLITE_OK && wrong != NULL) {
        rc = fail_damaged_file(self->file.path, FREE_LIST_NAME, wrong, error);
    }
    return rc == SQLITE_OK ? verify_ends(self, FREE_LIST_NAME, root, pt_lmdb_compare_numbers, error)
                           : rc;
}

/* LMDB itself refuses a sub-database with flags, and a value that is not a root. */
static int verify_database(verification *self, const pt_lmdb_entry *entry, pt_error *error)
{
    pt_lmdb_root root;
    pt_format_database database;
    if (entry->flags != PT_LMDB_ENTRY_ROOT || !pt_format_find_database(entry->key, &database)) {
        return SQLITE_OK;
    }
    const char *name = pt_format_database_name(database);
    if (entry->value.size != PT_LMDB_ROOT_SIZE) {
        return fail_damaged_file(self->file.path, name, "has a root of an impossible size", error);
    }
    pt_lmdb_root_read(entry->value.data, &root);
    return root.flags == 0 ? verify_ends(self, name, &root, pt_slice_compare, error) : SQLITE_OK;
}

/* Sets *found = true if the main database has a store's header. Valid only with SQLITE_OK. */
static int find_header(verification *self, bool *found, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry = {0};
    pt_slice header = pt_format_header_key();
    int rc =
        begin_walk(self, &walk, "main database", &self->meta->main, pt_slice_compare, false, error);
    *found = false;
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_seek(&walk, header, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_next(&walk, &entry, found, error);
        }
        rc = explain_walk(self, &walk, rc, error);
    }
    *found = *found && pt_slice_equal(entry.key, header) &&
             pt_format_read_header(entry.value) != PT_FORMAT_FOREIGN;
    pt_lmdb_walk_end(&walk);
    return rc;
}

static int verify_main(verification *self, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found = true;
    int rc =
        begin_walk(self, &walk, "main database", &self->meta->main, pt_slice_compare, true, error);
    while (rc == SQLITE_OK && found) {
        rc = explain_walk(self, &walk, pt_lmdb_walk_next(&walk, &entry, &found, error), error);
        if (rc == SQLITE_OK && found) {
            /* The walks of verify_database count pages too; this walk is not over. */
            uint64_t pages_left = self->pages_left;
            rc = verify_database(self, &entry, error);
            self->pages_left = pages_left;
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

int pt_lmdb_verify_trees(int fd, const char *path, uint64_t version, bool *again, pt_error *error)
{
    verification self = {.file = {.fd = fd, .path = path}};
    pt_lmdb_metas metas;
    uint64_t number = version % PT_LMDB_METAS;
    int rc = pt_lmdb_read_metas(&self.file, &metas, error);
    *again =
        rc == SQLITE_OK && (metas.wrong[number] != NULL || metas.metas[number].version != version);
    if (rc != SQLITE_OK || *again || metas.metas[number].main.flags != 0) {
        return rc;
    }
    self.meta = &metas.metas[number];
    const char *wrong = pt_lmdb_meta_judge(self.meta, number, self.file.pages);
    if (wrong != NULL) {
        return fail_damaged_page(path, number, wrong, error);
    }
    uint64_t last = pt_lmdb_last_whole_page(&self.file);
    self.file.last_page = self.meta->last_page < last ? self.meta->last_page : last;
    /* Only a store is verified: another program's file has other rules, and is refused later. */
    bool is_store = false;
    rc = find_header(&self, &is_store, error);
    if (rc == SQLITE_OK && is_store) {
        rc = verify_main(&self, error);
        if (rc == SQLITE_OK) {
            rc = verify_free_list(&self, error);
        }
    }
    return rc;
}

/* --- Pages missing at the end --- */

/* Counts the missing pages in the list of free pages. */
static int count_free_missing(verification *self, uint64_t *count, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found = true;
    int rc = SQLITE_OK;
    const pt_lmdb_walk_listener listener = {.context = &self->pages_left,
                                            .claim = pt_lmdb_walk_claim_number,
                                            .problem = pt_lmdb_walk_stop};
    self->pages_left = self->file.pages; /* the list has no more pages than the file */
    pt_lmdb_walk_begin(&walk, &self->file, FREE_LIST_NAME, &self->meta->free,
                       pt_lmdb_compare_numbers, &listener);
    while (rc == SQLITE_OK && found) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found) {
            rc = pt_lmdb_free_list_judge(&entry, self->meta) == NULL ? SQLITE_OK : SQLITE_CORRUPT;
        }
        uint64_t listed = rc == SQLITE_OK && found ? pt_lmdb_free_list_count(&entry) : 0;
        for (uint64_t i = 0; i < listed; i++) {
            *count += pt_lmdb_free_list_page(&entry, i) >= self->file.pages ? 1 : 0;
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

int pt_lmdb_missing_pages_are_free(int fd, const char *path, bool *are_free, pt_error *error)
{
    verification self = {.file = {.fd = fd, .path = path}};
    pt_lmdb_metas metas;
    uint64_t free_missing = 0;
    *are_free = false;
    int rc = pt_lmdb_read_metas(&self.file, &metas, error);
    self.meta = rc == SQLITE_OK ? pt_lmdb_newest_meta(&metas) : NULL;
    if (self.meta == NULL) {
        return rc;
    }
    uint64_t last = self.meta->last_page;
    self.file.last_page = last;
    if (self.file.pages <= last) {
        rc = pt_lmdb_root_judge(&self.meta->free, last) == NULL
                 ? count_free_missing(&self, &free_missing, error)
                 : SQLITE_CORRUPT;
    }
    *are_free = rc == SQLITE_OK && self.file.pages + free_missing > last;
    return rc == SQLITE_CORRUPT ? SQLITE_OK : rc;
}
