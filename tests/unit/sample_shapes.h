/*
 * Shape descriptions for tests, put together independently of the code under test, and a little
 * dictionary of names.
 */
#ifndef SAMPLE_SHAPES_H
#define SAMPLE_SHAPES_H

#include <string.h>

#include "entity/shape.h"

static const char *const sample_names[] = {
    NULL,    "FirstName", "LastName", "Age",   "Email", "Total",
    "Score", "Active",    "Due",      "Badge", "Photo",
};

enum { SAMPLE_NAMES = sizeof sample_names / sizeof sample_names[0] };

/* A pt_name_lookup. */
static bool sample_lookup(void *context, uint16_t name_id, pt_slice *name)
{
    (void)context;
    if (name_id == 0 || name_id >= SAMPLE_NAMES) {
        return false;
    }
    *name = pt_slice_text(sample_names[name_id]);
    return true;
}

typedef struct sample_property {
    uint16_t name_id;
    uint8_t type;
    const char *inline_name; /* with name_id 0 */
} sample_property;

/* Writes the description and returns its size. */
static size_t sample_describe(const sample_property *properties, unsigned count, uint8_t *bytes)
{
    uint8_t *at = bytes;
    *at++ = (uint8_t)count;
    *at++ = (uint8_t)(count >> 8);
    for (unsigned i = 0; i < count; i++) {
        *at++ = (uint8_t)properties[i].name_id;
        *at++ = (uint8_t)(properties[i].name_id >> 8);
        *at++ = properties[i].type;
    }
    for (unsigned i = 0; i < count; i++) {
        if (properties[i].name_id == 0) {
            size_t size = strlen(properties[i].inline_name);
            *at++ = (uint8_t)size;
            *at++ = (uint8_t)(size >> 8);
            memcpy(at, properties[i].inline_name, size);
            at += size;
        }
    }
    return (size_t)(at - bytes);
}

#endif
