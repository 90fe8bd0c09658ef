/* test_events.c: a stream of events has no gap, no duplicate and a bounded queue. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_fixture.h"
#include "fake_ops.h"
#include "harness/test.h"

#define SSE(query, more)                                                                           \
    "GET /v1/events" query " HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n" more "\r\n"

/* What a client has taken out of a stream. */
struct seen {
    struct strbuf raw, text; /* as it came; without the chunks */
    size_t parsed;
    uint64_t last;
    size_t count, gaps, resets, overflows, comments;
};

static void seen_finish(struct seen *seen) {
    strbuf_finish(&seen->raw);
    strbuf_finish(&seen->text);
}

/* Takes whole chunks out of what has come. true: the last one was there. */
static bool take_chunks(struct seen *seen) {
    char *begin = seen->raw.text, *at = begin, *line;
    bool last = false;
    while ((line = strstr(at, "\r\n")) && !last) {
        size_t size = strtoul(at, NULL, 16);
        if (seen->raw.length - (size_t)(line + 2 - begin) < size + 2)
            break;
        strbuf_add(&seen->text, line + 2, size);
        at = line + 2 + size + 2;
        last = size == 0;
    }
    size_t rest = seen->raw.length - (size_t)(at - begin);
    memmove(begin, at, rest);
    begin[rest] = '\0';
    seen->raw.length = rest;
    return last;
}

static void take_event(struct seen *seen, const char *text) {
    const char *id = strstr(text, "id: "), *kind = strstr(text, "event: ");
    if (text[0] == ':') {
        seen->comments++;
        return;
    }
    assert_true(id && kind && strstr(text, "\ndata: {"));
    uint64_t seq = strtoull(id + 4, NULL, 10);
    bool reset = strncmp(kind, "event: reset\n", 13) == 0;
    bool overflow = strncmp(kind, "event: overflow\n", 16) == 0;
    seen->resets += reset;
    seen->overflows += overflow;
    if (!reset && !overflow) {
        char data[32];
        (void)snprintf(data, sizeof(data), "data: {\"seq\":%lu,", (unsigned long)seq);
        ASSERT_HAS(text, data);
        seen->count++;
        seen->gaps += seen->last != 0 && seq != seen->last + 1;
    }
    seen->last = seq;
}

static void take_events(struct seen *seen) {
    char *end;
    while (seen->text.length > seen->parsed
           && (end = strstr(seen->text.text + seen->parsed, "\n\n"))) {
        *end = '\0';
        take_event(seen, seen->text.text + seen->parsed);
        *end = '\n';
        seen->parsed = (size_t)(end - seen->text.text) + 2;
    }
}

static int open_stream(struct api *api, const char *request, struct seen *seen) {
    int fd = api_connect(api);
    api_send(fd, request);
    api_read_until(fd, &seen->raw, "\r\n\r\n");
    char *body = strstr(seen->raw.text, "\r\n\r\n");
    *body = '\0';
    ASSERT_HAS(seen->raw.text, "HTTP/1.1 200 OK\r\n");
    ASSERT_HAS(seen->raw.text, "Content-Type: text/event-stream");
    ASSERT_HAS(seen->raw.text, "Cache-Control: no-store");
    size_t rest = seen->raw.length - (size_t)(body + 4 - seen->raw.text);
    memmove(seen->raw.text, body + 4, rest + 1);
    seen->raw.length = rest;
    return fd;
}

/* Reads until the event with this number has come. */
static void read_to(int fd, struct seen *seen, uint64_t seq) {
    for (;;) {
        (void)take_chunks(seen);
        take_events(seen);
        if (seen->last >= seq)
            return;
        size_t before = seen->raw.length;
        api_read_more(fd, &seen->raw);
        if (seen->raw.length == before)
            fail_msg("the stream ended behind event %lu, expected %lu", (unsigned long)seen->last,
                     (unsigned long)seq);
    }
}

#define SEEN(name) _cleanup_(seen_finish) struct seen name = { .last = 0 }

/* --- where it begins ----------------------------------------------------------------------------- */

TEST(a_stream_goes_on_behind_the_event_that_was_seen_last) {
    API(api);
    SEEN(seen);
    api_events(api, 5);
    int fd = open_stream(api, SSE("?after=2", ""), &seen);
    read_to(fd, &seen, 5);
    assert_int_equal(seen.count, 3);
    api_event(api, 1, "{\"to\":\"done\"}");
    read_to(fd, &seen, 6);
    assert_int_equal(seen.count, 4);
    assert_int_equal(seen.gaps + seen.resets, 0);
    ASSERT_HAS(seen.text.text, "id: 6\nevent: task.state\ndata: {\"seq\":6,\"at\":1006,\"kind\":"
                               "\"task.state\",\"task\":\"web-1\",\"attempt\":null,"
                               "\"data\":{\"to\":\"done\"}}\n\n");
    close(fd);
}

