/*
 * The catalogue of tables and indexes, and what belongs to a table beside its entities: counts,
 * entries of indexes, changes. All of these are compared with the entities.
 */
#ifndef TESTS_FORMAT_CATALOGUE_H
#define TESTS_FORMAT_CATALOGUE_H

#include <math.h>

#include "format/entities.h"

enum { OF_ENTITIES, OF_MESSAGES, OF_ENTRIES };
enum { HAS_CHANGES = 1, HAS_EXPIRES = 2, COLUMNS_MAX = 8, PART_MAX = 255 };
enum { CUT = 0x80, INEXACT = 0x40 };

typedef struct table {
    bytes key; /* in the catalogue */
    bytes name;
    unsigned kind;
    uint64_t id;
    uint64_t changes;
    uint64_t deletions;
    uint64_t horizon;
    bytes expires;
} table;

typedef struct index {
    uint64_t id;
    bool unique;
    size_t count;
    bytes columns[COLUMNS_MAX];
    uint64_t has[COLUMNS_MAX];
} index_of_table;

static inline table read_table(const item *found)
{
    size_t id_size;
    table result = {.key = found->key};
    bytes content = unseal(found->key, found->record, "a record of the catalogue");
    expect(table_id(found->key, &id_size) == 0 && little(content, 0, 1) == 1, "the catalogue");
    size_t name_size = found->key.size - id_size;
    result.id = little(content, 1, 4);
    result.name = part(content, 5, name_size);
    bytes rest = rest_of(content, 5 + name_size);
    if (rest.size == 0) {
        return result;
    }
    result.kind = (unsigned)little(rest, 0, 1);
    expect(result.kind <= OF_ENTRIES, "the kind of a table");
    if (result.kind == OF_ENTRIES || rest.size == 1) {
        return result;
    }
    unsigned which = (unsigned)little(rest, 1, 1);
    size_t at = 2;
    expect((which & ~3U) == 0 && which != 0, "the properties of a table");
    if ((which & HAS_CHANGES) != 0) {
        result.changes = little(rest, at, 4);
        result.deletions = little(rest, at + 4, 4);
        result.horizon = little(rest, at + 8, 8);
        at += 16;
    }
    if ((which & HAS_EXPIRES) != 0) {
        result.expires = part(rest, at + 2, little(rest, at, 2));
        at += 2 + result.expires.size;
    }
    expect(at == rest.size, "the size of a table's properties");
    return result;
}

static inline index_of_table read_index(const table *of, const item *found)
{
    index_of_table result = {.id = read_table(found).id};
    bytes names = rest_of(found->key, of->key.size + 1);
    bytes content = unseal(found->key, found->record, "an index in the catalogue");
    size_t at = 5 + read_table(found).name.size + 1;
    result.unique = little(content, at, 1) != 0;
    result.count = little(content, at + 1, 1);
    expect(result.count <= COLUMNS_MAX, "the number of columns");
    for (size_t i = 0; i < result.count; i++) {
        const uint8_t *nul = names.size != 0 ? memchr(names.at, 0, names.size) : NULL;
        size_t size = nul != NULL ? (size_t)(nul - names.at) : names.size;
        result.columns[i] = part(names, 0, size);
        names = rest_of(names, nul != NULL ? size + 1 : size);
        result.has[i] = little(content, at + 2 + 2 * i, 2);
    }
    expect(names.size == 0 && at + 2 + 2 * result.count == content.size, "an index's columns");
    return result;
}

/* --- Entries --- */

static inline void add_number_part(builder *to, double real, uint64_t excess)
{
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    add_byte(to, 0x10);
    add_big(to, (bits >> 63) != 0 ? ~bits : bits | UINT64_C(1) << 63, 8);
    if (real >= 9007199254740992.0 || real <= -9007199254740992.0) {
        add_big(to, excess, 2);
    }
}

static inline void add_integer_part(builder *to, int64_t integer)
{
    double real = (double)integer;
    if (real >= 9223372036854775808.0 || (int64_t)real > integer) {
        real = nextafter(real, -INFINITY);
    }
    add_number_part(to, real, (uint64_t)integer - (uint64_t)(int64_t)real);
}

/* Returns what the record says of it: CUT or nothing. */
static inline unsigned add_text_part(builder *to, unsigned class, bytes text)
{
    size_t size = text.size < PART_MAX ? text.size : PART_MAX;
    add_byte(to, class);
    for (size_t i = 0; i < size; i++) {
        add_byte(to, text.at[i]);
        if (text.at[i] == 0) {
            add_byte(to, 0xFF);
        }
    }
    add_big(to, 1, 2);
    return text.size > PART_MAX ? CUT : 0;
}

static inline unsigned add_double_part(builder *to, double real)
{
    if (isnan(real)) {
        return DOUBLE | INEXACT | add_text_part(to, 0x20, text_bytes("NaN"));
    }
    add_number_part(to, real == 0 ? 0 : real, 0);
    return DOUBLE | (real == 0 && signbit(real) ? INEXACT : 0U);
}

