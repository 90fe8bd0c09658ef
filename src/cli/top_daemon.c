/* top_daemon.c: requests and events.
 *
 * An event only means that something changed: the state is requested at most a few times per
 * second, and never so often that it dominates the daemon's load (LEISURE). Timeouts are short,
 * because a person watches the screen. */
#include "cli/top.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/daemon.h"
#include "os/clock.h"

#define TIMEOUT       SECONDS(5)
#define REFRESH_LEAST 250        /* ms between refreshes */
#define REFRESH_MOST  SECONDS(5) /* while something runs: tokens and load have no events */
#define LEISURE       8          /* minimum pause, in durations of the last refresh */
#define TRY_AGAIN     500        /* ms */
#define SILENCE_MAX   SECONDS(60)
#define PAGE          200  /* rows of a page */
#define FILTER_PAGE   1000 /* rows per request with a filter */
#define REQUESTS_MOST 8    /* such requests per page: then keys get their turn */
#define LOG_TAIL      (1024 * 1024)

/* --- connections ----------------------------------------------------------------------------- */

int top_daemon_open(struct top_daemon *d, struct error *err) {
    if (!d->req.client) {
        int r = daemon_connect(false, &d->req.client, err);
        if (r < 0)
            return r;
        client_set_timeout(d->req.client, TIMEOUT);
    }
    int r = follow_open_events(&d->events, "/v1/events", TIMEOUT, &d->news, err);
    d->received = clock_read_steady();
    d->news |= r == 0;
    return r;
}

void top_daemon_close(struct top_daemon *d) {
    client_close(d->events);
    log_stream_finish(&d->log);
    request_finish(&d->req);
}

static void set_unreachable(struct top_daemon *d, struct top *top) {
    d->events = client_close(d->events);
    log_stream_close(&d->log);
    top->unreachable = true;
    d->reconnected = clock_read_steady();
}

/* GET for display. 0, or <0: the daemon is unreachable, or a message is shown. */
static int get(struct top_daemon *d, struct top *top, const char *path) {
    if (top->unreachable)
        return -ECONNREFUSED;
    if (request_try_get(&d->req, path) == 0)
        return 0;
    if (request_was_answered(&d->req) && d->req.err.code != -ESHUTDOWN) {
        top_set_message(top, true, "%s", d->req.err.text);
        return d->req.err.code < 0 ? d->req.err.code : -EIO;
    }
    set_unreachable(d, top);
    return -ECONNREFUSED;
}

/* --- logs ------------------------------------------------------------------------------------ */

static void begin_log(struct top_daemon *d, struct top *top) {
    struct error err = { 0 };
    int r = log_stream_begin(&d->log, &err);
    if (r == 0)
        top->log.cut |= d->log.offset > 0 && d->log.received == 0;
    else if (r == -ENODATA)
        top->log.ended = true;
    else if (client_is_absent(r) || r == -ECONNRESET || r == -ESHUTDOWN)
        set_unreachable(d, top);
    else
        top_set_message(top, true, "%s", err.text);
    top->log.ended |= r == -EIO;
}

static void open_log(struct top_daemon *d, struct top *top) {
    log_stream_finish(&d->log);
    d->log = (struct log_stream){
        .task = top->log.task,
        .name = top->log.stream,
        .follow = true,
        .text = true,
        .tail = LOG_TAIL,
    };
    if (!top->unreachable)
        begin_log(d, top);
}

bool top_daemon_pump_log(struct top_daemon *d, struct top *top) {
    if (!log_stream_is_open(&d->log))
        return false;
    struct error err = { 0 };
    int r = log_stream_pump(&d->log, &err);
    bool some = d->log.kept.length > 0;
    if (some)
        top_log_feed(&top->log, strbuf_text(&d->log.kept), d->log.kept.length);
    strbuf_clear(&d->log.kept);
    if (r == 0)
        top->log.ended = true;
    else if (r < 0)
        set_unreachable(d, top);
    return some || r <= 0;
}

/* --- events ---------------------------------------------------------------------------------- */

