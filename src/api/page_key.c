/* page_key.c: see page_key.h. */
#include "api/page_key.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"

#define VERSION  "sluice-key-1"
#define NO_BODY  "-"
#define HALF     (PAGE_KEY_SIGNATURE_SIZE / 2)
#define WORD_MAX (2 * PAGE_KEY_SIGNATURE_SIZE)

/* --- the header ------------------------------------------------------------------------------ */

/* The next word, copied with its NUL. False: none, or longer than size - 1. */
static bool take_word(const char **at, char *ret, size_t size) {
    size_t length = strcspn(*at, " ");
    if (length == 0 || length >= size)
        return false;
    memcpy(ret, *at, length);
    ret[length] = '\0';
    *at += length + ((*at)[length] == ' ');
    return true;
}

bool page_key_parse(const char *value, struct page_key_header *ret) {
    char digits[WORD_MAX + 1];
    if (strncasecmp(value, PAGE_KEY_SCHEME, strlen(PAGE_KEY_SCHEME)) != 0)
        return false;
    const char *at = value + strlen(PAGE_KEY_SCHEME);
    return take_word(&at, ret->id, sizeof(ret->id)) && take_word(&at, ret->boot, sizeof(ret->boot))
           && take_word(&at, ret->body, sizeof(ret->body)) && take_word(&at, digits, sizeof(digits))
           && *at == '\0' && number_hex_parse(digits, ret->signature, sizeof(ret->signature));
}

void page_key_text(const struct http_request *request, const struct page_key_header *header,
                   struct strbuf *out) {
    const char *host = http_request_header(request, "host");
    strbuf_printf(out, VERSION "\n%s\n%s\n%s\n%s\n%s%s%s\n%s", host ? host : "", header->boot,
                  header->id, request->method, request->path, request->query ? "?" : "",
                  request->query ? request->query : "", header->body);
}

bool page_key_body_fits(const struct http_request *request, const char *body) {
    uint8_t hash[SHA256_SIZE];
    char digits[SHA256_HEX_SIZE];
    if (request->body.length == 0)
        return strcmp(body, NO_BODY) == 0;
    sha256_of(request->body.text, request->body.length, hash);
    sha256_hex(hash, digits);
    return strcmp(body, digits) == 0;
}

/* --- the signature --------------------------------------------------------------------------- */

static EVP_PKEY *make_key(const uint8_t point[ACCESS_KEY_SIZE]) {
    char group[] = "P-256";
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group, 0),
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, (void *)(uintptr_t)point,
                                          ACCESS_KEY_SIZE),
        OSSL_PARAM_construct_end(),
    };
    EVP_PKEY *key = NULL;
    EVP_PKEY_CTX *ctx = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (!ctx || EVP_PKEY_fromdata_init(ctx) <= 0
        || EVP_PKEY_fromdata(ctx, &key, EVP_PKEY_PUBLIC_KEY, params) <= 0)
        key = NULL;
    EVP_PKEY_CTX_free(ctx);
    return key;
}

/* OpenSSL takes r and s as DER. The length; 0: it cannot be made. */
static size_t make_der(const uint8_t signature[PAGE_KEY_SIGNATURE_SIZE], uint8_t **ret) {
    ECDSA_SIG *pair = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(signature, HALF, NULL), *s = BN_bin2bn(signature + HALF, HALF, NULL);
    int size = 0;
    *ret = NULL;
    if (pair && r && s && ECDSA_SIG_set0(pair, r, s) == 1) {
        size = i2d_ECDSA_SIG(pair, ret);
    } else {
        BN_free(r);
        BN_free(s);
    }
    ECDSA_SIG_free(pair);
    return size > 0 ? (size_t)size : 0;
}

bool page_key_verify(const uint8_t key[ACCESS_KEY_SIZE], const char *text, size_t size,
                     const uint8_t signature[PAGE_KEY_SIGNATURE_SIZE]) {
    uint8_t *der = NULL;
    EVP_PKEY *point = make_key(key);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t length = make_der(signature, &der);
    bool fits = point && ctx && length > 0
                && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, point) == 1
                && EVP_DigestVerify(ctx, der, length, (const unsigned char *)text, size) == 1;
    ERR_clear_error(); /* the next call of TLS must not find it */
    OPENSSL_free(der);
    EVP_MD_CTX_free(ctx);
    EVP_PKEY_free(point);
    return fits;
}
