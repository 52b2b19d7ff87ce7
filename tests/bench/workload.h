/*
 * The rows of the benchmark. A workload says in SQL what is done; LMDB does the same by its access.
 * To add a row, add it to the table in workload.c.
 */
#ifndef TESTS_BENCH_WORKLOAD_H
#define TESTS_BENCH_WORKLOAD_H

#include "bench/data.h"

/* What LMDB's side does, where the others have SQL. */
typedef enum work_access {
    ACCESS_POINT,
    ACCESS_PARTITION,
    ACCESS_RANGE, /* of rows in a partition */
    ACCESS_FIRST,
    ACCESS_WHOLE,
    ACCESS_SUM,
    ACCESS_DISTINCT,
    ACCESS_ROW_KEYS, /* a range of rows in each partition */
    ACCESS_COUNT_PARTITION,
    ACCESS_COUNT_WHOLE,
    ACCESS_INSERT,
    ACCESS_APPEND, /* insert after everything else */
    ACCESS_REPLACE,
    ACCESS_UPDATE,
    ACCESS_DELETE_PARTITION,
} work_access;

/* Which of the entities that it passes ACCESS_WHOLE reads. The statements say the same in SQL. */
typedef enum work_condition {
    CONDITION_NONE,
    CONDITION_AGE,       /* Age is CONDITION_AGE_IS: 1 of 50 */
    CONDITION_LAST_NAME, /* LastName is CONDITION_NAME_IS: 1 of 16 */
    CONDITION_SALARY,    /* Salary is below CONDITION_SALARY_BELOW: 1 of 1,000 */
    CONDITION_NO_NOTE,   /* Note is NULL: none */
} work_condition;

/* The last of the times in table D, which one row of 1,000 has: dated_table.h. */
#define DATED_LAST "2023-11-15T14:52:20.0000000Z"

#define CONDITION_AGE_IS 30
#define CONDITION_NAME_IS "Kwok"
#define CONDITION_SALARY_BELOW 1505

/* Which entity an operation is on. */
typedef enum work_keys {
    KEYS_NONE,
    KEYS_ANY,      /* random ones */
    KEYS_HOT,      /* random ones of a set of 8,000 */
    KEYS_SHUFFLED, /* random ones, none twice in a run */
    KEYS_IN_ORDER,
    KEYS_NEW,               /* in random partitions, none twice ever */
    KEYS_PARTITION,         /* a random partition */
    KEYS_FRESH_PARTITION,   /* one of the first third, none twice as long as there are enough */
    KEYS_FRESH_PARTITION_2, /* of the second third */
    KEYS_FRESH_PARTITION_3, /* of the last third */
} work_keys;

/* What a commit promises when the power fails. */
typedef enum durability {
    DURABLE,        /* nothing is lost: sync=full, synchronous=FULL */
    LOSES_LAST,     /* the last commits may be lost: sync=normal, synchronous=NORMAL */
    NO_PROMISE,     /* everything may be lost: sync=off, synchronous=OFF */
    ORDINARY_SAFER, /* sync=off, but synchronous=NORMAL */
} durability;

enum { TARGET_MEMORY, TARGET_WAL, TARGETS, FIRST_ROWS = 10 };

/* Of the rows beside a log. */
enum { TARGET_EMPTY_LOG = TARGET_MEMORY, TARGET_FULL_LOG = TARGET_WAL };

typedef struct workload {
    const char *name;
    work_access access;
    work_condition condition;
    work_keys keys;
    const char *sql;        /* {Name} is a property */
    const char *json_sql;   /* for properties in JSON; NULL: made from `sql` */
    const char *ptable_sql; /* for ptable, where it has another way; NULL: `sql` */
    const char *parameters; /* letters of data.h: ?1, ?2, ... */
    const char *columns;    /* letters of the columns of a result */
    uint32_t operations;    /* of a run at 1,000,000 entities and more */
    uint32_t share;         /* if not 0: instead, of each so many entities one */
    uint32_t span;          /* rows between the bounds L and H */
    const char *new_prefix; /* of RowKeys of KEYS_NEW, 3 bytes */
    durability durability;
    bool together;    /* the operations of a run are one transaction */
    bool preparing;   /* each operation prepares its statement and finalizes it */
    bool analyzed;    /* after ANALYZE */
    bool dated;       /* reads table D: dated_table.h */
    bool followed;    /* works on table C: followed_table.h */
    unsigned indexes; /* works on table I with so many: indexed_table.h */
    bool singles;     /* each operation is timed by itself, too */
    bool reopens;     /* each operation opens its side first, and closes it */
    bool beside_log;  /* reads ptables that use their log: logged_sides.h */
    bool writes;
    bool fresh; /* into a store that was only loaded, with a quarter of the partitions */
    bool loads; /* into an empty table, in a process of its own */
    double targets[TARGETS]; /* ratios to the first side, the ordinary table; 0: none */
} workload;

extern const workload workloads[];
extern const unsigned workload_count;

/* Reads every value of every entity. */
extern const workload workload_check;

/* The workload of this name; it must exist. */
const workload *workload_named(const char *name);

/* How many operations a run has. */
uint64_t workload_operations(const workload *work, table_extent extent);

/* One run of a workload. */
typedef struct job {
    const workload *work;
    table_extent extent;
    uint64_t operations;
    uint64_t first;     /* of KEYS_IN_ORDER: the entity of the first operation */
    uint32_t run;       /* chooses the keys; 0: the run that warms the caches */
    uint32_t partition; /* if not 0: all operations are on this partition */
    bool thorough;      /* digest every byte */
    double *singles;    /* if not NULL: gets the seconds of each operation */
} job;

/* Notes the time of operation `index`, which began at `start`, if that is asked for. */
static inline void task_note_single(const job *task, uint64_t index, double start)
{
    if (task->singles != NULL) {
        task->singles[index] = now() - start;
    }
}

/* Sets what the parameters of operation `index` need. */
void task_entity(const job *task, uint64_t index, sample *entity);

#endif
