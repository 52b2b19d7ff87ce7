#include "service/pages.h"

#include "service/entity.h"
#include "service/operations.h"
#include "service/refusal.h"
#include "service/sas.h"
#include "service/tables.h"

enum { COMPARISONS_MAX = 15 }; /* of a filter */

/* --- The order --- */

/* The character at the start of a text; malformed bytes count as themselves. */
static uint32_t character(pt_slice *text)
{
    size_t size = pt_utf8_size(*text);
    uint32_t found = size != 0 ? pt_utf8_decode(text->data, size) : text->data[0];
    size_t step = size != 0 ? size : 1;
    *text = pt_slice_of(text->data + step, text->size - step);
    return found;
}

/* Characters beyond U+FFFF begin with a unit from U+D800 to U+DBFF. */
static uint32_t rank(uint32_t code_point)
{
    return code_point > 0xffff ? code_point - 0x10000 + 0xd800 * 0x400 : code_point * 0x400;
}

static int compare_units(void *unused, int a_size, const void *a, int b_size, const void *b)
{
    (void)unused;
    pt_slice left = pt_slice_of(a, (size_t)a_size);
    pt_slice right = pt_slice_of(b, (size_t)b_size);
    while (left.size != 0 && right.size != 0) {
        uint32_t one = rank(character(&left));
        uint32_t other = rank(character(&right));
        if (one != other) {
            return one < other ? -1 : 1;
        }
    }
    return (left.size != 0) - (right.size != 0);
}

void pages_prepare(const service *served)
{
    if (sqlite3_create_collation(served->db, "UNITS", SQLITE_UTF8, NULL, compare_units) !=
        SQLITE_OK) {
        give_up("UNITS", sqlite3_errmsg(served->db));
    }
}

/* --- Tokens --- */

/* Where a page begins: texts of keys. NULL: at the start of the table or partition. */
typedef struct place {
    const char *partition_key;
    const char *row_key;
} place;

/* "1!8!cA--" on the service; base64 on the emulator. An empty key is an empty token. */
static const char *write_token(const service *served, request *asked, const char *key)
{
    pt_buffer token = {0};
    pt_base64_append(&token, pt_slice_text(key));
    check_buffer(&token);
    char *text = request_copy(asked, pt_buffer_slice(&token));
    pt_buffer_free(&token);
    if (served->dialect == AZURITE || *text == 0) {
        return text;
    }
    for (char *at = text; *at != 0; at++) {
        *at = *at == '=' ? '-' : *at;
    }
    return request_text(asked, "1!%zu!%s", strlen(text), text);
}

static const char *read_token(const service *served, request *asked, const char *token)
{
    char *text = request_text(asked, "%s", token);
    if (served->dialect == AZURE && *text != 0) {
        char *mark = strrchr(text, '!');
        text = mark != NULL ? mark + 1 : text;
        for (char *at = text; *at != 0; at++) {
            *at = *at == '-' ? '=' : *at;
        }
    }
    uint8_t *key = request_alloc(asked, strlen(text) + 1);
    size_t size;
    if (!pt_base64_decode(pt_slice_text(text), key, &size)) {
        return "";
    }
    key[size] = 0;
    return (const char *)key;
}

static void bind_token(sqlite3_stmt *statement, const char *partition, const char *row)
{
    sqlite3_bind_text(statement, 1, partition, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, row, -1, SQLITE_STATIC);
}

/* Remembers tokens as sent, NULL where there was none. */
static void remember(const service *served, const char *partition, const char *row)
{
    sqlite3_stmt *insert = tables_prepare(served, "INSERT INTO temp.tokens VALUES(?1, ?2)", "");
    bind_token(insert, partition, row);
    if (sqlite3_step(insert) != SQLITE_DONE) {
        give_up("tokens", sqlite3_errmsg(served->db));
    }
    sqlite3_finalize(insert);
}

/* A client must send back each header that came, and no other. */
static bool was_sent(const service *served, const char *partition, const char *row)
{
    sqlite3_stmt *found = tables_prepare(
        served, "SELECT 1 FROM temp.tokens WHERE partition_key IS ?1 AND row_key IS ?2", "");
    bind_token(found, partition, row);
    bool is_there = sqlite3_step(found) == SQLITE_ROW;
    sqlite3_finalize(found);
    return is_there;
}

/* Reads where the page begins. False: the token is none of ours. */
static bool read_place(const service *served, request *asked, const address *named, place *from)
{
    const char *partition = address_parameter(asked, named, "NextPartitionKey");
    const char *row = address_parameter(asked, named, "NextRowKey");
    *from = (place){
        .partition_key = partition != NULL ? read_token(served, asked, partition) : NULL,
        .row_key = row != NULL ? read_token(served, asked, row) : NULL,
    };
    return (partition == NULL && row == NULL) || was_sent(served, partition, row);
}

