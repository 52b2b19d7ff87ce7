/*
 * Checks that a history of list appends is strictly serializable: that its transactions can have
 * run one after the other, each within its own time.
 *
 * The last transaction of a history reads every list as it is in the end. That is the order in
 * which transactions have written a key, and every read must show a beginning of it: so who has
 * read what and who has overwritten what was read is known. These dependencies, with those of time,
 * are edges of a graph that must have no cycle. What transactions have read that were rolled back
 * must have been as good.
 */
#ifndef TESTS_PROCESS_CONCURRENCY_HISTORY_CHECK_H
#define TESTS_PROCESS_CONCURRENCY_HISTORY_CHECK_H

#include <stdarg.h>

#include "process/concurrency/history.h"

#define LOST_APPEND "lost update: an acknowledged append is not in the final list"
#define WRITTEN_TWICE "an append is twice in the final list"
#define ABORTED_READ "G1a: a read of what was rolled back"
#define INTERMEDIATE_READ "G1b: a read of half of a transaction"
#define TORN_APPENDS "G0: appends of two transactions lie between each other"
#define OWN_APPENDS "a transaction does not see its own appends"
#define FORKED_ORDER "a read is no beginning of the final list"
#define FUZZY_READ "non-repeatable read: one transaction saw two versions of a key"
#define WRITE_CYCLE "G0: a cycle of writes"
#define READ_CYCLE "G1c: a cycle of writes and reads"
#define SINGLE_CYCLE "G-single: a cycle with one read of what was overwritten"
#define SKEW_CYCLE "G2: a cycle with several reads of what was overwritten (write skew)"
#define STALE_CYCLE "a cycle in time: who began later saw less"

enum { FINDING_TEXT = 600 };

typedef struct finding {
    const char *anomaly; /* NULL: none */
    char text[FINDING_TEXT];
} finding;

typedef enum edge_kind { EDGE_WRITE, EDGE_READ, EDGE_OVERWRITE, EDGE_TIME, EDGE_KINDS } edge_kind;

typedef struct edge {
    int from;
    int to;
    edge_kind kind;
} edge;

/* Of a number: who has appended it, where, and whether it is to stay. */
typedef struct append {
    int transaction; /* -1: nobody */
    int key;
    int place; /* in the final list; -1: none */
    bool stays;
} append;

typedef struct final_list {
    const int *numbers;
    int length;
} final_list;

typedef struct checker {
    const history *h;
    bool (*belongs)(int key); /* the key is checked */
    append *appends;          /* by number */
    int number_limit;
    final_list *finals; /* by key */
    int key_limit;
    edge *edges;
    int edge_count;
    finding found;
} checker;

static inline void report(checker *check, const char *anomaly, const char *format, ...)
{
    va_list arguments;
    if (check->found.anomaly != NULL) {
        return;
    }
    check->found.anomaly = anomaly;
    va_start(arguments, format);
    vsnprintf(check->found.text, sizeof check->found.text, format, arguments);
    va_end(arguments);
}

static inline const append *append_of(const checker *check, int number)
{
    static const append nobodys = {.transaction = -1, .key = -1, .place = -1};
    bool known = number >= 0 && number < check->number_limit;
    return known ? &check->appends[number] : &nobodys;
}

static inline void add_edge(checker *check, int from, int to, edge_kind kind)
{
    if (from != to) {
        check->edges = with_room(check->edges, check->edge_count, sizeof *check->edges);
        check->edges[check->edge_count++] = (edge){.from = from, .to = to, .kind = kind};
    }
}

/* --- What was appended --- */

static inline void measure(checker *check)
{
    for (int i = 0; i < check->h->event_count; i++) {
        const event *e = &check->h->events[i];
        if (e->kind == EVENT_APPEND && e->value >= check->number_limit) {
            check->number_limit = e->value + 1;
        }
        if (e->kind != EVENT_KEEP && e->key >= check->key_limit) {
            check->key_limit = e->key + 1;
        }
    }
}

/* The appends of a transaction that are not taken back, as it goes on. */
typedef struct own_appends {
    const event **events;
    int count;
} own_appends;

static inline void follow_event(own_appends *own, const event *e)
{
    if (e->kind == EVENT_APPEND) {
        own->events = with_room(own->events, own->count, sizeof(event *));
        own->events[own->count++] = e;
    } else if (e->kind == EVENT_KEEP) {
        own->count = e->value;
    }
}

