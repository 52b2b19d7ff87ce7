/*
 * What there is to know about an open store. The function is pt_engine's method.
 */
#ifndef PT_LMDB_INFO_H
#define PT_LMDB_INFO_H

#include "engine.h"

int pt_lmdb_info(pt_store *store, pt_store_info *info, pt_error *error);

#endif
