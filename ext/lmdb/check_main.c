#include "lmdb/check_main.h"

#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/edm.h"
#include "lmdb/opening.h"
#include "lmdb/page/walk.h"

/* mdb_copy -c writes its copy as commit 1 and keeps our state record, which has the number of the
 * original commit until the next one. */
enum { COMMIT_OF_A_COPY = 1 };

/* Names or shapes of the dictionary. Ids must come without gaps. */
typedef struct dictionary_check {
    const char *what; /* for messages */
    bool has_rules;   /* property names: some are not allowed */
    int (*load)(pt_dictionary *dictionary, uint16_t id, pt_slice content);
    bool ended; /* an entry was missing or malformed: later ones cannot be loaded */
    unsigned count;
} dictionary_check;

typedef struct main_check {
    pt_lmdb_checking *checking;
    bool has_header;
    bool has_state;
    dictionary_check names;
    dictionary_check shapes;
} main_check;

static void report_main(const main_check *check, const char *what)
{
    pt_check_problem(check->checking->report, "the main database: %s", what);
}

/* --- Records --- */

static void check_root(const main_check *check, pt_format_database database,
                       const pt_lmdb_entry *entry)
{
    pt_lmdb_checking *checking = check->checking;
    const char *name = pt_format_database_name(database);
    if (entry->flags != PT_LMDB_ENTRY_ROOT || entry->value.size != PT_LMDB_ROOT_SIZE) {
        pt_check_problem(checking->report, "the record of the sub-database %s is not a root", name);
        return;
    }
    pt_lmdb_root_read(entry->value.data, &checking->roots[database]);
    checking->has_root[database] = checking->roots[database].flags == 0;
    if (!checking->has_root[database]) {
        pt_check_problem(checking->report,
                         "the record of the sub-database %s has flags that no store has", name);
    }
}

static void check_header(main_check *check, pt_slice record)
{
    check->has_header = true;
    switch (pt_format_read_header(record)) {
    case PT_FORMAT_FOREIGN:
        report_main(check, "its header is not that of a ptable store");
        break;
    case PT_FORMAT_DAMAGED:
        report_main(check, "its header is damaged");
        break;
    case PT_FORMAT_NEWER: /* pt_lmdb_check_format has refused these two */
    case PT_FORMAT_OLDER:
    case PT_FORMAT_READ_ONLY:
    case PT_FORMAT_OURS:
        break;
    }
}

static void check_state_record(main_check *check, pt_slice record)
{
    pt_lmdb_checking *checking = check->checking;
    check->has_state = pt_format_read_state(record, &checking->state);
    if (!check->has_state) {
        report_main(check, "its state record (current) is damaged");
    } else if (checking->state.version != checking->meta.version &&
               checking->meta.version != COMMIT_OF_A_COPY) {
        pt_check_problem(checking->report,
                         "the main database: its state record (current) is that of commit %lld, "
                         "but the meta page says %lld: commits are lost, or pages of another "
                         "version are in the file",
                         (sqlite3_int64)checking->state.version,
                         (sqlite3_int64)checking->meta.version);
    }
}

/*
 * A damaged entry is reported and loaded all the same, so that those after it can be loaded. If the
 * dictionary refuses an entry the list ends there: the next ids would leave a gap.
 */
static int check_dictionary_entry(const main_check *check, dictionary_check *list, uint16_t id,
                                  const pt_lmdb_entry *entry)
{
    pt_slice content;
    if (list->ended) {
        return SQLITE_OK;
    }
    bool sound = pt_unseal(entry->key, entry->value, &content);
    int rc = list->load(check->checking->dictionary, id, content);
    list->count++;
    if (rc == SQLITE_NOMEM) {
        return rc;
    }
    list->ended = rc != SQLITE_OK;
    if (list->ended || !sound) {
        pt_check_problem(check->checking->report,
                         "the dictionary: %s %d is %s; entities that have it cannot be read",
                         list->what, (int)id,
                         sound ? "malformed, or those before it are missing" : "damaged");
    } else if (list->has_rules && !pt_is_property_name(content)) {
        char name[PT_EXCERPT_SIZE];
        pt_excerpt(content, name);
        pt_check_problem(check->checking->report,
                         "the dictionary: %s %d is %Q, which no property can have", list->what,
                         (int)id, name);
    }
    return SQLITE_OK;
}

static void check_last_bucket(const main_check *check, const pt_lmdb_entry *entry)
{
    uint64_t *last = &check->checking->last_bucket;
    if (!pt_format_read_bucket(entry->key, entry->value, last)) {
        report_main(check, "the number of its last bucket of long keys is damaged");
    } else if (*last == PT_FORMAT_BUCKET_MAX) {
        report_main(check, "the number of its last bucket of long keys is the highest possible: no "
                           "new one can be made, and some long keys cannot be inserted");
    }
}

static int check_counts(const main_check *check, uint32_t table, const pt_lmdb_entry *entry)
{
    const pt_check_visitor *visitor = check->checking->visitor;
    pt_table_counts counts;
    if (!pt_format_read_counts(entry->key, entry->value, &counts)) {
        pt_check_problem(check->checking->report, "the counts of table number %lld are damaged",
                         (sqlite3_int64)table);
        return SQLITE_OK;
    }
    return visitor->counts(visitor->context, table, &counts);
}

