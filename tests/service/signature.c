#include "service/signature.h"

#include <time.h>

#include <nettle/base64.h>
#include <nettle/hmac.h>

#include "service/refusal.h"

enum { CLOCK_TOLERANCE = 15 * 60 }; /* seconds */

/* SharedKeyLite: base64 of the HMAC of the date, a line end, /ACCOUNT and the path as sent. */
static void sign(const service *served, pt_slice date, pt_slice path,
                 char signature[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1])
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
    hmac_sha256_update(&mac, date.size, date.data);
    hmac_sha256_update(&mac, 2, (const uint8_t *)"\n/");
    hmac_sha256_update(&mac, strlen(served->account), (const uint8_t *)served->account);
    hmac_sha256_update(&mac, path.size, path.data);
    hmac_sha256_digest(&mac, sizeof digest, digest);
    base64_encode_raw(signature, sizeof digest, digest);
    signature[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE)] = 0;
}

/* "Sat, 21 Nov 2026 09:00:00 GMT", and not too far from the server's clock. */
static bool is_now(request *asked, pt_slice date)
{
    struct tm parts = {0};
    const char *end = strptime(request_copy(asked, date), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    return end != NULL && *end == 0 && labs((long)(timegm(&parts) - time(NULL))) < CLOCK_TOLERANCE;
}

static bool is_signed(const service *served, request *asked, pt_slice given)
{
    char signature[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];
    pt_slice date = request_header(asked, "x-ms-date");
    if (date.data == NULL) {
        date = request_header(asked, "Date");
    }
    sign(served, date, address_path(asked->target), signature);
    const char *wanted = request_text(asked, "SharedKeyLite %s:%s", served->account, signature);
    return slice_is(given, wanted) && (served->dialect == AZURITE || is_now(asked, date));
}

bool signature_check(const service *served, request *asked, const address *named, reply *given)
{
    static const char bearer[] = "Bearer ";
    pt_slice authorization = request_header(asked, "Authorization");
    bool is_fine;
    if (authorization.data == NULL) {
        is_fine = address_parameter(asked, named, "sig") != NULL &&
                  address_parameter(asked, named, "sv") != NULL;
    } else if (authorization.size > strlen(bearer) &&
               memcmp(authorization.data, bearer, strlen(bearer)) == 0) {
        is_fine = served->dialect == AZURE;
    } else {
        is_fine = is_signed(served, asked, authorization);
    }
    if (!is_fine) {
        refuse(served, asked, given,
               served->dialect == AZURITE ? "AuthorizationFailure" : "AuthenticationFailed");
    }
    return is_fine;
}
