/*
 * JSON texts and random damage to them.
 */
#ifndef TESTS_UNIT_VALUE_JSON_MUTATIONS_H
#define TESTS_UNIT_VALUE_JSON_MUTATIONS_H

#include "fixtures/random_bag.h"

static const char *const seeds[] = {
    "{\"Name\":\"Jun\",\"Age\":34,\"Total\":12345678901,\"Total@odata.type\":\"Edm.Int64\"}",
    "{\"Due\":\"2026-11-21T08:00:00.0000000Z\",\"Due@odata.type\":\"Edm.DateTime\",\"x\":-1.5e-7}",
    "{\"\\u00e4\\ud83d\\ude00\":\"a\\u0000b\",\"b\":\"Zm9v\",\"b@odata.type\":\"Edm.Binary\"}",
    ("{\"g\":\"0f8fad5b-d9cb-469f-a165-70867728950e\",\"g@odata.type\":\"Edm.Guid\",\"n\":null,"
     "\"t\":true,\"odata\":\"W\"}"),
};

/* Changes the text in place, within its capacity; returns its new size. */
static size_t mutated(char *json, size_t size, size_t capacity)
{
    static const char interesting[] = "{}[]\",:\\u0019eE.-+@\n ntf\x80\xF0";
    size_t rounds = 1 + random_below(3);
    for (size_t i = 0; i < rounds && size > 1; i++) {
        size_t at = random_below(size);
        char c = interesting[random_below(sizeof interesting)];
        switch (random_below(4)) {
        case 0:
            json[at] = c;
            break;
        case 1:
            memmove(json + at, json + at + 1, size - at - 1);
            size--;
            break;
        case 2:
            if (size < capacity) {
                memmove(json + at + 1, json + at, size - at);
                json[at] = c;
                size++;
            }
            break;
        default:
            size = at + 1;
            break;
        }
    }
    return size;
}

#endif
