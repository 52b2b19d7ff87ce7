#include "service/refusal.h"

#include <time.h>

typedef struct refusal {
    const char *code;
    int status;
    const char *message;
} refusal;

static const refusal refusals[] = {
    {"AtomFormatNotSupported", STATUS_MEDIA_TYPE, "Atom format is not supported."},
    {"AuthenticationFailed", STATUS_FORBIDDEN,
     "Server failed to authenticate the request. Make sure the value of the Authorization header "
     "is "
     "formed correctly including the signature."},
    {"AuthorizationFailure", STATUS_FORBIDDEN,
     "Server failed to authenticate the request. Make sure the value of the Authorization header "
     "is "
     "formed correctly including the signature."},
    {"AuthorizationPermissionMismatch", STATUS_FORBIDDEN,
     "This request is not authorized to perform this operation using this permission."},
    {"CommandsInBatchActOnDifferentPartitions", STATUS_BAD,
     "All commands in a batch must operate on same entity group."},
    {"DuplicatePropertiesSpecified", STATUS_BAD, "A property is specified more than one time."},
    {"EntityAlreadyExists", STATUS_CONFLICT, "The specified entity already exists."},
    {"EntityTooLarge", STATUS_BAD, "The entity is larger than the maximum allowed size (1MB)."},
    {"InternalError", STATUS_INTERNAL, "Server encountered an internal error. Please try again."},
    {"InvalidDuplicateRow", STATUS_BAD,
     "The batch request contains multiple changes with same row key. An entity can appear only "
     "once "
     "in a batch request."},
    {"InvalidInput", STATUS_BAD, "One of the request inputs is not valid."},
    {"InvalidResourceName", STATUS_BAD, "The specified resource name contains invalid characters."},
    {"InvalidValueType", STATUS_BAD, "The value specified is invalid."},
    {"NotImplemented", STATUS_NOT_IMPLEMENTED,
     "The requested operation is not implemented on the specified resource."},
    {"OutOfRangeInput", STATUS_BAD, "One of the request inputs is out of range."},
    {"PropertiesNeedValue", STATUS_BAD,
     "The values are not specified for all properties in the entity."},
    {"PropertyNameInvalid", STATUS_BAD, "The property name is invalid."},
    {"PropertyNameTooLong", STATUS_BAD, "The property name exceeds the maximum allowed length."},
    {"PropertyValueTooLarge", STATUS_BAD,
     "The property value exceeds the maximum allowed size (64KB). If the property value is a "
     "string, it is UTF-16 encoded and the maximum number of characters should be 32K or less."},
    {"RequestBodyTooLarge", STATUS_TOO_LARGE,
     "The request body is too large and exceeds the maximum permissible limit."},
    {"ResourceNotFound", STATUS_MISSING, "The specified resource does not exist."},
    {"ServerBusy", STATUS_BUSY, "The server is busy."},
    {"TableAlreadyExists", STATUS_CONFLICT, "The table specified already exists."},
    {"TableNotFound", STATUS_MISSING, "The table specified does not exist."},
    {"TooManyProperties", STATUS_BAD,
     "The entity contains more properties than allowed. Each entity can include up to 252 "
     "properties to store data. Each entity also has 3 system properties."},
    {"TooManyRequests", STATUS_THROTTLED, "The request was throttled. Retry after some time."},
    {"UpdateConditionNotSatisfied", STATUS_PRECONDITION,
     "The update condition specified in the request was not satisfied."},
};

static const refusal *find(const char *code)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strcmp(refusals[i].code, code) == 0) {
            return &refusals[i];
        }
    }
    return NULL;
}

/* --- Writing --- */

/* The message as the service sends it: with the request's number and the time. */
static char *whole_message(const char *message)
{
    struct timespec now;
    char seconds[40];
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &parts));
    return sqlite3_mprintf("%s\nRequestId:00000000-0000-0000-0000-000000000000\nTime:%s.%07dZ",
                           message, seconds, (int)(now.tv_nsec / 100));
}

static void append_escaped(pt_buffer *out, const char *text, char special, const char *escape)
{
    for (; *text != 0; text++) {
        if (*text == special) {
            pt_buffer_append_text(out, escape);
        } else {
            pt_buffer_append_byte(out, (uint8_t)*text);
        }
    }
}

