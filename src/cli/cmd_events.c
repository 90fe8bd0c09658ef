/* cmd_events.c: lists and follows events.
 *
 * Following continues from the last printed event, so nothing between the list and the stream is
 * missed or repeated. If the daemon stops, it waits for the next one, like logs -f. It never starts
 * a daemon: a command that only reads changes nothing. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"
#include "cli/daemon.h"
#include "cli/event_list.h"
#include "cli/print_task.h"
#include "cli/request.h"

#define LIMIT_DEFAULT 50
#define LIMIT_FOLLOW  10 /* before new ones, like tail */
#define LIMIT_PAGE    1000

int event_list_after(struct request *req, const char *task, int64_t after, size_t most,
                     request_each each, void *ctx) {
    while (most > 0) {
        size_t limit = most < LIMIT_PAGE ? most : LIMIT_PAGE;
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        strbuf_printf(&path, "/v1/events?limit=%zu&after=%" PRId64, limit, after);
        client_query(&path, "task", task);
        int code = request_get(req, strbuf_text(&path));
        if (code != CMD_OK)
            return code;
        size_t i;
        json_t *event;
        int64_t last = after;
        json_array_foreach(request_items(req), i, event) {
            each(ctx, event);
            last = get_int(event, "seq", last);
        }
        if (i < limit || last <= after)
            return CMD_OK;
        after = last;
        most -= i;
    }
    return CMD_OK;
}

static void add_value(const json_t *value, struct strbuf *out) {
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        bool plain = *text && !strpbrk(text, " \t\n\"=");
        strbuf_puts(out, plain ? "" : "\"");
        sanitize_line(text, out);
        strbuf_puts(out, plain ? "" : "\"");
        return;
    }
    _cleanup_(strbuf_finish) struct strbuf text = STRBUF_INIT;
    output_put_json(value, &text);
    text.text[--text.length] = '\0'; /* drop the newline */
    sanitize_line(text.text, out);
}

void event_list_line(const json_t *event, struct strbuf *out) {
    strbuf_printf(out, "%s  %-6" PRId64 "  ", cell_time(get_int(event, "at", 0)).text,
                  get_int(event, "seq", 0));
    _cleanup_(strbuf_finish) struct strbuf part = STRBUF_INIT;
    sanitize_line(get_text(event, "kind", "?"), &part);
    strbuf_printf(out, "%-16s", strbuf_text(&part));
    const char *task = get_text(event, "task", NULL);
    if (task) {
        strbuf_puts(out, "  ");
        sanitize_line(task, out);
        int64_t attempt = get_int(event, "attempt", 0);
        if (attempt > 0)
            strbuf_printf(out, ".%" PRId64, attempt);
    }
    EACH_MEMBER(key, value, json_object_get(event, "data")) {
        if (json_is_null(value))
            continue;
        strbuf_puts(out, "  ");
        sanitize_line(key, out);
        strbuf_putc(out, '=');
        if ((strcmp(key, "until") == 0 || strcmp(key, "resets_at") == 0) && json_is_integer(value))
            strbuf_printf(out, "\"%s\"", cell_time(json_integer_value(value)).text);
        else
            add_value(value, out);
    }
    while (out->length > 0 && out->text[out->length - 1] == ' ')
        out->text[--out->length] = '\0';
    strbuf_putc(out, '\n');
}

struct listing {
    const char *task;
    int64_t after; /* -1: not given */
    int64_t limit;
    bool json, follow;
    struct strbuf out;
    uint64_t last;   /* seq of the last event printed */
    size_t unbroken; /* events since the stream was opened */
    bool in_list;    /* inside a JSON list */
};

static int parse_call(const struct cmd_call *call, struct listing *l) {
    l->json = call->json;
    l->follow = cmd_has(call, "follow");
    l->in_list = l->json && !l->follow;
    l->task = cmd_value(call, "task");
    l->after = -1;
    int code = cmd_number(call, "after", 0, INT64_MAX, &l->after);
    /* After a number: everything since then, unless --limit is given. */
    l->limit = l->after >= 0 ? INT64_MAX : l->follow ? LIMIT_FOLLOW : LIMIT_DEFAULT;
    if (code == CMD_OK)
        code = cmd_number(call, "limit", l->follow ? 0 : 1, INT32_MAX, &l->limit);
    if (code == CMD_OK && l->task && !*l->task)
        code = cmd_usage_error(call->cmd, "option '--task': the ID is empty");
    return code;
}

