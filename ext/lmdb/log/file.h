/*
 * The file of a log: beside the store's file, under its name with "-log" appended.
 *
 *     4096 bytes  header: 8 bytes "ptlog", 00, 00, 01; u64 id, random; zeros; a seal (base/seal.h)
 *     then        records (lmdb/log/record.h)
 *
 * The file is made in its full size and the header is written once. Every byte is written before
 * the log is used: otherwise each flush of a record would also write what the file system knows
 * about the file.
 *
 * Offsets count from the first record.
 */
#ifndef PT_LMDB_LOG_FILE_H
#define PT_LMDB_LOG_FILE_H

#include <sys/types.h>

#include "lmdb/file/descriptors.h"
#include "lmdb/file/lock_file.h"
#include "lmdb/log/record.h"

/* Room for records; a log is applied when PT_LOG_LONG is used. */
enum { PT_LOG_ROOM = 5 << 18, PT_LOG_LONG = 1 << 20 };

/* --- Files beside a store's file --- */

/*
 * Opens the file whose name is `path` with the suffix. `flags` are those of open(): with O_CREAT a
 * missing file is made, with the permissions of the store's open file `store`. Returns 0 or errno;
 * EMLINK if the name belongs to something else than a regular file, or the file has another name
 * too.
 */
int pt_log_open_beside(const char *path, const char *suffix, int flags, int store,
                       pt_lmdb_owned *file);

/* --- The log --- */

/* Makes a log with a new id, durably, with its name. Returns 0 or errno; EEXIST if there is a file
 * of that name that is no log. */
int pt_log_file_make(const char *path, int store, uint64_t *id, pt_lmdb_owned *file);

/* Opens the log. Returns 0 or errno; ENOENT if there is none, ESTALE if it has another id, ENODATA
 * if it was never finished, EEXIST if the file is no log, EMLINK as above. */
int pt_log_file_open(const char *path, uint64_t id, bool writable, pt_lmdb_owned *file);

/* Removes the log if there is one, with this id, or with any if `id` is 0. False when out of
 * memory. */
bool pt_log_file_remove(const char *path, uint64_t id);

/* Removes the file of this name. False when out of memory. */
bool pt_log_remove_beside(const char *path, const char *suffix);

/* Reads what the file has from there on. Returns 0 or errno. */
int pt_log_file_read(int fd, uint32_t at, uint8_t *bytes, size_t size, size_t *got);

/* These return 0 or errno. */
int pt_log_file_write(int fd, uint32_t at, pt_slice record);
int pt_log_file_flush(int fd);

/* Which file this is. Zeros if that cannot be told. */
pt_lmdb_file_id pt_log_file_identify(int fd);

/* False if the name is no longer that of this file, or the file was cut: nobody would find again
 * what is appended to it. `name` is that of the log itself. */
bool pt_log_file_is_whole(const char *name, pt_lmdb_file_id file);

/* Overwrites a record, so that it does not verify. */
int pt_log_file_void(int fd, uint32_t at);

#endif
