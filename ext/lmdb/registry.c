#include "lmdb/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "lmdb/create.h"
#include "lmdb/data_file.h"
#include "lmdb/file/descriptors.h"
#include "lmdb/file/errors.h"
#include "lmdb/file/foreign_files.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/file/temporary.h"
#include "lmdb/opening.h"

enum { GATE_WAIT_MS = 10000, OPENING_TRIES = 3 };

/* When to try again to open a store after a failure. */
typedef enum retry_moment { RETRY_NEVER, RETRY_NOW, RETRY_LATER } retry_moment;

/* Kept from one try to open a store to the next. */
typedef struct opening {
    const pt_engine *engine;
    const pt_lmdb_hooks *hooks;
    retry_moment when; /* after the last try */
    pt_lmdb_patience patience;
} opening;

static pthread_mutex_t registry_mutex = PTHREAD_MUTEX_INITIALIZER;
static pt_lmdb_store *registry; /* private stores too: they are unusable after a fork as well */
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool handles_forks;

/* --- Forks --- */

static void before_fork(void)
{
    pthread_mutex_lock(&registry_mutex);
    pt_lmdb_foreign_before_fork();
    pt_lmdb_before_fork();
}

static void after_fork(bool in_child)
{
    pt_lmdb_after_fork(in_child);
    pt_lmdb_foreign_after_fork(in_child);
    pthread_mutex_unlock(&registry_mutex);
}

static void after_fork_in_parent(void)
{
    after_fork(false);
}

/* The child's copies of our descriptors would keep the parent's locks alive. */
static void after_fork_in_child(void)
{
    for (pt_lmdb_store *store = registry; store != NULL; store = store->next) {
        if (store->fd >= 0) {
            close(store->fd);
            store->fd = -1;
        }
    }
    registry = NULL;
    after_fork(true);
}

static void handle_forks(void)
{
    handles_forks = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
}

int pt_lmdb_fail_inherited(const pt_lmdb_store *store, pt_error *error)
{
    return pt_error_set(error, SQLITE_CANTOPEN,
                        "store %Q was opened before fork(); open a new connection in this process",
                        store->base.path);
}

/* --- The name of the file --- */

int pt_lmdb_check_name(const pt_lmdb_store *store, int code, pt_error *error)
{
    bool same;
    int problem = pt_lmdb_is_named(store->base.path, store->device, store->inode, &same);
    if (problem != 0) {
        return pt_lmdb_fail(error, problem, store->base.path, "looking at its name");
    }
    return same ? SQLITE_OK : pt_lmdb_fail_moved(error, code, store->base.path);
}

int pt_lmdb_make_name_durable(pt_lmdb_store *store, pt_error *error)
{
    /* `found`: the process that named the file may have died before it synced the folder. */
    if (store->renamed || store->found) {
        int problem = pt_lmdb_sync_folder(store->base.path);
        if (problem != 0) {
            return pt_lmdb_fail(error, problem, store->base.path, "making its name durable");
        }
        store->renamed = false;
        store->found = false;
    }
    return SQLITE_OK;
}

/* --- The environment, with the gate held --- */

static int fail_gate(pt_error *error, const char *path, int rc)
{
    if (rc == SQLITE_BUSY) {
        return pt_error_set(
            error, rc, "store %Q is being opened or replaced by another process; try again", path);
    }
    return pt_lmdb_fail(error, errno, path, "locking it");
}

/*
 * One process at a time opens or closes an environment. Otherwise a process that is killed while it
 * initialises LMDB's lock file, or that destroys the mutexes in it as the last user, would harm the
 * next process that opens the store.
 */
static int take_gate(const pt_lmdb_store *store, pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    int rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, deadline);
    return rc == SQLITE_OK ? rc : fail_gate(error, store->base.path, rc);
}

