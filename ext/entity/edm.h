/*
 * The property types of the Table service (Edm types), and a value of such a type.
 */
#ifndef PT_ENTITY_EDM_H
#define PT_ENTITY_EDM_H

#include "base/bytes.h"

/* The codes are stored in records: never renumber them. */
typedef enum pt_type {
    PT_NONE = 0, /* absent property; also: a declared column without a type */
    PT_STRING = 1,
    PT_INT32 = 2,
    PT_INT64 = 3,
    PT_DOUBLE = 4,
    PT_BOOLEAN = 5,
    PT_DATETIME = 6,
    PT_GUID = 7,
    PT_BINARY = 8,
    /* A STRING or BINARY whose bytes are outside the record, in chunks: transaction/large_value.h.
     * These types occur only in records and shapes. */
    PT_LARGE_STRING = 9,
    PT_LARGE_BINARY = 10,
} pt_type;

enum {
    PT_TYPE_LAST = PT_BINARY,
    PT_STORED_TYPE_LAST = PT_LARGE_BINARY,
    PT_GUID_SIZE = 16,
    PT_GUID_TEXT_SIZE = 36,
    PT_LARGE_SIZE_MAX = INT32_MAX, /* bytes of a large value: SQLite holds no more */
};

/* The place of a large value. `ticks` and `ordinal` together are unique in a table. */
typedef struct pt_large {
    uint64_t size;    /* bytes: 1 to PT_LARGE_SIZE_MAX */
    int64_t ticks;    /* timestamp of the write that stored the value */
    uint16_t ordinal; /* among the large values of that write */
} pt_large;

typedef struct pt_value {
    pt_type type;
    union {
        int64_t integer;            /* INT32, INT64; BOOLEAN 0 or 1; DATETIME in ticks */
        double real;                /* DOUBLE */
        pt_slice bytes;             /* STRING in UTF-8, BINARY */
        uint8_t guid[PT_GUID_SIZE]; /* GUID, in the order of its text form */
        pt_large large;             /* LARGE_STRING, LARGE_BINARY */
    };
} pt_value;

static inline bool pt_type_is_large(pt_type type)
{
    return type == PT_LARGE_STRING || type == PT_LARGE_BINARY;
}

/* Bytes that the value takes in the data of a record, where a NUL follows a STRING. */
static inline uint64_t pt_value_data_size(const pt_value *value)
{
    bool varies = value->type == PT_STRING || value->type == PT_BINARY;
    return varies ? value->bytes.size + (value->type == PT_STRING) : 0;
}

/* "String", "Int32" and so on; "" for PT_NONE. */
const char *pt_type_name(pt_type type);

/* The article before that name: "an" Int32. */
const char *pt_type_article(pt_type type);

/*
 * Finds a type by the name that the service gives it, with or without "Edm.", or by a usual name in
 * SQL (TEXT, VARCHAR(20), INTEGER, BIGINT, REAL, BLOB, BOOL, DATETIME, UUID, ...), in any case.
 * Ignores a length in parentheses. Returns PT_NONE for other names.
 */
pt_type pt_type_from_name(pt_slice name);

/* Bytes of a value in the fixed area of a record; 0 for STRING and BINARY, whose size varies. */
unsigned pt_type_fixed_size(pt_type type);

/*
 * Reads 32 hexadecimal digits of any case in the form 8-4-4-4-12, with or without braces around
 * them. Returns false for other texts.
 */
bool pt_guid_parse(pt_slice text, uint8_t guid[PT_GUID_SIZE]);

/* The rule that the text of a DateTime or Guid breaks, for a message: "its month has no such day".
 * NULL if it breaks none, or if the type is another one. */
const char *pt_type_broken_rule(pt_type type, pt_slice text);

/* Writes the canonical lower-case form, 36 characters and a NUL. */
void pt_guid_format(const uint8_t guid[PT_GUID_SIZE], char text[PT_GUID_TEXT_SIZE + 1]);

/* The names of OData's annotations in JSON, such as "Age@odata.type":"Edm.Int32". */
#define PT_ODATA_TYPE_SUFFIX "@odata.type" /* after the name of the annotated property */
#define PT_ODATA_TYPE_PREFIX "Edm."        /* before the name of a type */
#define PT_ODATA_CONTROL_PREFIX                                                                    \
    "odata." /* before names that describe the entity and are not properties of it */

/* True for the name of an annotation: it has that suffix or that prefix. */
bool pt_is_annotation_name(pt_slice name);

/* What every entity has beside its properties. */
typedef enum pt_system_property {
    PT_SYSTEM_PARTITION_KEY,
    PT_SYSTEM_ROW_KEY,
    PT_SYSTEM_TIMESTAMP,
    PT_SYSTEM_PROPERTIES,
} pt_system_property;

const char *pt_system_property_name(pt_system_property property);

/* PT_SYSTEM_PROPERTIES for other names. */
pt_system_property pt_find_system_property(pt_slice name);

/* False for the names that no property can have: the empty one, those of annotations, and those of
 * the system properties. */
bool pt_is_property_name(pt_slice name);

#endif
