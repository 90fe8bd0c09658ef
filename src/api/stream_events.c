/* stream_events.c: every event once, in order, from where the client stopped and onwards.
 *
 * A stream first reads stored events page by page, at the pace of its client, and then gets new
 * ones as they are published. Invariant: everything up to `position` was sent, or is not for this
 * client. A page that is not full holds all that was published before it was requested, so the
 * position then moves there; if more was published meanwhile, another page is requested. Only a
 * stream that has caught up is live, and only a live one gets published events, those after its
 * position. So there are no gaps or duplicates, and no copy of the past in memory.
 *
 * A single event is sent immediately; bursts are sent together: with many followers, the number of
 * sends costs, not the number of events. An event is printed once, into the burst that all live
 * streams without a filter share and that is sent from there. So such a follower costs one send for
 * each burst, and nothing for an event. A large burst is sent from a file in memory, whose pages all
 * sockets share: copying took most of the time of a send, and a copy of memory for each follower.
 *
 * A live client that does not read gets `overflow` and is dropped; it reconnects with its
 * position. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/server_internal.h"
#include "base/alloc.h"
#include "base/number.h"
#include "os/fd.h"

#define PAGE_ITEMS 500
#define BURST_MAX  ((size_t)128 * 1024) /* sent at once: a socket takes it without a queue */
#define PACE       2                    /* ms between two sends of new events, per open stream */
/* From here on, sending pages of a file costs less than copying. */
#define FILE_BYTES   ((size_t)8 * 1024)
#define FILE_STREAMS 8
#define COMMENT      ":\n\n" /* sent first, so that the client sees that it is connected */

struct event_stream {
    struct stream stream;
    struct exchange *exchange;
    struct server *server;
    struct event_stream *next, *previous;
    const struct op *op;
    json_t *params;    /* of the request */
    task_id task;      /* filter; 0: all */
    struct op_run run; /* filter: what this run sees */
    uint64_t position; /* everything up to here was sent, or is not for this client */
    uint64_t asked_at; /* newest published event when the page was requested */
    struct op_call *page;
    struct strbuf text; /* unsent */
    size_t joined;      /* its part of the burst begins here */
    bool is_plain;      /* has no filter */
    bool shares;        /* plain, live, and not ahead of what was published: it gets bursts */
    bool live, dropped, broken;
    bool quiet;   /* nothing was sent since the last comment was due */
    bool comment; /* a comment is due */
};

