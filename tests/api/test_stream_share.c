/* test_stream_share.c: one client cannot have all streams. */
#include "api_fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_ops.h"
#include "harness/test.h"

static unsigned port; /* of the server of this test */

static void listen_tcp(struct api *api, void *arg) {
    struct error err = { 0 };
    if (server_listen_tcp(api->server, arg, &err) < 0)
        fail_msg("%s", err.text);
    port = (unsigned)strtoul(strrchr(server_url(api->server), ':') + 1, NULL, 10);
}

static void open_listener(struct api *api) {
    struct server_tcp tcp = { .address = "127.0.0.1:0" };
    api_do(api, listen_tcp, &tcp);
}

/* With the token of this letter (fake_ops.h), from this address. */
static int ask_to_follow(char letter, const char *address) {
    char text[512];
    struct sockaddr_in from = { .sin_family = AF_INET }, to = from;
    to.sin_port = htons((uint16_t)port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(inet_pton(AF_INET, address, &from.sin_addr), 1);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    (void)snprintf(text, sizeof(text),
                   "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n"
                   "Authorization: Bearer " FAKE_TOKEN "\r\nAccept: text/event-stream\r\n\r\n",
                   port);
    *strstr(text, "j_0123") = letter;
    api_send(fd, text);
    return fd;
}

static int follow(char letter, const char *address) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = ask_to_follow(letter, address);
    api_read_until(fd, &text, ":\n\n");
    return fd;
}

static void refused(char letter, const char *address, const char *why) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = ask_to_follow(letter, address);
    api_read_until(fd, &text, "}}\n");
    ASSERT_HAS(strbuf_text(&text), "HTTP/1.1 503");
    ASSERT_HAS(strbuf_text(&text), why);
    close(fd);
}

static int follow_as_owner(struct api *api) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    api_send(fd, "GET /v1/events HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n");
    api_read_until(fd, &text, ":\n\n");
    return fd;
}

/* Of 16 streams 2 are for one token, 8 for one address, and 2 are left for the owner. */
#define STREAMS 16
#define FIRST   "127.0.0.1"
#define SECOND  "127.0.0.2"

TEST(one_token_has_an_eighth_of_the_streams) {
    API(api, .streams_max = STREAMS, .comment_every = HOURS(1));
    open_listener(api);
    int first = follow('j', FIRST), second = follow('j', SECOND);
    refused('j', FIRST, "this token has too many streams");
    int other = follow('k', FIRST); /* another token is not in its way */
    close(first);
    API_WAIT_STAT(api, event_streams, 2);
    first = follow('j', FIRST); /* what was given back can be had again */
    close(first);
    close(second);
    close(other);
}

TEST(all_others_together_leave_some_to_the_owner) {
    API(api, .streams_max = STREAMS, .comment_every = HOURS(1));
    open_listener(api);
    int open[STREAMS];
    size_t count = 0;
    for (; count < STREAMS / 2; count++)
        open[count] = follow((char)('j' + count / 2), FIRST);
    refused('z', FIRST, "this address has too many streams");
    for (; count < STREAMS - 2; count++)
        open[count] = follow((char)('j' + count / 2), SECOND);
    refused('z', SECOND, "the others are for the owner");
    for (; count < STREAMS; count++)
        open[count] = follow_as_owner(api);
    while (count > 0)
        close(open[--count]);
}
