/* test_page_key.c: requests that a page signs: what a signature is good for, and what it is not. */
#include "api_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/page_key.h"
#include "base/number.h"
#include "fake_ops.h"
#include "harness/test.h"

#define ID "abcdefghik"

/* --- a page ---------------------------------------------------------------------------------- */

struct page {
    struct api *api;
    EVP_PKEY *key;
    unsigned port;
};

/* What is signed. The request that is sent may differ. */
struct signing {
    const char *method, *target, *host, *boot, *body; /* NULL: as sent */
};

static void listen_tcp(struct api *api, void *arg) {
    struct page *page = arg;
    struct error err = { 0 };
    if (server_listen_tcp(api->server, &(struct server_tcp){ .address = "127.0.0.1:0" }, &err) < 0)
        fail_msg("%s", err.text);
    page->port = (unsigned)strtoul(strrchr(server_url(api->server), ':') + 1, NULL, 10);
}

static void open_page(struct page *page, struct api *api) {
    size_t size = 0;
    *page = (struct page){ .api = api, .key = EVP_EC_gen("P-256") };
    assert_non_null(page->key);
    fake.page = (struct engine_access){ .id = ID,
                                        .name = (char *)(uintptr_t) "dashboard",
                                        .scope = ACCESS_SUBMIT,
                                        .session = true,
                                        .has_key = true,
                                        .expires_at = TIME_NEVER };
    assert_int_equal(EVP_PKEY_get_octet_string_param(page->key, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY,
                                                     fake.page.key, sizeof(fake.page.key), &size),
                     1);
    assert_int_equal(size, ACCESS_KEY_SIZE);
    api_do(api, listen_tcp, page);
}

static void close_page(struct page *page) {
    EVP_PKEY_free(page->key);
}

static void hash_body(const char *body, char ret[SHA256_HEX_SIZE]) {
    uint8_t hash[SHA256_SIZE];
    (void)snprintf(ret, SHA256_HEX_SIZE, "-");
    if (!*body)
        return;
    sha256_of(body, strlen(body), hash);
    sha256_hex(hash, ret);
}

/* r and s, as browsers make them. */
static void sign(const struct page *page, const char *text, char ret[129]) {
    uint8_t der[128], raw[64] = { 0 };
    size_t size = sizeof(der);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    assert_int_equal(EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, page->key), 1);
    assert_int_equal(EVP_DigestSign(ctx, der, &size, (const unsigned char *)text, strlen(text)), 1);
    EVP_MD_CTX_free(ctx);
    const unsigned char *at = der;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
    assert_non_null(pair);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw, 32), 32);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), raw + 32, 32), 32);
    ECDSA_SIG_free(pair);
    number_hex_print(raw, sizeof(raw), ret);
}

static void print_header(const struct page *page, const struct signing *s, struct strbuf *out) {
    char body[SHA256_HEX_SIZE], host[64], signature[129];
    const char *boot = s->boot ? s->boot : FAKE_BOOT;
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    hash_body(s->body ? s->body : "", body);
    (void)snprintf(host, sizeof(host), "127.0.0.1:%u", page->port);
    strbuf_printf(&text, "sluice-key-1\n%s\n%s\n" ID "\n%s\n%s\n%s", s->host ? s->host : host, boot,
                  s->method, s->target, body);
    sign(page, strbuf_text(&text), signature);
    strbuf_printf(out, "Authorization: Sluice-Key " ID " %s %s %s\r\n", boot, body, signature);
}

/* Sends it with this header; the complete answer. */
static const char *sent_to = "127.0.0.1"; /* in the Host header */

static int send_with(const struct page *page, const char *header, const char *method,
                     const char *target, const char *body, struct strbuf *answer) {
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)page->port) };
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    strbuf_printf(&request, "%s %s HTTP/1.1\r\nHost: %s:%u\r\nConnection: close\r\n%s", method,
                  target, sent_to, page->port, header);
    if (*body)
        strbuf_printf(&request, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
                      strlen(body));
    strbuf_printf(&request, "\r\n%s", body);
    api_send(fd, strbuf_text(&request));
    strbuf_clear(answer);
    api_read_all(fd, answer);
    close(fd);
    return (int)strtol(strbuf_text(answer) + strlen("HTTP/1.1 "), NULL, 10);
}

static int ask(const struct page *page, const struct signing *s, const char *method,
               const char *target, const char *body) {
    _cleanup_(strbuf_finish) struct strbuf header = STRBUF_INIT, answer = STRBUF_INIT;
    print_header(page, s, &header);
    return send_with(page, strbuf_text(&header), method, target, body, &answer);
}

