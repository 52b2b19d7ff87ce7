#include "service/batch_text.h"

#include "base/number.h"
#include "base/text.h"
#include "service/query_text.h"

#define CHANGES_BOUNDARY "changeset_ptable"

enum { STATUS_ACCEPTED = 202, STATUS_DONE = 204, STATUS_FAILED = 400, STATUS_DIGITS = 3 };

static const char *method_of(pt_write_mode mode)
{
    static const char *const methods[] = {[PT_WRITE_INSERT] = "POST",
                                          [PT_WRITE_REPLACE] = "PUT",
                                          [PT_WRITE_MERGE] = "MERGE",
                                          [PT_WRITE_DELETE] = "DELETE"};
    return methods[mode];
}

/* --- Writing --- */

static void append_part(pt_buffer *body, const pt_account *account, const char *table,
                        const pt_remote_operation *operation)
{
    pt_buffer_append_text(body, "--" CHANGES_BOUNDARY "\r\n"
                                "Content-Type: application/http\r\n"
                                "Content-Transfer-Encoding: binary\r\n\r\n");
    pt_buffer_append_text(body, method_of(operation->mode));
    pt_buffer_append_byte(body, ' ');
    pt_buffer_append_text(body, account->endpoint);
    pt_buffer_append_byte(body, '/');
    pt_query_append_encoded(body, pt_slice_text(table));
    if (operation->mode != PT_WRITE_INSERT) {
        pt_query_append_keys(body, operation->partition, operation->row);
    }
    pt_buffer_append_text(body, " HTTP/1.1\r\n"
                                "Accept: application/json;odata=minimalmetadata\r\n"
                                "DataServiceVersion: 3.0\r\nPrefer: return-no-content\r\n");
    if (operation->etag.data != NULL) {
        pt_buffer_append_text(body, "If-Match: ");
        pt_buffer_append_slice(body, operation->etag);
        pt_buffer_append_text(body, "\r\n");
    }
    if (operation->body.data != NULL) {
        pt_buffer_append_text(body, "Content-Type: application/json\r\n\r\n");
        pt_buffer_append_slice(body, operation->body);
        pt_buffer_append_text(body, "\r\n");
    } else {
        pt_buffer_append_text(body, "\r\n\r\n");
    }
}

void pt_batch_append(pt_buffer *body, const pt_account *account, const char *table,
                     const pt_remote_operations *operations)
{
    pt_buffer_append_text(body, "--batch_ptable\r\nContent-Type: multipart/mixed; "
                                "boundary=" CHANGES_BOUNDARY "\r\n\r\n");
    for (size_t i = 0; i < operations->count; i++) {
        const pt_remote_operation operation = pt_remote_operations_at(operations, i);
        append_part(body, account, table, &operation);
    }
    pt_buffer_append_text(body, "--" CHANGES_BOUNDARY "--\r\n--batch_ptable--\r\n");
}

/* --- Reading --- */

/* Moves `rest` to behind the next status line, whatever comes before it. Returns its status; 0:
 * there is none; -1: it cannot be read. */
static int next_status(pt_slice *rest)
{
    static const char mark[] = "HTTP/1.1 ";
    const uint8_t *at =
        rest->size != 0 ? memmem(rest->data, rest->size, mark, sizeof mark - 1) : NULL;
    if (at == NULL) {
        return 0;
    }
    at += sizeof mark - 1;
    *rest = pt_slice_of(at, (size_t)(rest->data + rest->size - at));
    int64_t status;
    bool read = rest->size > STATUS_DIGITS &&
                pt_integer_parse(pt_slice_of(at, STATUS_DIGITS), &status) && status >= 100;
    return read ? (int)status : -1;
}

/* Makes the refused operation's part the reply: the status line ends at the first line end, the
 * headers at the first empty line, and the body at the next boundary. */
static bool take_part(pt_http_reply *reply, int status, pt_slice part)
{
    const uint8_t *headers = memchr(part.data, '\n', part.size);
    const uint8_t *body = memmem(part.data, part.size, "\r\n\r\n", 4);
    if (headers == NULL || body == NULL) {
        return false;
    }
    pt_buffer_append(&reply->headers, headers + 1, (size_t)(body + 2 - (headers + 1)));
    pt_slice rest = pt_slice_of(body + 4, (size_t)(part.data + part.size - (body + 4)));
    const uint8_t *end = rest.size != 0 ? memmem(rest.data, rest.size, "\r\n--", 4) : NULL;
    if (end == NULL) {
        return false;
    }
    reply->body.size = (size_t)(end - rest.data);
    memmove(reply->body.data, rest.data, reply->body.size);
    reply->body.data[reply->body.size] = 0; /* pt_http_reply promises a NUL */
    reply->status = status;
    return true;
}

void pt_batch_unwrap(pt_http_reply *reply, size_t count)
{
    if (reply->outcome != PT_HTTP_REPLIED || reply->status != STATUS_ACCEPTED) {
        return;
    }
    pt_slice rest = pt_buffer_slice(&reply->body);
    size_t done = 0;
    int status = next_status(&rest);
    while (status / 100 == 2 && done < count) {
        done++;
        status = next_status(&rest);
    }
    if (status == 0 && done == count) {
        reply->status = STATUS_DONE;
    } else if (done != 0 || status < STATUS_FAILED || !take_part(reply, status, rest)) {
        reply->outcome = PT_HTTP_LOST;
        reply->problem = "the reply to the batch is not complete";
    }
}
