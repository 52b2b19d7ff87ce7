#include "service/batch.h"

#include "service/address.h"
#include "service/http.h"
#include "service/operations.h"
#include "service/refusal.h"
#include "service/tables.h"

enum { OPERATIONS_MAX = 100 };

/* --- Multipart bodies --- */

static pt_slice after(pt_slice text, size_t size)
{
    return pt_slice_of(text.data + size, text.size - size);
}

/* The bytes before `mark`, and `*rest` behind it. No data: the mark is not there. */
static pt_slice before(pt_slice text, const char *mark, pt_slice *rest)
{
    const uint8_t *at = text.size != 0 ? memmem(text.data, text.size, mark, strlen(mark)) : NULL;
    if (at == NULL) {
        return (pt_slice){0};
    }
    size_t size = (size_t)(at - text.data);
    *rest = after(text, size + strlen(mark));
    return pt_slice_of(text.data, size);
}

/* The lines at the start of a part as headers; `*rest` begins after the empty line. */
static bool read_part_headers(pt_slice part, request *headers, pt_slice *rest)
{
    static const char line[] = "PART / HTTP/1.1\r\n";
    request *asked = headers;
    char *text = request_alloc(asked, strlen(line) + part.size + 1);
    size_t size = strlen(line) + part.size;
    memcpy(text, line, strlen(line));
    memcpy(text + strlen(line), part.data, part.size);
    size_t head = http_read_head(pt_slice_of(text, size), asked);
    if (head == 0) {
        return false;
    }
    *rest = after(part, head - strlen(line));
    return true;
}

/* "multipart/mixed; boundary=batch_1" gives "batch_1"; NULL for other types. */
static char *boundary_of(request *asked, pt_slice type)
{
    static const char kind[] = "multipart/mixed";
    static const char word[] = "boundary=";
    pt_slice boundary;
    if (type.size < strlen(kind) || memcmp(type.data, kind, strlen(kind)) != 0 ||
        before(type, word, &boundary).data == NULL || boundary.size == 0) {
        return NULL;
    }
    if (boundary.size >= 2 && boundary.data[0] == '"') {
        boundary = pt_slice_of(boundary.data + 1, boundary.size - 2);
    }
    return request_copy(asked, boundary);
}

/* The parts of a body, in order. */
typedef struct parts {
    pt_slice rest;
    const char *delimiter; /* CRLF, two hyphens and the boundary */
} parts;

/* Skips everything before the first boundary. */
static bool begin_parts(request *asked, pt_slice body, const char *boundary, parts *found)
{
    const char *first = request_text(asked, "--%s", boundary);
    found->delimiter = request_text(asked, "\r\n--%s", boundary);
    found->rest = body;
    return pt_slice_has_prefix(body, pt_slice_text(first))
               ? (found->rest = after(body, strlen(first)), true)
               : before(body, found->delimiter, &found->rest).data != NULL;
}

typedef enum part_found { PART, NO_MORE_PARTS, MALFORMED_PARTS } part_found;

/* The rest stands behind a boundary: a line end begins a part, two hyphens end the last one. */
static part_found next_part(parts *found, pt_slice *part)
{
    if (pt_slice_has_prefix(found->rest, pt_slice_text("--"))) {
        return NO_MORE_PARTS;
    }
    if (!pt_slice_has_prefix(found->rest, pt_slice_text("\r\n"))) {
        return MALFORMED_PARTS;
    }
    *part = before(after(found->rest, 2), found->delimiter, &found->rest);
    return part->data != NULL ? PART : MALFORMED_PARTS;
}

/* --- Operations --- */

typedef struct batch {
    service *served;
    request *asked; /* the request for the batch */
    reply *given;
    pt_buffer parts; /* of the reply */
    int count;
    const char *boundary; /* of the reply's parts */
} batch;

/* A part of the reply: the status and headers of an operation, and its body. */
static void append_part(batch *performed, const reply *given)
{
    pt_buffer *out = &performed->parts;
    pt_buffer_append_text(out, "--changesetresponse_");
    pt_buffer_append_text(out, performed->boundary);
    pt_buffer_append_text(out, "\r\nContent-Type: application/http\r\n"
                               "Content-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 ");
    pt_buffer_append_text(out, http_status_text(given->status));
    pt_buffer_append_text(out, "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: no-cache\r\n"
                               "DataServiceVersion: 3.0;\r\n");
    pt_buffer_append_slice(out, pt_buffer_slice(&given->headers));
    pt_buffer_append_text(out, "\r\n");
    pt_buffer_append_slice(out, pt_buffer_slice(&given->body));
    pt_buffer_append_text(out, "\r\n");
}

/* Reads the request inside a part, which has an absolute URL. */
static bool read_operation(pt_slice part, request *operation)
{
    pt_slice rest;
    if (!read_part_headers(part, operation, &rest) ||
        !pt_is_word(request_header(operation, "Content-Type"), "application/http") ||
        !pt_is_word(request_header(operation, "Content-Transfer-Encoding"), "binary")) {
        return false;
    }
    size_t head = http_read_head(rest, operation);
    operation->target = address_of_url(operation->target);
    operation->body = head != 0 ? after(rest, head) : rest;
    return head != 0 && operation->target.data != NULL;
}

/* Without Host of its own, an operation has that of the batch. */
static void inherit(request *operation, const request *asked, const char *name)
{
    pt_slice value = request_header(asked, name);
    if (request_header(operation, name).data == NULL && value.data != NULL &&
        operation->header_count < HEADERS_MAX) {
        operation->headers[operation->header_count++] =
            (header){.name = pt_slice_text(name), .value = value};
    }
}

