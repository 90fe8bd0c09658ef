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
#define SORTED_MOST   2000  /* tasks that are sorted by a column: each refresh reads them all */
#define TAGGED_MOST   10000 /* by one key */
#define BATCH         500   /* tasks of one request */
#define NEEDS_PATH    "/v1/attention?limit=200"

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
    client_close(d->late);
    free(d->late_id);
    log_stream_finish(&d->log);
    request_finish(&d->req);
}

static void set_unreachable(struct top_daemon *d, struct top *top) {
    d->events = client_close(d->events);
    log_stream_close(&d->log);
    if (!top->unreachable)
        strbuf_clear(&top->message); /* that it is away matters more */
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

/* Into `text`. *ret_task: what the daemon says about it, or NULL; owned by the caller. */
static void fill_details(struct top_daemon *d, struct top *top, const char *id,
                         struct top_text *text, json_t **ret_task) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", id, "");
    int r = get(d, top, strbuf_text(&path));
    *ret_task = NULL;
    if (r < 0) {
        if (text->count == 0 && r != -ECONNREFUSED)
            top_text_add(text, TOP_ERROR, 0, "%s", d->req.err.text);
        return;
    }
    json_t *task = TAKE_PTR(d->req.answer);
    strbuf_puts(&path, "/why");
    bool known = get(d, top, strbuf_text(&path)) == 0;
    top_details_fill(text, task, known ? d->req.answer : NULL, top->now,
                     &(struct top_details){ top->unicode, text == &top->why });
    *ret_task = task;
}

static void fill_text(struct top_daemon *d, struct top *top) {
    json_t *task;
    fill_details(d, top, top->text_id, &top->text, &task);
    if (!task)
        return;
    json_decref(top->shown);
    top->shown = task;
}

static void fill_why(struct top_daemon *d, struct top *top) {
    json_t *task;
    fill_details(d, top, top->why_id, &top->why, &task);
    json_decref(task);
}

void top_daemon_refresh(struct top_daemon *d, struct top *top) {
    time_ms begin = clock_read_steady();
    d->news = false;
    d->refreshed = begin;
    if (get(d, top, "/v1/status") < 0)
        return;
    top_model_read(&top->model, d->req.answer);
    bool needed = get_int(d->req.answer, "attention", 0) > 0;
    if (needed && get(d, top, "/v1/attention?limit=1") == 0)
        top_model_set_worst(&top->model,
                            json_array_get(json_object_get(d->req.answer, "items"), 0));
    for (size_t i = 0; i < TOP_PANE_MAX; i++)
        top_list_stale(&top->lists[i]);
    if (top->mode == TOP_MODE_TEXT && top->text_id)
        fill_text(d, top);
    if (top->mode == TOP_MODE_LIST && top->layout.is_wide && top->why_id)
        fill_why(d, top);
    d->refresh_time = clock_read_steady() - begin;
}

/* --- beside the list ------------------------------------------------------------------------- */

/* The run whose log can be read; an ordered one has none yet. */
static int64_t attempt_of(const json_t *task) {
    return get_int(task, "attempt", 0) - (int64_t)member_is(task, "state", "starting");
}

static bool is_same(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

bool top_daemon_wants_look(const struct top *top) {
    const json_t *task = top->layout.is_wide ? top_selected(top) : NULL;
    const char *id = get_text(task, "id", NULL);
    if (top->mode != TOP_MODE_LIST || top->unreachable)
        return false;
    if (!id && top->layout.is_wide && top_list_wants(&top->lists[top->pane]))
        return false; /* its list is being loaded */
    return !is_same(id, top->why_id) || !is_same(id, top->log.task)
           || (id && attempt_of(task) != top->log_attempt);
}

bool top_daemon_look(struct top_daemon *d, struct top *top) {
    if (!top_daemon_wants_look(top))
        return false;
    const json_t *task = top->layout.is_wide ? top_selected(top) : NULL;
    const char *id = get_text(task, "id", NULL);
    if (!is_same(id, top->why_id)) {
        free(top->why_id);
        top->why_id = id ? xstrdup(id) : NULL;
        top->why.top = 0;
        top_text_clear(&top->why);
        if (id)
            fill_why(d, top);
    }
    log_stream_finish(&d->log);
    d->log = (struct log_stream){ 0 };
    top_log_finish(&top->log);
    top->log_attempt = attempt_of(task);
    if (!id)
        return true;
    top_log_open(&top->log, id, "out");
    top_fit_log(top);
    if (top->log_attempt > 0)
        open_log(d, top);
    else
        top->log.ended = true; /* it has not run */
    return true;
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
                  top_panes[pane].orders[top->sorts[pane].order]);
}

