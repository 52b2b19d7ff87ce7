#include "bench/raw_side.h"

#include <stdlib.h>

#define MAP_SIZE ((size_t)1 << 37) /* address space only */

void raw_require(int rc)
{
    if (rc != MDB_SUCCESS) {
        fail("LMDB: %s", mdb_strerror(rc));
    }
}

static void begin_reading(raw_session *session)
{
    raw_require(mdb_txn_begin(session->env, NULL, MDB_RDONLY, &session->reading));
    raw_require(mdb_cursor_open(session->reading, session->dbi, &session->cursor));
    mdb_txn_reset(session->reading);
}

static void *open_raw(const side_opening *opening)
{
    static const unsigned flags[] = {[DURABLE] = 0,
                                     [LOSES_LAST] = MDB_NOMETASYNC,
                                     [NO_PROMISE] = MDB_NOSYNC,
                                     [ORDINARY_SAFER] = MDB_NOSYNC};
    char path[PATH_SIZE];
    path_join(path, opening->folder, "raw.lmdb");
    raw_session *session = calloc(1, sizeof *session);
    require(session != NULL, "out of memory");
    session->table = RAW_TABLE;
    raw_require(mdb_env_create(&session->env));
    raw_require(mdb_env_set_mapsize(session->env, MAP_SIZE));
    raw_require(mdb_env_open(session->env, path,
                             MDB_NOSUBDIR | MDB_NOTLS | flags[opening->durability], 0666));
    MDB_txn *txn;
    raw_require(mdb_txn_begin(session->env, NULL, 0, &txn));
    raw_require(mdb_dbi_open(txn, NULL, 0, &session->dbi));
    raw_require(mdb_txn_commit(txn));
    begin_reading(session);
    return session;
}

static void close_raw(void *session)
{
    raw_session *self = session;
    mdb_cursor_close(self->cursor);
    mdb_txn_abort(self->reading);
    mdb_env_close(self->env);
    free(self);
}

static void renew(raw_session *session)
{
    raw_require(mdb_txn_renew(session->reading));
    raw_require(mdb_cursor_renew(session->reading, session->cursor));
}

static void run_reading(raw_session *session, const job *task, checksum *digest)
{
    sample entity;
    bool together = task->work->together;
    if (together) {
        renew(session);
    }
    for (uint64_t i = 0; i < task->operations; i++) {
        task_entity(task, i, &entity);
        if (!together) {
            renew(session);
        }
        raw_read(session, task, &entity, digest);
        if (!together) {
            mdb_txn_reset(session->reading);
        }
    }
    if (together) {
        mdb_txn_reset(session->reading);
    }
}

static void run_writing(raw_session *session, const job *task, checksum *digest)
{
    sample entity;
    bool together = task->work->together;
    MDB_txn *txn = NULL;
    for (uint64_t i = 0; i < task->operations; i++) {
        double start = task->singles != NULL ? now() : 0;
        task_entity(task, i, &entity);
        if (txn == NULL) {
            raw_require(mdb_txn_begin(session->env, NULL, 0, &txn));
        }
        raw_write(session, txn, task, &entity, digest);
        if (!together || i + 1 == task->operations) {
            raw_require(mdb_txn_commit(txn));
            txn = NULL;
        }
        task_note_single(task, i, start);
    }
}

static void run_raw(void *session, const job *task, checksum *digest)
{
    if (task->work->writes) {
        run_writing(session, task, digest);
    } else {
        run_reading(session, task, digest);
    }
}

const bench_side side_lmdb = {
    .name = "lmdb",
    .host = "-",
    .title = "LMDB itself",
    .target = TARGETS,
    .load_runs = LOAD_RUNS_MAX,
    .open = open_raw,
    .close = close_raw,
    .run = run_raw,
};
