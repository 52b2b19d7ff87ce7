#include "lmdb/page/checking.h"

#include "base/sqlite.h"
#include "base/ticks.h"
#include "entity/key.h"

enum { ID_KEY = 3, COUNTS_KEY = 5 }; /* bytes */

/* mdb_copy -c numbers commits anew, and the state shows only with the next one. */
enum { COMMIT_OF_A_COPY = 1 };

typedef struct main_check {
    pt_lmdb_checking *checking;
    bool has_header;
    bool has_state;
    bool names_end; /* what comes behind a missing one has no place */
    bool shapes_end;
    unsigned names;
    unsigned shapes;
} main_check;

static void report(const main_check *check, const char *what)
{
    pt_check_problem(check->checking->report, "the main database: %s", what);
}

static bool is_key(const pt_lmdb_entry *entry, pt_slice key)
{
    return pt_slice_equal(entry->key, key);
}

/* --- Entries --- */

static bool take_root(const main_check *check, const pt_lmdb_entry *entry)
{
    pt_lmdb_checking *checking = check->checking;
    for (pt_lmdb_part_of_store part = 0; part < PT_LMDB_PARTS; part++) {
        const char *name = pt_lmdb_name_of_part(part);
        if (!is_key(entry, pt_slice_text(name))) {
            continue;
        }
        if (entry->flags != PT_LMDB_ENTRY_ROOT || entry->value.size != PT_LMDB_ROOT_SIZE) {
            pt_check_problem(checking->report, "the record of the sub-database %s is none", name);
            return true;
        }
        pt_lmdb_root_read(entry->value.data, &checking->roots[part]);
        checking->has_root[part] = checking->roots[part].flags == 0;
        if (!checking->has_root[part]) {
            pt_check_problem(checking->report,
                             "the record of the sub-database %s has flags that no store has", name);
        }
        return true;
    }
    return false;
}

static void take_header(main_check *check, pt_slice record)
{
    check->has_header = true;
    switch (pt_format_read_header(record)) {
    case PT_FORMAT_FOREIGN:
        report(check, "its header is not that of a ptable store");
        break;
    case PT_FORMAT_NEWER:
        report(check, "its header was written by a newer version of ptable");
        break;
    case PT_FORMAT_OLDER:
        report(check, "its header was written by an older version of ptable");
        break;
    case PT_FORMAT_DAMAGED:
        report(check, "its header is damaged");
        break;
    case PT_FORMAT_READ_ONLY:
    case PT_FORMAT_OURS:
        break;
    }
}