/* The daemon lists the worst of what waits for a person, which is enough to work on. */
static int fetch_needs(const struct fetch *f, char **next, json_t *page, struct error *err) {
    free(TAKE_PTR(*next));
    int r = get(f->d, f->top, NEEDS_PATH);
    if (r < 0)
        return error_set(err, r, "%s", f->d->req.err.text);
    top_needs_read(page, f->d->req.answer, strbuf_text(&f->top->filter));
    return 0;
}

/* Adds the matches of one request after *next, which becomes the next cursor, or NULL. */
static int fetch_matches(const struct fetch *f, int limit, char **next, json_t *page,
                         struct error *err) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT, words = STRBUF_INIT;
    if (f->top->pane == TOP_PANE_NEEDS)
        return fetch_needs(f, next, page, err);
    put_tasks_path(&path, f->top, f->top->pane);
    split_filter(f->top, &path, &words);
    /* A page of matches cannot end inside an answer: its cursor is at the answer's end. */
    strbuf_printf(&path, "&limit=%d", words.length > 0 ? FILTER_PAGE : limit);
    client_query(&path, "cursor", *next);
    int r = get(f->d, f->top, strbuf_text(&path));
    if (r < 0)
        return error_set(err, r, "%s", f->d->req.err.text);
    top_page_read(page, f->d->req.answer, strbuf_text(&words));
    const char *answered = get_text(f->d->req.answer, "next", NULL);
    free(*next);
    *next = answered ? xstrdup(answered) : NULL;
    return 0;
}

static int fetch_page(void *ctx, const char *cursor, json_t *page, char **ret_next,
                      struct error *err) {
    const struct fetch *f = ctx;
    _cleanup_(freep) char *next = cursor ? xstrdup(cursor) : NULL;
    for (unsigned requests = 0; requests < REQUESTS_MOST; requests++) {
        int r = fetch_matches(f, PAGE, &next, page, err);
        if (r < 0)
            return r;
        if (!next || json_array_size(page) >= PAGE)
            break;
    }
    *ret_next = TAKE_PTR(next);
    return 0;
}

/* All tasks as one page, in the order of a column. The daemon has no such order: only the first
 * tasks of its own order are sorted. */
static int fetch_sorted(void *ctx, const char *cursor, json_t *page, char **ret_next,
                        struct error *err) {
    const struct fetch *f = ctx;
    _cleanup_(freep) char *next = cursor ? xstrdup(cursor) : NULL;
    for (unsigned requests = 0; requests < REQUESTS_MOST; requests++) {
        int r = fetch_matches(f, FILTER_PAGE, &next, page, err);
        if (r < 0)
            return r;
        if (!next || json_array_size(page) >= SORTED_MOST)
            break;
    }
    f->top->sort_cut = next != NULL;
    top_pane_sort(f->top, f->top->pane, page);
    *ret_next = NULL;
    return 0;
}

bool top_daemon_load(struct top_daemon *d, struct top *top) {
    if (top->unreachable || top->mode != TOP_MODE_LIST || !top_is_list(top->pane))
        return false;
    struct top_list *list = &top->lists[top->pane];
    struct fetch fetch = { d, top };
    struct error err = { 0 };
    time_ms begin = clock_read_steady();
    if (!top_list_wants(list))
        return false;
    bool sorts = top->sorts[top->pane].column > 0;
    int r = top_list_load(list, sorts ? fetch_sorted : fetch_page, &fetch, &err);
    d->refresh_time += clock_read_steady() - begin;
    if (r < 0 && !top->unreachable)
        top_list_refuse(list); /* a filter that the daemon does not know: its message is shown */
    return true;
}

/* Tags every task of the list, also those that were never on the screen. */
static void tag_all(struct top_daemon *d, struct top *top) {
    const struct fetch f = { d, top };
    _cleanup_(freep) char *next = NULL;
    json_auto_t *tasks = json_array();
    struct error err = { 0 };
    do {
        if (fetch_matches(&f, FILTER_PAGE, &next, tasks, &err) < 0)
            return; /* its message is shown */
    } while (next && json_array_size(tasks) < TAGGED_MOST);
    EACH_ITEM(task, tasks) {
        if (get_text(task, "id", NULL))
            top_tag(top, get_text(task, "id", NULL), true);
    }
    if (next)
        top_set_message(top, true, "only the first %zu tasks are tagged: there are more",
                        json_array_size(tasks));
}

