#include "lmdb/check_keys.h"

#include <stdlib.h>

#include "base/sqlite.h"
#include "entity/key.h"
#include "lmdb/long_keys.h"
#include "lmdb/page/walk.h"

/* Bucket numbers. */
typedef struct bucket_list {
    uint64_t *buckets;
    size_t count;
    size_t capacity;
    bool failed; /* out of memory; the list is incomplete */
} bucket_list;

typedef struct key_check {
    pt_lmdb_checking *checking;
    bucket_list buckets; /* buckets that contain a key */
    bucket_list links;   /* buckets that a link leads to */
    uint64_t stored;     /* entries of `long_keys` */
    uint64_t visited;    /* entries of `long_keys` that links from `entities` led to */
    pt_lmdb_walk long_keys;
    uint8_t key[PT_KEY_LOGICAL_MAX]; /* the logical key that is put together on the way */
} key_check;

/* --- Lists of buckets --- */

static void add_bucket(bucket_list *list, uint64_t bucket)
{
    if (!pt_array_reserve(&list->buckets, &list->capacity, list->count + 1, sizeof bucket)) {
        list->failed = true;
        return;
    }
    list->buckets[list->count++] = bucket;
}

static bool is_last_bucket(const bucket_list *list, uint64_t bucket)
{
    return list->count != 0 && list->buckets[list->count - 1] == bucket;
}

static int compare_buckets(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static void report_bucket(const key_check *check, uint64_t bucket, const char *what)
{
    pt_check_problem(check->checking->report, "bucket %lld of long keys %s", (sqlite3_int64)bucket,
                     what);
}

/* Reports each bucket that does not have exactly one link. Both lists must be sorted. */
static void compare_lists(const key_check *check)
{
    size_t link = 0;
    size_t link_count = check->links.count;
    const uint64_t *links = check->links.buckets;
    for (size_t i = 0; i < check->buckets.count; i++) {
        uint64_t bucket = check->buckets.buckets[i];
        for (; link < link_count && links[link] < bucket; link++) {
            report_bucket(check, links[link], "is empty, but a key leads to it: entities are lost");
        }
        size_t first = link;
        while (link < link_count && links[link] == bucket) {
            link++;
        }
        if (link == first) {
            report_bucket(check, bucket, "holds entities that no key leads to");
        } else if (link != first + 1) {
            report_bucket(check, bucket, "has several keys that lead to it");
        }
    }
    for (; link < link_count; link++) {
        report_bucket(check, links[link], "is empty, but a key leads to it: entities are lost");
    }
}

/* --- First walk: all of long_keys --- */

static bool is_link_key(pt_slice key)
{
    return key.size == PT_LMDB_LINK_SIZE;
}

/* Adds the bucket of a link to the list; false if the link is malformed. */
static bool add_link(key_check *check, const pt_lmdb_entry *entry, uint64_t *bucket)
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

static uint64_t bucket_of_key(pt_slice key)
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
        pt_check_problem(check->checking->report,
                         "long_keys: a key has nothing after its bucket number");
        return SQLITE_OK;
    }
    uint64_t bucket = bucket_of_key(entry->key);
    if (!is_last_bucket(&check->buckets, bucket)) {
        add_bucket(&check->buckets, bucket);
    }
    uint64_t inner;
    if (is_link_key(entry->key) && !add_link(check, entry, &inner)) {
        report_bucket(check, bucket, "has a link that leads nowhere: entities are lost");
    }
    return check->buckets.failed || check->links.failed ? SQLITE_NOMEM : SQLITE_OK;
}

/* --- Second walk: entities, and through the links --- */

static int visit_record(const key_check *check, pt_slice key, pt_slice record, pt_error *error)
{
    const pt_check_visitor *visitor = check->checking->visitor;
    return visitor->record(visitor->context, key, record, error);
}