TEST(the_header_of_a_client_that_comes_back_wins) {
    API(api);
    SEEN(seen);
    api_events(api, 9);
    int fd = open_stream(api, SSE("?after=2", "Last-Event-ID: 7\r\n"), &seen);
    read_to(fd, &seen, 9);
    assert_int_equal(seen.count, 2);
    close(fd);
}

TEST(without_a_position_it_begins_with_what_comes) {
    API(api);
    SEEN(seen);
    api_events(api, 100);
    int fd = open_stream(api, SSE("", ""), &seen);
    api_events(api, 2);
    read_to(fd, &seen, 102);
    assert_int_equal(seen.count, 2);
    close(fd);
}

TEST(from_zero_means_from_the_first_that_is_kept) {
    API(api);
    SEEN(seen);
    api_events(api, 20);
    api_prune(api, 11);
    int fd = open_stream(api, SSE("?after=0", ""), &seen);
    read_to(fd, &seen, 20);
    assert_int_equal(seen.count, 10);
    assert_int_equal(seen.resets, 0);
    close(fd);
}

TEST(stored_and_live_events_look_the_same) {
    API(api);
    SEEN(stored);
    SEEN(live);
    int fd = open_stream(api, SSE("", ""), &live);
    api_event(api, 0, NULL);
    api_event(api, 3, "{\"a\":[1,\"x\"]}");
    read_to(fd, &live, 2);
    close(fd);
    fd = open_stream(api, SSE("?after=0", ""), &stored);
    read_to(fd, &stored, 2);
    close(fd);
    assert_string_equal(strstr(live.text.text, "id: "), strstr(stored.text.text, "id: "));
}

/* --- the seam ------------------------------------------------------------------------------------ */

static void add_in_turn(struct api *api, void *arg) {
    (void)api;
    fake.events_in_turn = *(size_t *)arg;
}

static void get_last_event(struct api *api, void *arg) {
    (void)api;
    *(uint64_t *)arg = fake.last_event;
}

TEST(between_stored_and_live_nothing_is_lost_or_doubled) {
    API(api);
    SEEN(seen);
    size_t three = 3;
    api_events(api, 1700); /* some pages */
    int fd = open_stream(api, SSE("?after=0", ""), &seen);
    for (int i = 0; i < 40; i++) {
        api_do(api, add_in_turn, &three); /* in the turn of the next page, published after it */
        api_event(api, 1, NULL);          /* between two pages */
    }
    api_do(api, add_in_turn, &(size_t){ 0 });
    uint64_t last;
    api_do(api, get_last_event, &last);
    read_to(fd, &seen, last);
    assert_int_equal(seen.gaps + seen.resets, 0);
    assert_int_equal(seen.count, last);
    api_events(api, 5);
    read_to(fd, &seen, last + 5);
    assert_int_equal(seen.count, last + 5);
    assert_int_equal(seen.gaps, 0);
    close(fd);
}

TEST(events_of_the_turn_that_answers_the_first_page_come_once) {
    for (size_t in_turn = 0; in_turn < 4; in_turn++) {
        API(api);
        SEEN(seen);
        api_events(api, 3);
        api_do(api, add_in_turn, &in_turn);
        int fd = open_stream(api, SSE("?after=1", ""), &seen);
        api_events(api, 2);
        read_to(fd, &seen, 3 + in_turn + 2);
        assert_int_equal(seen.count, 2 + in_turn + 2);
        assert_int_equal(seen.gaps, 0);
        close(fd);
    }
}

TEST(a_stream_of_one_task_has_its_events_only) {
    API(api);
    SEEN(seen);
    for (int i = 0; i < 1500; i++)
        api_event(api, 1 + (unsigned)i % 3, NULL); /* 1 2 3 1 2 3 … */
    int fd = open_stream(api, SSE("?after=0&task=web-2", ""), &seen);
    read_to(fd, &seen, 1499);
    assert_int_equal(seen.count, 500);
    api_event(api, 1, NULL);
    api_event(api, 2, NULL);
    read_to(fd, &seen, 1502);
    assert_int_equal(seen.count, 501);
    ASSERT_HAS_NOT(seen.text.text, "web-1");
    close(fd);
}

/* --- reset, overflow ----------------------------------------------------------------------------- */