static void print_event(struct listing *l, const json_t *event) {
    if (l->in_list)
        strbuf_puts(&l->out, l->last > 0 ? "," : "");
    if (l->json)
        output_put_json(event, &l->out);
    else
        event_list_line(event, &l->out);
    uint64_t seq = (uint64_t)get_int(event, "seq", 0);
    if (seq > l->last)
        l->last = seq;
}

/* --- the list -------------------------------------------------------------------------------- */

static void print_item(void *ctx, const json_t *event) {
    struct listing *l = ctx;
    print_event(l, event);
    if (!l->in_list)
        output_some(&l->out);
}

static int list_events(struct request *req, struct listing *l) {
    if (l->limit == 0)
        return CMD_OK;
    if (l->after >= 0)
        return event_list_after(req, l->task, l->after, (size_t)l->limit, print_item, l);
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_printf(&path, "/v1/events?limit=%" PRId64,
                  l->limit < LIMIT_PAGE ? l->limit : LIMIT_PAGE);
    client_query(&path, "task", l->task);
    int code = request_get(req, strbuf_text(&path));
    EACH_ITEM(event, request_items(req)) {
        print_item(l, event);
    }
    return code;
}

/* --- following ------------------------------------------------------------------------------- */

static int on_event(void *ctx, const struct client_event *event) {
    struct listing *l = ctx;
    if (strcmp(event->kind, "reset") == 0) {
        cmd_warn("events were skipped: the daemon no longer keeps them");
        return 0;
    }
    if (strcmp(event->kind, "overflow") == 0)
        return 1; /* too slow: resume from the last one */
    json_auto_t *data = json_loads(event->data, 0, NULL);
    if (!data)
        return 0;
    l->unbroken++;
    print_event(l, data);
    output_rest(&l->out);
    return output_flush();
}

/* Until a daemon answers; -EPIPE: stdout was closed. */
static int wait_for_daemon(struct request *req) {
    struct daemon_lost lost = { 0 };
    request_finish(req);
    for (;;) {
        int r = daemon_connect(false, &req->client, &req->err);
        if (r >= 0)
            return 0;
        req->client = NULL;
        if (!client_is_absent(r) && r != -ECONNRESET)
            return r;
        (void)daemon_lost_retry(&lost, NULL);
        if (output_is_unread(DAEMON_RETRY_MS))
            return -EPIPE;
    }
}

static int follow_events(struct request *req, struct listing *l) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    strbuf_puts(&path, "/v1/events");
    client_query(&path, "task", l->task);
    for (;;) {
        l->unbroken = 0;
        uint64_t after = l->last > 0 ? l->last : CLIENT_EVENTS_NEW;
        req->err = (struct error){ 0 };
        client_set_reader(req->client, STDOUT_FILENO);
        int r =
            client_stream_events(req->client, strbuf_text(&path), after, on_event, l, &req->err);
        if (r >= 400 && req->err.code != -ECONNREFUSED) /* otherwise only standbys answered */
            return request_failed(req);
        if (r == -EPIPE)
            return CMD_OK; /* stdout was closed; reported at exit */
        /* It is stopping, or always breaks: do not busy-loop. */
        if (l->unbroken == 0 && output_is_unread(DAEMON_RETRY_MS))
            return CMD_OK;
        r = wait_for_daemon(req);
        if (r == -EPIPE)
            return CMD_OK;
        if (r < 0)
            return cmd_fail(&req->err);
    }
}

static int cmd_events_run(const struct cmd_call *call) {
    struct listing l = { 0 };
    int code = parse_call(call, &l);
    _cleanup_(request_finish) struct request req = { 0 };
    if (code == CMD_OK)
        code = request_open(&req, REQUEST_RUNNING);
    if (code != CMD_OK)
        return code;
    strbuf_puts(&l.out, l.in_list ? "{\"items\":[" : "");
    code = list_events(&req, &l);
    strbuf_puts(&l.out, l.in_list ? "]}\n" : "");
    if (code == CMD_OK || !l.in_list) /* one complete JSON value, or nothing */
        output_rest(&l.out);
    if (l.last == 0 && l.after > 0)
        l.last = (uint64_t)l.after; /* nothing new yet: continue there */
    if (code == CMD_OK && l.follow && output_flush() == 0)
        code = follow_events(&req, &l);
    strbuf_finish(&l.out);
    return code;
}

const struct cmd cmd_events = {
    "events", cmd_events_run, 0, 0,
    CMD_OPTIONS({ "follow", 'f', NULL, "keep running and print new events" },
                { "task", 't', "ID", "only events of this task" },
                { "after", 0, "N", "only events after number N" },
                { "limit", 'n', "N", "maximum number of events; default 50, with --after all" })
};