/* Returns the byte for the record. */
static inline unsigned add_part(builder *to, const property *value)
{
    char text[GUID_SIZE + 1];
    switch (value != NULL ? value->type : NONE) {
    case NONE:
        add_byte(to, 0);
        return NONE;
    case STRING:
    case LARGE_STRING:
        return STRING | add_text_part(to, 0x20, value->value);
    case BINARY:
    case LARGE_BINARY:
        return BINARY | add_text_part(to, 0x30, value->value);
    case DOUBLE:
        return add_double_part(to, real_of(value->value));
    case DATETIME:
        format_time(little(value->value, 0, 8), text);
        return DATETIME | add_text_part(to, 0x20, text_bytes(text));
    case GUID:
        format_guid(value->value, text);
        return GUID | add_text_part(to, 0x20, text_bytes(text));
    default:
        add_integer_part(to, integer_of(value));
        return value->type;
    }
}

/* A system property as if it was one of the entity's. False if the column is none. */
static inline bool system_property(const entity *of, bytes column, uint8_t ticks[8], property *to)
{
    *to = (property){.type = STRING};
    if (same(column, text_bytes("PartitionKey"))) {
        to->value = of->partition;
        return true;
    }
    if (same(column, text_bytes("RowKey"))) {
        to->value = of->row;
        return true;
    }
    for (size_t i = 0; i < 8; i++) {
        ticks[i] = (uint8_t)(of->ticks >> (8 * i));
    }
    *to = (property){.type = DATETIME, .value = {.at = ticks, .size = 8}};
    return same(column, text_bytes("Timestamp"));
}

/* True if the entity has an entry, which is then found. An entity without the first column that is
 * a property has none. */
static inline bool check_entry(const store *from, const index_of_table *index, const entity *of)
{
    builder key = {0};
    builder types = {0};
    bool decided = false;
    bool has_entry = true;
    uint8_t ticks[8];
    add_table_id(&key, index->id);
    for (size_t i = 0; i < index->count; i++) {
        property system;
        bool is_system = system_property(of, index->columns[i], ticks, &system);
        const property *value = is_system ? &system : find_property(of, index->columns[i]);
        has_entry &= is_system || decided || value != NULL;
        decided |= !is_system;
        unsigned type = add_part(&key, value);
        add_byte(&types, type);
        expect(!has_entry || (index->has[i] >> (type & 15) & 1) != 0 || type == NONE,
               "which values an index has");
        expect((type & CUT) == 0 || index->has[i] >> 15 != 0, "that an index has a cut value");
    }
    add_bytes(&key, of->entity_key);
    const item *found = find_item(&from->all, built(&key));
    expect((found != NULL) == has_entry, "the entries of an index");
    if (found != NULL) {
        expect(same(unseal(found->key, found->record, "an entry"), built(&types)),
               "the types in an entry");
    }
    free(types.at);
    free(key.at);
    return has_entry;
}

/* --- Changes --- */

static inline const item *find_change(const store *from, const table *of, uint64_t ticks,
                                      bytes entity_key)
{
    builder key = {0};
    add_table_id(&key, of->changes);
    add_big(&key, ticks, 8);
    add_bytes(&key, entity_key);
    const item *found = find_item(&from->all, built(&key));
    free(key.at);
    return found;
}

static inline void check_change(const store *from, const table *of, uint64_t ticks,
                                bytes entity_key, unsigned kind)
{
    const item *found = find_change(from, of, ticks, entity_key);
    expect(found != NULL, "the change of an entity or deletion");
    bytes content = unseal(found->key, found->record, "a change");
    expect(content.size == 1 && content.at[0] == kind, "the kind of a change");
}

/* Returns how many there are. */
static inline size_t check_deletions(const store *from, const table *of)
{
    builder start = {0};
    add_table_id(&start, of->deletions);
    size_t first = place_of(&from->all, built(&start));
    size_t count = 0;
    for (; first + count < from->all.count; count++) {
        const item *found = &from->all.at[first + count];
        if (!begins_with(found->key, built(&start))) {
            break;
        }
        bytes content = unseal(found->key, found->record, "a deletion");
        expect(content.size == 8, "the size of a deletion");
        check_change(from, of, little(content, 0, 8), rest_of(found->key, start.size), 2);
    }
    free(start.at);
    return count;
}

/* --- Counts --- */

/* Counts keys that begin so, and the bytes of them and their records. */
static inline size_t count_keys(const store *from, bytes start, uint64_t *total)
{
    size_t count = 0;
    for (size_t at = place_of(&from->all, start);
         at < from->all.count && begins_with(from->all.at[at].key, start); at++) {
        *total += from->all.at[at].key.size + from->all.at[at].record.size;
        count++;
    }
    return count;
}

/* Returns the records of the table. The log's writes are not counted in LMDB's file yet. */
static inline size_t check_counts(const store *from, uint64_t id, bool has_log)
{
    builder start = {0};
    builder chunks = {0};
    builder key = {0};
    uint64_t total = 0;
    add_table_id(&start, id);
    add_byte(&chunks, 0xFF);
    add_table_id(&chunks, id);
    add_byte(&key, 'c');
    add_big(&key, id, 4);
    size_t records = count_keys(from, built(&start), &total);
    size_t pieces = count_keys(from, built(&chunks), &total);
    const item *counts = find_item(&from->counts, built(&key));
    if (!has_log) {
        expect((counts != NULL) == (records + pieces != 0), "the counts of a table");
        expect(counts == NULL || (little(counts->record, 0, 8) == records &&
                                  little(counts->record, 8, 8) == total &&
                                  little(counts->record, 16, 8) == pieces),
               "the counts of a table");
    }
    free(start.at);
    free(chunks.at);
    free(key.at);
    return records;
}

#endif