TEST(a_position_that_was_deleted_or_never_existed_is_reset) {
    static const char *const requests[] = { SSE("?after=5", ""), SSE("?after=1000", ""),
                                            SSE("?after=5&task=web-1", "") };
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++) {
        API(api);
        SEEN(seen);
        api_events(api, 30);
        api_prune(api, 10);
        int fd = open_stream(api, requests[i], &seen);
        read_to(fd, &seen, 30);
        assert_int_equal(seen.resets, 1);
        assert_int_equal(seen.count, 0);
        ASSERT_HAS(seen.text.text, "id: 30\nevent: reset\ndata: {\"first\":10,\"last\":30}\n\n");
        api_event(api, 1, NULL); /* and continues from there */
        read_to(fd, &seen, 31);
        assert_int_equal(seen.count, 1);
        close(fd);
    }
}

TEST(the_last_position_before_the_first_kept_is_no_reset) {
    API(api);
    SEEN(seen);
    api_events(api, 30);
    api_prune(api, 10);
    int fd = open_stream(api, SSE("?after=9", ""), &seen);
    read_to(fd, &seen, 30);
    assert_int_equal(seen.resets, 0);
    assert_int_equal(seen.count, 21);
    close(fd);
}

TEST(a_live_client_that_does_not_read_gets_overflow_and_is_dropped) {
    API(api, .queue_max = 100000);
    SEEN(seen);
    SEEN(again);
    int fd = open_stream(api, SSE("", ""), &seen);
    size_t sent = 0;
    while (api_stats(api).dropped_slow == 0) {
        api_events(api, 200);
        sent += 200;
    }
    /* What was queued comes, without a gap, and then why it ends. */
    while (!take_chunks(&seen)) {
        size_t before = seen.raw.length;
        api_read_more(fd, &seen.raw);
        assert_true(seen.raw.length > before);
    }
    take_events(&seen);
    assert_int_equal(seen.overflows, 1);
    assert_int_equal(seen.gaps, 0);
    assert_true(seen.last < sent);
    api_expect_closed(fd);
    close(fd);
    /* It comes back with its position and gets the rest. */
    char request[200];
    (void)snprintf(request, sizeof(request), SSE("", "Last-Event-ID: %lu\r\n"),
                   (unsigned long)seen.last);
    fd = open_stream(api, request, &again);
    read_to(fd, &again, sent);
    assert_int_equal(again.count, sent - seen.last);
    close(fd);
}

TEST(a_dropped_client_that_never_reads_does_not_stay) {
    API(api, .queue_max = 100000, .write_timeout = 30);
    SEEN(seen);
    int fd = open_stream(api, SSE("", ""), &seen);
    while (api_stats(api).dropped_slow == 0)
        api_events(api, 200);
    API_WAIT_STAT(api, connections, 0);
    close(fd);
}

TEST(a_slow_client_that_reads_the_past_is_not_dropped) {
    API(api, .queue_max = 1000, .write_timeout = 30);
    SEEN(seen);
    api_events(api, 10000); /* more than a socket and all queues hold */
    int fd = open_stream(api, SSE("?after=0", ""), &seen);
    (void)api_wakeups_within(api, 100);
    read_to(fd, &seen, 10000);
    assert_int_equal(seen.count, 10000);
    assert_int_equal(seen.gaps, 0);
    close(fd);
}

/* --- around it ----------------------------------------------------------------------------------- */

TEST(a_silent_stream_has_comments_and_nothing_else_has_timers) {
    API(api, .comment_every = 10);
    SEEN(seen);
    int fd = open_stream(api, SSE("", ""), &seen);
    while (seen.comments < 4) {
        (void)take_chunks(&seen);
        take_events(&seen);
        if (seen.comments < 4)
            api_read_more(fd, &seen.raw);
    }
    close(fd);
    API_WAIT_STAT(api, event_streams, 0);
    assert_int_equal(api_wakeups_within(api, 50), 0);
}

static void set_caps(struct api *api, void *arg) {
    server_set_limits(api->server, 16, *(unsigned *)arg);
}

TEST(the_cap_on_streams_can_change) {
    API(api, .streams_max = 1);
    SEEN(a);
    SEEN(b);
    ANSWER(answer);
    unsigned two = 2;
    int first = open_stream(api, SSE("", ""), &a), second = api_connect(api);
    api_ask(second, SSE("", ""), 503, &answer);
    api_do(api, set_caps, &two);
    close(second);
    second = open_stream(api, SSE("", ""), &b);
    close(first);
    close(second);
}

