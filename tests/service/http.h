/*
 * HTTP/1.1 as servers speak it: requests out of the bytes of a connection, and replies.
 */
#ifndef TESTS_SERVICE_HTTP_H
#define TESTS_SERVICE_HTTP_H

#include "service/service.h"

typedef enum http_found {
    HTTP_PART,      /* the request has not come as a whole */
    HTTP_WANTS_100, /* the same, and the client waits for "100 Continue" before it sends the body */
    HTTP_REQUEST,
    HTTP_MALFORMED,
    HTTP_LONG_HEADER, /* the request line and headers are longer than the service takes */
    HTTP_LARGE_BODY,
} http_found;

/*
 * Reads the request at the start of `input`, copied into its memory, and how many bytes it takes.
 * With HTTP_LARGE_BODY the request is there without its body, and the connection must be closed
 * after the reply.
 */
http_found http_read(pt_slice input, request *asked, size_t *size);

/* Reads a request line and headers, up to the empty line; answers how many bytes they take, or 0 if
 * they are malformed. The slices point into `text`. */
size_t http_read_head(pt_slice text, request *asked);

/* The bytes before a line's CRLF. Their data is NULL if there is no CRLF. */
pt_slice http_line(pt_slice text);

/* "404 Not Found" */
const char *http_status_text(int status);

/* Appends a reply. `cut` chooses where its body is cut into two chunks. */
void http_write(const service *served, const reply *given, bool closes, uint64_t cut,
                pt_buffer *out);

#endif
