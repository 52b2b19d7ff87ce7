/*
 * The sides: ways to keep the same entities. Each has a folder of its own and does the same tasks.
 *
 *     ordinary       PRIMARY KEY(PartitionKey, RowKey)) WITHOUT ROWID, typed columns, a file in WAL
 *                    mode: what the others are compared with
 *     json           the same with one column Properties, read by ->>
 *     ptable memory  a ptable declared in a :memory: database
 *     ptable wal     a ptable declared in a file in WAL mode
 *     lmdb           LMDB's own C API, without SQL: what a store could do at best
 *     floor          a virtual table that makes up its rows, and forgets those that are loaded:
 * what SQLite's interface of virtual tables allows at best
 */
#ifndef TESTS_BENCH_SIDE_H
#define TESTS_BENCH_SIDE_H

#include "bench/digest.h"
#include "bench/workload.h"

typedef struct side_opening {
    const char *folder;  /* the side's own */
    table_extent extent; /* of its data, if the side has to know */
    durability durability;
    bool analyzed;
    bool dated;       /* table D is there too: dated_table.h */
    bool followed;    /* table C is there too: followed_table.h */
    unsigned indexes; /* table I is there too, with so many: indexed_table.h; 0: it is not */
} side_opening;

enum { LOAD_RUNS_MAX = 3 };

typedef struct bench_side {
    const char *name;
    const char *host;   /* of the main database: memory, wal or - */
    const char *title;  /* both, for a table's head */
    unsigned target;    /* which of a workload's targets is this side's; TARGETS: none */
    unsigned load_runs; /* how often a bulk load is timed; 0: there is nothing to load */
    bool made_up;       /* the values are not the entities', only the number of rows is right */

    /* Opens the store in the folder, or makes it. A session is used by one thread at a time. */
    void *(*open)(const side_opening *opening);
    void (*close)(void *session);

    /* Adds the values read to the digest, or the rows written. */
    void (*run)(void *session, const job *task, checksum *digest);
} bench_side;

extern const bench_side side_ordinary;
extern const bench_side side_json;
extern const bench_side side_ptable_memory;
extern const bench_side side_ptable_wal;
extern const bench_side side_lmdb;
extern const bench_side side_floor;

/* Sides that are compared; the first is 1.00. */
typedef struct side_lineup {
    const bench_side *const *sides;
    unsigned count;
} side_lineup;

enum { SIDES_MAX = 6 };

extern const side_lineup lineup_sql;   /* that keep entities and speak SQL */
extern const side_lineup lineup_all;   /* that keep entities */
extern const side_lineup lineup_floor; /* the same, and after them the floor */

/* A ptable without a log, and others that use theirs; and an ordinary table. */
extern const side_lineup lineup_logged;

/* The side's folder inside another. */
void side_folder(const bench_side *side, const char *folder, char path[PATH_SIZE]);

/* Which of lineup_floor has this title. */
const bench_side *side_titled(const char *title);

#endif
