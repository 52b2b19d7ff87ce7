#include "service/http.h"

#include <time.h>

enum { HEAD_MAX = 16384 };

/* --- Reading --- */

pt_slice http_line(pt_slice text)
{
    const uint8_t *end = text.size != 0 ? memmem(text.data, text.size, "\r\n", 2) : NULL;
    return end != NULL ? pt_slice_of(text.data, (size_t)(end - text.data)) : (pt_slice){0};
}

static pt_slice without(pt_slice text, size_t size)
{
    return pt_slice_of(text.data + size, text.size - size);
}

static pt_slice trimmed(pt_slice text)
{
    while (text.size != 0 && text.data[0] == ' ') {
        text = without(text, 1);
    }
    while (text.size != 0 && text.data[text.size - 1] == ' ') {
        text.size--;
    }
    return text;
}

/* "METHOD target HTTP/1.1" */
static bool read_request_line(pt_slice line, request *asked)
{
    const uint8_t *first = line.size != 0 ? memchr(line.data, ' ', line.size) : NULL;
    const uint8_t *last = line.size != 0 ? memrchr(line.data, ' ', line.size) : NULL;
    if (first == NULL || first == last ||
        !slice_is(without(line, (size_t)(last + 1 - line.data)), "HTTP/1.1")) {
        return false;
    }
    asked->method = pt_slice_of(line.data, (size_t)(first - line.data));
    asked->target = pt_slice_of(first + 1, (size_t)(last - first) - 1);
    return asked->method.size != 0 && memchr(asked->target.data, ' ', asked->target.size) == NULL;
}

static bool read_header(pt_slice line, request *asked)
{
    const uint8_t *colon = memchr(line.data, ':', line.size);
    if (colon == NULL || colon == line.data || asked->header_count == HEADERS_MAX) {
        return false;
    }
    size_t name_size = (size_t)(colon - line.data);
    asked->headers[asked->header_count++] = (header){
        .name = pt_slice_of(line.data, name_size),
        .value = trimmed(without(line, name_size + 1)),
    };
    return memchr(line.data, ' ', name_size) == NULL;
}

size_t http_read_head(pt_slice text, request *asked)
{
    pt_slice rest = text;
    pt_slice line = http_line(rest);
    asked->header_count = 0;
    if (line.data == NULL || !read_request_line(line, asked)) {
        return 0;
    }
    rest = without(rest, line.size + 2);
    for (line = http_line(rest); line.data != NULL && line.size != 0; line = http_line(rest)) {
        if (!read_header(line, asked)) {
            return 0;
        }
        rest = without(rest, line.size + 2);
    }
    return line.data != NULL ? text.size - rest.size + 2 : 0;
}

/* Reads one chunk. Answers its size with its frame; 0: not there as a whole. */
static size_t read_chunk(pt_slice text, pt_slice *chunk)
{
    pt_slice line = http_line(text);
    if (line.data == NULL) {
        return 0;
    }
    size_t size = 0;
    for (size_t i = 0; i < line.size && pt_hex_digit(line.data[i]) >= 0 && size <= BODY_MAX; i++) {
        size = 16 * size + (size_t)pt_hex_digit(line.data[i]);
    }
    size_t whole = line.size + 2 + size + 2;
    *chunk = pt_slice_of(text.data + line.size + 2, size);
    return whole <= text.size ? whole : 0;
}

static http_found read_chunks(pt_slice input, size_t head, request *asked, size_t *size)
{
    pt_slice chunk;
    pt_buffer body = {0};
    size_t used = head;
    size_t step;
    while ((step = read_chunk(without(input, used), &chunk)) != 0) {
        used += step;
        pt_buffer_append_slice(&body, chunk);
        if (chunk.size == 0 || body.size > BODY_MAX) {
            break;
        }
    }
    check_buffer(&body);
    bool is_large = body.size > BODY_MAX;
    *size = used;
    asked->body = pt_slice_of(request_copy(asked, pt_buffer_slice(&body)), body.size);
    pt_buffer_free(&body);
    return is_large ? HTTP_LARGE_BODY : step != 0 ? HTTP_REQUEST : HTTP_PART;
}

static http_found read_sized(pt_slice input, size_t head, request *asked, size_t *size)
{
    pt_slice given = request_header(asked, "Content-Length");
    size_t length = 0;
    for (size_t i = 0; i < given.size && length <= BODY_MAX; i++) {
        if (!pt_is_digit(given.data[i])) {
            return HTTP_MALFORMED;
        }
        length = 10 * length + given.data[i] - '0';
    }
    if (length > BODY_MAX) {
        return HTTP_LARGE_BODY;
    }
    if (input.size - head < length) {
        return HTTP_PART;
    }
    asked->body = pt_slice_of(request_copy(asked, pt_slice_of(input.data + head, length)), length);
    *size = head + length;
    return HTTP_REQUEST;
}