static void write_place(const service *served, request *asked, reply *given, place next)
{
    const char *partition = write_token(served, asked, next.partition_key);
    const char *row = next.row_key != NULL ? write_token(served, asked, next.row_key) : NULL;
    reply_header(given, "x-ms-continuation-NextPartitionKey", partition);
    if (row != NULL) {
        reply_header(given, "x-ms-continuation-NextRowKey", row);
    }
    remember(served, partition, row);
}

/* --- Statements --- */

#define COLUMNS_SQL                                                                                \
    "SELECT PartitionKey, RowKey, ETag,"                                                           \
    " pt_entity_json(PartitionKey, RowKey, Timestamp, Properties) FROM \"%w\" WHERE "

#define BYTES_SQL "EntityKey >= pt_entity_key(?2, ?3)"
#define BYTES_ORDER " ORDER BY EntityKey"
#define UNITS_SQL                                                                                  \
    "(PartitionKey COLLATE UNITS > ?2 OR PartitionKey = ?2 AND RowKey COLLATE UNITS >= ?3)"
#define UNITS_ORDER " ORDER BY PartitionKey COLLATE UNITS, RowKey COLLATE UNITS"

static sqlite3_stmt *prepare_page(const service *served, const char *table, const char *filter,
                                  place from)
{
    bool is_filtered = filter != NULL && *filter != 0;
    bool in_units = tables_is_in_units(served, table);
    const char *sql = in_units      ? is_filtered ? COLUMNS_SQL UNITS_SQL
                                     " AND Filter MATCH ?1" UNITS_ORDER
                                                  : COLUMNS_SQL UNITS_SQL UNITS_ORDER
                      : is_filtered ? COLUMNS_SQL BYTES_SQL " AND Filter MATCH ?1" BYTES_ORDER
                                    : COLUMNS_SQL BYTES_SQL BYTES_ORDER;
    sqlite3_stmt *page = tables_prepare(served, sql, table);
    if (is_filtered) {
        sqlite3_bind_text(page, 1, filter, -1, SQLITE_STATIC);
    }
    sqlite3_bind_text(page, 2, from.partition_key != NULL ? from.partition_key : "", -1,
                      SQLITE_STATIC);
    sqlite3_bind_text(page, 3, from.row_key != NULL ? from.row_key : "", -1, SQLITE_STATIC);
    return page;
}

/* --- Pages --- */

typedef struct page {
    service *served;
    request *asked;
    reply *given;
    const selection *selected;
    int64_t rows;  /* at most so many */
    bool is_void;  /* there are none, and there is no token */
    int64_t count; /* so far */
    place last;    /* the entity that was written last; NULLs before the first */
} page;

static bool one_in(service *served, uint64_t chances)
{
    return served->seed != 0 && service_random(served) % chances == 0;
}

/* The entity does not belong to the page, which ends before it. */
static void end_before(page *made, sqlite3_stmt *row)
{
    place next = {
        .partition_key = request_text(made->asked, "%s", (const char *)sqlite3_column_text(row, 0)),
        .row_key = request_text(made->asked, "%s", (const char *)sqlite3_column_text(row, 1)),
    };
    bool begins_partition =
        made->count != 0 && strcmp(next.partition_key, made->last.partition_key) != 0;
    if (begins_partition && one_in(made->served, 2)) {
        next.row_key = NULL;
    }
    write_place(made->served, made->asked, made->given, next);
}

/* Where the ranges of partitions end, on the service. */
static bool cuts_between(page *made, sqlite3_stmt *row)
{
    return made->count != 0 &&
           strcmp((const char *)sqlite3_column_text(row, 0), made->last.partition_key) != 0 &&
           one_in(made->served, 3);
}

/* A page without a next entity may end with a token, too. Nothing is between a key and the same
 * key with U+0001 behind it: keys have no control characters. */
static void end_behind(page *made)
{
    if (made->count != 0 && one_in(made->served, 4)) {
        place next = {.partition_key = made->last.partition_key,
                      .row_key = request_text(made->asked, "%s\x01", made->last.row_key)};
        write_place(made->served, made->asked, made->given, next);
    }
}

static void write_row(page *made, sqlite3_stmt *row)
{
    reply *given = made->given;
    if (made->count != 0) {
        pt_buffer_append_byte(&given->body, ',');
    }
    const void *json = sqlite3_column_text(row, 3);
    pt_slice copy = pt_slice_of(json, (size_t)sqlite3_column_bytes(row, 3));
    char *memory = request_copy(made->asked, copy);
    copy.data = (const uint8_t *)memory;
    entity_write(made->served, made->asked, copy, (const char *)sqlite3_column_text(row, 2), NULL,
                 made->selected, &given->body);
    pt_arena_give_back(made->asked->memory, memory);
    made->last = (place){
        .partition_key = request_text(made->asked, "%s", (const char *)sqlite3_column_text(row, 0)),
        .row_key = request_text(made->asked, "%s", (const char *)sqlite3_column_text(row, 1)),
    };
    made->count++;
}

