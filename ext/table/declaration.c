#include "table/declaration.h"

#include "base/sqlite.h"

static const struct {
    const char *name;
    const char *declared; /* as, with the blank before it */
} tail[PT_TAIL_COUNT] = {
    [PT_TAIL_FILTER] = {"Filter", " TEXT HIDDEN"},
    [PT_TAIL_PROPERTIES] = {"Properties", " TEXT"},
    [PT_TAIL_TIMESTAMP] = {"Timestamp", " TEXT HIDDEN"},
    [PT_TAIL_ETAG] = {"ETag", " TEXT HIDDEN"},
    [PT_TAIL_WRITE_MODE] = {"WriteMode", " TEXT HIDDEN"},
    [PT_TAIL_IF_MATCH] = {"IfMatch", " TEXT HIDDEN"},
    [PT_TAIL_ENTITY_KEY] = {"EntityKey", " BLOB HIDDEN PRIMARY KEY"},
};

bool pt_declaration_reserves(const char *name)
{
    for (int i = 0; i < PT_TAIL_COUNT; i++) {
        if (sqlite3_stricmp(name, tail[i].name) == 0) {
            return true;
        }
    }
    return false;
}

/* The SQL type of a column, with the blank before it. */
static const char *declared_type(pt_type type)
{
    switch (type) {
    case PT_STRING:
    case PT_DATETIME:
    case PT_GUID:
        return " TEXT";
    case PT_INT32:
    case PT_INT64:
    case PT_BOOLEAN:
        return " INTEGER";
    case PT_DOUBLE:
        return " REAL";
    case PT_BINARY:
        return " BLOB";
    case PT_LARGE_STRING:
    case PT_LARGE_BINARY:
    case PT_NONE:
        break;
    }
    return "";
}

char *pt_declaration_text(const pt_config *config)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "CREATE TABLE x(PartitionKey TEXT NOT NULL, RowKey TEXT NOT NULL");
    for (int i = 0; i < config->column_count; i++) {
        const pt_column *column = &config->columns[i];
        sqlite3_str_appendf(text, ", \"%w\"%s", column->name, declared_type(column->type));
    }
    for (int i = 0; i < PT_TAIL_COUNT; i++) {
        bool hidden = i == PT_TAIL_PROPERTIES && config->column_count > 0;
        sqlite3_str_appendf(text, ", %s%s%s", tail[i].name, tail[i].declared,
                            hidden ? " HIDDEN" : "");
    }
    sqlite3_str_appendall(text, ") WITHOUT ROWID");
    return sqlite3_str_finish(text);
}
