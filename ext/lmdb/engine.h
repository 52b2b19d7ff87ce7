/*
 * The engine that keeps stores in LMDB. The entry point hands it to the layers above, which know
 * store/engine.h only.
 */
#ifndef PT_LMDB_ENGINE_H
#define PT_LMDB_ENGINE_H

#include "store/engine.h"

extern const pt_engine pt_lmdb_engine;

#endif
