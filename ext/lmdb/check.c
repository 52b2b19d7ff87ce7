#include "lmdb/check.h"

#include "base/sqlite.h"
#include "lmdb/check_keys.h"
#include "lmdb/check_main.h"
#include "lmdb/data_file.h"
#include "lmdb/file/foreign_files.h"
#include "lmdb/log_check.h"
#include "lmdb/snapshot.h"

enum { SNAPSHOT_TRIES = 64 };

/* --- The version to be checked, and the file to read it from --- */

/* Must not be moved in memory: `meta` points into it, and `owned` is in a list. */
typedef struct checked_version {
    pt_lmdb_page_file file;
    pt_lmdb_metas metas;
    const pt_lmdb_meta *meta; /* of the version */
    pt_snapshot *snapshot; /* keeps commits from reusing its pages; NULL: the store is not open */
    pt_lmdb_owned owned;   /* file.fd, if there is no snapshot */
    bool writable;
} checked_version;

/*
 * Finds the meta page of the snapshot's version. *found = false: two more commits have come since,
 * and the second has overwritten it.
 */
static int find_meta(checked_version *version, bool *found, pt_error *error)
{
    uint64_t shown = pt_lmdb_own_snapshot(version->snapshot)->tree_version;
    uint64_t number = shown % PT_LMDB_METAS;
    int rc = pt_lmdb_read_metas(&version->file, &version->metas, error);
    version->meta = &version->metas.metas[number];
    *found = version->metas.wrong[number] == NULL && version->meta->version == shown;
    return rc;
}

static int fail_without_meta(const checked_version *version, pt_error *error)
{
    uint64_t number = pt_lmdb_own_snapshot(version->snapshot)->tree_version % PT_LMDB_METAS;
    const char *wrong = version->metas.wrong[number];
    return wrong == NULL ? pt_error_set(error, SQLITE_BUSY,
                                        "store %Q changes too fast to be checked; try again",
                                        version->file.path)
                         : pt_error_set(error, SQLITE_CORRUPT,
                                        "store %Q is damaged: page %lld %s; restore it from a "
                                        "backup",
                                        version->file.path, (sqlite3_int64)number, wrong);
}

/* Takes new snapshots until the meta page of one can be read. Beginning and ending one may open the
 * environment again, and so change its descriptor. */
static int begin_snapshot_with_meta(const pt_lmdb_store *store, checked_version *version,
                                    pt_error *error)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK && !found && tries < SNAPSHOT_TRIES; tries++) {
        pt_lmdb_snapshot_end(version->snapshot);
        rc = pt_lmdb_snapshot_begin(version->snapshot, error);
        if (rc == SQLITE_OK) {
            mdb_env_get_fd(store->env.env, &version->file.fd);
            rc = find_meta(version, &found, error);
        }
    }
    return rc == SQLITE_OK && !found ? fail_without_meta(version, error) : rc;
}

static void close_version(checked_version *version)
{
    if (version->snapshot != NULL) {
        pt_lmdb_snapshot_free(version->snapshot);
    } else {
        pt_lmdb_foreign_keep(&version->owned, version->writable);
    }
}

/* The version of a new snapshot, which is held until close_version. Codes as snapshot_begin,
 * SQLITE_CORRUPT, SQLITE_IOERR_READ. */
