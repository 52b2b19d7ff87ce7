#include "service/account.h"

#include <arpa/inet.h>
#include <nettle/hmac.h>

#include "base/sqlite.h"
#include "base/text.h"

/* The emulator's account and key are the same everywhere and published by Microsoft. */
static const char development_account[] = "devstoreaccount1";
static const char development_key[] =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
static const char development_endpoint[] = "http://127.0.0.1:10002/devstoreaccount1";

/* --- The parts of a connection string --- */

typedef enum account_part {
    PART_NAME,
    PART_KEY,
    PART_SAS,
    PART_TOKEN,
    PART_ENDPOINT,
    PART_SUFFIX,
    PART_PROTOCOL,
    PART_DEVELOPMENT,
    PART_COUNT
} account_part;

static const char *const part_names[PART_COUNT] = {
    [PART_NAME] = "AccountName",
    [PART_KEY] = "AccountKey",
    [PART_SAS] = "SharedAccessSignature",
    [PART_TOKEN] = "BearerToken",
    [PART_ENDPOINT] = "TableEndpoint",
    [PART_SUFFIX] = "EndpointSuffix",
    [PART_PROTOCOL] = "DefaultEndpointsProtocol",
    [PART_DEVELOPMENT] = "UseDevelopmentStorage",
};

/* The values given, without a NUL after them; data == NULL: not given. */
typedef struct account_parts {
    pt_slice value[PART_COUNT];
    pt_error *error;
} account_parts;

static bool is_part_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static pt_slice trim(pt_slice text)
{
    while (text.size > 0 && is_part_blank(text.data[0])) {
        text = pt_slice_of(text.data + 1, text.size - 1);
    }
    while (text.size > 0 && is_part_blank(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Cuts off what is before the first `separator`, and the separator. */
static pt_slice cut_before(pt_slice *rest, char separator)
{
    const uint8_t *end = rest->size != 0 ? memchr(rest->data, separator, rest->size) : NULL;
    size_t size = end != NULL ? (size_t)(end - rest->data) : rest->size;
    pt_slice before = pt_slice_of(rest->data, size);
    size_t passed = end != NULL ? size + 1 : size;
    *rest = pt_slice_of(rest->data + passed, rest->size - passed);
    return before;
}

/* The value is not shown: it may be a secret. */
static int refuse_part(account_parts *parts, account_part part, const char *problem)
{
    return pt_error_set(parts->error, SQLITE_ERROR, "%s in the connection string %s",
                        part_names[part], problem);
}

static int note_part(account_parts *parts, pt_slice name, pt_slice value)
{
    int part = 0;
    while (part < PART_COUNT && !pt_is_word(name, part_names[part])) {
        part++;
    }
    if (part == PART_COUNT || value.size == 0) {
        return SQLITE_OK;
    }
    if (parts->value[part].data != NULL) {
        return refuse_part(parts, (account_part)part, "is given twice; leave one out");
    }
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] <= ' ' || value.data[i] >= 0x7F) {
            return refuse_part(
                parts, (account_part)part,
                "has a blank or a character that is not ASCII inside; copy it again");
        }
    }
    parts->value[part] = value;
    return SQLITE_OK;
}

static int split_parts(pt_slice text, account_parts *parts)
{
    pt_slice rest = trim(text);
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && rest.size > 0) {
        pt_slice value = cut_before(&rest, ';');
        bool named = memchr(value.data, '=', value.size) != NULL;
        pt_slice name = cut_before(&value, '=');
        if (!named && trim(name).size != 0) {
            return pt_error_set(parts->error, SQLITE_ERROR,
                                "not a connection string; give Name=value pairs with ; between "
                                "them, such as AccountName=...;AccountKey=..., or "
                                "UseDevelopmentStorage=true");
        }
        rc = note_part(parts, trim(name), trim(value));
    }
    return rc;
}

