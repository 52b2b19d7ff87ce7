/*
 * The content of a store: the records of the main database, and all logical keys in one sorted
 * list, with the long ones put together.
 */
#ifndef TESTS_FORMAT_CONTENT_H
#define TESTS_FORMAT_CONTENT_H

#include "format/pages.h"

enum { ID_COUNT = 65536, LINK_SIZE = 511 };
enum { ENTITIES, LONG_KEYS, CHUNKS, GARBAGE, DATABASES };

static const char *const database_names[DATABASES] = {"entities", "long_keys", "chunks", "garbage"};

/* Ids that no table has. */
static const uint64_t TABLE_GARBAGE = 0xFF000000;
static const uint64_t TABLE_CHUNKS = 0xFF000001;

typedef struct item {
    bytes key;
    bytes record;
    size_t order; /* of two with one key the later one counts */
} item;

typedef struct items {
    item *at;
    size_t count;
    size_t room;
} items;

typedef struct store {
    data_file file;
    bytes nonce;
    uint64_t version;
    uint64_t clock;
    uint64_t next_table_id;
    uint64_t log_id; /* 0: there is none */
    uint64_t highest_name;
    uint64_t highest_shape;
    uint64_t last_bucket;
    bytes header;
    bytes names[ID_COUNT];
    bytes shapes[ID_COUNT];
    bytes roots[DATABASES];
    items counts; /* by the key in the main database */
    items long_keys;
    items all; /* by logical key */
} store;

/* --- Sorted lists --- */

static inline void add_item(items *to, bytes key, bytes record)
{
    if (to->count == to->room) {
        to->room = to->room != 0 ? 2 * to->room : 64;
        to->at = need(realloc(to->at, to->room * sizeof *to->at));
    }
    to->at[to->count] = (item){.key = key, .record = record, .order = to->count};
    to->count++;
}

