#include "service/config.h"

#include "base/sqlite.h"
#include "base/ticks.h"
#include "entity/azure_limits.h"
#include "service/budget.h"

static const pt_config_option service_options[] = {
    {.name = "account", .kind = PT_OPTION_TEXT, .field = offsetof(pt_service_config, account)},
    {.name = "table", .kind = PT_OPTION_TEXT, .field = offsetof(pt_service_config, base.table)},
    {.name = "batch",
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_service_config, split),
     .choices = {"azure", "split"},
     .advice = "batch is azure or split"},
    {.name = "readonly",
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_service_config, base.read_only),
     .choices = {"0", "1"},
     .advice = "readonly is 0 or 1"},
    {.name = "scan",
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_service_config, base.deny_scan),
     .choices = {"allow", "deny"},
     .advice = "scan is allow or deny"},
    {.name = "push",
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_service_config, push_keys),
     .choices = {"all", "keys"},
     .advice = "push is all or keys"},
    {.name = "types",
     .kind = PT_OPTION_FLAG,
     .field = offsetof(pt_service_config, declared_types),
     .choices = {"any", "declared"},
     .advice = "types is any or declared"},
    {.name = "dialect",
     .kind = PT_OPTION_CHOICE,
     .field = offsetof(pt_service_config, dialect),
     .choices = {[PT_DIALECT_AZURE] = "azure",
                 [PT_DIALECT_AZURITE] = "azurite",
                 [PT_DIALECT_COSMOS] = "cosmos"},
     .advice = "dialect is azure, azurite or cosmos"},
    {.name = "parallel",
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_service_config, parallel),
     .least = 1,
     .most = 64,
     .advice = "parallel is an integer from 1 to 64"},
    {.name = "streams",
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_service_config, streams),
     .least = 1,
     .most = 64,
     .advice = "streams is an integer from 1 to 64"},
    {.name = "timeout",
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_service_config, timeout),
     .least = 1,
     .most = 3600,
     .advice = "timeout is an integer from 1 to 3600 (seconds)"},
    {.name = "retries",
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_service_config, retries),
     .most = 20,
     .advice = "retries is an integer from 0 to 20"},
    {.name = "max_requests",
     .kind = PT_OPTION_COUNT,
     .field = offsetof(pt_service_config, max_requests),
     .most = INT64_MAX,
     .advice = "max_requests is an integer from 0 on (0: any number)"},
};

static const pt_tail_column service_tail[] = {
    [PT_REMOTE_FILTER] = {.name = "Filter", .declared = " TEXT HIDDEN"},
    [PT_REMOTE_PROPERTIES] = {.name = "Properties",
                              .declared = " TEXT",
                              .hidden_beside_columns = true},
    [PT_REMOTE_TIMESTAMP] = {.name = "Timestamp", .declared = " TEXT" PT_TICKS_HIDDEN},
    [PT_REMOTE_ETAG] = {.name = "ETag", .declared = " TEXT HIDDEN"},
    [PT_REMOTE_WRITE_MODE] = {.name = "WriteMode", .declared = " TEXT HIDDEN"},
    [PT_REMOTE_IF_MATCH] = {.name = "IfMatch", .declared = " TEXT HIDDEN"},
    [PT_REMOTE_ENTITY_KEY] = {.name = "EntityKey", .declared = " BLOB HIDDEN"},
    [PT_REMOTE_ENTITY_VERSION] = {.name = "EntityVersion", .declared = " BLOB HIDDEN PRIMARY KEY"},
};

static const pt_config_form service_form = {
    .options = service_options,
    .option_count = sizeof service_options / sizeof service_options[0],
    .tail = service_tail,
    .tail_count = sizeof service_tail / sizeof service_tail[0],
};

int pt_service_check_table_name(const char *name, pt_error *error)
{
    enum { SHORTEST = 3, LONGEST = 63 };
    int rc = pt_limits_check_table_name(name, error);
    if (rc == SQLITE_OK || rc == SQLITE_NOMEM) {
        return rc;
    }
    bool fits = strlen(name) >= SHORTEST && strlen(name) <= LONGEST;
    return pt_error_set(error, SQLITE_ERROR,
                        "the service has no table %Q: a name has 3 to 63 letters and digits "
                        "(A-Z, a-z, 0-9), begins with a letter, and is not \"tables\"; give "
                        "another one (%s)",
                        name, fits ? "InvalidResourceName" : "OutOfRangeInput");
}

static int check_service_config(const pt_service_config *config, pt_error *error)
{
    if (config->account == NULL) {
        return pt_error_set(error, SQLITE_ERROR,
                            "no account; give account=name, a name given to pt_service_account");
    }
    /* The service's own tables are such as $MetricsCapacityBlob. */
    return config->base.table[0] == '$' ? SQLITE_OK
                                        : pt_service_check_table_name(config->base.table, error);
}

int pt_service_config_parse(int argc, const char *const *argv, pt_service_config *config,
                            pt_error *error)
{
    *config = (pt_service_config){.parallel = 8,
                                  .timeout = 30,
                                  .retries = 3,
                                  .max_requests = PT_BUDGET_DEFAULT,
                                  .dialect = PT_DIALECT_UNKNOWN};
    int rc = pt_config_parse_form(&service_form, argc, argv, &config->base, error);
    if (rc == SQLITE_OK) {
        rc = check_service_config(config, error);
    }
    if (rc != SQLITE_OK) {
        pt_service_config_free(config);
    }
    return rc;
}

void pt_service_config_free(pt_service_config *config)
{
    pt_config_free(&config->base);
    sqlite3_free(config->account);
    config->account = NULL;
}

char *pt_service_declaration(const pt_service_config *config)
{
    return pt_declaration_text(&service_form, &config->base);
}