#define PAGE(name)                                                                                 \
    API(api_of_##name, .refusal_delay = 1);                                                        \
    _cleanup_(close_page) struct page name;                                                        \
    open_page(&name, api_of_##name)

/* --- rules ----------------------------------------------------------------------------------- */

TEST(a_signed_request_has_the_rights_of_its_session) {
    PAGE(page);
    assert_int_equal(ask(&page, &(struct signing){ "GET", "/v1/echo" }, "GET", "/v1/echo", ""),
                     200);
    assert_int_equal(fake.access.scope, ACCESS_SUBMIT);
    assert_string_equal(fake.access.id, ID);
    struct signing post = { "POST", "/v1/echo", .body = "{\"a\":1}" };
    assert_int_equal(ask(&page, &post, "POST", "/v1/echo", "{\"a\":1}"), 200);
    struct signing query = { "GET", "/v1/events?limit=1" };
    assert_int_equal(ask(&page, &query, "GET", "/v1/events?limit=1", ""), 200);
}

TEST(a_signature_counts_for_one_request_of_one_page_at_one_place) {
    PAGE(page);
    char other[64];
    (void)snprintf(other, sizeof(other), "127.0.0.1:%u", page.port ^ 1u);
    const struct signing wrong[] = {
        { "POST", "/v1/echo" },
        { "GET", "/v1/echo?a=1" },
        { "GET", "/v1/events" },
        { "GET", "/v1/echo", .host = other }, /* another program listened there */
        { "GET", "/v1/echo", .host = "" },
        { "GET", "/v1/echo", .body = "x" },
    };
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        if (ask(&page, &wrong[i], "GET", "/v1/echo", "") != 401)
            fail_msg("request %zu was accepted", i);
    struct signing another = { "POST", "/v1/echo", .body = "{\"a\":1}" };
    assert_int_equal(ask(&page, &another, "POST", "/v1/echo", "{\"a\":2}"), 401);
    assert_int_equal(ask(&page, &another, "POST", "/v1/echo", ""), 401);
}

TEST(a_name_that_another_program_may_answer_for_is_not_signed_for) {
    PAGE(page);
    char host[64];
    (void)snprintf(host, sizeof(host), "localhost:%u", page.port);
    sent_to = "localhost";
    int status =
        ask(&page, &(struct signing){ "GET", "/v1/echo", .host = host }, "GET", "/v1/echo", "");
    sent_to = "127.0.0.1";
    assert_int_equal(status, 401);
}

TEST(the_signature_of_an_earlier_start_is_refused_with_the_new_boot) {
    PAGE(page);
    _cleanup_(strbuf_finish) struct strbuf header = STRBUF_INIT, answer = STRBUF_INIT;
    print_header(&page, &(struct signing){ "GET", "/v1/echo", .boot = "an-earlier-one" }, &header);
    for (int i = 0; i < 30; i++) /* no guess, so it is not delayed */
        assert_int_equal(send_with(&page, strbuf_text(&header), "GET", "/v1/echo", "", &answer),
                         401);
    ASSERT_HAS(strbuf_text(&answer), "X-Sluice-Boot: " FAKE_BOOT "\r\n");
    ASSERT_HAS(strbuf_text(&answer), "\"stale\"");
}

TEST(who_does_not_have_the_key_learns_nothing) {
    PAGE(page);
    _cleanup_(close_page) struct page thief = page;
    _cleanup_(strbuf_finish) struct strbuf header = STRBUF_INIT, answer = STRBUF_INIT;
    thief.key = EVP_EC_gen("P-256");
    print_header(&thief, &(struct signing){ "GET", "/v1/echo", .boot = "an-earlier-one" }, &header);
    assert_int_equal(send_with(&page, strbuf_text(&header), "GET", "/v1/echo", "", &answer), 401);
    ASSERT_HAS_NOT(strbuf_text(&answer), "X-Sluice-Boot");
}

TEST(a_header_in_another_form_is_refused) {
    PAGE(page);
    _cleanup_(strbuf_finish) struct strbuf good = STRBUF_INIT, answer = STRBUF_INIT;
    print_header(&page, &(struct signing){ "GET", "/v1/echo" }, &good);
    char *text = good.text;
    size_t length = strlen(text);
    static const char *const forms[] = {
        "Authorization: Sluice-Key\r\n",
        "Authorization: Sluice-Key " ID "\r\n",
        "Authorization: Sluice-Key " ID " " FAKE_BOOT " -\r\n",
        "Authorization: Sluice-Key " ID " " FAKE_BOOT " - 00\r\n",
        "Authorization: Bearer " ID "\r\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
        assert_int_equal(send_with(&page, forms[i], "GET", "/v1/echo", "", &answer), 401);
    char last = text[length - 3];
    text[length - 3] = last == '0' ? '1' : '0';
    assert_int_equal(send_with(&page, text, "GET", "/v1/echo", "", &answer), 401);
    text[length - 3] = last;
    good.length -= strlen("\r\n");
    strbuf_puts(&good, " x\r\n"); /* one word more */
    assert_int_equal(send_with(&page, strbuf_text(&good), "GET", "/v1/echo", "", &answer), 401);
}

TEST(a_point_that_is_not_on_the_curve_signs_nothing) {
    PAGE(page);
    fake.page.key[10] ^= 1;
    assert_int_equal(ask(&page, &(struct signing){ "GET", "/v1/echo" }, "GET", "/v1/echo", ""),
                     401);
    memset(fake.page.key, 0, sizeof(fake.page.key));
    assert_int_equal(ask(&page, &(struct signing){ "GET", "/v1/echo" }, "GET", "/v1/echo", ""),
                     401);
    static const uint8_t nothing[64];
    assert_false(page_key_verify(fake.page.key, "", 0, nothing));
}
