#include "table/entity_rules.h"

#include "entity/azure_limits.h"
#include "entity/damage.h"
#include "entity/key.h"
#include "transaction/batch_rules.h"
#include "transaction/large_value.h"

/* --- limits='azure' --- */

/* The bytes of a large value that the entity keeps are read into `large` and count, too. */
static int check_property(const pt_table *table, pt_view *view, pt_slice key, pt_field field,
                          pt_buffer *large, uint64_t *bytes, pt_error *error)
{
    int rc = pt_large_read(view, table->id.id, &field.value, large, error);
    if (rc == SQLITE_OK) {
        return pt_limits_check_property(&field, bytes, PT_LIMITS_OF_OPTION, error);
    }
    return rc == SQLITE_CORRUPT_VTAB ? pt_report_damaged_property(key, field.name, error) : rc;
}

static int check_properties(const pt_table *table, pt_slice key, uint64_t *bytes, pt_error *error)
{
    pt_view *view = NULL;
    pt_buffer large = {0};
    int rc = pt_session_read(table->session, &view, error);
    for (unsigned i = 0; rc == SQLITE_OK && i < table->bag.count; i++) {
        rc = check_property(table, view, key, table->bag.fields[i], &large, bytes, error);
    }
    pt_buffer_free(&large);
    return rc;
}

static int check_azure_limits(const pt_table *table, pt_slice key, pt_error *error)
{
    uint64_t bytes = 0;
    int rc = check_properties(table, key, &bytes, error);
    if (rc != SQLITE_OK) {
        return rc;
    }
    pt_keys keys = pt_keys_of(key);
    return pt_limits_check_entity_size(keys.partition, keys.row, table->bag.count, bytes,
                                       PT_LIMITS_OF_OPTION, error);
}

/* --- batch='azure' --- */

/* True if batch rules apply: by the option, or because another table has begun a batch. */
static bool is_in_batch(const pt_table *table)
{
    return table->config.azure_batch || pt_batch_rules_apply(table->connection);
}

/* The size of the bag's record as far as it is known before the bag has a shape. */
static size_t estimate_record(const pt_bag *bag)
{
    size_t bytes = PT_RECORD_LEAST;
    for (unsigned i = 0; i < bag->count; i++) {
        const pt_value *value = &bag->fields[i].value;
        bool varies = value->type == PT_STRING || value->type == PT_BINARY;
        bytes += varies ? value->bytes.size : pt_type_fixed_size(value->type);
    }
    return bytes;
}

static int check_azure_batch(const pt_table *table, pt_slice key, size_t record_size,
                             pt_error *error)
{
    return pt_batch_rules_check(table->connection, table->session, key, key.size + record_size,
                                error);
}

/* --- All rules --- */

int pt_entity_check_rules(pt_table *table, pt_slice key, pt_error *error)
{
    int rc = table->config.azure_limits ? check_azure_limits(table, key, error) : SQLITE_OK;
    if (rc == SQLITE_OK && is_in_batch(table)) {
        rc = check_azure_batch(table, key, estimate_record(&table->bag), error);
    }
    return rc;
}

int pt_entity_check_removal(pt_table *table, pt_slice key, pt_error *error)
{
    return is_in_batch(table) ? check_azure_batch(table, key, 0, error) : SQLITE_OK;
}