/* A listener's `problem`: the first walk has reported the damaged page. */
static int skip_page(void *context, const pt_lmdb_walk *walk, uint64_t page, const char *what,
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

/* Visits the bucket of a link that is itself in a bucket. There is one walk for all buckets, so it
 * then returns to the link. */
static int visit_inner_bucket(key_check *check, const pt_lmdb_entry *entry, unsigned depth,
                              pt_error *error)
{
    uint64_t inner;
    uint8_t link[PT_LMDB_LINK_SIZE];
    pt_lmdb_entry again;
    bool found;
    memcpy(link, entry->key.data, sizeof link);
    if (!pt_format_read_bucket(entry->key, entry->value, &inner)) {
        return SQLITE_OK; /* reported by the first walk */
    }
    int rc = visit_bucket(check, inner, depth + 1, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_seek(&check->long_keys, pt_slice_of(link, sizeof link), error);
    }
    return rc == SQLITE_OK ? pt_lmdb_walk_next(&check->long_keys, &again, &found, error) : rc;
}

static int visit_long_key(key_check *check, const pt_lmdb_entry *entry, unsigned depth,
                          pt_error *error)
{
    size_t offset = pt_lmdb_depth_offset(depth);
    bool link = is_link_key(entry->key);
    size_t size = entry->key.size - PT_LMDB_BUCKET_PREFIX - (link ? 1 : 0);
    if (size == 0 || size > sizeof check->key - offset) {
        report_bucket(check, bucket_of_key(entry->key), "has a key that is too long or too short");
        return SQLITE_OK;
    }
    memcpy(check->key + offset, entry->key.data + PT_LMDB_BUCKET_PREFIX, size);
    return link ? visit_inner_bucket(check, entry, depth, error)
                : visit_record(check, pt_slice_of(check->key, offset + size), entry->value, error);
}

/*
 * Visits all keys in a bucket and in the buckets that its links lead to. The recursion ends: a
 * bucket beyond the longest logical key is not visited, and if links form a circle, `visited`
 * reaches `stored`.
 */
static int visit_bucket(key_check *check, uint64_t bucket, unsigned depth, pt_error *error)
{
    uint8_t bytes[PT_LMDB_BUCKET_PREFIX];
    pt_lmdb_entry entry;
    bool found = false;
    pt_lmdb_put_bucket_prefix(bytes, bucket);
    pt_slice prefix = pt_slice_of(bytes, sizeof bytes);
    int rc = pt_lmdb_walk_seek(&check->long_keys, prefix, error);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_walk_next(&check->long_keys, &entry, &found, error);
    }
    while (rc == SQLITE_OK && found && pt_slice_has_prefix(entry.key, prefix) &&
           check->visited < check->stored) {
        check->visited++;
        rc = visit_long_key(check, &entry, depth, error);
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_check_go_on(check->checking, error);
        }
        if (rc == SQLITE_OK) {
            rc = pt_lmdb_walk_next(&check->long_keys, &entry, &found, error);
        }
    }
    return rc;
}

static int take_entity_entry(void *context, const pt_lmdb_entry *entry, pt_error *error)
{
    key_check *check = context;
    if (!is_link_key(entry->key)) {
        return visit_record(check, entry->key, entry->value, error);
    }
    uint64_t bucket;
    if (!add_link(check, entry, &bucket)) {
        pt_check_problem(check->checking->report,
                         "table number %lld: a link to long keys leads nowhere: entities are lost",
                         (sqlite3_int64)pt_key_table(entry->key));
        return SQLITE_OK;
    }
    if (check->links.failed) {
        return SQLITE_NOMEM;
    }
    memcpy(check->key, entry->key.data, PT_LMDB_SHORT_KEY_MAX);
    return visit_bucket(check, bucket, 1, error);
}

/* --- Both walks --- */

/* Begins the walk that follows links. It must not claim pages: the first walk did. */
static void begin_long_keys(key_check *check)
{
    pt_lmdb_checking *checking = check->checking;
    const pt_lmdb_root *found = &checking->roots[PT_FORMAT_LONG_KEYS];
    pt_lmdb_root root = {.page = PT_LMDB_NO_PAGE};
    if (checking->has_root[PT_FORMAT_LONG_KEYS] &&
        pt_lmdb_root_judge(found, checking->file.last_page) == NULL) {
        root = *found;
    }
    const pt_lmdb_walk_listener listener = {.context = checking, .problem = skip_page};
    pt_lmdb_walk_begin(&check->long_keys, &checking->file,
                       pt_format_database_name(PT_FORMAT_LONG_KEYS), &root, pt_slice_compare,
                       &listener);
}

static int check_entities(key_check *check, pt_error *error)
{
    pt_lmdb_checking *checking = check->checking;
    int rc = pt_lmdb_check_database(checking, PT_FORMAT_LONG_KEYS, take_long_key, check, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    begin_long_keys(check);
    rc = pt_lmdb_check_database(checking, PT_FORMAT_ENTITIES, take_entity_entry, check, error);
    pt_lmdb_walk_end(&check->long_keys);
    /* If a page could not be read, its links and buckets are missing from the lists. */
    if (rc != SQLITE_OK || !checking->complete) {
        return rc;
    }
    if (check->links.count != 0) {
        qsort(check->links.buckets, check->links.count, sizeof(uint64_t), compare_buckets);
    }
    int64_t problems = checking->report->problems;
    compare_lists(check);
    if (check->visited != check->stored && problems == checking->report->problems) {
        pt_check_problem(checking->report,
                         "long_keys: %lld entries are not reached from any entity's key",
                         (sqlite3_int64)(check->stored - check->visited));
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
    int rc = check_entities(check, error);
    sqlite3_free(check->buckets.buckets);
    sqlite3_free(check->links.buckets);
    sqlite3_free(check);
    return rc;
}
