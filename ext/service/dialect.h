/*
 * In which of their ways a service answers: Azure Storage, its emulator Azurite, or Cosmos DB with
 * its Table API. They compare properties differently.
 */
#ifndef PT_SERVICE_DIALECT_H
#define PT_SERVICE_DIALECT_H

#include "base/bytes.h"

typedef enum pt_dialect {
    PT_DIALECT_AZURE,
    PT_DIALECT_AZURITE,
    PT_DIALECT_COSMOS,
    PT_DIALECT_UNKNOWN,
} pt_dialect;

/* What the host of an endpoint such as https://name.table.core.windows.net tells. */
pt_dialect pt_dialect_of_endpoint(const char *endpoint);

/* What the header "Server" of a reply tells. */
pt_dialect pt_dialect_of_server(pt_slice header);

#endif
