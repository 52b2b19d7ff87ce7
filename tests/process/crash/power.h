/*
 * A disk whose power fails: goes through a log of disk.h event by event, and makes images of what
 * may be left at each.
 */
#ifndef TESTS_PROCESS_CRASH_POWER_H
#define TESTS_PROCESS_CRASH_POWER_H

#include "process/crash/disk.h"

/* The events up to a moment: all but the last one have returned. */
typedef struct power_disk {
    const disk_log *log;
    size_t issued;
    file_content durable[DISK_FILES];
    int durable_at[DISK_NAMES];
    size_t *pending; /* events that may or may not be on the disk, in their order */
    size_t pending_count;
} power_disk;

/* What is kept of the pending events. */
typedef enum power_choice {
    POWER_ALL,      /* as if only the process had been killed */
    POWER_NOTHING,  /* since the syncs */
    POWER_PREFIX,   /* the first ones, the last of them torn */
    POWER_SUBSET,   /* any, in their order */
    POWER_TORN,     /* any sectors of any */
    POWER_SHUFFLED, /* the same, older ones over younger ones too */
    POWER_CHOICES,
} power_choice;

static inline uint32_t power_random(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(((*state >> 33) * limit) >> 31);
}

static inline void power_begin(power_disk *disk, const disk_log *log)
{
    *disk = (power_disk){.log = log};
    disk->pending = need(calloc(log->count + 1, sizeof *disk->pending));
    for (int i = 0; i < log->file_count; i++) {
        file_copy(&disk->durable[i], &log->first[i]);
    }
    memcpy(disk->durable_at, log->first_at, sizeof disk->durable_at);
}

static inline void power_end(power_disk *disk)
{
    for (int i = 0; i < DISK_FILES; i++) {
        free(disk->durable[i].bytes);
    }
    free(disk->pending);
}

static inline bool power_is_of_folder(const disk_event *event)
{
    return event->kind == DISK_LINK || event->kind == DISK_UNLINK;
}

static inline void power_apply_name(int at[DISK_NAMES], const disk_event *event)
{
    at[event->name] = event->kind == DISK_LINK ? event->file : -1;
}

static inline void power_apply(file_content *content, const disk_event *event)
{
    if (event->kind == DISK_RESIZE) {
        file_resize(content, event->size);
    } else {
        file_put(content, event->offset, event->bytes, event->size);
    }
}

/* A sync has returned: pending events of a file, or of the folder with -1, are on the disk. */
static inline void power_settle(power_disk *disk, int file)
{
    size_t kept = 0;
    for (size_t i = 0; i < disk->pending_count; i++) {
        const disk_event *event = &disk->log->events[disk->pending[i]];
        if (file < 0 && power_is_of_folder(event)) {
            power_apply_name(disk->durable_at, event);
        } else if (file >= 0 && !power_is_of_folder(event) && event->file == file) {
            power_apply(&disk->durable[file], event);
        } else {
            disk->pending[kept++] = disk->pending[i];
        }
    }
    disk->pending_count = kept;
}

/* The last event returns. */
static inline void power_complete(power_disk *disk)
{
    const disk_event *event = &disk->log->events[disk->issued - 1];
    if (event->kind == DISK_SYNC_FOLDER) {
        power_settle(disk, -1);
    } else if (event->kind == DISK_SYNC) {
        power_settle(disk, event->file);
    }
}

/* Goes on until the event of this number is issued. */
static inline void power_advance(power_disk *disk, size_t event)
{
    while (disk->issued <= event) {
        if (disk->issued > 0) {
            power_complete(disk);
        }
        disk_kind kind = disk->log->events[disk->issued].kind;
        if (kind == DISK_WRITE || kind == DISK_RESIZE || kind == DISK_LINK || kind == DISK_UNLINK) {
            disk->pending[disk->pending_count++] = disk->issued;
        }
        disk->issued++;
    }
}

/* --- Images --- */

/* How one image is made. */
typedef struct power_image {
    power_choice choice;
    uint32_t share; /* of 16: how much is kept */
    size_t prefix;
    uint64_t random;
} power_image;

static inline power_image power_choose(const power_disk *disk, uint64_t random)
{
    static const uint32_t shares[] = {2, 8, 8, 12, 14, 15};
    power_image image = {.random = random};
    power_random(&image.random, 2);
    image.choice = (power_choice)power_random(&image.random, POWER_CHOICES);
    image.share = shares[power_random(&image.random, sizeof shares / sizeof shares[0])];
    image.prefix = power_random(&image.random, (uint32_t)disk->pending_count + 1);
    return image;
}

/* A write that is torn: some of its sectors. */
static inline void power_tear(power_image *image, file_content *content, const disk_event *event)
{
    size_t at = 0;
    while (at < event->size) {
        size_t part = DISK_SECTOR - (event->offset + at) % DISK_SECTOR;
        part = part < event->size - at ? part : event->size - at;
        if (power_random(&image->random, 16) < image->share) {
            file_put(content, event->offset + at, event->bytes + at, part);
        }
        at += part;
    }
}

/* A write that was durable when it returned, and has. It stays among the pending ones because older
 * ones may reach the disk later, but never over it. */
static inline bool power_is_pinned(const power_disk *disk, size_t event)
{
    return disk->log->events[event].durable && event + 1 < disk->issued;
}

