#include "module/loading.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef SQLITE_CORE

static _Atomic(const sqlite3_api_routines *) first_api;
static pthread_once_t api_once = PTHREAD_ONCE_INIT;

static void use_first_api(void)
{
    SQLITE_EXTENSION_INIT2(atomic_load(&first_api));
}

bool pt_loading_uses(const sqlite3_api_routines *api)
{
    const sqlite3_api_routines *none = NULL;
    atomic_compare_exchange_strong(&first_api, &none, api);
    pthread_once(&api_once, use_first_api);
    return sqlite3_api == api;
}

/* The other SQLite library frees the text, so it must allocate it too. */
int pt_loading_refuse(const char *library, const sqlite3_api_routines *api, char **message)
{
    Dl_info first = {0};
    if (message == NULL) {
        return SQLITE_ERROR;
    }
    dladdr(sqlite3_api, &first);
    *message = api->mprintf("%s: this process has already loaded the extension into another "
                            "SQLite library, %Q; load it only into connections of that library",
                            library, first.dli_fname);
    return *message != NULL ? SQLITE_ERROR : SQLITE_NOMEM;
}

#endif

int pt_loading_fail(const char *library, int rc, pt_error *error, char **message)
{
    if (message != NULL) {
        *message = sqlite3_mprintf("%s: %s", library,
                                   error->message != NULL ? error->message : sqlite3_errstr(rc));
    }
    pt_error_clear(error);
    return rc;
}
