#include "service/service.h"

#include <stdarg.h>
#include <strings.h>

_Noreturn void give_up(const char *place, const char *message)
{
    fprintf(stderr, "server: %s: %s\n", place, message);
    exit(EXIT_FAILURE);
}

void check_buffer(const pt_buffer *buffer)
{
    if (buffer->failed) {
        give_up("buffer", "out of memory");
    }
}

void *request_alloc(request *asked, size_t size)
{
    void *memory = pt_arena_alloc(asked->memory, size != 0 ? size : 1);
    if (memory == NULL) {
        give_up("request", "out of memory");
    }
    return memory;
}

char *request_copy(request *asked, pt_slice text)
{
    char *copy = request_alloc(asked, text.size + 1);
    if (text.size != 0) {
        memcpy(copy, text.data, text.size);
    }
    copy[text.size] = 0;
    return copy;
}

char *request_text(request *asked, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size < 0) {
        give_up("request", "a text cannot be written");
    }
    char *text = request_alloc(asked, (size_t)size + 1);
    vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return text;
}

/* SplitMix64. */
uint64_t service_random(service *served)
{
    served->seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = served->seed;
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

pt_slice request_header(const request *asked, const char *name)
{
    for (size_t i = 0; i < asked->header_count; i++) {
        if (pt_is_word(asked->headers[i].name, name)) {
            return asked->headers[i].value;
        }
    }
    return (pt_slice){0};
}

void reply_header(reply *given, const char *name, const char *value)
{
    pt_buffer_append_text(&given->headers, name);
    pt_buffer_append_text(&given->headers, ": ");
    pt_buffer_append_text(&given->headers, value);
    pt_buffer_append_text(&given->headers, "\r\n");
}

void reply_json(reply *given, const request *asked, int status)
{
    given->status = status;
    reply_header(given, "Content-Type",
                 asked->in_batch
                     ? "application/json;odata=minimalmetadata;streaming=true;charset=utf-8"
                     : "application/json;odata=minimalmetadata");
}

void reply_empty(reply *given, int status)
{
    given->status = status;
    pt_buffer_clear(&given->body);
}

void reply_clear(reply *given)
{
    given->status = 0;
    given->code = "";
    pt_buffer_clear(&given->headers);
    pt_buffer_clear(&given->body);
}

void reply_free(reply *given)
{
    pt_buffer_free(&given->headers);
    pt_buffer_free(&given->body);
}