/* More than sockets take at once, for clients that come and go in between. */
TEST(each_of_many_streams_gets_every_event_once) {
    API(api, .streams_max = 16);
    SEEN(early);
    SEEN(late);
    SEEN(one_task);
    int first = open_stream(api, SSE("", ""), &early);
    int filtered = open_stream(api, SSE("?task=web-2", ""), &one_task);
    for (unsigned i = 0; i < 20; i++)
        api_events(api, 100);
    int second = open_stream(api, SSE("?after=1000", ""), &late);
    for (unsigned i = 0; i < 20; i++)
        api_events(api, 100);
    read_to(second, &late, 4000);
    read_to(first, &early, 4000);
    assert_int_equal(early.count, 4000);
    assert_int_equal(late.count, 3000);
    assert_int_equal(early.gaps + early.overflows + late.gaps + late.overflows, 0);
    close(first);
    close(second);
    close(filtered);
}

/* Large bursts to many streams are sent from one file, which a stream may take in parts, or not at
 * all because its client has disconnected. */
TEST(streams_that_share_a_burst_get_it_complete) {
    enum { STREAMS = 12, LATE = 3, EVENTS = 3000 };
    API(api, .streams_max = 16);
    struct seen seen[STREAMS] = { 0 };
    int fds[STREAMS];
    (void)signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    for (unsigned i = 0; i < STREAMS; i++)
        fds[i] = open_stream(api, SSE("", ""), &seen[i]);
    close(fds[0]);
    for (unsigned i = 0; i < EVENTS / 500; i++) { /* mostly without reading */
        api_events(api, 500);
        if (i == LATE)
            read_to(fds[1], &seen[1], LATE * 500);
    }
    for (unsigned i = 1; i < STREAMS; i++) {
        read_to(fds[i], &seen[i], EVENTS);
        assert_int_equal(seen[i].count, EVENTS);
        assert_int_equal(seen[i].gaps + seen[i].overflows, 0);
        close(fds[i]);
    }
    for (unsigned i = 0; i < STREAMS; i++)
        seen_finish(&seen[i]);
}

TEST(one_stream_too_many_gets_503) {
    API(api, .streams_max = 2);
    SEEN(a);
    SEEN(b);
    ANSWER(answer);
    int first = open_stream(api, SSE("", ""), &a), second = open_stream(api, SSE("", ""), &b);
    int third = api_connect(api);
    api_ask(third, SSE("", ""), 503, &answer);
    ASSERT_HAS(answer.body.text, "too many streams");
    api_ask(third, GET("/v1/echo"), 200, &answer); /* it may ask something else */
    close(first);
    API_WAIT_STAT(api, event_streams, 1);
    close(second);
    close(third);
}

TEST(what_cannot_be_streamed_is_refused_as_usual) {
    API(api);
    ANSWER(answer);
    api_once(api, SSE("?task=nobody", ""), 404, &answer);
    ASSERT_HAS(answer.body.text, "there is no task 'nobody'");
    api_once(api, SSE("", "Last-Event-ID: x\r\n"), 400, &answer);
    ASSERT_HAS(answer.body.text, "Last-Event-ID");
    api_once(api, GET("/v1/events?limit=2"), 200, &answer); /* without the Accept: a list */
    ASSERT_HAS(answer.head.text, "Content-Type: application/json");
}

TEST(head_and_old_clients_get_theirs) {
    API(api);
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    int fd = api_connect(api);
    api_send(fd, "HEAD /v1/events HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n"
                 "Connection: close\r\n\r\n");
    api_read_all(fd, &text);
    ASSERT_HAS(text.text, "Content-Type: text/event-stream");
    assert_string_equal(strstr(text.text, "\r\n\r\n"), "\r\n\r\n");
    close(fd);
    strbuf_clear(&text);
    fd = api_connect(api);
    api_send(fd, "GET /v1/events HTTP/1.0\r\nAccept: text/event-stream\r\n\r\n");
    api_read_until(fd, &text, "\r\n\r\n:\n\n"); /* no chunks */
    ASSERT_HAS_NOT(text.text, "Transfer-Encoding");
    api_event(api, 1, NULL);
    api_read_until(fd, &text, ":\n\nid: 1\nevent: task.state\n");
    close(fd);
}

TEST(requests_behind_a_stream_wait_and_the_end_of_the_client_is_seen) {
    API(api);
    SEEN(seen);
    int fd = open_stream(api, SSE("", "") GET("/v1/echo"), &seen);
    assert_int_equal(api_stats(api).requests, 1);
    close(fd);
    API_WAIT_STAT(api, connections, 0);
}

TEST(a_stream_breaks_when_the_server_stops) {
    API(api);
    SEEN(seen);
    int fd = open_stream(api, SSE("", ""), &seen);
    api_stop_accepting(api);
    api_read_all(fd, &seen.raw);
    assert_false(take_chunks(&seen)); /* the last chunk would say that this was all */
    API_WAIT_STAT(api, connections, 0);
    close(fd);
}
