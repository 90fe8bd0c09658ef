/* test_page.c: the files of the dashboard: with which headers they come, to whom, and from where. */
#include "api_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scratch.h"
#include "harness/test.h"
#include "web/web.h"

#define SCRIPT "GET /assets/app-0a1b2c.js"

static unsigned port;

static void listen_tcp(struct api *api, void *arg) {
    struct error err = { 0 };
    (void)arg;
    if (server_listen_tcp(api->server, &(struct server_tcp){ .address = "127.0.0.1:0" }, &err) < 0)
        fail_msg("%s", err.text);
    port = (unsigned)strtoul(strrchr(server_url(api->server), ':') + 1, NULL, 10);
}

static int ask(struct api *api, const char *line, const char *headers, struct strbuf *answer) {
    struct sockaddr_in address = { .sin_family = AF_INET };
    _cleanup_(strbuf_finish) struct strbuf request = STRBUF_INIT;
    if (!port)
        api_do(api, listen_tcp, NULL);
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    strbuf_printf(&request, "%s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n%s\r\n",
                  line, port, headers);
    api_send(fd, strbuf_text(&request));
    strbuf_clear(answer);
    api_read_all(fd, answer);
    close(fd);
    return (int)strtol(strbuf_text(answer) + strlen("HTTP/1.1 "), NULL, 10);
}

TEST(the_page_needs_no_token_and_is_asked_for_again) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    port = 0;
    static const char *const paths[] = { "GET /", "GET /index.html" };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_int_equal(ask(api, paths[i], "", &answer), 200);
        ASSERT_HAS(strbuf_text(&answer), "Content-Type: text/html; charset=utf-8\r\n");
        ASSERT_HAS(strbuf_text(&answer), "Cache-Control: no-cache\r\n");
        ASSERT_HAS(strbuf_text(&answer), "<title>sample</title>");
    }
    assert_int_equal(ask(api, "HEAD /", "", &answer), 200);
    ASSERT_HAS_NOT(strbuf_text(&answer), "<title>");
}

TEST(every_file_comes_with_what_keeps_it_in_its_place) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    port = 0;
    static const char *const paths[] = { "GET /", SCRIPT, "GET /robots.txt" };
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
        assert_int_equal(ask(api, paths[i], "", &answer), 200);
        ASSERT_HAS(strbuf_text(&answer),
                   "Content-Security-Policy: default-src 'none'; script-src 'self'; ");
        ASSERT_HAS(strbuf_text(&answer), "frame-ancestors 'none'\r\n");
        ASSERT_HAS(strbuf_text(&answer), "X-Content-Type-Options: nosniff\r\n");
        ASSERT_HAS(strbuf_text(&answer), "Referrer-Policy: no-referrer\r\n");
        ASSERT_HAS_NOT(strbuf_text(&answer), "unsafe");
        ASSERT_HAS_NOT(strbuf_text(&answer), "Set-Cookie");
    }
}

TEST(assets_are_kept_for_ever_and_compressed_for_those_who_can) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf plain = STRBUF_INIT, packed = STRBUF_INIT;
    port = 0;
    assert_int_equal(ask(api, SCRIPT, "", &plain), 200);
    ASSERT_HAS(strbuf_text(&plain), "Cache-Control: public, max-age=31536000, immutable\r\n");
    ASSERT_HAS(strbuf_text(&plain), "Content-Type: text/javascript; charset=utf-8\r\n");
    ASSERT_HAS(strbuf_text(&plain), "Vary: Accept-Encoding\r\n");
    ASSERT_HAS(strbuf_text(&plain), "console.log(");
    ASSERT_HAS_NOT(strbuf_text(&plain), "Content-Encoding");
    assert_int_equal(ask(api, SCRIPT, "Accept-Encoding: br, gzip\r\n", &packed), 200);
    ASSERT_HAS(strbuf_text(&packed), "Content-Encoding: gzip\r\n");
    assert_true(packed.length < plain.length);
    /* Too small to become smaller. */
    assert_int_equal(ask(api, "GET /robots.txt", "Accept-Encoding: gzip\r\n", &packed), 200);
    ASSERT_HAS_NOT(strbuf_text(&packed), "Content-Encoding");
}

