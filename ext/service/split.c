#include "service/split.h"

#include "base/sqlite.h"
#include "service/batch_text.h"

enum {
    GROUPS_MAX = 64, /* partitions for which operations are collected */
    OPERATIONS_A_GROUP = 100,
    GROUP_BYTES = 3900000, /* the service's limit is 4 MiB, the emulator's a little less */
};

typedef struct split_request {
    pt_delivery delivery;
    pt_remote_operations operations;
} split_request;

struct pt_split {
    pt_remote_operations groups[GROUPS_MAX]; /* each of one partition; not empty */
    int group_count;
    int64_t done; /* operations */
    bool stopped;
    pt_service *service;
    pt_statement *statement;
    int capacity;
    int first; /* the request sent first, of `under_way` in a ring */
    int under_way;
    split_request requests[];
};

pt_split *pt_split_new(const pt_remote_target *target, int64_t max_requests, int parallel)
{
    size_t size = sizeof(pt_split) + (size_t)parallel * sizeof(split_request);
    pt_split *split = sqlite3_malloc64(size);
    if (split == NULL) {
        return NULL;
    }
    memset(split, 0, size);
    split->service = target->service;
    split->statement = pt_statement_enter(&split->service->statements, split->service->db);
    if (split->statement == NULL) {
        sqlite3_free(split);
        return NULL;
    }
    split->capacity = parallel;
    for (int i = 0; i < parallel; i++) {
        split->requests[i].delivery.target = *target;
        split->requests[i].delivery.budget =
            (pt_budget){.statement = split->statement, .max_requests = max_requests};
        split->requests[i].delivery.operations = &split->requests[i].operations;
    }
    return split;
}

void pt_split_free(pt_split *split)
{
    if (split == NULL) {
        return;
    }
    for (int i = 0; i < split->capacity; i++) {
        pt_delivery_free(&split->requests[i].delivery);
        pt_remote_operations_free(&split->requests[i].operations);
    }
    for (int i = 0; i < GROUPS_MAX; i++) {
        pt_remote_operations_free(&split->groups[i]);
    }
    pt_statement_leave(&split->service->statements, split->statement);
    sqlite3_free(split);
}

/* --- Requests --- */

static split_request *request_at(pt_split *split, int place)
{
    return &split->requests[(split->first + place) % split->capacity];
}

/* Waits for the request that was sent first. */
static int receive_first(pt_split *split, pt_error *error)
{
    split_request *request = request_at(split, 0);
    int64_t count = (int64_t)request->operations.count;
    int rc = pt_delivery_receive(&request->delivery, error);
    split->done += rc == SQLITE_OK ? count : 0;
    pt_error_naming(error, PT_NAMES_KEYS); /* an error is not about the row that is being written */
    pt_remote_operations_cut(&request->operations, 0);
    split->first = (split->first + 1) % split->capacity;
    split->under_way--;
    return rc;
}

/* The least and the greatest RowKey. */
static void find_rows(const pt_remote_operations *list, pt_slice *least, pt_slice *greatest)
{
    *least = pt_remote_operations_at(list, 0).row;
    *greatest = *least;
    for (size_t i = 1; i < list->count; i++) {
        pt_slice row = pt_remote_operations_at(list, i).row;
        *least = pt_slice_compare(row, *least) < 0 ? row : *least;
        *greatest = pt_slice_compare(row, *greatest) > 0 ? row : *greatest;
    }
}

/* True if two groups have an operation on the same entity. */
static bool have_common_entity(const pt_remote_operations *a, const pt_remote_operations *b)
{
    pt_slice least[2];
    pt_slice greatest[2];
    if (!pt_slice_equal(pt_remote_operations_at(a, 0).partition,
                        pt_remote_operations_at(b, 0).partition)) {
        return false;
    }
    find_rows(a, &least[0], &greatest[0]);
    find_rows(b, &least[1], &greatest[1]);
    if (pt_slice_compare(greatest[0], least[1]) < 0 ||
        pt_slice_compare(greatest[1], least[0]) < 0) {
        return false; /* as in loads by ascending keys */
    }
    for (size_t i = 0; i < a->count; i++) {
        size_t place;
        const pt_remote_operation operation = pt_remote_operations_at(a, i);
        if (pt_remote_operations_find(b, operation.partition, operation.row, &place)) {
            return true;
        }
    }
    return false;
}

