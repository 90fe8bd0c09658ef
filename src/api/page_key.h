/* page_key.h: requests that a page of the dashboard signs.
 *
 * A browser keeps the private key and never shows it, not even to the page. So nothing that a page
 * sends is worth anything to another listener: a signature counts for one request, for one host and
 * port, and for one start of the daemon, which has drawn a random `boot` for it. A program that
 * listens at the port while the daemon is down cannot know the next `boot`; one that passes on what
 * it gets listens at another port than the daemon.
 *
 *   Authorization: Sluice-Key ID BOOT BODY SIGNATURE
 *
 * BODY is the SHA-256 of the body, or "-" without one. SIGNATURE is ECDSA over P-256 with SHA-256,
 * as r and s, of the text that page_key_text prints. Digits are hexadecimal, in lower case. */
#pragma once

#include <stdbool.h>

#include "api/http_parser.h"
#include "base/sha256.h"
#include "engine/access.h"

#define PAGE_KEY_SCHEME         "Sluice-Key "
#define PAGE_KEY_SIGNATURE_SIZE 64u

struct page_key_header {
    char id[ACCESS_ID_SIZE];
    char boot[ACCESS_SECRET_SIZE];
    char body[SHA256_HEX_SIZE];
    uint8_t signature[PAGE_KEY_SIGNATURE_SIZE];
};

/* `value`: of the header Authorization. False: not in this form. */
bool page_key_parse(const char *value, struct page_key_header *ret);
/* What is signed: lines with the version, host, boot, id, method, target and body. */
void page_key_text(const struct http_request *request, const struct page_key_header *header,
                   struct strbuf *out);
/* False also for a key that is not a point of the curve. */
bool page_key_verify(const uint8_t key[ACCESS_KEY_SIZE], const char *text, size_t size,
                     const uint8_t signature[PAGE_KEY_SIGNATURE_SIZE]);
/* Is the body the one that was signed? At HTTP_COMPLETE. */
bool page_key_body_fits(const struct http_request *request, const char *body);
