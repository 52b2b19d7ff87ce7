#include "queue/request.h"

pt_queue_message *pt_queue_request_add(pt_queue_request *request)
{
    if (request->message_count == request->message_capacity) {
        size_t capacity = request->message_capacity == 0 ? 8 : 2 * request->message_capacity;
        pt_queue_message *grown =
            sqlite3_realloc64(request->messages, capacity * sizeof *request->messages);
        if (grown == NULL) {
            return NULL;
        }
        request->messages = grown;
        request->message_capacity = capacity;
    }
    pt_queue_message *message = &request->messages[request->message_count++];
    *message = (pt_queue_message){0};
    return message;
}

void pt_queue_request_clear(pt_queue_request *request)
{
    for (size_t i = 0; i < request->message_count; i++) {
        sqlite3_free(request->messages[i].id);
        sqlite3_free(request->messages[i].receipt);
        pt_buffer_free(&request->messages[i].body);
    }
    sqlite3_free(request->messages);
    request->messages = NULL;
    request->message_count = 0;
    request->message_capacity = 0;
}
