/*
 * The records and keys of LMDB's side, as small and as quick to read as a ptable's or smaller:
 *
 *     key       u8 table | PartitionKey | 00 | RowKey
 *     record    10 bytes, what a ptable has for shape and time | f64 Salary | i32 Age | u8 ends[3]
 *               of the texts in the data but the last | 8 bytes, what a ptable has for checksums
 *               | data: FirstName, LastName, Email, Note, each with a NUL
 */
#ifndef TESTS_BENCH_RAW_RECORD_H
#define TESTS_BENCH_RAW_RECORD_H

#include "bench/data.h"
#include "bench/digest.h"

enum {
    RAW_TABLE_SIZE = 1,
    RAW_PARTITION_SIZE = RAW_TABLE_SIZE + KEY_SIZE + 1,
    RAW_KEY_SIZE = RAW_PARTITION_SIZE + KEY_SIZE,
    RAW_RECORD_MAX = 256,
    RAW_TABLE = 1, /* the table that is measured */
};

/* Table, PartitionKey and 00; returns their size. */
size_t raw_write_partition(uint8_t key[RAW_KEY_SIZE], uint32_t table, const char *partition_key);

/* A whole key; the RowKey is that of the letter. */
size_t raw_write_key(uint8_t key[RAW_KEY_SIZE], uint32_t table, const sample *entity, char letter);

/* Returns the record's size. */
size_t raw_write_record(uint8_t record[RAW_RECORD_MAX], const sample *entity);

void raw_set_age(uint8_t *record, int32_t age);
int32_t raw_age(const uint8_t *record);
double raw_salary(const uint8_t *record);
bool raw_has_last_name(const uint8_t *record, size_t record_size, const char *name);

/* Reads the columns as values. */
void raw_digest_row(const uint8_t *key, const uint8_t *record, size_t record_size,
                    const char *columns, checksum *digest);

#endif
