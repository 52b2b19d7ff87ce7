#include "service/delivery.h"

#include "base/number.h"
#include "base/ticks.h"
#include "entity/key.h"
#include "service/batch_text.h"
#include "service/query_text.h"

enum {
    STATUS_CREATED = 201,
    STATUS_WRITTEN = 204,
    STATUS_BAD = 400,
    STATUS_MISSING = 404,
    STATUS_CONFLICT = 409,
    STATUS_PRECONDITION = 412,
    STATUS_TOO_BIG = 413,
};

/* --- Sending --- */

static void describe_delivery(pt_delivery *delivery)
{
    pt_call *call = &delivery->call;
    const pt_remote_target *target = &delivery->target;
    call->service = target->service;
    call->subject = (pt_request_subject){.account = target->account, .table = target->table};
    call->timeout = target->timeout;
    call->retries = target->retries;
    call->resends = true;
    call->content_type = NULL;
    call->if_match = NULL;
    call->batch = 0;
    pt_buffer_clear(&call->path);
    pt_buffer_clear(&call->query);
    pt_buffer_clear(&delivery->body);
    pt_buffer_clear(&delivery->if_match);
}

/* A single operation. */
static void write_single(pt_delivery *delivery)
{
    static const pt_http_method methods[] = {[PT_WRITE_INSERT] = PT_HTTP_POST,
                                             [PT_WRITE_REPLACE] = PT_HTTP_PUT,
                                             [PT_WRITE_MERGE] = PT_HTTP_MERGE,
                                             [PT_WRITE_DELETE] = PT_HTTP_DELETE};
    const pt_remote_operation operation = pt_remote_operations_at(delivery->operations, 0);
    pt_call *call = &delivery->call;
    call->method = methods[operation.mode];
    pt_buffer_append_byte(&call->path, '/');
    pt_query_append_encoded(&call->path, pt_slice_text(delivery->target.table));
    if (operation.mode != PT_WRITE_INSERT) {
        pt_query_append_keys(&call->path, operation.partition, operation.row);
    }
    pt_buffer_append_slice(&delivery->body, operation.body);
    if (operation.etag.data != NULL) {
        pt_buffer_append_text(&delivery->if_match, "If-Match: ");
        pt_buffer_append_slice(&delivery->if_match, operation.etag);
        pt_buffer_append_byte(&delivery->if_match, 0);
        call->if_match = (const char *)delivery->if_match.data;
    }
}