static inline void power_keep(power_image *image, file_content *content, const disk_event *event,
                              size_t place)
{
    bool lucky = power_random(&image->random, 16) < image->share;
    bool whole = image->choice == POWER_ALL ||
                 (image->choice == POWER_PREFIX && place + 1 < image->prefix) ||
                 (image->choice == POWER_SUBSET && lucky);
    bool torn = (image->choice == POWER_PREFIX && place + 1 == image->prefix) ||
                image->choice == POWER_TORN || image->choice == POWER_SHUFFLED;
    if (whole || (torn && event->kind == DISK_RESIZE && lucky)) {
        power_apply(content, event);
    } else if (torn && event->kind == DISK_WRITE) {
        power_tear(image, content, event);
    }
}

/* The names that are there. */
static inline void power_names(const power_disk *disk, power_image *image, int at[DISK_NAMES])
{
    memcpy(at, disk->durable_at, sizeof disk->durable_at);
    for (size_t i = 0; i < disk->pending_count; i++) {
        const disk_event *event = &disk->log->events[disk->pending[i]];
        bool lucky = power_random(&image->random, 16) < image->share;
        bool kept = image->choice == POWER_ALL ||
                    (image->choice == POWER_PREFIX ? i < image->prefix
                                                   : image->choice != POWER_NOTHING && lucky);
        if (power_is_of_folder(event) && kept) {
            power_apply_name(at, event);
        }
    }
}

static inline void power_shuffle_part(power_image *image, size_t *places, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = power_random(&image->random, (uint32_t)i);
        size_t place = places[i - 1];
        places[i - 1] = places[other];
        places[other] = place;
    }
}

/* Between pinned writes. */
static inline void power_shuffle(const power_disk *disk, power_image *image, size_t *places,
                                 size_t count)
{
    size_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        if (i == count || power_is_pinned(disk, disk->pending[places[i]])) {
            power_shuffle_part(image, places + from, i - from);
            from = i + 1;
        }
    }
}

/* The file may also be as long as it was, or as it became. */
static inline void power_choose_size(power_image *image, size_t was, size_t becomes,
                                     file_content *content)
{
    uint32_t choice = power_random(&image->random, 4);
    if (image->choice == POWER_ALL || image->choice == POWER_PREFIX) {
        return;
    }
    if (choice == 0) {
        file_resize(content, was);
    } else if (choice == 1) {
        file_resize(content, becomes);
    }
}

/* Which pending events are of a file; its size before them and after all of them. */
static inline size_t power_places(const power_disk *disk, int file, size_t *places, size_t *was,
                                  size_t *becomes)
{
    size_t count = 0;
    *was = *becomes = disk->durable[file].size;
    for (size_t i = 0; i < disk->pending_count; i++) {
        const disk_event *event = &disk->log->events[disk->pending[i]];
        if (power_is_of_folder(event) || event->file != file) {
            continue;
        }
        size_t end = event->offset + event->size;
        places[count++] = i;
        *becomes = event->kind == DISK_RESIZE || end > *becomes ? end : *becomes;
        *was = power_is_pinned(disk, disk->pending[i]) && end > *was ? end : *was;
    }
    return count;
}

static inline void power_file(const power_disk *disk, power_image *image, int file,
                              file_content *content)
{
    size_t *places = need(calloc(disk->pending_count + 1, sizeof *places));
    size_t was;
    size_t becomes;
    size_t count = power_places(disk, file, places, &was, &becomes);
    if (image->choice == POWER_SHUFFLED) {
        power_shuffle(disk, image, places, count);
    }
    file_copy(content, &disk->durable[file]);
    for (size_t i = 0; i < count; i++) {
        size_t number = disk->pending[places[i]];
        const disk_event *event = &disk->log->events[number];
        if (power_is_pinned(disk, number)) {
            power_apply(content, event);
        } else {
            power_keep(image, content, event, places[i]);
        }
    }
    if (count > 0) {
        power_choose_size(image, was, becomes, content);
    }
    free(places);
}

enum { POWER_NUMBERS = 24 }; /* bytes that LMDB writes last in its lock file */

/* Memory that processes share has no order on the disk: any sectors of it may be there, and the
 * first of LMDB's as it was before its beginning was written. */
static inline void power_scramble(power_image *image, const char *name, file_content *content)
{
    size_t last = ends_with(name, "-word") ? DISK_SECTOR : POWER_NUMBERS;
    for (size_t at = 0; at < content->size; at += DISK_SECTOR) {
        size_t part = content->size - at < DISK_SECTOR ? content->size - at : DISK_SECTOR;
        uint32_t choice = power_random(&image->random, 4);
        if (choice < 2) {
            memset(content->bytes + at, 0, choice == 0 || part < last ? part : last);
        }
    }
}

static inline bool power_is_shared_memory(const char *name)
{
    return ends_with(name, "-shm") || ends_with(name, "-lock") || ends_with(name, "-word");
}

/* Writes an image into an empty folder. */
static inline bool power_make(const power_disk *disk, power_image image, const char *folder)
{
    static file_content content;
    int at[DISK_NAMES];
    bool written = true;
    power_names(disk, &image, at);
    for (int i = 0; written && i < disk->log->name_count; i++) {
        char path[PATH_SIZE + FILE_NAME_SIZE];
        bool shared = power_is_shared_memory(disk->log->names[i]);
        if (at[i] < 0 || (shared && power_random(&image.random, 4) == 0)) {
            continue;
        }
        power_file(disk, &image, at[i], &content);
        if (shared) {
            power_scramble(&image, disk->log->names[i], &content);
        }
        snprintf(path, sizeof path, "%s/%s", folder, disk->log->names[i]);
        written = file_write(path, &content);
    }
    return written;
}

#endif
