/* test_client_streams.c: logs and events at the command line's end. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "api_fixture.h"
#include "cli/client.h"
#include "harness/client_get.h"
#include "harness/patience.h"
#include "harness/test.h"

static struct client *open_client(struct api *api) {
    struct client *client = NULL;
    struct error err = { 0 };
    if (client_open(api->path, NULL, &client, &err) < 0)
        fail_msg("cannot open: %s", err.text);
    return client;
}

#define CLIENT(name, api) _cleanup_(client_closep) struct client *name = open_client(api)

struct taken {
    struct strbuf text;
    uint64_t last;
    unsigned count, stop_at;
    int result;
};

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    struct taken *taken = ctx;
    strbuf_add(&taken->text, bytes, size);
    return 0;
}

static int take_event(void *ctx, const struct client_event *event) {
    struct taken *taken = ctx;
    taken->last = event->seq;
    strbuf_printf(&taken->text, "%s %s\n", event->kind, event->data);
    return ++taken->count == taken->stop_at ? taken->result : 0;
}

static void write_log(struct api *api, const char *text, size_t times) {
    char path[192];
    api_log_path(api, "out.log", path);
    FILE *file = fopen(path, "ae");
    assert_non_null(file);
    for (size_t i = 0; i < times; i++)
        assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    api_log(api, "out.log", 0, false);
}

TEST(bytes_of_a_log_are_streamed) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    struct taken taken = { .count = 0 };
    write_log(api, "0123456789\n", 50000);
    assert_int_equal(client_stream_bytes(client, "/v1/tasks/1/log", take_bytes, &taken, &err), 200);
    assert_int_equal(taken.text.length, 550000);
    assert_string_equal(client_header(client, "x-sluice-attempt"), "2");
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    assert_int_equal(client_stream_bytes(client, "/v1/tasks/9/log", take_bytes, &taken, &err), 404);
    assert_string_equal(err.text, "there is no such task");
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    assert_int_equal(api_stats(api).accepted, 1);
    strbuf_finish(&taken.text);
}

TEST(events_are_streamed_until_the_callback_has_enough) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    struct taken taken = { .stop_at = 600, .result = 1 };
    api_events(api, 1000);
    assert_int_equal(client_stream_events(client, "/v1/events", 100, take_event, &taken, &err),
                     200);
    assert_int_equal(taken.count, 600);
    assert_int_equal(taken.last, 700);
    ASSERT_HAS(taken.text.text, "task.state {\"seq\":101,");
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    taken.count = 0;
    taken.result = -ECANCELED;
    assert_int_equal(
        client_stream_events(client, "/v1/events?task=web-1", 0, take_event, &taken, &err),
        -ECANCELED);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    strbuf_finish(&taken.text);
}

TEST(a_stream_in_pieces_can_be_polled) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    struct taken taken = { .count = 0 };
    assert_int_equal(
        client_begin_events(client, "/v1/events", CLIENT_EVENTS_NEW, take_event, &taken, &err),
        200);
    assert_int_equal(client_pump(client, &err), 1);
    for (unsigned i = 1; i <= 3; i++) {
        api_event(api, 1, NULL);
        while (taken.count < i) {
            struct pollfd poller = { .fd = client_fd(client), .events = POLLIN };
            assert_int_equal(poll(&poller, 1, patience_ms()), 1);
            assert_int_equal(client_pump(client, &err), 1);
        }
    }
    client_end(client);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    strbuf_finish(&taken.text);
}

TEST(a_stream_that_breaks_is_not_taken_for_complete) {
    API(api);
    CLIENT(client, api);
    struct error err = { 0 };
    struct taken taken = { .count = 0 };
    assert_int_equal(
        client_begin_events(client, "/v1/events", CLIENT_EVENTS_NEW, take_event, &taken, &err),
        200);
    api_stop_accepting(api);
    int r = 1;
    while (r == 1) {
        struct pollfd poller = { .fd = client_fd(client), .events = POLLIN };
        assert_int_equal(poll(&poller, 1, patience_ms()), 1);
        r = client_pump(client, &err);
    }
    assert_int_equal(r, -ECONNRESET);
    client_end(client);
    strbuf_finish(&taken.text);
}

static void nothing_to_do(int number) {
    (void)number;
}

TEST(a_signal_interrupts_a_stream) {
    API(api); /* its thread has the signals of this one blocked */
    CLIENT(client, api);
    struct error err = { 0 };
    struct taken taken = { .count = 0 };
    struct sigaction action = { .sa_handler = nothing_to_do };
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    /* Again and again: the first may come before the wait begins. */
    struct itimerval timer = { { 0, 20000 }, { 0, 20000 } };
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    int r = client_stream_events(client, "/v1/events", CLIENT_EVENTS_NEW, take_event, &taken, &err);
    timer = (struct itimerval){ { 0, 0 }, { 0, 0 } };
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
    assert_int_equal(r, -EINTR);
    assert_int_equal(client_get(client, NULL, &err, "/v1/echo"), 200);
    strbuf_finish(&taken.text);
}