TEST(who_has_it_gets_it_not_again) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT, header = STRBUF_INIT;
    port = 0;
    (void)ask(api, "GET /", "", &answer);
    const char *tag = strstr(strbuf_text(&answer), "ETag: ");
    assert_non_null(tag);
    strbuf_printf(&header, "If-None-Match: %.*s\r\n", (int)strcspn(tag + 6, "\r"), tag + 6);
    assert_int_equal(ask(api, "GET /", strbuf_text(&header), &answer), 304);
    ASSERT_HAS_NOT(strbuf_text(&answer), "<title>");
    ASSERT_HAS_NOT(strbuf_text(&answer), "Content-Length");
    assert_int_equal(ask(api, "GET /", "If-None-Match: \"other\"\r\n", &answer), 200);
}

TEST(the_page_passes_the_gate_like_everything) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
    port = 0;
    assert_int_equal(ask(api, "GET /", "Origin: http://evil.example\r\n", &answer), 403);
    assert_int_equal(ask(api, "GET /", "Sec-Fetch-Site: cross-site\r\n", &answer), 403);
    assert_int_equal(ask(api, "POST /", "", &answer), 401);
    assert_int_equal(ask(api, "GET /assets/", "", &answer), 401);
    assert_int_equal(ask(api, "GET /../index.html", "", &answer), 401);
    ANSWER(unix_answer);
    api_once(api, GET("/"), 404, &unix_answer); /* the socket is for programs */
}

static void write_file(const char *folder, const char *name, const char *text) {
    char path[256];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

TEST(a_folder_can_stand_for_what_is_built_in) {
    char folder[SCRATCH_PATH], inside[80], link[80];
    scratch_make(folder, "web");
    (void)snprintf(inside, sizeof(inside), "%s/dist", folder);
    (void)snprintf(link, sizeof(link), "%s/dist/link.txt", folder);
    assert_int_equal(mkdir(inside, 0700), 0);
    write_file(folder, "secret.txt", "not to be seen");
    write_file(inside, "index.html", "from the folder");
    assert_int_equal(symlink("../secret.txt", link), 0);
    {
        API(api, .web_dir = inside);
        _cleanup_(strbuf_finish) struct strbuf answer = STRBUF_INIT;
        port = 0;
        assert_int_equal(ask(api, "GET /", "", &answer), 200);
        ASSERT_HAS(strbuf_text(&answer), "from the folder");
        ASSERT_HAS(strbuf_text(&answer), "Content-Security-Policy: default-src 'none'");
        ASSERT_HAS(strbuf_text(&answer), "Cache-Control: no-cache\r\n");
        write_file(inside, "index.html", "changed");
        assert_int_equal(ask(api, "GET /", "", &answer), 200);
        ASSERT_HAS(strbuf_text(&answer), "changed");
        static const char *const outside[] = {
            "GET /../secret.txt",     "GET /link.txt", "GET //etc/passwd",
            "GET /%2e%2e/secret.txt", "GET /./",       SCRIPT
        };
        for (size_t i = 0; i < ARRAY_SIZE(outside); i++)
            if (ask(api, outside[i], "", &answer) != 401)
                fail_msg("%s: %s", outside[i], strbuf_text(&answer));
    }
    scratch_remove(folder);
}

TEST(types_come_from_names) {
    assert_string_equal(web_type("/"), "text/html; charset=utf-8");
    assert_string_equal(web_type("/a.svg"), "image/svg+xml");
    assert_string_equal(web_type("/a.unknown"), "application/octet-stream");
    assert_string_equal(web_type("/.js"), "text/javascript; charset=utf-8");
}