/* True if a request must end before the group is sent: the later write of an entity must win. */
static bool must_wait(pt_split *split, const pt_remote_operations *group)
{
    if (split->under_way == split->capacity) {
        return true;
    }
    for (int i = 0; i < split->under_way; i++) {
        if (have_common_entity(&request_at(split, i)->operations, group)) {
            return true;
        }
    }
    return false;
}

/* Sends a group. The last group takes its place. */
static int send_group(pt_split *split, int place, pt_error *error)
{
    pt_remote_operations *group = &split->groups[place];
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && must_wait(split, group)) {
        rc = receive_first(split, error);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    split_request *request = request_at(split, split->under_way);
    pt_remote_operations spare = request->operations;
    request->operations = *group;
    split->group_count--;
    *group = split->groups[split->group_count];
    split->groups[split->group_count] = spare;
    rc = pt_delivery_send(&request->delivery, error);
    split->under_way += rc == SQLITE_OK ? 1 : 0;
    return rc;
}

/* --- Groups --- */

/* The place of the group for a partition, or -1. */
static int find_group(const pt_split *split, pt_slice partition)
{
    for (int i = split->group_count - 1; i >= 0; i--) {
        if (pt_slice_equal(pt_remote_operations_at(&split->groups[i], 0).partition, partition)) {
            return i;
        }
    }
    return -1;
}

static int find_fullest(const pt_split *split)
{
    int fullest = 0;
    for (int i = 1; i < split->group_count; i++) {
        if (split->groups[i].count > split->groups[fullest].count) {
            fullest = i;
        }
    }
    return fullest;
}

static bool takes_operation(const pt_remote_operations *group, const pt_remote_operation *operation)
{
    size_t place;
    size_t bytes = group->texts.size + operation->body.size +
                   3 * (operation->partition.size + operation->row.size) +
                   (group->count + 1) * PT_BATCH_OVERHEAD;
    return bytes <= GROUP_BYTES &&
           !pt_remote_operations_find(group, operation->partition, operation->row, &place);
}

bool pt_split_holds(const pt_split *split, pt_slice partition, pt_slice row, pt_slice etag)
{
    int place = find_group(split, partition);
    bool held =
        place >= 0 && pt_remote_operations_have(&split->groups[place], partition, row, etag);
    for (int i = 0; !held && i < split->under_way; i++) {
        const split_request *request = &split->requests[(split->first + i) % split->capacity];
        held = pt_remote_operations_have(&request->operations, partition, row, etag);
    }
    return held;
}

/* *place is that of a group which has room for the operation. */
static int choose_group(pt_split *split, const pt_remote_operation *operation, int *place,
                        pt_error *error)
{
    *place = find_group(split, operation->partition);
    if (*place >= 0 && takes_operation(&split->groups[*place], operation)) {
        return SQLITE_OK;
    }
    int rc = SQLITE_OK;
    if (*place >= 0) {
        rc = send_group(split, *place, error);
    } else if (split->group_count == GROUPS_MAX) {
        rc = send_group(split, find_fullest(split), error);
    }
    *place = split->group_count;
    return rc;
}

int pt_split_add(pt_split *split, const pt_remote_operation *operation, pt_error *error)
{
    int place;
    int rc = choose_group(split, operation, &place, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_remote_operations *group = &split->groups[place];
    if (!pt_remote_operations_add(group, operation)) {
        return pt_error_nomem(error);
    }
    split->group_count += place == split->group_count ? 1 : 0;
    return group->count == OPERATIONS_A_GROUP ? send_group(split, place, error) : SQLITE_OK;
}

int pt_split_finish(pt_split *split, pt_error *error)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !split->stopped && split->group_count != 0) {
        rc = send_group(split, split->group_count - 1, error);
    }
    while (rc == SQLITE_OK && split->under_way != 0) {
        rc = receive_first(split, error);
    }
    return rc;
}

void pt_split_stop(pt_split *split, pt_error *error)
{
    split->stopped = true;
    while (split->under_way != 0) {
        pt_error other = PT_ERROR_NONE;
        receive_first(split, &other);
        pt_error_clear(&other);
    }
    if (error->message == NULL || split->done == 0) {
        return;
    }
    char *text = error->message;
    unsigned names = error->names;
    error->message = NULL;
    pt_error_set(error, error->rc,
                 "%s; %lld operations of the statement are done and stay: with OR REPLACE or "
                 "WriteMode 'merge' it can be run again as a whole",
                 text, (long long)split->done);
    pt_error_naming(error, names);
    sqlite3_free(text);
}
