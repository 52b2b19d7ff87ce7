/*
 * The operations of LMDB's side, by access.
 */
#include "bench/raw_side.h"

static const uint8_t *bytes_of(MDB_val value)
{
    return value.mv_data;
}

/* True if the cursor stands on a key that begins with the prefix. */
static bool is_under(int rc, MDB_val key, const uint8_t *prefix, size_t size)
{
    if (rc == MDB_NOTFOUND) {
        return false;
    }
    raw_require(rc);
    return size == 0 || (key.mv_size >= size && memcmp(key.mv_data, prefix, size) == 0);
}

static int seek(raw_session *session, const uint8_t *from, size_t size, MDB_val *key, MDB_val *data)
{
    *key = (MDB_val){size, (void *)(uintptr_t)from};
    return mdb_cursor_get(session->cursor, key, data, MDB_SET_RANGE);
}

static int step(raw_session *session, MDB_val *key, MDB_val *data)
{
    return mdb_cursor_get(session->cursor, key, data, MDB_NEXT);
}

static void digest_entry(MDB_val key, MDB_val data, const job *task, checksum *digest)
{
    raw_digest_row(bytes_of(key), bytes_of(data), data.mv_size, task->work->columns, digest);
}

static void read_point(raw_session *session, const job *task, const sample *entity,
                       checksum *digest)
{
    uint8_t bytes[RAW_KEY_SIZE];
    MDB_val key = {raw_write_key(bytes, session->table, entity, 'R'), bytes};
    MDB_val data;
    int rc = mdb_get(session->reading, session->dbi, &key, &data);
    if (rc != MDB_NOTFOUND) {
        raw_require(rc);
        digest_entry(key, data, task, digest);
    }
}

/* At most so many rows of the partition. */
static void read_partition(raw_session *session, const job *task, const sample *entity,
                           uint64_t most, checksum *digest)
{
    uint8_t prefix[RAW_KEY_SIZE];
    size_t size = raw_write_partition(prefix, session->table, entity->partition_key);
    MDB_val key, data;
    int rc = seek(session, prefix, size, &key, &data);
    for (; most > 0 && is_under(rc, key, prefix, size); most--) {
        digest_entry(key, data, task, digest);
        rc = step(session, &key, &data);
    }
}

/* The rows from L to before H of the partition that the prefix is. */
static void read_range(raw_session *session, const job *task, const sample *entity,
                       const uint8_t *prefix, checksum *digest)
{
    uint8_t low[RAW_KEY_SIZE];
    memcpy(low, prefix, RAW_PARTITION_SIZE);
    memcpy(low + RAW_PARTITION_SIZE, entity->low_key, KEY_SIZE);
    MDB_val key, data;
    int rc = seek(session, low, sizeof low, &key, &data);
    while (is_under(rc, key, prefix, RAW_PARTITION_SIZE) &&
           memcmp(bytes_of(key) + RAW_PARTITION_SIZE, entity->high_key, KEY_SIZE) < 0) {
        digest_entry(key, data, task, digest);
        rc = step(session, &key, &data);
    }
}

/* The first entry of the partition behind the one that the prefix is. */
static int next_partition(raw_session *session, const uint8_t *prefix, MDB_val *key, MDB_val *data)
{
    uint8_t end[RAW_PARTITION_SIZE];
    memcpy(end, prefix, sizeof end);
    end[sizeof end - 1] = 1;
    return seek(session, end, sizeof end, key, data);
}

/* For each partition its first row, or the rows between the bounds. */
static void read_partitions(raw_session *session, const job *task, const sample *entity,
                            checksum *digest)
{
    uint8_t prefix[RAW_PARTITION_SIZE];
    MDB_val key, data;
    int rc = mdb_cursor_get(session->cursor, &key, &data, MDB_FIRST);
    while (is_under(rc, key, prefix, 0)) {
        memcpy(prefix, key.mv_data, sizeof prefix);
        if (task->work->access == ACCESS_DISTINCT) {
            digest_entry(key, data, task, digest);
        } else {
            read_range(session, task, entity, prefix, digest);
        }
        rc = next_partition(session, prefix, &key, &data);
    }
}

static bool passes(work_condition condition, MDB_val data)
{
    const uint8_t *record = bytes_of(data);
    switch (condition) {
    case CONDITION_AGE:
        return raw_age(record) == CONDITION_AGE_IS;
    case CONDITION_LAST_NAME:
        return raw_has_last_name(record, data.mv_size, CONDITION_NAME_IS);
    case CONDITION_SALARY:
        return raw_salary(record) < CONDITION_SALARY_BELOW;
    case CONDITION_NO_NOTE:
        return false;
    default:
        return true;
    }
}

static void read_whole(raw_session *session, const job *task, checksum *digest)
{
    MDB_val key, data;
    int rc = mdb_cursor_get(session->cursor, &key, &data, MDB_FIRST);
    while (is_under(rc, key, NULL, 0)) {
        if (passes(task->work->condition, data)) {
            digest_entry(key, data, task, digest);
        }
        rc = step(session, &key, &data);
    }
}

static void digest_number(int64_t number, checksum *digest)
{
    digest_integer(digest, 'c', number);
    digest->rows++;
}

static void sum_ages(raw_session *session, checksum *digest)
{
    int64_t sum = 0;
    MDB_val key, data;
    int rc = mdb_cursor_get(session->cursor, &key, &data, MDB_FIRST);
    while (is_under(rc, key, NULL, 0)) {
        sum += raw_age(bytes_of(data));
        rc = step(session, &key, &data);
    }
    digest_number(sum, digest);
}