void top_daemon_listen(struct top_daemon *d, struct top *top, bool ready) {
    struct error err = { 0 };
    time_ms now = clock_read_steady();
    if (top->unreachable) {
        if (now - d->reconnected < TRY_AGAIN)
            return;
        d->reconnected = now;
        if (top_daemon_open(d, &err) < 0)
            return;
        top->unreachable = false; /* everything is reloaded */
        if (top->log.task && !top->log.ended)
            begin_log(d, top);
        return;
    }
    if (ready)
        d->received = now;
    if ((ready && client_pump(d->events, &err) <= 0) || now - d->received > SILENCE_MAX)
        set_unreachable(d, top);
}

time_ms top_daemon_pause(const struct top_daemon *d, const struct top *top, time_ms steady) {
    time_ms passed = steady - d->refreshed;
    time_ms least = time_max(REFRESH_LEAST, LEISURE * d->refresh_time);
    if (top->unreachable)
        return time_max(TRY_AGAIN - (steady - d->reconnected), 1);
    if (d->news)
        return time_max(least - passed, 0);
    if (!top_model_moves(&top->model, top->now))
        return SILENCE_MAX;
    return time_max(time_max(REFRESH_MOST, least) - passed, 0);
}

/* --- the state ------------------------------------------------------------------------------- */

static void fill_details(struct top_daemon *d, struct top *top) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", top->text_id, "");
    int r = get(d, top, strbuf_text(&path));
    if (r < 0) {
        if (top->text.count == 0 && r != -ECONNREFUSED)
            top_text_add(&top->text, TOP_ERROR, 0, "%s", d->req.err.text);
        return;
    }
    json_auto_t *task = TAKE_PTR(d->req.answer);
    strbuf_puts(&path, "/why");
    bool known = get(d, top, strbuf_text(&path)) == 0;
    top->text_can_release = top_offers(task, "release");
    top_details_fill(&top->text, task, known ? d->req.answer : NULL, top->now, top->unicode);
}

void top_daemon_refresh(struct top_daemon *d, struct top *top) {
    time_ms begin = clock_read_steady();
    d->news = false;
    d->refreshed = begin;
    if (get(d, top, "/v1/status") < 0)
        return;
    top_model_read(&top->model, d->req.answer);
    for (size_t i = 0; i < TOP_LISTS; i++)
        top_list_stale(&top->lists[i]);
    if (top->mode == TOP_MODE_TEXT && top->text_id)
        fill_details(d, top);
    d->refresh_time = clock_read_steady() - begin;
}

/* --- lists ----------------------------------------------------------------------------------- */

struct fetch {
    struct top_daemon *d;
    struct top *top;
};

/* The daemon evaluates words like "project:web"; the others are matched here. */
static void split_filter(const struct top *top, struct strbuf *path, struct strbuf *words) {
    const char *word = strbuf_text(&top->filter);
    for (word += strspn(word, " "); *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        _cleanup_(freep) char *copy = xstrndup(word, length);
        _cleanup_(freep) char *name = xstrndup(copy, strcspn(copy, ":"));
        const char *colon = strchr(copy, ':');
        if (colon && colon[1] && word_in(name, "project agent kind group"))
            client_query(path, name, colon + 1);
        else
            strbuf_printf(words, "%s%s", words->length > 0 ? " " : "", copy);
        word += length;
    }
}

static void put_tasks_path(struct strbuf *path, const struct top *top, enum top_pane pane) {
    strbuf_printf(path, "/v1/tasks?state=%s&order=%s", top_panes[pane].states,
                  top_panes[pane].orders[top->orders[pane]]);
}

static int fetch_page(void *ctx, const char *cursor, json_t *page, char **ret_next,
                      struct error *err) {
    const struct fetch *f = ctx;
    _cleanup_(freep) char *next = cursor ? xstrdup(cursor) : NULL;
    for (unsigned requests = 0; requests < REQUESTS_MOST; requests++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, words = STRBUF_INIT;
        put_tasks_path(&path, f->top, f->top->pane);
        split_filter(f->top, &path, &words);
        /* A page of matches cannot end inside an answer: its cursor is at the answer's end. */
        strbuf_printf(&path, "&limit=%d", words.length > 0 ? FILTER_PAGE : PAGE);
        client_query(&path, "cursor", next);
        int r = get(f->d, f->top, strbuf_text(&path));
        if (r < 0)
            return error_set(err, r, "%s", f->d->req.err.text);
        top_page_read(page, f->d->req.answer, strbuf_text(&words));
        const char *answered = get_text(f->d->req.answer, "next", NULL);
        free(next);
        next = answered ? xstrdup(answered) : NULL;
        if (!next || json_array_size(page) >= PAGE)
            break;
    }
    *ret_next = TAKE_PTR(next);
    return 0;
}

