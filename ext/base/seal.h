/*
 * Sealed records: they end with a checksum of their content and key, a little-endian u32. It is the
 * low half of XXH3_64 over the content, seeded with XXH3_64 of the key, so it also detects a record
 * that is stored under the wrong key.
 */
#ifndef PT_BASE_SEAL_H
#define PT_BASE_SEAL_H

#include "base/bytes.h"

enum { PT_SEAL_SIZE = 4 };

/* Computes the checksum. */
uint32_t pt_seal_of(pt_slice key, pt_slice content);

/* Writes the checksum into the last PT_SEAL_SIZE of the record's `size` bytes; the content is
 * before it. */
void pt_seal(pt_slice key, uint8_t *record, size_t size);

/* Sets *content. Returns false if the record is too short or its checksum is wrong. *content is
 * then whatever the record has in that place, for reports of damage. */
bool pt_unseal(pt_slice key, pt_slice record, pt_slice *content);

#endif
