/*
 * CSV of an entity: what pt_csv_line writes is one record with as many fields as the header, whose
 * fields a reader of CSV takes apart and pt_csv_member makes the same properties of. The input is
 * the JSON of the properties, a NUL and the keys.
 */
#include <sqlite3.h>

#include "fuzz/fuzz.h"
#include "ptable.h"

enum { FIELDS_MAX = 512, KEY_FIELDS = 3 };

static sqlite3 *db;
static sqlite3_stmt *normal;
static sqlite3_stmt *columns;
static sqlite3_stmt *header;
static sqlite3_stmt *line;
static sqlite3_stmt *member;

typedef struct csv_record {
    char *fields[FIELDS_MAX]; /* from sqlite3_malloc */
    int count;
} csv_record;

static void prepare(const char *sql, sqlite3_stmt **statement)
{
    must_hold(sqlite3_prepare_v2(db, sql, -1, statement, NULL) == SQLITE_OK, sql);
}

static void open_once(void)
{
    if (db == NULL) {
        must_hold(sqlite3_open(":memory:", &db) == SQLITE_OK, "a database opens");
        must_hold(sqlite3_ptable_init(db, NULL, NULL) == SQLITE_OK, "the extension is there");
        prepare("SELECT pt_entity_properties(?1, 'input')", &normal);
        prepare("SELECT json_group_object(key, NULL) FROM (SELECT key FROM json_each(?1) "
                "WHERE key NOT LIKE '%@odata.type' ORDER BY key)",
                &columns);
        prepare("SELECT pt_csv_header(?1)", &header);
        prepare("SELECT pt_csv_line(?1, ?2, ?3, ?4, ?5)", &line);
        prepare("SELECT pt_csv_member('input', ?1, ?2, ?3)", &member);
    }
}

/* The text that a statement gives for texts; NULL if it fails. */
static char *ask(sqlite3_stmt *statement, int count, const char *const *texts)
{
    char *answer = NULL;
    for (int i = 0; i < count; i++) {
        sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_TRANSIENT);
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        answer = sqlite3_mprintf("%s", sqlite3_column_text(statement, 0));
        must_hold(strlen(answer) == (size_t)sqlite3_column_bytes(statement, 0),
                  "no NUL is written");
    } else {
        must_hold(sqlite3_errcode(db) == SQLITE_ERROR || sqlite3_errcode(db) == SQLITE_MISMATCH,
                  "what is wrong is an error");
    }
    sqlite3_reset(statement);
    return answer;
}

/* --- A reader of CSV (RFC 4180) --- */

static const char *read_quoted(const char *at, sqlite3_str *field)
{
    for (at++; *at != 0; at++) {
        if (*at == '"' && *++at != '"') {
            return at;
        }
        sqlite3_str_appendchar(field, 1, *at);
    }
    must_hold(false, "a quoted field ends");
    return at;
}

static void read_record(const char *text, csv_record *record)
{
    record->count = 0;
    for (const char *at = text;; at++) {
        sqlite3_str *field = sqlite3_str_new(NULL);
        if (*at == '"') {
            at = read_quoted(at, field);
        } else {
            size_t size = strcspn(at, ",\"\r\n");
            sqlite3_str_append(field, at, (int)size);
            at += size;
        }
        must_hold(record->count < FIELDS_MAX, "there are not so many fields");
        char *made = sqlite3_str_finish(field);
        record->fields[record->count++] = made != NULL ? made : sqlite3_mprintf("");
        if (*at == 0) {
            return;
        }
        must_hold(*at == ',', "fields have commas between");
    }
}

static void free_record(csv_record *record)
{
    for (int i = 0; i < record->count; i++) {
        sqlite3_free(record->fields[i]);
    }
}

/* --- There and back --- */

static char *properties_of(const csv_record *names, const csv_record *values)
{
    sqlite3_str *json = sqlite3_str_new(db);
    sqlite3_str_appendall(json, "{\"PartitionKey\":\"\",\"RowKey\":\"\"");
    for (int i = KEY_FIELDS; i + 1 < names->count; i += 2) {
        const char *const texts[] = {names->fields[i], values->fields[i], values->fields[i + 1]};
        char *made = ask(member, 3, texts);
        must_hold(made != NULL, "a value with its type is a property");
        sqlite3_str_appendall(json, made);
        sqlite3_free(made);
    }
    sqlite3_str_appendall(json, "}");
    char *entity = sqlite3_str_finish(json);
    char *properties = ask(normal, 1, (const char *const[]){entity});
    sqlite3_free(entity);
    return properties;
}

static void check_line(const char *head, const char *written, const char *properties,
                       const char *const keys[KEY_FIELDS])
{
    static csv_record names;
    static csv_record values;
    read_record(head, &names);
    read_record(written, &values);
    must_hold(names.count == values.count, "a line has the fields of the header");
    for (int i = 0; i < KEY_FIELDS; i++) {
        must_hold(strcmp(values.fields[i], keys[i]) == 0, "keys come back");
    }
    char *again = properties_of(&names, &values);
    must_hold(again != NULL && strcmp(again, properties) == 0, "properties come back");
    sqlite3_free(again);
    free_record(&names);
    free_record(&values);
}

/* `text` is as the product writes it. */
static void check_properties(const char *text, const char *const keys[KEY_FIELDS])
{
    char *names = ask(columns, 1, (const char *const[]){text});
    char *head = names != NULL ? ask(header, 1, (const char *const[]){names}) : NULL;
    const char *const arguments[] = {names, keys[0], keys[1], keys[2], text};
    char *written = head != NULL ? ask(line, 5, arguments) : NULL;
    if (written != NULL) {
        check_line(head, written, text, keys);
    }
    sqlite3_free(written);
    sqlite3_free(head);
    sqlite3_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_once();
    const uint8_t *end = size != 0 ? memchr(data, 0, size) : NULL;
    size_t json_size = end != NULL ? (size_t)(end - data) : size;
    char *json = sqlite3_mprintf("%.*s", (int)json_size, (const char *)data);
    const char *rest = end != NULL ? (const char *)end + 1 : "";
    char *key = sqlite3_mprintf("%.*s", end != NULL ? (int)(size - json_size - 1) : 0, rest);
    char *entity = sqlite3_mprintf("{\"PartitionKey\":\"\",\"RowKey\":\"\",%s", json);
    char *properties = ask(normal, 1, (const char *const[]){entity});
    const char *const keys[KEY_FIELDS] = {key, "row", ""};
    if (properties != NULL) {
        check_properties(properties, keys);
    }
    sqlite3_free(ask(header, 1, (const char *const[]){json}));
    sqlite3_free(ask(line, 5, (const char *const[]){json, key, key, NULL, json}));
    sqlite3_free(properties);
    sqlite3_free(entity);
    sqlite3_free(key);
    sqlite3_free(json);
    return 0;
}
