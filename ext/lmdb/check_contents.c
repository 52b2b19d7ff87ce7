#include "lmdb/check_contents.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "base/ticks.h"
#include "entity/key.h"
#include "lmdb/long_keys.h"

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
    for (pt_format_database part = 0; part < PT_FORMAT_DATABASES; part++) {
        const char *name = pt_format_database_name(part);
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

static int take_main_entry(void *context, const pt_lmdb_entry *entry, pt_error *error)
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

int pt_lmdb_find_state(const pt_lmdb_page_file *file, const pt_lmdb_root *root,
                       pt_format_state *state, pt_error *error)
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
    for (pt_format_database part = 0; part < PT_FORMAT_DATABASES; part++) {
        if (!check->checking->has_root[part]) {
            check->checking->complete = false;
            pt_check_problem(check->checking->report,
                             "the sub-database %s is missing: nothing of it can be read",
                             pt_format_database_name(part));
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
                                take_main_entry, &check, error);
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

/* --- Check keys --- */

/* Numbers of buckets. */
typedef struct bucket_list {
    pt_buffer bytes; /* 8 each */
} bucket_list;

typedef struct key_check {
    pt_lmdb_checking *checking;
    bucket_list buckets; /* those that hold something */
    bucket_list links;   /* those that links lead to */
    uint64_t stored;     /* entries in buckets */
    uint64_t met;        /* those that links from `entities` lead to */
    pt_lmdb_walk long_keys;
    uint8_t key[PT_KEY_LOGICAL_MAX];
} key_check;

/* --- Lists of buckets --- */

static void add_bucket(bucket_list *list, uint64_t bucket)
{
    pt_buffer_append(&list->bytes, &bucket, sizeof bucket);
}

static size_t count_of(const bucket_list *list)
{
    return list->bytes.size / sizeof(uint64_t);
}

static uint64_t bucket_at(const bucket_list *list, size_t index)
{
    uint64_t bucket;
    memcpy(&bucket, list->bytes.data + index * sizeof bucket, sizeof bucket);
    return bucket;
}

static bool is_last(const bucket_list *list, uint64_t bucket)
{
    size_t count = count_of(list);
    return count != 0 && bucket_at(list, count - 1) == bucket;
}

static int compare_buckets(const void *a, const void *b)
{
    uint64_t left;
    uint64_t right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

static void report_bucket(const key_check *check, uint64_t bucket, const char *what)
{
    pt_check_problem(check->checking->report, "bucket %lld of long keys %s", (sqlite3_int64)bucket,
                     what);
}

/* Each bucket has exactly one link to it. Both lists are in order. */
static void compare_lists(const key_check *check)
{
    size_t link = 0;
    size_t links = count_of(&check->links);
    for (size_t i = 0; i < count_of(&check->buckets); i++) {
        uint64_t bucket = bucket_at(&check->buckets, i);
        for (; link < links && bucket_at(&check->links, link) < bucket; link++) {
            report_bucket(check, bucket_at(&check->links, link),
                          "is empty, but a key leads to it: entities are lost");
        }
        size_t first = link;
        while (link < links && bucket_at(&check->links, link) == bucket) {
            link++;
        }
        if (link == first) {
            report_bucket(check, bucket, "holds entities that no key leads to");
        } else if (link != first + 1) {
            report_bucket(check, bucket, "is led to by several keys");
        }
    }
    for (; link < links; link++) {
        report_bucket(check, bucket_at(&check->links, link),
                      "is empty, but a key leads to it: entities are lost");
    }
}

/* --- Entries --- */

static bool is_link(pt_slice key)
{
    return key.size == PT_LMDB_LINK_SIZE;
}

/* Notes where a link leads to; false if it is malformed. */
static bool note_link(key_check *check, const pt_lmdb_entry *entry, uint64_t *bucket)
{
    if (entry->key.data[PT_LMDB_LINK_SIZE - 1] != 0 ||
        !pt_format_read_bucket(entry->key, entry->value, bucket) ||
        *bucket > check->checking->last_bucket) {
        check->checking->complete = false;
        return false;
    }
    add_bucket(&check->links, *bucket);
    return true;
}

static uint64_t bucket_of(pt_slice key)
{
    return (uint64_t)pt_get_be32(key.data) << 32 | pt_get_be32(key.data + 4);
}

static int take_long_key(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    key_check *check = context;
    (void)error;
    check->stored++;
    if (entry->key.size <= PT_LMDB_BUCKET_PREFIX) {
        check->checking->complete = false;
        pt_check_problem(check->checking->report, "long_keys: a key is too short to be one");
        return SQLITE_OK;
    }
    uint64_t bucket = bucket_of(entry->key);
    if (!is_last(&check->buckets, bucket)) {
        add_bucket(&check->buckets, bucket);
    }
    uint64_t inner;
    if (is_link(entry->key) && !note_link(check, entry, &inner)) {
        report_bucket(check, bucket, "has a link that leads nowhere: entities are lost");
    }
    return check->buckets.bytes.failed || check->links.bytes.failed ? SQLITE_NOMEM : SQLITE_OK;
}

/* --- Through the links --- */

static int visit(const key_check *check, pt_slice key, pt_slice record, pt_error *error)
{
    const pt_check_visitor *visitor = check->checking->visitor;
    return visitor->record(visitor->context, key, record, error);
}

/* What is damaged has been reported by the walk over all of `long_keys`. */
static int pass_over(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
                     pt_slice low, pt_slice high)
{
    pt_lmdb_checking *checking = context;
    (void)walk;
    (void)page;
    (void)what;
    (void)low;
    (void)high;
    checking->complete = false;
    return SQLITE_OK;
}

static int visit_bucket(key_check *check, uint64_t bucket, unsigned depth, pt_error *error);

/* A link inside a bucket; afterwards the walk goes on behind it. */
static int visit_inner(key_check *check, const pt_lmdb_entry *entry, unsigned depth,
                       pt_error *error)
{
    uint64_t inner;
    uint8_t link[PT_LMDB_LINK_SIZE];
    pt_lmdb_entry again;
    bool found;
    memcpy(link, entry->key.data, sizeof link);
    if (!pt_format_read_bucket(entry->key, entry->value, &inner)) {
        return SQLITE_OK;
    }
    int rc = visit_bucket(check, inner, depth + 1, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_seek(&check->long_keys, pt_slice_of(link, sizeof link), error);
    }
    return rc == SQLITE_OK ? pt_lmdb_walk_next(&check->long_keys, &again, &found, error) : rc;
}

static int visit_entry(key_check *check, const pt_lmdb_entry *entry, unsigned depth,
                       pt_error *error)
{
    size_t offset = pt_lmdb_depth_offset(depth);
    bool link = is_link(entry->key);
    size_t size = entry->key.size - PT_LMDB_BUCKET_PREFIX - (link ? 1 : 0);
    if (size == 0 || size > sizeof check->key - offset) {
        report_bucket(check, bucket_of(entry->key), "has a key that is too long or too short");
        return SQLITE_OK;
    }
    memcpy(check->key + offset, entry->key.data + PT_LMDB_BUCKET_PREFIX, size);
    return link ? visit_inner(check, entry, depth, error)
                : visit(check, pt_slice_of(check->key, offset + size), entry->value, error);
}

/*
 * All that is in a bucket and in those inside it. No bucket lies deeper than keys are long, and a
 * circle ends where more was met than there is.
 */
static int visit_bucket(key_check *check, uint64_t bucket, unsigned depth, pt_error *error)
{
    uint8_t bytes[PT_LMDB_BUCKET_PREFIX];
    pt_slice prefix = pt_slice_of(bytes, sizeof bytes);
    pt_lmdb_entry entry;
    bool found = false;
    pt_lmdb_put_bucket_prefix(bytes, bucket);
    int rc = pt_lmdb_walk_seek(&check->long_keys, prefix, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(&check->long_keys, &entry, &found, error);
    }
    while (rc == SQLITE_OK && found && pt_slice_has_prefix(entry.key, prefix) &&
           check->met < check->stored) {
        check->met++;
        rc = visit_entry(check, &entry, depth, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_check_go_on(check->checking, error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_next(&check->long_keys, &entry, &found, error);
        }
    }
    return rc;
}

static int take_key(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    key_check *check = context;
    if (!is_link(entry->key)) {
        return visit(check, entry->key, entry->value, error);
    }
    uint64_t bucket;
    if (!note_link(check, entry, &bucket)) {
        pt_check_problem(check->checking->report,
                         "table number %lld: a link to long keys leads nowhere: entities are lost",
                         (sqlite3_int64)pt_get_be32(entry->key.data));
        return SQLITE_OK;
    }
    if (check->links.bytes.failed) {
        return SQLITE_NOMEM;
    }
    memcpy(check->key, entry->key.data, PT_LMDB_SHORT_KEY_MAX);
    return visit_bucket(check, bucket, 1, error);
}

/* --- The whole --- */

static int check_part(key_check *check, pt_format_database part, pt_lmdb_take_entry take,
                      pt_error *error)
{
    pt_lmdb_checking *checking = check->checking;
    return checking->has_root[part]
               ? pt_lmdb_check_tree(checking, pt_format_database_name(part), &checking->roots[part],
                                    pt_slice_compare, take, check, error)
               : SQLITE_OK;
}

static void begin_long_keys(key_check *check)
{
    pt_lmdb_checking *checking = check->checking;
    pt_lmdb_root root = {.page = PT_LMDB_NO_PAGE};
    if (checking->has_root[PT_FORMAT_LONG_KEYS] &&
        pt_lmdb_root_judge(&checking->roots[PT_FORMAT_LONG_KEYS], checking->file.last_page) ==
            NULL) {
        root = checking->roots[PT_FORMAT_LONG_KEYS];
    }
    const pt_lmdb_walk_listener listener = {.context = checking, .problem = pass_over};
    pt_lmdb_walk_begin(&check->long_keys, &checking->file,
                       pt_format_database_name(PT_FORMAT_LONG_KEYS), &root, pt_slice_compare,
                       &listener);
}

static int check_keys(key_check *check, pt_error *error)
{
    int rc = check_part(check, PT_FORMAT_LONG_KEYS, take_long_key, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    begin_long_keys(check);
    rc = check_part(check, PT_FORMAT_ENTITIES, take_key, error);
    pt_lmdb_walk_end(&check->long_keys);
    if (rc != SQLITE_OK || !check->checking->complete) {
        return rc;
    }
    if (check->links.bytes.size != 0) {
        qsort(check->links.bytes.data, count_of(&check->links), sizeof(uint64_t), compare_buckets);
    }
    int64_t problems = check->checking->report->problems;
    compare_lists(check);
    if (check->met != check->stored && problems == check->checking->report->problems) {
        pt_check_problem(check->checking->report,
                         "long_keys: %lld entries are not reached from any entity's key",
                         (sqlite3_int64)(check->stored - check->met));
    }
    return rc;
}

int pt_lmdb_check_keys(pt_lmdb_checking *checking, pt_error *error)
{
    key_check *check = sqlite3_malloc64(sizeof *check);
    if (check == NULL) {
        return pt_error_nomem(error);
    }
    *check = (key_check){.checking = checking};
    int rc = check_keys(check, error);
    pt_buffer_free(&check->buckets.bytes);
    pt_buffer_free(&check->links.bytes);
    sqlite3_free(check);
    return rc;
}
