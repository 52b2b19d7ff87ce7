/*
 * For programs that link the library for the Table service into themselves (libptable_service.a,
 * libptable.a, libcurl, libnettle). Without this it is loaded at run time instead, by
 * `.load ./ptable_service` or sqlite3_load_extension(). It needs no ptable.so, and both may be
 * loaded, in either order.
 */
#ifndef PTABLE_SERVICE_H
#define PTABLE_SERVICE_H

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Registers the modules and functions for the Table service with one connection. Sends nothing.
 * Returns SQLITE_OK, or an error code with a text in *pzErrMsg, which the caller frees with
 * sqlite3_free(). In a statically linked program pApi is not used and may be NULL.
 */
__attribute__((visibility("default"))) int
sqlite3_ptableservice_init(sqlite3 *db, char **pzErrMsg, const sqlite3_api_routines *pApi);

#ifdef __cplusplus
}
#endif

#endif