bool top_daemon_load(struct top_daemon *d, struct top *top) {
    if (top->unreachable || top->mode != TOP_MODE_LIST || top->pane >= TOP_LISTS)
        return false;
    struct top_list *list = &top->lists[top->pane];
    struct fetch fetch = { d, top };
    struct error err = { 0 };
    time_ms begin = clock_read_steady();
    if (!top_list_wants(list))
        return false;
    int r = top_list_load(list, fetch_page, &fetch, &err);
    d->refresh_time += clock_read_steady() - begin;
    if (r < 0 && !top->unreachable)
        top_list_refuse(list); /* a filter that the daemon does not know: its message is shown */
    return true;
}

/* --- requests -------------------------------------------------------------------------------- */

static void say_change(struct top *top, const json_t *answer) {
    const json_t *task = json_array_get(json_object_get(answer, "tasks"), 0);
    const char *state = get_text(task, "state", "");
    const struct top_verb *verb = top->verb;
    if (get_true(task, "already"))
        top_set_message(top, false, "%s is %s already", top->target_id, state);
    else if (verb->pending && strcmp(state, "canceled") != 0)
        top_set_message(top, false, "%s %s", top->target_id, verb->pending);
    else
        top_set_message(top, false, "%s %s", top->target_id ? top->target_id : "everything is",
                        verb->did);
}

static void do_change(struct top_daemon *d, struct top *top) {
    const struct top_verb *verb = top->verb;
    if (top->unreachable) {
        top_set_message(top, true, "the daemon is away; nothing was changed");
        return;
    }
    json_t *body = json_object();
    if (strncmp(verb->path, "/v1/tasks/", strlen("/v1/tasks/")) == 0)
        json_object_set_new(body, "tasks", json_pack("[o]", json_text(top->target_id)));
    else
        set_text(body, "project", top->target_id);
    set_text(body, "to", verb->to);
    if (request_try_post(&d->req, body, verb->path) != 0) {
        top_set_message(top, true, "%s", d->req.err.text);
        if (!request_was_answered(&d->req))
            set_unreachable(d, top);
        return;
    }
    say_change(top, d->req.answer);
    d->news = true;
    d->refreshed = 0; /* show the change at once */
}

void top_daemon_do(struct top_daemon *d, struct top *top) {
    enum top_request request = top->request;
    top->request = TOP_REQUEST_NONE;
    switch (request) {
    case TOP_REQUEST_DETAILS:
        top_text_clear(&top->text);
        fill_details(d, top);
        break;
    case TOP_REQUEST_LOG:
        open_log(d, top);
        break;
    case TOP_REQUEST_CLOSE_LOG:
        log_stream_finish(&d->log);
        d->log = (struct log_stream){ 0 };
        break;
    case TOP_REQUEST_CHANGE:
        do_change(d, top);
        break;
    case TOP_REQUEST_NONE:
    case TOP_REQUEST_QUIT:
    case TOP_REQUEST_REDRAW:
        break;
    }
}

json_t *top_daemon_all(struct top_daemon *d, struct top *top) {
    json_auto_t *all = json_object();
    if (get(d, top, "/v1/status") < 0)
        return NULL;
    json_object_set_new(all, "status", TAKE_PTR(d->req.answer));
    for (int i = 0; i < TOP_LISTS; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        put_tasks_path(&path, top, (enum top_pane)i);
        strbuf_printf(&path, "&limit=%d", PAGE);
        if (get(d, top, strbuf_text(&path)) < 0)
            return NULL;
        json_object_set_new(all, top_panes[i].name, TAKE_PTR(d->req.answer));
    }
    return TAKE_PTR(all);
}
