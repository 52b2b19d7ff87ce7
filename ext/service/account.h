/*
 * An account of the Table service: where it is, and how a request proves that it may be made. Both
 * come from a connection string. No message contains a secret of it.
 */
#ifndef PT_SERVICE_ACCOUNT_H
#define PT_SERVICE_ACCOUNT_H

#include "base/buffer.h"
#include "base/error.h"
#include "service/dialect.h"

typedef enum pt_credential {
    PT_CREDENTIAL_KEY,   /* the account's key signs each request */
    PT_CREDENTIAL_SAS,   /* a shared access signature, part of each URL */
    PT_CREDENTIAL_TOKEN, /* a bearer token of Entra ID */
} pt_credential;

typedef struct pt_account {
    char *name;       /* the service's name of the account; "" if it is not needed */
    char *endpoint;   /* URL without a slash at its end */
    const char *path; /* of the endpoint, inside it: "" or "/devstoreaccount1" */
    bool plain;       /* http instead of https */
    bool loopback;    /* the endpoint is this machine */
    pt_credential credential;
    char *secret; /* the key's bytes, the SAS without '?', or the token; a NUL follows */
    size_t secret_size;
    pt_dialect dialect; /* as far as the endpoint or a reply has told */
    bool has_replied;   /* a reply has been asked for the dialect */
} pt_account;

/*
 * Reads a connection string as the Azure portal shows it: Name=value pairs with ; between them, in
 * any case of the names. Blanks and line ends around the text are ignored.
 *
 *     AccountName, AccountKey      the shared key
 *     SharedAccessSignature        an account or table SAS, with or without '?'
 *     BearerToken                  a token, as from `az account get-access-token`
 *     TableEndpoint                or, without it, https://AccountName.table.EndpointSuffix
 *     EndpointSuffix               core.windows.net
 *     DefaultEndpointsProtocol     https
 *     UseDevelopmentStorage=true   the emulator on this machine
 *
 * Other names (BlobEndpoint, ...) are ignored. SQLITE_NOMEM, or SQLITE_ERROR with a text that says
 * which part is wrong. http is allowed to this machine only, except with the emulator's public key.
 */
int pt_account_parse(pt_slice text, pt_account *account, pt_error *error);

/* Overwrites the secret before it frees it. */
void pt_account_free(pt_account *account);

/* Appends the signature of a text, given in parts, with the account's key, in base64. */
void pt_account_sign(const pt_account *account, const pt_slice *parts, size_t count,
                     pt_buffer *signature);

/*
 * Appends the value of a header "Authorization" for a request: SharedKeyLite or a bearer token. Not
 * for a SAS. `date` is the value of x-ms-date; `path` is that of the URL exactly as it is sent.
 */
void pt_account_authorize(const pt_account *account, const char *date, pt_slice path,
                          pt_buffer *header);

#endif