static void take_state(main_check *check, pt_slice record)
{
    pt_lmdb_checking *checking = check->checking;
    check->has_state = pt_format_read_state(record, &checking->state);
    if (!check->has_state) {
        report(check, "its state record (current) is damaged");
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

static uint16_t id_of(const pt_lmdb_entry *entry)
{
    return (uint16_t)(entry->key.data[1] << 8 | entry->key.data[2]);
}

/*
 * A damaged entry is reported and kept as it is, for the sake of those behind it. What the
 * dictionary does not take ends the list: the next ids would leave a gap.
 */
static int take_entry_of_dictionary(const main_check *check, const pt_lmdb_entry *entry,
                                    int (*load)(pt_dictionary *, uint16_t, pt_slice),
                                    const char *what, bool *ends, unsigned *count)
{
    pt_slice content;
    if (*ends) {
        return SQLITE_OK;
    }
    bool sound = pt_unseal(entry->key, entry->value, &content);
    int rc = load(check->checking->dictionary, id_of(entry), content);
    (*count)++;
    if (rc == SQLITE_NOMEM) {
        return rc;
    }
    *ends = rc != SQLITE_OK;
    if (*ends || !sound) {
        pt_check_problem(check->checking->report,
                         "the dictionary: %s %d is %s; entities that have it cannot be read", what,
                         (int)id_of(entry),
                         sound ? "malformed, or those before it are missing" : "damaged");
    }
    return SQLITE_OK;
}

static int take_name(main_check *check, const pt_lmdb_entry *entry)
{
    return take_entry_of_dictionary(check, entry, pt_dictionary_load_name, "property name",
                                    &check->names_end, &check->names);
}

static int take_shape(main_check *check, const pt_lmdb_entry *entry)
{
    return take_entry_of_dictionary(check, entry, pt_dictionary_load_shape, "shape",
                                    &check->shapes_end, &check->shapes);
}

static int take_counts(const main_check *check, const pt_lmdb_entry *entry)
{
    const pt_check_visitor *visitor = check->checking->visitor;
    uint32_t table = pt_get_be32(entry->key.data + 1);
    pt_table_counts counts;
    if (!pt_format_read_counts(entry->key, entry->value, &counts)) {
        pt_check_problem(check->checking->report, "the counts of table number %lld are damaged",
                         (sqlite3_int64)table);
        return SQLITE_OK;
    }
    return visitor->counts(visitor->context, table, &counts);
}

static int take_plain(main_check *check, const pt_lmdb_entry *entry)
{
    const pt_lmdb_checking *checking = check->checking;
    if (is_key(entry, pt_format_header_key())) {
        take_header(check, entry->value);
    } else if (is_key(entry, pt_format_state_key())) {
        take_state(check, entry->value);
    } else if (is_key(entry, pt_format_last_bucket_key())) {
        if (!pt_format_read_bucket(entry->key, entry->value, &check->checking->last_bucket)) {
            report(check, "the number of its last bucket of long keys is damaged");
        }
    } else if (entry->key.size == ID_KEY && entry->key.data[0] == 'n') {
        return take_name(check, entry);
    } else if (entry->key.size == ID_KEY && entry->key.data[0] == 's') {
        return take_shape(check, entry);
    } else if (entry->key.size == COUNTS_KEY && entry->key.data[0] == 'c') {
        return take_counts(check, entry);
    } else {
        pt_check_problem(checking->report,
                         "the main database: a record of %lld bytes has a key that no store has",
                         (sqlite3_int64)entry->value.size);
    }
    return SQLITE_OK;
}

static int take(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    main_check *check = context;
    if (take_root(check, entry)) {
        return SQLITE_OK;
    }
    if ((entry->flags & PT_LMDB_ENTRY_ROOT) != 0) {
        report(check, "it has a sub-database that no store has");
        return SQLITE_OK;
    }
    int rc = take_plain(check, entry);
    return rc == SQLITE_NOMEM ? pt_error_nomem(error) : rc;
}

int pt_lmdb_find_state(const pt_lmdb_file *file, const pt_lmdb_root *root, pt_format_state *state,
                       pt_error *error)
{
    pt_lmdb_walk walk;
    pt_lmdb_entry entry = {0};
    bool found = false;
    pt_slice key = pt_format_state_key();
    const pt_lmdb_walk_listener listener = {.problem = pt_lmdb_walk_stop};
    pt_lmdb_walk_begin(&walk, file, "main database", root, pt_slice_compare, &listener);
    int rc = pt_lmdb_walk_seek(&walk, key, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(&walk, &entry, &found, error);
    }
    if (rc == SQLITE_OK) {
        rc = found && is_key(&entry, key) && pt_format_read_state(entry.value, state)
                 ? SQLITE_OK
                 : SQLITE_CORRUPT;
    }
    pt_lmdb_walk_end(&walk);
    return rc;
}

/* --- The whole --- */

static void report_missing(const main_check *check)
{
    if (!check->has_header) {
        report(check, "its header is missing");
    }
    if (!check->has_state) {
        report(check, "there is no state record (current) that can be read");
    }
    for (pt_lmdb_part_of_store part = 0; part < PT_LMDB_PARTS; part++) {
        if (!check->checking->has_root[part]) {
            check->checking->complete = false;
            pt_check_problem(check->checking->report,
                             "the sub-database %s is missing: nothing of it can be read",
                             pt_lmdb_name_of_part(part));
        }
    }
}

static void compare_dictionary(const main_check *check)
{
    const pt_format_state *state = &check->checking->state;
    if (!check->names_end && check->names != state->names) {
        pt_check_problem(check->checking->report, "the dictionary has %d property names, not %d",
                         (int)check->names, (int)state->names);
    }
    if (!check->shapes_end && check->shapes != state->shapes) {
        pt_check_problem(check->checking->report, "the dictionary has %d shapes, not %d",
                         (int)check->shapes, (int)state->shapes);
    }
}

int pt_lmdb_check_main(pt_lmdb_checking *checking, pt_error *error)
{
    main_check check = {.checking = checking};
    int rc = pt_lmdb_check_tree(checking, "main database", &checking->meta.main, pt_slice_compare,
                                take, &check, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    report_missing(&check);
    if (check.has_state) {
        compare_dictionary(&check);
    } else {
        checking->state =
            (pt_format_state){.clock = PT_TICKS_MAX, .next_table_id = PT_TABLE_ID_LIMIT};
    }
    const pt_check_facts facts = {.shapes = pt_dictionary_source(checking->dictionary),
                                  .clock = checking->state.clock,
                                  .next_table_id = checking->state.next_table_id};
    checking->visitor->begin(checking->visitor->context, &facts);
    return SQLITE_OK;
}
