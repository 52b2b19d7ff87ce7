/*
 * A growable byte buffer with a sticky error: once an allocation has failed, further appends do
 * nothing, so a run of appends needs only one check of `failed`, at its end.
 */
#ifndef PT_BASE_BUFFER_H
#define PT_BASE_BUFFER_H

#include "base/bytes.h"

typedef struct pt_buffer {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool failed; /* out of memory; the content is incomplete */
} pt_buffer;

/* Makes room for `more` bytes after the content. Returns false when out of memory. */
bool pt_buffer_reserve(pt_buffer *buffer, size_t more);

/* Extends the content by `size` uninitialised bytes and returns them; NULL when out of memory. */
uint8_t *pt_buffer_extend(pt_buffer *buffer, size_t size);

void pt_buffer_append(pt_buffer *buffer, const void *data, size_t size);
void pt_buffer_append_slice(pt_buffer *buffer, pt_slice slice);
void pt_buffer_append_byte(pt_buffer *buffer, uint8_t byte);
void pt_buffer_append_text(pt_buffer *buffer, const char *text);

/* Empties the buffer and clears the error. Keeps the memory for the next use. */
void pt_buffer_clear(pt_buffer *buffer);

/* Replaces the content. Returns false when out of memory. */
bool pt_buffer_assign(pt_buffer *buffer, pt_slice slice);

void pt_buffer_free(pt_buffer *buffer);

/* For pt_array_reserve. */
bool pt_array_grow(void *array, size_t *capacity, size_t count, size_t size);

/*
 * Makes room for `count` elements of `size` bytes in an array, and sets its capacity. `array`
 * points to the pointer to its memory, which is from sqlite3_malloc or NULL. Returns false when out
 * of memory; then nothing has changed.
 */
static inline bool pt_array_reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    return count <= *capacity || pt_array_grow(array, capacity, count, size);
}

static inline pt_slice pt_buffer_slice(const pt_buffer *buffer)
{
    return pt_slice_of(buffer->data, buffer->size);
}

#endif
