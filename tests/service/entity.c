#include "service/entity.h"

#include "value/json_scan.h"

#define ANNOTATION "@odata.type"

enum { MEMBERS_MAX = 1024 };

/* --- JSON --- */

void json_append_string(pt_buffer *out, pt_slice text)
{
    char escape[8];
    pt_buffer_append_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < 0x20) {
            snprintf(escape, sizeof escape, "\\u%04x", text.data[i]);
            pt_buffer_append_text(out, escape);
            continue;
        }
        if (text.data[i] == '"' || text.data[i] == '\\') {
            pt_buffer_append_byte(out, '\\');
        }
        pt_buffer_append_byte(out, text.data[i]);
    }
    pt_buffer_append_byte(out, '"');
}

static void append_token(pt_buffer *out, const pt_json_token *token)
{
    if (token->kind == PT_JSON_STRING) {
        json_append_string(out, pt_json_token_text(token));
    } else {
        pt_buffer_append(out, token->data, token->size);
    }
}

static void append_member(pt_buffer *out, pt_slice name, const pt_json_token *value)
{
    json_append_string(out, name);
    pt_buffer_append_byte(out, ':');
    append_token(out, value);
}

static void append_comma(pt_buffer *out)
{
    if (out->size != 0 && out->data[out->size - 1] != '{') {
        pt_buffer_append_byte(out, ',');
    }
}

/* A scan of a copy: it unescapes strings in place. */
static pt_json_scan scan_of(request *asked, pt_slice json)
{
    return pt_json_scan_of((uint8_t *)request_copy(asked, json), json.size);
}

pt_slice json_member(request *asked, pt_slice json, const char *name)
{
    pt_json_scan scan = scan_of(asked, json);
    pt_slice found;
    pt_json_token value;
    pt_slice text = {0};
    pt_json_step step;
    while ((step = pt_json_scan_next(&scan, &found, &value)) == PT_JSON_MEMBER) {
        if (slice_is(found, name) && value.kind == PT_JSON_STRING) {
            text = pt_json_token_text(&value);
        }
    }
    return step == PT_JSON_END ? text : (pt_slice){0};
}

/* --- Reading --- */

/* Members that are no properties: keys, Timestamp, the types of these, and odata's own. */
static bool is_of_the_system(pt_slice name)
{
    static const char *const names[] = {"PartitionKey",      "RowKey",
                                        "Timestamp",         "PartitionKey" ANNOTATION,
                                        "RowKey" ANNOTATION, "Timestamp" ANNOTATION};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (slice_is(name, names[i])) {
            return true;
        }
    }
    return pt_slice_has_prefix(name, pt_slice_text("odata."));
}

static const char *read_member(entity *read, pt_slice name, const pt_json_token *value,
                               pt_buffer *properties)
{
    bool is_partition = slice_is(name, "PartitionKey");
    if (value->kind == PT_JSON_NESTED) {
        return "InvalidInput";
    }
    if (is_partition || slice_is(name, "RowKey")) {
        if (value->kind != PT_JSON_STRING && value->kind != PT_JSON_NULL) {
            return "InvalidInput";
        }
        if (value->kind == PT_JSON_STRING) {
            *(is_partition ? &read->partition_key : &read->row_key) = pt_json_token_text(value);
        }
    } else if (!is_of_the_system(name)) {
        append_comma(properties);
        append_member(properties, name, value);
    }
    return NULL;
}

const char *entity_read(request *asked, pt_slice json, entity *read)
{
    pt_json_scan scan = scan_of(asked, json);
    pt_buffer properties = {0};
    pt_slice name;
    pt_json_token value;
    const char *wrong = NULL;
    pt_json_step step;
    *read = (entity){{0}, {0}, {0}};
    pt_buffer_append_byte(&properties, '{');
    while (wrong == NULL && (step = pt_json_scan_next(&scan, &name, &value)) == PT_JSON_MEMBER) {
        wrong = read_member(read, name, &value, &properties);
    }
    pt_buffer_append_byte(&properties, '}');
    check_buffer(&properties);
    read->properties =
        pt_slice_of(request_copy(asked, pt_buffer_slice(&properties)), properties.size);
    pt_buffer_free(&properties);
    return wrong != NULL ? wrong : step == PT_JSON_END ? NULL : "InvalidInput";
}

