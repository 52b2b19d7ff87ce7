/*
 * The hash functions of xxHash, compiled into each file that uses them: no library is linked, and
 * calls with short keys are inlined.
 */
#ifndef PT_BASE_XXHASH_H
#define PT_BASE_XXHASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#endif
