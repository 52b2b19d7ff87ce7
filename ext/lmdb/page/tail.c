#include "lmdb/page/tail.h"

#include "base/sqlite.h"
#include "lmdb/page/walk.h"

typedef struct tail {
    pt_lmdb_file file;
    const pt_lmdb_meta *meta;
    uint64_t free;       /* pages of the list that the file lacks */
    uint64_t pages_left; /* of the list: it never has more than the file */
} tail;

static int count_entry(tail *self, const pt_lmdb_entry *entry)
{
    if (pt_lmdb_free_list_judge(entry, self->meta) != NULL) {
        return SQLITE_CORRUPT;
    }
    uint64_t count = pt_get_le64(entry->value.data);
    for (uint64_t i = 1; i <= count; i++) {
        self->free += pt_get_le64(entry->value.data + sizeof i * i) >= self->file.pages ? 1 : 0;
    }
    return SQLITE_OK;
}

static int count_list(tail *self, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry;
    bool found = true;
    int rc = SQLITE_OK;
    const pt_lmdb_walk_listener listener = {.context = &self->pages_left,
                                            .claim = pt_lmdb_walk_claim_number,
                                            .problem = pt_lmdb_walk_stop};
    pt_lmdb_walk_begin(&walk, &self->file, "the list of free pages", &self->meta->free,
                       pt_lmdb_compare_numbers, &listener);
    while (rc == SQLITE_OK && found) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
        if (rc == SQLITE_OK && found) {
            rc = count_entry(self, &entry);
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

int pt_lmdb_tail_is_free(int fd, const char *path, bool *is_free, pt_error *error)
{
    tail self = {.file = {.fd = fd, .path = path}};
    pt_lmdb_metas metas;
    *is_free = false;
    int rc = pt_lmdb_file_metas(&self.file, &metas, error);
    self.meta = rc == SQLITE_OK ? pt_lmdb_newest_meta(&metas) : NULL;
    if (self.meta == NULL) {
        return rc;
    }
    uint64_t last = self.meta->last_page;
    self.file.last_page = last;
    self.pages_left = self.file.pages;
    if (self.file.pages <= last) {
        rc = pt_lmdb_root_judge(&self.meta->free, last) == NULL ? count_list(&self, error)
                                                                : SQLITE_CORRUPT;
    }
    *is_free = rc == SQLITE_OK && self.file.pages + self.free > last;
    return rc == SQLITE_CORRUPT ? SQLITE_OK : rc;
}
