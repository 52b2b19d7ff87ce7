#include "entity/column.h"

#include "base/ticks.h"

const char *pt_column_declared_type(pt_type type)
{
    switch (type) {
    case PT_STRING:
        return " TEXT";
    case PT_DATETIME:
        return " TEXT COLLATE " PT_TICKS_COLLATION;
    case PT_GUID:
        return " TEXT COLLATE NOCASE";
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
