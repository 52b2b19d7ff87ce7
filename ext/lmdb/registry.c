#include "lmdb/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/create.h"
#include "lmdb/data_file.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/forks.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/temporary.h"

enum { GATE_WAIT_MS = 10000, OPENING_TRIES = 3 };

/* What may help after a failure to open: to begin anew, at once or after a moment. */
typedef enum retry { RETRY_NEVER, RETRY_NOW, RETRY_LATER } retry;

/* What lasts over the tries to open a store. */
typedef struct opening {
    const pt_engine *engine;
    retry when;
    pt_lmdb_patience patience;
} opening;

atomic_uint pt_lmdb_generation;

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_lmdb_store *registry; /* private stores too: a fork concerns them as well */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool fork_is_noticed;

/* --- Forks --- */

static void before_fork(void)
{
    pthread_mutex_lock(&registry_mutex);
    pt_lmdb_foreign_forks_begin();
    pt_lmdb_forks_begin();
}

static void after_fork_in_parent(void)
{
    pt_lmdb_forks_end_in_parent();
    pt_lmdb_foreign_forks_end_in_parent();
    pthread_mutex_unlock(&registry_mutex);
}

/* The child's copies of our descriptors would keep the parent's locks alive. */
static void after_fork_in_child(void)
{
    atomic_fetch_add(&pt_lmdb_generation, 1);
    for (pt_lmdb_store *store = registry; store != NULL; store = store->next) {
        if (store->fd >= 0) {
            close(store->fd);
            store->fd = -1;
        }
    }
    registry = NULL;
    pt_lmdb_forks_end_in_child();
    pt_lmdb_foreign_forks_end_in_child();
    pthread_mutex_unlock(&registry_mutex);
}

static void notice_forks(void)
{
    fork_is_noticed = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

int pt_lmdb_fail_inherited(const pt_lmdb_store *store, pt_error *error)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q was opened before fork(); open a new connection in this process",
                        store->base.path);
}

/* --- The environment, behind the gate --- */

static int fail_lock(pt_error *error, const char *path, int rc)
{
    if (rc == SQLITE_BUSY) {
        return pt_error_set(
            error, rc, "store %Q is being opened or replaced by another process; try again", path);
    }
    return pt_lmdb_fail(error, errno, path, "locking it");
}

/*
 * One process at a time opens or closes: an opener killed while it initialises LMDB's lock file, or
 * a last one out that destroys the mutexes in it, would otherwise harm the next one in.
 */
static int pass_gate(const pt_lmdb_store *store)
{
    return pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, pt_deadline_in(GATE_WAIT_MS));
}

/*
 * A try to pass the gate while the registry is locked. *again: it is taken, and a moment has passed
 * in which the registry was not locked, so that whoever stands still in there delays nobody else.
 */
static int try_gate(const pt_lmdb_store *store, pt_deadline deadline, bool *again)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, 0);
    *again = rc == SQLITE_BUSY && !pt_deadline_has_passed(deadline);
    if (*again) {
        pthread_mutex_unlock(&registry_mutex);
        pt_lock_pause(deadline);
        pthread_mutex_lock(&registry_mutex);
    }
    return rc;
}

static int open_behind_gate(pt_lmdb_store *store, pt_error *error)
{
    int rc = pt_lmdb_check_place(store, SQLITE_CANTOPEN, error);
    if (rc == SQLITE_OK && store->renamed) {
        rc = pt_lmdb_settle_name(store, error);
    }
    return rc == SQLITE_OK
               ? pt_lmdb_env_open(&store->env, store->base.path, store->fd, store->writable, error)
               : rc;
}

/* SQLITE_BUSY: not now. Nothing is waited for, as the registry is locked. */
static int come_in(pt_lmdb_store *store, pt_lmdb_patience *patience, pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, 0);
    if (rc == SQLITE_OK) {
        rc = pt_lock_take(store->fd, PT_LOCK_PRESENCE, false, 0);
    }
    if (rc != SQLITE_OK) {
        return fail_lock(error, store->base.path, rc);
    }
    /* Another file's lock file is none of ours. */
    rc = pt_lmdb_check_place(store, SQLITE_CANTOPEN, error);
    return rc == SQLITE_OK && store->writable
               ? pt_lmdb_lock_file_check(store->base.path, store->fd, patience, error)
               : rc;
}