static void print_event(uint64_t seq, const char *kind, const char *data, struct strbuf *out) {
    strbuf_printf(out, "id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", seq, kind, data);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Live: everything that was published is behind its position. What was committed, but not yet
 * published, may be, too: then it shares bursts when that has been published. */
static void set_live(struct event_stream *s, bool live) {
    bool shares = live && s->is_plain && s->position <= s->server->published;
    s->server->sharing += (size_t)shares - (size_t)s->shares;
    s->shares = shares;
    s->live = live;
    s->joined = s->server->burst.length;
}

static void comment_due(void *ctx) {
    struct server *server = ctx;
    for (struct event_stream *s = server->event_streams; s; s = s->next) {
        if (s->quiet && s->text.length == 0 && connection_unsent(s->exchange->connection) == 0) {
            s->comment = true;
            connection_wake(s->exchange->connection);
        }
        s->quiet = true;
    }
    loop_timer_set(server->loop, server->comment_timer,
                   time_add(loop_now_steady(server->loop), server->options.comment_every));
}

static void events_free(struct stream *stream) {
    struct event_stream *s = (struct event_stream *)stream;
    struct server *server = s->server;
    if (s->page)
        op_abandon(s->page);
    set_live(s, false);
    LIST_REMOVE(server->event_streams, s);
    server->stats.event_streams--;
    stream_share_give(s->exchange->connection);
    if (!server->event_streams)
        loop_timer_clear(server->loop, server->comment_timer);
    json_decref(s->params);
    strbuf_finish(&s->text);
    free(s);
}

static struct event_stream *events_new(struct exchange *exchange, struct op_call *call) {
    struct server *server = exchange->connection->server;
    struct event_stream *s = xcalloc(1, sizeof(*s));
    const char *task = json_string_value(json_object_get(call->params, "task"));
    s->exchange = exchange;
    s->server = server;
    s->op = call->op;
    s->params = json_incref(call->params);
    s->run = call->run;
    if (task) /* a run's own ids are never ambiguous (op_find_task) */
        s->task = s->run.token[0] ? engine_task_of_id(server->engine, task, NULL)
                                  : engine_find_task(server->engine, task, NULL);
    s->is_plain = s->task == 0 && !s->run.token[0];
    s->asked_at = exchange->published;
    LIST_PUSH(server->event_streams, s);
    server->stats.event_streams++;
    if (!server->comment_timer)
        server->comment_timer = loop_timer_new(server->loop, comment_due, server);
    if (!s->next)
        loop_timer_set(server->loop, server->comment_timer,
                       time_add(loop_now_steady(server->loop), server->options.comment_every));
    return s;
}

/* --- pages ----------------------------------------------------------------------------------- */

/* Events that this client has not seen were deleted: it must read the state again. */
static void reset(struct event_stream *s, uint64_t to) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    s->position = to > s->server->published ? to : s->server->published;
    strbuf_printf(&data, "{\"first\":%" PRIu64 ",\"last\":%" PRIu64 "}",
                  engine_first_event(s->server->engine), s->position);
    print_event(s->position, "reset", strbuf_text(&data), &s->text);
}

static uint64_t seq_of(const json_t *item) {
    return (uint64_t)json_integer_value(json_object_get(item, "seq"));
}

/* Sends events in ascending order. Returns the number of items. */
static size_t send_page(struct event_stream *s, const char *answer) {
    json_t *page = json_loads(answer, 0, NULL);
    const json_t *items = json_is_array(page) ? page : json_object_get(page, "items");
    size_t count = json_array_size(items);
    bool backwards =
        count > 1 && seq_of(json_array_get(items, 0)) > seq_of(json_array_get(items, count - 1));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(items, backwards ? count - 1 - i : i);
        uint64_t seq = seq_of(item);
        if (seq <= s->position)
            continue;
        if (s->task == 0 && !s->run.token[0] && s->position != 0 && seq != s->position + 1) {
            reset(s, seq - 1); /* removed between request and read */
            if (seq <= s->position)
                continue;
        }
        _cleanup_(freep) char *data = json_dumps(item, JSON_COMPACT);
        const char *kind = json_string_value(json_object_get(item, "kind"));
        print_event(seq, kind ? kind : "message", data ? data : "", &s->text);
        s->position = seq;
    }
    const json_t *looked = json_object_get(page, "looked"); /* includes events hidden from a run */
    if (looked) {
        uint64_t to = (uint64_t)json_integer_value(json_object_get(page, "to"));
        s->position = to > s->position ? to : s->position;
        count = (size_t)json_integer_value(looked);
    }
    json_decref(page);
    return count;
}

static void take_page(struct event_stream *s, const char *answer) {
    if (send_page(s, answer) >= PAGE_ITEMS)
        return; /* the next one is requested when there is room */
    if (s->asked_at > s->position)
        s->position = s->asked_at;
    set_live(s, s->position >= s->server->published);
}

static void page_answered(struct op_call *call, void *ctx) {
    struct event_stream *s = ctx;
    s->page = NULL;
    if (call->err.code != 0)
        s->broken = true; /* the client reconnects, and gets the error */
    else
        take_page(s, strbuf_text(&call->answer));
    op_call_free(call);
    connection_wake(s->exchange->connection);
}

