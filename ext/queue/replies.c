#include "queue/replies.h"

static void append_bytes(pt_buffer *question, const void *bytes, size_t size)
{
    pt_buffer_append(question, &size, sizeof size);
    pt_buffer_append(question, bytes, size);
}

/* False when out of memory. */
static bool append_value(pt_buffer *question, sqlite3_value *value)
{
    int type = sqlite3_value_type(value);
    pt_buffer_append_byte(question, (uint8_t)type);
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 integer = sqlite3_value_int64(value);
        pt_buffer_append(question, &integer, sizeof integer);
    } else if (type == SQLITE_FLOAT) {
        double number = sqlite3_value_double(value);
        pt_buffer_append(question, &number, sizeof number);
    } else if (type != SQLITE_NULL) {
        const void *bytes =
            type == SQLITE_TEXT ? sqlite3_value_text(value) : sqlite3_value_blob(value);
        size_t size = (size_t)sqlite3_value_bytes(value);
        if (bytes == NULL && type == SQLITE_TEXT) {
            return false;
        }
        append_bytes(question, bytes, size);
    }
    return !question->failed;
}

static bool add_argument(pt_queue_reply *reply, int number, sqlite3_value *argument)
{
    if (argument == NULL) {
        pt_buffer_append_byte(&reply->question, 0);
        return !reply->question.failed;
    }
    reply->arguments[number] = sqlite3_value_dup(argument);
    return reply->arguments[number] != NULL &&
           append_value(&reply->question, reply->arguments[number]);
}

pt_queue_reply *pt_queue_reply_new(unsigned asker,
                                   sqlite3_value *const arguments[PT_QUEUE_ARGUMENTS_MAX])
{
    pt_queue_reply *reply = sqlite3_malloc64(sizeof *reply);
    if (reply == NULL) {
        return NULL;
    }
    *reply = (pt_queue_reply){0};
    pt_buffer_append(&reply->question, &asker, sizeof asker);
    bool complete = !reply->question.failed;
    for (int i = 0; complete && i < PT_QUEUE_ARGUMENTS_MAX; i++) {
        complete = add_argument(reply, i, arguments[i]);
    }
    if (!complete) {
        pt_queue_reply_free(reply);
        return NULL;
    }
    return reply;
}

void pt_queue_reply_free(pt_queue_reply *reply)
{
    for (int i = 0; i < PT_QUEUE_ARGUMENTS_MAX; i++) {
        sqlite3_value_free(reply->arguments[i]);
    }
    pt_queue_request_clear(&reply->request);
    pt_buffer_free(&reply->question);
    sqlite3_free(reply);
}

pt_queue_reply *pt_queue_replies_find(pt_queue_reply *list, const pt_queue_reply *asked)
{
    pt_slice question = pt_buffer_slice(&asked->question);
    while (list != NULL && !pt_slice_equal(pt_buffer_slice(&list->question), question)) {
        list = list->next;
    }
    return list;
}

void pt_queue_replies_free(pt_queue_reply **list)
{
    while (*list != NULL) {
        pt_queue_reply *first = *list;
        *list = first->next;
        pt_queue_reply_free(first);
    }
}
