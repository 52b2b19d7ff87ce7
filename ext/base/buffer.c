#include "base/buffer.h"

#include "base/sqlite.h"

enum { SMALLEST_CAPACITY = 64, FIRST_ELEMENTS = 16 };

static inline bool has_room(const pt_buffer *buffer, size_t more)
{
    return !buffer->failed && buffer->data != NULL && more <= buffer->capacity - buffer->size;
}

__attribute__((noinline)) static bool grow_buffer(pt_buffer *buffer, size_t more)
{
    if (buffer->failed || more > SIZE_MAX / 4 - buffer->size) {
        buffer->failed = true;
        return false;
    }
    size_t wanted = buffer->size + more;
    size_t capacity = buffer->capacity < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : buffer->capacity;
    while (capacity < wanted) {
        capacity += capacity / 2;
    }
    uint8_t *data = sqlite3_realloc64(buffer->data, capacity);
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

static inline bool reserve_room(pt_buffer *buffer, size_t more)
{
    return has_room(buffer, more) || grow_buffer(buffer, more);
}

bool pt_buffer_reserve(pt_buffer *buffer, size_t more)
{
    return reserve_room(buffer, more);
}

uint8_t *pt_buffer_extend(pt_buffer *buffer, size_t size)
{
    if (!reserve_room(buffer, size)) {
        return NULL;
    }
    uint8_t *tail = buffer->data + buffer->size;
    buffer->size += size;
    return tail;
}

void pt_buffer_append(pt_buffer *buffer, const void *data, size_t size)
{
    if (size != 0 && reserve_room(buffer, size)) {
        memcpy(buffer->data + buffer->size, data, size);
        buffer->size += size;
    }
}

void pt_buffer_append_slice(pt_buffer *buffer, pt_slice slice)
{
    pt_buffer_append(buffer, slice.data, slice.size);
}

void pt_buffer_append_byte(pt_buffer *buffer, uint8_t byte)
{
    if (reserve_room(buffer, 1)) {
        buffer->data[buffer->size++] = byte;
    }
}

void pt_buffer_append_text(pt_buffer *buffer, const char *text)
{
    pt_buffer_append(buffer, text, strlen(text));
}

void pt_buffer_clear(pt_buffer *buffer)
{
    buffer->size = 0;
    buffer->failed = false;
}

bool pt_buffer_assign(pt_buffer *buffer, pt_slice slice)
{
    pt_buffer_clear(buffer);
    pt_buffer_append_slice(buffer, slice);
    return !buffer->failed;
}

void pt_buffer_free(pt_buffer *buffer)
{
    sqlite3_free(buffer->data);
    *buffer = (pt_buffer){0};
}

bool pt_array_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    size_t larger = *capacity == 0 ? FIRST_ELEMENTS : 2 * *capacity;
    larger = larger > count ? larger : count;
    void *memory;
    memcpy(&memory, array, sizeof memory);
    memory = sqlite3_realloc64(memory, larger * size);
    if (memory == NULL) {
        return false;
    }
    memcpy(array, &memory, sizeof memory);
    *capacity = larger;
    return true;
}