static int open_environment(pt_lmdb_store *store, opening *self, pt_error *error)
{
    int rc = come_in(store, &self->patience, error);
    self->when = rc == SQLITE_BUSY ? RETRY_LATER : RETRY_NEVER;
    if (rc == SQLITE_OK) {
        rc = open_behind_gate(store, error);
    }
    pt_lock_release(store->fd, PT_LOCK_GATE);
    return rc;
}

static void close_environment(pt_lmdb_store *store, bool gate_passed)
{
    pt_lmdb_env_close(&store->env);
    if (gate_passed) {
        pt_lock_release(store->fd, PT_LOCK_PRESENCE);
        pt_lock_release(store->fd, PT_LOCK_GATE);
    }
}

int pt_lmdb_reopen(pt_lmdb_store *store, pt_error *error)
{
    if (store->fd < 0) {
        return pt_lmdb_reopen_private(&store->env, error);
    }
    int rc = pass_gate(store);
    if (rc != SQLITE_OK) {
        return fail_lock(error, store->base.path, rc);
    }
    pt_lmdb_env_close(&store->env);
    rc = open_behind_gate(store, error);
    pt_lock_release(store->fd, PT_LOCK_GATE);
    return rc;
}

/* --- Another file in the place of the store's --- */

/* Behind the gate: sees to it that nobody else has the store open, or leaves the gate. */
static int lock_out_others(const pt_lmdb_store *store, pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_PRESENCE, true, 0);
    if (rc != SQLITE_OK) {
        rc = rc == SQLITE_BUSY
                 ? pt_error_set(error, rc,
                                "store %Q is open in another process; close it there and "
                                "try again",
                                store->base.path)
                 : fail_lock(error, store->base.path, rc);
        pt_lock_release(store->fd, PT_LOCK_GATE);
    }
    return rc;
}

static void let_in_others(const pt_lmdb_store *store)
{
    pt_lock_take(store->fd, PT_LOCK_PRESENCE, false, 0);
    pt_lock_release(store->fd, PT_LOCK_GATE);
}

int pt_lmdb_is_alone(pt_lmdb_store *store, pt_error *error)
{
    int rc = pass_gate(store);
    if (rc != SQLITE_OK) {
        return fail_lock(error, store->base.path, rc);
    }
    rc = lock_out_others(store, error);
    if (rc == SQLITE_OK) {
        let_in_others(store);
    }
    return rc;
}

/* Who opens the file by its new name waits at its gate. */
static void adopt(pt_lmdb_store *store, pt_lmdb_temporary *copy, const struct stat *file)
{
    pt_lmdb_lock_file_remove(store->base.path);
    close(store->fd);
    store->fd = pt_lmdb_temporary_take(copy);
    store->device = file->st_dev;
    store->inode = file->st_ino;
    store->renamed = true;
    store->committed = (pt_lmdb_outcome){0};
    store->file_size = 0;
}

/* Between closing the one and opening the other there is no way back, but the same content. */
static int exchange(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error)
{
    struct stat file;
    if (pt_lock_take(copy->fd, PT_LOCK_WRITER, true, 0) != SQLITE_OK ||
        pt_lock_take(copy->fd, PT_LOCK_PRESENCE, false, 0) != SQLITE_OK ||
        fstat(copy->fd, &file) != 0) {
        return pt_lmdb_fail(error, errno, store->base.path, "locking its copy");
    }
    pt_lmdb_env_close(&store->env);
    int problem = pt_lmdb_temporary_replace(copy, store->base.path);
    if (problem == 0) {
        adopt(store, copy, &file);
    }
    int rc = open_behind_gate(store, error);
    return rc == SQLITE_OK && problem != 0
               ? pt_lmdb_fail(error, problem, store->base.path, "putting its copy in its place")
               : rc;
}

int pt_lmdb_look(const pt_lmdb_store *store, bool *is_file, struct stat *file)
{
    pthread_mutex_lock(&registry_mutex);
    *is_file = store->fd >= 0;
    int problem = *is_file && fstat(store->fd, file) != 0 ? errno : 0;
    pthread_mutex_unlock(&registry_mutex);
    return problem;
}

