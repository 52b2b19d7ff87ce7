#include "bench/workload.h"

#include <string.h>

#define SIX "{FirstName}, {LastName}, {Email}, {Note}, {Age}, {Salary}"
#define POINT " FROM E WHERE PartitionKey = ?1 AND RowKey = ?2"
#define VALUES " INTO E VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
#define JSON_VALUES                                                                                \
    " INTO E VALUES(?1, ?2, json_object('FirstName', ?3, 'LastName', ?4, 'Email', ?5,"             \
    " 'Note', ?6, 'Age', ?7, 'Salary', ?8))"
#define WITH_CONDITION "SELECT {Email} FROM E WHERE "
#define TEXT_OF(number) #number
#define NUMBER(name) TEXT_OF(name)
#define DISTINCT "SELECT DISTINCT PartitionKey FROM E"
#define ROW_KEYS "SELECT {Email} FROM E WHERE RowKey >= ?1 AND RowKey < ?2"

/* What all inserting workloads have in common. */
#define INSERTS                                                                                    \
    .sql = "INSERT" VALUES, .json_sql = "INSERT" JSON_VALUES, .parameters = "PRflenas",            \
    .writes = true

#define NOT_OVER " AND {Born} > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"

#define INDEXED_VALUES " INTO I VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
#define JSON_INDEXED_VALUES                                                                        \
    " INTO I VALUES(?1, ?2, json_object('Email', ?3, 'Team', ?4, 'Age', ?5, 'Note', ?6))"
#define INDEXED_LOAD                                                                               \
    .sql = "INSERT" INDEXED_VALUES, .json_sql = "INSERT" JSON_INDEXED_VALUES,                      \
    .parameters = "PRetan", .writes = true, .keys = KEYS_IN_ORDER, .share = 1, .together = true,   \
    .loads = true
#define INDEXED_INSERTS                                                                            \
    .sql = "INSERT" INDEXED_VALUES, .json_sql = "INSERT" JSON_INDEXED_VALUES,                      \
    .parameters = "PRetan", .writes = true, .keys = KEYS_NEW, .indexes = 1, .singles = true,       \
    .targets = {1, 1}
#define CHANGED_FROM                                                                               \
    " FROM Changed LEFT JOIN C USING (PartitionKey, RowKey) WHERE Number > 0 ORDER BY Number"
#define EMAILS_FROM " FROM I WHERE {Email} >= ?1 ORDER BY {Email} LIMIT 100"

const workload workload_check = {
    .name = "check",
    .access = ACCESS_WHOLE,
    .sql = "SELECT PartitionKey, RowKey, " SIX " FROM E",
    .parameters = "",
    .columns = "PRflenas",
    .operations = 1,
};

