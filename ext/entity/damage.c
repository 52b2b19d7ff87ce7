#include "entity/damage.h"

#include "base/sqlite.h"
#include "entity/key.h"

int pt_report_damage(pt_slice logical_key, pt_error *error)
{
    pt_keys_excerpts excerpts;
    pt_keys keys = pt_keys_for_message(logical_key, &excerpts);
    pt_error_set(error, SQLITE_CORRUPT_VTAB,
                 "the entity with PartitionKey '%.*s', RowKey '%.*s' is damaged in the store; "
                 "DELETE or REPLACE it, or restore the store from a backup",
                 (int)keys.partition.size, keys.partition.data, (int)keys.row.size, keys.row.data);
    return pt_error_naming(error, PT_NAMES_KEYS);
}

int pt_report_damaged_property(pt_slice logical_key, pt_slice name, pt_error *error)
{
    pt_keys_excerpts excerpts;
    pt_keys keys = pt_keys_for_message(logical_key, &excerpts);
    pt_error_set(
        error, SQLITE_CORRUPT_VTAB,
        "property %Q of the entity with PartitionKey '%.*s', RowKey '%.*s' is damaged in the "
        "store; UPDATE it to another value, or restore the store from a backup",
        (const char *)name.data, (int)keys.partition.size, keys.partition.data, (int)keys.row.size,
        keys.row.data);
    return pt_error_naming(error, PT_NAMES_KEYS);
}
