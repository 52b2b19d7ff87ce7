#include "service/dialect.h"

#include <string.h>
#include <strings.h>

#include "base/text.h"

typedef struct dialect_mark {
    const char *text;
    pt_dialect dialect;
} dialect_mark;

static bool ends_with(pt_slice host, const char *end)
{
    size_t size = strlen(end);
    return host.size > size &&
           strncasecmp((const char *)host.data + host.size - size, end, size) == 0;
}

static pt_slice host_of(const char *endpoint)
{
    const char *begin = strstr(endpoint, "://");
    begin = begin != NULL ? begin + 3 : endpoint;
    return pt_slice_of(begin, strcspn(begin, ":/"));
}

pt_dialect pt_dialect_of_endpoint(const char *endpoint)
{
    static const dialect_mark ends[] = {
        {".table.core.windows.net", PT_DIALECT_AZURE},
        {".table.core.chinacloudapi.cn", PT_DIALECT_AZURE},
        {".table.core.usgovcloudapi.net", PT_DIALECT_AZURE},
        {".table.storage.azure.net", PT_DIALECT_AZURE},
        {".table.cosmos.azure.com", PT_DIALECT_COSMOS},
        {".table.cosmos.azure.cn", PT_DIALECT_COSMOS},
        {".table.cosmos.azure.us", PT_DIALECT_COSMOS},
    };
    pt_slice host = host_of(endpoint);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (ends_with(host, ends[i].text)) {
            return ends[i].dialect;
        }
    }
    return PT_DIALECT_UNKNOWN;
}

/* Cosmos tells only the name of the server software, which is also the end of Azure's header. */
pt_dialect pt_dialect_of_server(pt_slice header)
{
    static const dialect_mark starts[] = {
        {"Windows-Azure-Table/", PT_DIALECT_AZURE},
        {"Azurite-Table/", PT_DIALECT_AZURITE},
        {"Microsoft-HTTPAPI/", PT_DIALECT_COSMOS},
    };
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        if (pt_slice_has_prefix(header, pt_slice_text(starts[i].text))) {
            return starts[i].dialect;
        }
    }
    return PT_DIALECT_UNKNOWN;
}