static inline int compare_items(const void *a, const void *b)
{
    const item *left = a;
    const item *right = b;
    int order = compare(left->key, right->key);
    return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

static inline void sort_items(items *list)
{
    if (list->count != 0) {
        qsort(list->at, list->count, sizeof *list->at, compare_items);
    }
}

/* The first item that is not before the key. */
static inline size_t place_of(const items *list, bytes key)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare(list->at[middle].key, key) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* NULL if there is none. */
static inline const item *find_item(const items *list, bytes key)
{
    size_t place = place_of(list, key);
    return place < list->count && same(list->at[place].key, key) ? &list->at[place] : NULL;
}

/* --- Table ids in keys --- */

/* Sets *size to the bytes of the id. */
static inline uint64_t table_id(bytes key, size_t *size)
{
    unsigned first = (unsigned)little(key, 0, 1);
    *size = first == 0xF0 ? 3 : first == 0xF1 ? 5 : 1;
    expect(first <= 0xF1 || first >= 0xFE, "the table id in a key");
    return first == 0xFE   ? TABLE_GARBAGE
           : first == 0xFF ? TABLE_CHUNKS
           : *size > 1     ? big(key, 1, *size - 1)
                           : first;
}

static inline void add_table_id(builder *to, uint64_t id)
{
    if (id > 0xEF) {
        add_byte(to, id > 0xFFFF ? 0xF1 : 0xF0);
    }
    add_big(to, id, id > 0xFFFF ? 4 : id > 0xEF ? 2 : 1);
}

/* --- The main database --- */

static inline void read_header(store *self, bytes record)
{
    self->header = unseal(text_bytes("header"), record, "the seal of the header");
    expect(same(part(self->header, 0, 8), (bytes){.at = (const uint8_t *)"ptable\0\1", .size = 8}),
           "the header's first bytes");
    expect((little(self->header, 8, 4) & 15) == 15, "the features that every store has");
}

static inline void read_state(store *self, bytes record)
{
    bytes state = unseal(text_bytes("current"), record, "the seal of the state");
    self->nonce = part(state, 0, 16);
    self->version = little(state, 16, 8);
    self->clock = little(state, 32, 8);
    self->next_table_id = little(state, 40, 4);
    if (self->next_table_id == 0) {
        self->log_id = little(state, 48, 8);
        self->next_table_id = little(state, 60, 4);
        expect(self->log_id != 0 && little(state, 56, 4) <= 2, "a state with a log");
        uint64_t seen = little(state, 64, 8);
        expect((seen & ((UINT64_C(1) << 40) - 1)) <= self->version && seen >> 40 <= 1310720,
               "the number of what is seen");
    }
    expect(self->next_table_id != 0, "the next table id");
    self->highest_name = little(state, 44, 2);
    self->highest_shape = little(state, 46, 2);
    expect(self->version == self->file.commit, "the number of the commit in the state");
}

static inline void visit_main(void *context, bytes key, bytes value, bool is_root)
{
    store *self = context;
    if (is_root) {
        int database = 0;
        while (database < DATABASES && !same(key, text_bytes(database_names[database]))) {
            database++;
        }
        expect(database < DATABASES && value.size == ROOT_SIZE, "a sub-database");
        self->roots[database] = value;
    } else if (same(key, text_bytes("header"))) {
        read_header(self, value);
    } else if (same(key, text_bytes("current"))) {
        read_state(self, value);
    } else if (same(key, text_bytes("bucket"))) {
        self->last_bucket = little(unseal(key, value, "the last bucket"), 0, 8);
    } else if (key.size == 3 && (key.at[0] == 'n' || key.at[0] == 's')) {
        bytes *ids = key.at[0] == 'n' ? self->names : self->shapes;
        ids[big(key, 1, 2)] = unseal(key, value, "a name or shape of the dictionary");
    } else {
        expect(key.size == 5 && key.at[0] == 'c', "a key of the main database");
        expect(unseal(key, value, "the counts of a table").size == 24, "the size of counts");
        add_item(&self->counts, key, value);
    }
}

/* --- Long keys --- */

static inline void visit_bucket_key(void *context, bytes key, bytes value, bool is_root)
{
    store *self = context;
    expect(!is_root && key.size >= 8, "a key in a bucket");
    add_item(&self->long_keys, key, value);
}

/* Adds a record with its logical key: all that come before `key`, and this, which may be a link to
 * a bucket with the rest. */
static inline void add_record(store *self, bytes before, size_t prefix, bytes key, bytes value)
{
    builder whole = {0};
    add_bytes(&whole, before);
    if (key.size != LINK_SIZE) {
        add_bytes(&whole, rest_of(key, prefix));
        add_item(&self->all, built(&whole), value);
        return;
    }
    expect(key.at[LINK_SIZE - 1] == 0, "the last byte of a link");
    add_bytes(&whole, part(key, prefix, LINK_SIZE - 1 - prefix));
    bytes content = unseal(key, value, "the seal of a link");
    expect(content.size == 8, "the size of a link");
    uint64_t bucket = little(content, 0, 8);
    expect(bucket != 0 && bucket <= self->last_bucket, "the number of a bucket");
    builder start = {0};
    add_big(&start, bucket, 8);
    size_t place = place_of(&self->long_keys, built(&start));
    for (; place < self->long_keys.count; place++) {
        const item *found = &self->long_keys.at[place];
        if (!begins_with(found->key, built(&start))) {
            break;
        }
        add_record(self, built(&whole), 8, found->key, found->record);
    }
    free(start.at);
    free(whole.at);
}

static inline void visit_entity(void *context, bytes key, bytes value, bool is_root)
{
    size_t size;
    expect(!is_root && table_id(key, &size) < TABLE_GARBAGE, "a key of the entities");
    add_record(context, (bytes){0}, 0, key, value);
}

static inline void visit_chunk(void *context, bytes key, bytes value, bool is_root)
{
    size_t size;
    expect(!is_root && table_id(key, &size) == TABLE_CHUNKS, "a key of the chunks");
    add_item(&((store *)context)->all, key, value);
}

static inline void visit_garbage(void *context, bytes key, bytes value, bool is_root)
{
    size_t size;
    expect(!is_root && table_id(key, &size) == TABLE_GARBAGE, "a key of the garbage");
    bytes content = unseal(key, value, "the seal of a dropped table");
    expect(content.at[0] == 1 && (content.size == 1 || content.at[1] == 2), "a dropped table");
    add_item(&((store *)context)->all, key, value);
}

static inline store *read_store(const char *path)
{
    static const visit_entry visits[DATABASES] = {visit_entity, visit_bucket_key, visit_chunk,
                                                  visit_garbage};
    static store self;
    self.file = open_data_file(path);
    walk_tree(&self.file, self.file.main_root, visit_main, &self);
    expect(self.header.size != 0 && self.version != 0, "the main database: it lacks a record");
    static const int order[DATABASES] = {LONG_KEYS, ENTITIES, CHUNKS, GARBAGE};
    for (size_t i = 0; i < DATABASES; i++) {
        expect(self.roots[order[i]].size != 0, "the main database: it lacks a sub-database");
        walk_tree(&self.file, self.roots[order[i]], visits[order[i]], &self);
    }
    sort_items(&self.all);
    return &self;
}

#endif
