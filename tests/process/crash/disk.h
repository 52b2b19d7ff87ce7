/*
 * What a process asks of the disk, recorded call by call, and what the disk may hold if the power
 * fails at any moment of it.
 *
 * Promised is: what was written to a file before its last completed sync is there; so is a write
 * through a descriptor opened with O_DSYNC once it returns; so are names in the folder once the
 * folder was synced. Of everything since, any part may be there: writes in any order, each torn at
 * sectors; the file as long as it was, as it became, or in between; names made and removed or not.
 */
#ifndef TESTS_PROCESS_CRASH_DISK_H
#define TESTS_PROCESS_CRASH_DISK_H

#include <limits.h>

#include "faults/call_facts.h"
#include "fixtures/files.h"

enum { DISK_FILES = 200, DISK_NAMES = 20, DISK_SECTOR = 512 };

typedef enum disk_kind {
    DISK_WRITE,
    DISK_RESIZE,
    DISK_SYNC,
    DISK_LINK,        /* the name leads to the file */
    DISK_UNLINK,      /* the name is gone */
    DISK_SYNC_FOLDER, /* all names */
    DISK_MARK,        /* set by the test; like any event it ends the one before */
} disk_kind;

typedef struct disk_event {
    disk_kind kind;
    int file;
    int name;
    bool durable; /* when it has returned */
    size_t offset;
    size_t size; /* of the bytes, or the file's new one */
    uint8_t *bytes;
    int mark;
    int number;
} disk_event;

typedef struct disk_log {
    char folder[PATH_SIZE];
    disk_event *events;
    size_t count;
    size_t room;
    char names[DISK_NAMES][FILE_NAME_SIZE];
    int at[DISK_NAMES]; /* the file that a name leads to now, or -1 */
    int name_count;
    file_content first[DISK_FILES]; /* before the first event */
    int first_at[DISK_NAMES];
    int file_count;
    uint8_t *memory; /* that processes share, for what is written; NULL: each event has its own */
    size_t memory_room;
    size_t memory_used;
    bool drops_syncs;    /* a disk that lies */
    const char *dropped; /* only of files whose names end so; NULL: of all */
} disk_log;

/* --- Recording --- */

static disk_log *disk_recorded; /* the log that the process writes to, or NULL */

static inline disk_event *disk_append(disk_log *log, disk_kind kind)
{
    if (log->count == log->room) {
        log->room = log->room * 2 + 1000;
        log->events = need(
            log->memory != NULL ? NULL : realloc(log->events, log->room * sizeof *log->events));
    }
    disk_event *event = &log->events[log->count++];
    *event = (disk_event){.kind = kind, .file = -1, .name = -1};
    return event;
}

/* For the bytes of an event. */
static inline uint8_t *disk_bytes(disk_log *log, size_t size)
{
    if (log->memory == NULL) {
        return need(malloc(size + 1));
    }
    uint8_t *bytes =
        size <= log->memory_room - log->memory_used ? log->memory + log->memory_used : NULL;
    log->memory_used += size;
    return need(bytes);
}

/* The number of a name in the folder; -1: the path is elsewhere. */
static inline int disk_name(disk_log *log, const char *path)
{
    size_t size = strlen(log->folder);
    if (strncmp(path, log->folder, size) != 0 || path[size] != '/') {
        return -1;
    }
    for (int i = 0; i < log->name_count; i++) {
        if (strcmp(log->names[i], path + size + 1) == 0) {
            return i;
        }
    }
    if (log->name_count == DISK_NAMES || strlen(path + size + 1) >= FILE_NAME_SIZE) {
        puts("Bail out! too many names, or too long ones");
        exit(1);
    }
    snprintf(log->names[log->name_count], FILE_NAME_SIZE, "%s", path + size + 1);
    log->at[log->name_count] = -1;
    return log->name_count++;
}

static inline int disk_new_file(disk_log *log)
{
    if (log->file_count == DISK_FILES) {
        puts("Bail out! too many files");
        exit(1);
    }
    return log->file_count++;
}

static inline void disk_link(disk_log *log, int name, int file)
{
    disk_event *event = disk_append(log, DISK_LINK);
    event->name = name;
    event->file = file;
    log->at[name] = file;
}

static inline void disk_unlink(disk_log *log, int name)
{
    if (name >= 0 && log->at[name] >= 0) {
        disk_append(log, DISK_UNLINK)->name = name;
        log->at[name] = -1;
    }
}

/* The file that a descriptor is of: -1 if it is elsewhere; *folder: it is the folder. */
static inline int disk_file(disk_log *log, int fd, bool *folder)
{
    char link[32];
    char path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    *folder = strcmp(path, log->folder) == 0;
    int name = disk_name(log, path);
    return name >= 0 ? log->at[name] : -1;
}

static inline void disk_note_open(disk_log *log, const system_call *call)
{
    int name = (call->flags & (O_CREAT | O_TRUNC)) != 0 ? disk_name(log, call->path) : -1;
    if (name < 0) {
        return;
    }
    if (log->at[name] < 0) {
        disk_link(log, name, disk_new_file(log));
    } else if ((call->flags & O_TRUNC) != 0) {
        disk_append(log, DISK_RESIZE)->file = log->at[name];
    }
}

