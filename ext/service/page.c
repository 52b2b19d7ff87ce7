#include "service/page.h"

#include "base/sqlite.h"
#include "base/text.h"
#include "base/ticks.h"
#include "entity/key.h"
#include "value/json_read.h"

/* More than an entity of the service has, so that looking for one among them takes no time. */
enum { MEMBERS_MAX = 1024 };

/* A property while its entity is being read. Its annotation may come before it. */
typedef struct page_member {
    pt_slice name;
    pt_type type; /* annotated, or PT_NONE */
    bool given;   /* `value` is set */
    pt_json_token value;
} page_member;

typedef struct page_reading {
    pt_page *page;
    pt_page_kind kind;
    pt_page_entity entity;
    page_member *members; /* of the entity */
    size_t member_count;
    size_t member_capacity;
    size_t waiting; /* members without value */
    pt_error *error;
} page_reading;

int pt_page_check_progress(bool same, size_t entities, int *repeats, pt_error *error)
{
    enum { REPEATS_MAX = 100 };
    *repeats = same ? *repeats + 1 : 0;
    if (*repeats == 0 || (entities == 0 && *repeats < REPEATS_MAX)) {
        return SQLITE_OK;
    }
    return pt_error_set(error, SQLITE_IOERR,
                        "a page of the service names itself as the next page, so that reading "
                        "would never end; run the statement again");
}

static int refuse_page(page_reading *r, const char *problem, pt_slice name)
{
    char excerpt[PT_EXCERPT_SIZE];
    pt_excerpt(name, excerpt);
    return pt_error_set(r->error, SQLITE_IOERR,
                        "the service's reply cannot be read: %s%s%s; check that the endpoint is a "
                        "Table service",
                        name.size != 0 ? excerpt : "", name.size != 0 ? ": " : "", problem);
}

/* --- Members of an entity --- */

static page_member *find_page_member(page_reading *r, pt_slice name, bool given)
{
    for (size_t i = r->member_count; i > 0; i--) {
        page_member *m = &r->members[i - 1];
        if (m->given == given && pt_slice_equal(m->name, name)) {
            return m;
        }
    }
    return NULL;
}

static page_member *add_page_member(page_reading *r, pt_slice name)
{
    if (!pt_array_reserve(&r->members, &r->member_capacity, r->member_count + 1,
                          sizeof *r->members)) {
        return NULL;
    }
    page_member *m = &r->members[r->member_count++];
    *m = (page_member){.name = name};
    return m;
}

static int read_annotation(page_reading *r, pt_slice name, const pt_json_token *value)
{
    pt_slice prefix = pt_slice_text(PT_ODATA_TYPE_PREFIX);
    pt_slice type = pt_json_token_text(value);
    if (value->kind != PT_JSON_STRING || !pt_slice_has_prefix(type, prefix)) {
        return refuse_page(r, "its annotation is not a type", name);
    }
    page_member *m = find_page_member(r, name, true);
    if (m == NULL) {
        m = add_page_member(r, name);
        r->waiting++;
    }
    if (m == NULL) {
        return pt_error_nomem(r->error);
    }
    m->type = pt_type_from_name(type);
    return m->type != PT_NONE ? SQLITE_OK : refuse_page(r, "its type is unknown", name);
}

static int read_page_property(page_reading *r, pt_slice name, const pt_json_token *value)
{
    if (!pt_key_is_valid_text(name)) {
        return refuse_page(r, "its name is not text", name);
    }
    page_member *m = r->waiting != 0 ? find_page_member(r, name, false) : NULL;
    if (m != NULL) {
        r->waiting--;
    } else {
        m = add_page_member(r, name);
    }
    if (m == NULL) {
        return pt_error_nomem(r->error);
    }
    m->given = true;
    m->value = *value;
    return SQLITE_OK;
}

static int read_page_key(page_reading *r, pt_slice name, const pt_json_token *value, pt_slice *key)
{
    *key = pt_json_token_text(value);
    return value->kind == PT_JSON_STRING && pt_key_is_valid_text(*key)
               ? SQLITE_OK
               : refuse_page(r, "it is not a key", name);
}

