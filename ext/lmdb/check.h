/*
 * pt_engine's check: reads a whole store, page by page and record by record, without LMDB.
 */
#ifndef PT_LMDB_CHECK_H
#define PT_LMDB_CHECK_H

#include "store/engine.h"

int pt_lmdb_check(const char *path, pt_store *store, const pt_watch *watch,
                  const pt_check_visitor *visitor, pt_check_report *report, bool *complete,
                  pt_error *error);

#endif
