/*
 * Records with a checksum, for tests that write them past the store.
 */
#ifndef SEALED_H
#define SEALED_H

#include <assert.h>
#include <string.h>

#include "base/seal.h"

enum { SEALED_MAX = 1000 };

/* The record of a content. Valid until the next call. */
static inline pt_slice sealed(pt_slice key, pt_slice content)
{
    static uint8_t record[SEALED_MAX + PT_SEAL_SIZE];
    assert(content.size <= SEALED_MAX);
    memcpy(record, content.data, content.size);
    pt_seal(key, record, content.size + PT_SEAL_SIZE);
    return pt_slice_of(record, content.size + PT_SEAL_SIZE);
}

#endif
