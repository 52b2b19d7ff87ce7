/*
 * Records that end with a checksum over their content and their key, u32 little-endian: the low
 * half of XXH3_64 over the content, seeded with XXH3_64 of the key. A record under a wrong key is
 * found out too.
 */
#ifndef PT_BASE_SEAL_H
#define PT_BASE_SEAL_H

#include "base/bytes.h"

enum { PT_SEAL_SIZE = 4 };

/* The checksum by itself. */
uint32_t pt_seal_of(pt_slice key, pt_slice content);

/* Writes the last PT_SEAL_SIZE of a record's `size` bytes; those before are its content. */
void pt_seal(pt_slice key, uint8_t *record, size_t size);

/* The content; false if the record is too short or its checksum is wrong. Then *content is what
 * stands in that place, for those who look at damage. */
bool pt_unseal(pt_slice key, pt_slice record, pt_slice *content);

#endif