int pt_lmdb_take_over(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    bool again;
    int rc;
    pthread_mutex_lock(&registry_mutex);
    do {
        rc = try_gate(store, deadline, &again);
    } while (again);
    rc = rc == SQLITE_OK ? lock_out_others(store, error) : fail_lock(error, store->base.path, rc);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_place(store, SQLITE_CANTOPEN, error);
        if (rc == SQLITE_OK) {
            rc = exchange(store, copy, error);
        }
        let_in_others(store);
    }
    pthread_mutex_unlock(&registry_mutex);
    return rc;
}

/* --- Stores --- */

static void free_store(pt_lmdb_store *store)
{
    if (store->fd >= 0) {
        close(store->fd);
    }
    sqlite3_free(store->spare_writer);
    pt_dictionary_free(store->base.dictionary);
    sqlite3_free((char *)(uintptr_t)store->base.path);
    sqlite3_free(store);
}

/* A store without environment; NULL when out of memory. Takes `fd` over, also on failure. */
static pt_lmdb_store *new_store(const char *path, int fd, const pt_engine *engine)
{
    pt_lmdb_store *store = sqlite3_malloc64(sizeof *store);
    if (store == NULL) {
        close(fd);
        return NULL;
    }
    *store = (pt_lmdb_store){
        .base = {.engine = engine}, .fd = fd, .references = 1, .writer_state = PT_WRITER_FREE};
    store->generation = atomic_load(&pt_lmdb_generation);
    store->base.path = sqlite3_mprintf("%s", path);
    store->base.dictionary = pt_dictionary_new();
    if (store->base.path == NULL || store->base.dictionary == NULL ||
        getrandom(store->nonce, sizeof store->nonce, 0) != (ssize_t)sizeof store->nonce ||
        pthread_mutex_init(&store->mutex, NULL) != 0) {
        free_store(store);
        return NULL;
    }
    if (!pt_writer_queue_init(&store->queue)) {
        pthread_mutex_destroy(&store->mutex);
        free_store(store);
        return NULL;
    }
    return store;
}

static void discard_store(pt_lmdb_store *store)
{
    pt_writer_queue_destroy(&store->queue);
    pthread_mutex_destroy(&store->mutex);
    free_store(store);
}

static void enter_store(pt_lmdb_store *store)
{
    store->base.read_only = store->env.read_only;
    store->next = registry;
    registry = store;
}

static void remove_store(const pt_lmdb_store *store)
{
    pt_lmdb_store **link = &registry;
    while (*link != store) {
        link = &(*link)->next;
    }
    *link = store->next;
}

static pt_lmdb_store *find_store(const struct stat *file)
{
    pt_lmdb_store *store = registry;
    while (store != NULL &&
           (store->fd < 0 || store->device != file->st_dev || store->inode != file->st_ino)) {
        store = store->next;
    }
    return store;
}

/* --- Opening --- */

static pt_lmdb_store *find_by_path(const char *path)
{
    pt_lmdb_store *store = registry;
    while (store != NULL && (store->fd < 0 || strcmp(store->base.path, path) != 0)) {
        store = store->next;
    }
    return store;
}

/* A file that has lost its name meanwhile: another one may have it. */
static retry retry_by_name(const struct stat *file, const char *path)
{
    return pt_lmdb_has_lost_name(file, path) ? RETRY_NOW : RETRY_NEVER;
}

/* A store for a file that this process does not have open. Takes `fd` over. */
static int open_store(const char *path, int fd, bool writable, const struct stat *file,
                      pt_lmdb_store **opened, opening *self, pt_error *error)
{
    if (find_by_path(path) != NULL) {
        self->when = retry_by_name(file, path);
        close(fd);
        return pt_lmdb_fail_moved(error, SQLITE_CANTOPEN, path);
    }
    pt_lmdb_store *store = new_store(path, fd, self->engine);
    if (store == NULL) {
        return pt_error_nomem(error);
    }
    store->writable = writable;
    store->found = true;
    store->device = file->st_dev;
    store->inode = file->st_ino;
    int rc = open_environment(store, self, error);
    if (rc != SQLITE_OK) {
        self->when = self->when == RETRY_LATER ? RETRY_LATER : retry_by_name(file, path);
        discard_store(store);
        return rc;
    }
    enter_store(store);
    *opened = store;
    return SQLITE_OK;
}

