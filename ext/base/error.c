#include "base/error.h"

#include <stdarg.h>
#include <stddef.h>

#include "base/sqlite.h"

int pt_error_set(pt_error *error, int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *message = sqlite3_vmprintf(format, args);
    va_end(args);
    pt_error_clear(error);
    error->rc = message != NULL ? rc : SQLITE_NOMEM;
    error->message = message;
    return error->rc;
}

int pt_error_naming(pt_error *error, unsigned names)
{
    error->names = names;
    return error->rc;
}

int pt_error_nomem(pt_error *error)
{
    pt_error_clear(error);
    error->rc = SQLITE_NOMEM;
    return SQLITE_NOMEM;
}

void pt_error_clear(pt_error *error)
{
    sqlite3_free(error->message);
    *error = PT_ERROR_NONE;
}