static inline bool disk_lies(const disk_log *log, int file)
{
    bool of_all = log->drops_syncs && log->dropped == NULL;
    for (int i = 0; log->drops_syncs && !of_all && i < log->name_count; i++) {
        if (log->at[i] == file && file >= 0 && ends_with(log->names[i], log->dropped)) {
            return true;
        }
    }
    return of_all;
}

static inline void disk_note_write(disk_log *log, const system_call *call, int file)
{
    disk_event *event = disk_append(log, DISK_WRITE);
    off_t offset = call->offset >= 0 ? call->offset : lseek(call->fd, 0, SEEK_CUR);
    long flags = syscall(SYS_fcntl, call->fd, F_GETFL);
    event->file = file;
    event->durable = (flags & O_DSYNC) != 0 && !disk_lies(log, file);
    event->offset = (size_t)offset;
    event->size = system_call_size(call);
    event->bytes = disk_bytes(log, event->size);
    size_t size = 0;
    for (int i = 0; i < call->part_count; i++) {
        memcpy(event->bytes + size, call->parts[i].iov_base, call->parts[i].iov_len);
        size += call->parts[i].iov_len;
    }
}

/* The file is at least as large from now on. */
static inline void disk_note_room(disk_log *log, const system_call *call, int file)
{
    struct stat now;
    size_t end = (size_t)call->offset + system_call_size(call);
    disk_event *event = disk_append(log, DISK_RESIZE);
    event->file = file;
    event->size =
        fstat(call->fd, &now) == 0 && (size_t)now.st_size > end ? (size_t)now.st_size : end;
}

static inline void disk_note_on(disk_log *log, const system_call *call)
{
    bool folder;
    int file = disk_file(log, call->fd, &folder);
    if (call->kind == CALL_SYNC && !disk_lies(log, file) && (file >= 0 || folder)) {
        disk_append(log, folder ? DISK_SYNC_FOLDER : DISK_SYNC)->file = file;
    } else if (call->kind == CALL_WRITE && file >= 0) {
        disk_note_write(log, call, file);
    } else if (call->kind == CALL_SIZE && file >= 0) {
        disk_event *event = disk_append(log, DISK_RESIZE);
        event->file = file;
        event->size = (size_t)call->offset;
    } else if (call->kind == CALL_ROOM && call->part_count != 0 && file >= 0) {
        disk_note_room(log, call, file);
    }
}

static inline void disk_note_name(disk_log *log, const system_call *call)
{
    int from = call->from != NULL ? disk_name(log, call->from) : -1;
    int to = disk_name(log, call->path);
    bool renames = strcmp(call->name, "rename") == 0;
    if (strcmp(call->name, "unlink") == 0) {
        disk_unlink(log, to);
    } else if (from >= 0 && to >= 0 && log->at[from] >= 0 && (renames || log->at[to] < 0)) {
        disk_link(log, to, log->at[from]);
        if (renames) {
            disk_unlink(log, from);
        }
    }
}

static inline system_call_verdict disk_judge(const system_call *call)
{
    switch (call->kind) {
    case CALL_OPEN:
        disk_note_open(disk_recorded, call);
        break;
    case CALL_WRITE:
    case CALL_SYNC:
    case CALL_SIZE:
    case CALL_ROOM:
        disk_note_on(disk_recorded, call);
        break;
    case CALL_NAME:
        disk_note_name(disk_recorded, call);
        break;
    default:
        break;
    }
    return (system_call_verdict){0};
}

static inline void disk_mark(disk_log *log, int mark, int number)
{
    disk_event *event = disk_append(log, DISK_MARK);
    event->mark = mark;
    event->number = number;
}

/* What is in the folder is on the disk; from now on calls are recorded. */
static inline void disk_record(disk_log *log, const char *folder)
{
    *log = (disk_log){.drops_syncs = log->drops_syncs, .dropped = log->dropped};
    snprintf(log->folder, sizeof log->folder, "%s", folder);
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        char path[PATH_SIZE + FILE_NAME_SIZE];
        if (entry->d_type == DT_REG) {
            snprintf(path, sizeof path, "%s/%.63s", folder, entry->d_name);
            int name = disk_name(log, path);
            log->at[name] = disk_new_file(log);
            file_load(&log->first[log->at[name]], path);
        }
    }
    closedir(entries);
    for (int i = 0; i < DISK_NAMES; i++) {
        log->at[i] = i < log->name_count ? log->at[i] : -1;
        log->first_at[i] = log->at[i];
    }
    disk_recorded = log;
    system_call_judge = disk_judge;
}

/* From now on processes that are started may record, too, one at a time: the log lies in memory
 * that they share, and so do its events. After disk_record. */
static inline void disk_share(disk_log *log, disk_event *events, size_t room, uint8_t *memory,
                              size_t memory_room)
{
    log->events = events;
    log->room = room;
    log->memory = memory;
    log->memory_room = memory_room;
}

static inline void disk_stop(void)
{
    system_call_judge = NULL;
    disk_recorded = NULL;
}

static inline void disk_free(disk_log *log)
{
    for (size_t i = 0; log->memory == NULL && i < log->count; i++) {
        free(log->events[i].bytes);
    }
    for (int i = 0; i < log->file_count; i++) {
        free(log->first[i].bytes);
    }
    free(log->memory == NULL ? log->events : NULL);
    *log = (disk_log){0};
}

#endif
