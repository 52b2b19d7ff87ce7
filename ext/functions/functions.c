#include "functions/functions.h"

#include "base/ticks.h"
#include "base/version.h"
#include "functions/csv_functions.h"
#include "functions/id_functions.h"
#include "functions/json_functions.h"
#include "functions/key_functions.h"
#include "functions/time_functions.h"

static void function_version(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    (void)argv;
    sqlite3_result_text(context, PT_VERSION, -1, SQLITE_STATIC);
}

enum {
    ANY_NUMBER = -1,
    IMPURE = SQLITE_UTF8 | SQLITE_INNOCUOUS, /* reads the clock or a random source */
    PURE = IMPURE | SQLITE_DETERMINISTIC,
};

static const struct {
    const char *name;
    int arguments;
    int flags;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
} sql_functions[] = {
    {"pt_ticks", 0, IMPURE, pt_function_ticks},
    {"pt_ticks", 1, PURE, pt_function_ticks},
    {"pt_datetime", 0, IMPURE, pt_function_datetime},
    {"pt_datetime", 1, PURE, pt_function_datetime},
    {"pt_inverted_ticks", 0, IMPURE, pt_function_inverted_ticks},
    {"pt_inverted_ticks", 1, PURE, pt_function_inverted_ticks},
    {"pt_inverted_datetime", 1, PURE, pt_function_inverted_datetime},
    {"pt_starts_with", 2, PURE, pt_function_starts_with},
    {"pt_prefix_end", 1, PURE, pt_function_prefix_end},
    {"pt_compound_key", ANY_NUMBER, PURE, pt_function_compound_key},
    {"pt_compound_key_sep", ANY_NUMBER, PURE, pt_function_compound_key_sep},
    {"pt_key_part", 2, PURE, pt_function_key_part},
    {"pt_key_part", 3, PURE, pt_function_key_part},
    {"pt_pad", 2, PURE, pt_function_pad},
    {"pt_hash_bucket", 2, PURE, pt_function_hash_bucket},
    {"pt_guid", 0, IMPURE, pt_function_guid},
    {"pt_uuid7", 0, IMPURE, pt_function_uuid7},
    {"pt_entity_key", 2, PURE, pt_function_entity_key},
    {"pt_entity_json", 4, PURE, pt_function_entity_json},
    {"pt_entity_properties", 2, PURE, pt_function_entity_properties},
    {"pt_csv_header", 1, PURE, pt_function_csv_header},
    {"pt_csv_line", 5, PURE, pt_function_csv_line},
    {"pt_csv_member", 4, PURE, pt_function_csv_member},
    {"pt_version", 0, PURE, function_version},
};

/* Turns SQLite's answer to a registration into an error with a text. */
static int check_registration(sqlite3 *db, int rc, const char *kind, const char *name,
                              pt_error *error)
{
    if (rc == SQLITE_NOMEM) {
        return pt_error_nomem(error);
    }
    return rc == SQLITE_OK ? rc
                           : pt_error_set(error, rc, "the %s %s cannot be registered: %s", kind,
                                          name, sqlite3_errmsg(db));
}

static int register_collation(sqlite3 *db, const char *name, pt_error *error)
{
    int rc = sqlite3_create_collation_v2(db, name, SQLITE_UTF8, NULL, pt_collation_datetime, NULL);
    return check_registration(db, rc, "collation", name, error);
}

/* An authorizer may forbid to ask. */
int pt_functions_check_version(sqlite3 *db, pt_error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT pt_version()", -1, &statement, NULL);
    if (rc == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        const char *version = (const char *)sqlite3_column_text(statement, 0);
        if (version != NULL && strcmp(version, PT_VERSION) != 0) {
            pt_error_set(error, SQLITE_ERROR,
                         "this connection has the functions of version %s, and this library is "
                         "version " PT_VERSION "; load ptable and ptable_service of one version",
                         version);
        }
    }
    int end = sqlite3_finalize(statement);
    return rc == SQLITE_NOMEM || end == SQLITE_NOMEM ? pt_error_nomem(error) : error->rc;
}

int pt_functions_register(sqlite3 *db, pt_error *error)
{
    for (size_t i = 0; i < sizeof sql_functions / sizeof sql_functions[0]; i++) {
        const char *name = sql_functions[i].name;
        int rc =
            sqlite3_create_function_v2(db, name, sql_functions[i].arguments, sql_functions[i].flags,
                                       (void *)name, sql_functions[i].call, NULL, NULL, NULL);
        rc = check_registration(db, rc, "function", name, error);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
    int rc = register_collation(db, PT_TICKS_COLLATION, error);
    return rc == SQLITE_OK ? register_collation(db, PT_TICKS_SHORT_COLLATION, error) : rc;
}