const workload workloads[] = {
    {
        .name = "point query, 1 column, random",
        .access = ACCESS_POINT,
        .keys = KEYS_ANY,
        .sql = "SELECT {Email}" POINT,
        .parameters = "PR",
        .columns = "e",
        .operations = 30000,
        .targets = {3.6, 1.5},
    },
    {
        .name = "point query, hot set of 8,000",
        .access = ACCESS_POINT,
        .keys = KEYS_HOT,
        .sql = "SELECT {Email}" POINT,
        .parameters = "PR",
        .columns = "e",
        .operations = 30000,
        .targets = {4.2, 1.05},
    },
    {
        .name = "point query, hot set, inside BEGIN",
        .access = ACCESS_POINT,
        .keys = KEYS_HOT,
        .sql = "SELECT {Email}" POINT,
        .parameters = "PR",
        .columns = "e",
        .operations = 30000,
        .together = true,
    },
    {
        .name = "point query, 6 columns",
        .access = ACCESS_POINT,
        .keys = KEYS_ANY,
        .sql = "SELECT " SIX POINT,
        .parameters = "PR",
        .columns = "flenas",
        .operations = 30000,
        .targets = {2.9, 1.2},
    },
    {
        .name = "point query with prepare, finalize",
        .access = ACCESS_POINT,
        .keys = KEYS_ANY,
        .sql = "SELECT {Email}" POINT,
        .parameters = "PR",
        .columns = "e",
        .operations = 20000,
        .preparing = true,
        .targets = {1.5, 1.15},
    },
    {
        .name = "partition scan, 1 column",
        .access = ACCESS_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT {Email} FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "e",
        .operations = 200,
        .targets = {1.5, 1.5},
    },
    {
        .name = "partition scan, 6 columns",
        .access = ACCESS_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT " SIX " FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "flenas",
        .operations = 200,
        .targets = {1.05, 1.05},
    },
    {
        .name = "sum of one column over all rows",
        .access = ACCESS_SUM,
        .sql = "SELECT sum({Age}) FROM E",
        .parameters = "",
        .columns = "c",
        .operations = 1,
        .targets = {1.8, 1.8},
    },
    {
        .name = "scan, Age = ?: 1 of 50 rows passes",
        .access = ACCESS_WHOLE,
        .condition = CONDITION_AGE,
        .sql = WITH_CONDITION "{Age} = " NUMBER(CONDITION_AGE_IS),
        .parameters = "",
        .columns = "e",
        .operations = 1,
        .targets = {1.4, 1.4},
    },
    {
        .name = "scan, LastName = ?: 1 of 16 rows",
        .access = ACCESS_WHOLE,
        .condition = CONDITION_LAST_NAME,
        .sql = WITH_CONDITION "{LastName} = '" CONDITION_NAME_IS "'",
        .parameters = "",
        .columns = "e",
        .operations = 1,
        .targets = {1.4, 1.4},
    },
    {
        .name = "scan, Salary < ?: 1 of 1,000 rows",
        .access = ACCESS_WHOLE,
        .condition = CONDITION_SALARY,
        .sql = WITH_CONDITION "{Salary} < " NUMBER(CONDITION_SALARY_BELOW),
        .parameters = "",
        .columns = "e",
        .operations = 1,
        .targets = {2, 2},
    },
    {
        .name = "scan, Note IS NULL: no row",
        .access = ACCESS_WHOLE,
        .condition = CONDITION_NO_NOTE,
        .sql = WITH_CONDITION "{Note} IS NULL",
        .parameters = "",
        .columns = "e",
        .operations = 1,
        .targets = {2, 2},
    },
    {
        .name = "scan, DateTime >= ?: 1 of 1,000 rows",
        .sql = "SELECT {Email} FROM D WHERE {Born} >= '" DATED_LAST "'",
        .parameters = "",
        .columns = "e",
        .operations = 1,
        .dated = true,
        .targets = {2, 2},
    },
    {
        .name = "expiry: point query, half are over",
        .keys = KEYS_ANY,
        .sql = "SELECT {Email} FROM X WHERE PartitionKey = ?1 AND RowKey = ?2" NOT_OVER,
        .ptable_sql = "SELECT Email FROM X WHERE PartitionKey = ?1 AND RowKey = ?2",
        .parameters = "PR",
        .columns = "e",
        .operations = 30000,
        .dated = true,
    },
    {
        .name = "expiry: partition scan, half are over",
        .keys = KEYS_PARTITION,
        .sql = "SELECT {Email} FROM X WHERE PartitionKey = ?1" NOT_OVER,
        .ptable_sql = "SELECT Email FROM X WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "e",
        .operations = 200,
        .dated = true,
    },
    {
        .name = "expiry: count(*), half are over",
        .sql = "SELECT count(*) FROM X WHERE 1" NOT_OVER,
        .ptable_sql = "SELECT count(*) FROM X",
        .parameters = "",
        .columns = "c",
        .operations = 1,
        .dated = true,
    },
    {
        .name = "RowKey prefix, 100 rows, 6 columns",
        .access = ACCESS_RANGE,
        .keys = KEYS_ANY,
        .sql = "SELECT " SIX " FROM E WHERE PartitionKey = ?1 AND RowKey >= ?2 AND RowKey < ?3",
        .parameters = "PLH",
        .columns = "flenas",
        .operations = 1000,
        .span = 100,
        .targets = {1.1, 1.1},
    },
    {
        .name = "first 10 of a partition, 6 columns",
        .access = ACCESS_FIRST,
        .keys = KEYS_PARTITION,
        .sql = "SELECT " SIX " FROM E WHERE PartitionKey = ?1 ORDER BY RowKey LIMIT 10",
        .parameters = "P",
        .columns = "flenas",
        .operations = 5000,
        .targets = {1.5, 1.1},
    },
    {
        .name = "DISTINCT PartitionKey",
        .access = ACCESS_DISTINCT,
        .sql = DISTINCT,
        .parameters = "",
        .columns = "P",
        .operations = 1,
        .targets = {50, 50},
    },
    {
        .name = "RowKey range, 10 rows of each partition",
        .access = ACCESS_ROW_KEYS,
        .keys = KEYS_ANY,
        .sql = ROW_KEYS,
        .parameters = "LH",
        .columns = "e",
        .operations = 1,
        .span = 10,
        .targets = {23, 23},
    },
    {
        .name = "count(*) of one partition",
        .access = ACCESS_COUNT_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT count(*) FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "c",
        .operations = 200,
        .targets = {2.8, 2.8},
    },
    {
        .name = "count(*) of the table",
        .access = ACCESS_COUNT_WHOLE,
        .sql = "SELECT count(*) FROM E",
        .parameters = "",
        .columns = "c",
        .operations = 1,
        .targets = {0.45, 0.45},
    },
    {
        .name = "DISTINCT PartitionKey, after ANALYZE",
        .access = ACCESS_DISTINCT,
        .sql = DISTINCT,
        .parameters = "",
        .columns = "P",
        .operations = 1,
        .analyzed = true,
    },
    {
        .name = "RowKey range, 10 rows, after ANALYZE",
        .access = ACCESS_ROW_KEYS,
        .keys = KEYS_ANY,
        .sql = ROW_KEYS,
        .parameters = "LH",
        .columns = "e",
        .operations = 1,
        .span = 10,
        .analyzed = true,
    },
    {
        .name = "index: unique look-up, 1 column",
        .keys = KEYS_ANY,
        .sql = "SELECT {Note} FROM I WHERE {Email} = ?1",
        .parameters = "e",
        .columns = "n",
        .operations = 30000,
        .indexes = 3,
        .targets = {1.3, 1.3},
    },
    {
        .name = "index: unique look-up, inside BEGIN",
        .keys = KEYS_ANY,
        .sql = "SELECT {Note} FROM I WHERE {Email} = ?1",
        .parameters = "e",
        .columns = "n",
        .operations = 30000,
        .together = true,
        .indexes = 3,
        .targets = {1, 1},
    },
    {
        .name = "index: 10 entities a value, 1 column",
        .keys = KEYS_ANY,
        .sql = "SELECT {Note} FROM I WHERE {Team} = ?1",
        .parameters = "t",
        .columns = "n",
        .operations = 10000,
        .indexes = 3,
        .targets = {1.3, 1.3},
    },
    {
        .name = "index: range of 100, fetched",
        .keys = KEYS_ANY,
        .sql = "SELECT {Note}" EMAILS_FROM,
        .parameters = "e",
        .columns = "n",
        .operations = 2000,
        .indexes = 3,
        .targets = {1.3, 1.3},
    },
    {
        .name = "index: range of 100, from entries alone",
        .keys = KEYS_ANY,
        .sql = "SELECT {Email}" EMAILS_FROM,
        .parameters = "e",
        .columns = "e",
        .operations = 2000,
        .indexes = 3,
        .targets = {1, 1},
    },
    {
        .name = "changes: follow all, Properties",
        .sql = "SELECT json_object('Age', Age, 'Email', Email, 'Note', Note)" CHANGED_FROM,
        .json_sql = "SELECT Properties" CHANGED_FROM,
        .ptable_sql = "SELECT Properties FROM pt_changes('C', (SELECT Horizon FROM pt_tables WHERE"
                      " TableName = 'C'))",
        .parameters = "",
        .columns = "n",
        .operations = 1,
        .followed = true,
        .targets = {1.2, 1.2},
    },
    {
        .beside_log = true,
        .name = "log: point query, 1 column",
        .access = ACCESS_POINT,
        .keys = KEYS_ANY,
        .sql = "SELECT {Email}" POINT,
        .parameters = "PR",
        .columns = "e",
        .operations = 300000,
        .targets = {0.99, 0.952},
    },
    {
        .beside_log = true,
        .name = "log: partition scan, 1 column",
        .access = ACCESS_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT {Email} FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "e",
        .operations = 2000,
        .targets = {0.99, 0.909},
    },
    {
        .beside_log = true,
        .name = "log: partition scan, 6 columns",
        .access = ACCESS_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT " SIX " FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "flenas",
        .operations = 1000,
        .targets = {0.99, 0.909},
    },
    {
        .beside_log = true,
        .name = "log: count(*) of one partition",
        .access = ACCESS_COUNT_PARTITION,
        .keys = KEYS_PARTITION,
        .sql = "SELECT count(*) FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .columns = "c",
        .operations = 5000,
        .targets = {0.99, 0.909},
    },
    {
        .name = "load in key order, 1 durable commit",
        INSERTS,
        .access = ACCESS_APPEND,
        .keys = KEYS_IN_ORDER,
        .share = 1,
        .together = true,
        .loads = true,
        .targets = {1.8, 1.8},
    },
    {
        .name = "load in random order, 1 durable commit",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_SHUFFLED,
        .share = 1,
        .together = true,
        .loads = true,
        .targets = {6, 6},
    },
    {
        INDEXED_LOAD,
        .name = "index: load with 1, unique",
        .indexes = 1,
        .targets = {1.3, 1.3},
    },
    {
        INDEXED_LOAD,
        .name = "index: load with 3",
        .indexes = 3,
        .targets = {1.3, 1.3},
    },
    {
        .name = "index: update 10 % of a unique column",
        .keys = KEYS_SHUFFLED,
        .sql = "UPDATE I SET Email = ?3 WHERE PartitionKey = ?1 AND RowKey = ?2",
        .json_sql = "UPDATE I SET Properties = json_set(Properties, '$.Email', ?3)"
                    " WHERE PartitionKey = ?1 AND RowKey = ?2",
        .parameters = "PRe",
        .share = 10,
        .together = true,
        .writes = true,
        .indexes = 3,
        .targets = {1.3, 1.3},
    },
    {
        .name = "changes: load",
        .sql = "INSERT INTO C VALUES(?1, ?2, ?3, ?4, ?5)",
        .json_sql = "INSERT INTO C VALUES(?1, ?2, json_object('Age', ?3, 'Email', ?4, 'Note', ?5))",
        .parameters = "PRaen",
        .writes = true,
        .keys = KEYS_IN_ORDER,
        .share = 1,
        .together = true,
        .loads = true,
        .followed = true,
        .targets = {4, 4},
    },
    {
        .name = "changes: update 10 % at random",
        .keys = KEYS_SHUFFLED,
        .sql = "UPDATE C SET Age = ?3 WHERE PartitionKey = ?1 AND RowKey = ?2",
        .json_sql = "UPDATE C SET Properties = json_set(Properties, '$.Age', ?3)"
                    " WHERE PartitionKey = ?1 AND RowKey = ?2",
        .parameters = "PRa",
        .share = 10,
        .together = true,
        .writes = true,
        .followed = true,
        .targets = {2, 2},
    },
    {
        .name = "update 10 % at random, 1 durable commit",
        .access = ACCESS_UPDATE,
        .keys = KEYS_SHUFFLED,
        .sql = "UPDATE E SET Age = ?3 WHERE PartitionKey = ?1 AND RowKey = ?2",
        .json_sql = "UPDATE E SET Properties = json_set(Properties, '$.Age', ?3)"
                    " WHERE PartitionKey = ?1 AND RowKey = ?2",
        .parameters = "PRa",
        .share = 10,
        .together = true,
        .writes = true,
        .targets = {2.2, 2.2},
    },
    {
        .name = "replace 10 % at random, 1 durable commit",
        .access = ACCESS_REPLACE,
        .keys = KEYS_SHUFFLED,
        .sql = "INSERT OR REPLACE" VALUES,
        .json_sql = "INSERT OR REPLACE" JSON_VALUES,
        .parameters = "PRflenas",
        .share = 10,
        .together = true,
        .writes = true,
        .targets = {2.9, 2.9},
    },
    {
        /* Before partitions get more rows: it counts a partition as that many. */
        .name = "delete a partition, pt_partitions",
        .access = ACCESS_DELETE_PARTITION,
        .keys = KEYS_FRESH_PARTITION_3,
        .sql = "DELETE FROM E WHERE PartitionKey = ?1",
        .ptable_sql = "DELETE FROM pt_partitions WHERE argument1 = 'E' AND PartitionKey = ?1",
        .parameters = "P",
        .operations = 20,
        .writes = true,
        .durability = NO_PROMISE,
        .targets = {1.3, 1.3},
    },
    {
        .name = "fresh store: autocommit insert, durable",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 4000,
        .new_prefix = "dur",
        .fresh = true,
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "autocommit insert, durable",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 1000,
        .new_prefix = "dur",
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "fresh store: autocommit, may lose the last",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 4000,
        .new_prefix = "nor",
        .durability = LOSES_LAST,
        .fresh = true,
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "autocommit insert, may lose the last",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 1000,
        .new_prefix = "nor",
        .durability = LOSES_LAST,
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "fresh store: autocommit, no promise",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 20000,
        .new_prefix = "off",
        .durability = NO_PROMISE,
        .fresh = true,
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "autocommit insert, no promise",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 10000,
        .new_prefix = "off",
        .durability = NO_PROMISE,
        .singles = true,
        .targets = {1, 1},
    },
    {
        .name = "autocommit insert, sync=off and WAL NORMAL",
        INSERTS,
        .access = ACCESS_INSERT,
        .keys = KEYS_NEW,
        .operations = 10000,
        .new_prefix = "saf",
        .durability = ORDINARY_SAFER,
        .targets = {3.5, 3.5},
    },
    {
        INDEXED_INSERTS,
        .name = "index: autocommit insert, durable",
        .operations = 10000,
        .new_prefix = "idu",
    },
    {
        INDEXED_INSERTS,
        .name = "index: autocommit, may lose the last",
        .operations = 10000,
        .new_prefix = "ino",
        .durability = LOSES_LAST,
    },
    {
        INDEXED_INSERTS,
        .name = "index: autocommit, no promise",
        .operations = 50000,
        .new_prefix = "iof",
        .durability = NO_PROMISE,
    },
    {
        INSERTS, .name = "open, 1 durable insert, close", .access = ACCESS_INSERT, .keys = KEYS_NEW,
        .operations = 20, .new_prefix = "opd", .singles = true, .reopens = true,
        .targets = {0.9, 0.7}, /* 0.97 of what it was before there were logs */
    },
    {
        INSERTS, .name = "open, 1 insert without a promise, close", .access = ACCESS_INSERT,
        .keys = KEYS_NEW, .operations = 100, .new_prefix = "opo", .durability = NO_PROMISE,
        .singles = true, .reopens = true, .targets = {0.47, 0.33}, /* the same */
    },
    {
        .name = "delete a partition, durable",
        .access = ACCESS_DELETE_PARTITION,
        .keys = KEYS_FRESH_PARTITION,
        .sql = "DELETE FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .operations = 20,
        .writes = true,
        .targets = {1, 1},
    },
    {
        .name = "delete a partition, no promise",
        .access = ACCESS_DELETE_PARTITION,
        .keys = KEYS_FRESH_PARTITION_2,
        .sql = "DELETE FROM E WHERE PartitionKey = ?1",
        .parameters = "P",
        .operations = 20,
        .writes = true,
        .durability = NO_PROMISE,
        .targets = {1, 1},
    },
};

