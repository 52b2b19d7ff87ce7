#include "bench/raw_record.h"

enum { SALARY_AT = 10, AGE_AT = 18, ENDS_AT = 22, CHECKSUMS_AT = 25, DATA_AT = 33 };

static const char text_letters[] = "flen";

size_t raw_write_partition(uint8_t key[RAW_KEY_SIZE], uint32_t table, const char *partition_key)
{
    key[0] = (uint8_t)table;
    memcpy(key + RAW_TABLE_SIZE, partition_key, KEY_SIZE);
    key[RAW_PARTITION_SIZE - 1] = 0;
    return RAW_PARTITION_SIZE;
}

size_t raw_write_key(uint8_t key[RAW_KEY_SIZE], uint32_t table, const sample *entity, char letter)
{
    raw_write_partition(key, table, entity->partition_key);
    memcpy(key + RAW_PARTITION_SIZE, data_text(entity, letter).bytes, KEY_SIZE);
    return RAW_KEY_SIZE;
}

size_t raw_write_record(uint8_t record[RAW_RECORD_MAX], const sample *entity)
{
    size_t end = 0;
    memset(record, 0, SALARY_AT);
    memset(record + CHECKSUMS_AT, 0, DATA_AT - CHECKSUMS_AT);
    memcpy(record + SALARY_AT, &entity->salary, sizeof entity->salary);
    raw_set_age(record, entity->age);
    for (int i = 0; text_letters[i] != 0; i++) {
        chars text = data_text(entity, text_letters[i]);
        memcpy(record + DATA_AT + end, text.bytes, text.size);
        end += text.size + 1;
        record[DATA_AT + end - 1] = 0;
        if (text_letters[i + 1] != 0) {
            record[ENDS_AT + i] = (uint8_t)end;
        }
    }
    return DATA_AT + end;
}

void raw_set_age(uint8_t *record, int32_t age)
{
    memcpy(record + AGE_AT, &age, sizeof age);
}

int32_t raw_age(const uint8_t *record)
{
    int32_t age;
    memcpy(&age, record + AGE_AT, sizeof age);
    return age;
}

double raw_salary(const uint8_t *record)
{
    double value;
    memcpy(&value, record + SALARY_AT, sizeof value);
    return value;
}

static chars record_text(const uint8_t *record, size_t record_size, char letter)
{
    size_t ordinal = (size_t)(strchr(text_letters, letter) - text_letters);
    size_t start = ordinal > 0 ? record[ENDS_AT + ordinal - 1] : 0;
    size_t end = text_letters[ordinal + 1] != 0 ? record[ENDS_AT + ordinal] : record_size - DATA_AT;
    return (chars){(const char *)record + DATA_AT + start, (uint32_t)(end - start - 1)};
}

bool raw_has_last_name(const uint8_t *record, size_t record_size, const char *name)
{
    chars text = record_text(record, record_size, 'l');
    return text.size == strlen(name) && memcmp(text.bytes, name, text.size) == 0;
}

static chars column_text(const uint8_t *key, const uint8_t *record, size_t record_size, char letter)
{
    switch (letter) {
    case 'P':
        return (chars){(const char *)key + RAW_TABLE_SIZE, KEY_SIZE};
    case 'R':
        return (chars){(const char *)key + RAW_PARTITION_SIZE, KEY_SIZE};
    default:
        return record_text(record, record_size, letter);
    }
}

void raw_digest_row(const uint8_t *key, const uint8_t *record, size_t record_size,
                    const char *columns, checksum *digest)
{
    for (; *columns != 0; columns++) {
        if (*columns == 'a') {
            digest_integer(digest, 'a', raw_age(record));
        } else if (*columns == 's') {
            digest_real(digest, 's', raw_salary(record));
        } else {
            chars text = column_text(key, record, record_size, *columns);
            digest_text(digest, *columns, text.bytes, text.size);
        }
    }
    digest->rows++;
}