static inline void index_appends(checker *check)
{
    for (int t = 0; t < check->h->transaction_count; t++) {
        const transaction *each = &check->h->transactions[t];
        own_appends own = {0};
        for (int i = each->first; i < each->first + each->count; i++) {
            const event *e = &check->h->events[i];
            if (e->kind == EVENT_APPEND) {
                check->appends[e->value] = (append){.transaction = t, .key = e->key, .place = -1};
            }
            follow_event(&own, e);
        }
        for (int i = 0; i < own.count; i++) {
            check->appends[own.events[i]->value].stays = each->committed;
        }
        free(own.events);
    }
}

/* --- The final lists --- */

static inline void check_final_number(checker *check, int key, int place)
{
    int number = check->finals[key].numbers[place];
    const append *at = append_of(check, number);
    if (at->transaction < 0 || at->key != key || !at->stays) {
        report(check, ABORTED_READ, "number %d in the final list of key %d", number, key);
    } else if (at->place >= 0) {
        report(check, WRITTEN_TWICE, "number %d of key %d", number, key);
    } else {
        check->appends[number].place = place;
    }
}

static inline void index_finals(checker *check)
{
    const transaction *last = &check->h->transactions[check->h->transaction_count - 1];
    for (int i = last->first; i < last->first + last->count; i++) {
        const event *e = &check->h->events[i];
        if (e->kind != EVENT_READ || !check->belongs(e->key)) {
            continue;
        }
        check->finals[e->key] = (final_list){check->h->numbers + e->first, e->length};
        for (int place = 0; place < e->length && check->found.anomaly == NULL; place++) {
            check_final_number(check, e->key, place);
        }
    }
    for (int number = 0; number < check->number_limit; number++) {
        const append *at = &check->appends[number];
        if (at->stays && at->place < 0 && check->belongs(at->key)) {
            report(check, LOST_APPEND, "number %d of key %d, by worker %d", number, at->key,
                   check->h->transactions[at->transaction].worker);
        }
    }
}

/* Who has written the number at a place of a key's final list; -1 outside of it. */
static inline int writer_at(const checker *check, int key, int place)
{
    const final_list *list = &check->finals[key];
    bool inside = place >= 0 && place < list->length;
    return inside ? append_of(check, list->numbers[place])->transaction : -1;
}

/* Appends of one transaction to one key follow each other. */
static inline void link_writes(checker *check)
{
    for (int key = 0; key < check->key_limit; key++) {
        for (int place = 1; place < check->finals[key].length; place++) {
            add_edge(check, writer_at(check, key, place - 1), writer_at(check, key, place),
                     EDGE_WRITE);
        }
    }
}

static inline void check_neighbours(checker *check, const own_appends *own)
{
    for (int i = 0; i < own->count; i++) {
        const event *one = own->events[i];
        for (int j = i + 1; j < own->count; j++) {
            const event *next = own->events[j];
            if (next->key != one->key || !check->belongs(one->key)) {
                continue;
            }
            if (append_of(check, next->value)->place != append_of(check, one->value)->place + 1) {
                report(check, TORN_APPENDS, "numbers %d and %d of key %d", one->value, next->value,
                       one->key);
            }
            break;
        }
    }
}

/* --- Reads --- */

/* How many of the transaction's own appends a read of the key must end with; -1: it does not. */
static inline int own_length(const checker *check, const own_appends *own, const event *read)
{
    int length = 0;
    for (int i = own->count - 1; i >= 0; i--) {
        if (own->events[i]->key != read->key) {
            continue;
        }
        length++;
        if (length > read->length ||
            check->h->numbers[read->first + read->length - length] != own->events[i]->value) {
            return -1;
        }
    }
    return length;
}

static inline bool is_beginning(checker *check, int t, const event *read, int length)
{
    const final_list *final = &check->finals[read->key];
    for (int i = 0; i < length; i++) {
        int number = check->h->numbers[read->first + i];
        const append *at = append_of(check, number);
        if (at->transaction < 0 || at->key != read->key || !at->stays) {
            report(check, ABORTED_READ, "number %d of key %d, seen by worker %d", number, read->key,
                   check->h->transactions[t].worker);
            return false;
        }
        if (i >= final->length || final->numbers[i] != number) {
            report(check, FORKED_ORDER, "number %d at place %d of key %d, seen by worker %d",
                   number, i, read->key, check->h->transactions[t].worker);
            return false;
        }
    }
    return true;
}