static int write_batch(pt_delivery *delivery, pt_error *error)
{
    const pt_account *account = NULL;
    pt_call *call = &delivery->call;
    int rc = pt_service_find_account(call->service, call->subject.account, &account, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    call->method = PT_HTTP_POST;
    call->batch = delivery->operations->count;
    call->content_type = PT_BATCH_CONTENT_TYPE;
    pt_buffer_append_text(&call->path, "/$batch");
    pt_batch_append(&delivery->body, account, delivery->target.table, delivery->operations);
    return SQLITE_OK;
}

/*
 * libcurl would repeat a DELETE by itself on a kept connection, but not a request with a body: a
 * single delete is a batch of one. The emulator misreads some keys in batches, so there, and as
 * long as nobody knows what answers, it takes a new connection instead.
 */
static bool is_sent_alone(const pt_delivery *delivery)
{
    const pt_remote_operations *operations = delivery->operations;
    pt_dialect dialect = pt_service_dialect(delivery->target.service, delivery->target.account);
    bool batched = dialect == PT_DIALECT_AZURE || dialect == PT_DIALECT_COSMOS;
    return operations->count == 1 &&
           (operations->kept[0].operation.mode != PT_WRITE_DELETE || !batched);
}

static int send_operations(pt_delivery *delivery, pt_error *error)
{
    int rc = SQLITE_OK;
    describe_delivery(delivery);
    if (is_sent_alone(delivery)) {
        write_single(delivery);
    } else {
        rc = write_batch(delivery, error);
    }
    if (rc == SQLITE_OK && (delivery->body.failed || delivery->if_match.failed)) {
        rc = pt_error_nomem(error);
    }
    if (rc == SQLITE_OK) {
        rc = pt_budget_spend(&delivery->budget, PT_REQUEST_MORE, error);
    }
    if (rc == SQLITE_OK) {
        delivery->call.body = pt_buffer_slice(&delivery->body);
        rc = pt_call_send(&delivery->call, error);
    }
    return rc;
}

int pt_delivery_send(pt_delivery *delivery, pt_error *error)
{
    delivery->in_doubt = false;
    delivery->known_date = pt_service_last_date(delivery->target.service, delivery->target.account);
    return send_operations(delivery, error);
}

void pt_delivery_end(pt_delivery *delivery)
{
    pt_call_end(&delivery->call);
}

void pt_delivery_free(pt_delivery *delivery)
{
    pt_call_free(&delivery->call);
    pt_buffer_free(&delivery->body);
    pt_buffer_free(&delivery->if_match);
}

/* --- Reading an entity --- */

static int keep_read_entity(pt_call *call, pt_http_reply *reply, pt_page *page,
                            const pt_page_entity **entity, pt_error *error)
{
    if (!pt_call_has_succeeded(reply)) {
        bool missing = reply->outcome == PT_HTTP_REPLIED && reply->status == STATUS_MISSING &&
                       pt_refusal_has_code(&call->refusal, "ResourceNotFound");
        return missing ? SQLITE_OK : pt_call_fail(call, reply, error);
    }
    int rc = pt_page_add(page, &reply->body, PT_PAGE_OF_ONE, error);
    *entity = rc == SQLITE_OK ? &page->entities[0] : NULL;
    return rc;
}

int pt_remote_read(const pt_remote_target *target, pt_slice partition, pt_slice row, pt_page *page,
                   const pt_page_entity **entity, pt_error *error)
{
    pt_http_reply *reply;
    pt_call call = {.service = target->service,
                    .subject = {.account = target->account, .table = target->table},
                    .method = PT_HTTP_GET,
                    .timeout = target->timeout,
                    .retries = target->retries};
    *entity = NULL;
    pt_page_clear(page);
    pt_buffer_append_byte(&call.path, '/');
    pt_query_append_encoded(&call.path, pt_slice_text(target->table));
    pt_query_append_keys(&call.path, partition, row);
    int rc = pt_call_send(&call, error);
    if (rc == SQLITE_OK) {
        rc = pt_call_receive(&call, &reply, error);
    }
    if (rc == SQLITE_OK) {
        rc = keep_read_entity(&call, reply, page, entity, error);
    }
    pt_call_free(&call);
    return rc;
}

/* --- After a lost reply --- */

/* True if the operation may be done twice. An ETag "*" is a condition, too: that the entity exists.
 */
static bool is_repeatable(const pt_remote_operation *operation)
{
    return operation->may_lack ||
           (operation->mode != PT_WRITE_INSERT && operation->etag.data == NULL);
}

static bool is_same_property(const pt_value *a, const pt_value *b)
{
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case PT_STRING:
    case PT_BINARY:
        return pt_slice_equal(a->bytes, b->bytes);
    case PT_DOUBLE:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0 || a->real == b->real;
    case PT_GUID:
        return memcmp(a->guid, b->guid, PT_GUID_SIZE) == 0;
    default:
        return a->integer == b->integer;
    }
}

/* True if all that was sent is there, and nothing else unless the operation was a merge. */
static bool holds_all(const pt_page *sent, const pt_page *found, bool merged)
{
    const pt_page_entity *wanted = &sent->entities[0];
    const pt_page_entity *there = &found->entities[0];
    size_t hint = 0;
    for (size_t i = 0; i < wanted->count; i++) {
        const pt_field *field = &sent->fields[wanted->first + i];
        const pt_value *value = pt_page_find(found, there, field->name, &hint);
        if (value == NULL || !is_same_property(value, &field->value)) {
            return false;
        }
    }
    return merged || wanted->count == there->count;
}

typedef enum delivery_fate { FATE_DONE, FATE_NOT_DONE, FATE_UNKNOWN } delivery_fate;