/* --- requests -------------------------------------------------------------------------------- */

static void say_changed(struct top *top, const json_t *tasks, const char *id,
                        const struct top_verb *verb) {
    const json_t *task = json_array_get(tasks, 0);
    const char *state = get_text(task, "state", "");
    size_t count = json_array_size(tasks);
    if (count > 1)
        top_set_message(top, false, "%zu tasks %s", count, verb->did);
    else if (get_true(task, "already"))
        top_set_message(top, false, "%s is %s already", get_text(task, "id", id), state);
    else if (verb->pending && strcmp(state, "canceled") != 0)
        top_set_message(top, false, "%s %s", get_text(task, "id", id), verb->pending);
    else
        top_set_message(top, false, "%s %s", id ? id : get_text(task, "id", "everything is"),
                        verb->did);
}

static void show_soon(struct top_daemon *d) {
    d->news = true;
    d->refreshed = 0;
}

static void set_refused(struct top_daemon *d, struct top *top) {
    if (request_was_answered(&d->req)) {
        top_set_message(top, true, "%s", d->req.err.text);
        return;
    }
    set_unreachable(d, top);
    top_set_message(top, true, "the daemon is away; %s",
                    client_is_absent(d->req.err.code) ? "nothing was changed" : d->req.err.text);
}

static json_t *body_of(const struct top *top) {
    json_t *body = json_object();
    set_text(body, "to", top->verb->to);
    if (top->verb->asks && top->reply.length > 0)
        set_text(body, "reason", strbuf_text(&top->reply));
    return body;
}

/* --- slow actions ---------------------------------------------------------------------------- */

/* The daemon answers when the work is merged and its checks have passed. */
static bool begin_late(struct top_daemon *d, struct top *top, json_t *tasks) {
    json_t *body = body_of(top);
    struct error err = { 0 };
    json_object_set(body, "tasks", tasks);
    if (d->late) {
        top_set_message(top, true, "%s is still being %s: try again after that",
                        d->late_id ? d->late_id : "something", d->late_verb->did);
        json_decref(body);
        return false;
    }
    int r = daemon_connect(false, &d->late, &err);
    if (r == 0) {
        client_set_timeout(d->late, TIMEOUT);
        r = client_begin_call(d->late, top->verb->path, body, &err);
    } else {
        json_decref(body);
    }
    if (r < 0) {
        d->late = client_close(d->late);
        top_set_message(top, true, "%s", err.text);
        return false;
    }
    free(d->late_id);
    d->late_id = top->target_id ? xstrdup(top->target_id) : NULL;
    d->late_verb = top->verb;
    top_set_message(top, false, "%s: waiting until it is %s",
                    d->late_id ? d->late_id : "the tagged tasks", top->verb->did);
    return true;
}

void top_daemon_take_late(struct top_daemon *d, struct top *top, bool ready) {
    struct error err = { 0 };
    json_t *answer = NULL;
    if (!ready || !d->late)
        return;
    int r = client_end_call(d->late, &answer, &err);
    if (r < 0 || r >= 300)
        top_set_message(top, true, "%s", err.text);
    else
        say_changed(top, json_object_get(answer, "tasks"), d->late_id, d->late_verb);
    json_decref(answer);
    d->late = client_close(d->late);
    show_soon(d);
}

/* --- changes --------------------------------------------------------------------------------- */

struct tagged_change {
    struct top_daemon *d;
    struct top *top;
    json_t *done;          /* items of the answers */
    struct strbuf refusal; /* of the first task that does not fit */
};

/* The daemon changes all tasks of a request or none: a refused batch is split until the tasks that
 * do not fit are alone. False: the daemon is away. */
static bool send_tags(struct tagged_change *c, const json_t *ids, size_t from, size_t to) {
    json_t *body = body_of(c->top), *tasks = json_array();
    struct request *req = &c->d->req;
    for (size_t i = from; i < to; i++)
        json_array_append(tasks, json_array_get(ids, i));
    json_object_set_new(body, "tasks", tasks);
    if (request_try_post(req, body, c->top->verb->path) == 0) {
        json_array_extend(c->done, json_object_get(req->answer, "tasks"));
        return true;
    }
    if (!request_was_answered(req))
        return false;
    if (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        return send_tags(c, ids, from, middle) && send_tags(c, ids, middle, to);
    }
    if (c->refusal.length == 0)
        strbuf_puts(&c->refusal, req->err.text);
    return true;
}

static json_t *tagged_ids(const struct top *top) {
    json_t *ids = json_array();
    EACH_MEMBER(id, tag, top->tags) {
        (void)tag;
        json_array_append_new(ids, json_text(id));
    }
    return ids;
}

