#include "lmdb/check.h"

#include <errno.h>

#include "base/sqlite.h"
#include "lmdb/check_contents.h"
#include "lmdb/data_file.h"
#include "lmdb/file/forks.h"
#include "lmdb/snapshot.h"

/* --- Trees --- */

static void report_taken(const pt_lmdb_checking *checking, uint64_t page)
{
    pt_check_problem(checking->report,
                     "page %lld is in use, and in the list of free pages too: later commits may "
                     "overwrite it",
                     (sqlite3_int64)page);
}

static bool claim(void *context, uint64_t first, uint64_t count)
{
    pt_lmdb_checking *checking = context;
    for (uint64_t page = first; page < first + count; page++) {
        if (pt_lmdb_pages_is_free(&checking->pages, page)) {
            report_taken(checking, page);
        }
    }
    return pt_lmdb_pages_use(&checking->pages, first, count);
}

static bool has_logical_keys(const pt_lmdb_walk *walk)
{
    return walk->order != pt_lmdb_compare_numbers &&
           (strcmp(walk->name, pt_format_database_name(PT_FORMAT_ENTITIES)) == 0 ||
            strcmp(walk->name, pt_format_database_name(PT_FORMAT_CHUNKS)) == 0);
}

/* A bound of what was lost, from sqlite3_malloc. */
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
                         "page %lld (%s) %s; what lies on it is lost: from %s to %s",
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

static int walk_through(pt_lmdb_checking *checking, pt_lmdb_walk *walk, pt_lmdb_take_entry take,
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
        .context = checking, .claim = claim, .problem = report_page};
    pt_lmdb_walk_begin(&walk, &checking->file, name, root, order, &listener);
    int rc = walk_through(checking, &walk, take, context, error);
    if (rc == SQLITE_OK && walk.problems == 0) {
        wrong = pt_lmdb_walk_judge(&walk);
        if (wrong != NULL) {
            pt_check_problem(checking->report, "the sub-database %s %s", name, wrong);
        }
    }
    pt_lmdb_walk_end(&walk);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

/* --- Free pages --- */

static int take_free_list(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    pt_lmdb_checking *checking = context;
    (void)error;
    const char *wrong = pt_lmdb_free_list_judge(entry, &checking->meta);
    if (wrong != NULL) {
        pt_check_problem(checking->report,
                         "the list of free pages %s: later commits may overwrite "
                         "what is in use",
                         wrong);
        return SQLITE_OK;
    }
    uint64_t count = pt_get_le64(entry->value.data);
    for (uint64_t i = 1; i <= count; i++) {
        uint64_t page = pt_get_le64(entry->value.data + sizeof page * i);
        if (!pt_lmdb_pages_set_free(&checking->pages, page)) {
            pt_check_problem(checking->report,
                             "page %lld is in the list of free pages twice: later commits may use "
                             "it for two things",
                             (sqlite3_int64)page);
        }
    }
    return SQLITE_OK;
}

static int check_free_pages(pt_lmdb_checking *checking, pt_error *error)
{
    int rc = pt_lmdb_check_tree(checking, "list of free pages", &checking->meta.free,
                                pt_lmdb_compare_numbers, take_free_list, checking, error);
    /* Its own pages were claimed before the list was known. */
    for (uint64_t page = 0; rc == SQLITE_OK && page < checking->pages.count; page++) {
        if (pt_lmdb_pages_is_free(&checking->pages, page) &&
            pt_lmdb_pages_is_used(&checking->pages, page)) {
            report_taken(checking, page);
        }
    }
    return rc;
}

/* Pages that nothing leads to cost room only. */
static void check_lost_pages(const pt_lmdb_checking *checking)
{
    uint64_t first = 0;
    uint64_t lost = pt_lmdb_pages_lost(&checking->pages, &first);
    if (lost != 0) {
        pt_check_problem(checking->report,
                         "%lld page%s neither in use nor in the list of free pages (page %lld is "
                         "the first): the room is lost until the store is compacted",
                         (sqlite3_int64)lost, lost == 1 ? " is" : "s are", (sqlite3_int64)first);
    }
}