/* Judges by the entity of one operation, or by its absence, what became of the request. */
static int judge_entity(const pt_delivery *delivery, const pt_remote_operation *sent,
                        const pt_page *page, const pt_page_entity *entity, delivery_fate *fate,
                        pt_error *error)
{
    static const int64_t ticks_of_1970 = INT64_C(621355968000000000);
    static const int64_t ticks_a_second = INT64_C(10000000);
    enum { CLOCKS_DIFFER = 10 }; /* seconds, of the service's machines */
    pt_page wanted = {0};
    pt_buffer text = {0};
    /* An entity of before the request proves that it is not done. */
    bool known = entity != NULL && delivery->known_date != 0;
    bool older = known && (entity->ticks - ticks_of_1970) / ticks_a_second <
                              delivery->known_date - CLOCKS_DIFFER;
    bool unchanged =
        entity != NULL && sent->etag.data != NULL && pt_slice_equal(entity->etag, sent->etag);
    *fate = older || unchanged ? FATE_NOT_DONE : FATE_UNKNOWN;
    if (*fate == FATE_NOT_DONE || delivery->operations->count != 1 || !is_repeatable(sent)) {
        return SQLITE_OK;
    }
    /* Whoever has done it: the entity may be as the operation leaves it. */
    if (entity == NULL || sent->mode == PT_WRITE_DELETE) {
        bool gone = entity == NULL && sent->mode == PT_WRITE_DELETE;
        *fate = gone ? FATE_DONE : FATE_UNKNOWN;
        return SQLITE_OK;
    }
    pt_buffer_append_slice(&text, sent->body);
    pt_buffer_append_byte(&text, 0);
    if (text.failed) {
        pt_buffer_free(&text);
        return pt_error_nomem(error);
    }
    text.size--;
    int rc = pt_page_add(&wanted, &text, PT_PAGE_OF_ONE, error);
    if (rc == SQLITE_OK && holds_all(&wanted, page, sent->mode == PT_WRITE_MERGE)) {
        *fate = FATE_DONE;
    }
    pt_buffer_free(&text);
    pt_page_free(&wanted);
    return rc;
}

/* Finds out whether a request that may have been done has been, by the entity of one operation.
 * `blamed` is the place of the refused one. */
static int find_fate(const pt_delivery *delivery, size_t blamed, delivery_fate *fate,
                     pt_error *error)
{
    const pt_remote_operations *operations = delivery->operations;
    pt_page page = {0};
    const pt_page_entity *entity;
    /* Most can be told by one that asks for an ETag, and may still find it. */
    size_t witness = blamed;
    for (size_t i = operations->count; i > 0; i--) {
        pt_slice etag = pt_remote_operations_at(operations, i - 1).etag;
        bool versioned = etag.data != NULL && !pt_slice_equal(etag, pt_slice_text("*"));
        witness = versioned && i - 1 != blamed ? i - 1 : witness;
    }
    const pt_remote_operation sent = pt_remote_operations_at(operations, witness);
    int rc = pt_remote_read(&delivery->target, sent.partition, sent.row, &page, &entity, error);
    if (rc == SQLITE_OK) {
        rc = judge_entity(delivery, &sent, &page, entity, fate, error);
    }
    pt_page_free(&page);
    return rc;
}

/* --- Errors --- */

/* The operation that the service blames: its message begins with the number and a colon. */
static size_t blamed_operation(const pt_delivery *delivery)
{
    const char *message = delivery->call.refusal.message;
    const char *colon = strchr(message, ':');
    int64_t index = 0;
    bool told = delivery->call.batch != 0 && colon != NULL &&
                pt_integer_parse(pt_slice_of(message, (size_t)(colon - message)), &index);
    bool sensible = told && index >= 0 && (size_t)index < delivery->operations->count;
    return sensible ? (size_t)index : 0;
}

/* The message without that number. */
static const char *message_of(const pt_delivery *delivery)
{
    const char *message = delivery->call.refusal.message;
    size_t digits = strspn(message, "0123456789");
    return digits != 0 && message[digits] == ':' ? message + digits + 1 : message;
}

static int fail_missing_entity(const pt_remote_operation *operation, const char *keys,
                               pt_error *error)
{
    if (operation->quiet) {
        return pt_error_set(error, SQLITE_BUSY_SNAPSHOT,
                            "the entity with %s has been deleted since the statement read it; run "
                            "the transaction again (ResourceNotFound)",
                            keys);
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_CHECK,
                        "there is no entity with %s; leave IfMatch out %s (ResourceNotFound)", keys,
                        operation->mode == PT_WRITE_DELETE ? "if it may be missing"
                                                           : "to create it");
}

static int fail_changed(const pt_remote_operation *operation, const char *keys, pt_error *error)
{
    if (operation->quiet) {
        return pt_error_set(error, SQLITE_BUSY_SNAPSHOT,
                            "the entity with %s has changed since the statement read it; run the "
                            "transaction again (UpdateConditionNotSatisfied)",
                            keys);
    }
    return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                        "the entity with %s has another ETag than IfMatch; read it again and "
                        "repeat the change with its ETag (UpdateConditionNotSatisfied)",
                        keys);
}

