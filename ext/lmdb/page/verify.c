#include "lmdb/page/verify.h"

#include "base/sqlite.h"
#include "lmdb/page/format.h"
#include "lmdb/page/walk.h"

enum {
    META_TRIES = 3,      /* one may be met while a commit writes it */
    FREE_LIST_PAGES = 64 /* that are looked at, or a few more */
};

typedef struct verification {
    pt_lmdb_file file;
    const pt_lmdb_meta *meta;
    uint64_t pages_left; /* before it must have met one twice */
} verification;

static int fail(const char *path, const char *where, const char *what, pt_error *error)
{
    return pt_error_set(error, SQLITE_CORRUPT,
                        "store %Q is damaged: %s %s; restore it from a backup, or see what "
                        "pt_check says",
                        path, where, what);
}

static int fail_page(const char *path, uint64_t page, const char *what, pt_error *error)
{
    char where[32];
    sqlite3_snprintf((int)sizeof where, where, "page %lld", (sqlite3_int64)page);
    return fail(path, where, what, error);
}

/* --- Meta pages --- */

static const char *judge_metas(const pt_lmdb_file *file, const pt_lmdb_metas *metas,
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
    pt_lmdb_file file = {.fd = fd, .path = path};
    pt_lmdb_metas metas;
    uint64_t number = 0;
    const char *wrong = NULL;
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK && (tries == 0 || wrong != NULL) && tries < META_TRIES;
         tries++) {
        rc = pt_lmdb_file_metas(&file, &metas, error);
        wrong = rc == SQLITE_OK ? judge_metas(&file, &metas, &number) : NULL;
    }
    return wrong == NULL ? rc : fail_page(path, number, wrong, error);
}

/* --- Trees --- */

/* What a walk has come to. */
static int settle(const verification *self, const pt_lmdb_walk *walk, int rc, pt_error *error)
{
    if (rc != SQLITE_CORRUPT) {
        return rc;
    }
    char where[64];
    sqlite3_snprintf((int)sizeof where, where, "page %lld (%s)", (sqlite3_int64)walk->bad_page,
                     walk->name);
    return fail(self->file.path, where, walk->bad_what, error);
}

static int begin(verification *self, pt_lmdb_walk *walk, const char *name, const pt_lmdb_root *root,
                 pt_lmdb_order order, bool counts_pages, pt_error *error)
{
    const char *wrong = pt_lmdb_root_judge(root, self->file.last_page);
    const pt_lmdb_walk_listener listener = {.context = &self->pages_left,
                                            .claim =
                                                counts_pages ? pt_lmdb_walk_claim_number : NULL,
                                            .problem = pt_lmdb_walk_stop};
    self->pages_left = root->branch_pages + root->leaf_pages + root->overflow_pages;
    pt_lmdb_walk_begin(walk, &self->file, name, root, order, &listener);
    return wrong == NULL ? SQLITE_OK : fail(self->file.path, name, wrong, error);
}

/* The way to the first entry, and to the last one. */
static int verify_ends(verification *self, const char *name, const pt_lmdb_root *root,
                       pt_lmdb_order order, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found;
    int rc = begin(self, &walk, name, root, order, false, error);
    walk.skips_values = true;
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_seek_last(&walk, error);
        }
        rc = settle(self, &walk, rc, error);
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

static int verify_free_pages(verification *self, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    const char *wrong = NULL;
    bool found = true;
    const char *name = "the list of free pages";
    int rc = begin(self, &walk, name, &self->meta->free, pt_lmdb_compare_numbers, true, error);
    while (rc == SQLITE_OK && found && wrong == NULL &&
           walk.branch_pages + walk.leaf_pages + walk.overflow_pages <= FREE_LIST_PAGES) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found) {
            wrong = pt_lmdb_free_list_judge(&entry, self->meta);
        }
        rc = settle(self, &walk, rc, error);
    }
    pt_lmdb_walk_end(&walk);
    if (rc == SQLITE_OK && wrong != NULL) {
        rc = fail(self->file.path, name, wrong, error);
    }
    return rc == SQLITE_OK
               ? verify_ends(self, name, &self->meta->free, pt_lmdb_compare_numbers, error)
               : rc;
}

static bool is_part(pt_slice key)
{
    static const char *const parts[] = {PT_FORMAT_ENTITIES, PT_FORMAT_LONG_KEYS, PT_FORMAT_CHUNKS,
                                        PT_FORMAT_GARBAGE};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (pt_slice_equal(key, pt_slice_text(parts[i]))) {
            return true;
        }
    }
    return false;
}

/* LMDB itself refuses those with flags, and what is no root. */
static int verify_part(verification *self, const pt_lmdb_entry *entry, pt_error *error)
{
    pt_lmdb_root root;
    char name[16];
    if (entry->flags != PT_LMDB_ENTRY_ROOT || !is_part(entry->key)) {
        return SQLITE_OK;
    }
    sqlite3_snprintf((int)sizeof name, name, "%.*s", (int)entry->key.size,
                     (const char *)entry->key.data);
    if (entry->value.size != PT_LMDB_ROOT_SIZE) {
        return fail(self->file.path, name, "has a root of a size that cannot be", error);
    }
    pt_lmdb_root_read(entry->value.data, &root);
    return root.flags == 0 ? verify_ends(self, name, &root, pt_slice_compare, error) : SQLITE_OK;
}

/* Whether the main database is a store's, as far as its header says; only with SQLITE_OK. */
static int find_header(verification *self, bool *found, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry = {0};
    pt_slice header = pt_format_header_key();
    int rc = begin(self, &walk, "main database", &self->meta->main, pt_slice_compare, false, error);
    *found = false;
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_seek(&walk, header, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_next(&walk, &entry, found, error);
        }
        rc = settle(self, &walk, rc, error);
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
    int rc = begin(self, &walk, "main database", &self->meta->main, pt_slice_compare, true, error);
    while (rc == SQLITE_OK && found) {
        rc = settle(self, &walk, pt_lmdb_walk_next(&walk, &entry, &found, error), error);
        if (rc == SQLITE_OK && found) {
            uint64_t pages_left = self->pages_left;
            rc = verify_part(self, &entry, error);
            self->pages_left = pages_left;
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

int pt_lmdb_verify_version(int fd, const char *path, uint64_t version, bool *again, pt_error *error)
{
    verification self = {.file = {.fd = fd, .path = path}};
    pt_lmdb_metas metas;
    uint64_t number = version % PT_LMDB_METAS;
    int rc = pt_lmdb_file_metas(&self.file, &metas, error);
    *again =
        rc == SQLITE_OK && (metas.wrong[number] != NULL || metas.metas[number].version != version);
    if (rc != SQLITE_OK || *again || metas.metas[number].main.flags != 0) {
        return rc;
    }
    self.meta = &metas.metas[number];
    const char *wrong = pt_lmdb_meta_judge(self.meta, number, self.file.pages);
    if (wrong != NULL) {
        return fail_page(path, number, wrong, error);
    }
    uint64_t there = pt_lmdb_file_last_page(&self.file);
    self.file.last_page = self.meta->last_page < there ? self.meta->last_page : there;
    bool is_store = false;
    rc = find_header(&self, &is_store, error);
    if (rc == SQLITE_OK && is_store) {
        rc = verify_main(&self, error);
        if (rc == SQLITE_OK) {
            rc = verify_free_pages(&self, error);
        }
    }
    return rc;
}