/* Takes the descriptor over. */
static int share_or_open(const char *path, pt_lmdb_owned *owned, bool writable,
                         pt_lmdb_store **opened, opening *self, pt_error *error)
{
    struct stat file;
    int rc = pt_lmdb_check_file(owned->fd, path, &file, error);
    if (rc != SQLITE_OK) {
        pt_lmdb_foreign_keep(owned, writable);
        return rc;
    }
    /* LMDB's lock file is named after the data file, which therefore must have one name. */
    char *canonical = realpath(path, NULL);
    if (canonical == NULL) {
        rc = pt_lmdb_fail_finding(error, path, errno);
        pt_lmdb_close_owned(owned);
        return rc;
    }
    pthread_mutex_lock(&registry_mutex); /* no fork begins now */
    int fd = pt_lmdb_disown(owned);
    pt_lmdb_store *store = find_store(&file);
    if (store != NULL) {
        store->references++;
        *opened = store;
        close(fd);
    } else {
        rc = open_store(canonical, fd, writable, &file, opened, self, error);
    }
    pthread_mutex_unlock(&registry_mutex);
    free(canonical);
    return rc;
}

static int open_file(const char *path, bool create, const pt_engine *engine, pt_lmdb_store **opened,
                     pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    opening self = {.engine = engine};
    int tries = 0;
    int rc;
    do {
        pt_lmdb_owned owned;
        bool writable;
        self.when = RETRY_NEVER;
        pt_error_clear(error);
        rc = pt_lmdb_find_file(path, create, &owned, &writable, error);
        if (rc == SQLITE_OK) {
            rc = share_or_open(path, &owned, writable, opened, &self, error);
        }
    } while ((self.when == RETRY_NOW && ++tries < OPENING_TRIES) ||
             (self.when == RETRY_LATER && pt_lock_pause(deadline)));
    return rc;
}

static int open_private(const pt_engine *engine, pt_lmdb_store **opened, pt_error *error)
{
    pt_lmdb_store *store = new_store("(private)", -1, engine);
    if (store == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_lmdb_create_private(&store->env, error);
    if (rc != SQLITE_OK) {
        discard_store(store);
        return rc;
    }
    pthread_mutex_lock(&registry_mutex);
    enter_store(store);
    pthread_mutex_unlock(&registry_mutex);
    *opened = store;
    return SQLITE_OK;
}

int pt_lmdb_open(const char *path, unsigned flags, const pt_engine *engine, pt_store **store,
                 pt_error *error)
{
    pthread_once(&fork_once, notice_forks);
    if (!fork_is_noticed) {
        return pt_error_nomem(error);
    }
    pt_lmdb_store *opened = NULL;
    int rc = (flags & PT_OPEN_PRIVATE) != 0
                 ? open_private(engine, &opened, error)
                 : open_file(path, (flags & PT_OPEN_CREATE) != 0, engine, &opened, error);
    if (rc == SQLITE_OK) {
        *store = &opened->base;
    }
    return rc;
}

/*
 * Whether it is the last reference that is given back. Then the gate is passed, where there is one;
 * while this waits for it, others may take the store up again.
 */
static bool give_back(pt_lmdb_store *store, bool *gate_passed)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    bool again;
    bool last;
    do {
        again = false;
        last = store->references == 1;
        *gate_passed = last && store->fd >= 0 && try_gate(store, deadline, &again) == SQLITE_OK;
    } while (again);
    store->references--;
    return last;
}

/* In a child the environment is left alone: closing it would free the parent's reader slots. */
void pt_lmdb_close(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    bool gate_passed;
    pthread_mutex_lock(&registry_mutex);
    bool last = give_back(store, &gate_passed);
    bool inherited = pt_lmdb_is_inherited(store);
    if (last && !inherited) {
        remove_store(store);
        close_environment(store, gate_passed);
    }
    pthread_mutex_unlock(&registry_mutex);
    if (!last) {
        return;
    }
    if (inherited) {
        free_store(store);
    } else {
        discard_store(store);
    }
}