static int fail_operation(pt_delivery *delivery, pt_http_reply *reply, pt_error *error)
{
    const pt_refusal *refusal = &delivery->call.refusal;
    const pt_remote_operation operation =
        pt_remote_operations_at(delivery->operations, blamed_operation(delivery));
    char keys[PT_KEYS_TEXT_SIZE];
    pt_keys_describe((pt_keys){.partition = operation.partition, .row = operation.row}, keys);
    if (reply->outcome != PT_HTTP_REPLIED || reply->foreign) {
        return pt_call_fail(&delivery->call, reply, error);
    }
    if (refusal->status == STATUS_CONFLICT && pt_refusal_has_code(refusal, "EntityAlreadyExists")) {
        return pt_error_set(error, SQLITE_CONSTRAINT_PRIMARYKEY,
                            "an entity with %s exists; give other keys, or change that entity with "
                            "UPDATE; INSERT OR REPLACE would overwrite it (EntityAlreadyExists)",
                            keys);
    }
    if (refusal->status == STATUS_MISSING && pt_refusal_has_code(refusal, "ResourceNotFound")) {
        return fail_missing_entity(&operation, keys, error);
    }
    if (refusal->status == STATUS_PRECONDITION) {
        return fail_changed(&operation, keys, error);
    }
    if (refusal->status == STATUS_BAD || refusal->status == STATUS_TOO_BIG) {
        return pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                            "the service refuses the entity with %s: %s; change it, or write it in "
                            "a smaller transaction (%s)",
                            keys, message_of(delivery), refusal->code);
    }
    return pt_call_fail(&delivery->call, reply, error);
}

/* True if an operation is refused for the entity as it is: an earlier attempt may have left it so.
 */
static bool is_refused_for_entity(const pt_http_reply *reply, const pt_refusal *refusal)
{
    return !reply->foreign && (refusal->status == STATUS_PRECONDITION ||
                               (refusal->status == STATUS_CONFLICT &&
                                pt_refusal_has_code(refusal, "EntityAlreadyExists")) ||
                               (refusal->status == STATUS_MISSING &&
                                pt_refusal_has_code(refusal, "ResourceNotFound")));
}

/* Nobody can say whether the request has been done. */
static int fail_in_doubt(const pt_delivery *delivery, const pt_http_reply *reply, pt_error *error)
{
    const pt_refusal *refusal = &delivery->call.refusal;
    bool replied = reply->outcome == PT_HTTP_REPLIED;
    const char *problem = replied ? message_of(delivery) : reply->problem;
    bool secret = strchr(problem, '@') != NULL || strstr(problem, "sig=") != NULL;
    char text[PT_KEYS_TEXT_SIZE + PT_REPLY_CODE_SIZE + 150];
    if (replied && !pt_reply_is_temporary(reply)) {
        const pt_remote_operation operation =
            pt_remote_operations_at(delivery->operations, blamed_operation(delivery));
        bool for_entity = is_refused_for_entity(reply, refusal);
        char keys[PT_KEYS_TEXT_SIZE];
        char status[16];
        pt_keys_describe((pt_keys){.partition = operation.partition, .row = operation.row}, keys);
        sqlite3_snprintf(sizeof status, status, "%d", refusal->status);
        sqlite3_snprintf(sizeof text, text,
                         "an attempt had no clear reply, and the next one was refused%s%s (%s)%s",
                         for_entity ? " at the entity with " : "", for_entity ? keys : "",
                         refusal->code[0] != 0 ? refusal->code : status,
                         for_entity ? ", perhaps because the first was done" : "");
        problem = text;
    } else if (secret || problem[0] == 0) {
        problem = "no reply that tells what was done";
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "account %Q, table %Q: %s; the change may have been applied: look before "
                        "you repeat it",
                        delivery->target.account, delivery->target.table, problem);
}

/* --- Receiving --- */

/* A write is answered by 204, an insert by 201 too: any other success is not the service's. */
static void check_success(const pt_delivery *delivery, pt_http_reply *reply)
{
    bool inserts = delivery->call.method == PT_HTTP_POST && delivery->call.batch == 0;
    bool right = reply->status == STATUS_WRITTEN || (inserts && reply->status == STATUS_CREATED);
    if (pt_call_has_succeeded(reply) && !right) {
        reply->outcome = PT_HTTP_LOST;
        reply->problem = "the reply is not that of a Table service";
    }
}