const unsigned workload_count = ARRAY_SIZE(workloads);

enum { FULL_SIZE = 1000000, OPERATIONS_LEAST = 10, HOT_SET = 8000, HOT_SEED = 77 };

/* Of the third of the partitions that a deleting workload has, for each of a few runs. */
enum { PARTITION_SHARE = 21 };

const workload *workload_named(const char *name)
{
    for (unsigned i = 0; i < workload_count; i++) {
        if (strcmp(workloads[i].name, name) == 0) {
            return &workloads[i];
        }
    }
    fail("there is no row '%s'", name);
}

static uint64_t between(uint64_t least, uint64_t number, uint64_t most)
{
    return number < least ? least : number > most ? most : number;
}

/* A small trial has fewer operations. */
static uint64_t scaled(uint32_t operations, uint64_t entities)
{
    uint64_t few = operations < OPERATIONS_LEAST ? operations : OPERATIONS_LEAST;
    return between(few, operations * entities / FULL_SIZE, operations);
}

uint64_t workload_operations(const workload *work, table_extent extent)
{
    if (work->share != 0) {
        return between(1, extent_count(extent) / work->share, UINT64_MAX);
    } else if (work->access == ACCESS_DELETE_PARTITION) {
        return between(1, extent.partitions / PARTITION_SHARE, work->operations);
    }
    return scaled(work->operations, extent_count(extent));
}

