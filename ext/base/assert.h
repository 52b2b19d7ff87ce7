/*
 * Assertions about the order of calls and the state of objects. They are compiled into the library
 * that the tests link and into sanitizer builds (-DPT_DEBUG), but not into the released libraries.
 */
#ifndef PT_BASE_ASSERT_H
#define PT_BASE_ASSERT_H

#ifdef PT_DEBUG
#define PT_ASSERTIONS "on"
#else
#define PT_ASSERTIONS "off"
#endif

/* clang's analyzer always sees the conditions: they tell it what cannot happen. */
#if defined(PT_DEBUG) || defined(__clang_analyzer__)
#undef NDEBUG
#include <assert.h>
#define PT_ASSERT(condition) assert(condition)
#else
#define PT_ASSERT(condition) ((void)(0 && (condition)))
#endif

#endif