static enum stream_state events_fill(struct stream *stream) {
    struct event_stream *s = (struct event_stream *)stream;
    if (s->comment) {
        s->comment = false;
        exchange_send(s->exchange, COMMENT, strlen(COMMENT));
        return STREAM_GOES_ON;
    }
    if (s->text.length > 0) {
        exchange_send(s->exchange, s->text.text, s->text.length);
        strbuf_finish(&s->text);
        s->quiet = false;
        return STREAM_GOES_ON;
    }
    if (s->dropped) {
        exchange_send(s->exchange, "", 0);
        return STREAM_DROPPED;
    }
    if (s->broken)
        return STREAM_BROKEN;
    if (s->live || s->page)
        return STREAM_WAITS;
    if (s->position != 0 && s->position + 1 < engine_first_event(s->server->engine)) {
        reset(s, s->asked_at);
        set_live(s, true);
        return STREAM_GOES_ON;
    }
    json_t *params = json_deep_copy(s->params);
    json_object_set_new(params, "after", json_integer((json_int_t)s->position));
    json_object_set_new(params, "limit", json_integer(PAGE_ITEMS));
    s->asked_at = s->server->published;
    s->page = op_call_new(s->op, s->server->engine, params, NULL);
    s->page->run = s->run;
    s->page->answered = page_answered;
    s->page->ctx = s;
    op_submit(s->page);
    return s->page ? STREAM_WAITS : STREAM_GOES_ON; /* answered immediately */
}

/* --- from the request ------------------------------------------------------------------------ */

int events_prepare(struct exchange *exchange, const struct http_request *request, json_t *params,
                   struct error *err) {
    struct server *server = exchange->connection->server;
    const char *last = http_request_header(request, "last-event-id");
    const json_t *after = json_object_get(params, "after");
    int64_t number = json_is_integer(after) ? json_integer_value(after) : 0;
    /* A reconnecting client sends the header with its original URL. */
    if (last && (number_parse_int(last, &number, NULL) < 0 || number < 0))
        return error_set(err, -EINVAL, "the header Last-Event-ID is not the number of an event");
    exchange->after = last || after ? (uint64_t)number : EVENTS_NEW;
    exchange->newest = engine_last_event(server->engine);
    exchange->published = server->published;
    json_object_del(params, "before");
    json_object_set_new(params, "limit", json_integer(PAGE_ITEMS));
    if (exchange->after == EVENTS_NEW)
        json_object_set_new(params, "after", json_integer((json_int_t)exchange->newest));
    else
        json_object_set_new(params, "after", json_integer(number));
    return 0;
}

void events_begin(struct exchange *exchange, struct op_call *call) {
    struct server *server = exchange->connection->server;
    const char *why = stream_share_take(exchange->connection, STREAM_OF_EVENTS, &call->run);
    if (why) {
        exchange_fail(exchange, 503, "busy", why);
        return;
    }
    struct event_stream *s = events_new(exchange, call);
    uint64_t after = exchange->after == EVENTS_NEW ? exchange->newest : exchange->after;
    s->stream = (struct stream){ events_fill, events_free };
    s->comment = true;
    s->broken = server->stopping;
    s->position = after;
    if (after > exchange->newest
        || (after != 0 && after + 1 < engine_first_event(server->engine))) {
        reset(s, exchange->newest);
        set_live(s, true);
    } else {
        take_page(s, strbuf_text(&call->answer));
    }
    exchange_begin_stream(exchange, "text/event-stream; charset=utf-8", NULL, &s->stream);
}

/* --- new events ------------------------------------------------------------------------------ */

static void drop(struct event_stream *s) {
    print_event(s->position, "overflow", "{}", &s->text);
    s->dropped = true;
    set_live(s, false);
    s->exchange->hurry = true;
    s->server->stats.dropped_slow++;
}

static bool has_room(const struct event_stream *s, size_t size) {
    return s->text.length + connection_unsent(s->exchange->connection) + size
           <= s->server->options.queue_max;
}

