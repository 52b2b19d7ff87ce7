/*
 * Decides if a request may be performed. SharedKeyLite is checked, and the shared access signature
 * of a table. That of an account or a token only has to be there.
 */
#ifndef TESTS_SERVICE_SIGNATURE_H
#define TESTS_SERVICE_SIGNATURE_H

#include <nettle/base64.h>
#include <nettle/sha2.h>

#include "service/address.h"

typedef char signature_text[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE) + 1];

/* Signs a text with the account's key. */
void signature_make(const service *served, pt_slice text, signature_text signature);

/* True if the request is authorized; otherwise the reply says why not. */
bool signature_check(service *served, request *asked, const address *named, reply *given);

#endif