/*
 * Tries to take the gate while registry_mutex is held. If another process holds it, releases the
 * mutex for a moment, so that opening other stores does not wait for that process, and sets *again.
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

static int open_with_gate(pt_lmdb_store *store, pt_error *error)
{
    int rc = pt_lmdb_check_name(store, SQLITE_CANTOPEN, error);
    if (rc == SQLITE_OK && store->renamed) {
        rc = pt_lmdb_make_name_durable(store, error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_open_env(&store->env, store->base.path, store->fd, store->writable, error);
    }
    if (rc == SQLITE_OK) {
        store->lock_file = pt_lmdb_lock_file_identify(store->base.path);
    }
    return rc;
}

static int announce_presence(int fd)
{
    int rc = pt_lock_take(fd, PT_LOCK_PRESENCE, false, 0);
    return rc == SQLITE_OK ? pt_lock_take(fd, pt_lock_of_process(getpid()), false, 0) : rc;
}

/* Takes the gate, makes our presence known and checks the lock file. Does not wait, as
 * registry_mutex is held: SQLITE_BUSY means try again later. */
static int enter_store_file(pt_lmdb_store *store, pt_lmdb_patience *patience, pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, 0);
    if (rc == SQLITE_OK) {
        rc = announce_presence(store->fd);
    }
    if (rc != SQLITE_OK) {
        return fail_gate(error, store->base.path, rc);
    }
    /* Before the lock file is touched: it may belong to another file that has the name now. */
    rc = pt_lmdb_check_name(store, SQLITE_CANTOPEN, error);
    return rc == SQLITE_OK && store->writable
               ? pt_lmdb_lock_file_check(store->base.path, store->fd, patience, error)
               : rc;
}

static int try_to_open(pt_lmdb_store *store, opening *self, pt_error *error)
{
    int rc = enter_store_file(store, &self->patience, error);
    self->when = rc == SQLITE_BUSY ? RETRY_LATER : RETRY_NEVER;
    if (rc == SQLITE_OK) {
        rc = open_with_gate(store, error);
    }
    if (rc == SQLITE_OK) {
        rc = store->hooks->opened(store, error);
        if (rc != SQLITE_OK) {
            pt_lmdb_env_close(&store->env);
        }
    }
    pt_lock_release(store->fd, PT_LOCK_GATE);
    return rc;
}

static void close_environment(pt_lmdb_store *store, bool has_gate)
{
    pt_lmdb_env_close(&store->env);
    if (has_gate) {
        pt_lock_release(store->fd, PT_LOCK_PRESENCE);
        pt_lock_release(store->fd, PT_LOCK_GATE);
    }
}

int pt_lmdb_reopen(pt_lmdb_store *store, pt_error *error)
{
    if (store->fd < 0) {
        return pt_lmdb_reopen_private(&store->env, false, error);
    }
    int rc = take_gate(store, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    /* Closed first: LMDB must not have a file open twice in one process. */
    pt_lmdb_env_close(&store->env);
    rc = open_with_gate(store, error);
    pt_lock_release(store->fd, PT_LOCK_GATE);
    return rc;
}

/* False if opening the store again could fail. With another lock file of that name, this process
 * and those that use the old one would not know of each other. */
static bool is_as_it_was(const pt_lmdb_store *store, pt_error *error)
{
    const char *path = store->base.path;
    pt_lmdb_file_id now = pt_lmdb_lock_file_identify(path);
    pt_lmdb_file_id then = store->lock_file;
    return pt_lmdb_check_name(store, SQLITE_CANTOPEN, error) == SQLITE_OK &&
           faccessat(AT_FDCWD, path, R_OK | W_OK, AT_EACCESS) == 0 && now.inode != 0 &&
           ((now.inode ^ then.inode) | (now.device ^ then.device)) == 0;
}

int pt_lmdb_reopen_if_safe(pt_lmdb_store *store, pt_error *error)
{
    if (store->fd < 0) {
        return pt_lmdb_reopen_private(&store->env, true, error);
    }
    int rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, 0);
    if (rc != SQLITE_OK) {
        return fail_gate(error, store->base.path, rc);
    }
    if (is_as_it_was(store, error)) {
        pt_lmdb_env_close(&store->env);
        rc = open_with_gate(store, error);
    }
    pt_lock_release(store->fd, PT_LOCK_GATE);
    return rc;
}

/* --- Replacing the file --- */

/* Called with the gate held. SQLITE_OK if no other process has the store open; else the gate has
 * been released. */
