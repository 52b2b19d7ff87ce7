#include "table/refusals.h"

#include "base/sqlite.h"

/* The text names the index by its columns, which need no quotes there: it is shown in a literal. */
static int fail_with_name(pt_place_in_store place, const pt_index_definition *declared,
                          const char *format, pt_error *error)
{
    pt_buffer name = {0};
    pt_index_name_from_key(pt_index_definition_key(declared), &name);
    int rc = name.failed
                 ? pt_error_nomem(error)
                 : pt_error_set(error, SQLITE_ERROR, format, declared->unique ? "unique" : "index",
                                (const char *)name.data, place.store, place.table,
                                (const char *)name.data, declared->unique ? 1 : 0);
    pt_buffer_free(&name);
    return rc;
}

int pt_refuse_missing_index(pt_place_in_store place, const pt_index_definition *declared,
                            pt_error *error)
{
    return fail_with_name(place, declared,
                          "declares %s(%s), which the store does not have; make it: INSERT INTO "
                          "pt_indexes(Store, TableName, Columns, IsUnique) VALUES (%Q, %Q, %Q, %d)",
                          error);
}

int pt_refuse_other_index(pt_place_in_store place, const pt_index_definition *declared,
                          pt_error *error)
{
    if (declared->unique) {
        return fail_with_name(
            place, declared,
            "declares %s(%s), but that index is not unique in the store; declare index(...), or "
            "drop it: DELETE FROM pt_indexes WHERE Store = %Q AND TableName = %Q AND IndexName = "
            "%Q",
            error);
    }
    return fail_with_name(
        place, declared,
        "declares %s(%s), but that index is unique in the store; declare unique(...), or drop it: "
        "DELETE FROM pt_indexes WHERE Store = %Q AND TableName = %Q AND IndexName = %Q",
        error);
}

int pt_refuse_missing_changes(pt_place_in_store place, pt_error *error)
{
    return pt_error_set(error, SQLITE_ERROR,
                        "declares changes=on, but the store does not keep them; UPDATE pt_tables "
                        "SET Changes = 'on' WHERE Store = %Q AND TableName = %Q",
                        place.store, place.table);
}

int pt_refuse_other_expiry(pt_place_in_store place, const char *declared, pt_slice name,
                           pt_error *error)
{
    const char *by = name.size != 0 ? " by " : "";
    return pt_error_set(
        error, SQLITE_ERROR,
        "declares expires=%s, but in the store its entities %sexpire%s%.*s; declare it so, or "
        "UPDATE pt_tables SET Expires = %Q WHERE Store = %Q AND TableName = %Q",
        declared, name.size != 0 ? "" : "do not ", by, (int)name.size, (const char *)name.data,
        declared, place.store, place.table);
}