http_found http_read(pt_slice input, request *asked, size_t *size)
{
    const uint8_t *end = input.size != 0 ? memmem(input.data, input.size, "\r\n\r\n", 4) : NULL;
    size_t head_size = end != NULL ? (size_t)(end - input.data) + 4 : input.size;
    if (head_size > HEAD_MAX) {
        return HTTP_LONG_HEADER;
    }
    if (end == NULL) {
        return HTTP_PART;
    }
    pt_slice head = pt_slice_of(request_copy(asked, pt_slice_of(input.data, head_size)), head_size);
    if (http_read_head(head, asked) != head_size) {
        return HTTP_MALFORMED;
    }
    bool chunked = pt_is_word(request_header(asked, "Transfer-Encoding"), "chunked");
    http_found found = chunked ? read_chunks(input, head_size, asked, size)
                               : read_sized(input, head_size, asked, size);
    bool waits = pt_is_word(request_header(asked, "Expect"), "100-continue");
    return found == HTTP_PART && waits && input.size == head_size ? HTTP_WANTS_100 : found;
}

/* --- Writing --- */

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {STATUS_OK, "200 OK"},
        {STATUS_CREATED, "201 Created"},
        {STATUS_ACCEPTED, "202 Accepted"},
        {STATUS_NO_CONTENT, "204 No Content"},
        {STATUS_FOUND, "302 Found"},
        {STATUS_BAD, "400 Bad Request"},
        {STATUS_FORBIDDEN, "403 Forbidden"},
        {STATUS_MISSING, "404 Not Found"},
        {STATUS_CONFLICT, "409 Conflict"},
        {STATUS_PRECONDITION, "412 Precondition Failed"},
        {STATUS_TOO_LARGE, "413 Payload Too Large"},
        {STATUS_MEDIA_TYPE, "415 Unsupported Media Type"},
        {STATUS_THROTTLED, "429 Too Many Requests"},
        {STATUS_LONG_HEADER, "431 Request Header Fields Too Large"},
        {STATUS_INTERNAL, "500 Internal Server Error"},
        {STATUS_NOT_IMPLEMENTED, "501 Not Implemented"},
        {STATUS_GATEWAY, "502 Bad Gateway"},
        {STATUS_BUSY, "503 Service Unavailable"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (texts[i].status == status) {
            return texts[i].text;
        }
    }
    give_up("http", "a status without text");
}

static void append_date(pt_buffer *out)
{
    char date[60];
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", gmtime_r(&now, &parts));
    pt_buffer_append_text(out, date);
}

static void append_chunk(pt_buffer *out, pt_slice chunk)
{
    char line[20];
    snprintf(line, sizeof line, "%zx\r\n", chunk.size);
    pt_buffer_append_text(out, line);
    pt_buffer_append_slice(out, chunk);
    pt_buffer_append_text(out, "\r\n");
}

/* The service sends chunks. */
static void append_body(pt_buffer *out, pt_slice body, uint64_t cut)
{
    size_t first = (size_t)(cut % (body.size + 1));
    if (first != 0 && first != body.size) {
        append_chunk(out, pt_slice_of(body.data, first));
        body = without(body, first);
    }
    append_chunk(out, body);
    pt_buffer_append_text(out, "0\r\n\r\n");
}

void http_write(const service *served, const reply *given, bool closes, uint64_t cut,
                pt_buffer *out)
{
    pt_buffer_append_text(out, "HTTP/1.1 ");
    pt_buffer_append_text(out, http_status_text(given->status));
    pt_buffer_append_text(out, "\r\nServer: ");
    pt_buffer_append_text(out, given->is_foreign ? "gateway/1.0\r\n"
                               : served->dialect == AZURITE
                                   ? "Azurite-Table/3.35.0\r\n"
                                   : "Windows-Azure-Table/1.0 Microsoft-HTTPAPI/2.0\r\n");
    if (!given->is_foreign) {
        pt_buffer_append_text(out, "x-ms-version: 2019-02-02\r\n"
                                   "x-ms-request-id: 00000000-0000-0000-0000-000000000000\r\n");
    }
    append_date(out);
    pt_buffer_append_slice(out, pt_buffer_slice(&given->headers));
    pt_buffer_append_text(out, closes ? "Connection: close\r\n" : "Connection: keep-alive\r\n");
    if (given->status == STATUS_NO_CONTENT) {
        pt_buffer_append_text(out, "\r\n");
    } else if (given->body.size == 0) {
        pt_buffer_append_text(out, "Content-Length: 0\r\n\r\n");
    } else {
        pt_buffer_append_text(out, "Transfer-Encoding: chunked\r\n\r\n");
        append_body(out, pt_buffer_slice(&given->body), cut);
    }
    check_buffer(out);
}