/* What was read without the transaction's own appends: the first `length` numbers. */
static inline void link_read(checker *check, int t, int key, int length)
{
    int before = writer_at(check, key, length - 1);
    int behind = writer_at(check, key, length);
    if (before >= 0 && before == behind) {
        report(check, INTERMEDIATE_READ, "the first %d numbers of key %d, seen by worker %d",
               length, key, check->h->transactions[t].worker);
    }
    if (before >= 0) {
        add_edge(check, before, t, EDGE_READ);
    }
    if (behind >= 0) {
        add_edge(check, t, behind, EDGE_OVERWRITE);
    }
}

/* True if an earlier read of the transaction saw another version; own appends do not count. */
static inline void check_again(checker *check, int t, const event *read, const int *seen,
                               int length)
{
    const transaction *each = &check->h->transactions[t];
    for (int i = each->first; &check->h->events[i] != read; i++) {
        const event *e = &check->h->events[i];
        if (e->kind == EVENT_READ && e->key == read->key && seen[i - each->first] != length) {
            report(check, FUZZY_READ, "%d and %d numbers of key %d, seen by worker %d",
                   seen[i - each->first], length, read->key, each->worker);
        }
    }
}

static inline void check_read(checker *check, int t, const own_appends *own, const event *read,
                              int *seen)
{
    int own_count = own_length(check, own, read);
    if (own_count < 0) {
        report(check, OWN_APPENDS, "key %d, worker %d", read->key,
               check->h->transactions[t].worker);
        return;
    }
    int length = read->length - own_count;
    if (is_beginning(check, t, read, length)) {
        check_again(check, t, read, seen, length);
        link_read(check, t, read->key, length);
    }
    seen[read - &check->h->events[check->h->transactions[t].first]] = length;
}

static inline void check_transaction(checker *check, int t)
{
    const transaction *each = &check->h->transactions[t];
    own_appends own = {0};
    int *seen = enlarged(NULL, ((size_t)each->count + 1) * sizeof *seen);
    for (int i = each->first; i < each->first + each->count; i++) {
        const event *e = &check->h->events[i];
        if (e->kind == EVENT_READ && check->belongs(e->key)) {
            check_read(check, t, &own, e, seen);
        }
        follow_event(&own, e);
    }
    if (each->committed) {
        check_neighbours(check, &own);
    }
    free(own.events);
    free(seen);
}

/* --- Time --- */

typedef struct moment {
    int64_t time;
    int transaction;
} moment;

static inline int compare_moments(const void *one, const void *other)
{
    const moment *a = one;
    const moment *b = other;
    return (a->time > b->time) - (a->time < b->time);
}

/*
 * Who began after another had ended comes behind it. To say so with few edges there is a node for
 * every end, in a chain: node n + i is the i-th end.
 */
static inline void link_time(checker *check)
{
    int n = check->h->transaction_count;
    moment *ends = enlarged(NULL, (size_t)n * sizeof *ends);
    moment *begins = enlarged(NULL, (size_t)n * sizeof *begins);
    for (int t = 0; t < n; t++) {
        ends[t] = (moment){check->h->transactions[t].end, t};
        begins[t] = (moment){check->h->transactions[t].begin, t};
    }
    qsort(ends, (size_t)n, sizeof *ends, compare_moments);
    qsort(begins, (size_t)n, sizeof *begins, compare_moments);
    int ended = 0;
    for (int i = 0; i < n; i++) {
        for (; ended < n && ends[ended].time < begins[i].time; ended++) {
            add_edge(check, ends[ended].transaction, n + ended, EDGE_TIME);
            if (ended > 0) {
                add_edge(check, n + ended - 1, n + ended, EDGE_TIME);
            }
        }
        if (ended > 0) {
            add_edge(check, n + ended - 1, begins[i].transaction, EDGE_TIME);
        }
    }
    free(ends);
    free(begins);
}

/* --- Cycles --- */

static inline void describe_edge(finding *found, const checker *check, const edge *e)
{
    static const char *const words[] = {"was overwritten by", "was read by",
                                        "had read what was overwritten by", "ended before"};
    size_t used = strlen(found->text);
    if (e->from < check->h->transaction_count && used < sizeof found->text) {
        snprintf(found->text + used, sizeof found->text - used, "T%d (worker %d) %s ", e->from,
                 check->h->transactions[e->from].worker, words[e->kind]);
    }
}

static inline const char *anomaly_of(const int *kinds)
{
    return kinds[EDGE_TIME] > 0        ? STALE_CYCLE
           : kinds[EDGE_OVERWRITE] > 1 ? SKEW_CYCLE
           : kinds[EDGE_OVERWRITE] > 0 ? SINGLE_CYCLE
           : kinds[EDGE_READ] > 0      ? READ_CYCLE
                                       : WRITE_CYCLE;
}