static int lock_out_others(const pt_lmdb_store *store, pt_error *error)
{
    int rc = pt_lock_take(store->fd, PT_LOCK_PRESENCE, true, 0);
    if (rc != SQLITE_OK) {
        rc = rc == SQLITE_BUSY
                 ? pt_error_set(error, rc,
                                "store %Q is open in another process; close it there and "
                                "try again",
                                store->base.path)
                 : fail_gate(error, store->base.path, rc);
        pt_lock_release(store->fd, PT_LOCK_GATE);
    }
    return rc;
}

static void let_in_others(const pt_lmdb_store *store)
{
    pt_lock_take(store->fd, PT_LOCK_PRESENCE, false, 0);
    pt_lock_release(store->fd, PT_LOCK_GATE);
}

int pt_lmdb_check_alone(pt_lmdb_store *store, pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    int rc;
    do {
        /* The gate is the same for all threads of this process. Without the mutex, this would
         * release it while another thread opens the environment again. */
        pthread_mutex_lock(&store->mutex);
        rc = pt_lock_take(store->fd, PT_LOCK_GATE, store->writable, 0);
        if (rc == SQLITE_OK) {
            rc = lock_out_others(store, error);
            if (rc == SQLITE_OK) {
                let_in_others(store);
            }
            pthread_mutex_unlock(&store->mutex);
            return rc;
        }
        pthread_mutex_unlock(&store->mutex);
    } while (rc == SQLITE_BUSY && pt_lock_pause(deadline));
    return fail_gate(error, store->base.path, rc);
}

/* The store goes on with the copy. A process that opens it under its new name waits until we
 * release its gate. */
static void switch_to_copy(pt_lmdb_store *store, pt_lmdb_temporary *copy, const struct stat *file)
{
    /* The lock file of the old file: the copy gets one of its own when it is opened. */
    pt_lmdb_lock_file_remove(store->base.path);
    close(store->fd);
    store->fd = pt_lmdb_temporary_take(copy);
    store->device = file->st_dev;
    store->inode = file->st_ino;
    store->renamed = true;
    /* The copy has versions and a size of its own. */
    store->committed = (pt_lmdb_outcome){0};
    store->file_size = 0;
    store->reserve = (pt_lmdb_reserve){0};
}

/* Once the old file is closed it may be impossible to open either file, and the store stays closed.
 * Nothing is lost, as both files have the same content. */
static int exchange_files(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error)
{
    struct stat file;
    /* The copy is locked before it gets the name by which other processes find it. */
    if (pt_lock_take(copy->fd, PT_LOCK_WRITER, true, 0) != SQLITE_OK ||
        announce_presence(copy->fd) != SQLITE_OK || fstat(copy->fd, &file) != 0) {
        return pt_lmdb_fail(error, errno, store->base.path, "locking its copy");
    }
    pt_lmdb_env_close(&store->env);
    int problem = pt_lmdb_temporary_replace(copy, store->base.path);
    if (problem == 0) {
        switch_to_copy(store, copy, &file);
    }
    int rc = open_with_gate(store, error);
    return rc == SQLITE_OK && problem != 0
               ? pt_lmdb_fail(error, problem, store->base.path, "putting its copy in its place")
               : rc;
}

int pt_lmdb_look_at_file(const pt_lmdb_store *store, bool *is_file,
                         pt_lmdb_permissions *permissions)
{
    pthread_mutex_lock(&registry_mutex);
    *is_file = store->fd >= 0;
    int problem = *is_file ? pt_lmdb_read_permissions(store->fd, NULL, permissions) : 0;
    pthread_mutex_unlock(&registry_mutex);
    return problem;
}

int pt_lmdb_replace_file(pt_lmdb_store *store, pt_lmdb_temporary *copy, pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    bool again;
    int rc;
    /* The mutex keeps other threads from using the descriptor that will be replaced. The caller has
     * the store's mutex already. Opening and closing take them in the other order, but only that of
     * a store that no connection uses yet, or any more. */
    pthread_mutex_lock(&registry_mutex);
    do {
        rc = try_gate(store, deadline, &again);
    } while (again);
    rc = rc == SQLITE_OK ? lock_out_others(store, error) : fail_gate(error, store->base.path, rc);
    if (rc == SQLITE_OK) {
        rc = pt_lmdb_check_name(store, SQLITE_CANTOPEN, error);
        if (rc == SQLITE_OK) {
            rc = exchange_files(store, copy, error);
        }
        let_in_others(store);
    }
    pthread_mutex_unlock(&registry_mutex);
    return rc;
}