/* --- Writing --- */

selection selection_read(request *asked, const char *text)
{
    selection selected = {0};
    if (text == NULL || *text == 0) {
        return selected;
    }
    char *rest = request_text(asked, "%s", text);
    selected.names = request_alloc(asked, (strlen(text) / 2 + 1) * sizeof *selected.names);
    for (char *name = strtok_r(rest, ", ", &rest); name != NULL;
         name = strtok_r(NULL, ", ", &rest)) {
        selected.names[selected.count++] = name;
    }
    return selected;
}

typedef struct member {
    pt_slice name;
    pt_json_token value;
} member;

/* An entity has at most 255 properties, so at most twice as many members. */
static size_t read_members(pt_slice json, member *members)
{
    pt_json_scan scan = pt_json_scan_of((uint8_t *)json.data, json.size);
    size_t count = 0;
    while (count < MEMBERS_MAX && pt_json_scan_next(&scan, &members[count].name,
                                                    &members[count].value) == PT_JSON_MEMBER) {
        count++;
    }
    return count;
}

static bool is_annotation(pt_slice name)
{
    return name.size > strlen(ANNOTATION) && pt_slice_has_suffix(name, pt_slice_text(ANNOTATION));
}

static const member *find_member(const member *members, size_t count, pt_slice name,
                                 const char *suffix)
{
    size_t size = strlen(suffix);
    for (size_t i = 0; i < count; i++) {
        pt_slice other = members[i].name;
        if (other.size == name.size + size && memcmp(other.data, name.data, name.size) == 0 &&
            memcmp(other.data + name.size, suffix, size) == 0) {
            return &members[i];
        }
    }
    return NULL;
}

/* The service writes the annotation before the value. */
static void write_property(const member *members, size_t count, const member *property,
                           pt_buffer *out)
{
    const member *annotation = find_member(members, count, property->name, ANNOTATION);
    if (annotation != NULL) {
        append_comma(out);
        append_member(out, annotation->name, &annotation->value);
    }
    append_comma(out);
    append_member(out, property->name, &property->value);
}

/* A selected property that the entity lacks is null on the service, left out by the emulator. */
static void write_selected(const service *served, const member *members, size_t count,
                           const selection *selected, pt_buffer *out)
{
    for (size_t i = 0; i < selected->count; i++) {
        pt_slice name = pt_slice_text(selected->names[i]);
        const member *property = find_member(members, count, name, "");
        if (property != NULL) {
            write_property(members, count, property, out);
        } else if (served->dialect == AZURE) {
            append_comma(out);
            json_append_string(out, name);
            pt_buffer_append_text(out, ":null");
        }
    }
}

/* pt_entity_json writes keys, Timestamp and properties, as the service does; the emulator has
 * Timestamp last. */
static void write_all(const service *served, const member *members, size_t count, pt_buffer *out)
{
    const member *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (served->dialect == AZURITE && slice_is(members[i].name, "Timestamp")) {
            last = &members[i];
        } else if (!is_annotation(members[i].name)) {
            write_property(members, count, &members[i], out);
        }
    }
    if (last != NULL) {
        write_property(members, 0, last, out);
    }
}

void entity_write(const service *served, request *asked, pt_slice json, const char *etag,
                  const char *metadata, const selection *selected, pt_buffer *out)
{
    member *members = request_alloc(asked, MEMBERS_MAX * sizeof *members);
    size_t count = read_members(json, members);
    pt_buffer_append_byte(out, '{');
    if (metadata != NULL) {
        pt_buffer_append_text(out, "\"odata.metadata\":");
        json_append_string(out, pt_slice_text(metadata));
    }
    append_comma(out);
    pt_buffer_append_text(out, "\"odata.etag\":");
    json_append_string(out, pt_slice_text(etag));
    if (selected->count != 0) {
        write_selected(served, members, count, selected, out);
    } else {
        write_all(served, members, count, out);
    }
    pt_buffer_append_byte(out, '}');
    pt_arena_give_back(asked->memory, members);
}
