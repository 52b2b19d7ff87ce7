#include "lmdb/log/record.h"

#include "base/xxhash.h"
#include "store/engine.h"

enum {
    OPERATIONS_AT = 4,
    SYNC_AT = 6,
    CLOCK_AT = 8,
    VERSION_AT = 16,
    PLACE_AT = 24,
    FLUSHED_AT = 28,
    PREVIOUS_AT = 32,
    CHECKSUM_AT = 40,
    DELETES_AT = 2,
    RECORD_SIZE_AT = 4,
};

pt_log_chain pt_log_chain_of(uint64_t log_id, uint64_t version, pt_slice nonce)
{
    uint64_t seed = XXH3_64bits_withSeed(nonce.data, nonce.size, log_id);
    return (pt_log_chain){.version = version, .seed = seed, .last = seed};
}

/* Over everything but the checksum itself. */
static uint64_t record_checksum(const uint8_t *record, size_t size, uint64_t seed)
{
    uint64_t head = XXH3_64bits_withSeed(record, CHECKSUM_AT, seed);
    return XXH3_64bits_withSeed(record + PT_LOG_RECORD_HEADER, size - PT_LOG_RECORD_HEADER, head);
}

/* --- Writing --- */

bool pt_log_record_begin(pt_buffer *buffer)
{
    pt_buffer_clear(buffer);
    uint8_t *header = pt_buffer_extend(buffer, PT_LOG_RECORD_HEADER);
    if (header != NULL) {
        memset(header, 0, PT_LOG_RECORD_HEADER);
    }
    return header != NULL;
}

void pt_log_record_add(pt_buffer *buffer, pt_slice key, pt_slice record, bool deletes)
{
    uint8_t *header = pt_buffer_extend(buffer, PT_LOG_OPERATION_HEADER);
    if (header == NULL) {
        return;
    }
    pt_put_le16(header, (uint16_t)key.size);
    header[DELETES_AT] = deletes;
    header[DELETES_AT + 1] = 0;
    pt_put_le32(header + RECORD_SIZE_AT, (uint32_t)record.size);
    pt_buffer_append_slice(buffer, key);
    pt_buffer_append_slice(buffer, record);
}

void pt_log_record_end(pt_buffer *buffer, const pt_log_facts *facts, const pt_log_chain *chain,
                       pt_log_chain *after)
{
    static const uint8_t zeros[PT_LOG_RECORD_ALIGNMENT];
    pt_buffer_append(buffer, zeros, -buffer->size % PT_LOG_RECORD_ALIGNMENT);
    if (buffer->failed) {
        return;
    }
    uint8_t *record = buffer->data;
    pt_put_le32(record, (uint32_t)buffer->size);
    pt_put_le16(record + OPERATIONS_AT, facts->count);
    record[SYNC_AT] = facts->sync;
    pt_put_le64(record + CLOCK_AT, (uint64_t)facts->clock);
    pt_put_le64(record + VERSION_AT, chain->version);
    pt_put_le32(record + PLACE_AT, chain->end);
    pt_put_le32(record + FLUSHED_AT, chain->flushed);
    pt_put_le64(record + PREVIOUS_AT, chain->last);
    *after = *chain;
    after->last = record_checksum(record, buffer->size, chain->seed);
    after->end += (uint32_t)buffer->size;
    pt_put_le64(record + CHECKSUM_AT, after->last);
}

/* --- Reading --- */

/* True if a record begins there that verifies by itself, at this place of the log. */
static bool record_verifies(pt_slice bytes, uint32_t at, uint64_t seed)
{
    if (bytes.size < PT_LOG_RECORD_HEADER) {
        return false;
    }
    size_t size = pt_get_le32(bytes.data);
    return size >= PT_LOG_RECORD_HEADER && size <= bytes.size &&
           size % PT_LOG_RECORD_ALIGNMENT == 0 && pt_get_le32(bytes.data + PLACE_AT) == at &&
           record_checksum(bytes.data, size, seed) == pt_get_le64(bytes.data + CHECKSUM_AT);
}

bool pt_log_record_read(pt_slice bytes, pt_log_chain *chain, pt_log_record *record)
{
    if (!record_verifies(bytes, chain->end, chain->seed) ||
        pt_get_le64(bytes.data + PREVIOUS_AT) != chain->last) {
        return false;
    }
    uint32_t size = pt_get_le32(bytes.data);
    uint32_t flushed = pt_get_le32(bytes.data + FLUSHED_AT);
    record->facts = (pt_log_facts){.count = pt_get_le16(bytes.data + OPERATIONS_AT),
                                   .sync = bytes.data[SYNC_AT],
                                   .clock = (int64_t)pt_get_le64(bytes.data + CLOCK_AT)};
    record->operations =
        pt_slice_of(bytes.data + PT_LOG_RECORD_HEADER, size - PT_LOG_RECORD_HEADER);
    chain->last = pt_get_le64(bytes.data + CHECKSUM_AT);
    chain->end += size;
    chain->flushed = flushed > chain->flushed ? flushed : chain->flushed;
    return true;
}

bool pt_log_record_next(pt_log_record *record, pt_log_operation *operation)
{
    pt_slice left = record->operations;
    if (record->facts.count == 0 || left.size < PT_LOG_OPERATION_HEADER) {
        return false;
    }
    size_t key_size = pt_get_le16(left.data);
    size_t record_size = pt_get_le32(left.data + RECORD_SIZE_AT);
    const uint8_t *key = left.data + PT_LOG_OPERATION_HEADER;
    left.size -= PT_LOG_OPERATION_HEADER;
    if (key_size == 0 || key_size > left.size || record_size > left.size - key_size) {
        return false;
    }
    operation->deletes = record->operations.data[DELETES_AT] != 0;
    operation->key = pt_slice_of(key, key_size);
    operation->record = pt_slice_of(key + key_size, record_size);
    record->operations =
        pt_slice_of(key + key_size + record_size, left.size - key_size - record_size);
    record->facts.count--;
    return true;
}

bool pt_log_find_beyond(pt_slice bytes, const pt_log_chain *chain, size_t *at, size_t *size)
{
    for (; *at + PT_LOG_RECORD_HEADER <= bytes.size; *at += PT_LOG_RECORD_ALIGNMENT) {
        pt_slice rest = pt_slice_of(bytes.data + *at, bytes.size - *at);
        if (record_verifies(rest, chain->end + (uint32_t)*at, chain->seed)) {
            *size = pt_get_le32(rest.data);
            return true;
        }
    }
    return false;
}

uint32_t pt_log_flushed_beyond(pt_slice bytes, const pt_log_chain *chain)
{
    uint32_t most = 0;
    size_t at = PT_LOG_RECORD_ALIGNMENT;
    size_t size;
    while (pt_log_find_beyond(bytes, chain, &at, &size)) {
        uint32_t flushed = pt_get_le32(bytes.data + at + FLUSHED_AT);
        most = flushed > most ? flushed : most;
        at += size;
    }
    return most;
}

bool pt_log_follows_later_version(pt_slice bytes, const pt_log_chain *chain)
{
    if (bytes.size < PT_LOG_RECORD_HEADER) {
        return false;
    }
    size_t size = pt_get_le32(bytes.data);
    return size >= PT_LOG_RECORD_HEADER && size <= bytes.size &&
           size % PT_LOG_RECORD_ALIGNMENT == 0 && pt_get_le32(bytes.data + PLACE_AT) == 0 &&
           bytes.data[SYNC_AT] == PT_SYNC_FULL &&
           pt_get_le64(bytes.data + VERSION_AT) > chain->version;
}
