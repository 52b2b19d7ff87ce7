#include "lmdb/page/checking.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "lmdb/long_key.h"

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

static int check_part(key_check *check, pt_lmdb_part_of_store part, pt_lmdb_take_entry take,
                      pt_error *error)
{
    pt_lmdb_checking *checking = check->checking;
    return checking->has_root[part]
               ? pt_lmdb_check_tree(checking, pt_lmdb_name_of_part(part), &checking->roots[part],
                                    pt_slice_compare, take, check, error)
               : SQLITE_OK;
}

static void begin_long_keys(key_check *check)
{
    pt_lmdb_checking *checking = check->checking;
    pt_lmdb_root root = {.page = PT_LMDB_NO_PAGE};
    if (checking->has_root[PT_LMDB_LONG_KEYS] &&
        pt_lmdb_root_judge(&checking->roots[PT_LMDB_LONG_KEYS], checking->file.last_page) == NULL) {
        root = checking->roots[PT_LMDB_LONG_KEYS];
    }
    const pt_lmdb_walk_listener listener = {.context = checking, .problem = pass_over};
    pt_lmdb_walk_begin(&check->long_keys, &checking->file, PT_FORMAT_LONG_KEYS, &root,
                       pt_slice_compare, &listener);
}

static int check_keys(key_check *check, pt_error *error)
{
    int rc = check_part(check, PT_LMDB_LONG_KEYS, take_long_key, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    begin_long_keys(check);
    rc = check_part(check, PT_LMDB_ENTITIES, take_key, error);
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
