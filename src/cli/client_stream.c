/* client_stream.c: an answer that does not end by itself.
 *
 * The daemon sends a comment into a stream of events when nothing happens, so silence of a minute means
 * that nobody is there any more. A log has no such sign: it is silent as long as its run is. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/client_internal.h"
#include "os/clock.h"

#define SILENCE_MAX SECONDS(60)
#define EVENT_MAX   ((size_t)4 * 1024 * 1024)

/* --- events ---------------------------------------------------------------------------------- */

/* The value of a line "name: value", or NULL if it has another name. */
static const char *value_of(const char *line, const char *name) {
    size_t length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':')
        return NULL;
    return line + length + 1 + (line[length + 1] == ' ');
}

static int end_event(struct client *client) {
    int r = 0;
    if (client->kind.length > 0 || client->data.length > 0) {
        struct client_event event = { client->seq, strbuf_text(&client->kind),
                                      strbuf_text(&client->data) };
        r = client->each_event(client->each_ctx, &event);
    }
    strbuf_clear(&client->kind);
    strbuf_clear(&client->data);
    return r;
}

static int take_line(struct client *client) {
    const char *line = strbuf_text(&client->line);
    const char *value;
    int64_t seq;
    if (!*line)
        return end_event(client);
    if ((value = value_of(line, "event"))) {
        strbuf_clear(&client->kind);
        strbuf_puts(&client->kind, value);
    } else if ((value = value_of(line, "data"))) {
        if (client->data.length > 0)
            strbuf_putc(&client->data, '\n');
        strbuf_puts(&client->data, value);
    } else if ((value = value_of(line, "id"))) {
        if (number_parse_int(value, &seq, NULL) == 0 && seq >= 0)
            client->seq = (uint64_t)seq;
    }
    return client->data.length > EVENT_MAX ? -EPROTO : 0;
}

static int take_event_bytes(void *ctx, const char *bytes, size_t size) {
    struct client *client = ctx;
    while (size > 0) {
        const char *end = memchr(bytes, '\n', size);
        size_t part = end ? (size_t)(end - bytes) : size;
        strbuf_add(&client->line, bytes, part);
        if (client->line.length > EVENT_MAX)
            return -EPROTO;
        if (!end)
            return 0;
        if (client->line.length > 0 && client->line.text[client->line.length - 1] == '\r')
            client->line.text[--client->line.length] = '\0';
        int r = take_line(client);
        strbuf_clear(&client->line);
        if (r != 0)
            return r;
        bytes += part + 1;
        size -= part + 1;
    }
    return 0;
}

static int take_bytes(void *ctx, const char *bytes, size_t size) {
    struct client *client = ctx;
    return client->each_bytes(client->each_ctx, bytes, size);
}

/* --- in pieces ------------------------------------------------------------------------------- */

static int begin(struct client *client, const char *path, const char *accept, struct error *err) {
    int status = client_send(client,
                             &(struct client_request){
                                 .method = "GET", .path = path, .accept = accept, .streams = true },
                             err);
    if (status < 0)
        return status;
    if (status >= 400) {
        json_t *answer = json_loadb(client_text(client), client->text.length, 0, NULL);
        client_take_error(client, answer, err);
        json_decref(answer);
        return status;
    }
    client->streaming = true;
    client->wire.reader = client->reader;
    client->seq = 0;
    strbuf_clear(&client->line);
    strbuf_clear(&client->kind);
    strbuf_clear(&client->data);
    return status;
}

int client_begin_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                       struct error *err) {
    client->sink = take_bytes;
    client->each_bytes = each;
    client->each_ctx = ctx;
    return begin(client, path, "*/*", err);
}

void client_set_events(struct client *client, client_each each, void *ctx) {
    client->sink = take_event_bytes;
    client->each_event = each;
    client->each_ctx = ctx;
}

int client_begin_events(struct client *client, const char *path, uint64_t after, client_each each,
                        void *ctx, struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf full = STRBUF_INIT;
    char number[24];
    (void)snprintf(number, sizeof(number), "%" PRIu64, after);
    strbuf_puts(&full, path);
    client_query(&full, "after", after == CLIENT_EVENTS_NEW ? NULL : number);
    client_set_events(client, each, ctx);
    return begin(client, strbuf_text(&full), "text/event-stream", err);
}

int client_fd(const struct client *client) {
    return client->wire.fd;
}

static int broken(int code, struct error *err) {
    if (code == -ECONNRESET)
        return error_set(err, code, "the daemon ended the stream before its end");
    if (code == -ETIMEDOUT)
        return error_set(err, code, "the daemon fell silent");
    if (code == -EPROTO)
        return error_set(err, code, "the daemon's stream is not readable");
    return error_set(err, code, "the stream broke: %s", strerror(-code));
}

/* 1: goes on; 0: ended; <0: broken. */
static int pump(struct client *client, time_ms deadline, struct error *err) {
    assert(client->streaming);
    if (client->wire.body == BODY_DONE)
        return 0;
    int r = http_wire_take_body(&client->wire, client->sink, client);
    if (r == 0) {
        r = http_wire_read(&client->wire, deadline);
        if (r == -ETIMEDOUT && deadline == 0) /* nothing there right now */
            return 1;
        if (r < 0)
            return r == -EINTR   ? error_set(err, r, "interrupted")
                   : r == -EPIPE ? error_set(err, r, "nobody reads it any more")
                                 : broken(r, err);
        if (r == 0) {
            r = http_wire_take_end(&client->wire);
            return r < 0 ? broken(r, err) : 0;
        }
        r = http_wire_take_body(&client->wire, client->sink, client);
    }
    if (r == 0)
        return 1;
    if (r == 2) { /* the callback has enough: what follows is not read */
        client->wire.keep_alive = false;
        client->wire.body = BODY_DONE;
    }
    if (r > 0)
        return 0;
    client->wire.keep_alive = false;
    return r == -EPROTO ? broken(r, err) : error_set(err, r, "the stream was ended");
}

int client_pump(struct client *client, struct error *err) {
    return pump(client, 0, err);
}

void client_end(struct client *client) {
    if (!client->streaming)
        return;
    if (client->wire.body != BODY_DONE || !client->wire.keep_alive)
        http_wire_close(&client->wire);
    client->streaming = false;
    client->wire.reader = -1;
}

/* --- blocking -------------------------------------------------------------------------------- */

static int run_stream(struct client *client, int status, time_ms silence_max, struct error *err) {
    if (status < 0 || status >= 400)
        return status;
    int r = 1;
    while (r > 0) {
        time_ms deadline =
            silence_max == TIME_NEVER ? TIME_NEVER : time_add(clock_read_steady(), silence_max);
        r = pump(client, deadline, err);
    }
    client_end(client);
    return r < 0 ? r : status;
}

int client_stream_bytes(struct client *client, const char *path, client_bytes each, void *ctx,
                        struct error *err) {
    int status = client_begin_bytes(client, path, each, ctx, err);
    return run_stream(client, status, TIME_NEVER, err);
}

int client_stream_events(struct client *client, const char *path, uint64_t after, client_each each,
                         void *ctx, struct error *err) {
    int status = client_begin_events(client, path, after, each, ctx, err);
    return run_stream(client, status, SILENCE_MAX, err);
}
