/*
 * A history: what transactions have read from lists and appended to them, as those who ran them saw
 * it. Every number is appended once at most, so a list tells who has written it and in which order.
 *
 *     begin_transaction(&h, worker, time);
 *     note_read(&h, key, list, length);       what was seen, own appends included
 *     note_append(&h, key, number);
 *     note_keep(&h, appends);                 a savepoint took back all appends but the first ones
 *     end_transaction(&h, time, committed);
 */
#ifndef TESTS_PROCESS_CONCURRENCY_HISTORY_H
#define TESTS_PROCESS_CONCURRENCY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum event_kind { EVENT_READ, EVENT_APPEND, EVENT_KEEP } event_kind;

typedef struct event {
    event_kind kind;
    int key;   /* not for KEEP */
    int value; /* APPEND: the number; KEEP: how many of the transaction's appends are left */
    int first; /* READ: place of the list in the history's numbers, and its length */
    int length;
} event;

typedef struct transaction {
    int64_t begin; /* before its first statement, in ns of one clock for all processes */
    int64_t end;   /* after its last */
    int worker;
    bool committed;
    int first; /* of its events */
    int count;
} transaction;

typedef struct history {
    transaction *transactions;
    int transaction_count;
    event *events;
    int event_count;
    int *numbers;
    int number_count;
} history;

/* Where histories lie: a test may put them into memory that survives the process. */
static void *(*history_realloc)(void *, size_t) = realloc;

static inline void *enlarged(void *array, size_t bytes)
{
    void *larger = history_realloc(array, bytes);
    if (larger == NULL) {
        abort();
    }
    return larger;
}

/* Room for one more element: arrays are as large as the next power of two. */
static inline void *with_room(void *array, int count, size_t size)
{
    bool full = (count & (count - 1)) == 0;
    return full ? enlarged(array, size * (count == 0 ? 1 : 2 * (size_t)count)) : array;
}

static inline void add_number(history *h, int number)
{
    h->numbers = with_room(h->numbers, h->number_count, sizeof number);
    h->numbers[h->number_count++] = number;
}

static inline void add_event(history *h, event added)
{
    h->events = with_room(h->events, h->event_count, sizeof added);
    h->events[h->event_count++] = added;
    h->transactions[h->transaction_count - 1].count++;
}

static inline void begin_transaction(history *h, int worker, int64_t time)
{
    const transaction begun = {.begin = time, .worker = worker, .first = h->event_count};
    h->transactions = with_room(h->transactions, h->transaction_count, sizeof begun);
    h->transactions[h->transaction_count++] = begun;
}

static inline void end_transaction(history *h, int64_t time, bool committed)
{
    transaction *last = &h->transactions[h->transaction_count - 1];
    last->end = time;
    last->committed = committed;
}

static inline void note_read(history *h, int key, const int *list, int length)
{
    add_event(h,
              (event){.kind = EVENT_READ, .key = key, .first = h->number_count, .length = length});
    for (int i = 0; i < length; i++) {
        add_number(h, list[i]);
    }
}

static inline void note_append(history *h, int key, int number)
{
    add_event(h, (event){.kind = EVENT_APPEND, .key = key, .value = number});
}

static inline void note_keep(history *h, int appends)
{
    add_event(h, (event){.kind = EVENT_KEEP, .value = appends});
}

static inline void free_history(history *h)
{
    free(h->transactions);
    free(h->events);
    free(h->numbers);
    *h = (history){0};
}

/* Puts one history behind another. */
static inline void join_history(history *h, const history *more)
{
    for (int i = 0; i < more->transaction_count; i++) {
        const transaction *t = &more->transactions[i];
        begin_transaction(h, t->worker, t->begin);
        for (int j = t->first; j < t->first + t->count; j++) {
            event moved = more->events[j];
            moved.first += h->number_count - more->events[j].first;
            add_event(h, moved);
            for (int n = 0; moved.kind == EVENT_READ && n < moved.length; n++) {
                add_number(h, more->numbers[more->events[j].first + n]);
            }
        }
        end_transaction(h, t->end, t->committed);
    }
}

/* --- For other processes --- */

static inline bool write_array(FILE *file, const void *array, size_t size, int count)
{
    return fwrite(&count, sizeof count, 1, file) == 1 &&
           fwrite(array, size, (size_t)count, file) == (size_t)count;
}

static inline void *read_array(FILE *file, size_t size, int *count)
{
    if (fread(count, sizeof *count, 1, file) != 1) {
        *count = 0;
        return NULL;
    }
    void *array = enlarged(NULL, size * ((size_t)*count + 1));
    if (fread(array, size, (size_t)*count, file) != (size_t)*count) {
        *count = 0;
    }
    return array;
}

static inline bool save_history(const history *h, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        return false;
    }
    bool whole =
        write_array(file, h->transactions, sizeof *h->transactions, h->transaction_count) &&
        write_array(file, h->events, sizeof *h->events, h->event_count) &&
        write_array(file, h->numbers, sizeof *h->numbers, h->number_count);
    return fclose(file) == 0 && whole;
}

/* Empty if there is none. To be freed, but nothing can be added to it. */
static inline history load_history(const char *path)
{
    history h = {0};
    FILE *file = fopen(path, "rb");
    if (file != NULL) {
        h.transactions = read_array(file, sizeof *h.transactions, &h.transaction_count);
        h.events = read_array(file, sizeof *h.events, &h.event_count);
        h.numbers = read_array(file, sizeof *h.numbers, &h.number_count);
        fclose(file);
    }
    return h;
}

#endif