/* True if the reply leaves open whether an attempt has done the request: there is no reply, or an
 * earlier attempt had none. Only what the service finds wrong with the request itself was wrong
 * with that, too: a gateway judges no more than what comes to it. */
static bool leaves_doubt(const pt_delivery *delivery, const pt_http_reply *reply)
{
    if (reply->outcome == PT_HTTP_LOST || reply->outcome == PT_HTTP_TOO_BIG) {
        return true;
    }
    bool wrong = reply->outcome == PT_HTTP_REPLIED && !reply->foreign &&
                 (reply->status == STATUS_BAD || reply->status == STATUS_TOO_BIG);
    return delivery->in_doubt && !wrong;
}

/* *again = true if one operation is to be left out and the rest sent again: nothing has been done,
 * and an entity that was to be deleted does not exist. */
static void leave_out_missing(pt_delivery *delivery, const pt_http_reply *reply, bool *again)
{
    size_t blamed = blamed_operation(delivery);
    *again = reply->outcome == PT_HTTP_REPLIED && reply->status == STATUS_MISSING &&
             pt_refusal_has_code(&delivery->call.refusal, "ResourceNotFound") &&
             delivery->operations->kept[blamed].operation.may_lack;
    if (*again) {
        pt_remote_operations_remove(delivery->operations, blamed);
    }
}

/* The reply is no success. */
static int settle(pt_delivery *delivery, pt_http_reply *reply, bool *again, pt_error *error)
{
    leave_out_missing(delivery, reply, again);
    if (*again) {
        return SQLITE_OK;
    }
    if (!leaves_doubt(delivery, reply)) {
        fail_operation(delivery, reply, error);
        return pt_call_name_request(&delivery->call, error);
    }
    /* An attempt without an answer may still be done later, unless it will be refused as well. */
    bool refused =
        reply->outcome == PT_HTTP_REPLIED && is_refused_for_entity(reply, &delivery->call.refusal);
    const pt_remote_operation first = pt_remote_operations_at(delivery->operations, 0);
    delivery_fate fate = FATE_UNKNOWN;
    if (refused || (delivery->operations->count == 1 && is_repeatable(&first))) {
        pt_error problem = PT_ERROR_NONE;
        int rc = find_fate(delivery, blamed_operation(delivery), &fate, &problem);
        pt_error_clear(&problem);
        if (rc == SQLITE_NOMEM) {
            return pt_error_nomem(error);
        }
        if (rc == SQLITE_INTERRUPT) {
            return rc; /* pt_delivery_receive says more */
        }
        fate = rc == SQLITE_OK ? fate : FATE_UNKNOWN;
    }
    if (fate == FATE_DONE) {
        return SQLITE_OK;
    }
    if (refused && fate == FATE_NOT_DONE) {
        fail_operation(delivery, reply, error);
    } else {
        fail_in_doubt(delivery, reply, error);
    }
    return pt_call_name_request(&delivery->call, error);
}

int pt_delivery_receive(pt_delivery *delivery, pt_error *error)
{
    size_t count = delivery->operations->count;
    for (;;) {
        pt_http_reply *reply;
        bool again = false;
        int rc = pt_call_receive(&delivery->call, &reply, error);
        delivery->in_doubt = delivery->in_doubt || delivery->call.in_doubt;
        if (rc == SQLITE_OK) {
            check_success(delivery, reply);
            rc = pt_call_has_succeeded(reply) ? SQLITE_OK : settle(delivery, reply, &again, error);
        }
        bool sent = delivery->call.http != NULL || delivery->in_doubt;
        pt_delivery_end(delivery);
        if (rc == SQLITE_INTERRUPT && sent) {
            pt_error_set(error, rc,
                         "interrupted while the service did the transaction, which may have been "
                         "applied: look before you repeat it");
        }
        if (rc == SQLITE_OK && again && delivery->operations->count != 0) {
            rc = send_operations(delivery, error);
            if (rc == SQLITE_OK) {
                continue;
            }
            if (rc != SQLITE_NOMEM && delivery->in_doubt) {
                rc = pt_error_set(error, SQLITE_IOERR,
                                  "%s; an attempt had no clear reply, and the change may have been "
                                  "applied: look before you repeat it",
                                  error->message);
            }
        }
        if (rc == SQLITE_OK) {
            delivery->target.service->counts.operations += (int64_t)count;
        }
        return rc;
    }
}
