#include "transaction/batch_rules.h"

#include "base/sqlite.h"
#include "base/text.h"
#include "entity/key.h"
#include "transaction/large_value.h"

void pt_batch_rules_begin(pt_connection *connection, pt_session *session)
{
    pt_session_note_batch(session);
    connection->may_have_batch = true;
}

/* ROLLBACK TO and the end of a transaction end a batch without telling the connection: find out
 * here. */
bool pt_batch_rules_apply(pt_connection *connection)
{
    if (!connection->may_have_batch) {
        return false;
    }
    const pt_open_session *open = connection->sessions;
    while (open != NULL && !pt_session_has_batch(open->session)) {
        open = open->next;
    }
    connection->may_have_batch = open != NULL;
    return connection->may_have_batch;
}

/* How the connection's writes so far compare with the operation to be checked. */
typedef struct survey {
    const pt_session *session; /* of the operation to be checked, like key and partition */
    pt_slice key;
    pt_slice partition;
    size_t operations; /* so far */
    uint64_t bytes;
    pt_slice other_partition; /* of the same table */
    bool has_other_partition;
    bool has_other_table;
    bool has_same_entity;
} survey;

static bool is_entity(uint32_t table_id)
{
    return table_id != PT_TABLE_CATALOG && table_id < PT_TABLE_ID_LIMIT;
}

static void compare_operation(survey *seen, const pt_session *session, pt_slice key)
{
    if (session != seen->session || pt_key_table(key) != pt_key_table(seen->key)) {
        seen->has_other_table = true;
    } else if (!pt_key_is_in_partition(key, seen->partition)) {
        seen->has_other_partition = true;
        seen->other_partition = pt_key_partition(key);
    } else if (pt_slice_equal(key, seen->key)) {
        seen->has_same_entity = true;
    }
}

static void survey_entry(survey *seen, const pt_session *session, const pt_pending *pending)
{
    pt_slice key = pt_pending_key(pending);
    uint32_t table_id = pt_key_table(key);
    if (table_id == PT_TABLE_CHUNKS && pending->operation != PT_DELETE) {
        seen->bytes += pending->record_size - PT_CHUNK_HEADER;
    } else if (is_entity(table_id) && !pending->of_index) {
        seen->operations++;
        seen->bytes += (uint64_t)pending->key_size + pending->record_size;
        compare_operation(seen, session, key);
    }
}

static void survey_session(survey *seen, const pt_session *session)
{
    const pt_memtable *memtable = pt_session_memtable(session);
    size_t length = memtable != NULL ? pt_memtable_length(memtable) : 0;
    for (size_t i = 0; i < length; i++) {
        const pt_pending *pending = pt_memtable_entry(memtable, i);
        if (pending->newest) {
            survey_entry(seen, session, pending);
        }
    }
}

static void survey_connection(survey *seen, const pt_connection *connection)
{
    for (const pt_open_session *open = connection->sessions; open != NULL; open = open->next) {
        survey_session(seen, open->session);
    }
}

size_t pt_batch_rules_operations(const pt_connection *connection)
{
    survey seen = {.session = NULL};
    survey_connection(&seen, connection);
    return seen.operations;
}

/* --- Messages: each names the operation, counted from 0 --- */

static int refuse_table(const survey *seen, pt_error *error)
{
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of a transaction with batch='azure' is on another "
                 "table than earlier ones; write each table in a transaction of its own "
                 "(CommandsInBatchActOnDifferentPartitions)",
                 (unsigned long long)seen->operations);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int refuse_partition(const survey *seen, pt_error *error)
{
    char before[PT_EXCERPT_SIZE];
    char now[PT_EXCERPT_SIZE];
    pt_excerpt(pt_key_entity(seen->other_partition), before);
    pt_excerpt(pt_key_entity(seen->partition), now);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of a transaction with batch='azure' is on "
                 "PartitionKey %Q, an earlier one on %Q; write each partition in a "
                 "transaction of its own (CommandsInBatchActOnDifferentPartitions)",
                 (unsigned long long)seen->operations, now, before);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int refuse_entity(const survey *seen, pt_error *error)
{
    char text[PT_KEYS_TEXT_SIZE];
    pt_keys_describe(pt_keys_of(seen->key), text);
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of a transaction with batch='azure' is the second "
                 "on the entity with %s; write each entity once in "
                 "a transaction (InvalidDuplicateRow)",
                 (unsigned long long)seen->operations, text);
    return pt_error_naming(error, PT_NAMES_NUMBER | PT_NAMES_KEYS);
}

static int refuse_count(const survey *seen, pt_error *error)
{
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of a transaction with batch='azure' is one too "
                 "many, %d are allowed; COMMIT before it (InvalidInput)",
                 (unsigned long long)seen->operations, PT_BATCH_OPERATIONS_MAX);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

static int refuse_bytes(const survey *seen, pt_error *error)
{
    pt_error_set(error, SQLITE_CONSTRAINT_VTAB,
                 "operation %llu (from 0) of a transaction with batch='azure' takes it over "
                 "%d bytes; COMMIT before it (RequestBodyTooLarge)",
                 (unsigned long long)seen->operations, PT_BATCH_BYTES_MAX);
    return pt_error_naming(error, PT_NAMES_NUMBER);
}

int pt_batch_rules_check(const pt_connection *connection, const pt_session *session, pt_slice key,
                         size_t bytes, pt_error *error)
{
    survey seen = {.session = session, .key = key, .partition = pt_key_partition(key)};
    survey_connection(&seen, connection);
    if (seen.has_other_table) {
        return refuse_table(&seen, error);
    }
    if (seen.has_other_partition) {
        return refuse_partition(&seen, error);
    }
    if (seen.has_same_entity) {
        return refuse_entity(&seen, error);
    }
    if (seen.operations >= PT_BATCH_OPERATIONS_MAX) {
        return refuse_count(&seen, error);
    }
    return seen.bytes + bytes > PT_BATCH_BYTES_MAX ? refuse_bytes(&seen, error) : SQLITE_OK;
}
