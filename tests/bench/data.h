/*
 * The entities: six properties and two keys of 10 bytes, about 105 bytes of data, made from their
 * numbers alone, so that all sides get the same without anything being kept.
 *
 * A value is named by a letter:
 *
 *     P PartitionKey    f FirstName    l LastName    e Email    n Note    a Age    s Salary
 *     R RowKey          L, H RowKeys that bound a range        c a number that a query computes
 *     t Team, of table I
 */
#ifndef TESTS_BENCH_DATA_H
#define TESTS_BENCH_DATA_H

#include "bench/settings.h"

enum { KEY_SIZE = 10, EMAIL_SIZE = 24, TEAM_SIZE = 12 };

typedef struct chars {
    const char *bytes;
    uint32_t size;
} chars;

typedef struct sample {
    char partition_key[KEY_SIZE];
    char row_key[KEY_SIZE];
    char low_key[KEY_SIZE];
    char high_key[KEY_SIZE];
    char email[EMAIL_SIZE];
    char team[TEAM_SIZE];
    chars first_name;
    chars last_name;
    chars note;
    int32_t age;
    double salary;
} sample;

/* A number below 2^64 that depends on both. */
uint64_t data_random(uint64_t seed, uint64_t index);

/* Place of `index` in a random order of 0..count-1, which `seed` chooses. */
uint64_t data_shuffled(uint64_t index, uint64_t count, uint64_t seed);

/* `prefix` has 3 bytes. */
void data_set_keys(sample *entity, uint32_t partition, const char *prefix, uint32_t row);

/* The range of `span` rows that `row` lies in. */
void data_set_bounds(sample *entity, uint32_t row, uint32_t span);

/* The properties of the entity with this number; another version has other values. */
void data_set_values(sample *entity, uint64_t number, uint32_t version);

/* Email and Team of the entity with this number in table I, which has `count`: every Email is
 * another, and ten have the same Team. */
void data_set_indexed(sample *entity, uint64_t number, uint64_t count, uint32_t version);

/* Makes the Email another one, next to what it was, which no other RowKey has. */
void data_make_email_new(sample *entity);

/* A key or property that is text. */
static inline chars data_text(const sample *entity, char letter)
{
    switch (letter) {
    case 'P':
        return (chars){entity->partition_key, KEY_SIZE};
    case 'R':
        return (chars){entity->row_key, KEY_SIZE};
    case 'L':
        return (chars){entity->low_key, KEY_SIZE};
    case 'H':
        return (chars){entity->high_key, KEY_SIZE};
    case 'f':
        return entity->first_name;
    case 'l':
        return entity->last_name;
    case 'e':
        return (chars){entity->email, EMAIL_SIZE};
    case 't':
        return (chars){entity->team, TEAM_SIZE};
    default:
        return entity->note;
    }
}

#endif