/* An edge that leads to a node from one that is left. */
static inline const edge *edge_to(const checker *check, int node, const int *left)
{
    for (int i = 0; i < check->edge_count; i++) {
        if (check->edges[i].to == node && left[check->edges[i].from] > 0) {
            return &check->edges[i];
        }
    }
    return NULL;
}

/* Every node that is left has another one before it: going back leads into a cycle. */
static inline void report_cycle(checker *check, int node, const int *left, int nodes)
{
    bool *met = enlarged(NULL, (size_t)nodes * sizeof *met);
    memset(met, 0, (size_t)nodes * sizeof *met);
    while (!met[node]) {
        met[node] = true;
        node = edge_to(check, node, left)->from;
    }
    free(met);
    int kinds[EDGE_KINDS] = {0};
    int start = node;
    do {
        const edge *e = edge_to(check, node, left);
        kinds[e->kind]++;
        describe_edge(&check->found, check, e);
        node = e->from;
    } while (node != start);
    check->found.anomaly = anomaly_of(kinds);
}

/* Where the edges of each node begin in `order`, an array of edges by where they come from. */
static inline int *sort_edges(const checker *check, int nodes, int **order)
{
    int *starts = enlarged(NULL, ((size_t)nodes + 2) * sizeof *starts);
    memset(starts, 0, ((size_t)nodes + 2) * sizeof *starts);
    *order = enlarged(NULL, ((size_t)check->edge_count + 1) * sizeof **order);
    for (int i = 0; i < check->edge_count; i++) {
        starts[check->edges[i].from + 2]++;
    }
    for (int i = 2; i <= nodes + 1; i++) {
        starts[i] += starts[i - 1];
    }
    for (int i = 0; i < check->edge_count; i++) {
        (*order)[starts[check->edges[i].from + 1]++] = i;
    }
    return starts;
}

/* Takes out nodes that no edge leads to until there is none. What is left has cycles. */
static inline void find_cycle(checker *check)
{
    int nodes = 2 * check->h->transaction_count;
    int *order;
    int *starts = sort_edges(check, nodes, &order);
    int *left = enlarged(NULL, (size_t)nodes * sizeof *left); /* edges to a node, and one more */
    int *ready = enlarged(NULL, (size_t)nodes * sizeof *ready);
    int ready_count = 0;
    for (int i = 0; i < nodes; i++) {
        left[i] = 1;
    }
    for (int i = 0; i < check->edge_count; i++) {
        left[check->edges[i].to]++;
    }
    for (int i = 0; i < nodes; i++) {
        if (left[i] == 1) {
            ready[ready_count++] = i;
        }
    }
    for (int done = 0; done < ready_count; done++) {
        int node = ready[done];
        left[node] = 0;
        for (int i = starts[node]; i < starts[node + 1]; i++) {
            int to = check->edges[order[i]].to;
            if (--left[to] == 1) {
                ready[ready_count++] = to;
            }
        }
    }
    for (int i = 0; i < nodes && ready_count < nodes && check->found.anomaly == NULL; i++) {
        if (left[i] > 0) {
            report_cycle(check, i, left, nodes);
        }
    }
    free(starts);
    free(order);
    free(left);
    free(ready);
}

/* --- All --- */

static inline bool all_keys(int key)
{
    (void)key;
    return true;
}

/* The first anomaly of the keys that belong to what is looked at. `edges`: how many there were. */
static inline finding check_history(const history *h, bool (*belongs)(int key), int *edges)
{
    checker check = {.h = h, .belongs = belongs};
    measure(&check);
    check.appends = enlarged(NULL, ((size_t)check.number_limit + 1) * sizeof *check.appends);
    check.finals = enlarged(NULL, ((size_t)check.key_limit + 1) * sizeof *check.finals);
    memset(check.finals, 0, ((size_t)check.key_limit + 1) * sizeof *check.finals);
    for (int i = 0; i < check.number_limit; i++) {
        check.appends[i] = (append){.transaction = -1, .key = -1, .place = -1};
    }
    index_appends(&check);
    index_finals(&check);
    for (int t = 0; t < h->transaction_count && check.found.anomaly == NULL; t++) {
        check_transaction(&check, t);
    }
    if (check.found.anomaly == NULL) {
        link_writes(&check);
        link_time(&check);
        find_cycle(&check);
    }
    *edges += check.edge_count;
    free(check.appends);
    free(check.finals);
    free(check.edges);
    return check.found;
}

#endif
