/*
 * For programs that link ptable into themselves (libptable.a, liblmdb, libuuid). Without this the
 * extension is loaded at run time instead, by `.load ./ptable` or sqlite3_load_extension().
 *
 *     #include <ptable.h>
 *
 *     sqlite3_auto_extension((void (*)(void))sqlite3_ptable_init);
 *     sqlite3 *db;
 *     int rc = sqlite3_open("contoso.db", &db);    db and all later connections know ptable
 */
#ifndef PTABLE_H
#define PTABLE_H

#include <sqlite3.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Registers the modules and functions of ptable with one connection. Returns SQLITE_OK, or an error
 * code with a text in *pzErrMsg, which the caller frees with sqlite3_free(). In a statically linked
 * program pApi is not used and may be NULL.
 */
__attribute__((visibility("default"))) int sqlite3_ptable_init(sqlite3 *db, char **pzErrMsg,
                                                               const sqlite3_api_routines *pApi);

#ifdef __cplusplus
}
#endif

#endif