/* False: the operation was refused, and with it the batch. */
static bool perform_operation(batch *performed, request *operation)
{
    service *served = performed->served;
    reply *given = performed->given;
    address named = address_read(served, operation, operation->target);
    reply_clear(given);
    inherit(operation, performed->asked, "Host");
    inherit(operation, performed->asked, "Accept");
    if (slice_is(operation->method, "GET") || named.other_account ||
        (named.kind != ADDRESS_ENTITIES && named.kind != ADDRESS_ENTITY) ||
        performed->count == OPERATIONS_MAX) {
        refuse(served, operation, given, "InvalidInput");
    } else {
        operations_perform(served, operation, &named, given);
    }
    return given->status < STATUS_BAD;
}

/* Where a batch is too long, the service blames the last operation that fits, the emulator the
 * first. */
static int refused_index(const batch *performed)
{
    if (performed->count < OPERATIONS_MAX) {
        return performed->count;
    }
    return performed->served->dialect == AZURITE ? 0 : OPERATIONS_MAX - 1;
}

/* The service leaves the index out in batches of one operation; the emulator does not. */
static void refuse_part(batch *performed, const request *operation, bool is_single)
{
    if (!is_single || performed->served->dialect == AZURITE) {
        refuse_operation(performed->served, operation, performed->given, refused_index(performed));
    }
    pt_buffer_clear(&performed->parts);
    append_part(performed, performed->given);
}

/* False: the body is malformed. `*is_done`: no operation was refused. */
static bool perform_operations(batch *performed, parts found, bool *is_done)
{
    pt_slice part;
    part_found step = NO_MORE_PARTS;
    *is_done = true;
    while (*is_done && (step = next_part(&found, &part)) == PART) {
        request *operation = request_alloc(performed->asked, sizeof *operation);
        *operation = (request){.memory = performed->asked->memory, .in_batch = true};
        if (!read_operation(part, operation)) {
            return false;
        }
        *is_done = perform_operation(performed, operation);
        if (*is_done) {
            append_part(performed, performed->given);
        } else {
            bool is_last = pt_slice_has_prefix(found.rest, pt_slice_text("--"));
            refuse_part(performed, operation, performed->count == 0 && is_last);
        }
        performed->count++;
    }
    return !*is_done || step == NO_MORE_PARTS;
}

/* --- Batches --- */

/* Finds the operations: the parts of the change set, which is the only part of the body. */
static bool find_operations(request *asked, parts *operations)
{
    parts outer;
    pt_slice part;
    pt_slice rest;
    pt_slice content;
    const char *boundary = boundary_of(asked, request_header(asked, "Content-Type"));
    if (boundary == NULL || !begin_parts(asked, asked->body, boundary, &outer) ||
        next_part(&outer, &part) != PART || next_part(&outer, &rest) != NO_MORE_PARTS) {
        return false;
    }
    request *headers = request_alloc(asked, sizeof *headers);
    *headers = (request){.memory = asked->memory};
    if (!read_part_headers(part, headers, &content)) {
        return false;
    }
    boundary = boundary_of(asked, request_header(headers, "Content-Type"));
    return boundary != NULL && begin_parts(asked, content, boundary, operations);
}

static void finish(batch *performed)
{
    reply *given = performed->given;
    const char *boundary = performed->boundary;
    const char *head = request_text(performed->asked,
                                    "--batchresponse_%s\r\nContent-Type: multipart/mixed; "
                                    "boundary=changesetresponse_%s\r\n\r\n",
                                    boundary, boundary);
    const char *end =
        request_text(performed->asked, "--changesetresponse_%s--\r\n--batchresponse_%s--\r\n",
                     boundary, boundary);
    check_buffer(&performed->parts);
    reply_clear(given);
    given->status = STATUS_ACCEPTED;
    reply_header(
        given, "Content-Type",
        request_text(performed->asked, "multipart/mixed; boundary=batchresponse_%s", boundary));
    pt_buffer_append_text(&given->body, head);
    pt_buffer_append_slice(&given->body, pt_buffer_slice(&performed->parts));
    pt_buffer_append_text(&given->body, end);
    pt_buffer_free(&performed->parts);
}

static void must_run(const service *served, const char *sql)
{
    if (!tables_run(served, "%s", sql)) {
        give_up(sql, sqlite3_errmsg(served->db));
    }
}

void batch_perform(service *served, request *asked, reply *given)
{
    parts operations;
    bool is_done = false;
    batch performed = {.served = served, .asked = asked, .given = given, .boundary = "1"};
    if (!find_operations(asked, &operations)) {
        refuse(served, asked, given, "InvalidInput");
        return;
    }
    must_run(served, "BEGIN");
    bool is_well_formed = perform_operations(&performed, operations, &is_done);
    is_done = is_done && is_well_formed && performed.count != 0;
    must_run(served, is_done ? "COMMIT" : "ROLLBACK");
    if (is_well_formed && performed.count != 0) {
        finish(&performed);
    } else {
        pt_buffer_free(&performed.parts);
        refuse(served, asked, given, "InvalidInput");
    }
}

void batch_refuse(service *served, request *asked, reply *given, const char *code)
{
    batch performed = {.served = served, .asked = asked, .given = given, .boundary = "1"};
    request operation = {.memory = asked->memory, .in_batch = true};
    refuse(served, &operation, given, code);
    append_part(&performed, given);
    finish(&performed);
}

void batch_accept(service *served, request *asked, reply *given, int count)
{
    batch performed = {.served = served, .asked = asked, .given = given, .boundary = "1"};
    for (int i = 0; i < count; i++) {
        reply_clear(given);
        reply_empty(given, STATUS_NO_CONTENT);
        reply_header(given, "ETag", "W/\"datetime'2026-11-21T09%3A00%3A00.0000000Z'\"");
        append_part(&performed, given);
    }
    finish(&performed);
}
