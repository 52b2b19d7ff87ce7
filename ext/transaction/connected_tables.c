#include "transaction/connected_tables.h"

#include "base/sqlite.h"

void pt_connected_tables_add(pt_connection *connection, pt_connected *table)
{
    table->next = connection->tables;
    connection->tables = table;
}

void pt_connected_tables_remove(pt_connection *connection, pt_connected *table)
{
    pt_connected **link = &connection->tables;
    while (*link != NULL && *link != table) {
        link = &(*link)->next;
    }
    if (*link != NULL) {
        *link = table->next;
    }
}

/* After a schema reset SQLite connects a table again before it disconnects the old object. The
 * newest object comes first in the list. */
pt_connected *pt_connected_tables_find(const pt_connection *connection, const char *schema,
                                       const char *name)
{
    const char *lasting = pt_connection_schema(connection, schema);
    pt_connected *table = connection->tables;
    while (table != NULL && (sqlite3_stricmp(table->schema, lasting) != 0 ||
                             sqlite3_stricmp(table->name, name) != 0)) {
        table = table->next;
    }
    return table;
}