static int read_page_timestamp(page_reading *r, pt_slice name, const pt_json_token *value)
{
    return value->kind == PT_JSON_STRING &&
                   pt_ticks_parse(pt_json_token_text(value), &r->entity.ticks)
               ? SQLITE_OK
               : refuse_page(r, "it is not a time", name);
}

static int read_page_member(page_reading *r, pt_slice name, const pt_json_token *value)
{
    pt_slice suffix = pt_slice_text(PT_ODATA_TYPE_SUFFIX);
    if (value->kind == PT_JSON_NESTED) {
        return refuse_page(r, "it is an object or array", name);
    }
    if (r->member_count > MEMBERS_MAX) {
        return refuse_page(r, "an entity has too many properties", (pt_slice){0});
    }
    if (pt_slice_equal(name, pt_slice_text("odata.etag")) && value->kind == PT_JSON_STRING) {
        r->entity.etag = pt_json_token_text(value);
    }
    if (pt_slice_has_prefix(name, pt_slice_text(PT_ODATA_CONTROL_PREFIX))) {
        return SQLITE_OK;
    }
    bool annotation = pt_slice_has_suffix(name, suffix);
    name.size -= annotation ? suffix.size : 0;
    switch (pt_find_system_property(name)) {
    case PT_SYSTEM_PARTITION_KEY:
        return annotation ? SQLITE_OK : read_page_key(r, name, value, &r->entity.partition);
    case PT_SYSTEM_ROW_KEY:
        return annotation ? SQLITE_OK : read_page_key(r, name, value, &r->entity.row);
    case PT_SYSTEM_TIMESTAMP:
        return annotation ? SQLITE_OK : read_page_timestamp(r, name, value);
    case PT_SYSTEM_PROPERTIES:
    default:
        return annotation ? read_annotation(r, name, value) : read_page_property(r, name, value);
    }
}

/* Converts the properties to their types, in the memory of their text. */
static int keep_properties(page_reading *r)
{
    pt_page *page = r->page;
    r->entity.first = page->field_count;
    if (!pt_array_reserve(&page->fields, &page->field_capacity, page->field_count + r->member_count,
                          sizeof *page->fields)) {
        return pt_error_nomem(r->error);
    }
    for (size_t i = 0; i < r->member_count; i++) {
        const page_member *m = &r->members[i];
        if (!m->given || m->value.kind == PT_JSON_NULL) {
            continue;
        }
        pt_field field = {.name = m->name};
        pt_type type = m->type != PT_NONE ? m->type : pt_json_own_type(&m->value);
        if (!pt_json_to_value(&m->value, type, &field.value)) {
            return refuse_page(r, "its value does not fit its type", m->name);
        }
        page->fields[page->field_count++] = field;
    }
    r->entity.count = page->field_count - r->entity.first;
    return SQLITE_OK;
}

static int keep_entity(page_reading *r)
{
    pt_page *page = r->page;
    bool keys = r->entity.partition.data != NULL && r->entity.row.data != NULL;
    if (!keys && r->kind != PT_PAGE_OF_TABLES) {
        return refuse_page(r, "an entity has no PartitionKey or RowKey", (pt_slice){0});
    }
    int rc = keep_properties(r);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (!pt_array_reserve(&page->entities, &page->capacity, page->count + 1,
                          sizeof *page->entities)) {
        return pt_error_nomem(r->error);
    }
    page->entities[page->count++] = r->entity;
    return SQLITE_OK;
}

/* Reads the object at the scan. */
static int read_page_entity(page_reading *r, pt_json_scan *scan)
{
    r->entity = (pt_page_entity){.partition = r->page->partition, .etag = pt_slice_of("", 0)};
    r->member_count = 0;
    r->waiting = 0;
    for (;;) {
        pt_slice name;
        pt_json_token value;
        int rc;
        switch (pt_json_scan_next(scan, &name, &value)) {
        case PT_JSON_MEMBER:
            rc = read_page_member(r, name, &value);
            if (rc != SQLITE_OK) {
                return rc;
            }
            break;
        case PT_JSON_END:
            return keep_entity(r);
        case PT_JSON_HALF_SURROGATE:
            return refuse_page(r, "half of a surrogate pair is not a character", name);
        case PT_JSON_NO_OBJECT:
        case PT_JSON_MALFORMED:
        default:
            return refuse_page(r, "malformed JSON", (pt_slice){0});
        }
    }
}