static void change_tags(struct top_daemon *d, struct top *top) {
    json_auto_t *done = json_array(), *ids = tagged_ids(top);
    struct tagged_change c = { .d = d, .top = top, .done = done };
    size_t total = json_array_size(ids);
    bool answered = true;
    for (size_t from = 0; answered && from < total; from += BATCH)
        answered = send_tags(&c, ids, from, total - from < BATCH ? total : from + BATCH);
    size_t count = json_array_size(done);
    if (!answered)
        set_refused(d, top);
    else if (count == total)
        say_changed(top, done, NULL, top->verb);
    else
        top_set_message(top, true, "%zu of %zu tasks %s; %s", count, total, top->verb->did,
                        strbuf_text(&c.refusal));
    strbuf_finish(&c.refusal);
    if (answered)
        top_untag_all(top);
    show_soon(d);
}

static void change_one(struct top_daemon *d, struct top *top) {
    json_t *body = body_of(top);
    if (top->verb->action)
        json_object_set_new(body, "tasks", json_pack("[o]", json_text(top->target_id)));
    else
        set_text(body, "project", top->target_id);
    if (request_try_post(&d->req, body, top->verb->path) != 0) {
        set_refused(d, top);
        return;
    }
    say_changed(top, json_object_get(d->req.answer, "tasks"), top->target_id, top->verb);
    show_soon(d);
}

static void do_change(struct top_daemon *d, struct top *top) {
    bool of_tags = top->verb->action && !top->target_id;
    if (top->unreachable) {
        top_set_message(top, true, "the daemon is away; nothing was changed");
    } else if (top->verb->is_slow) {
        json_auto_t *ids = of_tags ? tagged_ids(top) : json_pack("[o]", json_text(top->target_id));
        if (begin_late(d, top, ids) && of_tags)
            top_untag_all(top);
    } else if (of_tags) {
        change_tags(d, top);
    } else {
        change_one(d, top);
    }
}

/* --- questions ------------------------------------------------------------------------------- */

static void ask(struct top_daemon *d, struct top *top) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    request_path(&path, "/v1/tasks/", top->target_id, "");
    if (get(d, top, strbuf_text(&path)) == 0)
        top_ask(top, d->req.answer);
}

static void answer(struct top_daemon *d, struct top *top) {
    _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
    json_t *body = json_pack("{s:o}", "text", json_text(strbuf_text(&top->reply)));
    request_path(&path, "/v1/tasks/", top->target_id, "/answer");
    if (request_try_post(&d->req, body, strbuf_text(&path)) != 0) {
        set_refused(d, top);
        return;
    }
    top_set_message(top, false, "%s answered: %s", top->target_id, strbuf_text(&top->reply));
    show_soon(d);
}

void top_daemon_do(struct top_daemon *d, struct top *top) {
    enum top_request request = top->request;
    top->request = TOP_REQUEST_NONE;
    switch (request) {
    case TOP_REQUEST_DETAILS:
        top_text_clear(&top->text);
        fill_text(d, top);
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
    case TOP_REQUEST_QUESTION:
        ask(d, top);
        break;
    case TOP_REQUEST_ANSWER:
        answer(d, top);
        break;
    case TOP_REQUEST_TAG_ALL:
        tag_all(d, top);
        break;
    case TOP_REQUEST_NONE:
    case TOP_REQUEST_QUIT:
    case TOP_REQUEST_MOUSE:
    case TOP_REQUEST_REDRAW:
        break;
    }
}

json_t *top_daemon_all(struct top_daemon *d, struct top *top) {
    json_auto_t *all = json_object();
    if (get(d, top, "/v1/status") < 0)
        return NULL;
    json_object_set_new(all, "status", TAKE_PTR(d->req.answer));
    for (int i = 0; i < TOP_PANE_MAX; i++) {
        _cleanup_(strbuf_finish) struct strbuf path = STRBUF_INIT;
        if (!top_panes[i].states)
            continue;
        put_tasks_path(&path, top, (enum top_pane)i);
        strbuf_printf(&path, "&limit=%d", PAGE);
        if (get(d, top, strbuf_text(&path)) < 0)
            return NULL;
        json_object_set_new(all, top_panes[i].name, TAKE_PTR(d->req.answer));
    }
    if (get(d, top, NEEDS_PATH) < 0)
        return NULL;
    json_object_set_new(all, "attention", TAKE_PTR(d->req.answer));
    return TAKE_PTR(all);
}
