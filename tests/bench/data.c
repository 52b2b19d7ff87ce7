#include "bench/data.h"

#include <string.h>

#define TEXT(literal)                                                                              \
    {                                                                                              \
        literal, sizeof(literal) - 1                                                               \
    }

enum { FEISTEL_ROUNDS = 4 };

static const chars first_names[] = {
    TEXT("Ann"),    TEXT("Bernard"),  TEXT("Carla"), TEXT("Dominique"),
    TEXT("Eva"),    TEXT("Frank"),    TEXT("Gerda"), TEXT("Henrietta"),
    TEXT("Ilse"),   TEXT("Jonathan"), TEXT("Karim"), TEXT("Leonie"),
    TEXT("Mehmet"), TEXT("Nora"),     TEXT("Olga"),  TEXT("Pascal"),
};

static const chars last_names[] = {
    TEXT("Andersson"), TEXT("Baker"),    TEXT("Castellano"), TEXT("Dietrich"),
    TEXT("Eriksen"),   TEXT("Fontaine"), TEXT("Gardner"),    TEXT("Hall"),
    TEXT("Ivanova"),   TEXT("Jones"),    TEXT("Kwok"),       TEXT("Lindqvist"),
    TEXT("Martinez"),  TEXT("Nakamura"), TEXT("Okonkwo"),    TEXT("Petersen"),
};

static const chars notes[] = {
    TEXT("on parental leave until the end of March"),
    TEXT("works from the branch office on Mondays"),
    TEXT("first aider"),
    TEXT("moved from sales to marketing, has kept the old desk"),
    TEXT("speaks four languages, ask before hiring translators"),
    TEXT("holds a key to the archive"),
    TEXT("part time, mornings only"),
    TEXT("has asked for a larger screen and a quieter room"),
};

/* The finalizer of splitmix64. */
uint64_t data_random(uint64_t seed, uint64_t index)
{
    uint64_t x = seed * UINT64_C(0xD1342543DE82EF95) + index * UINT64_C(0x9E3779B97F4A7C15) + 1;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* A Feistel network permutes the numbers of an even number of bits; what it puts beyond the count
 * is permuted again. */
uint64_t data_shuffled(uint64_t index, uint64_t count, uint64_t seed)
{
    unsigned half = 1;
    while (UINT64_C(1) << (2 * half) < count) {
        half++;
    }
    uint64_t mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = index >> half;
        uint64_t right = index & mask;
        for (unsigned round = 0; round < FEISTEL_ROUNDS; round++) {
            uint64_t next = left ^ (data_random(seed * FEISTEL_ROUNDS + round, right) & mask);
            left = right;
            right = next;
        }
        index = left << half | right;
    } while (index >= count);
    return index;
}

static void write_digits(char *end, unsigned digits, uint64_t number)
{
    for (; digits > 0; digits--) {
        *--end = (char)('0' + number % 10);
        number /= 10;
    }
}

static void write_row_key(char key[KEY_SIZE], const char *prefix, uint32_t row)
{
    memcpy(key, prefix, 3);
    write_digits(key + KEY_SIZE, KEY_SIZE - 3, row);
}

void data_set_keys(sample *entity, uint32_t partition, const char *prefix, uint32_t row)
{
    memcpy(entity->partition_key, "part", 4);
    write_digits(entity->partition_key + KEY_SIZE, KEY_SIZE - 4, partition);
    write_row_key(entity->row_key, prefix, row);
}

void data_set_bounds(sample *entity, uint32_t row, uint32_t span)
{
    uint32_t low = row - row % span;
    write_row_key(entity->low_key, "row", low);
    write_row_key(entity->high_key, "row", low + span);
}

void data_set_values(sample *entity, uint64_t number, uint32_t version)
{
    uint64_t random = data_random(version, number);
    entity->first_name = first_names[random % ARRAY_SIZE(first_names)];
    entity->last_name = last_names[(random >> 8) % ARRAY_SIZE(last_names)];
    entity->note = notes[(random >> 16) % ARRAY_SIZE(notes)];
    entity->age = 18 + (int32_t)((random >> 24) % 50);
    entity->salary = 1500 + (double)((random >> 32) % 40000) / 8;
    memcpy(entity->email, "user", 4);
    write_digits(entity->email + 12, 8, number);
    memcpy(entity->email + 12, "@contoso.com", 12);
}

void data_set_indexed(sample *entity, uint64_t number, uint64_t count, uint32_t version)
{
    enum { ORDER = 5, ENTITIES_A_TEAM = 10 };
    uint64_t place = data_shuffled(number, count, ORDER);
    memcpy(entity->email, "us", 2);
    write_digits(entity->email + 4, 2, version);
    write_digits(entity->email + 12, 8, place);
    memcpy(entity->email + 12, "@contoso.com", 12);
    memcpy(entity->team, "team", 4);
    write_digits(entity->team + TEAM_SIZE, TEAM_SIZE - 4, place / ENTITIES_A_TEAM);
}

void data_make_email_new(sample *entity)
{
    memcpy(entity->email + EMAIL_SIZE - KEY_SIZE, entity->row_key, KEY_SIZE);
}
