#include "service/canned.h"

#include "service/batch.h"

struct canned_reply {
    canned_reply *next; /* in the slot */
    pt_buffer target;
    reply given;
};

static size_t slot_of(pt_slice target)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    for (size_t i = 0; i < target.size; i++) {
        hash = (hash ^ target.data[i]) * 16777619;
    }
    return hash % CANNED_SLOTS;
}

static void copy_reply(reply *to, const reply *from)
{
    to->status = from->status;
    to->code = from->code;
    pt_buffer_append_slice(&to->headers, pt_buffer_slice(&from->headers));
    pt_buffer_append_slice(&to->body, pt_buffer_slice(&from->body));
    check_buffer(&to->headers);
    check_buffer(&to->body);
}

static int count_operations(pt_slice body)
{
    static const char mark[] = "HTTP/1.1\r\n";
    int count = 0;
    const uint8_t *at;
    while (body.size != 0 && (at = memmem(body.data, body.size, mark, strlen(mark))) != NULL) {
        size_t passed = (size_t)(at - body.data) + strlen(mark);
        body = pt_slice_of(body.data + passed, body.size - passed);
        count++;
    }
    return count;
}

bool canned_answer(const canned *kept, service *served, request *asked, reply *given)
{
    if (!kept->is_on) {
        return false;
    }
    if (slice_is(asked->method, "POST")) {
        batch_accept(served, asked, given, count_operations(asked->body));
        return true;
    }
    const canned_reply *found = kept->replies[slot_of(asked->target)];
    while (found != NULL && !pt_slice_equal(pt_buffer_slice(&found->target), asked->target)) {
        found = found->next;
    }
    if (found != NULL) {
        copy_reply(given, &found->given);
    }
    return found != NULL;
}

void canned_keep(canned *kept, const request *asked, const reply *given)
{
    if (!kept->is_on) {
        return;
    }
    canned_reply *made = calloc(1, sizeof *made);
    if (made == NULL) {
        give_up("canned", "out of memory");
    }
    pt_buffer_append_slice(&made->target, asked->target);
    check_buffer(&made->target);
    copy_reply(&made->given, given);
    made->next = kept->replies[slot_of(asked->target)];
    kept->replies[slot_of(asked->target)] = made;
}
