#include "lmdb/engine.h"

#include "base/sqlite.h"
#include "lmdb/backup.h"
#include "lmdb/check.h"
#include "lmdb/compact.h"
#include "lmdb/create.h"
#include "lmdb/info.h"
#include "lmdb/log_open.h"
#include "lmdb/logged_writer.h"
#include "lmdb/registry.h"
#include "lmdb/snapshot.h"
#include "lmdb/store_cursor.h"
#include "lmdb/writer_lock.h"

static int open_with_this_engine(const char *path, unsigned flags, pt_store **store,
                                 pt_error *error)
{
    return pt_lmdb_open(path, flags, &pt_lmdb_engine, &pt_log_hooks, store, error);
}

static int forget_log_with_this_engine(const char *path, int64_t *kept, int64_t *clock,
                                       pt_error *error)
{
    return pt_log_forget(path, &pt_lmdb_engine, kept, clock, error);
}

/* In the order of store/engine.h. */
const pt_engine pt_lmdb_engine = {
    .open = open_with_this_engine,
    .create = pt_lmdb_create_file,
    .close = pt_lmdb_close,
    .lock = pt_lmdb_lock,
    .unlock = pt_lmdb_unlock,
    .next_timestamp = pt_lmdb_next_timestamp,
    .snapshot_new = pt_lmdb_snapshot_new,
    .snapshot_begin = pt_lmdb_snapshot_begin,
    .snapshot_is_newest = pt_lmdb_snapshot_is_newest,
    .snapshot_end = pt_lmdb_snapshot_end,
    .snapshot_free = pt_lmdb_snapshot_free,
    .get = pt_lmdb_get,
    .cursor_open = pt_lmdb_cursor_open,
    .cursor_close = pt_lmdb_cursor_close,
    .cursor_seek = pt_lmdb_cursor_seek,
    .cursor_narrow = pt_lmdb_cursor_narrow,
    .cursor_step = pt_lmdb_cursor_step,
    .cursor_ahead = pt_lmdb_cursor_ahead,
    .cursor_skip = pt_lmdb_cursor_skip,
    .counts = pt_lmdb_counts,
    .has_chunks = pt_lmdb_has_chunks,
    .info = pt_lmdb_info,
    .check = pt_lmdb_check,
    .backup = pt_lmdb_backup,
    .compact = pt_lmdb_compact,
    .forget_log = forget_log_with_this_engine,
    .write_begin = pt_logged_write_begin,
    .write_collect = pt_logged_write_collect,
    .write_put = pt_logged_write_put,
    .write_delete = pt_logged_write_delete,
    .write_restore = pt_logged_write_restore,
    .write_commit = pt_logged_write_commit,
    .write_abort = pt_logged_write_abort,
    .write_publish = pt_logged_write_publish,
};

static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static char version_text[32];

static void format_version(void)
{
    int major;
    int minor;
    int patch;
    mdb_version(&major, &minor, &patch);
    sqlite3_snprintf((int)sizeof version_text, version_text, "LMDB %d.%d.%d", major, minor, patch);
}

const char *pt_engine_version(void)
{
    pthread_once(&version_once, format_version);
    return version_text;
}
