#include "functions/debug.h"

#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/version.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

#ifdef SQLITE_CORE
#define LINKAGE "static (SQLITE_CORE)"
#else
#define LINKAGE "loadable"
#endif

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZER "address"
#elif defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define SANITIZER "thread"
#else
#define SANITIZER "none"
#endif

/* libuuid has no version in its header, and no function that returns it. */
static void function_debug(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    const char *engine = sqlite3_user_data(context);
    char *lines = sqlite3_mprintf("ptable: %s\n"
                                  "SQLite: %s (compiled against %s)\n"
                                  "engine: %s\n"
                                  "libuuid: present\n"
                                  "compiler: %s\n"
                                  "linkage: %s\n"
                                  "assertions: %s\n"
                                  "sanitizer: %s",
                                  PT_VERSION, sqlite3_libversion(), SQLITE_VERSION, engine,
                                  COMPILER, LINKAGE, PT_ASSERTIONS, SANITIZER);
    if (lines == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_text(context, lines, -1, sqlite3_free);
    }
}

int pt_debug_register(sqlite3 *db, const char *engine, pt_error *error)
{
    int flags = SQLITE_UTF8 | SQLITE_INNOCUOUS | SQLITE_DETERMINISTIC;
    int rc = sqlite3_create_function_v2(db, "pt_debug", 0, flags, (void *)(uintptr_t)engine,
                                        function_debug, NULL, NULL, NULL);
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK
               ? rc
               : pt_error_set(error, rc, "the function pt_debug cannot be registered: %s",
                              sqlite3_errmsg(db));
}