/* --- The rest --- */

static int take_record(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    const pt_lmdb_checking *checking = context;
    const pt_check_visitor *visitor = checking->visitor;
    return visitor->record(visitor->context, entry->key, entry->value, error);
}

static int check_part(pt_lmdb_checking *checking, pt_format_database part, pt_error *error)
{
    return checking->has_root[part]
               ? pt_lmdb_check_tree(checking, pt_format_database_name(part), &checking->roots[part],
                                    pt_slice_compare, take_record, checking, error)
               : SQLITE_OK;
}

static int check_trees(pt_lmdb_checking *checking, pt_error *error)
{
    int rc = check_free_pages(checking, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_main(checking, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_part(checking, PT_FORMAT_GARBAGE, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_keys(checking, error);
    }
    if (rc == SQLITE_OK) {
        rc = check_part(checking, PT_FORMAT_CHUNKS, error);
    }
    if (rc == SQLITE_OK && checking->complete) {
        check_lost_pages(checking);
    }
    return rc;
}

/* With the file and the version to be checked known. */
static int check_version(pt_lmdb_checking *checking, pt_error *error)
{
    checking->file.last_page = checking->meta.last_page;
    checking->dictionary = pt_dictionary_new();
    int rc = checking->dictionary != NULL &&
                     pt_lmdb_pages_new(&checking->pages, checking->file.last_page + 1)
                 ? SQLITE_OK
                 : pt_error_nomem(error);
    if (rc == SQLITE_OK) {
        rc = check_trees(checking, error);
    }
    pt_lmdb_pages_end(&checking->pages);
    pt_dictionary_free(checking->dictionary);
    return rc;
}

/* The commit that the other meta page leads to; 0: it cannot be read. */
static uint64_t commit_behind(const pt_lmdb_page_file *file, const pt_lmdb_meta *meta)
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
 * the same commit, of which LMDB takes page 0. In a store that is open it may also be overwritten
 * at this moment: then it is another one afterwards.
 */
static int check_other_meta(pt_lmdb_checking *checking, const pt_lmdb_metas *metas, uint64_t number,
                            pt_error *error)
{
    pt_lmdb_metas again;
    pt_lmdb_page_file file = checking->file;
    const pt_lmdb_meta *meta = &metas->metas[number];
    uint64_t commit = metas->wrong[number] == NULL && meta->version <= checking->meta.version &&
                              pt_lmdb_root_judge(&meta->main, file.pages) == NULL
                          ? commit_behind(&file, meta)
                          : 0;
    if (commit <= checking->meta.version) {
        return SQLITE_OK;
    }
    int rc = pt_lmdb_read_metas(&file, &again, error);
    if (rc == SQLITE_OK && again.metas[number].version == meta->version) {
        pt_check_problem(checking->report,
                         "page %lld, a meta page, is damaged: what it leads to is commit %lld, "
                         "newer than %lld, which the store shows",
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
        wrong = "says another order of the main database than a store has";
    }
    if (wrong != NULL) {
        pt_check_problem(checking->report, "page %lld, the newest of the meta pages, %s",
                         (sqlite3_int64)number, wrong);
        uint64_t there = pt_lmdb_last_whole_page(&checking->file);
        checking->meta.last_page =
            checking->meta.last_page < there ? checking->meta.last_page : there;
    }
    return check_other_meta(checking, metas, 1 - number, error);
}

int pt_lmdb_check(const char *path, pt_store *store, const pt_watch *watch,
                  const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                  pt_error *error)
{
    pt_lmdb_inspection inspection;
    int rc = store != NULL ? pt_lmdb_inspect_store(store, &inspection, error)
                           : pt_lmdb_inspect_file(path, &inspection, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_lmdb_checking checking = {.file = inspection.file,
                                 .meta = *inspection.meta,
                                 .report = report,
                                 .visitor = visitor,
                                 .watch = watch,
                                 .complete = true};
    uint64_t number = inspection.meta == &inspection.metas.metas[1] ? 1 : 0;
    rc = check_metas(&checking, &inspection.metas, number, error);
    if (rc == SQLITE_OK) {
        rc = check_version(&checking, error);
    }
    pt_lmdb_inspect_end(&inspection);
    *complete = checking.complete;
    return rc;
}

/* --- Inspect --- */

enum { SNAPSHOT_TRIES = 64 };

/*
 * The meta page of the snapshot's version: a commit overwrites it when another one has come in
 * between. *found = false then.
 */
static int find_meta(pt_lmdb_inspection *inspection, bool *found, pt_error *error)
{
    uint64_t number = inspection->snapshot->version % PT_LMDB_METAS;
    int rc = pt_lmdb_read_metas(&inspection->file, &inspection->metas, error);
    inspection->meta = &inspection->metas.metas[number];
    *found = inspection->metas.wrong[number] == NULL &&
             inspection->meta->version == inspection->snapshot->version;
    return rc;
}

static int fail_to_find(const pt_lmdb_inspection *inspection, pt_error *error)
{
    uint64_t number = inspection->snapshot->version % PT_LMDB_METAS;
    const char *wrong = inspection->metas.wrong[number];
    return wrong == NULL ? pt_error_set(error, SQLITE_BUSY,
                                        "store %Q changes too fast to be checked; try again",
                                        inspection->file.path)
                         : pt_error_set(error, SQLITE_CORRUPT,
                                        "store %Q is damaged: page %lld %s; restore it from a "
                                        "backup",
                                        inspection->file.path, (sqlite3_int64)number, wrong);
}

static int begin(pt_lmdb_inspection *inspection, pt_error *error)
{
    bool found = false;
    int rc = SQLITE_OK;
    for (int tries = 0; rc == SQLITE_OK && !found && tries < SNAPSHOT_TRIES; tries++) {
        pt_lmdb_snapshot_end(inspection->snapshot);
        rc = pt_lmdb_snapshot_begin(inspection->snapshot, error);
        if (rc == SQLITE_OK) {
            rc = find_meta(inspection, &found, error);
        }
    }
    return rc == SQLITE_OK && !found ? fail_to_find(inspection, error) : rc;
}

int pt_lmdb_inspect_store(pt_store *base, pt_lmdb_inspection *inspection, pt_error *error)
{
    const pt_lmdb_store *store = (const pt_lmdb_store *)base;
    *inspection = (pt_lmdb_inspection){.file = {.path = base->path}};
    int rc = pt_lmdb_snapshot_new(base, &inspection->snapshot, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    rc = pt_lmdb_snapshot_begin(inspection->snapshot, error);
    if (rc == SQLITE_OK) {
        mdb_env_get_fd(store->env.env, &inspection->file.fd);
        rc = begin(inspection, error);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_inspect_end(inspection);
    }
    return rc;
}

int pt_lmdb_inspect_file(const char *path, pt_lmdb_inspection *inspection, pt_error *error)
{
    *inspection = (pt_lmdb_inspection){.file = {.path = path}};
    int rc = pt_lmdb_find_file(path, false, &inspection->owned, &inspection->writable, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    inspection->file.fd = inspection->owned.fd;
    rc = pt_lmdb_read_metas(&inspection->file, &inspection->metas, error);
    inspection->meta = pt_lmdb_newest_meta(&inspection->metas);
    if (rc == SQLITE_OK && inspection->meta == NULL) {
        rc = pt_error_set(error, SQLITE_CANTOPEN,
                          "file %Q is not a ptable store, or both its meta pages are damaged; "
                          "restore it from a backup",
                          path);
    }
    if (rc != SQLITE_OK) {
        pt_lmdb_inspect_end(inspection);
    }
    return rc;
}

/* Only the file of a store that is not open is held by a descriptor of its own. */
void pt_lmdb_inspect_end(pt_lmdb_inspection *inspection)
{
    if (inspection->snapshot != NULL) {
        pt_lmdb_snapshot_free(inspection->snapshot);
        inspection->snapshot = NULL;
    } else {
        pt_lmdb_foreign_keep(&inspection->owned, inspection->writable);
    }
}