/* --- Which entity --- */

/* The number of a loaded entity. */
static uint64_t choose_entity(const job *task, uint64_t index)
{
    uint64_t entities = extent_count(task->extent);
    uint64_t random = data_random(task->run, index);
    switch (task->work->keys) {
    case KEYS_HOT:
        return data_random(HOT_SEED, random % HOT_SET) % entities;
    case KEYS_SHUFFLED:
        return data_shuffled(index, entities, task->run);
    case KEYS_IN_ORDER:
        return task->first + index;
    default:
        return random % entities;
    }
}

static uint32_t choose_partition(const job *task, uint64_t index)
{
    uint32_t third = (task->extent.partitions + 2) / 3;
    uint32_t fresh = (uint32_t)((task->run * task->operations + index) % third);
    switch (task->work->keys) {
    case KEYS_FRESH_PARTITION:
        return fresh;
    case KEYS_FRESH_PARTITION_2:
        return (third + fresh) % task->extent.partitions;
    case KEYS_FRESH_PARTITION_3:
        return (2 * third + fresh) % task->extent.partitions;
    default:
        return (uint32_t)(data_random(task->run, index) % task->extent.partitions);
    }
}

static void set_loaded(const job *task, uint64_t index, sample *entity)
{
    uint64_t number = choose_entity(task, index);
    uint32_t partition = (uint32_t)(number / task->extent.rows);
    uint32_t row = (uint32_t)(number % task->extent.rows);
    data_set_keys(entity, task->partition != 0 ? task->partition : partition, "row", row);
    if (task->work->span != 0) {
        data_set_bounds(entity, row, task->work->span);
    }
    uint32_t version = task->work->loads || !task->work->writes ? 0 : task->run + 1;
    if (task->work->writes) {
        data_set_values(entity, number, version);
    }
    if (task->work->indexes != 0) {
        data_set_indexed(entity, number, extent_count(task->extent), version);
    }
}

static void set_new(const job *task, uint64_t index, sample *entity)
{
    uint64_t number = task->run * task->operations + index;
    uint32_t partition = task->partition != 0 ? task->partition : choose_partition(task, index);
    data_set_keys(entity, partition, task->work->new_prefix, (uint32_t)number);
    data_set_values(entity, number, 0);
    if (task->work->indexes != 0) {
        uint64_t entities = extent_count(task->extent);
        data_set_indexed(entity, data_random(task->run, index) % entities, entities, 0);
        data_make_email_new(entity);
    }
}

void task_entity(const job *task, uint64_t index, sample *entity)
{
    switch (task->work->keys) {
    case KEYS_NONE:
        break;
    case KEYS_NEW:
        set_new(task, index, entity);
        break;
    case KEYS_PARTITION:
    case KEYS_FRESH_PARTITION:
    case KEYS_FRESH_PARTITION_2:
    case KEYS_FRESH_PARTITION_3:
        data_set_keys(entity, choose_partition(task, index), "row", 0);
        break;
    default:
        set_loaded(task, index, entity);
        break;
    }
}