/* --- Stores --- */

static void free_store(pt_lmdb_store *store)
{
    store->hooks->freed(store);
    if (store->fd >= 0) {
        close(store->fd);
    }
    sqlite3_free(store->spare_writer);
    pt_dictionary_free(store->base.dictionary);
    sqlite3_free((char *)(uintptr_t)store->base.path);
    sqlite3_free(store);
}

/* A store that is not open yet; NULL when out of memory. Takes over `fd`, also on failure. */
static pt_lmdb_store *new_store(const char *path, int fd, const pt_engine *engine,
                                const pt_lmdb_hooks *hooks)
{
    pt_lmdb_store *store = sqlite3_malloc64(sizeof *store);
    if (store == NULL) {
        close(fd);
        return NULL;
    }
    *store = (pt_lmdb_store){.base = {.engine = engine, .is_private = fd < 0},
                             .fd = fd,
                             .hooks = hooks,
                             .references = 1,
                             .writer_state = PT_WRITER_FREE};
    if (fd < 0) {
        pt_lmdb_reserve_none(&store->reserve); /* a private store is not there to be cleared up */
    }
    store->fork_count = atomic_load(&pt_lmdb_fork_count);
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

static void add_to_registry(pt_lmdb_store *store)
{
    store->base.read_only = store->env.read_only;
    store->next = registry;
    registry = store;
}

static void remove_from_registry(const pt_lmdb_store *store)
{
    pt_lmdb_store **link = &registry;
    while (*link != store) {
        link = &(*link)->next;
    }
    *link = store->next;
}

static pt_lmdb_store *find_by_file(const struct stat *file)
{
    pt_lmdb_store *store = registry;
    while (store != NULL &&
           (store->fd < 0 || store->device != file->st_dev || store->inode != file->st_ino)) {
        store = store->next;
    }
    return store;
}

/*
 * --- Opening ---
 *
 * The file is found and opened outside registry_mutex, as it may have to be made. With the mutex
 * held, the store that has this file is shared, or a new one is opened: gate, presence, lock file,
 * environment. The mutex is never held while waiting for another process.
 */

static pt_lmdb_store *find_by_path(const char *path)
{
    pt_lmdb_store *store = registry;
    while (store != NULL && (store->fd < 0 || strcmp(store->base.path, path) != 0)) {
        store = store->next;
    }
    return store;
}

/* If the file has lost its name since it was opened, another file may have the name now. */
static retry_moment retry_by_name(const struct stat *file, const char *path)
{
    bool same;
    int problem = pt_lmdb_is_named(path, file->st_dev, file->st_ino, &same);
    return problem == 0 && !same ? RETRY_NOW : RETRY_NEVER;
}

/* Opens a file that this process does not have open. Takes over `fd`. */
static int open_new_store(const char *path, int fd, bool writable, const struct stat *file,
                          pt_lmdb_store **opened, opening *self, pt_error *error)
{
    /* A store that is open has lost its name to this file, but still uses the lock file of that
     * name. */
    if (find_by_path(path) != NULL) {
        self->when = retry_by_name(file, path);
        close(fd);
        return pt_lmdb_fail_moved(error, SQLITE_CANTOPEN, path);
    }
    pt_lmdb_store *store = new_store(path, fd, self->engine, self->hooks);
    if (store == NULL) {
        return pt_error_nomem(error);
    }
    store->writable = writable;
    store->found = true;
    store->device = file->st_dev;
    store->inode = file->st_ino;
    int rc = try_to_open(store, self, error);
    if (rc != SQLITE_OK) {
        self->when = self->when == RETRY_LATER ? RETRY_LATER : retry_by_name(file, path);
        discard_store(store);
        return rc;
    }
    add_to_registry(store);
    *opened = store;
    return SQLITE_OK;
}

/* Uses the store that has this file open, or opens a new one. Takes over the descriptor. */
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
        rc = pt_lmdb_fail_opening_file(error, path, errno);
        pt_lmdb_close_owned(owned);
        return rc;
    }
    pthread_mutex_lock(&registry_mutex); /* from here no fork can begin */
    int fd = pt_lmdb_disown(owned);
    pt_lmdb_store *store = find_by_file(&file);
    if (store != NULL) {
        store->references++;
        *opened = store;
        close(fd); /* our locks belong to another descriptor of the file */
    } else {
        rc = open_new_store(canonical, fd, writable, &file, opened, self, error);
    }
    pthread_mutex_unlock(&registry_mutex);
    free(canonical);
    return rc;
}

