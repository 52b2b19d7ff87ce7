/*
 * Reads a store's files by the description in ext/FORMAT.md alone, compares everything in them that
 * must agree, and prints the entities as SQL. tests/test_format.sh compares them with what the
 * extension shows.
 *
 *     show_store a.ptable
 */
#include "format/log.h"

#include <time.h>

static void print_text(bytes text)
{
    printf("CAST(x'");
    for (size_t i = 0; i < text.size; i++) {
        printf("%02x", text.at[i]);
    }
    printf("' AS TEXT)");
}

static void print_base64(bytes binary)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    printf("'");
    for (size_t i = 0; i < binary.size; i += 3) {
        size_t left = binary.size - i < 3 ? binary.size - i : 3;
        uint64_t group = big(binary, i, left) << (8 * (3 - left));
        for (size_t j = 0; j < 4; j++) {
            putchar(j <= left ? digits[group >> (18 - 6 * j) & 63] : '=');
        }
    }
    printf("'");
}

static void print_double(double real)
{
    if (isnan(real) || isinf(real)) {
        printf("'%s'", isnan(real) ? "NaN" : real > 0 ? "Infinity" : "-Infinity");
    } else {
        printf("%.17e", real);
    }
}

/* As JSON has it. */
static void print_value(const property *value)
{
    char text[GUID_SIZE + 1];
    switch (value->type) {
    case STRING:
    case LARGE_STRING:
        print_text(value->value);
        break;
    case BINARY:
    case LARGE_BINARY:
        print_base64(value->value);
        break;
    case DOUBLE:
        print_double(real_of(value->value));
        break;
    case DATETIME:
        format_time(little(value->value, 0, 8), text);
        printf("'%s'", text);
        break;
    case GUID:
        format_guid(value->value, text);
        printf("'%s'", text);
        break;
    default:
        printf("%lld", (long long)integer_of(value));
    }
}

static void print_entity(const table *of, const entity *shown)
{
    size_t rows = shown->count != 0 ? shown->count : 1;
    for (size_t i = 0; i < rows; i++) {
        printf("INSERT INTO Decoded VALUES(");
        print_text(of->name);
        printf(", ");
        print_text(shown->partition);
        printf(", ");
        print_text(shown->row);
        printf(", %llu, ", (unsigned long long)shown->ticks);
        if (shown->count != 0) {
            print_text(shown->properties[i].name);
            printf(", ");
            print_value(&shown->properties[i]);
        } else {
            printf("NULL, NULL");
        }
        printf(");\n");
    }
}

static bool has_expired(const table *of, const entity *shown)
{
    static const uint64_t epoch = 621355968000000000;
    const property *due = of->expires.size != 0 ? find_property(shown, of->expires) : NULL;
    return due != NULL && due->type == DATETIME &&
           little(due->value, 0, 8) <= epoch + (uint64_t)time(NULL) * 10000000;
}

/* Prints the entities of a table, and finds what belongs to each of them. Returns their number. */
static size_t show_entities(const store *from, const table *of, const index_of_table *indexes,
                            size_t index_count, size_t *entries)
{
    builder start = {0};
    static entity shown;
    add_table_id(&start, of->id);
    size_t first = place_of(&from->all, built(&start));
    size_t count = 0;
    for (; first + count < from->all.count; count++) {
        const item *found = &from->all.at[first + count];
        if (!begins_with(found->key, built(&start))) {
            break;
        }
        read_entity(from, found, &shown);
        if (!has_expired(of, &shown)) {
            print_entity(of, &shown);
        }
        for (size_t i = 0; i < index_count; i++) {
            entries[i] += check_entry(from, &indexes[i], &shown) ? 1 : 0;
        }
        if (of->changes != 0) {
            check_change(from, of, shown.ticks, shown.entity_key, 1);
        }
    }
    free(start.at);
    return count;
}

/* Reads the indexes of a table, which follow it in the catalogue. */
static size_t read_indexes(const store *from, const table *of, index_of_table *indexes, size_t most)
{
    builder start = {0};
    add_bytes(&start, of->key);
    add_byte(&start, 0);
    size_t first = place_of(&from->all, built(&start));
    size_t count = 0;
    while (first + count < from->all.count &&
           begins_with(from->all.at[first + count].key, built(&start))) {
        expect(count < most, "the number of indexes");
        indexes[count] = read_index(of, &from->all.at[first + count]);
        count++;
    }
    free(start.at);
    return count;
}

static void show_table(const store *from, const item *found, bool has_log)
{
    enum { INDEXES_MAX = 16 };
    index_of_table indexes[INDEXES_MAX];
    size_t entries[INDEXES_MAX] = {0};
    table of = read_table(found);
    expect(of.id != 0 && of.id < from->next_table_id, "the id of a table");
    size_t index_count = read_indexes(from, &of, indexes, INDEXES_MAX);
    size_t count = show_entities(from, &of, indexes, index_count, entries);
    expect(check_counts(from, of.id, has_log) == count, "the entities of a table");
    for (size_t i = 0; i < index_count; i++) {
        expect(check_counts(from, indexes[i].id, has_log) == entries[i], "an entry too many");
    }
    if (of.changes != 0) {
        size_t deletions = check_deletions(from, &of);
        expect(check_counts(from, of.deletions, has_log) == deletions, "the deletions");
        expect(check_counts(from, of.changes, has_log) == count + deletions, "a change too many");
    }
    printf("INSERT INTO Found VALUES(");
    print_text(of.name);
    printf(", %u, %zu, %zu, %d);\n", of.kind, count, index_count, of.changes != 0);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: show_store STORE\n");
        return 2;
    }
    store *from = read_store(argv[1]);
    bool has_log = apply_log(from, argv[1]);
    printf("CREATE TABLE Decoded(TableName, PartitionKey, RowKey, Ticks, Name, Value);\n"
           "CREATE TABLE Found(TableName, Kind, Entities, Indexes, HasChanges);\nBEGIN;\n");
    for (size_t i = 0; i < from->all.count && from->all.at[i].key.at[0] == 0; i++) {
        bytes name = rest_of(from->all.at[i].key, 1);
        if (memchr(name.at, 0, name.size) == NULL) {
            show_table(from, &from->all.at[i], has_log);
        }
    }
    printf("COMMIT;\n");
    return 0;
}