/* A shared access signature hides the entities that it does not give. */
static int next_row(const page *made, sqlite3_stmt *row)
{
    int rc;
    do {
        rc = sqlite3_step(row);
    } while (rc == SQLITE_ROW &&
             !sas_allows(made->served, "r", (const char *)sqlite3_column_text(row, 0),
                         (const char *)sqlite3_column_text(row, 1)));
    return rc;
}

/* False: SQL failed. */
static bool write_page(page *made, sqlite3_stmt *row)
{
    int rc = made->is_void ? SQLITE_DONE : next_row(made, row);
    bool is_empty = one_in(made->served, 6);
    while (rc == SQLITE_ROW && !is_empty && made->count < made->rows && !cuts_between(made, row)) {
        write_row(made, row);
        rc = next_row(made, row);
    }
    if (rc == SQLITE_ROW) {
        end_before(made, row);
    } else if (rc == SQLITE_DONE) {
        end_behind(made);
    }
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

static void begin_list(page *made, const char *table)
{
    pt_buffer *body = &made->given->body;
    pt_slice host = request_header(made->asked, "Host");
    bool is_azurite = made->served->dialect == AZURITE;
    const char *metadata = request_text(made->asked, "http://%.*s/%s/$metadata#%s", (int)host.size,
                                        (const char *)host.data, made->served->account,
                                        is_azurite ? "Tables/@Element" : table);
    pt_buffer_append_text(body, "{\"odata.metadata\":");
    json_append_string(body, pt_slice_text(metadata));
    pt_buffer_append_text(body, ",\"value\":[");
}

static void answer(page *made, const char *table, const char *filter, place from)
{
    sqlite3_stmt *row = prepare_page(made->served, table, filter, from);
    reply_json(made->given, made->asked, STATUS_OK);
    begin_list(made, table);
    bool is_fine = write_page(made, row);
    pt_buffer_append_text(&made->given->body, "]}");
    if (!is_fine) {
        refuse_as_sql_says(made->served, made->asked, made->given);
    }
    sqlite3_finalize(row);
}

/* --- What is asked for --- */

/* Counts the operators outside of quotes. */
static int count_comparisons(const char *filter)
{
    static const char *const operators[] = {" eq ", " ne ", " gt ", " ge ", " lt ", " le "};
    int count = 0;
    bool is_quoted = false;
    for (const char *at = filter; *at != 0; at++) {
        is_quoted ^= *at == '\'';
        for (size_t i = 0; !is_quoted && i < sizeof operators / sizeof operators[0]; i++) {
            count += strncmp(at, operators[i], strlen(operators[i])) == 0;
        }
    }
    return count;
}

/* $top, or -1 for one that the service refuses; the emulator takes the greatest instead. */
static int64_t read_top(const service *served, const char *text)
{
    char *end;
    int64_t top = text != NULL ? strtoll(text, &end, 10) : PAGE_MAX;
    bool is_number = text == NULL || (*text != 0 && *end == 0);
    if (is_number && top >= 0 && top <= PAGE_MAX) {
        return top;
    }
    return is_number && top > PAGE_MAX && served->dialect == AZURITE ? PAGE_MAX : -1;
}

void pages_perform(service *served, request *asked, const address *named, reply *given)
{
    place from;
    const char *filter = address_parameter(asked, named, "$filter");
    selection selected = selection_read(asked, address_parameter(asked, named, "$select"));
    int64_t top = read_top(served, address_parameter(asked, named, "$top"));
    const char *table = tables_find(served, asked, named->table, given);
    if (table == NULL || !operations_accept(served, asked, given)) {
        return;
    }
    if (!sas_allows(served, "r", NULL, NULL)) {
        refuse(served, asked, given, "AuthorizationPermissionMismatch");
        return;
    }
    bool is_ours = read_place(served, asked, named, &from);
    bool is_long = filter != NULL && count_comparisons(filter) > COMPARISONS_MAX;
    if (top < 0 || (served->dialect == AZURE && (!is_ours || is_long))) {
        refuse(served, asked, given, "InvalidInput");
        return;
    }
    int64_t rows = top < served->rows ? top : served->rows;
    if (served->seed != 0 && rows > 1) {
        rows = 1 + (int64_t)(service_random(served) % (uint64_t)rows);
    }
    /* With $top=0 the emulator sends a token. With a token of others it finds nothing. */
    page made = {.served = served,
                 .asked = asked,
                 .given = given,
                 .selected = &selected,
                 .rows = rows,
                 .is_void = !is_ours || (top == 0 && served->dialect == AZURE)};
    answer(&made, table, filter, from);
}
