#include "lmdb/bounds.h"

#include "lmdb/page/page.h"

bool pt_lmdb_is_on_overflow_pages(const pt_lmdb_env *env, const MDB_val *value)
{
    const uint8_t *first = (const uint8_t *)value->mv_data - PT_LMDB_PAGE_HEADER;
    if (pt_lmdb_offset_in_page(env, first) != 0) {
        return false;
    }
    MDB_envinfo info;
    mdb_env_info(env->env, &info);
    uint64_t page = pt_get_le64(first);
    uint64_t pages = pt_lmdb_overflow_pages(value->mv_size, env->page_size);
    return pt_lmdb_overflow_judge(first, page, pages) == NULL && page <= info.me_last_pgno &&
           pages <= info.me_last_pgno - page + 1;
}
