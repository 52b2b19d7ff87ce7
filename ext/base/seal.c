#include "base/seal.h"

#include "base/xxhash.h"

uint32_t pt_seal_of(pt_slice key, pt_slice content)
{
    uint64_t seed = XXH3_64bits(key.data, key.size);
    return (uint32_t)XXH3_64bits_withSeed(content.data, content.size, seed);
}

void pt_seal(pt_slice key, uint8_t *record, size_t size)
{
    size_t content = size - PT_SEAL_SIZE;
    pt_put_le32(record + content, pt_seal_of(key, pt_slice_of(record, content)));
}

bool pt_unseal(pt_slice key, pt_slice record, pt_slice *content)
{
    if (record.size < PT_SEAL_SIZE) {
        *content = pt_slice_of(record.data, 0);
        return false;
    }
    *content = pt_slice_of(record.data, record.size - PT_SEAL_SIZE);
    return pt_get_le32(record.data + content->size) == pt_seal_of(key, *content);
}