static int open_version_of_store(pt_store *base, checked_version *version, pt_error *error)
{
    const pt_lmdb_store *store = (const pt_lmdb_store *)base;
    *version = (checked_version){.file = {.path = base->path}};
    int rc = pt_lmdb_snapshot_new(base, &version->snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = begin_snapshot_with_meta(store, version, error);
    if (rc != SQLITE_OK) {
        close_version(version);
    }
    return rc;
}

/* The newest version of a file that cannot be opened as a store. SQLITE_CANTOPEN if there is none,
 * SQLITE_IOERR_READ. */
static int open_version_of_file(const char *path, checked_version *version, pt_error *error)
{
    *version = (checked_version){.file = {.path = path}};
    int rc = pt_lmdb_open_data_file(path, false, &version->owned, &version->writable, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    version->file.fd = version->owned.fd;
    rc = pt_lmdb_read_metas(&version->file, &version->metas, error);
    version->meta = pt_lmdb_newest_meta(&version->metas);
    if (rc == SQLITE_OK && version->meta == NULL) {
        rc = pt_error_set(error, SQLITE_CANTOPEN,
                          "file %Q is not a ptable store, or both its meta pages are damaged; "
                          "restore it from a backup",
                          path);
    }
    if (rc != SQLITE_OK) {
        close_version(version);
    }
    return rc;
}

/* --- Meta pages --- */

/* The number of the commit that a meta page leads to; 0 if it cannot be read. */
static uint64_t commit_of_meta(const pt_lmdb_page_file *file, const pt_lmdb_meta *meta)
{
    pt_lmdb_page_file other = *file;
    pt_format_state state = {0};
    pt_error error = PT_ERROR_NONE;
    other.last_page = pt_lmdb_last_whole_page(file);
    if (pt_lmdb_find_state(&other, &meta->main, &state, &error) != SQLITE_OK) {
        pt_error_clear(&error);
    }
    return state.version;
}

/*
 * A damaged number can make the newer of the two meta pages look like the older one, or like one of
 * the same commit (then LMDB uses page 0). So the page leads to the commit after the one that is
 * shown. If it leads to a later one, that is no damage: a power failure has taken the meta pages of
 * commits with sync=normal or off, which have used again the pages of the older version. (The very
 * next commit cannot.)
 *
 * In a store that is open, a commit may also be writing the page just now; so a suspicious page is
 * read again, and reported only if it has not changed.
 */
static int check_other_meta(pt_lmdb_checking *checking, const pt_lmdb_metas *metas, uint64_t number,
                            pt_error *error)
{
    pt_lmdb_metas again;
    pt_lmdb_page_file file = checking->file;
    const pt_lmdb_meta *meta = &metas->metas[number];
    uint64_t commit = metas->wrong[number] == NULL && meta->version <= checking->meta.version &&
                              pt_lmdb_root_judge(&meta->main, file.pages) == NULL
                          ? commit_of_meta(&file, meta)
                          : 0;
    if (commit != checking->meta.version + 1) {
        return SQLITE_OK;
    }
    int rc = pt_lmdb_read_metas(&file, &again, error);
    if (rc == SQLITE_OK && again.metas[number].version == meta->version) {
        pt_check_problem(checking->report,
                         "page %lld, a meta page, is damaged: it leads to commit %lld, which is "
                         "newer than commit %lld, which the store shows",
                         (sqlite3_int64)number, (sqlite3_int64)commit,
                         (sqlite3_int64)checking->meta.version);
    }
    return rc;
}

static int check_metas(pt_lmdb_checking *checking, const pt_lmdb_metas *metas, uint64_t number,
                       pt_error *error)
{
    for (uint64_t i = 0; i < PT_LMDB_METAS; i++) {
        if (metas->wrong[i] != NULL) {
            pt_check_problem(checking->report, "page %lld %s", (sqlite3_int64)i, metas->wrong[i]);
        }
    }
    const char *wrong = pt_lmdb_meta_judge(&checking->meta, number, checking->file.pages);
    if (wrong == NULL && checking->meta.main.flags != 0) {
        wrong = "has flags of the main database that no store has";
    }
    if (wrong != NULL) {
        pt_check_problem(checking->report, "page %lld, the newest of the meta pages, %s",
                         (sqlite3_int64)number, wrong);
        /* A damaged number of pages must not make the check allocate or read without end. */
        uint64_t last = pt_lmdb_last_whole_page(&checking->file);
        checking->meta.last_page =
            checking->meta.last_page < last ? checking->meta.last_page : last;
    }
    return check_other_meta(checking, metas, 1 - number, error);
}

/* --- The whole store --- */

static int take_record_as_is(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    const pt_lmdb_checking *checking = context;
    const pt_check_visitor *visitor = checking->visitor;
    return visitor->record(visitor->context, entry->key, entry->value, error);
}

/*
 * The order matters. The list of free pages comes first, so that pages that are used too are
 * noticed. The main database has the roots of the others. The visitor must know dropped tables
 * before it meets their entities, and entities before the chunks of their large values.
 */
static int check_trees(pt_lmdb_checking *checking, pt_error *error)
{
    int rc = pt_lmdb_check_free_list(checking, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_main(checking, error);
    }
    if (rc == SQLITE_OK) {
        rc =
            pt_lmdb_check_database(checking, PT_FORMAT_GARBAGE, take_record_as_is, checking, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_keys(checking, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_database(checking, PT_FORMAT_CHUNKS, take_record_as_is, checking, error);
    }
    /* Pages below a damaged one were not reached: they would all look lost. */
    if (rc == SQLITE_OK && checking->complete) {
        pt_lmdb_check_lost_pages(checking);
    }
    return rc;
}

static int check_pages_and_records(pt_lmdb_checking *checking, pt_error *error)
{
    checking->file.last_page = checking->meta.last_page;
    int rc = pt_lmdb_check_format(checking, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    checking->dictionary = pt_dictionary_new();
    rc = checking->dictionary != NULL && pt_lmdb_check_pages_begin(checking)
             ? check_trees(checking, error)
             : pt_error_nomem(error);
    pt_lmdb_check_pages_end(checking);
    pt_dictionary_free(checking->dictionary);
    return rc;
}

int pt_lmdb_check(const char *path, pt_store *store, const pt_watch *watch,
                  const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                  pt_error *error)
{
    checked_version version;
    int rc = store != NULL ? open_version_of_store(store, &version, error)
                           : open_version_of_file(path, &version, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_lmdb_checking checking = {.file = version.file,
                                 .meta = *version.meta,
                                 .report = report,
                                 .visitor = visitor,
                                 .watch = watch,
                                 .complete = true};
    uint64_t number = version.meta == &version.metas.metas[1] ? 1 : 0;
    rc = check_metas(&checking, &version.metas, number, error);
    if (rc == SQLITE_OK) {
        rc = check_pages_and_records(&checking, error);
    }
    if (rc == SQLITE_OK) {
        const pt_lmdb_snapshot *shown =
            version.snapshot != NULL ? pt_lmdb_own_snapshot(version.snapshot) : NULL;
        rc = pt_log_check(version.file.path, shown != NULL ? &shown->state : &checking.state, shown,
                          report, error);
    }
    close_version(&version);
    *complete = checking.complete;
    return rc;
}
