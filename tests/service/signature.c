#include "service/signature.h"

#include <time.h>

#include <nettle/hmac.h>

#include "service/refusal.h"
#include "service/sas.h"

enum { CLOCK_TOLERANCE = 15 * 60 }; /* seconds */

void signature_make(const service *served, pt_slice text, signature_text signature)
{
    struct hmac_sha256_ctx mac;
    uint8_t digest[SHA256_DIGEST_SIZE];
    pt_slice encoded = pt_slice_text(served->key);
    uint8_t key[200];
    size_t size;
    if (encoded.size > sizeof key || !pt_base64_decode(encoded, key, &size)) {
        give_up("--key", "is not base64, or too long");
    }
    hmac_sha256_set_key(&mac, size, key);
    hmac_sha256_update(&mac, text.size, text.data);
    hmac_sha256_digest(&mac, sizeof digest, digest);
    base64_encode_raw(signature, sizeof digest, digest);
    signature[sizeof(signature_text) - 1] = 0;
}

/* "Sat, 21 Nov 2026 09:00:00 GMT", and not too far from the server's clock. */
static bool is_now(request *asked, pt_slice date)
{
    struct tm parts = {0};
    const char *end = strptime(request_copy(asked, date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return end != NULL && *end == 0 && labs((long)(timegm(&parts) - time(NULL))) < CLOCK_TOLERANCE;
}

/* SharedKeyLite signs the date, a line end, /ACCOUNT and the path as sent. */
static bool is_signed(const service *served, request *asked, pt_slice given)
{
    signature_text signature;
    pt_slice date = request_header(asked, "x-ms-date");
    if (date.data == NULL) {
        date = request_header(asked, "Date");
    }
    pt_slice path = address_path(asked->target);
    const char *text = request_text(asked, "%.*s\n/%s%.*s", (int)date.size, (const char *)date.data,
                                    served->account, (int)path.size, (const char *)path.data);
    signature_make(served, pt_slice_text(text), signature);
    const char *wanted = request_text(asked, "SharedKeyLite %s:%s", served->account, signature);
    return slice_is(given, wanted) && (served->dialect == AZURITE || is_now(asked, date));
}

bool signature_check(service *served, request *asked, const address *named, reply *given)
{
    static const char bearer[] = "Bearer ";
    pt_slice authorization = request_header(asked, "Authorization");
    const char *wrong = "AuthenticationFailed";
    served->granted = (grant){0};
    if (authorization.data == NULL) {
        wrong = sas_judge(served, asked, named);
    } else if (authorization.size > strlen(bearer) &&
               memcmp(authorization.data, bearer, strlen(bearer)) == 0) {
        wrong = served->dialect == AZURE ? NULL : wrong;
    } else if (is_signed(served, asked, authorization)) {
        wrong = NULL;
    }
    if (wrong != NULL) {
        refuse(served, asked, given, served->dialect == AZURITE ? "AuthorizationFailure" : wrong);
    }
    return wrong == NULL;
}
