/*
 * The log beside a store's file: its commits replace what the file has.
 */
#ifndef TESTS_FORMAT_LOG_H
#define TESTS_FORMAT_LOG_H

#include "format/catalogue.h"

enum { LOG_HEADER = 4096, RECORD_HEADER = 48, OPERATION_HEADER = 8 };

static inline uint64_t record_sum(bytes record, uint64_t seed)
{
    uint64_t head = XXH3_64bits_withSeed(record.at, 40, seed);
    bytes operations = rest_of(record, RECORD_HEADER);
    return XXH3_64bits_withSeed(operations.at, operations.size, head);
}

/* A deletion is an item without a record; keys of the log are logical ones. */
static inline void apply_record(store *to, bytes record)
{
    size_t at = RECORD_HEADER;
    for (uint64_t left = little(record, 4, 2); left != 0; left--) {
        size_t key_size = little(record, at, 2);
        bool deletes = little(record, at + 2, 1) != 0;
        size_t size = little(record, at + 4, 4);
        bytes key = part(record, at + OPERATION_HEADER, key_size);
        bytes value = part(record, at + OPERATION_HEADER + key_size, size);
        expect(!deletes || size == 0, "a deletion in the log");
        add_item(&to->all, key, deletes ? (bytes){0} : value);
        at += OPERATION_HEADER + key_size + size;
    }
    expect(record.size - at < 8, "the end of a record in the log");
}

/* The later of two items with one key stays, unless it is a deletion. */
static inline void drop_replaced(items *list)
{
    size_t kept = 0;
    sort_items(list);
    for (size_t i = 0; i < list->count; i++) {
        bool replaced = i + 1 < list->count && same(list->at[i].key, list->at[i + 1].key);
        if (!replaced && list->at[i].record.at != NULL) {
            list->at[kept++] = list->at[i];
        }
    }
    list->count = kept;
}

/* False if the state names no log. */
static inline bool apply_log(store *to, const char *path)
{
    uint64_t id = to->log_id;
    bool feature = (little(to->header, 8, 4) & 16) != 0;
    expect(feature == (id != 0), "the feature of a log");
    if (id == 0) {
        return false;
    }
    char name[4096];
    snprintf(name, sizeof name, "%s-log", path);
    bytes log = read_file(name);
    bytes header = part(log, 0, LOG_HEADER);
    expect(memcmp(header.at, "ptlog\0\0\1", 8) == 0, "the log's first bytes");
    unseal(part(header, 0, 8), header, "the seal of the log");
    expect(little(header, 8, 8) == id, "the id of the log");
    uint64_t seed = XXH3_64bits_withSeed(to->nonce.at, to->nonce.size, id);
    uint64_t last = seed;
    size_t end = LOG_HEADER;
    while (end + RECORD_HEADER <= log.size) {
        size_t size = little(log, end, 4);
        if (size < RECORD_HEADER || size % 8 != 0 || size > log.size - end) {
            break;
        }
        bytes record = part(log, end, size);
        uint64_t sum = little(record, 40, 8);
        if (little(record, 24, 4) != end - LOG_HEADER || little(record, 32, 8) != last ||
            sum != record_sum(record, seed)) {
            break;
        }
        expect(little(record, 16, 8) == to->version, "the version that a record follows");
        apply_record(to, record);
        last = sum;
        end += size;
    }
    drop_replaced(&to->all);
    return true;
}

#endif