/* Sends its part of the burst, or keeps it for a client that is behind. `file`: with all of it. */
static void take_burst(struct event_stream *s, const struct strbuf *burst, int file) {
    size_t from = s->joined, size = burst->length - from;
    s->joined = 0; /* in the next one */
    if (size == 0)
        return;
    const char *bytes = burst->text + from;
    if (!has_room(s, size)) {
        drop(s);
        return;
    }
    s->position = s->server->published;
    if (s->text.length == 0 && exchange_send_now(s->exchange, bytes, size, from == 0 ? file : -1))
        s->quiet = false;
    else
        strbuf_add(&s->text, bytes, size);
}

static void flush(void *ctx) {
    struct server *server = ctx;
    struct strbuf burst = server->burst; /* what is published from here on is for the next one */
    server->burst = (struct strbuf)STRBUF_INIT;
    server->flush_is_due = false;
    server->flushed_at = loop_now_steady(server->loop);
    bool shares_pages = server->sharing >= FILE_STREAMS && burst.length >= FILE_BYTES;
    _cleanup_(fd_closep) int file =
        shares_pages ? exchange_chunk_file(burst.text, burst.length) : -1;
    for (struct event_stream *s = server->event_streams, *next; s; s = next) {
        next = s->next; /* a stream whose client disconnected is removed */
        if (s->shares)
            take_burst(s, &burst, file);
        if (s->text.length > 0)
            connection_pump(s->exchange->connection);
    }
    strbuf_finish(&burst);
}

static void flush_soon(struct server *server) {
    time_ms at = time_add(server->flushed_at, PACE * (time_ms)server->stats.event_streams);
    bool is_full =
        server->burst.length > BURST_MAX || server->burst.length > server->options.queue_max / 2;
    if (is_full || (!server->flush_is_due && at <= loop_now_steady(server->loop))) {
        if (server->flush_is_due)
            loop_timer_clear(server->loop, server->flush_timer);
        flush(server);
        return;
    }
    if (server->flush_is_due)
        return;
    if (!server->flush_timer)
        server->flush_timer = loop_timer_new(server->loop, flush, server);
    server->flush_is_due = true;
    loop_timer_set(server->loop, server->flush_timer, at);
}

static void print_once(const struct server *server, const struct event_row *event,
                       struct strbuf *text) {
    _cleanup_(strbuf_finish) struct strbuf data = STRBUF_INIT;
    if (text->length > 0)
        return;
    op_print_event(server->engine, event, &data);
    print_event(event->seq, event->kind, strbuf_text(&data), text);
}

/* To streams that do not share the burst, which has the event already. True: one gets it. */
static bool offer(struct server *server, const struct event_row *event, struct strbuf *text) {
    bool any = false;
    for (struct event_stream *s = server->event_streams; s; s = s->next) {
        if (s->shares || !s->live)
            continue;
        bool is_new = event->seq > s->position;
        if (is_new && (s->task == 0 || s->task == event->task)
            && op_run_sees(server->engine, &s->run, event->task)) {
            any = true;
            print_once(server, event, text);
            if (has_room(s, text->length))
                strbuf_add(&s->text, text->text, text->length);
            else
                drop(s);
        }
        if (s->live && is_new)
            s->position = event->seq;
        if (s->live && s->is_plain && event->seq >= s->position)
            set_live(s, true);
    }
    return any;
}

void server_publish(struct server *server, const struct event_row *event) {
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    bool any = server->sharing > 0;
    server->published = event->seq;
    if (any) {
        print_once(server, event, &text);
        strbuf_add(&server->burst, text.text, text.length);
    }
    if (server->stats.event_streams > server->sharing)
        any |= offer(server, event, &text);
    if (any)
        flush_soon(server);
    mcp_publish(server, event);
}

void events_stop(struct server *server) {
    for (struct event_stream *s = server->event_streams; s; s = s->next) {
        s->broken = true;
        connection_wake(s->exchange->connection);
    }
}
