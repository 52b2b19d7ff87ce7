#include "service/address.h"

/* --- Decoding --- */

/* Decodes %XX, and with `form` also + as a blank. NULL if it is malformed or has a NUL. */
static char *decode(request *asked, pt_slice text, bool form)
{
    char *decoded = request_alloc(asked, text.size + 1);
    char *to = decoded;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        if (byte == '%') {
            int high = i + 2 < text.size ? pt_hex_digit(text.data[i + 1]) : -1;
            int low = high >= 0 ? pt_hex_digit(text.data[i + 2]) : -1;
            if (low < 0) {
                return NULL;
            }
            byte = (uint8_t)(16 * high + low);
            i += 2;
        } else if (byte == '+' && form) {
            byte = ' ';
        }
        if (byte == 0) {
            return NULL;
        }
        *to++ = (char)byte;
    }
    *to = 0;
    return decoded;
}

pt_slice address_path(pt_slice target)
{
    const uint8_t *mark = target.size != 0 ? memchr(target.data, '?', target.size) : NULL;
    return mark != NULL ? pt_slice_of(target.data, (size_t)(mark - target.data)) : target;
}

pt_slice address_of_url(pt_slice url)
{
    static const char scheme[] = "http://";
    if (url.size <= strlen(scheme) || memcmp(url.data, scheme, strlen(scheme)) != 0) {
        return (pt_slice){0};
    }
    const uint8_t *path = memchr(url.data + strlen(scheme), '/', url.size - strlen(scheme));
    return path != NULL ? pt_slice_of(path, url.size - (size_t)(path - url.data)) : (pt_slice){0};
}

/* The parameters may be in any order, and their names are encoded as their values. */
const char *address_parameter(request *asked, const address *named, const char *name)
{
    pt_slice rest = named->query;
    while (rest.size != 0) {
        const uint8_t *end = memchr(rest.data, '&', rest.size);
        size_t size = end != NULL ? (size_t)(end - rest.data) : rest.size;
        const uint8_t *equal = memchr(rest.data, '=', size);
        size_t name_size = equal != NULL ? (size_t)(equal - rest.data) : size;
        const char *found = decode(asked, pt_slice_of(rest.data, name_size), true);
        if (found != NULL && strcmp(found, name) == 0) {
            size_t skipped = equal != NULL ? name_size + 1 : name_size;
            return decode(asked, pt_slice_of(rest.data + skipped, size - skipped), true);
        }
        size_t used = end != NULL ? size + 1 : size;
        rest = pt_slice_of(rest.data + used, rest.size - used);
    }
    return NULL;
}

/* --- Names in paths --- */

/* Reads 'text' with doubled quotes at `*at`, and moves it behind the text. */
static char *read_quoted(request *asked, const char **at)
{
    const char *from = *at;
    if (*from++ != '\'') {
        return NULL;
    }
    char *text = request_alloc(asked, strlen(from) + 1);
    char *to = text;
    for (; *from != 0; from++) {
        if (*from == '\'') {
            if (from[1] != '\'') {
                *to = 0;
                *at = from + 1;
                return text;
            }
            from++;
        }
        *to++ = *from;
    }
    return NULL;
}

static bool skip_text(const char **at, const char *text)
{
    bool is_there = strncmp(*at, text, strlen(text)) == 0;
    *at += is_there ? strlen(text) : 0;
    return is_there;
}

/* Reads (PartitionKey='p',RowKey='r'), up to the end. */
static bool read_keys(request *asked, const char *at, address *named)
{
    if (!skip_text(&at, "(PartitionKey=")) {
        return false;
    }
    named->partition_key = read_quoted(asked, &at);
    if (named->partition_key == NULL || !skip_text(&at, ",RowKey=")) {
        return false;
    }
    named->row_key = read_quoted(asked, &at);
    return named->row_key != NULL && strcmp(at, ")") == 0;
}

static address_kind read_name(request *asked, const char *name, address *named)
{
    const char *at = name;
    if (strcmp(name, "$batch") == 0) {
        return ADDRESS_BATCH;
    }
    if (strcmp(name, "Tables") == 0 || strcmp(name, "Tables()") == 0) {
        return ADDRESS_TABLES;
    }
    if (skip_text(&at, "Tables(")) {
        named->table = read_quoted(asked, &at);
        return named->table != NULL && strcmp(at, ")") == 0 ? ADDRESS_TABLE : ADDRESS_NONE;
    }
    size_t size = strcspn(name, "(");
    named->table = request_text(asked, "%.*s", (int)size, name);
    if (size == 0) {
        return ADDRESS_NONE;
    }
    if (name[size] == 0 || strcmp(name + size, "()") == 0) {
        return ADDRESS_ENTITIES;
    }
    return read_keys(asked, name + size, named) ? ADDRESS_ENTITY : ADDRESS_NONE;
}

/* The account stands before the name, as with the emulator, or in the host only. */
static const char *skip_account(const service *served, const char *path, address *named)
{
    const char *at = path + 1;
    const char *slash = strchr(at, '/');
    const char *quote = strchr(at, '\'');
    bool has_account = slash != NULL && (quote == NULL || slash < quote);
    if (has_account && skip_text(&at, served->account) && skip_text(&at, "/")) {
        return at;
    }
    named->other_account = has_account;
    return has_account ? slash + 1 : path + 1;
}

address address_read(const service *served, request *asked, pt_slice target)
{
    address named = {.kind = ADDRESS_NONE};
    pt_slice path = address_path(target);
    if (path.size < target.size) {
        named.query = pt_slice_of(path.data + path.size + 1, target.size - path.size - 1);
    }
    char *decoded = decode(asked, path, false);
    if (decoded != NULL && decoded[0] == '/') {
        named.kind = read_name(asked, skip_account(served, decoded, &named), &named);
    }
    return named;
}