static int check_record(main_check *check, const pt_lmdb_entry *entry)
{
    uint16_t id;
    uint32_t table;
    if (pt_slice_equal(entry->key, pt_format_header_key())) {
        check_header(check, entry->value);
    } else if (pt_slice_equal(entry->key, pt_format_state_key())) {
        check_state_record(check, entry->value);
    } else if (pt_slice_equal(entry->key, pt_format_last_bucket_key())) {
        check_last_bucket(check, entry);
    } else if (pt_format_is_name_key(entry->key, &id)) {
        return check_dictionary_entry(check, &check->names, id, entry);
    } else if (pt_format_is_shape_key(entry->key, &id)) {
        return check_dictionary_entry(check, &check->shapes, id, entry);
    } else if (pt_format_is_counts_key(entry->key, &table)) {
        return check_counts(check, table, entry);
    } else {
        pt_check_problem(check->checking->report,
                         "the main database: a record of %lld bytes has a key that no store has",
                         (sqlite3_int64)entry->value.size);
    }
    return SQLITE_OK;
}

static int take_main_entry(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    main_check *check = context;
    pt_format_database database;
    if (pt_format_find_database(entry->key, &database)) {
        check_root(check, database, entry);
        return SQLITE_OK;
    }
    if ((entry->flags & PT_LMDB_ENTRY_ROOT) != 0) {
        report_main(check, "it has a sub-database that no store has");
        return SQLITE_OK;
    }
    int rc = check_record(check, entry);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

/* --- All records --- */

static void report_missing_records(const main_check *check)
{
    if (!check->has_header) {
        report_main(check, "its header is missing");
    }
    if (!check->has_state) {
        report_main(check, "there is no state record (current) that can be read");
    }
    for (pt_format_database i = 0; i < PT_FORMAT_DATABASES; i++) {
        if (!check->checking->has_root[i]) {
            check->checking->complete = false;
            pt_check_problem(check->checking->report,
                             "the sub-database %s is missing: nothing of it can be read",
                             pt_format_database_name(i));
        }
    }
}

static void compare_dictionary(const main_check *check)
{
    const pt_format_state *state = &check->checking->state;
    if (!check->names.ended && check->names.count != state->names) {
        pt_check_problem(check->checking->report, "the dictionary has %d property names, not %d",
                         (int)check->names.count, (int)state->names);
    }
    if (!check->shapes.ended && check->shapes.count != state->shapes) {
        pt_check_problem(check->checking->report, "the dictionary has %d shapes, not %d",
                         (int)check->shapes.count, (int)state->shapes);
    }
}

int pt_lmdb_check_main(pt_lmdb_checking *checking, pt_error *error)
{
    main_check check = {
        .checking = checking,
        .names = {.what = "property name", .has_rules = true, .load = pt_dictionary_load_name},
        .shapes = {.what = "shape", .load = pt_dictionary_load_shape}};
    int rc = pt_lmdb_check_tree(checking, "main database", &checking->meta.main, pt_slice_compare,
                                take_main_entry, &check, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    report_missing_records(&check);
    if (check.has_state) {
        compare_dictionary(&check);
    } else {
        /* Limits that no record exceeds, so that the visitor does not report every record. */
        checking->state =
            (pt_format_state){.clock = PT_TICKS_MAX, .next_table_id = PT_TABLE_ID_LIMIT};
    }
    const pt_check_facts facts = {.shapes = pt_dictionary_source(checking->dictionary),
                                  .clock = checking->state.clock,
                                  .next_table_id = checking->state.next_table_id};
    checking->visitor->begin(checking->visitor->context, &facts);
    return SQLITE_OK;
}

/* --- Single records --- */

/* Finds a record of the main database. The entry is valid until the walk ends, which the caller
 * must end. SQLITE_CORRUPT if it cannot be found, SQLITE_NOMEM, SQLITE_IOERR_READ. */
static int find_record(pt_lmdb_walk *walk, const pt_lmdb_page_file *file, const pt_lmdb_root *root,
                       pt_slice key, pt_lmdb_entry *entry, pt_error *error)
{
    bool found = false;
    const pt_lmdb_walk_listener listener = {.problem = pt_lmdb_walk_stop};
    pt_lmdb_walk_begin(walk, file, "main database", root, pt_slice_compare, &listener);
    int rc = pt_lmdb_walk_seek(walk, key, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(walk, entry, &found, error);
    }
    return rc == SQLITE_OK && !(found && pt_slice_equal(entry->key, key)) ? SQLITE_CORRUPT : rc;
}

int pt_lmdb_find_state(const pt_lmdb_page_file *file, const pt_lmdb_root *root,
                       pt_format_state *state, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry = {0};
    int rc = find_record(&walk, file, root, pt_format_state_key(), &entry, error);
    if (rc == SQLITE_OK && !pt_format_read_state(entry.value, state)) {
        rc = SQLITE_CORRUPT;
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

int pt_lmdb_check_format(const pt_lmdb_checking *checking, pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry = {0};
    const pt_lmdb_page_file *file = &checking->file;
    const pt_lmdb_root *root = &checking->meta.main;
    if (pt_lmdb_root_judge(root, file->last_page) != NULL) {
        return SQLITE_OK;
    }
    int rc = find_record(&walk, file, root, pt_format_header_key(), &entry, error);
    pt_format_kind kind = rc == SQLITE_OK ? pt_format_read_header(entry.value) : PT_FORMAT_DAMAGED;
    pt_lmdb_walk_end(&walk);
    if (kind == PT_FORMAT_OLDER) {
        return pt_lmdb_fail_older(error, file->path);
    }
    if (kind == PT_FORMAT_NEWER) {
        return pt_lmdb_fail_newer(error, file->path);
    }
    return rc == SQLITE_CORRUPT ? SQLITE_OK : rc;
}