static void count_partition(raw_session *session, const sample *entity, checksum *digest)
{
    uint8_t prefix[RAW_KEY_SIZE];
    size_t size = raw_write_partition(prefix, session->table, entity->partition_key);
    int64_t count = 0;
    MDB_val key, data;
    int rc = seek(session, prefix, size, &key, &data);
    while (is_under(rc, key, prefix, size)) {
        count++;
        rc = step(session, &key, &data);
    }
    digest_number(count, digest);
}

/* LMDB knows it. */
static void count_whole(raw_session *session, checksum *digest)
{
    MDB_stat stat;
    raw_require(mdb_stat(session->reading, session->dbi, &stat));
    digest_number((int64_t)stat.ms_entries, digest);
}

static void read_one_range(raw_session *session, const job *task, const sample *entity,
                           checksum *digest)
{
    uint8_t prefix[RAW_KEY_SIZE];
    raw_write_partition(prefix, session->table, entity->partition_key);
    read_range(session, task, entity, prefix, digest);
}

void raw_read(raw_session *session, const job *task, const sample *entity, checksum *digest)
{
    switch (task->work->access) {
    case ACCESS_POINT:
        read_point(session, task, entity, digest);
        break;
    case ACCESS_PARTITION:
        read_partition(session, task, entity, UINT64_MAX, digest);
        break;
    case ACCESS_FIRST:
        read_partition(session, task, entity, FIRST_ROWS, digest);
        break;
    case ACCESS_RANGE:
        read_one_range(session, task, entity, digest);
        break;
    case ACCESS_DISTINCT:
    case ACCESS_ROW_KEYS:
        read_partitions(session, task, entity, digest);
        break;
    case ACCESS_SUM:
        sum_ages(session, digest);
        break;
    case ACCESS_COUNT_PARTITION:
        count_partition(session, entity, digest);
        break;
    case ACCESS_COUNT_WHOLE:
        count_whole(session, digest);
        break;
    default:
        read_whole(session, task, digest);
        break;
    }
}

/* --- Writing --- */

static void put(raw_session *session, MDB_txn *txn, const sample *entity, unsigned flags)
{
    uint8_t key_bytes[RAW_KEY_SIZE];
    uint8_t record[RAW_RECORD_MAX];
    MDB_val key = {raw_write_key(key_bytes, session->table, entity, 'R'), key_bytes};
    MDB_val data = {raw_write_record(record, entity), record};
    raw_require(mdb_put(txn, session->dbi, &key, &data, flags));
}

static void update(raw_session *session, MDB_txn *txn, const sample *entity)
{
    uint8_t key_bytes[RAW_KEY_SIZE];
    uint8_t record[RAW_RECORD_MAX];
    MDB_val key = {raw_write_key(key_bytes, session->table, entity, 'R'), key_bytes};
    MDB_val data;
    raw_require(mdb_get(txn, session->dbi, &key, &data));
    require(data.mv_size <= sizeof record, "a record is too long");
    memcpy(record, data.mv_data, data.mv_size);
    raw_set_age(record, entity->age);
    data.mv_data = record;
    raw_require(mdb_put(txn, session->dbi, &key, &data, 0));
}

uint64_t raw_delete_prefix(raw_session *session, MDB_txn *txn, const uint8_t *prefix, size_t size)
{
    uint64_t deleted = 0;
    MDB_cursor *cursor;
    MDB_val data;
    MDB_val key = {size, (void *)(uintptr_t)prefix};
    raw_require(mdb_cursor_open(txn, session->dbi, &cursor));
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    while (is_under(rc, key, prefix, size)) {
        raw_require(mdb_cursor_del(cursor, 0));
        deleted++;
        rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return deleted;
}

uint64_t raw_delete_aged(raw_session *session, int32_t age)
{
    MDB_txn *txn;
    MDB_cursor *cursor;
    MDB_val data;
    uint8_t prefix[RAW_KEY_SIZE];
    sample nobody = {0};
    raw_write_partition(prefix, session->table, nobody.partition_key);
    MDB_val key = {RAW_TABLE_SIZE, prefix};
    raw_require(mdb_txn_begin(session->env, NULL, 0, &txn));
    raw_require(mdb_cursor_open(txn, session->dbi, &cursor));
    uint64_t deleted = 0;
    int rc = mdb_cursor_get(cursor, &key, &data, MDB_SET_RANGE);
    while (is_under(rc, key, prefix, RAW_TABLE_SIZE)) {
        if (raw_age(bytes_of(data)) == age) {
            raw_require(mdb_cursor_del(cursor, 0));
            deleted++;
        }
        rc = mdb_cursor_get(cursor, &key, &data, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    raw_require(mdb_txn_commit(txn));
    return deleted;
}

static uint64_t delete_partition(raw_session *session, MDB_txn *txn, const sample *entity)
{
    uint8_t prefix[RAW_KEY_SIZE];
    size_t size = raw_write_partition(prefix, session->table, entity->partition_key);
    return raw_delete_prefix(session, txn, prefix, size);
}

void raw_write(raw_session *session, MDB_txn *txn, const job *task, const sample *entity,
               checksum *digest)
{
    switch (task->work->access) {
    case ACCESS_UPDATE:
        update(session, txn, entity);
        break;
    case ACCESS_DELETE_PARTITION:
        digest->rows += delete_partition(session, txn, entity);
        return;
    default:
        put(session, txn, entity,
            task->work->access == ACCESS_APPEND    ? MDB_APPEND
            : task->work->access == ACCESS_REPLACE ? 0
                                                   : MDB_NOOVERWRITE);
        break;
    }
    digest->rows++;
}