static int open_file(const char *path, bool create, const pt_engine *engine,
                     const pt_lmdb_hooks *hooks, pt_lmdb_store **opened, pt_error *error)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    opening self = {.engine = engine, .hooks = hooks};
    int tries = 0;
    int rc;
    do {
        pt_lmdb_owned owned;
        bool writable;
        self.when = RETRY_NEVER;
        pt_error_clear(error);
        rc = pt_lmdb_open_data_file(path, create, &owned, &writable, error);
        if (rc == SQLITE_OK) {
            rc = share_or_open(path, &owned, writable, opened, &self, error);
        }
    } while ((self.when == RETRY_NOW && ++tries < OPENING_TRIES) ||
             (self.when == RETRY_LATER && pt_lock_pause(deadline)));
    return rc;
}

static int open_private(const pt_engine *engine, const pt_lmdb_hooks *hooks, pt_lmdb_store **opened,
                        pt_error *error)
{
    pt_lmdb_store *store = new_store("(private)", -1, engine, hooks);
    if (store == NULL) {
        return pt_error_nomem(error);
    }
    int rc = pt_lmdb_create_private(&store->env, error);
    if (rc != SQLITE_OK) {
        discard_store(store);
        return rc;
    }
    pthread_mutex_lock(&registry_mutex);
    add_to_registry(store);
    pthread_mutex_unlock(&registry_mutex);
    *opened = store;
    return SQLITE_OK;
}

int pt_lmdb_open(const char *path, unsigned flags, const pt_engine *engine,
                 const pt_lmdb_hooks *hooks, pt_store **store, pt_error *error)
{
    pthread_once(&fork_once, handle_forks);
    if (!handles_forks) {
        return pt_error_nomem(error);
    }
    pt_lmdb_store *opened = NULL;
    int rc = (flags & PT_OPEN_PRIVATE) != 0
                 ? open_private(engine, hooks, &opened, error)
                 : open_file(path, (flags & PT_OPEN_CREATE) != 0, engine, hooks, &opened, error);
    if (rc == SQLITE_OK) {
        *store = &opened->base;
    }
    return rc;
}

/*
 * Drops a reference. True if it was the last one; then takes the gate of a store in a file, if it
 * can be had. While it waits for the gate, another thread may open the store again.
 */
static bool drop_reference(pt_lmdb_store *store, bool *has_gate)
{
    pt_deadline deadline = pt_deadline_in(GATE_WAIT_MS);
    bool again;
    bool last;
    do {
        again = false;
        last = store->references == 1;
        *has_gate = last && store->fd >= 0 && try_gate(store, deadline, &again) == SQLITE_OK;
    } while (again);
    store->references--;
    return last;
}

/* A child leaves an inherited environment open: closing it would free the parent's reader slots. */
void pt_lmdb_close(pt_store *base)
{
    pt_lmdb_store *store = (pt_lmdb_store *)base;
    bool has_gate;
    pthread_mutex_lock(&registry_mutex);
    bool last = drop_reference(store, &has_gate);
    bool inherited = pt_lmdb_is_of_parent(store->fork_count);
    if (last && !inherited) {
        if (has_gate) {
            store->hooks->closing(store);
        }
        remove_from_registry(store);
        close_environment(store, has_gate);
    }
    pthread_mutex_unlock(&registry_mutex);
    if (!last) {
        return;
    }
    /* The mutexes of an inherited store are not destroyed: a thread that the child does not have
     * may have locked them. */
    if (inherited) {
        free_store(store);
    } else {
        discard_store(store);
    }
}