static bool has_part(const account_parts *parts, account_part part)
{
    return parts->value[part].data != NULL;
}

/* --- The endpoint --- */

static bool is_digit_or_dot(uint8_t c)
{
    return c == '.' || pt_is_digit(c);
}

/* True for localhost and for addresses that are always this machine. */
static bool is_loopback_host(pt_slice host)
{
    if (pt_is_word(host, "localhost") || pt_is_word(host, "[::1]")) {
        return true;
    }
    char text[INET_ADDRSTRLEN];
    struct in_addr address;
    if (host.size >= sizeof text || !is_digit_or_dot(host.data[0])) {
        return false;
    }
    memcpy(text, host.data, host.size);
    text[host.size] = 0;
    return inet_pton(AF_INET, text, &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
}

static bool is_host_character(uint8_t c)
{
    return is_digit_or_dot(c) || c == '-' || c == '_' || pt_is_letter((uint8_t)c);
}

/* Cuts the host off the text after "://": a name, or an IPv6 address in brackets. */
static pt_slice cut_host(pt_slice *rest)
{
    size_t size = 0;
    bool brackets = rest->data[0] == '['; /* a NUL follows the text */
    if (brackets) {
        const uint8_t *end = memchr(rest->data, ']', rest->size);
        size = end != NULL ? (size_t)(end - rest->data) + 1 : 0;
    }
    while (!brackets && size < rest->size && is_host_character(rest->data[size])) {
        size++;
    }
    pt_slice host = pt_slice_of(rest->data, size);
    *rest = pt_slice_of(rest->data + size, rest->size - size);
    return host;
}

/* True if the rest of a URL after the host is a port and a path, each optional. */
static bool is_port_and_path(pt_slice *rest)
{
    enum { PORT_MAX = 65535 };
    size_t at = 0;
    if (rest->size > 0 && rest->data[0] == ':') {
        unsigned port = 0;
        at = 1;
        while (at < rest->size && pt_is_digit(rest->data[at]) && port <= PORT_MAX) {
            port = 10 * port + rest->data[at] - '0';
            at++;
        }
        if (port == 0 || port > PORT_MAX) {
            return false;
        }
    }
    *rest = pt_slice_of(rest->data + at, rest->size - at);
    bool path = rest->size == 0 || rest->data[0] == '/';
    for (size_t i = 0; path && i < rest->size; i++) {
        path = rest->data[i] == '/' || rest->data[i] == '~' || is_host_character(rest->data[i]);
    }
    return path;
}

/* Checks account->endpoint and sets what it says. */
static int read_endpoint(account_parts *parts, pt_account *account)
{
    pt_slice rest = pt_slice_text(account->endpoint);
    pt_slice https = pt_slice_text("https://");
    pt_slice http = pt_slice_text("http://");
    account->plain = pt_slice_has_prefix(rest, http);
    if (!account->plain && !pt_slice_has_prefix(rest, https)) {
        return refuse_part(parts, PART_ENDPOINT, "does not begin with https://");
    }
    size_t scheme = account->plain ? http.size : https.size;
    rest = pt_slice_of(rest.data + scheme, rest.size - scheme);
    pt_slice host = cut_host(&rest);
    if (host.size == 0 || !is_port_and_path(&rest)) {
        return refuse_part(parts, PART_ENDPOINT,
                           "is not the URL of a service; write it as "
                           "https://account.table.core.windows.net");
    }
    account->loopback = is_loopback_host(host);
    account->path = (const char *)rest.data;
    return SQLITE_OK;
}

/* Copies a slice; a NUL follows. */
static int copy_part(account_parts *parts, pt_slice text, char **copy)
{
    *copy = sqlite3_malloc64(text.size + 1);
    if (*copy == NULL) {
        return pt_error_nomem(parts->error);
    }
    memcpy(*copy, text.data, text.size);
    (*copy)[text.size] = 0;
    return SQLITE_OK;
}

static pt_slice part_or(const account_parts *parts, account_part part, const char *otherwise)
{
    return has_part(parts, part) ? parts->value[part] : pt_slice_text(otherwise);
}

static int set_endpoint(account_parts *parts, pt_account *account)
{
    if (has_part(parts, PART_ENDPOINT)) {
        pt_slice endpoint = parts->value[PART_ENDPOINT];
        while (endpoint.size > 0 && endpoint.data[endpoint.size - 1] == '/') {
            endpoint.size--;
        }
        int rc = copy_part(parts, endpoint, &account->endpoint);
        return rc == SQLITE_OK ? read_endpoint(parts, account) : rc;
    }
    if (!has_part(parts, PART_NAME)) {
        return refuse_part(parts, PART_ENDPOINT,
                           "is missing; give it, or AccountName, from which it is made");
    }
    pt_slice protocol = part_or(parts, PART_PROTOCOL, "https");
    pt_slice suffix = part_or(parts, PART_SUFFIX, "core.windows.net");
    account->endpoint = sqlite3_mprintf("%.*s://%s.table.%.*s", (int)protocol.size, protocol.data,
                                        account->name, (int)suffix.size, suffix.data);
    if (account->endpoint == NULL) {
        return pt_error_nomem(parts->error);
    }
    return read_endpoint(parts, account);
}

/* --- The credential --- */

/* Account names have letters and digits, on Cosmos DB hyphens too. */
static bool is_account_name(pt_slice name)
{
    bool valid = true;
    for (size_t i = 0; valid && i < name.size; i++) {
        valid = is_host_character(name.data[i]) && name.data[i] != '.';
    }
    return valid;
}

static int set_name(account_parts *parts, pt_account *account)
{
    pt_slice name = part_or(parts, PART_NAME, "");
    if (!is_account_name(name)) {
        return refuse_part(parts, PART_NAME, "is not a name; it has letters and digits only");
    }
    return copy_part(parts, name, &account->name);
}

static int set_key(account_parts *parts, pt_account *account)
{
    pt_slice text = parts->value[PART_KEY];
    if (!has_part(parts, PART_NAME)) {
        return refuse_part(parts, PART_NAME, "is missing; AccountKey needs it");
    }
    int rc = copy_part(parts, text, &account->secret);
    if (rc != SQLITE_OK) {
        return rc;
    }
    account->secret_size = text.size;
    if (!pt_base64_decode(text, (uint8_t *)account->secret, &account->secret_size)) {
        return refuse_part(parts, PART_KEY, "is not a key (base64); copy it again");
    }
    explicit_bzero(account->secret + account->secret_size, text.size - account->secret_size);
    return SQLITE_OK;
}

static int set_sas(account_parts *parts, pt_account *account)
{
    pt_slice sas = parts->value[PART_SAS];
    if (sas.data[0] == '?') {
        sas = pt_slice_of(sas.data + 1, sas.size - 1);
    }
    account->credential = PT_CREDENTIAL_SAS;
    account->secret_size = sas.size;
    int rc = copy_part(parts, sas, &account->secret);
    if (rc == SQLITE_OK && strstr(account->secret, "sig=") == NULL) {
        rc = refuse_part(parts, PART_SAS, "has no sig=; copy it again");
    }
    return rc;
}

static int set_token(account_parts *parts, pt_account *account)
{
    account->credential = PT_CREDENTIAL_TOKEN;
    account->secret_size = parts->value[PART_TOKEN].size;
    return copy_part(parts, parts->value[PART_TOKEN], &account->secret);
}

static int set_credential(account_parts *parts, pt_account *account)
{
    int given = has_part(parts, PART_KEY) + has_part(parts, PART_SAS) + has_part(parts, PART_TOKEN);
    if (given != 1) {
        return pt_error_set(parts->error, SQLITE_ERROR,
                            "the connection string has %s of AccountKey, SharedAccessSignature and "
                            "BearerToken; give one",
                            given == 0 ? "none" : "several");
    }
    if (has_part(parts, PART_KEY)) {
        return set_key(parts, account);
    }
    return has_part(parts, PART_SAS) ? set_sas(parts, account) : set_token(parts, account);
}

static bool has_public_key(const account_parts *parts)
{
    return pt_slice_equal(parts->value[PART_NAME], pt_slice_text(development_account)) &&
           pt_slice_equal(parts->value[PART_KEY], pt_slice_text(development_key));
}

static int check_transport(account_parts *parts, const pt_account *account)
{
    if (!account->plain || account->loopback || has_public_key(parts)) {
        return SQLITE_OK;
    }
    return pt_error_set(parts->error, SQLITE_ERROR,
                        "the endpoint %s would be reached by http, where others can read the "
                        "requests; write https",
                        account->endpoint);
}

static void use_development_storage(account_parts *parts)
{
    parts->value[PART_NAME] = pt_slice_text(development_account);
    parts->value[PART_KEY] = pt_slice_text(development_key);
    if (!has_part(parts, PART_ENDPOINT)) {
        parts->value[PART_ENDPOINT] = pt_slice_text(development_endpoint);
    }
}

int pt_account_parse(pt_slice text, pt_account *account, pt_error *error)
{
    account_parts parts = {.error = error};
    *account = (pt_account){0};
    int rc = split_parts(text, &parts);
    if (rc == SQLITE_OK && pt_is_word(parts.value[PART_DEVELOPMENT], "true")) {
        use_development_storage(&parts);
    }
    if (rc == SQLITE_OK) {
        rc = set_name(&parts, account);
    }
    if (rc == SQLITE_OK) {
        rc = set_credential(&parts, account);
    }
    if (rc == SQLITE_OK) {
        rc = set_endpoint(&parts, account);
    }
    if (rc == SQLITE_OK) {
        rc = check_transport(&parts, account);
    }
    if (rc != SQLITE_OK) {
        pt_account_free(account);
        return rc;
    }
    account->dialect = pt_dialect_of_endpoint(account->endpoint);
    return SQLITE_OK;
}

void pt_account_free(pt_account *account)
{
    if (account->secret != NULL) {
        explicit_bzero(account->secret, account->secret_size);
    }
    sqlite3_free(account->secret);
    sqlite3_free(account->name);
    sqlite3_free(account->endpoint);
    *account = (pt_account){0};
}

/* --- Signatures --- */

void pt_account_sign(const pt_account *account, const pt_slice *parts, size_t count,
                     pt_buffer *signature)
{
    struct hmac_sha256_ctx hmac;
    uint8_t digest[SHA256_DIGEST_SIZE];
    hmac_sha256_set_key(&hmac, account->secret_size, (const uint8_t *)account->secret);
    for (size_t i = 0; i < count; i++) {
        hmac_sha256_update(&hmac, parts[i].size, parts[i].data);
    }
    hmac_sha256_digest(&hmac, sizeof digest, digest);
    explicit_bzero(&hmac, sizeof hmac);
    pt_base64_append(signature, pt_slice_of(digest, sizeof digest));
}

void pt_account_authorize(const pt_account *account, const char *date, pt_slice path,
                          pt_buffer *header)
{
    if (account->credential == PT_CREDENTIAL_TOKEN) {
        pt_buffer_append_text(header, "Bearer ");
        pt_buffer_append_text(header, account->secret);
        return;
    }
    const pt_slice parts[] = {pt_slice_text(date), pt_slice_text("\n/"),
                              pt_slice_text(account->name), path};
    pt_buffer_append_text(header, "SharedKeyLite ");
    pt_buffer_append_text(header, account->name);
    pt_buffer_append_byte(header, ':');
    pt_account_sign(account, parts, sizeof parts / sizeof parts[0], header);
}
