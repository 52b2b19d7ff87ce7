#include "transaction/expiry.h"

#include "base/sqlite.h"
#include "entity/damage.h"

void pt_expiry_free(pt_expiry *expiry)
{
    pt_column_map_free(&expiry->map);
    pt_buffer_free(&expiry->name);
    pt_buffer_free(&expiry->shape);
}

bool pt_expiry_set(pt_expiry *expiry, pt_slice name, unsigned loads)
{
    if (expiry->loads == loads) {
        return true;
    }
    expiry->loads = 0; /* no list was loaded so often */
    pt_column_map_free(&expiry->map);
    pt_buffer_assign(&expiry->name, name);
    pt_buffer_append_byte(&expiry->name, 0);
    if (expiry->name.failed) {
        return false;
    }
    expiry->property = (pt_column){.name = (char *)expiry->name.data, .name_size = name.size};
    expiry->map.column_count = 1;
    expiry->loads = loads;
    return true;
}

int pt_expiry_judge(pt_expiry *expiry, pt_view *view, const pt_record *record, bool *expired,
                    pt_error *error)
{
    expiry->map.columns = &expiry->property; /* which may have been moved */
    const pt_column_places *places = pt_column_map_find(&expiry->map, record->shape);
    if (places == NULL) {
        return pt_error_nomem(error);
    }
    const pt_property *due = places->property[0];
    *expired = due->type == PT_DATETIME && pt_record_int64(record, due) <= pt_view_now(view);
    return SQLITE_OK;
}

int pt_expiry_judge_bytes(pt_expiry *expiry, pt_view *view, pt_slice key, pt_slice bytes,
                          bool *expired, pt_error *error)
{
    pt_record record = {0};
    pt_shape_source source = pt_dictionary_source(view->snapshot->store->dictionary);
    int rc = pt_record_open(&record, key, bytes, &source, &expiry->shape);
    if (rc != SQLITE_OK) {
        return rc == SQLITE_NOMEM ? pt_error_nomem(error) : pt_report_damage(key, error);
    }
    return pt_expiry_judge(expiry, view, &record, expired, error);
}