static void write_json(reply *given, const char *code, const char *message)
{
    pt_buffer_append_text(&given->body, "{\"odata.error\":{\"code\":\"");
    pt_buffer_append_text(&given->body, code);
    pt_buffer_append_text(&given->body, "\",\"message\":{\"lang\":\"en-US\",\"value\":\"");
    append_escaped(&given->body, message, '\n', "\\n");
    pt_buffer_append_text(&given->body, "\"}}}");
}

/* The emulator's element names begin with capitals, the service's do not. */
static void write_xml(const service *served, reply *given, const char *code, const char *message)
{
    bool is_azurite = served->dialect == AZURITE;
    pt_buffer_append_text(
        &given->body,
        is_azurite
            ? "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n<Error>\n  <Code>"
            : "<?xml version=\"1.0\" encoding=\"utf-8\"?><error xmlns=\"http://schemas.microsoft"
              ".com/ado/2007/08/dataservices/metadata\"><code>");
    pt_buffer_append_text(&given->body, code);
    pt_buffer_append_text(&given->body, is_azurite ? "</Code>\n  <Message>"
                                                   : "</code><message xml:lang=\"en-US\">");
    append_escaped(&given->body, message, '&', "&amp;");
    pt_buffer_append_text(&given->body, is_azurite ? "</Message>\n</Error>" : "</message></error>");
}

/* Both write JSON where the request asks for it; the emulator's refusals to authenticate are XML
 * whatever is asked for. */
static error_form form_of(const service *served, const request *asked, int status)
{
    if (asked->in_batch) {
        return ERROR_JSON;
    }
    if (served->error_form != ERROR_OWN) {
        return served->error_form;
    }
    pt_slice accept = request_header(asked, "Accept");
    bool is_json = accept.size >= strlen("application/json") &&
                   memcmp(accept.data, "application/json", strlen("application/json")) == 0;
    bool is_authentication = served->dialect == AZURITE && status == STATUS_FORBIDDEN;
    return is_json && !is_authentication ? ERROR_JSON : ERROR_XML;
}

void refuse_with(const service *served, const request *asked, reply *given, int status,
                 const char *code, const char *message)
{
    reply_clear(given);
    given->status = status;
    given->code = code;
    error_form form = form_of(served, asked, status);
    char *whole = whole_message(message);
    if (whole == NULL) {
        give_up("refusal", "out of memory");
    }
    if ((served->dialect == AZURITE && *code != 0) || form == ERROR_HEADER) {
        reply_header(given, "x-ms-error-code", code);
    }
    if (form == ERROR_JSON) {
        reply_header(given, "Content-Type",
                     "application/json;odata=minimalmetadata;streaming=true;charset=utf-8");
        write_json(given, code, whole);
    } else if (form == ERROR_XML) {
        reply_header(given, "Content-Type", "application/xml");
        write_xml(served, given, code, whole);
    }
    sqlite3_free(whole);
}

void refuse(const service *served, const request *asked, reply *given, const char *code)
{
    const refusal *known = find(code);
    if (known == NULL) {
        give_up("there is no refusal with the code", code);
    }
    refuse_with(served, asked, given, known->status, code, known->message);
}

void refuse_bare(reply *given, int status)
{
    reply_clear(given);
    given->status = status;
}

/* --- Choosing --- */

void refuse_as_sql_says(const service *served, const request *asked, reply *given)
{
    const char *message = sqlite3_errmsg(served->db);
    const char *open = strrchr(message, '(');
    char code[80] = "";
    if (open != NULL && message[strlen(message) - 1] == ')') {
        snprintf(code, sizeof code, "%.*s", (int)strlen(open) - 2, open + 1);
    }
    const refusal *known = find(code);
    if (known == NULL) {
        fprintf(stderr, "server: %s\n", message);
        known = find("InternalError");
    }
    refuse_with(served, asked, given, known->status, known->code, known->message);
}

void refuse_operation(const service *served, const request *asked, reply *given, int index)
{
    const refusal *known = find(given->code);
    char *message = sqlite3_mprintf("%d:%s", index, known != NULL ? known->message : "");
    if (message == NULL) {
        give_up("refusal", "out of memory");
    }
    refuse_with(served, asked, given, given->status, given->code, message);
    sqlite3_free(message);
}