/* --- Pages --- */

static bool take_page_character(pt_json_scan *scan, char c)
{
    while (scan->at < scan->end && *scan->at <= ' ') {
        scan->at++;
    }
    bool found = scan->at < scan->end && *scan->at == (uint8_t)c;
    scan->at += found;
    return found;
}

/* Reads the entities of the array whose [ has been passed. */
static int read_page_array(page_reading *r, pt_json_scan *scan)
{
    if (take_page_character(scan, ']')) {
        return SQLITE_OK;
    }
    do {
        pt_json_scan entity = pt_json_scan_of(scan->at, (size_t)(scan->end - scan->at));
        entity.inner = true;
        int rc = read_page_entity(r, &entity);
        if (rc != SQLITE_OK) {
            return rc;
        }
        scan->at = entity.at;
    } while (take_page_character(scan, ','));
    return take_page_character(scan, ']') ? SQLITE_OK
                                          : refuse_page(r, "malformed JSON", (pt_slice){0});
}

static int read_page_object(page_reading *r, pt_json_scan *scan)
{
    bool found = false;
    for (;;) {
        pt_slice name;
        pt_json_token value;
        pt_json_step step = pt_json_scan_next(scan, &name, &value);
        if (step == PT_JSON_END && found) {
            return SQLITE_OK;
        }
        if (step != PT_JSON_MEMBER) {
            return refuse_page(r, step == PT_JSON_END ? "there is no \"value\"" : "malformed JSON",
                               (pt_slice){0});
        }
        if (value.kind != PT_JSON_NESTED) {
            continue;
        }
        if (value.data[0] != '[' || found || !pt_slice_equal(name, pt_slice_text("value"))) {
            return refuse_page(r, "it is an object or array", name);
        }
        found = true;
        int rc = read_page_array(r, scan);
        if (rc != SQLITE_OK) {
            return rc;
        }
    }
}

int pt_page_add(pt_page *page, pt_buffer *body, pt_page_kind kind, pt_error *error)
{
    if (!pt_array_reserve(&page->texts, &page->text_capacity, page->text_count + 1,
                          sizeof *page->texts)) {
        return pt_error_nomem(error);
    }
    page->texts[page->text_count++] = *body;
    pt_json_scan scan = pt_json_scan_of(body->data, body->size);
    *body = (pt_buffer){0};
    page_reading r = {.page = page, .kind = kind, .error = error};
    if (!pt_key_is_valid_text(pt_slice_of(scan.at, (size_t)(scan.end - scan.at)))) {
        return refuse_page(&r, "it is not UTF-8", (pt_slice){0});
    }
    int rc = kind == PT_PAGE_OF_ONE ? read_page_entity(&r, &scan) : read_page_object(&r, &scan);
    sqlite3_free(r.members);
    return rc;
}

void pt_page_clear(pt_page *page)
{
    for (size_t i = 0; i < page->text_count; i++) {
        pt_buffer_free(&page->texts[i]);
    }
    page->text_count = 0;
    page->field_count = 0;
    page->count = 0;
}

void pt_page_free(pt_page *page)
{
    pt_page_clear(page);
    sqlite3_free(page->entities);
    sqlite3_free(page->fields);
    sqlite3_free(page->texts);
    *page = (pt_page){0};
}

const pt_value *pt_page_find(const pt_page *page, const pt_page_entity *entity, pt_slice name,
                             size_t *hint)
{
    const pt_field *fields = page->fields + entity->first;
    if (*hint < entity->count && pt_slice_equal(fields[*hint].name, name)) {
        return &fields[*hint].value;
    }
    for (size_t i = 0; i < entity->count; i++) {
        if (pt_slice_equal(fields[i].name, name)) {
            *hint = i;
            return &fields[i].value;
        }
    }
    return NULL;
}
