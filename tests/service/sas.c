#include "service/sas.h"

#include <strings.h>
#include <time.h>

#include "service/signature.h"

/* The parameters in the order in which they are signed; "" stands for the table's address. */
static const char *const signed_names[] = {"sp",  "st", "se",  "",    "si",  "sip",
                                           "spr", "sv", "spk", "srk", "epk", "erk"};

static const char *given_text(request *asked, const address *named, const char *name)
{
    const char *text = address_parameter(asked, named, name);
    return text != NULL ? text : "";
}

static bool is_signed_so(const service *served, request *asked, const address *named)
{
    char *table = request_text(asked, "%s", given_text(asked, named, "tn"));
    for (char *c = table; *c != 0; c++) {
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    }
    char *text = request_text(asked, "%s", "");
    for (size_t i = 0; i < sizeof signed_names / sizeof signed_names[0]; i++) {
        const char *line = *signed_names[i] != 0
                               ? given_text(asked, named, signed_names[i])
                               : request_text(asked, "/table/%s/%s", served->account, table);
        text = request_text(asked, "%s%s%s", text, i == 0 ? "" : "\n", line);
    }
    signature_text made;
    signature_make(served, pt_slice_text(text), made);
    return strcmp(made, given_text(asked, named, "sig")) == 0;
}

/* "2026-11-21T08:43:22Z"; -1 for another text. */
static time_t read_time(const char *text)
{
    struct tm parts = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return end != NULL && *end == 0 ? timegm(&parts) : -1;
}

static bool is_now(request *asked, const address *named)
{
    const char *start = given_text(asked, named, "st");
    time_t now = time(NULL);
    return read_time(given_text(asked, named, "se")) > now &&
           (*start == 0 || (read_time(start) != -1 && read_time(start) <= now));
}

static const char *kept_text(const char *text)
{
    return *text != 0 ? text : NULL;
}

/* In a batch the tables are those of the operations. The emulator finds no table there. */
static bool is_for_table(const service *served, request *asked, const address *named)
{
    if (named->kind == ADDRESS_BATCH) {
        return served->dialect == AZURE;
    }
    bool entities = named->kind == ADDRESS_ENTITIES || named->kind == ADDRESS_ENTITY;
    return entities && strcasecmp(named->table, given_text(asked, named, "tn")) == 0;
}

const char *sas_judge(service *served, request *asked, const address *named)
{
    if (address_parameter(asked, named, "sig") == NULL ||
        address_parameter(asked, named, "sv") == NULL) {
        return "AuthenticationFailed";
    }
    if (address_parameter(asked, named, "tn") == NULL) {
        return NULL;
    }
    if (!is_for_table(served, asked, named) || !is_signed_so(served, asked, named) ||
        !is_now(asked, named)) {
        return "AuthenticationFailed";
    }
    served->granted =
        (grant){.rights = given_text(asked, named, "sp"), .table = given_text(asked, named, "tn")};
    if (served->dialect == AZURE) {
        served->granted.start[0] = kept_text(given_text(asked, named, "spk"));
        served->granted.start[1] = kept_text(given_text(asked, named, "srk"));
        served->granted.end[0] = kept_text(given_text(asked, named, "epk"));
        served->granted.end[1] = kept_text(given_text(asked, named, "erk"));
    }
    return NULL;
}

/* -1: before the bound; 0: at it, or there is none. */
static int compare_keys(const char *const bound[2], const char *partition_key, const char *row_key)
{
    int order = bound[0] != NULL ? strcmp(partition_key, bound[0]) : 0;
    return order == 0 && bound[1] != NULL ? strcmp(row_key, bound[1]) : order;
}

bool sas_allows(const service *served, const char *rights, const char *partition_key,
                const char *row_key)
{
    const grant *granted = &served->granted;
    bool allowed = true;
    for (const char *right = rights; granted->rights != NULL && *right != 0; right++) {
        allowed = allowed && strchr(granted->rights, *right) != NULL;
    }
    if (partition_key == NULL || granted->rights == NULL) {
        return allowed;
    }
    bool is_after =
        granted->start[0] == NULL || compare_keys(granted->start, partition_key, row_key) >= 0;
    bool is_before =
        granted->end[0] == NULL || compare_keys(granted->end, partition_key, row_key) <= 0;
    return allowed && is_after && is_before;
}
